//! Finalizers and ownerReferences that tenants write in our name. They prove nothing and nothing is deleted because of them; the
//! object says so to whoever wrote them.

use crate::{
    cluster::flow::{cluster_of_request, request_name_of},
    condition::Verdict,
};
use allotment_api::{
    condition::ConditionStatus,
    kyma::{KubeconfigRequest, SubscriptionRequest},
    names::finalizer,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

/// The condition that reports them. Where all is well, there is none.
pub const MARKS_IGNORED: &str = "MarksIgnored";

/// As the admission policies have it.
const FINALIZERS: &str = "finalizers of allotment.dev are the operator's; leave them out";
const OWNERS: &str = "ownerReferences to Clusters and KubeconfigRequests are the operator's; leave them out";

/// The message of [`FINALIZER_RESTORED`]. It begins as the refusal of the admission policies does.
pub const HOLDS: &str = "finalizers of allotment.dev hold the account and the Shoot until they are given back; the operator removes them, \
     and has put back the one that was taken away: delete the object and wait";

/// The reason of the Event when somebody else took our finalizer away.
pub const FINALIZER_RESTORED: &str = "FinalizerRestored";

/// The reason of the Event when an object is back whose deletion was seen.
pub const RETURNED: &str = "ReturnedAfterDeletion";

/// The message of [`RETURNED`].
pub const RETURNED_BECAUSE: &str = "this object was deleted and is back with its UID: its API server was put back to an older state. It is \
     reconciled as it is now, and nothing counts that was done for its deletion; delete it again if it is not wanted";

/// The group of the kinds that we let own something.
const GROUP: &str = "operator.kyma-project.io/";

/// The verdict on the marks of a SubscriptionRequest. One that we made is named after its owner, and refers to it.
pub fn of_subscription(request: &SubscriptionRequest) -> Option<Verdict> {
    let metadata = &request.metadata;
    let referred = request.spec.cluster_ref.as_ref();
    let referred =
        referred.filter(|it| it.kind == "Cluster" && Some(&it.namespace) == metadata.namespace.as_ref());
    let is_owner = |owner: &OwnerReference| {
        referred.is_some_and(|it| it.name == owner.name)
            && metadata.name.as_deref() == Some(&request_name_of(&owner.name, &owner.uid))
    };
    let is_for_cluster = || {
        let prefix = metadata.name.as_deref().and_then(cluster_of_request);
        referred.zip(prefix).is_some_and(|(it, prefix)| it.name.starts_with(prefix))
    };
    let finalizers = metadata.finalizers.as_deref().unwrap_or_default();
    let is_held = finalizers.iter().any(|name| name == finalizer::CLUSTER) && !is_for_cluster();
    verdict(is_held, has_other_owner(metadata.owner_references.as_deref(), is_owner))
}

/// The verdict on the marks of a KubeconfigRequest. We own none; that it goes with its Cluster may be meant.
pub fn of_access(request: &KubeconfigRequest) -> Option<Verdict> {
    let is_owner = |owner: &OwnerReference| owner.kind == "Cluster" && owner.name == request.spec.cluster;
    verdict(false, has_other_owner(request.metadata.owner_references.as_deref(), is_owner))
}

/// Whether somebody else took our finalizer off an object: we do that only once it is being deleted.
pub fn was_taken_off(before: &ObjectMeta, after: &ObjectMeta, finalizer: &str) -> bool {
    let has = |it: &ObjectMeta| it.finalizers.iter().flatten().any(|name| name == finalizer);
    before.uid == after.uid && after.deletion_timestamp.is_none() && has(before) && !has(after)
}

fn has_other_owner(owners: Option<&[OwnerReference]>, is_owner: impl Fn(&OwnerReference) -> bool) -> bool {
    let mut ours = owners.into_iter().flatten().filter(|owner| owner.api_version.starts_with(GROUP));
    ours.any(|owner| !is_owner(owner))
}

fn verdict(is_held: bool, is_owned: bool) -> Option<Verdict> {
    let told = [(is_held, FINALIZERS), (is_owned, OWNERS)];
    let told: Vec<&str> = told.into_iter().filter(|(is_so, _)| *is_so).map(|(_, words)| words).collect();
    let message = format!("{}; nothing follows from them", told.join("; "));
    let verdict =
        Verdict { type_: MARKS_IGNORED, status: ConditionStatus::True, reason: "NotTheOperators", message };
    (!told.is_empty()).then_some(verdict)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::flow::request_for;
    use serde_json::{Value, json};

    fn cluster() -> allotment_api::kyma::Cluster {
        serde_json::from_value(json!({
            "apiVersion": "operator.kyma-project.io/v1alpha1", "kind": "Cluster",
            "metadata": { "name": "home", "namespace": "mine", "uid": "0a1b2c3d-1111-2222-3333-444444444444" },
            "spec": {
                "core": { "purpose": "Production", "region": "eu-central-1" },
                "infrastructure": {
                    "provider": "aws", "machineType": "m5.large", "autoScalerMin": 1, "autoScalerMax": 3,
                    "numberOfZones": 1, "subscriptionSelector": "t-1",
                },
            },
        }))
        .unwrap()
    }

    fn words(request: &SubscriptionRequest) -> String {
        of_subscription(request).map(|verdict| verdict.message).unwrap_or_default()
    }

    #[test]
    fn a_request_that_the_operator_made_is_not_reported() {
        let mut cluster = cluster();
        assert_eq!(words(&request_for(&cluster).unwrap()), "");
        // A long name is cut in the name of the request.
        cluster.metadata.name = Some("x".repeat(253));
        assert_eq!(words(&request_for(&cluster).unwrap()), "");
    }

    #[test]
    fn forged_owners_and_finalizers_are_reported() {
        let honest = request_for(&cluster()).unwrap();
        let mut elsewhere = honest.clone();
        elsewhere.metadata.namespace = Some("other".to_owned());
        assert!(words(&elsewhere).contains(OWNERS) && words(&elsewhere).contains(FINALIZERS));
        let mut renamed = honest.clone();
        renamed.metadata.name = Some("anything".to_owned());
        assert!(words(&renamed).contains(OWNERS) && words(&renamed).contains(FINALIZERS));
        let mut owned = honest.clone();
        owned.metadata.owner_references.as_mut().unwrap()[0].uid = "ffffffff-1111".to_owned();
        assert!(words(&owned).contains(OWNERS) && !words(&owned).contains(FINALIZERS));
        let mut of_others = honest;
        of_others.metadata.owner_references.as_mut().unwrap()[0].api_version = "apps/v1".to_owned();
        assert_eq!(words(&of_others), "", "owners of other kinds are not ours");
    }

    #[test]
    fn a_finalizer_is_taken_off_by_others_only_from_what_lives() {
        let object = |uid: &str, finalizers: &[&str], is_deleted: bool| -> ObjectMeta {
            let deleted = is_deleted.then_some("2026-01-01T00:00:00Z");
            serde_json::from_value(
                json!({ "uid": uid, "finalizers": finalizers, "deletionTimestamp": deleted }),
            )
            .unwrap()
        };
        let held = object("a", &["x", finalizer::CLUSTER], false);
        let was = |after: &ObjectMeta| was_taken_off(&held, after, finalizer::CLUSTER);
        assert!(was(&object("a", &["x"], false)));
        assert!(!was(&held) && !was(&object("a", &[], true)) && !was(&object("b", &[], false)));
        assert!(!was_taken_off(&object("a", &[], false), &object("a", &[], false), finalizer::CLUSTER));
    }

    #[test]
    fn access_is_owned_by_nobody_but_its_cluster() {
        let request = |kind: &str, name: &str| -> KubeconfigRequest {
            let owner: Value = json!({
                "apiVersion": "operator.kyma-project.io/v1alpha1", "kind": kind, "name": name, "uid": "u",
            });
            serde_json::from_value(json!({
                "apiVersion": "operator.kyma-project.io/v1alpha1", "kind": "KubeconfigRequest",
                "metadata": { "name": "x", "ownerReferences": [owner] },
                "spec": { "cluster": "home", "expiration": 3600 },
            }))
            .unwrap()
        };
        assert_eq!(of_access(&request("Cluster", "home")), None);
        for (kind, name) in [("Cluster", "other"), ("KubeconfigRequest", "home")] {
            assert!(of_access(&request(kind, name)).unwrap().message.contains(OWNERS), "{kind} {name}");
        }
    }
}
