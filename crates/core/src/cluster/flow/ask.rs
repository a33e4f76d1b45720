//! The SubscriptionRequest of a Cluster.

use allotment_api::{
    condition::ConditionStatus,
    kyma::{
        Cluster, ClusterCondition, ClusterReference, Infrastructure, SubscriptionPhase, SubscriptionRequest,
        SubscriptionRequestSpec,
    },
    names::{finalizer, tenant},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use std::collections::BTreeMap;

use super::name_of;
use crate::{condition::Verdict, failure};

/// Labels that go on from a Cluster to its request, for people who look for it.
const LABELS: [&str; 4] =
    [tenant::PLAN, tenant::GLOBAL_ACCOUNT_ID, tenant::SUBACCOUNT_ID, tenant::INSTANCE_ID];

/// So much of a Cluster's name is in that of its request: the longest name of an object is 253.
pub const LONGEST_IN_REQUEST: usize = 240;

/// So much of its UID.
const DIGITS: usize = 8;

/// The name of a Cluster's request. The next Cluster of the same name has another one: the first may still be giving back.
pub fn request_name(cluster: &Cluster) -> String {
    request_name_of(name_of(&cluster.metadata.name), name_of(&cluster.metadata.uid))
}

/// The same, of a Cluster with this name and this UID.
pub fn request_name_of(cluster: &str, uid: &str) -> String {
    let name: String = cluster.chars().take(LONGEST_IN_REQUEST).collect();
    let uid: String = uid.chars().filter(char::is_ascii_alphanumeric).take(DIGITS).collect();
    format!("{name}-{uid}")
}

/// The name, or the beginning of it, that the Cluster has whose request has this name.
pub fn cluster_of_request(request: &str) -> Option<&str> {
    let (name, digits) = request.rsplit_once('-')?;
    (digits.len() == DIGITS).then_some(name)
}

/// What a Cluster asks for, or would; none where the tenant brings the cluster.
pub fn request_for(cluster: &Cluster) -> Option<SubscriptionRequest> {
    Some(request(cluster, cluster.spec.infrastructure.as_ref()?))
}

/// What is asked for. The labels are read here and never again: a moved subaccount does not move a cluster.
pub(super) fn request(cluster: &Cluster, infrastructure: &Infrastructure) -> SubscriptionRequest {
    let metadata = &cluster.metadata;
    let labels = metadata.labels.clone().unwrap_or_default();
    let plan = labels.get(tenant::PLAN).filter(|plan| !plan.is_empty()).cloned();
    let core = cluster.spec.core.as_ref();
    let (name, uid) = (name_of(&metadata.name).to_owned(), name_of(&metadata.uid).to_owned());
    let spec = SubscriptionRequestSpec {
        provider: infrastructure.provider,
        subscription_selector: infrastructure.subscription_selector.clone(),
        plan,
        platform_region: core.and_then(|core| core.platform_region.clone()),
        hyperscaler_region: core.map(|core| core.region.clone()),
        cluster_ref: Some(ClusterReference {
            api_version: "operator.kyma-project.io/v1alpha1".to_owned(),
            kind: "Cluster".to_owned(),
            namespace: name_of(&metadata.namespace).to_owned(),
            name: name.clone(),
        }),
    };
    let mut request = SubscriptionRequest::new(&request_name(cluster), spec);
    let kept: BTreeMap<String, String> =
        labels.into_iter().filter(|(key, _)| LABELS.contains(&key.as_str())).collect();
    request.metadata = ObjectMeta {
        namespace: metadata.namespace.clone(),
        labels: Some(kept).filter(|labels| !labels.is_empty()),
        // The account is not given back before we say that the Shoot is gone, whoever deletes the request.
        finalizers: Some(vec![finalizer::CLUSTER.to_owned()]),
        owner_references: Some(vec![OwnerReference {
            api_version: "operator.kyma-project.io/v1alpha1".to_owned(),
            kind: "Cluster".to_owned(),
            name,
            uid,
            controller: Some(true),
            block_owner_deletion: Some(true),
        }]),
        ..request.metadata
    };
    request
}

/// Whether a request is the Cluster's own: its name follows from the Cluster's UID, which nobody can choose, and it asks for
/// what the Cluster cannot change any more. An ownerReference proves nothing: whoever may write requests may write one, and
/// whoever deletes a Cluster with `--cascade=orphan` has it removed. A tenant who makes the request before we do gets from it what an honest one would give: it reaches the accounts
/// of the tenants of its namespace, and the Shoot that we make for it.
pub fn is_of(request: &SubscriptionRequest, cluster: &Cluster) -> bool {
    let (own, of) = (&request.metadata, &cluster.metadata);
    let Some(infrastructure) = &cluster.spec.infrastructure else { return false };
    let is_referred = request.spec.cluster_ref.as_ref().is_some_and(|referred| {
        Some(&referred.namespace) == of.namespace.as_ref() && Some(&referred.name) == of.name.as_ref()
    });
    let region = cluster.spec.core.as_ref().map(|core| &core.region);
    of.uid.is_some()
        && own.namespace == of.namespace
        && name_of(&own.name) == request_name(cluster)
        && is_referred
        && request.spec.provider == infrastructure.provider
        && request.spec.hyperscaler_region.as_ref() == region
}

/// The binding that a request got.
pub(super) fn binding(request: &SubscriptionRequest) -> Option<&str> {
    let status = request.status.as_ref()?;
    if status.phase != Some(SubscriptionPhase::Bound) && status.phase != Some(SubscriptionPhase::Releasing) {
        return None;
    }
    status.gardener_secret_name.as_deref()
}

/// What the Cluster says of its request.
pub(super) fn verdict(request: &SubscriptionRequest) -> Verdict {
    let status = request.status.as_ref();
    let said =
        status.and_then(|status| status.conditions.iter().find(|condition| condition.type_ == "Ready"));
    let said = said.map(|condition| condition.message.clone());
    let failure = status.and_then(|status| failure::told(&status.conditions));
    // Whoever waits for the account reads the Cluster, and not the request.
    let with_failure = |message: String| match failure {
        None => message,
        Some(failure) => format!("{message}; {}", failure.message),
    };
    let verdict = |status, reason, message| Verdict {
        type_: ClusterCondition::SubscriptionReady.as_str(),
        status,
        reason,
        message,
    };
    if request.metadata.deletion_timestamp.is_some() {
        let message =
            "its SubscriptionRequest is being deleted; the account is kept until this Cluster is deleted too";
        return verdict(ConditionStatus::False, "Releasing", message.to_owned());
    }
    match status.and_then(|status| status.phase) {
        Some(SubscriptionPhase::Bound) => verdict(
            ConditionStatus::True,
            "Assigned",
            said.unwrap_or_else(|| "there is an account".to_owned()),
        ),
        Some(SubscriptionPhase::Waiting) => verdict(
            ConditionStatus::False,
            "Waiting",
            with_failure(said.unwrap_or_else(|| "it waits for an account".to_owned())),
        ),
        Some(SubscriptionPhase::Denied) => verdict(
            ConditionStatus::False,
            "Denied",
            said.unwrap_or_else(|| "there is no pool for it".to_owned()),
        ),
        _ => verdict(ConditionStatus::False, "Pending", with_failure("an account is asked for".to_owned())),
    }
}
