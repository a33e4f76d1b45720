//! Whether a Cluster can adopt a Shoot that exists, and how far that is. Only the platform has Shoots adopted, by a
//! `ShootAdoption` in the operator's namespace.

use super::shoot_name;
use crate::{
    condition::{self, Verdict},
    pool::{LabelKeys, Wanted},
};
use allotment_api::{
    allotment::{ShootAdoption, ShootAdoptionPhase, ShootAdoptionStatus},
    condition::ConditionStatus,
    gardener::Shoot,
    kyma::Cluster,
    names::{annotation, label},
};
use jiff::Timestamp;
use std::{collections::BTreeMap, fmt};

/// The condition of a ShootAdoption.
const ADOPTED: &str = "Adopted";

/// What has to fit together.
#[derive(Clone, Copy, Debug)]
pub struct Adoption<'a> {
    /// The Cluster that adopts.
    pub cluster: &'a Cluster,
    /// The Shoot that is adopted.
    pub shoot: &'a Shoot,
    /// Who lives whose UID the Shoot carries, other than this Cluster and its request.
    pub owner: Option<&'a LiveOwner>,
    /// The project in the garden.
    pub project: &'a str,
    /// The labels of the account's pool entry; none where there is no such entry.
    pub account: Option<&'a BTreeMap<String, String>>,
    /// The keys of those labels.
    pub labels: &'a LabelKeys,
    /// What the Cluster's SubscriptionRequest is for; none where whoever asks does not read the pool entry.
    pub wanted: Option<&'a Wanted>,
}

/// Somebody whose UID a Shoot carries, and who is there: the Shoot is theirs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiveOwner {
    /// A Cluster, as `<namespace>/<name>`.
    Cluster(String),
    /// A SubscriptionRequest, as `<namespace>/<name>`.
    Request(String),
}

impl fmt::Display for LiveOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cluster(name) => write!(f, "Cluster {name}"),
            Self::Request(name) => write!(f, "SubscriptionRequest {name}"),
        }
    }
}

/// Everything that stands against it, for the platform. Tenants must not see it: it names other tenants' objects.
pub fn obstacles(adoption: &Adoption<'_>) -> Vec<String> {
    let mut found = about_the_cluster(adoption);
    found.extend(about_the_shoot(adoption));
    found.extend(about_the_account(adoption));
    found
}

fn about_the_cluster(adoption: &Adoption<'_>) -> Vec<String> {
    let Adoption { cluster, shoot, project, .. } = adoption;
    let mut found = Vec::new();
    if cluster.spec.byoc.is_some() {
        found.push("a Cluster that the tenant brings has no Shoot".to_owned());
    }
    if cluster.metadata.deletion_timestamp.is_some() {
        found.push("the Cluster is being deleted".to_owned());
    }
    let status = cluster.status.as_ref();
    let own = status.and_then(|status| status.shoot_uid.as_ref());
    let own_name = status.and_then(|status| status.shoot_name.as_ref());
    // One that stands in the place of ours: ours cannot be there any more.
    let is_in_its_place = own_name.is_some() && own_name == shoot.metadata.name.as_ref();
    if let Some(own) = own.filter(|own| Some(*own) != shoot.metadata.uid.as_ref() && !is_in_its_place) {
        let name = own_name.map(String::as_str).unwrap_or_default();
        found.push(format!("the Cluster has a Shoot already: {name}, with the UID {own}"));
        return found;
    }
    let asked = cluster.spec.core.as_ref().and_then(|core| core.shoot_name.as_ref());
    let is_named = asked.is_some() || status.is_some_and(|status| status.shoot_name.is_some());
    let name = shoot.metadata.name.as_deref().unwrap_or_default();
    match shoot_name(cluster, project) {
        Ok(own) if is_named && own != name => {
            found.push(format!("the Cluster's Shoot is called {own}, and that cannot change any more"));
        }
        Ok(_) => (),
        Err(problem) => found.push(problem.to_string()),
    }
    found
}

fn about_the_shoot(adoption: &Adoption<'_>) -> Vec<String> {
    let (metadata, mut found) = (&adoption.shoot.metadata, Vec::new());
    if metadata.deletion_timestamp.is_some() {
        found.push("the Shoot is being deleted".to_owned());
    }
    if let Some(owner) = adoption.owner {
        found.push(format!(
            "the Shoot belongs to {owner}, which exists; delete that first with the annotation {}=<UID of the Shoot>, or take \
             the labels {} and {} off the Shoot",
            annotation::RELEASE_SHOOT,
            label::CLUSTER_UID,
            label::SUBSCRIPTION_REQUEST,
        ));
    }
    found
}

