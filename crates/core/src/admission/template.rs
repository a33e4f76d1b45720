//! The policy about `shootTemplate`, made from the table of fields: what tenants may not set is refused at `kubectl apply`, with the
//! operator's words.
//!
//! A policy knows neither the rendered Shoot nor the garden. It refuses fields of the table, wherever they are set; the operator
//! judges what a template changes, fields without a row, and which namespaces a reference is for.

use crate::cluster::template::{Class, Kind, RESERVED, fields};
use std::{collections::BTreeSet, fmt::Write as _};

/// Fields of the renderer's that a template may well repeat, as they are, or has to name.
const REPEATED: [&str; 9] = [
    "apiVersion",
    "kind",
    "spec.cloudProfile",
    "spec.cloudProfileName",
    "spec.kubernetes.version",
    "spec.provider.type",
    "spec.provider.workers[].name",
    "spec.provider.workers[].zones",
    "spec.region",
];

const NOT_ALLOWED: &str = "it names an object that is not allowed to this namespace: tenants may refer to what the platform lists in its \
     configuration under references";

/// The policy, as YAML.
pub(super) fn policy() -> String {
    let (mut parents, mut refusals) = (BTreeSet::new(), Vec::new());
    for (path, class) in fields() {
        if let Some((is_set, words)) = refusal(path, class, &mut parents) {
            refusals.push(format!("{is_set}\n        ? \"spec.shootTemplate.{path}: {words}\" : \"\""));
        }
    }
    let mut variables = String::new();
    for path in parents.iter().filter(|path| !path.is_empty()) {
        let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
        let (name, shape, nothing) = match name.strip_suffix("[]") {
            Some(name) => (name, "list", "[]"),
            None => (name, "map", "{}"),
        };
        let (variable, parent) = (variable(path), variable(parent));
        // Whoever writes something else than Gardener has there is told so by the operator.
        let _ = write!(
            variables,
            "    - name: {variable}\n      expression: >-\n        \"{name}\" in variables.{parent} && \
             type(variables.{parent}[\"{name}\"]) == {shape}\n        ? variables.{parent}[\"{name}\"] : {nothing}\n"
        );
    }
    let refusals = refusals.join(",\n        ");
    TEXT.replace("VARIABLES\n", &variables).replace("REFUSALS", &refusals)
}

const TEXT: &str = r#"# Made from the table of fields in cluster/template/fields.rs by `make generate`.
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: NAME.template
spec:
  failurePolicy: Fail
  paramKind: {apiVersion: allotment.dev/v1alpha1, kind: AdmissionParameters}
  matchConstraints:
    resourceRules:
      - apiGroups: [operator.kyma-project.io]
        apiVersions: [v1alpha1]
        operations: [CREATE, UPDATE]
        resources: [clusters]
  matchConditions:
    - name: has-a-template
      expression: has(object.spec.shootTemplate)
  variables:
    - name: passes
      expression: >-
        request.operation == 'UPDATE' && has(oldObject.spec.shootTemplate)
        && oldObject.spec.shootTemplate == object.spec.shootTemplate
        || request.namespace in params.spec.platform || request.userInfo.username == params.spec.operator
        || authorizer.group('allotment.dev').resource('isolation').check('bypass').allowed()
    - name: references
      expression: >-
        has(params.spec.references) ? params.spec.references : []
    - name: template
      expression: object.spec.shootTemplate
VARIABLES
    - name: refused
      expression: >-
        [REFUSALS]
        .filter(told, told != "")
  validations:
    - expression: variables.passes || size(variables.refused) == 0
      messageExpression: variables.refused.join('; ')
"#;

