//! `SubscriptionRequest`: which cloud account may this tenant use?

use super::Provider;
use crate::condition::{self, Condition};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Asks for a cloud account out of the pool.
///
/// With a plan, the rules decide which pool, dedicated or shared; the selector then only names the tenant. Without one,
/// provider and selector decide. What was asked for cannot change: delete the request and make a new one.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "control-plane.kyma-project.io",
    version = "v1alpha1",
    kind = "SubscriptionRequest",
    doc = "Asks for a cloud account out of the pool; the status names the binding to put into a Shoot.",
    namespaced,
    status = "SubscriptionRequestStatus",
    derive = "PartialEq",
    shortname = "subreq",
    category = "allotment",
    selectable = ".spec.provider",
    selectable = ".status.phase",
    printcolumn(name = "Provider", type_ = "string", json_path = ".spec.provider"),
    printcolumn(name = "Tenant", type_ = "string", json_path = ".status.tenantName"),
    printcolumn(name = "Binding", type_ = "string", json_path = ".status.gardenerSecretName"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[x_kube(
    validation = Rule::new("has(self.plan) == has(oldSelf.plan) && (!has(self.plan) || self.plan == oldSelf.plan)").message("plan is immutable").field_path(".plan"),
    validation = Rule::new("has(self.platformRegion) == has(oldSelf.platformRegion) && (!has(self.platformRegion) || self.platformRegion == oldSelf.platformRegion)").message("platformRegion is immutable").field_path(".platformRegion"),
    validation = Rule::new("has(self.hyperscalerRegion) == has(oldSelf.hyperscalerRegion) && (!has(self.hyperscalerRegion) || self.hyperscalerRegion == oldSelf.hyperscalerRegion)").message("hyperscalerRegion is immutable").field_path(".hyperscalerRegion"),
)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionRequestSpec {
    /// The cloud that the account is in.
    #[x_kube(validation = Rule::new("self == oldSelf").message("provider is immutable"))]
    pub provider: Provider,
    /// `shared`, or the tenant as `globalaccount:<id>` or `<id>`.
    #[schemars(
        length(min = 1, max = 77),
        regex(pattern = r"^(globalaccount:)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$")
    )]
    #[x_kube(validation = Rule::new("self == oldSelf").message("subscriptionSelector is immutable"))]
    pub subscription_selector: String,
    /// The plan, which the rules map to a pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = r"^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"))]
    pub plan: Option<String>,
    /// The region of the platform, `PR` in the rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = r"^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"))]
    pub platform_region: Option<String>,
    /// The region in the cloud, `HR` in the rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = r"^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"))]
    pub hyperscaler_region: Option<String>,
    /// The object that the account is for; shown in the audit trail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_ref: Option<ClusterReference>,
}

/// Points at the object that an account is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterReference {
    /// Its group and version.
    #[schemars(length(min = 1, max = 253))]
    pub api_version: String,
    /// Its kind.
    #[schemars(length(min = 1, max = 63))]
    pub kind: String,
    /// Its namespace.
    #[schemars(length(min = 1, max = 63))]
    pub namespace: String,
    /// Its name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// What became of the request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionRequestStatus {
    /// The name of the binding: what goes into a Shoot. (The name is from the time when Shoots took Secrets.)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub gardener_secret_name: Option<String>,
    /// The kind of the pool entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binding_kind: Option<BindingKind>,
    /// The Secret behind the binding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretReference>,
    /// The tenant who holds the account; empty for a shared one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub tenant_name: Option<String>,
    /// The pool: `<provider>[_<platform region>][_<hyperscaler region>]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub hyperscaler_type: Option<String>,
    /// The rule that decided, as it is written in the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub matched_rule: Option<String>,
    /// The place in the queue of an exhausted pool, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub queue_position: Option<i32>,
    /// How far it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<SubscriptionPhase>,
    /// The generation that this status was made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Ready` and `PoolAvailable`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "condition::list_with_update_time")]
    pub conditions: Vec<Condition>,
}

/// How far a SubscriptionRequest is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum SubscriptionPhase {
    /// Not decided yet.
    Pending,
    /// The pool is exhausted; the request is in its queue.
    Waiting,
    /// An account is assigned.
    Bound,
    /// The request is deleted; the account is given back once its Shoot is gone.
    Releasing,
    /// It cannot be granted as it is written.
    Denied,
}

impl SubscriptionPhase {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Waiting => "Waiting",
            Self::Bound => "Bound",
            Self::Releasing => "Releasing",
            Self::Denied => "Denied",
        }
    }
}

/// The kinds of object that a pool can be made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum BindingKind {
    /// `security.gardener.cloud/v1alpha1`.
    #[default]
    CredentialsBinding,
    /// `core.gardener.cloud/v1beta1`.
    SecretBinding,
    /// A bare Secret with the pool's labels.
    Secret,
}

/// A Secret in some namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretReference {
    /// Its name.
    #[schemars(length(max = 253))]
    pub name: String,
    /// Its namespace.
    #[schemars(length(max = 253))]
    pub namespace: String,
}

/// The condition types of a SubscriptionRequest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SubscriptionCondition {
    /// An account is assigned and can be used.
    Ready,
    /// The pool had an account to give.
    PoolAvailable,
}

impl SubscriptionCondition {
    /// The type as it stands in the condition.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "Ready",
            Self::PoolAvailable => "PoolAvailable",
        }
    }
}
