//! What real servers did, and what must hold whatever happens.

mod properties;
pub(crate) mod replay;

use super::{
    Context, FieldSet, ManagedFields, apply, collect, element::PathElement, keep_times, shape::Node, update,
};
use crate::patch;
use crate::schema::Schema;
use jiff::Timestamp;
use serde_json::{Value, json};

impl FieldSet {
    /// All paths of an object that whoever wrote it owns: leaves, items of lists and of maps.
    fn from_value(value: &Value, schema: &Schema) -> Self {
        collect::paths_of(value, Node::root(schema))
    }

    /// Whether a path is in the set.
    fn contains(&self, path: &[PathElement]) -> bool {
        match path {
            [] => false,
            [last] => self.members.contains(last),
            [first, rest @ ..] => self.children.get(first).is_some_and(|child| child.contains(rest)),
        }
    }

    /// The paths that no other path of the set goes on from.
    fn leaves(&self) -> Self {
        let members = self.members.iter().filter(|member| !self.children.contains_key(member)).cloned();
        Self {
            members: members.collect(),
            children: self.children.iter().map(|(element, set)| (element.clone(), set.leaves())).collect(),
        }
    }
}

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

/// A custom resource whose fields are taken apart, or are one value each.
fn gadget(atomic: bool) -> Schema {
    let (mut map, mut list) = (json!({"type": "object"}), json!({"type": "array"}));
    if atomic {
        map["x-kubernetes-map-type"] = json!("atomic");
    } else {
        list["x-kubernetes-list-type"] = json!("map");
        list["x-kubernetes-list-map-keys"] = json!(["name"]);
    }
    let text = json!({"type": "string"});
    let (mut m, mut o) = (map.clone(), map);
    m["additionalProperties"] = text.clone();
    o["properties"] = json!({"a": text, "b": text});
    list["items"] = json!({"type": "object", "required": ["name"], "properties": {"name": text, "v": text}});
    let spec = json!({"type": "object", "properties": {"m": m, "o": o, "l": list}});
    Schema::from_json(&json!({"type": "object", "properties": {"spec": spec}})).unwrap()
}

/// Recorded on a CRD whose schema was changed in between.
#[test]
fn ownership_follows_a_schema_that_changes() {
    let (granular, atomic) = (gadget(false), gadget(true));
    let steps = [
        ("a", &granular, json!({"m": {"k": "1"}, "o": {"a": "1"}, "l": [{"name": "n", "v": "1"}]})),
        ("b", &granular, json!({"m": {"j": "1"}, "o": {"b": "1"}, "l": [{"name": "p"}]})),
        ("c", &atomic, json!({"m": {"k": "1", "j": "1"}})),
        ("a", &atomic, json!({"m": {"k": "1", "j": "1"}, "o": {"a": "1", "b": "1"}})),
        ("updater", &atomic, json!({"m": {"k": "9"}})),
        ("a", &granular, json!({"m": {"k": "9"}})),
        ("b", &granular, json!({"m": {"q": "9"}})),
    ];
    let owners = [
        vec![
            json!({"f:l": {"k:{\"name\":\"n\"}": {".": {}, "f:name": {}, "f:v": {}}}, "f:m": {"f:k": {}}, "f:o": {"f:a": {}}}),
        ],
        vec![
            json!({"f:l": {"k:{\"name\":\"n\"}": {".": {}, "f:name": {}, "f:v": {}}}, "f:m": {"f:k": {}}, "f:o": {"f:a": {}}}),
            json!({"f:l": {"k:{\"name\":\"p\"}": {".": {}, "f:name": {}}}, "f:m": {"f:j": {}}, "f:o": {"f:b": {}}}),
        ],
        vec![
            json!({"f:m": {}}),
            json!({"f:l": {}, "f:m": {}, "f:o": {}}),
            json!({"f:l": {}, "f:m": {}, "f:o": {}}),
        ],
        vec![json!({"f:m": {}}), json!({"f:m": {}, "f:o": {}}), json!({"f:l": {}, "f:m": {}, "f:o": {}})],
        vec![json!({"f:o": {}}), json!({"f:l": {}, "f:o": {}}), json!({"f:m": {}})],
        vec![json!({"f:m": {"f:k": {}}}), json!({"f:l": {}, "f:o": {}}), json!({"f:m": {}})],
        vec![json!({"f:m": {"f:k": {}}}), json!({"f:m": {"f:q": {}}}), json!({"f:m": {}})],
    ];
    let mut live: Option<Value> = None;
    for (second, ((manager, schema, spec), owners)) in (1..).zip(steps.into_iter().zip(owners)) {
        let ctx = Context {
            schema,
            api_version: "example.com/v1",
            kind: "Gadget",
            manager,
            subresource: "",
            now: Timestamp::from_second(second).unwrap(),
            ignored: FieldSet::default(),
            empty: None,
        };
        let sent = json!({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "x"}, "spec": spec});
        let mut object = match (manager, &live) {
            ("updater", Some(live)) => {
                let mut object = patch::merge::apply(live, &sent).unwrap();
                update(Some(live), &mut object, &ctx);
                object
            }
            _ => apply(live.as_ref(), &sent, &ctx, false).unwrap(),
        };
        object["metadata"]["uid"] = json!("u");
        let entries = object["metadata"]["managedFields"].as_array().unwrap();
        let found: Vec<Value> = entries.iter().map(|entry| entry["fieldsV1"]["f:spec"].clone()).collect();
        assert_eq!(found, owners, "request {second}");
        live = Some(object);
    }
    assert_eq!(live.unwrap()["spec"], json!({"m": {"j": "1", "k": "9", "q": "9"}}));
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
        fields.paths(),
        [
            ".p.x",
            r#".p[port=80,protocol="TCP"]"#,
            r#".p[port=443,protocol="TCP"]"#,
            ".p[=9]",
            ".p[=10]",
            r#".p[="<"]"#,
            ".p[=true]",
            ".p[9]",
            ".p[10]",
        ]
    );
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

