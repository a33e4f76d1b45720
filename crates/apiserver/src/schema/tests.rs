use super::*;
use serde_json::json;

#[test]
fn builtin_kinds_know_their_fields() {
    for (group, kind) in
        [("", "ConfigMap"), ("", "Secret"), ("apiextensions.k8s.io", "CustomResourceDefinition")]
    {
        let schema = builtin(group, kind).unwrap();
        println!("{}", schema.properties.keys().cloned().collect::<Vec<_>>().join(" "));
    }
    println!("{:?}", object_meta().properties["ownerReferences"]);
    let mut value = json!({"metadata": {"name": "x"}, "data": {"a": "b"}, "dat": {}});
    assert_eq!(prune(builtin("", "ConfigMap").unwrap(), &mut value), ["dat"]);
}
