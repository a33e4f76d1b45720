//! Which accounts may be touched at all.

use super::{Cloud, CloudAccountId, NotSupported, Refusal, Stuck};

/// What live reads say about an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountFacts {
    /// The binding carries the dirty label.
    pub dirty: bool,
    /// It is shared by all tenants.
    pub shared: bool,
    /// It is the platform's own.
    pub internal: bool,
    /// Why it is in quarantine.
    pub quarantine: Option<String>,
    /// Its Shoots, in the garden.
    pub shoots: u32,
    /// Its assignments, in the ledger, with those of entries that have the same credentials.
    pub assignments: u32,
    /// Other pool entries that are the same account of the cloud, and in use.
    pub used_by: Vec<String>,
    /// Other pool entries in use that nobody can tell apart from it, each with the reason.
    pub unidentified: Vec<(String, String)>,
    /// The cloud, by Gardener's provider type.
    pub cloud: Result<Cloud, NotSupported>,
    /// The account id.
    pub identity: Identity,
}

/// Is the account the one that it was?
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Recorded while it was free and never used, or by `cleanup baseline`.
    pub recorded: Option<CloudAccountId>,
    /// Reported by the cloud in this process; none if it was not asked yet.
    pub reported: Option<Result<CloudAccountId, Refusal>>,
    /// The credentials cannot be used at all, because.
    pub unusable: Option<String>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gate {
    /// It may be cleaned.
    Open(Cloud),
    /// It is not dirty: there is nothing to do.
    NotDirty,
    /// Not now.
    Closed(String),
    /// The cloud has to be asked whose credentials these are.
    Identify,
    /// The cloud could not be asked.
    Retry(Refusal),
    /// Not without a person.
    Stuck(Stuck),
}

/// Whether an account may be touched. Every field is a reason against it, so none is left out here.
pub fn gate(facts: &AccountFacts) -> Gate {
    let AccountFacts {
        dirty,
        shared,
        internal,
        quarantine,
        shoots,
        assignments,
        used_by,
        unidentified,
        cloud,
        identity,
    } = facts;
    if !dirty {
        return Gate::NotDirty;
    }
    if *shared || *internal {
        let label = if *shared { "shared" } else { "internal" };
        return Gate::Closed(format!("it is labelled {label}: such accounts are never cleaned"));
    }
    if let Some(because) = quarantine {
        return Gate::Closed(format!("it is in quarantine: {because}"));
    }
    if *shoots > 0 || *assignments > 0 {
        return Gate::Closed(format!("{shoots} Shoots and {assignments} requests are in it"));
    }
    if let Some(other) = used_by.first() {
        return Gate::Closed(format!("{other} is the same cloud account, and in use"));
    }
    if let Some((other, because)) = unidentified.first() {
        return Gate::Closed(format!(
            "{other} is in use, and may be the same cloud account: {because}; correct its credentials, or delete the entry"
        ));
    }
    let cloud = match cloud {
        Ok(cloud) => *cloud,
        Err(unsupported) => {
            let remedy = "clean it by hand and remove both labels";
            return Gate::Stuck(Stuck::account("NotSupported", unsupported.to_string(), remedy));
        }
    };
    by_identity(identity, cloud)
}

fn by_identity(identity: &Identity, cloud: Cloud) -> Gate {
    let Some(recorded) = &identity.recorded else {
        let remedy =
            "run `allotment cleanup baseline NAME` once it is known which account its credentials lead to";
        return Gate::Stuck(Stuck::account("AccountIdUnknown", "account id unknown", remedy));
    };
    if let Some(because) = &identity.unusable {
        let remedy = "correct the credentials of its pool entry";
        return Gate::Stuck(Stuck::account("CredentialsUnusable", because.clone(), remedy));
    }
    match &identity.reported {
        None => Gate::Identify,
        Some(Err(refusal)) if refusal.is_temporary() => Gate::Retry(refusal.clone()),
        Some(Err(refusal)) => Gate::Stuck(Stuck::by_refusal(None, refusal)),
        Some(Ok(reported)) if reported == recorded => Gate::Open(cloud),
        Some(Ok(reported)) => Gate::Stuck(Stuck::account(
            "AccountIdDiffers",
            format!("the credentials lead to account {reported}, but {recorded} is recorded"),
            format!(
                "correct the credentials; if the account was replaced on purpose, run `allotment cleanup baseline NAME --id-only --replace \
                 {recorded}`"
            ),
        )),
    }
}
