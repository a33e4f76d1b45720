//! The kinds that a garden serves beside those of Kubernetes.

use super::fields::{Fields, FieldsError};
use allotment_apiserver::{
    resource::{Nature, Resource, Typed},
    table::{Column, Source},
};
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
    /// Heading, where it comes from, and whether only `-o wide` shows it.
    columns: &'static [(&'static str, &'static str, bool)],
}

const fn row(kind: &'static str, plural: &'static str) -> Row {
    Row {
        kind,
        plural,
        short: &[],
        category: None,
        namespaced: false,
        status: false,
        selectable: &[],
        columns: &[],
    }
}

const SHOOT_COLUMNS: &[(&str, &str, bool)] = &[
    ("CloudProfile", ".spec.cloudProfile.name", false),
    ("Provider", ".spec.provider.type", false),
    ("Region", ".spec.region", false),
    ("Seed", ".spec.seedName", true),
    ("K8S Version", ".spec.kubernetes.version", false),
    ("Last Operation", ".status.lastOperation.state", false),
    ("Status", ".metadata.labels.shoot\\.gardener\\.cloud/status", false),
    ("Purpose", ".spec.purpose", true),
    ("Gardener Version", ".status.gardener.version", true),
];
const PROJECT_COLUMNS: &[(&str, &str, bool)] = &[
    ("Namespace", ".spec.namespace", false),
    ("Status", ".status.phase", false),
    ("Owner", ".spec.owner.name", false),
    ("Creator", ".spec.createdBy.name", false),
];
const BINDING_COLUMNS: &[(&str, &str, bool)] = &[
    ("Provider", ".provider.type", false),
    ("APIVersion", ".credentialsRef.apiVersion", false),
    ("Kind", ".credentialsRef.kind", false),
    ("Name", ".credentialsRef.name", false),
];

const ROWS: [Row; 7] = [
    Row {
        status: true,
        selectable: &[".spec.namespace"],
        columns: PROJECT_COLUMNS,
        ..row("Project", "projects")
    },
    Row {
        short: &["cprofile", "cpfl"],
        status: true,
        columns: &[("Provider", ".spec.type", false)],
        ..row("CloudProfile", "cloudprofiles")
    },
    Row {
        short: &["ctrlreg"],
        category: Some("all"),
        ..row("ControllerRegistration", "controllerregistrations")
    },
    Row {
        namespaced: true,
        status: true,
        category: Some("all"),
        columns: SHOOT_COLUMNS,
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
    Row {
        short: &["cb"],
        namespaced: true,
        columns: BINDING_COLUMNS,
        ..row("CredentialsBinding", "credentialsbindings")
    },
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
    Ok(Resource {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: row.kind.to_owned(),
        list_kind: format!("{}List", row.kind),
        plural: row.plural.to_owned(),
        singular: row.kind.to_ascii_lowercase(),
        short_names: own(row.short),
        categories: row.category.into_iter().map(str::to_owned).collect(),
        namespaced: row.namespaced,
        status: row.status,
        schema: Arc::new(fields.schema(row.kind)?),
        rules: None,
        selectable_fields: own(row.selectable),
        columns: columns(row),
        openapi: None,
        nature: Nature::Custom,
        defined: None,
        typed: Some(Arc::new(typed(row.kind))),
    })
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

fn columns(row: &Row) -> Vec<Column> {
    let own = row.columns.iter().map(column);
    std::iter::once(Column::of_name()).chain(own).chain([Column::of_age()]).collect()
}

fn column((name, path, wide): &(&str, &str, bool)) -> Column {
    Column {
        name: (*name).to_owned(),
        type_: "string".to_owned(),
        format: String::new(),
        description: String::new(),
        priority: i64::from(*wide),
        source: Source::Path((*path).to_owned()),
    }
}
