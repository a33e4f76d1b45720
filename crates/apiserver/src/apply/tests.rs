//! What real servers did, and what must hold whatever happens.

mod properties;
pub(crate) mod replay;

use super::{FieldSet, ManagedFields, keep_times};
use serde_json::{Value, json};

fn set(fields: Value) -> FieldSet {
    FieldSet::from_json(&fields).unwrap()
}

#[test]
fn owners_change_as_on_a_real_server() {
    replay::check(include_str!("tests/owners.txt"));
}

#[test]
fn conflicts_are_those_of_a_real_server() {
    replay::check(include_str!("tests/conflicts.txt"));
}

#[test]
fn every_shape_is_merged_as_on_a_real_server() {
    replay::check(include_str!("tests/shapes.txt"));
}

#[test]
fn refusals_are_those_of_a_real_server() {
    replay::check(include_str!("tests/refusals.txt"));
}

#[test]
fn sets_are_added_and_subtracted() {
    let left = set(json!({"f:a": {".": {}, "f:b": {}, "f:c": {}}, "f:d": {}}));
    let right = set(json!({"f:a": {"f:b": {}}, "f:d": {"f:e": {}}}));
    assert_eq!(
        left.union(&right).to_value(),
        json!({"f:a": {".": {}, "f:b": {}, "f:c": {}}, "f:d": {".": {}, "f:e": {}}})
    );
    assert_eq!(left.intersection(&right).to_value(), json!({"f:a": {"f:b": {}}}));
    assert_eq!(left.difference(&right).to_value(), json!({"f:a": {".": {}, "f:c": {}}, "f:d": {}}));
    assert_eq!(right.difference(&left).to_value(), json!({"f:d": {"f:e": {}}}));
    assert_eq!(right.recursive_difference(&left).to_value(), json!({}));
    assert_eq!(left.leaves().to_value(), json!({"f:a": {"f:b": {}, "f:c": {}}, "f:d": {}}));
}

#[test]
fn keys_come_in_the_order_of_a_real_server() {
    let fields = set(json!({"f:p": {
        r#"k:{"port":443,"protocol":"TCP"}"#: {}, r#"k:{"protocol":"TCP","port":80}"#: {},
        "v:10": {}, "v:9": {}, "v:true": {}, "v:\"<\"": {}, "i:10": {}, "i:9": {}, "f:x": {}, "q:later": {},
    }}));
    assert_eq!(
        fields.to_json(),
        r#"{"f:p":{"f:x":{},"k:{\"port\":80,\"protocol\":\"TCP\"}":{},"k:{\"port\":443,\"protocol\":\"TCP\"}":{},"v:9":{},"v:10":{},"v:\"\\u003c\"":{},"v:true":{},"i:9":{},"i:10":{}}}"#
    );
    assert_eq!(fields.paths()[1], r#".p[port=80,protocol="TCP"]"#);
}

#[test]
fn malformed_managed_fields_are_refused() {
    let entry = |change: Value| {
        let mut entry =
            json!({"manager": "m", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1"});
        entry.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        ManagedFields::decode(&json!([entry])).map(|_| ())
    };
    assert_eq!(entry(json!({})), Ok(()));
    assert_eq!(entry(json!({"operation": "Sing"})).unwrap_err(), "operation must be `Apply` or `Update`");
    assert_eq!(entry(json!({"apiVersion": ""})).unwrap_err(), "apiVersion must not be empty");
    assert_eq!(entry(json!({"fieldsType": ""})).unwrap_err(), "missing fieldsType in managed fields entry 0");
    assert_eq!(
        entry(json!({"fieldsType": "V2"})).unwrap_err(),
        "invalid fieldsType \"V2\" in managed fields entry 0"
    );
    assert!(entry(json!({"fieldsV1": {"f": {}}})).unwrap_err().ends_with("key must be 2 characters long:"));
    assert!(entry(json!({"fieldsV1": {"fa": {}}})).unwrap_err().ends_with("missing colon: fa"));
    assert!(entry(json!({"fieldsV1": {"v:{": {}}})).is_err());
    assert!(entry(json!({"fieldsV1": {"i:x": {}}})).is_err());
    assert!(entry(json!({"fieldsV1": []})).is_err());
}

#[test]
fn a_new_time_alone_is_no_change() {
    let object = |time: &str, value: i32| json!({"metadata": {"managedFields": [{"manager": "m", "time": time}]}, "value": value});
    let old = object("2026-01-01T00:00:00Z", 1);
    let mut same = object("2026-01-02T00:00:00Z", 1);
    keep_times(&old, &mut same);
    assert_eq!(same, old);
    let mut changed = object("2026-01-02T00:00:00Z", 2);
    keep_times(&old, &mut changed);
    assert_eq!(changed, object("2026-01-02T00:00:00Z", 2));
}