fn about_the_account(adoption: &Adoption<'_>) -> Vec<String> {
    let Adoption { shoot, account, labels, wanted, .. } = adoption;
    let Some(name) = &shoot.spec.credentials_binding_name else {
        return vec![
            "the Shoot has no CredentialsBinding: migrate it from its SecretBinding first".to_owned(),
        ];
    };
    let Some(wanted) = wanted else { return Vec::new() };
    let Some(account) = account else {
        return vec![format!("account {name} is not in the pool: there is no such entry")];
    };
    let mut found = Vec::new();
    if account.contains_key(&labels.dirty) {
        found.push(format!("account {name} is dirty"));
    }
    match (&wanted.tenant, account.get(&labels.tenant_name)) {
        (Some(tenant), Some(holder)) if holder != tenant.as_str() => {
            found.push(format!("account {name} is held by {holder}, and the Cluster is of {tenant}"));
        }
        (Some(tenant), None) => found.push(format!(
            "account {name} is held by nobody: if it is {tenant}'s, label its entry {}={tenant}",
            labels.tenant_name
        )),
        (None, _) if account.get(&labels.shared).is_none_or(|shared| shared != "true") => {
            found.push(format!("the Cluster is for a shared account, and {name} is not one"));
        }
        _ => (),
    }
    let pool = account.get(&labels.hyperscaler_type);
    if pool != Some(&wanted.pool.hyperscaler_type) {
        let pool = pool.map_or("in no pool", String::as_str);
        found.push(format!(
            "account {name} is {pool}, and the Cluster's would come from {}",
            wanted.pool.hyperscaler_type
        ));
    }
    let is_eu = account.get(&labels.eu_access).is_some_and(|eu| eu == "true");
    match (is_eu, wanted.pool.eu_access) {
        (true, false) => {
            found.push(format!("account {name} is kept for EU access, which the Cluster has not"));
        }
        (false, true) => found.push(format!("the Cluster needs EU access, which account {name} has not")),
        _ => (),
    }
    found
}

/// How far an adoption is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The Shoot is the Cluster's.
    Adopted,
    /// It goes on: what it waits for.
    Pending(String),
    /// These stand against it.
    Refused(Vec<String>),
}

/// The status of a ShootAdoption that is this far.
pub fn status(adoption: &ShootAdoption, progress: &Progress, now: Timestamp) -> ShootAdoptionStatus {
    let mut status = adoption.status.clone().unwrap_or_default();
    let generation = adoption.metadata.generation;
    let (phase, holds, reason, message) = match progress {
        Progress::Adopted => (
            ShootAdoptionPhase::Adopted,
            ConditionStatus::True,
            "Adopted",
            "the Shoot is the Cluster's".to_owned(),
        ),
        Progress::Pending(why) => {
            (ShootAdoptionPhase::Pending, ConditionStatus::False, "Pending", why.clone())
        }
        Progress::Refused(why) => {
            (ShootAdoptionPhase::Refused, ConditionStatus::False, "Refused", why.join("; "))
        }
    };
    status.phase = Some(phase);
    status.observed_generation = generation;
    let verdict = Verdict { type_: ADOPTED, status: holds, reason, message };
    condition::set(&mut status.conditions, verdict, generation, now);
    status
}