/// Whether a field is set, in CEL, and why a tenant may not set it; none if a tenant may.
fn refusal(path: &str, class: Class, parents: &mut BTreeSet<String>) -> Option<(String, String)> {
    match class {
        Class::Allowed => None,
        Class::Own(_) if REPEATED.contains(&path) => None,
        Class::Own(instead) => Some((is_set(path, parents), format!("may not be touched: {instead}"))),
        Class::Platform(why) => Some((is_set(path, parents), format!("only the platform may set it: {why}"))),
        Class::Keys => {
            parents.extend(above(path));
            parents.insert(path.to_owned());
            let domains = RESERVED.map(|domain| domain.replace('.', "[.]")).join("|");
            let is_set = format!(
                "variables.{}.exists(key, key.matches(\"^([^/]*[.])?({domains})/\"))",
                variable(path)
            );
            Some((is_set, "only the platform may set keys whose prefix is Gardener's or ours".to_owned()))
        }
        Class::Reference(kind) => {
            let refers = |holder: &str, name: &str| {
                let value = format!("{holder}[\"{name}\"]");
                let listed = |kind: &str, name: &str| {
                    format!(
                        "type({name}) == string && variables.references.exists(it, it.kind == {kind} && \
                         {name}.matches(\"^\" + it.name.replace(\".\", \"[.]\").replace(\"*\", \".*\") + \"$\"))"
                    )
                };
                let allowed = match kind {
                    Kind::Is(kind) => listed(&format!("\"{kind}\""), &value),
                    Kind::Inside(kind) => format!(
                        "type({value}) == map && \"name\" in {value} && {}",
                        listed(&format!("\"{kind}\""), &format!("{value}.name"))
                    ),
                    Kind::Beside => format!(
                        "type({value}) == map && \"name\" in {value} && \"kind\" in {value} && {}",
                        listed(&format!("{value}.kind"), &format!("{value}.name"))
                    ),
                };
                format!("\"{name}\" in {holder} && !({allowed})")
            };
            Some((within(path, parents, refers), NOT_ALLOWED.to_owned()))
        }
    }
}

fn is_set(path: &str, parents: &mut BTreeSet<String>) -> String {
    within(path, parents, |holder, name| format!("\"{name}\" in {holder}"))
}

/// An expression about the object that a field is in, or about any of a list of them.
fn within(path: &str, parents: &mut BTreeSet<String>, about: impl Fn(&str, &str) -> String) -> String {
    let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
    let Some((list, rest)) = parent.split_once("[]") else {
        parents.extend(above(path));
        return about(&format!("variables.{}", variable(parent)), name);
    };
    let list = format!("{list}[]");
    parents.extend(above(&list));
    parents.insert(list.clone());
    // What is below an entry of a list has no variable: each entry has its own.
    let mut holder = "entry".to_owned();
    let mut guards = vec![format!("type({holder}) == map")];
    for part in rest.split('.').filter(|part| !part.is_empty()) {
        guards.push(format!("\"{part}\" in {holder}"));
        holder = format!("{holder}[\"{part}\"]");
        guards.push(format!("type({holder}) == map"));
    }
    format!(
        "variables.{}.exists(entry, {} && {})",
        variable(&list),
        guards.join(" && "),
        about(&holder, name)
    )
}

/// Every object above a field.
fn above(path: &str) -> impl Iterator<Item = String> {
    path.match_indices('.').map(|(end, _)| path[..end].to_owned())
}

fn variable(path: &str) -> String {
    match path {
        "" => "template".to_owned(),
        path => format!("at_{}", path.replace('.', "_").replace("[]", "")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tenants_may_not_set_is_in_the_policy() {
        let policy = policy();
        for (path, class) in fields() {
            let is_in = policy.contains(&format!("\"spec.shootTemplate.{path}: "));
            let expected = match class {
                Class::Allowed => false,
                Class::Own(_) => !REPEATED.contains(&path),
                Class::Keys | Class::Reference(_) | Class::Platform(_) => true,
            };
            assert_eq!(is_in, expected, "{path}");
        }
        for repeated in REPEATED {
            assert!(
                fields().any(|(path, class)| path == repeated && matches!(class, Class::Own(_))),
                "{repeated}"
            );
        }
        // A variable is evaluated with those before it only.
        assert!(policy.find("name: at_spec\n") < policy.find("name: at_spec_dns\n"));
        // No row has a list within a list.
        assert!(
            !policy.contains("[][")
                && fields().all(|(path, class)| {
                    matches!(class, Class::Allowed) || path.matches("[]").count() < 2
                })
        );
    }
}
