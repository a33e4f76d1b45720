//! The size of the CRDs: every server keeps and publishes them, and Helm stores them in a Secret of at most 1 MiB.

use super::{Measure, Outcome};
use allotment_api::crds;

/// Helm's release Secret.
const HELM_LIMIT_BYTES: f64 = 1_048_576.0;

pub(super) fn measure() -> Outcome<Vec<Measure>> {
    let mut bytes = 0;
    for crd in crds::all() {
        bytes += serde_json::to_vec(&crd)?.len();
    }
    let bytes = f64::from(u32::try_from(bytes)?);
    Ok(vec![Measure::new("all CRDs, against what Helm takes", bytes, "bytes").against(HELM_LIMIT_BYTES)])
}
