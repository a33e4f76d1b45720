//! How many writes a server keeps in a second.

use super::{
    Measure, Outcome,
    side::{Side, Sides, create_small, per_second},
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api,
    api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams},
    core::GroupVersionKind,
};
use serde_json::json;
use std::time::Duration;

/// Enough to see the rate, few enough for the real server to be done in seconds.
const WRITES: u32 = 2000;

/// How long a server may take to serve a new kind.
const SERVED_WITHIN: Duration = Duration::from_secs(30);

pub(super) async fn creates(sides: &Sides) -> Outcome<Measure> {
    let rate = async |side: &Side| {
        let api = side.config_maps();
        per_second(WRITES, |n| create(&api, "create", n)).await
    };
    let (ours, theirs) = (rate(&sides.embedded).await?, rate(&sides.real).await?);
    Ok(Measure::new("creates", ours, "1/s").against(theirs))
}

pub(super) async fn applies(sides: &Sides) -> Outcome<Measure> {
    let rate = async |side: &Side| {
        let api = side.config_maps();
        per_second(WRITES, |n| create(&api, "apply", n)).await?;
        per_second(WRITES, async |n| {
            let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "applied": "yes" } });
            api.patch(&format!("apply-{n}"), &PatchParams::apply("bench"), &Patch::Apply(object)).await?;
            Ok(())
        })
        .await
    };
    let (ours, theirs) = (rate(&sides.embedded).await?, rate(&sides.real).await?);
    Ok(Measure::new("applies", ours, "1/s").against(theirs))
}

/// Of a custom kind, which is what an operator writes the status of.
pub(super) async fn status_patches(sides: &Sides) -> Outcome<Measure> {
    let rate = async |side: &Side| {
        let api = parcels(side).await?;
        per_second(WRITES, async |n| {
            let parcel =
                DynamicObject::new(&format!("p{n}"), &parcel()).data(json!({ "spec": { "size": n } }));
            api.create(&PostParams::default(), &parcel).await?;
            Ok(())
        })
        .await?;
        per_second(WRITES, async |n| {
            let status = json!({ "status": { "phase": "Ready", "seen": n } });
            api.patch_status(&format!("p{n}"), &PatchParams::default(), &Patch::Merge(status)).await?;
            Ok(())
        })
        .await
    };
    let (ours, theirs) = (rate(&sides.embedded).await?, rate(&sides.real).await?);
    Ok(Measure::new("status patches", ours, "1/s").against(theirs))
}

async fn create(api: &Api<k8s_openapi::api::core::v1::ConfigMap>, what: &str, n: u32) -> Outcome<()> {
    create_small(api, &format!("{what}-{n}")).await
}

/// A kind with a status, which nobody else has.
fn parcel() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("bench.allotment.dev", "v1", "Parcel"))
}

/// Defines the kind, and waits until it is served.
async fn parcels(side: &Side) -> Outcome<Api<DynamicObject>> {
    let part = json!({ "type": "object", "properties": {
        "size": { "type": "integer" }, "phase": { "type": "string" }, "seen": { "type": "integer" },
    } });
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "parcels.bench.allotment.dev" },
        "spec": {
            "group": "bench.allotment.dev", "scope": "Namespaced",
            "names": { "kind": "Parcel", "plural": "parcels", "singular": "parcel", "listKind": "ParcelList" },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": part, "status": part } } },
            }],
        },
    });
    Api::<CustomResourceDefinition>::all(side.client.clone())
        .patch("parcels.bench.allotment.dev", &PatchParams::apply("bench"), &Patch::Apply(definition))
        .await?;
    let api = Api::<DynamicObject>::namespaced_with(side.client.clone(), &side.namespace, &parcel());
    let served = async {
        while api.list(&Default::default()).await.is_err() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(SERVED_WITHIN, served).await.map_err(|_| "a new kind was not served in time")?;
    Ok(api)
}
