//! The kinds that a garden serves beside those of Kubernetes.

use super::{
    columns,
    fields::{Fields, FieldsError},
};
use allotment_apiserver::extension::{Resource, Typed};
use serde_json::json;
use std::sync::Arc;

/// The group of most of them.
pub(super) const CORE: &str = "core.gardener.cloud";
/// The group of CredentialsBindings.
pub(super) const SECURITY: &str = "security.gardener.cloud";

struct Row {
    kind: &'static str,
    plural: &'static str,
    short: &'static [&'static str],
    category: Option<&'static str>,
    namespaced: bool,
    status: bool,
    selectable: &'static [&'static str],
}

const fn row(kind: &'static str, plural: &'static str) -> Row {
    Row { kind, plural, short: &[], category: None, namespaced: false, status: false, selectable: &[] }
}

const ROWS: [Row; 7] = [
    Row { status: true, selectable: &[".spec.namespace"], ..row("Project", "projects") },
    Row { short: &["cprofile", "cpfl"], status: true, ..row("CloudProfile", "cloudprofiles") },
    Row {
        short: &["ctrlreg"],
        category: Some("all"),
        ..row("ControllerRegistration", "controllerregistrations")
    },
    Row {
        namespaced: true,
        status: true,
        category: Some("all"),
        selectable: &[".spec.seedName", ".spec.cloudProfileName", ".status.seedName"],
        ..row("Shoot", "shoots")
    },
    Row { short: &["sb"], namespaced: true, ..row("SecretBinding", "secretbindings") },
    Row {
        short: &["ins"],
        namespaced: true,
        selectable: &[".type"],
        ..row("InternalSecret", "internalsecrets")
    },
    Row { short: &["cb"], namespaced: true, ..row("CredentialsBinding", "credentialsbindings") },
];

/// The kinds.
pub(super) fn resources() -> Result<Vec<Resource>, FieldsError> {
    let fields = Fields::read()?;
    ROWS.iter().map(|row| resource(row, &fields)).collect()
}

fn resource(row: &Row, fields: &Fields) -> Result<Resource, FieldsError> {
    let own = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
    let (group, version) = match row.kind {
        "CredentialsBinding" => (SECURITY, "v1alpha1"),
        _ => (CORE, "v1beta1"),
    };
    let made = Resource::new(group, version, row.kind, row.plural, &fields.schema(row.kind)?);
    let mut resource = made.map_err(|errors| FieldsError::of_schema(row.kind, &errors))?;
    resource.short_names = own(row.short);
    resource.categories = row.category.into_iter().map(str::to_owned).collect();
    resource.namespaced = row.namespaced;
    resource.status = row.status;
    resource.selectable_fields = own(row.selectable);
    resource.columns = columns::of(row.kind);
    resource.typed = Some(Arc::new(typed(row.kind)));
    Ok(resource)
}

/// What is there in every object: Go's structs have no "not there".
fn typed(kind: &str) -> Typed {
    let zero = match kind {
        "Shoot" => json!({
            "spec": { "kubernetes": {}, "provider": { "type": "" }, "region": "" },
            "status": { "gardener": { "id": "", "name": "", "version": "" }, "hibernated": false, "technicalID": "", "uid": "" },
        }),
        "CloudProfile" => json!({
            "spec": { "kubernetes": {}, "machineImages": [], "machineTypes": [], "regions": [], "type": "" }, "status": {},
        }),
        "Project" => json!({ "spec": {}, "status": {} }),
        "ControllerRegistration" => json!({ "spec": {} }),
        "SecretBinding" => json!({ "secretRef": {} }),
        "CredentialsBinding" => json!({ "credentialsRef": {}, "provider": { "type": "" } }),
        _ => json!({}),
    };
    let unconditional_updates =
        matches!(kind, "Project" | "CloudProfile" | "SecretBinding" | "InternalSecret");
    Typed { zero, unconditional_updates }
}
