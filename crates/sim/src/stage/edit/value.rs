//! Values that a schema accepts: one of an enum, a bound, a word that is used elsewhere, a short text.

use super::pattern;
use crate::stage::dice::Dice;
use serde_json::{Map, Value, json};

/// Words that are used somewhere in the world for a field of this name. Others take [`WORDS`].
fn words_for(name: &str) -> &'static [&'static str] {
    match name {
        "machineType" => &["m5.large", "m5.xlarge"],
        "zones" => &["eu-central-1a", "eu-central-1b", "eu-central-1c"],
        "issuerURL" | "issuer" => &["https://issuer.example.com", "https://other.example.com"],
        "clientID" => &["first", "second", "us"],
        "signingAlgs" => &["RS256", "ES256"],
        "usernameClaim" | "groupsClaim" => &["sub", "groups", "email"],
        "administrators" => &["ann@example.com", "bob@example.com", "cyd@example.com"],
        "apiGroups" => &["", "apps"],
        "resources" => &["pods", "configmaps", "namespaces", "secrets"],
        "verbs" => &["get", "list", "watch"],
        "kubernetesVersion" | "version" => &["1.34", "1.35"],
        "subscriptionSelector" => &["globalaccount:t1", "t1", "t2", "shared"],
        "type" => &["gp3"],
        "size" => &["50Gi", "80Gi", "100Gi"],
        "ttl" => &["2h", "24h", "90s"],
        "landscapeRef" => &["l1", "l2"],
        "project" => &["one", "two"],
        "clusterConfigs" => &["x1"],
        _ => WORDS,
    }
}

const WORDS: &[&str] =
    &["team", "default", "t1", "k1", "a1-k1", "kubeconfig", "aws", "true", "cluster-admin"];

/// Networks, for texts that a rule says are one.
const NETWORKS: [&str; 4] = ["10.0.0.0/8", "10.250.0.0/16", "10.64.0.0/13", "0.0.0.0/0"];

/// What an RBAC rule is about, unless it is about paths: the schemas refuse others.
const ASKED_FOR: [&str; 2] = ["apiGroups", "resources"];

/// The most entries of a list or a map.
const MOST: u64 = 3;

/// What a field is about: a name is one of what has it.
pub(super) fn meaning<'a>(parent: &'a str, field: &'a str) -> &'a str {
    if field == "name" { parent } else { field }
}

/// A value for a field of this name.
pub(super) fn sample(schema: &Value, name: &str, dice: &mut Dice) -> Value {
    if let Some(values) = schema["enum"].as_array() {
        return one_of(values, dice);
    }
    match schema["type"].as_str() {
        Some("boolean") => json!(dice.happens(500)),
        Some("integer" | "number") => number(schema, dice),
        Some("string") => json!(text(schema, name, dice)),
        Some("array") => list(schema, name, dice),
        Some("object") => object(schema, name, dice),
        // Whatever one likes.
        _ => one_of(&[json!(1), json!("x"), json!(true), json!({})], dice),
    }
}

fn one_of(values: &[Value], dice: &mut Dice) -> Value {
    let place = usize::try_from(dice.below(values.len() as u64)).unwrap_or_default();
    values.get(place).cloned().unwrap_or_default()
}

fn number(schema: &Value, dice: &mut Dice) -> Value {
    let bound = |name: &str| schema[name].as_f64();
    #[expect(clippy::cast_possible_truncation, reason = "bounds of fields are whole and small")]
    let whole = |number: f64| number as i64;
    let (least, most) = (bound("minimum").map_or(0, whole), bound("maximum").map_or(i64::MAX, whole));
    let mut all = vec![least, least.saturating_add(1), 1, 2, 3, 5];
    all.extend(bound("maximum").map(whole));
    all.extend(schema["default"].as_i64());
    all.retain(|number| (least..=most).contains(number));
    json!(dice.pick(&all).unwrap_or(least))
}

fn text(schema: &Value, name: &str, dice: &mut Dice) -> String {
    let length = |name: &str| schema[name].as_u64().and_then(|it| usize::try_from(it).ok());
    let (least, most) = (length("minLength").unwrap_or(0), length("maxLength").unwrap_or(usize::MAX));
    let rules = rules_of(schema);
    let literals: Vec<&str> = rules.iter().flat_map(|rule| quoted(rule)).collect();
    let longest = most.min(63);
    let drawn = match schema["pattern"].as_str() {
        _ if !literals.is_empty() => dice.pick(&literals).unwrap_or_default().to_owned(),
        _ if rules.iter().any(|rule| rule.contains("isCIDR")) => {
            dice.pick(&NETWORKS).unwrap_or_default().to_owned()
        }
        Some(pattern) if words_for(name) == WORDS || dice.happens(500) => pattern::sample(pattern, dice),
        _ if dice.happens(750) => dice.pick(words_for(name)).unwrap_or_default().to_owned(),
        _ if dice.happens(300) => "x".repeat(longest),
        _ => format!("v{}", dice.below(4)),
    };
    let is_fitting = (least..=most).contains(&drawn.len());
    if is_fitting { drawn } else { "x".repeat(least.max(1).min(longest)) }
}

pub(super) fn rules_of(schema: &Value) -> Vec<&str> {
    let rules = schema["x-kubernetes-validations"].as_array().into_iter().flatten();
    rules.filter_map(|rule| rule["rule"].as_str()).collect()
}

/// The words that a rule compares a text with.
fn quoted(rule: &str) -> Vec<&str> {
    if !rule.contains(" in [") {
        return Vec::new();
    }
    rule.split('\'').skip(1).step_by(2).collect()
}

/// The schema of the entries of a list. A rule about all of them is one about each.
pub(super) fn items_of(schema: &Value) -> Value {
    let mut items = schema["items"].clone();
    if rules_of(schema).iter().any(|rule| rule.contains("isCIDR")) {
        items["x-kubernetes-validations"] = json!([{ "rule": "isCIDR(self)" }]);
    }
    items
}

fn list(schema: &Value, name: &str, dice: &mut Dice) -> Value {
    let length = |name: &str| schema[name].as_u64();
    let most = length("maxItems").unwrap_or(MOST).min(MOST);
    let least = u64::from(ASKED_FOR.contains(&name));
    let count = dice.between(length("minItems").unwrap_or(least), most);
    let items = &items_of(schema);
    let mut all: Vec<Value> = Vec::new();
    for _ in 0..count {
        let one = sample(items, name, dice);
        if !all.contains(&one) {
            all.push(one);
        }
    }
    json!(all)
}

fn object(schema: &Value, name: &str, dice: &mut Dice) -> Value {
    let mut fields = Map::new();
    let required = schema["required"].as_array();
    let is_required = |field: &str| required.is_some_and(|all| all.iter().any(|one| one == field));
    for (field, inner) in schema["properties"].as_object().into_iter().flatten() {
        let likely = if ASKED_FOR.contains(&field.as_str()) { 900 } else { 300 };
        if is_required(field) || dice.happens(likely) {
            fields.insert(field.clone(), sample(inner, meaning(name, field), dice));
        }
    }
    if fields.contains_key("nonResourceURLs") && dice.happens(500) {
        fields.retain(|field, _| !ASKED_FOR.contains(&field.as_str()));
    }
    if schema["additionalProperties"].is_object() {
        for _ in 0..dice.below(MOST) {
            let key = format!("key{}", dice.below(MOST));
            fields.insert(key, sample(&schema["additionalProperties"], name, dice));
        }
    }
    Value::Object(fields)
}
