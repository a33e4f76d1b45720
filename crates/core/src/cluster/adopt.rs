//! Whether a Shoot that exists can be taken over by a Cluster, and how far that is.

use super::shoot_name;
use crate::{
    condition,
    pool::{LabelKeys, Wanted},
};
use allotment_api::{
    condition::ConditionStatus,
    gardener::Shoot,
    kyma::{Cluster, ClusterCondition, ClusterPhase, ClusterStatus},
    names::{annotation, label},
};
use std::collections::BTreeMap;

/// What has to fit together.
#[derive(Clone, Copy, Debug)]
pub struct Adoption<'a> {
    /// Who takes over.
    pub cluster: &'a Cluster,
    /// What is taken over.
    pub shoot: &'a Shoot,
    /// The project in the garden.
    pub project: &'a str,
    /// The UID of the Cluster's SubscriptionRequest, if there is one.
    pub request: Option<&'a str>,
    /// The labels of the account's pool entry; none where there is no such entry.
    pub account: Option<&'a BTreeMap<String, String>>,
    /// The keys of those labels.
    pub labels: &'a LabelKeys,
    /// What the Cluster's SubscriptionRequest is for; none where bindings do not tell whose an account is.
    pub wanted: Option<&'a Wanted>,
}

/// Everything that stands against it, for people.
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
    let carried = metadata.labels.as_ref().and_then(|labels| labels.get(label::SUBSCRIPTION_REQUEST));
    if let Some(uid) = carried.filter(|uid| Some(uid.as_str()) != adoption.request) {
        let owner = metadata.annotations.as_ref().and_then(|all| all.get(annotation::CLUSTER));
        let owner = owner.map(|owner| format!(" of Cluster {owner}")).unwrap_or_default();
        found.push(format!("the Shoot belongs to the SubscriptionRequest{owner} with the UID {uid}"));
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

/// How far it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The Shoot is the Cluster's.
    TakenOver,
    /// It goes on.
    Waits(String),
    /// It stopped, unless this is from before the operator heard of it.
    Stopped(String),
}

/// How far a Cluster is that was told to take over the Shoot with this UID.
pub fn progress(cluster: &Cluster, uid: &str) -> Progress {
    let status = cluster.status.clone().unwrap_or_default();
    let marks = cluster.metadata.annotations.as_ref();
    let is_marked = marks.is_some_and(|all| all.contains_key(annotation::ADOPT_SHOOT));
    let ClusterStatus { shoot_uid, phase, conditions, .. } = &status;
    if shoot_uid.as_deref() == Some(uid) && !is_marked {
        return Progress::TakenOver;
    }
    let provisioned = condition::find(conditions, ClusterCondition::ClusterProvisioned.as_str());
    let words = provisioned
        .filter(|condition| condition.status != ConditionStatus::True)
        .map_or_else(|| "the operator has not looked yet".to_owned(), |condition| condition.message.clone());
    if *phase == Some(ClusterPhase::Failed) { Progress::Stopped(words) } else { Progress::Waits(words) }
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
            project: "p",
            request: Some("of-ours"),
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
        let ours = json!({"allotment.dev/subscription-request": "of-ours"});
        assert_eq!(of(|case| case.shoot["metadata"]["labels"] = ours), "", "it was begun before");
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
        let theirs = json!({"allotment.dev/subscription-request": "of-theirs"});
        assert!(of(|case| case.shoot["metadata"]["labels"] = theirs).contains("of-theirs"));
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
    fn it_is_over_when_the_mark_is_gone() {
        let of = |annotations: Value, status: Value| {
            let mut cluster = good().cluster;
            cluster["metadata"]["annotations"] = annotations;
            cluster["status"] = status;
            progress(&serde_json::from_value(cluster).unwrap(), "u")
        };
        let marked = json!({"allotment.dev/adopt-shoot": "u"});
        assert!(matches!(of(marked.clone(), Value::Null), Progress::Waits(_)));
        assert!(matches!(of(marked.clone(), json!({"shootUID": "u"})), Progress::Waits(_)));
        assert_eq!(of(json!({}), json!({"shootUID": "u"})), Progress::TakenOver);
        assert!(matches!(of(marked, json!({"phase": "Failed"})), Progress::Stopped(_)));
    }
}
