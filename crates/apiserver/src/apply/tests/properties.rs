//! What must hold for any objects, in any order.

use super::replay::widget;
use crate::apply::compare::Changes;
use crate::apply::shape::Node;
use crate::apply::{Context, FieldSet, ManagedFields, apply, element::PathElement, metadata, update};
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn context<'a>(manager: &'a str, second: i64) -> Context<'a> {
    Context {
        schema: widget(),
        api_version: "apply-test.example.com/v1",
        kind: "Widget",
        manager,
        subresource: "",
        now: Timestamp::from_second(1_700_000_000 + second).unwrap(),
        ignored: FieldSet::of_fields(&[&["status"]]),
        empty: None,
    }
}

fn widget_with(spec: &Value) -> Value {
    let mut widget = json!({
        "apiVersion": "apply-test.example.com/v1", "kind": "Widget",
        // Somebody owns the label, so that the object is tracked even if the rest of it is empty.
        "metadata": {"name": "x", "uid": "u", "labels": {"app": "x"}},
    });
    if spec != &json!({}) {
        widget["spec"] = spec.clone();
    }
    widget
}

/// What a manager applies.
fn config(spec: &Value) -> Value {
    let mut config = widget_with(spec);
    config["metadata"] = json!({"name": "x"});
    config
}

fn stored(mut object: Value) -> Value {
    object["metadata"]["uid"] = json!("u");
    object
}

fn owned_by(object: &Value, is: impl Fn(&str) -> bool) -> FieldSet {
    let managed = ManagedFields::of(object).unwrap();
    let owners = managed.owners.iter().filter(|(owner, _)| is(&owner.manager));
    owners.fold(FieldSet::default(), |all, (_, owned)| all.union(&owned.fields))
}

/// The paths that are not the server's own.
fn leaves(object: &Value) -> FieldSet {
    let all = FieldSet::from_value(object, widget());
    all.recursive_difference(&FieldSet::of_fields(&[&["apiVersion"], &["kind"], &["metadata"]])).leaves()
}

fn text() -> impl Strategy<Value = Value> {
    prop_oneof!["x", "y"].prop_map(Value::from)
}

/// An object with some of these fields.
fn some(fields: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let fields: Vec<_> = fields
        .into_iter()
        .map(|(name, value)| proptest::option::of(value.prop_map(move |value| (name, value))))
        .collect();
    fields
        .prop_map(|fields| {
            let fields: Map<String, Value> =
                fields.into_iter().flatten().map(|(name, value)| (name.to_owned(), value)).collect();
            Value::Object(fields)
        })
        .boxed()
}

/// A list of some of these items, in any order.
fn some_items(items: Vec<BoxedStrategy<Value>>) -> BoxedStrategy<Value> {
    let count = items.len();
    (items, proptest::sample::subsequence((0..count).collect::<Vec<_>>(), 0..=count).prop_shuffle())
        .prop_map(|(items, chosen)| chosen.into_iter().map(|index| items[index].clone()).collect())
        .boxed()
}

fn item(name: &'static str) -> BoxedStrategy<Value> {
    some(vec![("value", text().boxed()), ("other", text().boxed())])
        .prop_map(move |mut item| {
            item["name"] = json!(name);
            item
        })
        .boxed()
}

fn port(port: i64) -> BoxedStrategy<Value> {
    let tags = some_items(vec![Just(json!("s")).boxed(), Just(json!("t")).boxed()]);
    some(vec![("name", text().boxed()), ("tags", tags), ("opts", some(vec![("x", text().boxed())]))])
        .prop_map(move |mut item| {
            item["port"] = json!(port);
            item["protocol"] = json!("TCP");
            item
        })
        .boxed()
}

fn spec() -> BoxedStrategy<Value> {
    let map = || some(vec![("a", text().boxed()), ("b", text().boxed()), ("c", text().boxed())]);
    let pair = || some(vec![("a", text().boxed()), ("b", text().boxed())]);
    let deep = some(vec![("c", text().boxed()), ("d", text().boxed())]);
    let set = some_items(["p", "q", "r"].map(|value| Just(json!(value)).boxed()).to_vec());
    some(vec![
        ("size", (0..3).prop_map(Value::from).boxed()),
        ("title", text().boxed()),
        ("granular", map()),
        ("atomicMap", map()),
        ("sub", some(vec![("a", text().boxed()), ("b", text().boxed()), ("deep", deep)])),
        ("items", some_items(["1", "2", "3", "4"].map(item).to_vec())),
        ("ports", some_items([1, 2].map(port).to_vec())),
        ("set", set),
        ("list", some_items(vec![pair(), pair()])),
        ("free", some(vec![("k", map()), ("l", some_items(vec![text().boxed()]))])),
    ])
    // A real server leaves null where an empty object was and everything below it went; that has its own scenarios.
    .prop_map(|spec| without_empty(spec).unwrap_or_else(|| json!({})))
    .boxed()
}

fn without_empty(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) => {
            let fields: Map<String, Value> =
                fields.into_iter().filter_map(|(name, value)| Some((name, without_empty(value)?))).collect();
            (!fields.is_empty()).then_some(Value::Object(fields))
        }
        Value::Array(items) => {
            let items: Vec<Value> = items.into_iter().filter_map(without_empty).collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        value => Some(value),
    }
}

fn element() -> impl Strategy<Value = PathElement> {
    let value = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        ".{0,4}".prop_map(Value::from),
        Just(json!(1.5)),
    ];
    prop_oneof![
        4 => ".{0,4}".prop_map(PathElement::Field),
        2 => proptest::collection::btree_map("[a-c\"<]{1,2}", value.clone(), 1..3)
            .prop_map(|fields| PathElement::key(fields.into_iter().collect())),
        2 => value.prop_map(PathElement::Value),
        1 => any::<i64>().prop_map(PathElement::Index),
    ]
}