/// What the status of a ShootAdoption says; nothing where the operator has not looked at it yet.
pub fn reported(adoption: &ShootAdoption) -> Option<(ShootAdoptionPhase, String)> {
    let status = adoption.status.as_ref()?;
    let message = condition::find(&status.conditions, ADOPTED).map(|said| said.message.clone());
    Some((status.phase?, message.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::{PoolKey, Tenant};
    use serde_json::{Value, json};

    struct Case {
        cluster: Value,
        shoot: Value,
        account: Option<Value>,
        tenant: Option<&'static str>,
        owner: Option<LiveOwner>,
    }

    fn good() -> Case {
        Case {
            cluster: json!({
                "apiVersion": "operator.kyma-project.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "a"},
                "spec": {"core": {"region": "r"}, "infrastructure": {
                    "machineType": "m", "autoScalerMin": 1, "autoScalerMax": 1, "provider": "aws", "numberOfZones": 1,
                    "subscriptionSelector": "t-1",
                }},
            }),
            shoot: json!({
                "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot", "metadata": {"name": "older", "uid": "u"},
                "spec": {"region": "r", "provider": {"type": "aws"}, "credentialsBindingName": "acc"},
            }),
            account: Some(json!({"hyperscalerType": "aws", "tenantName": "t-1"})),
            tenant: Some("t-1"),
            owner: None,
        }
    }

    fn of(change: impl FnOnce(&mut Case)) -> String {
        let mut case = good();
        change(&mut case);
        let read = |value: &Value| serde_json::from_value(value.clone()).unwrap();
        let cluster: Cluster = serde_json::from_value(case.cluster.clone()).unwrap();
        let shoot: Shoot = serde_json::from_value(case.shoot.clone()).unwrap();
        let account: Option<BTreeMap<String, String>> = case.account.as_ref().map(read);
        let pool =
            PoolKey { hyperscaler_type: "aws".to_owned(), shared: case.tenant.is_none(), eu_access: false };
        let found = obstacles(&Adoption {
            cluster: &cluster,
            shoot: &shoot,
            owner: case.owner.as_ref(),
            project: "p",
            account: account.as_ref(),
            labels: &LabelKeys::default(),
            wanted: Some(&Wanted { pool, tenant: case.tenant.map(Tenant::new), rule: None }),
        });
        found.join("; ")
    }

    #[test]
    fn what_fits_has_no_obstacle() {
        assert_eq!(of(|_| ()), "");
        assert_eq!(of(|case| case.cluster["spec"]["core"]["shootName"] = json!("older")), "");
        let gone = json!({"allotment.dev/subscription-request": "of-somebody-who-is-gone"});
        assert_eq!(of(|case| case.shoot["metadata"]["labels"] = gone), "");
        let replaced =
            |case: &mut Case| case.cluster["status"] = json!({"shootName": "older", "shootUID": "v"});
        assert_eq!(of(replaced), "", "ours is gone, and this one has its name");
        assert_eq!(
            of(|case| {
                case.tenant = None;
                case.account = Some(json!({"hyperscalerType": "aws", "shared": "true"}));
            }),
            ""
        );
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let name = |case: &mut Case| case.cluster["spec"]["core"]["shootName"] = json!("other");
        assert!(of(name).contains("Shoot is called other"));
        let own = |case: &mut Case| case.cluster["status"] = json!({"shootName": "mine", "shootUID": "v"});
        assert_eq!(of(own), "the Cluster has a Shoot already: mine, with the UID v");
        let owned = |owner| of(|case| case.owner = Some(owner));
        assert!(owned(LiveOwner::Cluster("a/b".to_owned())).contains("belongs to Cluster a/b, which exists"));
        assert!(owned(LiveOwner::Request("a/b-1".to_owned())).contains("SubscriptionRequest a/b-1"));
        let labels = |labels: Value| of(|case| case.account = Some(labels));
        assert!(labels(json!({"hyperscalerType": "aws", "tenantName": "t-2"})).contains("held by t-2"));
        assert!(labels(json!({"hyperscalerType": "aws"})).contains("label its entry tenantName=t-1"));
        assert!(
            labels(json!({"hyperscalerType": "gcp", "tenantName": "t-1"})).contains("would come from aws")
        );
        assert!(
            labels(json!({"hyperscalerType": "aws", "tenantName": "t-1", "dirty": "true"})).contains("dirty")
        );
        assert!(of(|case| case.account = None).contains("not in the pool"));
        assert!(of(|case| case.tenant = None).contains("not one"));
        assert!(of(|case| case.shoot["spec"]["credentialsBindingName"] = Value::Null).contains("migrate"));
    }

    #[test]
    fn the_status_says_how_far_it_is() {
        let mut adoption: ShootAdoption = serde_json::from_value(json!({
            "apiVersion": "allotment.dev/v1alpha1", "kind": "ShootAdoption", "metadata": {"name": "x", "generation": 1},
            "spec": {"clusterNamespace": "n", "clusterName": "a", "shootName": "older", "shootUID": "u"},
        }))
        .unwrap();
        assert_eq!(reported(&adoption), None);
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let refused = Progress::Refused(vec!["one".to_owned(), "two".to_owned()]);
        adoption.status = Some(status(&adoption, &refused, now));
        assert_eq!(reported(&adoption), Some((ShootAdoptionPhase::Refused, "one; two".to_owned())));
        let later: Timestamp = "2026-01-02T00:00:00Z".parse().unwrap();
        assert_eq!(Some(status(&adoption, &refused, later)), adoption.status, "a second look writes nothing");
        adoption.status = Some(status(&adoption, &Progress::Adopted, later));
        assert_eq!(reported(&adoption).unwrap().0, ShootAdoptionPhase::Adopted);
    }
}