#[test]
fn what_nests_too_deep_is_neither_tracked_nor_applied() {
    let schema = Schema { preserve_unknown_fields: true, ..Schema::default() };
    let ctx = Context {
        schema: &schema,
        api_version: "v1",
        kind: "Deep",
        manager: "m",
        subresource: "",
        now: Timestamp::UNIX_EPOCH,
        ignored: FieldSet::default(),
        empty: None,
    };
    let object = |levels: usize| {
        let nest = |below| Value::Object([("a".to_owned(), below)].into_iter().collect());
        let deep = (0..levels).fold(json!(1), |below, _| nest(below));
        json!({"apiVersion": "v1", "kind": "Deep", "metadata": {"name": "x"}, "deep": deep})
    };
    let mut fits = object(119);
    update(None, &mut fits, &ctx);
    assert!(fits["metadata"]["managedFields"].is_array());
    let text = json!({"items": [fits]}).to_string();
    assert!(serde_json::from_str::<Value>(&text).is_ok(), "what is stored can be read");
    assert!(apply(Some(&fits), &object(119), &ctx, false).is_ok());

    let mut deep = object(500);
    update(None, &mut deep, &ctx);
    assert!(deep["metadata"].get("managedFields").is_none());
    let refused = apply(None, &object(500), &ctx, false).unwrap_err();
    assert_eq!((refused.code, refused.message.as_str()), (400, "error decoding YAML: exceeded max depth"));
}

/// kubectl kept what it applied in an annotation, before servers did that.
#[test]
fn what_kubectl_applied_in_the_old_way_is_its_own() {
    const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
    let schema = crate::schema::builtin("", "ConfigMap").unwrap();
    let context = |manager| Context {
        schema,
        api_version: "v1",
        kind: "ConfigMap",
        manager,
        subresource: "",
        now: Timestamp::UNIX_EPOCH,
        ignored: FieldSet::default(),
        empty: None,
    };
    let wanted = |a: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "n" }, "data": { "a": a } });
    let mut live = wanted("1");
    live["metadata"]["uid"] = json!("u");
    live["metadata"]["annotations"] = json!({ ANNOTATION: wanted("1").to_string() });
    update(None, &mut live, &context("kubectl-client-side-apply"));

    let new = apply(Some(&live), &wanted("<2>"), &context("kubectl"), false).unwrap();
    let last = "{\"apiVersion\":\"v1\",\"data\":{\"a\":\"\\u003c2\\u003e\"},\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"n\"}}\n";
    assert_eq!(new["metadata"]["annotations"][ANNOTATION], last);
    assert!(apply(Some(&live), &wanted("2"), &context("other"), false).is_err(), "others have a conflict");

    let mut changed = live.clone();
    changed["data"]["a"] = json!("somebody's");
    update(Some(&live), &mut changed, &context("somebody"));
    assert!(apply(Some(&changed), &wanted("2"), &context("kubectl"), false).is_err(), "it was changed since");
}
