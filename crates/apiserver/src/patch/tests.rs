//! What real servers did with patches.

use super::{Decoding, json, read};
use crate::apply::tests::replay;
use serde_json::{Value, json};

#[test]
fn json_patches_do_what_they_do_on_a_real_server() {
    replay::check(include_str!("tests/json.txt"));
}

#[test]
fn merge_patches_do_what_they_do_on_a_real_server() {
    replay::check(include_str!("tests/merge.txt"));
}

#[test]
fn strategic_merge_patches_do_what_they_do_on_a_real_server() {
    replay::check(include_str!("tests/strategic.txt"));
}

#[test]
fn malformed_json_is_refused_in_the_words_of_a_real_server() {
    let table = [
        ("", "unexpected end of JSON input"),
        ("{", "unexpected end of JSON input"),
        ("{\"a\"", "unexpected end of JSON input"),
        ("nul", "unexpected end of JSON input"),
        ("not", "invalid character 'o' in literal null (expecting 'u')"),
        ("x", "invalid character 'x' looking for beginning of value"),
        ("'", "invalid character '\\'' looking for beginning of value"),
        ("{\"a\" \"b\"}", "invalid character '\"' after object key"),
        ("{\"a\":1 2}", "invalid character '2' after object key:value pair"),
        ("{a:1}", "invalid character 'a' looking for beginning of object key string"),
        ("{\"a\":1,}", "invalid character '}' looking for beginning of object key string"),
        ("[1 2]", "invalid character '2' after array element"),
        ("[1,]", "invalid character ']' looking for beginning of value"),
        ("{} x", "invalid character 'x' after top-level value"),
        ("\"\\x\"", "invalid character 'x' in string escape code"),
        ("\"\\u12g4\"", "invalid character 'g' in \\u hexadecimal character escape"),
        ("\"\n\"", "invalid character '\\n' in string literal"),
        ("-x", "invalid character 'x' in numeric literal"),
        ("1.x", "invalid character 'x' after decimal point in numeric literal"),
        ("1ex", "invalid character 'x' in exponent of numeric literal"),
        ("01", "invalid character '1' after top-level value"),
        ("trux", "invalid character 'x' in literal true (expecting 'e')"),
    ];
    for (body, complaint) in table {
        assert_eq!(read(body.as_bytes()).unwrap_err(), complaint, "{body}");
    }
}

#[test]
fn json_that_is_too_deep_is_refused() {
    let deep = "[".repeat(10_000) + &"]".repeat(10_000);
    assert_eq!(read(deep.as_bytes()).unwrap_err(), "invalid character '[' exceeded max depth");
    let deep = "{\"a\":".repeat(10_000) + "1" + &"}".repeat(10_000);
    assert_eq!(read(deep.as_bytes()).unwrap_err(), "invalid character '{' exceeded max depth");
}

#[test]
fn operations_cannot_make_an_object_too_deep_or_too_large() {
    let deeper: Vec<Value> =
        (1..200).map(|level| json!({"op": "add", "path": "/a".repeat(level), "value": {}})).collect();
    let refused = json::apply(&json!({}), &json!(deeper)).unwrap_err();
    assert_eq!((refused.code, refused.reason), (422, "Invalid"));
    assert!(json::apply(&json!({}), &json!(deeper[..100])).is_ok());

    let double = vec![json!({"op": "copy", "from": "/a", "path": "/a/-"}); 100];
    let refused = json::apply(&json!({"a": ["x".repeat(1000)]}), &json!(double)).unwrap_err();
    assert_eq!((refused.code, refused.reason), (422, "Invalid"));
}

#[test]
fn a_json_patch_has_at_most_ten_thousand_operations() {
    let operation = json!({"op": "test", "path": "/a", "value": 1});
    let patch = |count: usize| json!(vec![&operation; count]).to_string();
    assert!(json::decode(patch(10_000).as_bytes(), Decoding::Checked).is_ok());
    let error = json::decode(patch(10_001).as_bytes(), Decoding::Checked).unwrap_err();
    assert_eq!((error.code, error.reason), (413, "RequestEntityTooLarge"));
    assert_eq!(
        error.message,
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    );
}

#[test]
fn fields_of_operations_that_mean_nothing_are_named() {
    let patch = json!([{"op": "add", "path": "/a", "value": 1}, {"op": "remove", "path": "/a", "more": 1}]);
    assert_eq!(json::unknown_fields(&patch), ["json patch unknown field \"[1].more\""]);
}

#[test]
fn what_is_new_stands_where_something_was_deleted() {
    let schema = crate::schema::builtin("", "ServiceAccount").unwrap();
    let patch = json!({
        "$setElementOrder/secrets": [{ "name": "three" }],
        "secrets": [{ "name": "three" }, { "$patch": "delete", "name": "one" }],
    });
    for (before, after) in [
        (["two", "one"], ["two", "three"]),
        (["one", "two"], ["two", "three"]),
        (["two", "x"], ["three", "two"]),
    ] {
        let secrets =
            |names: &[&str]| -> Vec<Value> { names.iter().map(|name| json!({ "name": name })).collect() };
        let patched =
            super::strategic::apply(&json!({ "secrets": secrets(&before) }), &patch, schema).unwrap();
        let list = patched["secrets"].as_array().unwrap();
        assert_eq!(list[..2], secrets(&after), "{before:?}");
    }
}
