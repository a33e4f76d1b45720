//! What uses an item.

use super::state::{Key, Project};
use serde_json::Value;

/// Names of an item that do not hold it: where it came from, and what belongs to it.
const LOOSE: &[&str] = &[
    "selfLink",
    "sourceDisk",
    "sourceSnapshot",
    "sourceImage",
    "sourceInstance",
    "instances",
    "instance",
    "nextHopInstance",
    "instanceGroup",
    "users",
    "zone",
    "region",
];

/// Items that only describe others.
const DESCRIPTIONS: &[&str] = &["instanceTemplates", "machineImages"];

impl Project {
    /// The first item that uses this one.
    pub(crate) fn user_of(&self, key: &Key) -> Option<Key> {
        let mut wanted = vec![self.url(&key.path())];
        // A backend service names the group, not its manager.
        if key.collection == "instanceGroupManagers" {
            wanted.push(self.url(&format!("{}/instanceGroups/{}", key.scope, key.name)));
        }
        let is_own = |other: &Key, part_of: Option<&Key>| other == key || part_of == Some(key);
        let found = self.resources.iter().find(|(other, resource)| {
            !is_own(other, resource.part_of.as_ref())
                && resource.part_of.is_none()
                && !DESCRIPTIONS.contains(&other.collection.as_str())
                && wanted.iter().any(|url| names(&resource.body, url))
        });
        found.map(|(other, _)| other.clone())
    }

    /// A part that has to be removed before the item.
    pub(crate) fn part_in_use(&self, key: &Key) -> Option<String> {
        let body = &self.resources.get(key)?.body;
        let first = |field: &str| {
            let part = body.get(field)?.as_array()?.first()?;
            Some(format!("{}/{field}/{}", key.path(), part["name"].as_str().unwrap_or_default()))
        };
        match key.collection.as_str() {
            "networks" => first("peerings"),
            "firewallPolicies" => first("associations"),
            _ => None,
        }
    }

    /// The first item that a body names, and that is not there.
    pub(crate) fn missing(&self, body: &Value) -> Option<String> {
        let own = self.url("");
        let mut urls = Vec::new();
        collect(body, &mut urls);
        urls.into_iter().find(|url| {
            let Some(path) = url.strip_prefix(&own) else { return false };
            let segments: Vec<&str> = path.split('/').collect();
            let (scope, collection, name) = match segments.as_slice() {
                ["global", collection, name] => ("global".to_owned(), *collection, *name),
                [kind, place, collection, name] => (format!("{kind}/{place}"), *collection, *name),
                _ => return false,
            };
            let is_catalog = ["machineTypes", "diskTypes", "gateways", "acceleratorTypes", "licenses"];
            !is_catalog.contains(&collection)
                && !self.resources.contains_key(&Key::new(&scope, collection, name))
        })
    }
}

/// Whether a value names an item, in a way that holds it.
fn names(value: &Value, url: &str) -> bool {
    match value {
        Value::String(text) => text == url,
        Value::Array(values) => values.iter().any(|value| names(value, url)),
        Value::Object(fields) => fields.iter().any(|(field, value)| {
            let is_loose = LOOSE.contains(&field.as_str());
            !is_loose && names(value, url)
        }),
        _ => false,
    }
}

fn collect(value: &Value, urls: &mut Vec<String>) {
    match value {
        Value::String(text) if text.starts_with("https://") => urls.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| collect(value, urls)),
        Value::Object(fields) => fields.values().for_each(|value| collect(value, urls)),
        _ => (),
    }
}
