//! Comparing RBAC objects inside a cluster with those that are wanted there.

use serde_json::Value;

/// Whether a field of an RBAC object is as it is wanted. The server fills in fields of subjects and roleRefs. Rules are compared whole: a
/// rule with `resourceNames` grants less than the same rule without.
pub(crate) fn is_as_wanted(field: &str, wanted: &Value, there: &Value) -> bool {
    match (field, wanted, there) {
        ("rules", Value::Array(wanted), Value::Array(there)) => {
            wanted.len() == there.len()
                && wanted.iter().zip(there).all(|(wanted, there)| is_same_rule(wanted, there))
        }
        _ => is_within(wanted, there),
    }
}

fn is_same_rule(wanted: &Value, there: &Value) -> bool {
    let (Some(wanted), Some(there)) = (wanted.as_object(), there.as_object()) else { return false };
    let part = |of: &serde_json::Map<String, Value>, key: &String| of.get(key).cloned().unwrap_or_default();
    wanted.keys().chain(there.keys()).all(|key| {
        let (wanted, there) = (part(wanted, key), part(there, key));
        wanted == there || is_empty(&wanted) && is_empty(&there)
    })
}

/// Whether everything that is wanted is there; what is empty may be left out.
pub(crate) fn is_within(wanted: &Value, there: &Value) -> bool {
    match (wanted, there) {
        (Value::Object(wanted), Value::Object(there)) => wanted
            .iter()
            .all(|(key, value)| there.get(key).map_or(is_empty(value), |there| is_within(value, there))),
        (Value::Array(wanted), Value::Array(there)) => {
            wanted.len() == there.len()
                && wanted.iter().zip(there).all(|(wanted, there)| is_within(wanted, there))
        }
        (wanted, there) => wanted == there || is_empty(wanted) && is_empty(there),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_rule_is_compared_whole_and_a_subject_may_have_more() {
        let wanted = json!([{ "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"] }]);
        let narrowed = json!([{ "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["a"] }]);
        let spelled =
            json!([{ "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": [] }]);
        assert!(!is_as_wanted("rules", &wanted, &narrowed));
        assert!(!is_as_wanted("rules", &narrowed, &wanted));
        assert!(is_as_wanted("rules", &wanted, &spelled));
        let subject = json!([{ "kind": "User", "name": "a" }]);
        let filled = json!([{ "kind": "User", "name": "a", "apiGroup": "rbac.authorization.k8s.io" }]);
        assert!(is_as_wanted("subjects", &subject, &filled));
        assert!(!is_as_wanted("subjects", &subject, &json!([])));
    }
}
