//! What a `shootTemplate` may do, and whether every field of a Shoot is decided about.

use super::{clusters::Play, stage::Fault};
use allotment_core::{
    cluster::{Clusters, Coverage, coverage},
    tenancy::Tenancy,
};
use allotment_operator::cluster::Policy;
use allotment_testing::{Landscape, Outcome};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, ResourceExt, api::ListParams};
use serde_json::{Value, json};
use std::sync::Arc;

/// A schema with everything that it refers to in its place.
fn resolved(schema: &Value, all: &Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let reference = fields.get("$ref").or_else(|| fields.get("allOf")?.get(0)?.get("$ref"));
            match reference.and_then(Value::as_str).and_then(|path| path.rsplit('/').next()) {
                Some(name) => resolved(&all[name], all),
                None => fields.iter().map(|(name, value)| (name.clone(), resolved(value, all))).collect(),
            }
        }
        Value::Array(items) => items.iter().map(|item| resolved(item, all)).collect(),
        plain => plain.clone(),
    }
}

pub async fn every_field_of_a_shoot_is_decided_about(landscape: Landscape) -> Outcome {
    let request = http::Request::get("/openapi/v3/apis/core.gardener.cloud/v1beta1").body(Vec::new())?;
    let document: Value = landscape.garden.request(request).await?;
    let all = &document["components"]["schemas"];
    let is_shoot = |schema: &Value| {
        let kinds = schema["x-kubernetes-group-version-kind"].as_array();
        kinds.is_some_and(|kinds| kinds.len() == 1 && kinds[0]["kind"] == "Shoot")
    };
    let schemas = all.as_object().ok_or("the document has no schemas")?;
    let shoot = schemas.values().find(|schema| is_shoot(schema)).ok_or("the document has no Shoot")?;
    let Coverage { undecided, unknown } = coverage(&resolved(shoot, all));
    assert!(undecided.is_empty(), "crates/core/src/cluster/template/fields.rs has no row for {undecided:#?}");
    assert!(
        unknown.is_empty(),
        "crates/core/src/cluster/template/fields.rs has rows for nothing: {unknown:#?}"
    );
    Ok(())
}

fn policy(tenancy: Value, references: Value) -> Result<Policy, Fault> {
    let clusters = json!({
        "providers": { "aws": { "cloudProfile": "aws" } }, "rollout": { "clustersPerMinute": 6000 },
        "references": references,
    });
    let clusters: Clusters = serde_json::from_value(clusters)?;
    let tenancy: Tenancy = serde_json::from_value(tenancy)?;
    Ok(Policy { clusters: Arc::new(clusters), tenancy: Arc::new(tenancy), rules: None })
}

pub async fn a_tenant_refers_only_to_what_is_allowed_by_name(landscape: Landscape) -> Outcome {
    let play = Play::new(&landscape, 1).await?;
    let plot = &play.stage.plot;
    let secrets: Api<Secret> = Api::namespaced(plot.landscape.garden.clone(), &plot.garden_namespace);
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "victim" }, "stringData": { "key": "value" },
    });
    secrets.create(&Default::default(), &serde_json::from_value(secret)?).await?;
    let own = &plot.namespace;
    let of_tenant = json!({ "namespaces": { own: ["t-1"] } });
    play.operator.set_policy(policy(of_tenant.clone(), json!([]))?);
    play.create("one", |cluster| {
        cluster["spec"]["shootTemplate"] = json!({ "spec": { "resources": [{
            "name": "mine", "resourceRef": { "apiVersion": "v1", "kind": "Secret", "name": "victim" },
        }] } });
    })
    .await?;
    let message = play.because("one", "Invalid").await?;
    for words in ["spec.shootTemplate.spec.resources[mine].resourceRef", "Secret \"victim\" is not allowed"] {
        assert!(message.contains(words), "{message}");
    }
    let requests = play.stage.requests().list(&ListParams::default()).await?.items;
    assert!(requests.is_empty(), "no account is asked for");

    // A namespace of the platform may refer to everything.
    play.operator.set_policy(policy(json!({ "platform": [own] }), json!([]))?);
    play.ready("one").await?;
    let shoot = play.shoot_of("one").await?;
    assert_eq!(shoot.spec.resources.len(), 1);

    // Once it is a tenant's, the Shoot stays as it is, whatever else is asked for.
    play.operator.set_policy(policy(of_tenant.clone(), json!([]))?);
    play.patch("one", json!({ "spec": { "infrastructure": { "autoScalerMax": 5 } } })).await?;
    let message = play.because("one", "Invalid").await?;
    assert!(message.ends_with("the Shoot stays as it is"), "{message}");
    play.idle().await?;
    let after = play.shoot_of("one").await?;
    assert_eq!((after.metadata.generation, after.uid()), (shoot.metadata.generation, shoot.uid()));
    assert_eq!(after.spec.provider.workers[0].maximum, 3);

    // What the platform lists by name may be referred to.
    let listed = json!([{ "kind": "Secret", "name": "victim", "tenants": ["t-1"] }]);
    play.operator.set_policy(policy(of_tenant, listed)?);
    play.ready("one").await?;
    assert_eq!(play.shoot_of("one").await?.spec.provider.workers[0].maximum, 5);
    play.resync_writes_nothing().await?;
    Ok(())
}
