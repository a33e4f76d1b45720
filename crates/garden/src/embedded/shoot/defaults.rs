//! What a Shoot has if nobody says otherwise, whatever the garden is like.

use super::super::json::{at, fill, is_true, items, number, put, put_default, text, texts};
use serde_json::{Value, json};

/// The pods of a node if nobody says otherwise.
const PODS_PER_NODE: i64 = 110;

/// Puts in what is missing.
pub(in super::super) fn set(shoot: &mut Value) {
    fill(
        shoot,
        &json!({ "spec": {
        "purpose": "evaluation", "schedulerName": "default-scheduler", "provider": {}, "region": "",
        "kubernetes": { "kubeAPIServer": {
            "requests": { "maxNonMutatingInflight": 400, "maxMutatingInflight": 200 }, "eventTTL": "1h0m0s",
            "logging": { "verbosity": 2 }, "encryptionConfig": { "provider": { "type": "aescbc" } },
        } },
        "networking": { "ipFamilies": ["IPv4"] },
    } }),
    );
    maintenance(shoot);
    let has_workers = !items(shoot, "/spec/provider/workers").is_empty();
    if has_workers {
        with_workers(shoot);
    }
    for worker in
        shoot.pointer_mut("/spec/provider/workers").and_then(Value::as_array_mut).into_iter().flatten()
    {
        set_worker(worker);
        if at(worker, "/machine/image").is_some() {
            put_default(worker, "/machine/image/version", json!(""));
        }
    }
    if at(shoot, "/spec/kubernetes/verticalPodAutoscaler").is_some() {
        vertical_pod_autoscaler(shoot);
    }
    if at(shoot, "/spec/kubernetes/clusterAutoscaler").is_some() {
        cluster_autoscaler(shoot);
    }
}

fn maintenance(shoot: &mut Value) {
    put_default(shoot, "/spec/maintenance/autoUpdate", json!({ "kubernetesVersion": true }));
    put_default(shoot, "/spec/maintenance/autoUpdate/kubernetesVersion", json!(false));
    if at(shoot, "/spec/maintenance/timeWindow").is_none() {
        let hour = some_hour(text(shoot, "/metadata/uid"));
        let window =
            json!({ "begin": format!("{hour:02}0000+0000"), "end": format!("{:02}0000+0000", hour + 1) });
        put(shoot, "/spec/maintenance/timeWindow", window);
    }
}

/// An hour from 0 to 22, as Gardener draws it. Here it comes from the UID, which is random where the server's source of
/// randomness is, and the same again where that is.
fn some_hour(uid: &str) -> u32 {
    uid.bytes().fold(0, |sum, byte| (sum * 31 + u32::from(byte)) % 23)
}

fn with_workers(shoot: &mut Value) {
    fill(
        shoot,
        &json!({ "spec": {
        "kubernetes": {
            "kubeAPIServer": { "defaultNotReadyTolerationSeconds": 300, "defaultUnreachableTolerationSeconds": 300 },
            "kubeControllerManager": { "nodeMonitorGracePeriod": "40s" },
            "kubeScheduler": { "profile": "balanced" },
            "kubeProxy": { "mode": "IPTables", "enabled": true },
            "kubelet": {
                "failSwapOn": true, "imageGCHighThresholdPercent": 50, "imageGCLowThresholdPercent": 40,
                "imageMinimumGCAge": "2m0s", "imageMaximumGCAge": "0s",
            },
        },
        "maintenance": { "autoUpdate": { "machineImageVersion": true } },
        "provider": { "workersSettings": { "sshAccess": { "enabled": true } } },
        "systemComponents": { "coreDNS": { "autoscaling": { "mode": "horizontal" } } },
    } }),
    );
    let one_by_one = number(shoot, "/spec/kubernetes/kubelet/maxParallelImagePulls") < 2;
    put_default(shoot, "/spec/kubernetes/kubelet/serializeImagePulls", json!(one_by_one));
    let families = texts(shoot, "/spec/networking/ipFamilies");
    let (v4, v6) = (families.contains(&"IPv4"), families.contains(&"IPv6"));
    let manager = "/spec/kubernetes/kubeControllerManager";
    if v4 {
        let size = node_mask(shoot);
        put_default(shoot, &format!("{manager}/nodeCIDRMaskSize"), json!(size));
    }
    if v6 {
        let field = if v4 { "nodeCIDRMaskSizeIPv6" } else { "nodeCIDRMaskSize" };
        put_default(shoot, &format!("{manager}/{field}"), json!(64));
    }
}

