//! What can be looked for.

use super::{BINDINGS, INTERNAL_SECRETS, PROJECTS, SHOOTS, shoot, shoot_with};
use crate::script::*;
use serde_json::json;

pub fn cases() -> Vec<Case> {
    let by_field = |selector: &str| get(format!("{SHOOTS}?fieldSelector={selector}"));
    let by_label = |selector: &str| get(format!("{SHOOTS}?labelSelector={selector}"));
    vec![
        case(
            "garden::shoots_by_field",
            [
                create(SHOOTS, shoot("a")),
                create(SHOOTS, shoot_with("b", "/spec/purpose", json!("testing"))),
                by_field("metadata.name=a"),
                by_field("spec.cloudProfile.name=aws").is(400),
                by_field("spec.seedName!=none,metadata.name!=a"),
                by_field("spec.cloudProfileName=aws"),
                by_field("spec.seedName=none"),
                by_field("spec.seedName="),
                by_field("status.seedName="),
            ],
        ),
        case(
            "garden::shoots_by_technical_id",
            [
                create(SHOOTS, shoot("a")),
                create(SHOOTS, shoot("b")),
                merge(
                    format!("{SHOOTS}/a/status"),
                    json!({ "status": { "technicalID": "shoot--{project}--a" } }),
                ),
                by_field("status.technicalID=shoot--{project}--a").is(400),
            ],
        ),
        case("garden::shoots_by_no_field", [by_field("spec.purpose=testing").is(400)]),
        case(
            "garden::shoots_by_label",
            [
                create(SHOOTS, shoot("a")),
                create(SHOOTS, shoot("b")),
                merge(format!("{SHOOTS}/b"), json!({ "metadata": { "labels": { "owner": "me" } } })),
                by_label("provider.extensions.gardener.cloud/aws=true,owner notin (me)"),
                by_label("owner"),
                by_label("owner=you"),
                by_label("owner in (").is(400),
            ],
        ),
        case(
            "garden::shoots_page_by_page",
            [
                create(SHOOTS, shoot("a")),
                create(SHOOTS, shoot("b")),
                get(format!("{SHOOTS}?limit=1")).save("next", "/metadata/continue"),
                get(format!("{SHOOTS}?limit=1&continue={{next}}")),
            ],
        ),
        case(
            "garden::projects_by_namespace",
            [
                get(format!("{PROJECTS}?fieldSelector=spec.namespace={{ns}}")),
                get(format!("{PROJECTS}?fieldSelector=spec.namespace=none-of-them")),
                get(format!("{PROJECTS}?fieldSelector=spec.purpose=x")).is(400),
            ],
        ),
        case(
            "garden::internal_secrets_by_type",
            [
                create(
                    INTERNAL_SECRETS,
                    json!({ "apiVersion": "core.gardener.cloud/v1beta1", "kind": "InternalSecret", "metadata": { "name": "a" } }),
                ),
                create(
                    INTERNAL_SECRETS,
                    json!({ "apiVersion": "core.gardener.cloud/v1beta1", "kind": "InternalSecret", "metadata": { "name": "b" }, "type": "mine" }),
                ),
                get(format!("{INTERNAL_SECRETS}?fieldSelector=type=Opaque")),
                get(format!("{INTERNAL_SECRETS}?fieldSelector=type=mine")),
            ],
        ),
        case(
            "garden::bindings_by_label",
            [
                get(format!("{BINDINGS}?labelSelector=provider.extensions.gardener.cloud/aws=true")),
                get(format!("{BINDINGS}?labelSelector=tenantName")),
                get(format!("{BINDINGS}?fieldSelector=metadata.name=account")),
                get(format!("{BINDINGS}?fieldSelector=provider.type=aws")).is(400),
            ],
        ),
    ]
}
