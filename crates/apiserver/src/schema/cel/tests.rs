use crate::schema::{CompiledRules, Schema};
use serde_json::{Value, json};

fn schema(rule: &str) -> Value {
    json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "a": {"type": "string"}, "i": {"type": "integer"}, "l": {"type": "array", "items": {"type": "string"}}},
        "x-kubernetes-validations": [{"rule": rule, "message": "broken"}]}}})
}

/// What comes of a rule: what registration says, or what the object is told.
fn outcome(rule: &str, spec: &Value) -> String {
    let text = |errors: Vec<crate::error::FieldError>| {
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        texts.join("; ")
    };
    match Schema::from_json(&schema(rule)) {
        Err(errors) => text(errors),
        Ok(schema) => text(CompiledRules::new(&schema).unwrap().check(&json!({"spec": spec}), None)),
    }
}

#[test]
fn nothing_that_a_rule_says_ends_the_process() {
    let nested = |count: usize| format!("{}true{}", "(".repeat(count), ")".repeat(count));
    let deep = format!("{}self.a{} == ''", "[".repeat(240), "]".repeat(240));
    let tower = format!("{}1{} > 0", "(1+".repeat(240), "+1+1+1+1)".repeat(240));
    for (rule, told) in [
        (nested(20), ""),
        (nested(249), ""),
        (nested(250), "expression recursion limit exceeded: 250"),
        (nested(20_000), "expression recursion limit exceeded: 250"),
        (vec!["1"; 250].join("+") + " > 0", ""),
        (vec!["1"; 20_000].join("+") + " > 0", "max recursion depth exceeded"),
        (vec!["true"; 10_000].join("&&"), ""),
        ("!".repeat(20_000) + "true", ""),
        ("-".repeat(20_000) + "1 == 1", ""),
        (format!("self{}", ".a".repeat(20_000)), "max recursion depth exceeded"),
        (format!("self{}", "[0]".repeat(20_000)), "max recursion depth exceeded"),
        (vec!["true ? true"; 5_000].join(" : ") + " : true", "expression recursion limit exceeded: 250"),
        (deep, "found no matching overload"),
        (tower, "max recursion depth exceeded"),
        ("'%.999999999f'.format([1.0]) == ''".to_owned(), "precision 999999999 is too large"),
        ("'%.99999999999999999999f'.format([1.0]) == ''".to_owned(), "is too large"),
        (format!("'{}' == ''", "a".repeat(100_001)), "expression code point size exceeds limit"),
        ("self.a.matches('(((a{100}){100}){100}){100}')".to_owned(), "invalid matches argument"),
    ] {
        let found = outcome(&rule, &json!({"a": "x"}));
        assert!(found.contains(told) && found.is_empty() == told.is_empty(), "{rule:.60}: {found:.300}");
    }
}

#[test]
fn work_without_end_is_cut_off() {
    let over = "lists.range(1000)";
    for rule in [
        format!("{over}.all(a, {over}.all(b, {over}.all(c, true)))"),
        "lists.range(9000000000).size() > 0".to_owned(),
        format!(
            "{over}.map(x, self.a).join(',').replace('', self.a).replace('', self.a).replace('', self.a) == ''"
        ),
    ] {
        let found = outcome(&rule, &json!({"a": "x".repeat(1000)}));
        assert!(found.contains("operation cancelled: actual cost limit exceeded"), "{rule}: {found}");
        assert!(found.contains("no further validation rules will be run"), "{rule}: {found}");
    }
}

#[test]
fn deep_rules_run_on_a_small_stack() {
    let rule = vec!["size(self.a)"; 240].join(" + ") + " > 1000";
    let run = move || outcome(&rule, &json!({"a": "x"}));
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(run).unwrap();
    assert_eq!(thread.join().unwrap(), "spec: Invalid value: broken");
}

#[test]
fn names_are_escaped_and_read_back() {
    use super::escape::{escape, unescape};
    for (name, written) in [
        ("a", Some("a")),
        ("a_b", Some("a_b")),
        ("a__b", Some("a__underscores__b")),
        ("a-b", Some("a__dash__b")),
        ("a.b/c", Some("a__dot__b__slash__c")),
        ("namespace", Some("__namespace__")),
        ("in", Some("__in__")),
        ("int", Some("int")),
        ("1a", None),
        ("a$", None),
        ("", None),
    ] {
        assert_eq!(escape(name).as_deref(), written, "{name}");
        if let Some(written) = written {
            assert_eq!(unescape(written).as_deref(), Some(name));
        }
    }
    assert_eq!(unescape("a__foo__b"), None);
}