/// A node gets about twice as many addresses as it may have pods.
fn node_mask(shoot: &Value) -> i64 {
    let of_shoot = at(shoot, "/spec/kubernetes/kubelet/maxPods").and_then(Value::as_i64);
    let of_workers = items(shoot, "/spec/provider/workers")
        .iter()
        .filter_map(|worker| at(worker, "/kubernetes/kubelet/maxPods").and_then(Value::as_i64));
    let pods = of_workers.fold(of_shoot.unwrap_or(PODS_PER_NODE), i64::max).clamp(1, 1 << 24);
    let addresses = u64::try_from(pods * 2).unwrap_or_default().next_power_of_two();
    32 - i64::from(addresses.trailing_zeros())
}

fn set_worker(worker: &mut Value) {
    let common = json!({
        "updateStrategy": "AutoRollingUpdate", "systemComponents": { "allow": true }, "cri": { "name": "containerd" },
        "minimum": 0, "maximum": 0, "name": "", "machine": { "type": "" },
    });
    fill(worker, &common);
    match text(worker, "/updateStrategy") {
        "ManualInPlaceUpdate" => {}
        "AutoInPlaceUpdate" => fill(worker, &json!({ "maxSurge": 0, "maxUnavailable": 1 })),
        _ => fill(worker, &json!({ "maxSurge": 1, "maxUnavailable": 0 })),
    }
    if at(worker, "/kubernetes/kubelet").is_some() {
        put_default(worker, "/kubernetes/kubelet/failSwapOn", json!(true));
    }
    if at(worker, "/volume").is_some() {
        put_default(worker, "/volume/size", json!(""));
    }
}

/// What an autoscaler for pods has.
pub(super) fn vertical_pod_autoscaler(shoot: &mut Value) {
    let enabled = is_true(shoot, "/spec/kubernetes/verticalPodAutoscaler/enabled");
    fill(
        shoot,
        &json!({ "spec": { "kubernetes": { "verticalPodAutoscaler": {
        "enabled": enabled, "evictAfterOOMThreshold": "10m0s", "evictionRateBurst": 1, "evictionRateLimit": -1,
        "evictionTolerance": 0.5, "recommendationMarginFraction": 0.15, "updaterInterval": "1m0s",
        "recommenderInterval": "1m0s", "targetCPUPercentile": 0.9, "recommendationLowerBoundCPUPercentile": 0.5,
        "recommendationUpperBoundCPUPercentile": 0.95, "targetMemoryPercentile": 0.9,
        "recommendationLowerBoundMemoryPercentile": 0.5, "recommendationUpperBoundMemoryPercentile": 0.95,
        "cpuHistogramDecayHalfLife": "24h0m0s", "memoryHistogramDecayHalfLife": "24h0m0s",
        "memoryAggregationInterval": "24h0m0s", "memoryAggregationIntervalCount": 8, "recommenderUpdateWorkerCount": 10,
    } } } }),
    );
}

fn cluster_autoscaler(shoot: &mut Value) {
    fill(
        shoot,
        &json!({ "spec": { "kubernetes": { "clusterAutoscaler": {
        "scaleDownDelayAfterAdd": "1h0m0s", "scaleDownDelayAfterDelete": "0s", "scaleDownDelayAfterFailure": "3m0s",
        "scaleDownUnneededTime": "30m0s", "scaleDownUtilizationThreshold": 0.5, "scanInterval": "10s",
        "expander": "least-waste", "maxNodeProvisionTime": "20m0s", "maxGracefulTerminationSeconds": 600,
        "ignoreDaemonsetsUtilization": false, "emitPerNodeGroupMetrics": false, "verbosity": 2,
        "newPodScaleUpDelay": "0s", "maxScaleDownParallelism": 10, "maxDrainParallelism": 1,
        "initialNodeGroupBackoffDuration": "5m0s", "maxNodeGroupBackoffDuration": "30m0s",
        "nodeGroupBackoffResetTimeout": "3h0m0s", "maxBinpackingTime": "5m0s",
    } } } }),
    );
}
