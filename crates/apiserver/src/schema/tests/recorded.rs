//! What kube-apiserver 1.36.3 answered, case by case; see `testdata`.

use crate::error::FieldError;
use crate::schema::{CompiledRules, Schema, blocks_rules, default, prune, rules_not_checked, validate};
use serde_json::{Value, json};

const PREFIX: &str = "spec.validation.openAPIV3Schema";

fn cases(text: &str) -> (Value, Vec<Value>) {
    let file: Value = serde_json::from_str(text).unwrap();
    let cases = file["cases"].as_array().unwrap().clone();
    (file, cases)
}

/// Errors with their reasons, sorted: where Go goes over a map, their order is by chance.
fn shown(errors: &[FieldError]) -> Vec<String> {
    let mut shown: Vec<String> = errors
        .iter()
        .map(|error| {
            let cause = error.cause();
            format!("{} {}: {}", cause.reason, cause.field, cause.message)
        })
        .collect();
    shown.sort();
    shown
}

fn registered(schema: &Value) -> Vec<String> {
    shown(&Schema::from_json_at(PREFIX, schema).err().unwrap_or_default())
}

fn checked(schema: &Value, new: &Value, old: Option<&Value>) -> Vec<String> {
    checked_by(&Schema::from_json(schema).unwrap(), new, old)
}

fn checked_by(schema: &Schema, new: &Value, old: Option<&Value>) -> Vec<String> {
    let rules = CompiledRules::new(schema).unwrap();
    let prepared = |value: &Value| {
        let mut value = value.clone();
        prune(schema, &mut value);
        default(schema, &mut value);
        value
    };
    let (new, old) = (prepared(new), old.map(prepared));
    let mut errors = validate(schema, &new, old.as_ref());
    match blocks_rules(&errors) {
        _ if rules.is_empty() => {}
        true => errors.push(rules_not_checked()),
        false => errors.extend(rules.check(&new, old.as_ref())),
    }
    shown(&errors)
}

/// Compares all cases and tells of all that differ.
fn compare(answers: impl Iterator<Item = (String, Vec<String>, Value)>) {
    let wrong: Vec<String> = answers
        .filter(|(_, ours, real)| json!(ours) != *real)
        .map(|(name, ours, real)| format!("{name}\n  ours {}\n  real {real}", json!(ours)))
        .collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn object_of(name: &str, below: &Value) -> Value {
    json!({"type": "object", "properties": {name: below}})
}

#[test]
fn schemas_are_refused_as_by_a_real_server() {
    let (_, cases) = cases(include_str!("../testdata/schema-registration.json"));
    compare(cases.iter().map(|case| (case[0].to_string(), registered(&case[1]), case[2].clone())));
}

#[test]
fn rules_are_refused_as_by_a_real_server() {
    let (file, cases) = cases(include_str!("../testdata/rule-registration.json"));
    compare(cases.iter().map(|case| {
        let rules = json!([{"rule": case[0]}]);
        let spec =
            json!({"type": "object", "properties": file["properties"], "x-kubernetes-validations": rules});
        (case[0].to_string(), registered(&object_of("spec", &spec)), case[1].clone())
    }));
}

#[test]
fn values_are_refused_as_by_a_real_server() {
    let (file, cases) = cases(include_str!("../testdata/values.json"));
    let schema = Schema::from_json(&file["schema"]).unwrap();
    compare(
        cases.iter().map(|case| (case[0].to_string(), checked_by(&schema, &case[0], None), case[1].clone())),
    );
}

#[test]
fn rules_say_what_they_say_on_a_real_server() {
    let (file, cases) = cases(include_str!("../testdata/rules.json"));
    compare(cases.iter().map(|case| {
        let rules = json!([{"rule": case[0]}]);
        let spec =
            json!({"type": "object", "properties": file["properties"], "x-kubernetes-validations": rules});
        let found = checked(&object_of("spec", &spec), &json!({"spec": case[1]}), None);
        (format!("{} on {}", case[0], case[1]), found, case[2].clone())
    }));
}

#[test]
fn changes_are_refused_as_by_a_real_server() {
    let (_, cases) = cases(include_str!("../testdata/changes.json"));
    compare(cases.iter().map(|case| {
        let (old, new) = (json!({"spec": case[2]}), json!({"spec": case[3]}));
        (case[0].to_string(), checked(&object_of("spec", &case[1]), &new, Some(&old)), case[4].clone())
    }));
}

#[test]
fn objects_are_pruned_and_defaulted_as_by_a_real_server() {
    let (file, cases) = cases(include_str!("../testdata/pruning.json"));
    let schema = Schema::from_json(&file["schema"]).unwrap();
    for case in cases {
        let mut object = case[0].clone();
        let dropped = prune(&schema, &mut object);
        default(&schema, &mut object);
        assert_eq!((json!(dropped), &object), (case[1].clone(), &case[2]), "{}", case[0]);
    }
}
