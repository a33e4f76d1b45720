//! What holds for every schema and every object.

use crate::schema::{CompiledRules, ListType, Schema, default, prune, validate};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Few names, so that schemas and objects meet.
fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c", "d-e", "metadata"]).prop_map(ToOwned::to_owned)
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3..4_i64).prop_map(Value::from),
        "[a-c]{0,3}".prop_map(Value::from),
        Just(json!(1.5)),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name(), inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn leaf() -> impl Strategy<Value = Value> {
    let text = json!({"type": "string", "default": "x"});
    prop_oneof![
        Just(json!({"type": "string", "maxLength": 2, "pattern": "^a"})),
        Just(text),
        Just(json!({"type": "string", "nullable": true, "enum": ["a", "b"]})),
        Just(json!({"type": "integer", "minimum": 1, "default": 2})),
        Just(json!({"type": "number", "multipleOf": 0.5})),
        Just(json!({"type": "boolean"})),
        Just(json!({"x-kubernetes-int-or-string": true})),
        Just(json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"})),
        Just(json!({"type": "array", "maxItems": 2, "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["a"], "items": {"type": "object", "required": ["a"],
            "properties": {"a": {"type": "string"}, "b": {"type": "integer", "default": 1}}}})),
    ]
}

fn schema() -> impl Strategy<Value = Schema> {
    let below = leaf().prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::btree_map(name(), inner.clone(), 0..4).prop_map(|fields| {
                let fields: Map<String, Value> = fields.into_iter().collect();
                json!({"type": "object", "properties": fields})
            }),
            inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            inner.prop_map(|values| json!({"type": "object", "additionalProperties": values})),
        ]
    });
    let root = prop::collection::btree_map("[a-c]", below, 1..4);
    root.prop_map(|fields| {
        let fields: Map<String, Value> = fields.into_iter().collect();
        Schema::from_json(&json!({"type": "object", "properties": fields})).unwrap()
    })
}

/// Whether the items of lists that are maps have keys, each its own. Without them nobody can tell what an item was before,
/// so whatever is wrong with it is refused again.
fn can_be_found(schema: &Schema, value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields
            .iter()
            .all(|(name, value)| schema.field(name).is_none_or(|schema| can_be_found(schema, value))),
        Value::Array(items) => {
            let below = schema.items.as_deref();
            let nested = items.iter().all(|item| below.is_none_or(|schema| can_be_found(schema, item)));
            let ListType::Map(keys) = &schema.list_type else { return nested };
            let keys_of =
                |item: &Value| -> Vec<Value> { keys.iter().map(|key| item[key.as_str()].clone()).collect() };
            let all: Vec<Vec<Value>> = items.iter().map(keys_of).collect();
            let plain = |key: &Value| key.is_string() || key.is_number() || key.is_boolean();
            nested
                && all.iter().flatten().all(plain)
                && all.iter().enumerate().all(|(index, keys)| !all[..index].contains(keys))
        }
        _ => true,
    }
}

proptest! {
    #[test]
    fn defaulting_twice_is_defaulting_once(schema in schema(), value in value()) {
        let mut once = value;
        default(&schema, &mut once);
        let mut twice = once.clone();
        default(&schema, &mut twice);
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn what_was_pruned_and_defaulted_is_stable(schema in schema(), value in value()) {
        let mut once = value;
        prune(&schema, &mut once);
        default(&schema, &mut once);
        let mut twice = once.clone();
        prop_assert_eq!(prune(&schema, &mut twice), Vec::<String>::new());
        default(&schema, &mut twice);
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn what_did_not_change_is_not_refused(schema in schema(), value in value()) {
        let mut value = value;
        prune(&schema, &mut value);
        default(&schema, &mut value);
        prop_assume!(can_be_found(&schema, &value));
        prop_assert_eq!(validate(&schema, &value, Some(&value)), vec![]);
    }

    #[test]
    fn any_text_is_a_rule_or_is_refused(rule in "[a-c(){}\\[\\].,?:!<>=&|+*/%'\"0-9 \\\\-]{0,60}") {
        any_rule(&rule)?;
    }

    #[test]
    fn any_row_of_words_is_a_rule_or_is_refused(words in prop::collection::vec(word(), 0..25)) {
        any_rule(&words.join(" "))?;
    }
}

fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "self",
        "oldSelf",
        ".",
        "a",
        "b",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "?",
        "&&",
        "||",
        "==",
        "in",
        "+",
        "-",
        "*",
        "/",
        "%",
        "!",
        "1",
        "-9223372036854775808",
        "1.5",
        "'x'",
        "b'x'",
        "true",
        "null",
        "has(self.a)",
        "self.a",
        "self.l",
        ".all(x, x",
        ".map(x, x)",
        "[0]",
        "size(",
        ".matches('a')",
        "quantity('1')",
        ".format([self.a])",
        "'%s'",
        ".?a",
        "optional.of(",
        ".orValue(1)",
        "duration('1h')",
        "lists.range(3)",
        "cidr('10.0.0.0/8')",
    ])
}

fn any_rule(rule: &str) -> Result<(), TestCaseError> {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "a": {"type": "string"}, "b": {"type": "integer"}, "l": {"type": "array", "items": {"type": "string"}}},
        "x-kubernetes-validations": [{"rule": rule, "message": "m"}]}}});
    let object = json!({"spec": {"a": "x", "b": 1, "l": ["a"]}});
    if let Ok(schema) = Schema::from_json(&schema) {
        let rules =
            CompiledRules::new(&schema).map_err(|errors| TestCaseError::fail(errors[0].to_string()))?;
        rules.check(&object, Some(&object));
    }
    Ok(())
}