proptest! {
    // A quarter of the usual, because objects are large; PROPTEST_CASES still asks for more.
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases / 4,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_set_survives_being_written_and_read(paths in proptest::collection::vec(proptest::collection::vec(element(), 1..4), 0..12)) {
        let mut set = FieldSet::default();
        paths.iter().for_each(|path| set.insert(path));
        prop_assert!(paths.iter().all(|path| set.contains(path)));
        prop_assert_eq!(&FieldSet::from_json(&set.to_value()).unwrap(), &set);
    }

    #[test]
    fn sets_obey_the_laws(left in spec(), right in spec()) {
        let left = FieldSet::from_value(&widget_with(&left), widget());
        let right = FieldSet::from_value(&widget_with(&right), widget());
        prop_assert_eq!(left.union(&right), right.union(&left));
        prop_assert_eq!(left.intersection(&right), right.intersection(&left));
        prop_assert_eq!(&left.difference(&right).union(&left.intersection(&right)), &left);
        prop_assert!(left.difference(&right).intersection(&right).is_empty());
        prop_assert!(left.recursive_difference(&left).is_empty());
    }

    #[test]
    fn applying_to_nothing_gives_what_is_applied(applied in spec()) {
        let mut object = apply(None, &config(&applied), &context("a", 0), false).unwrap();
        object["metadata"].as_object_mut().unwrap().remove("managedFields");
        prop_assert_eq!(object, config(&applied));
    }

    #[test]
    fn applying_twice_is_applying_once(created in spec(), theirs in spec(), mine in spec()) {
        let mut live = widget_with(&created);
        update(None, &mut live, &context("creator", 0));
        let live = apply(Some(&live), &config(&theirs), &context("b", 1), true).unwrap();
        let once = apply(Some(&live), &config(&mine), &context("a", 2), true).unwrap();
        let twice = apply(Some(&once), &config(&mine), &context("a", 3), false).unwrap();
        prop_assert_eq!(once.to_string(), twice.to_string());
    }

    #[test]
    fn applying_nothing_removes_what_was_mine_alone(theirs in spec(), mine in spec()) {
        let live = stored(apply(None, &config(&theirs), &context("b", 0), false).unwrap());
        let before = apply(Some(&live), &config(&mine), &context("a", 1), true).unwrap();
        let after = apply(Some(&before), &config(&json!({})), &context("a", 2), false).unwrap();
        let others = owned_by(&before, |manager| manager != "a");
        prop_assert_eq!(leaves(&after), others.leaves(), "after: {}", after);
        let changes = Changes::between(&before, &after, Node::root(widget()))
            .without(metadata::untracked());
        prop_assert!(changes.modified.is_empty() && changes.added.is_empty());
        prop_assert!(owned_by(&after, |manager| manager == "a").is_empty());
    }

    #[test]
    fn applying_without_force_leaves_others_alone(created in spec(), changed in spec(), first in spec(), then in spec()) {
        let mut live = widget_with(&created);
        update(None, &mut live, &context("creator", 0));
        let live = apply(Some(&live), &config(&first), &context("a", 1), true).unwrap();
        let mut before = widget_with(&changed);
        update(Some(&live), &mut before, &context("u", 2));
        let result = apply(Some(&before), &config(&then), &context("a", 3), false);
        let others = owned_by(&before, |manager| manager != "a");
        match result {
            Ok(after) => {
                // An item that was mine alone goes with what others set in it; a real server does that, too.
                let mine = owned_by(&before, |manager| manager == "a");
                let lost = others.difference(&owned_by(&after, |manager| manager != "a"));
                prop_assert!(lost.recursive_difference(&mine).is_empty());
                let changes = Changes::between(&before, &after, Node::root(widget()));
                prop_assert_eq!(changes.removed.intersection(&others), lost);
                prop_assert!(changes.modified.intersection(&others).is_empty());
            }
            Err(error) => {
                let forced = apply(Some(&before), &config(&then), &context("a", 3), true).unwrap();
                let lost = others.difference(&owned_by(&forced, |manager| manager != "a"));
                prop_assert_eq!(error.code, 409);
                prop_assert!(!lost.is_empty());
            }
        }
    }

    #[test]
    fn an_update_owns_what_it_changed(created in spec(), changed in spec()) {
        let mut live = widget_with(&created);
        update(None, &mut live, &context("creator", 0));
        let mut new = widget_with(&changed);
        update(Some(&live), &mut new, &context("u", 1));
        let changes = Changes::between(&live, &new, Node::root(widget()))
            .without(&FieldSet::of_fields(&[&["metadata"]]));
        prop_assert_eq!(owned_by(&new, |manager| manager == "u"), changes.modified.union(&changes.added));
        let everything = FieldSet::from_value(&new, widget())
            .recursive_difference(&FieldSet::of_fields(&[&["apiVersion"], &["kind"], &["metadata"]]));
        // Whatever there is, somebody owns.
        prop_assert!(everything.leaves().difference(&owned_by(&new, |_| true)).is_empty());
    }

    #[test]
    fn an_update_that_changes_nothing_changes_no_owner(created in spec(), applied in spec()) {
        let mut live = widget_with(&created);
        update(None, &mut live, &context("creator", 0));
        let live = apply(Some(&live), &config(&applied), &context("a", 1), true).unwrap();
        let mut same = live.clone();
        update(Some(&live), &mut same, &context("u", 2));
        prop_assert_eq!(same.to_string(), live.to_string());
    }
}
