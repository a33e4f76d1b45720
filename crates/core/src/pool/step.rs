//! What is to be done about an account, given what its labels, the ledger and the Shoots say.
//!
//! A label is believed when it makes an account less available. It makes one more available only if the ledger and the
//! Shoots agree; else the account is put in quarantine, where a person sees it.

use super::{Entry, Holding, PoolKey, Tenant};

/// What the ledger holds about an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The pool that it was in when the ledger last learned about it.
    pub pool: PoolKey,
    /// Who holds it.
    pub holding: Holding,
    /// Whether the last request is gone and only Shoots that nobody asked us for keep it.
    pub leaving: bool,
    /// Why it takes no new clusters.
    pub quarantine: Option<String>,
    /// The requests in it.
    pub assignments: u32,
}

/// The Shoots in an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shoots {
    /// All of them.
    pub all: u32,
    /// Those whose cloud refuses the credentials.
    pub refused: u32,
    /// Those whose last operation succeeded.
    pub succeeded: u32,
}

/// All that is known about one account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The pool entry; none if it is gone.
    pub entry: Option<Entry>,
    /// The ledger's row; none if it has none.
    pub row: Option<Row>,
    /// The Shoots in it.
    pub shoots: Shoots,
    /// The requests in other entries with the same credentials: it is one account, and not empty while these are there.
    pub in_twins: u32,
    /// Whether the pool can afford one more account in quarantine without a person looking.
    pub may_quarantine: bool,
}

/// What is to be done, one step at a time; after each the account is looked at again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing.
    Rest,
    /// The ledger is right and finished; the binding has to be labelled with the tenant.
    WriteTenant(Tenant),
    /// The label is there: the ledger may say `claimed`.
    Confirm(Tenant),
    /// Somebody else took or changed it before the label was written.
    Lose(Tenant, Holding),
    /// The binding has to be labelled `dirty`.
    WriteDirty,
    /// The ledger learns what the label says: it is this tenant's.
    Adopt(Tenant),
    /// The ledger learns that it is in another pool now.
    Repool,
    /// The ledger learns that it is dirty.
    BecameDirty(Option<Tenant>),
    /// Somebody cleaned it: it is free again.
    Free,
    /// The last Shoot that kept it is gone.
    BeginDrain,
    /// Its entry is gone and nothing is left in it.
    Retire,
    /// It takes no new clusters: written on the binding first, then in the ledger.
    Quarantine(String),
    /// The ledger learns of a quarantine that stands on the binding.
    LearnQuarantine(String),
    /// It works again: the annotation goes, then the ledger learns it.
    Lift,
    /// The ledger learns that a person lifted the quarantine.
    LearnLift,
    /// Only a person can tell what to do.
    Show(String),
}

/// How the reason of a quarantine begins that the health of Shoots caused, and that a later success lifts.
pub const REFUSED: &str = "credentials refused";

/// Says what to do.
pub fn account_step(view: &View) -> Step {
    let View { entry, row, shoots, in_twins, may_quarantine } = view;
    let Some(entry) = entry else { return without_entry(row.as_ref(), *shoots) };
    let step = quarantine_step(entry, row.as_ref(), *shoots, *may_quarantine);
    if !matches!(step, Step::Rest | Step::Show(_)) {
        return step;
    }
    let next = match row {
        None if !entry.is_dedicated() => Step::Rest,
        None => unknown(entry),
        Some(row) if !entry.is_dedicated() => no_longer_dedicated(entry, row),
        Some(row) => dedicated(entry, row, *shoots, *in_twins),
    };
    // What only waits for a person keeps nothing else from going on.
    if next == Step::Rest { step } else { next }
}

fn without_entry(row: Option<&Row>, shoots: Shoots) -> Step {
    match row {
        None => Step::Rest,
        Some(Row { holding: Holding::Claiming(tenant), .. }) => Step::Lose(tenant.clone(), Holding::Free),
        Some(row) if row.assignments == 0 && shoots.all == 0 => Step::Retire,
        Some(row) => Step::Show(format!(
            "its entry is gone from the pool, but {} requests and {} Shoots are still in it; make the entry again",
            row.assignments, shoots.all
        )),
    }
}

