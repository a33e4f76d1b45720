//! The table of kinds that every cluster has.

use crate::{
    policy,
    resource::{Nature, Resource},
    schema::{self, Schema},
    table,
};
use std::sync::Arc;

struct Row {
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    short: &'static [&'static str],
    namespaced: bool,
    status: bool,
    nature: Nature,
    selectable: &'static [&'static str],
}

const fn row(group: &'static str, kind: &'static str, plural: &'static str, namespaced: bool) -> Row {
    Row { group, kind, plural, short: &[], namespaced, status: false, nature: Nature::Plain, selectable: &[] }
}

const fn review(group: &'static str, kind: &'static str, plural: &'static str, namespaced: bool) -> Row {
    Row { nature: Nature::Review, ..row(group, kind, plural, namespaced) }
}

const RBAC: &str = "rbac.authorization.k8s.io";
const AUTHORIZATION: &str = "authorization.k8s.io";

const EVENT_FIELDS: &[&str] = &[
    ".involvedObject.kind",
    ".involvedObject.namespace",
    ".involvedObject.name",
    ".involvedObject.uid",
    ".involvedObject.apiVersion",
    ".involvedObject.resourceVersion",
    ".involvedObject.fieldPath",
    ".reason",
    ".type",
    ".reportingComponent",
];

const NEW_EVENT_FIELDS: &[&str] = &[
    ".regarding.kind",
    ".regarding.namespace",
    ".regarding.name",
    ".regarding.uid",
    ".regarding.apiVersion",
    ".regarding.resourceVersion",
    ".regarding.fieldPath",
    ".reason",
    ".type",
    ".reportingController",
];

const ROWS: [Row; 20] = [
    Row { short: &["cm"], ..row("", "ConfigMap", "configmaps", true) },
    Row { selectable: &[".type"], ..row("", "Secret", "secrets", true) },
    Row {
        short: &["ns"],
        status: true,
        selectable: &[".status.phase"],
        ..row("", "Namespace", "namespaces", false)
    },
    Row { short: &["sa"], ..row("", "ServiceAccount", "serviceaccounts", true) },
    Row { short: &["ev"], selectable: EVENT_FIELDS, ..row("", "Event", "events", true) },
    Row { short: &["ev"], selectable: NEW_EVENT_FIELDS, ..row("events.k8s.io", "Event", "events", true) },
    row("coordination.k8s.io", "Lease", "leases", true),
    row(RBAC, "Role", "roles", true),
    row(RBAC, "RoleBinding", "rolebindings", true),
    row(RBAC, "ClusterRole", "clusterroles", false),
    row(RBAC, "ClusterRoleBinding", "clusterrolebindings", false),
    Row {
        short: &["crd", "crds"],
        status: true,
        ..row("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions", false)
    },
    Row { status: true, ..row(policy::GROUP, "ValidatingAdmissionPolicy", policy::POLICIES, false) },
    row(policy::GROUP, "ValidatingAdmissionPolicyBinding", policy::BINDINGS, false),
    review(AUTHORIZATION, "SelfSubjectAccessReview", "selfsubjectaccessreviews", false),
    review(AUTHORIZATION, "SelfSubjectRulesReview", "selfsubjectrulesreviews", false),
    review(AUTHORIZATION, "SubjectAccessReview", "subjectaccessreviews", false),
    review(AUTHORIZATION, "LocalSubjectAccessReview", "localsubjectaccessreviews", true),
    review("authentication.k8s.io", "SelfSubjectReview", "selfsubjectreviews", false),
    review("authentication.k8s.io", "TokenReview", "tokenreviews", false),
];

/// What is asked of `serviceaccounts/token`: a kind without a path of its own.
pub(crate) fn token_request() -> Resource {
    resource(&review("authentication.k8s.io", "TokenRequest", "tokenrequests", true))
}

/// The kinds.
pub(crate) fn resources() -> Vec<Resource> {
    ROWS.iter().map(resource).collect()
}

fn resource(row: &Row) -> Resource {
    let own = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
    let schema = schema::builtin(row.group, row.kind)
        .cloned()
        .unwrap_or_else(|| Schema { preserve_unknown_fields: true, ..Schema::default() });
    Resource {
        group: row.group.to_owned(),
        version: "v1".to_owned(),
        kind: row.kind.to_owned(),
        list_kind: format!("{}List", row.kind),
        plural: row.plural.to_owned(),
        singular: row.kind.to_ascii_lowercase(),
        short_names: own(row.short),
        categories: match row.kind {
            "CustomResourceDefinition" | "ValidatingAdmissionPolicy" | "ValidatingAdmissionPolicyBinding" => {
                vec!["api-extensions".to_owned()]
            }
            _ => Vec::new(),
        },
        namespaced: row.namespaced,
        status: row.status,
        schema: Arc::new(schema),
        rules: None,
        selectable_fields: own(row.selectable),
        columns: table::builtin_columns(row.group, row.kind),
        openapi: None,
        nature: row.nature,
        defined: None,
        typed: None,
    }
}
