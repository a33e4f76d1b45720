//! What `status.providerStatus` of a Cluster keeps: where its Shoot is. Never how to get into it.

use allotment_api::openmcp::Cluster;
use serde_json::{Value, json};

/// Where the Shoot of a Cluster is. It is written before the Shoot is made, so that a Cluster without it has none, and stays
/// as it is when its ProviderConfig changes: a Shoot does not move.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Record {
    /// The Landscape. Upstream does not keep it.
    pub landscape: Option<String>,
    /// The project. Upstream does not keep it.
    pub project: Option<String>,
    /// The namespace of the project in the garden.
    pub namespace: String,
    /// The name of the Shoot.
    pub shoot: String,
    /// Which Shoot of that name, once it is made. Upstream does not keep it.
    pub uid: Option<String>,
}

impl Record {
    /// What the status of a Cluster says.
    pub fn of(cluster: &Cluster) -> Option<Self> {
        let kept = cluster.status.as_ref()?.provider_status.as_ref()?;
        let text = |pointer: &str| {
            kept.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        Some(Self {
            landscape: text("/landscape"),
            project: text("/project"),
            namespace: text("/shoot/metadata/namespace")?,
            shoot: text("/shoot/metadata/name")?,
            uid: text("/shoot/metadata/uid"),
        })
    }

    /// As it is kept. The Shoot is where upstream has it.
    pub fn to_value(&self) -> Value {
        let Self { landscape, project, namespace, shoot, uid } = self;
        let mut metadata = json!({ "name": shoot, "namespace": namespace });
        if let Some(uid) = uid {
            metadata["uid"] = json!(uid);
        }
        let mut kept = json!({ "shoot": { "metadata": metadata } });
        for (name, value) in [("landscape", landscape), ("project", project)] {
            if let Some(value) = value {
                kept[name] = json!(value);
            }
        }
        kept
    }
}