fn quarantine_step(entry: &Entry, row: Option<&Row>, shoots: Shoots, may_quarantine: bool) -> Step {
    let known = row.and_then(|row| row.quarantine.as_deref());
    match (&entry.quarantine, known) {
        (Some(_), Some(why)) if why.starts_with(REFUSED) && shoots.refused == 0 && shoots.succeeded > 0 => Step::Lift,
        (Some(_), Some(_)) => Step::Rest,
        (Some(why), None) => Step::LearnQuarantine(why.clone()),
        (None, Some(_)) => Step::LearnLift,
        (None, None) if shoots.refused > 0 && shoots.succeeded == 0 && may_quarantine => Step::Quarantine(format!(
            "{REFUSED}: the cloud refuses the credentials for {} of {} Shoots",
            shoots.refused, shoots.all
        )),
        (None, None) if shoots.refused > 0 && shoots.succeeded == 0 => Step::Show(
            "the cloud refuses its credentials, but a tenth of the pool is in quarantine already: look for a common cause"
                .to_owned(),
        ),
        (None, None) => Step::Rest,
    }
}

/// The ledger has never heard of it, or knows it as free.
fn unknown(entry: &Entry) -> Step {
    match &entry.tenant {
        _ if entry.dirty => Step::BecameDirty(entry.tenant.clone()),
        Some(tenant) => Step::Adopt(tenant.clone()),
        None => Step::Rest,
    }
}

/// It was one tenant's and has since been labelled shared or internal.
fn no_longer_dedicated(entry: &Entry, row: &Row) -> Step {
    match row.holding {
        _ if row.pool.shared => Step::Rest,
        Holding::Free | Holding::Dirty(_) => Step::Rest,
        Holding::Claiming(ref tenant) => Step::Lose(tenant.clone(), found(entry)),
        Holding::Claimed(ref tenant) | Holding::Draining(ref tenant) => Step::Show(format!(
            "it is {} in the ledger, but its labels say shared or internal",
            Holding::Claimed(tenant.clone())
        )),
    }
}

fn dedicated(entry: &Entry, row: &Row, shoots: Shoots, in_twins: u32) -> Step {
    let empty = row.assignments == 0 && shoots.all == 0 && in_twins == 0;
    match &row.holding {
        Holding::Free => unknown(entry),
        Holding::Claiming(tenant) => match &entry.tenant {
            Some(holder) if holder == tenant && !entry.dirty => Step::Confirm(tenant.clone()),
            None if entry.selectable => Step::WriteTenant(tenant.clone()),
            _ => Step::Lose(tenant.clone(), found(entry)),
        },
        Holding::Claimed(tenant) if entry.dirty && row.assignments == 0 => {
            Step::BecameDirty(Some(tenant.clone()))
        }
        Holding::Claimed(tenant) if entry.dirty => {
            quarantine(row, format!("labelled dirty, but {tenant} has {} clusters in it", row.assignments))
        }
        Holding::Claimed(tenant) => match &entry.tenant {
            Some(holder) if holder == tenant && row.leaving && empty => Step::BeginDrain,
            Some(holder) if holder == tenant && entry.pool.as_ref() != Some(&row.pool) => Step::Repool,
            Some(holder) if holder == tenant => Step::Rest,
            _ if empty => Step::Free,
            Some(holder) => quarantine(
                row,
                format!("labelled {holder}, but {tenant} has {} clusters in it", row.assignments),
            ),
            None => quarantine(
                row,
                format!("its tenant label is gone, but {tenant} has {} clusters in it", row.assignments),
            ),
        },
        Holding::Draining(tenant) if entry.dirty => Step::BecameDirty(Some(tenant.clone())),
        // The label is newer than the ledger, which may have been put back: it is that tenant's, and not to be cleaned.
        Holding::Draining(tenant)
            if entry.tenant.as_ref().is_some_and(|holder| holder != tenant) && empty =>
        {
            Step::Free
        }
        // Dirty means that its content may be destroyed: never while a Shoot lives there, or is about to.
        Holding::Draining(_) if shoots.all > 0 || in_twins > 0 => Step::Rest,
        Holding::Draining(_) => Step::WriteDirty,
        Holding::Dirty(_) if entry.dirty => Step::Rest,
        Holding::Dirty(_) if entry.tenant.is_none() && empty => Step::Free,
        Holding::Dirty(_) if entry.tenant.is_none() => quarantine(
            row,
            format!(
                "its labels say it was cleaned, but {} requests and {} Shoots are in it",
                row.assignments, shoots.all
            ),
        ),
        Holding::Dirty(_) => Step::Show(
            "its dirty label is gone, but the tenant's is not; remove both once it is clean".to_owned(),
        ),
    }
}

/// Once is enough.
fn quarantine(row: &Row, why: String) -> Step {
    if row.quarantine.is_some() { Step::Rest } else { Step::Quarantine(why) }
}

/// What the labels say now.
fn found(entry: &Entry) -> Holding {
    match &entry.tenant {
        _ if entry.dirty => Holding::Dirty(entry.tenant.clone()),
        Some(tenant) => Holding::Claimed(tenant.clone()),
        None => Holding::Free,
    }
}
