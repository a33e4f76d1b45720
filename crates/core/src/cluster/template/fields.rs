//! One table of every field of a Shoot (Gardener 1.150), and who may set it.
//!
//! The rule behind it: a tenant may set what acts only inside its own cluster and its own account. Everything that acts on a
//! seed, in the garden or on objects of the project that tenants share is the platform's, or a reference that the
//! configuration allows by name.
//!
//! `Own` and `Platform` cover everything below a field, so that a field that Gardener adds there is refused to tenants.
//! `Allowed` covers a value, a list of values or a map of values; a field that Gardener adds beside it is in no row, is refused
//! to tenants, and makes a test fail until it has a row.

use serde_json::Value;
use std::{
    collections::BTreeMap,
    fmt,
    ops::Bound::{Included, Unbounded},
    sync::LazyLock,
};

/// Who may set a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The renderer: no template may change it. The text says where it comes from.
    Own(&'static str),
    /// Everybody: it acts inside the cluster.
    Allowed,
    /// Labels or annotations: everybody, except for keys of Gardener's and of ours.
    Keys,
    /// It names an object. Tenants may use names that the configuration allows to them.
    Reference(Kind),
    /// Only the platform. The text says why.
    Platform(&'static str),
}

/// The kind of object that a reference names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The field is the name of an object of this kind.
    Is(&'static str),
    /// The field is an object with a name, of this kind.
    Inside(&'static str),
    /// The field is an object with a kind and a name.
    Beside,
}

/// Where a kubelet is configured: for all nodes, and for those of a pool.
const KUBELET: &str = "spec.kubernetes.kubelet spec.provider.workers[].kubernetes.kubelet";
const KUBELET_EVICTION: &str = "spec.kubernetes.kubelet.evictionHard spec.kubernetes.kubelet.evictionSoft \
    spec.kubernetes.kubelet.evictionSoftGracePeriod spec.kubernetes.kubelet.evictionMinimumReclaim \
    spec.provider.workers[].kubernetes.kubelet.evictionHard spec.provider.workers[].kubernetes.kubelet.evictionSoft \
    spec.provider.workers[].kubernetes.kubelet.evictionSoftGracePeriod \
    spec.provider.workers[].kubernetes.kubelet.evictionMinimumReclaim";
const KUBELET_RESERVED: &str =
    "spec.kubernetes.kubelet.kubeReserved spec.provider.workers[].kubernetes.kubelet.kubeReserved";
const KUBELET_SWAP: &str =
    "spec.kubernetes.kubelet.memorySwap spec.provider.workers[].kubernetes.kubelet.memorySwap";

const EXTENSION_CONFIG: &str = "it can name objects that the extension reads with its own rights";
const ON_SEED: &str = "it acts on the seed, which tenants share";
const PLACEMENT: &str = "the platform decides where control planes run";
const SHARED_NAMES: &str = "domains of the garden are shared by all tenants";

/// Below which fields, which ones, and who may set them.
const ROWS: &[(&str, &str, Class)] = &[
    ("", "apiVersion kind", Class::Own("it is a Shoot")),
    ("", "status", Class::Own("it is Gardener's")),
    ("metadata", "name generateName", Class::Own("use spec.core.shootName")),
    ("metadata", "namespace", Class::Own("the garden project decides")),
    ("metadata", "uid", Class::Own("it tells this Shoot from others")),
    ("metadata", "resourceVersion", Class::Own("the operator decides")),
    ("metadata", "finalizers", Class::Own("they are others' to set")),
    ("metadata", "ownerReferences", Class::Own("the Shoot has no owner in the garden")),
    ("metadata", "labels annotations", Class::Keys),
    (
        "spec",
        "credentialsBindingName secretBindingName",
        Class::Own("the account comes from the SubscriptionRequest"),
    ),
    ("spec", "region", Class::Own("use spec.core.region")),
    ("spec", "cloudProfile cloudProfileName", Class::Own("the configuration decides")),
    ("spec", "seedName", Class::Own("the scheduler decides")),
    ("spec", "seedSelector schedulerName exposureClassName tolerations", Class::Platform(PLACEMENT)),
    ("spec", "accessRestrictions", Class::Platform("use spec.infrastructure.euAccess")),
    ("spec", "purpose", Class::Allowed),
    ("spec.addons.kubernetesDashboard", "authenticationMode enabled", Class::Allowed),
    (
        "spec.addons.nginxIngress",
        "config enabled externalTrafficPolicy loadBalancerSourceRanges",
        Class::Allowed,
    ),
    ("spec.controlPlane.highAvailability.failureTolerance", "type", Class::Allowed),
    ("spec.controlPlane", "zones", Class::Platform(PLACEMENT)),
    ("spec.dns", "domain", Class::Platform(SHARED_NAMES)),
    ("spec.dns.providers[]", "type primary", Class::Allowed),
    ("spec.dns.providers[].domains spec.dns.providers[].zones", "include exclude", Class::Allowed),
    ("spec.dns.providers[]", "credentialsRef", Class::Reference(Kind::Beside)),
    ("spec.dns.providers[]", "secretName", Class::Reference(Kind::Is("Secret"))),
    ("spec.extensions[]", "type", Class::Reference(Kind::Is("Extension"))),
    ("spec.extensions[]", "providerConfig", Class::Platform(EXTENSION_CONFIG)),
    ("spec.extensions[]", "disabled", Class::Platform("the platform decides which extensions a Shoot has")),
    ("spec.hibernation", "enabled", Class::Allowed),
    ("spec.hibernation.schedules[]", "start end location", Class::Allowed),
    ("spec.kubernetes", "version", Class::Own("use spec.core.kubernetesVersion")),
    (
        "spec.kubernetes.clusterAutoscaler spec.kubernetes.kubeAPIServer spec.kubernetes.etcd.main \
         spec.kubernetes.etcd.events",
        "autoscaling",
        Class::Platform("it takes room on the seed, which tenants share"),
    ),
    (
        "spec.kubernetes.clusterAutoscaler",
        "emitPerNodeGroupMetrics expander ignoreDaemonsetsUtilization ignoreTaints initialNodeGroupBackoffDuration \
         maxBinpackingTime maxDrainParallelism maxEmptyBulkDelete maxGracefulTerminationSeconds \
         maxNodeGroupBackoffDuration maxNodeProvisionTime maxScaleDownParallelism newPodScaleUpDelay \
         nodeGroupBackoffResetTimeout scaleDownDelayAfterAdd scaleDownDelayAfterDelete scaleDownDelayAfterFailure \
         scaleDownUnneededTime scaleDownUtilizationThreshold scanInterval startupTaints statusTaints",
        Class::Allowed,
    ),
    ("spec.kubernetes.clusterAutoscaler", "verbosity", Class::Platform(ON_SEED)),
    ("spec.kubernetes.kubeAPIServer.admissionPlugins[]", "name disabled", Class::Allowed),
    (
        "spec.kubernetes.kubeAPIServer.admissionPlugins[]",
        "config",
        Class::Platform("it can make the control plane call addresses beside the seed"),
    ),
    (
        "spec.kubernetes.kubeAPIServer.admissionPlugins[]",
        "kubeconfigSecretName",
        Class::Reference(Kind::Is("Secret")),
    ),
    (
        "spec.kubernetes.kubeAPIServer",
        "apiAudiences defaultNotReadyTolerationSeconds defaultUnreachableTolerationSeconds \
         enableAnonymousAuthentication eventTTL tlsMinVersion",
        Class::Allowed,
    ),
    ("spec.kubernetes.kubeAPIServer.requests", "maxMutatingInflight maxNonMutatingInflight", Class::Allowed),
    (
        "spec.kubernetes.kubeAPIServer.auditConfig.auditPolicy",
        "configMapRef",
        Class::Reference(Kind::Inside("ConfigMap")),
    ),
    (
        "spec.kubernetes.kubeAPIServer",
        "encryptionConfig",
        Class::Platform("the platform decides how etcd is encrypted"),
    ),
    (
        "spec.kubernetes.kubeAPIServer",
        "featureGates logging runtimeConfig watchCacheSizes",
        Class::Platform(ON_SEED),
    ),
    (
        "spec.kubernetes.kubeAPIServer.serviceAccountConfig",
        "extendTokenExpiration maxTokenExpiration",
        Class::Allowed,
    ),
    (
        "spec.kubernetes.kubeAPIServer.serviceAccountConfig",
        "issuer acceptedIssuers",
        Class::Platform("an issuer could be another cluster's"),
    ),
    (
        "spec.kubernetes.kubeAPIServer.structuredAuthentication spec.kubernetes.kubeAPIServer.structuredAuthorization",
        "configMapName",
        Class::Reference(Kind::Is("ConfigMap")),
    ),
    ("spec.kubernetes.kubeAPIServer.structuredAuthorization.kubeconfigs[]", "authorizerName", Class::Allowed),
    (
        "spec.kubernetes.kubeAPIServer.structuredAuthorization.kubeconfigs[]",
        "secretName",
        Class::Reference(Kind::Is("Secret")),
    ),
    ("spec.kubernetes.kubeControllerManager", "featureGates", Class::Platform(ON_SEED)),
    (
        "spec.kubernetes.kubeControllerManager.horizontalPodAutoscaler",
        "cpuInitializationPeriod downscaleStabilization initialReadinessDelay syncPeriod tolerance",
        Class::Allowed,
    ),
    (
        "spec.kubernetes.kubeControllerManager",
        "nodeCIDRMaskSize nodeCIDRMaskSizeIPv6 nodeMonitorGracePeriod podEvictionTimeout",
        Class::Allowed,
    ),
    ("spec.kubernetes.kubeProxy", "enabled featureGates mode", Class::Allowed),
    ("spec.kubernetes.kubeScheduler", "featureGates", Class::Platform(ON_SEED)),
    ("spec.kubernetes.kubeScheduler", "kubeMaxPDVols profile", Class::Allowed),
    (
        KUBELET,
        "containerLogMaxFiles containerLogMaxSize cpuCFSQuota cpuManagerPolicy evictionMaxPodGracePeriod \
         evictionPressureTransitionPeriod failSwapOn featureGates imageGCHighThresholdPercent \
         imageGCLowThresholdPercent imageMaximumGCAge imageMinimumGCAge imagePullCredentialsVerificationPolicy \
         maxParallelImagePulls maxPods podPidsLimit preloadedImagesVerificationAllowlist protectKernelDefaults \
         registryBurst registryPullQPS seccompDefault serializeImagePulls singleProcessOOMKill \
         streamingConnectionIdleTimeout",
        Class::Allowed,
    ),
    (
        KUBELET_EVICTION,
        "imageFSAvailable imageFSInodesFree memoryAvailable nodeFSAvailable nodeFSInodesFree",
        Class::Allowed,
    ),
    (KUBELET_RESERVED, "cpu ephemeralStorage memory pid", Class::Allowed),
    (KUBELET_SWAP, "swapBehavior", Class::Allowed),
    (
        "spec.kubernetes.verticalPodAutoscaler",
        "cpuHistogramDecayHalfLife enabled evictAfterOOMThreshold evictionRateBurst evictionRateLimit \
         evictionTolerance memoryAggregationInterval memoryHistogramDecayHalfLife \
         recommendationLowerBoundCPUPercentile recommendationLowerBoundMemoryPercentile \
         recommendationMarginFraction recommendationUpperBoundCPUPercentile \
         recommendationUpperBoundMemoryPercentile recommenderInterval targetCPUPercentile targetMemoryPercentile \
         updaterInterval",
        Class::Allowed,
    ),
    (
        "spec.kubernetes.verticalPodAutoscaler",
        "featureGates maxAllowed memoryAggregationIntervalCount recommenderUpdateWorkerCount",
        Class::Platform(ON_SEED),
    ),
    (
        "spec.maintenance.autoRotation.credentials.etcdEncryptionKey \
         spec.maintenance.autoRotation.credentials.observability spec.maintenance.autoRotation.credentials.sshKeypair",
        "rotationPeriod",
        Class::Allowed,
    ),
    ("spec.maintenance.autoUpdate", "kubernetesVersion machineImageVersion", Class::Allowed),
    ("spec.maintenance", "confineSpecUpdateRollout", Class::Allowed),
    ("spec.maintenance.timeWindow", "begin end", Class::Allowed),
    ("spec.monitoring", "alerting", Class::Platform("the garden sends mail to these addresses")),
    ("spec.networking", "ipFamilies nodes pods services type", Class::Allowed),
    ("spec.networking", "providerConfig", Class::Platform(EXTENSION_CONFIG)),
    ("spec.provider", "type", Class::Own("use spec.infrastructure.provider")),
    ("spec.provider", "controlPlaneConfig infrastructureConfig", Class::Platform(EXTENSION_CONFIG)),
    (
        "spec.provider",
        "workersSettings",
        Class::Platform("clusters.defaults.sshAccess of the configuration decides"),
    ),
    ("spec.provider.workers[]", "name", Class::Own("it is how the pool is found")),
    ("spec.provider.workers[]", "zones", Class::Own("use zones of the pool")),
    (
        "spec.provider.workers[]",
        "annotations caBundle kubeletDataVolumeName labels maxSurge maxUnavailable maximum minimum priority sysctls \
         updateStrategy",
        Class::Allowed,
    ),
    (
        "spec.provider.workers[].clusterAutoscaler",
        "maxNodeProvisionTime scaleDownGpuUtilizationThreshold scaleDownUnneededTime scaleDownUnreadyTime \
         scaleDownUtilizationThreshold",
        Class::Allowed,
    ),
    ("spec.provider.workers[]", "controlPlane", Class::Platform(PLACEMENT)),
    ("spec.provider.workers[].cri", "name", Class::Allowed),
    ("spec.provider.workers[].cri", "containerRuntimes", Class::Platform(EXTENSION_CONFIG)),
    (
        "spec.provider.workers[].dataVolumes[] spec.provider.workers[].volume",
        "encrypted name size type",
        Class::Allowed,
    ),
    ("spec.provider.workers[].kubernetes", "version", Class::Allowed),
    ("spec.provider.workers[].machine", "architecture type", Class::Allowed),
    ("spec.provider.workers[].machine.image", "name version", Class::Allowed),
    ("spec.provider.workers[].machine.image", "providerConfig", Class::Platform(EXTENSION_CONFIG)),
    (
        "spec.provider.workers[].machineControllerManager",
        "autoPreserveFailedMachineMax disableHealthTimeout inPlaceUpdateTimeout machineCreationTimeout \
         machineDrainTimeout machineHealthTimeout machinePreserveTimeout maxEvictRetries nodeConditions",
        Class::Allowed,
    ),
    ("spec.provider.workers[]", "providerConfig", Class::Platform(EXTENSION_CONFIG)),
    ("spec.provider.workers[].systemComponents", "allow", Class::Allowed),
    ("spec.provider.workers[].taints[]", "effect key timeAdded value", Class::Allowed),
    ("spec.resources[]", "name", Class::Allowed),
    ("spec.resources[]", "resourceRef", Class::Reference(Kind::Beside)),
    ("spec.systemComponents.coreDNS.autoscaling", "mode", Class::Allowed),
    ("spec.systemComponents.coreDNS.rewriting", "commonSuffixes", Class::Allowed),
    (
        "spec.systemComponents.nodeLocalDNS",
        "disableForwardToUpstreamDNS enabled forceTCPToClusterDNS forceTCPToUpstreamDNS",
        Class::Allowed,
    ),
];

static TABLE: LazyLock<BTreeMap<String, Class>> = LazyLock::new(|| {
    let mut table = BTreeMap::new();
    for (places, names, class) in ROWS {
        let places = if places.is_empty() { vec![""] } else { places.split_whitespace().collect() };
        for place in places {
            for name in names.split_whitespace() {
                table.insert(below(place, name), *class);
            }
        }
    }
    table
});

/// Every field that has a row, by its path: `spec.provider.workers[].zones`.
pub fn all() -> impl Iterator<Item = (&'static str, Class)> {
    TABLE.iter().map(|(path, class)| (path.as_str(), *class))
}

/// Who may set a field. None: it has no row of its own.
pub(super) fn class(path: &str) -> Option<Class> {
    TABLE.get(path).copied()
}

/// What a field without a row has to be, because there are rows below it. None: nothing is known of it.
pub(super) fn shape(path: &str) -> Option<Shape> {
    if path.is_empty() {
        return Some(Shape::Object);
    }
    let below =
        TABLE.range::<str, _>((Included(path), Unbounded)).map_while(|(found, _)| found.strip_prefix(path));
    below.into_iter().find_map(|rest| match rest.chars().next() {
        Some('.') => Some(Shape::Object),
        Some('[') => Some(Shape::List),
        _ => None,
    })
}

/// What a field has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Object,
    List,
}

impl Shape {
    pub(super) fn fits(self, value: &Value) -> bool {
        value.is_null()
            || match self {
                Self::Object => value.is_object(),
                Self::List => value.is_array(),
            }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Object => "an object",
            Self::List => "a list",
        })
    }
}

/// The path of a field below another one.
pub(super) fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
