use super::*;
use serde_json::json;

#[test]
#[ignore = "temporary"]
fn probe() {
    let cases: Vec<Value> = serde_json::from_str(&std::fs::read_to_string("/tmp/schema-probe/in.json").unwrap()).unwrap();
    let mut out = Vec::new();
    for case in cases {
        let prefix = "spec.validation.openAPIV3Schema";
        let errors = match Schema::from_json_at(prefix, &case["schema"]) {
            Err(errors) => Some(errors),
            Ok(schema) => case.get("new").map(|new| {
                let rules = CompiledRules::new(&schema).unwrap();
                let mut new = new.clone();
                let mut old = case.get("old").cloned();
                prune(&schema, &mut new);
                default(&schema, &mut new);
                if let Some(old) = &mut old {
                    prune(&schema, old);
                    default(&schema, old);
                }
                refusals(&schema, &rules, &new, old.as_ref())
            }),
        };
        out.push(json!(errors.map(|errors| errors.iter().map(|error| {
            let cause = error.cause();
            json!([cause.field, cause.message, cause.reason])
        }).collect::<Vec<_>>())));
    }
    std::fs::write("/tmp/schema-probe/out.json", serde_json::to_string(&out).unwrap()).unwrap();
}

#[test]
fn builtin_kinds_know_their_fields() {
    let mut value = json!({"metadata": {"name": "x"}, "data": {"a": "b"}, "dat": {}});
    assert_eq!(prune(builtin("", "ConfigMap").unwrap(), &mut value), ["dat"]);
}
