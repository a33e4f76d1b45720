//! Looking for secrets where they do not belong.

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use kube::{
    Api, Client, ResourceExt,
    api::{DynamicObject, ListParams},
    discovery::{Discovery, verbs},
};
use serde_json::Value;

/// A key in a PEM file, in a kubeconfig, in a Secret is behind three of them.
const LAYERS: usize = 3;

/// Shorter words are not decoded: no secret fits into them.
const SHORTEST_WORD: usize = 64;

/// Words are cut at `=`, since a log has `key=word`, so the padding is gone.
const WORD: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

/// Looks for texts, also behind layers of base64.
#[derive(Clone, Debug)]
pub struct Search {
    needles: Vec<String>,
}

impl Search {
    /// Looks for any of these.
    pub fn of<S: Into<String>>(needles: impl IntoIterator<Item = S>) -> Self {
        Self { needles: needles.into_iter().map(Into::into).collect() }
    }

    /// Which of them is in a text.
    pub fn in_text(&self, text: &str) -> Option<&str> {
        self.behind(text, LAYERS)
    }

    /// Which of them is in bytes, say of a database.
    pub fn in_bytes(&self, bytes: &[u8]) -> Option<&str> {
        self.in_text(&String::from_utf8_lossy(bytes))
    }

    /// Which of them is anywhere in an object.
    pub fn in_value(&self, value: &Value) -> Option<&str> {
        match value {
            Value::String(text) => self.in_text(text),
            Value::Array(list) => list.iter().find_map(|value| self.in_value(value)),
            Value::Object(map) => {
                map.iter().find_map(|(key, value)| self.in_text(key).or_else(|| self.in_value(value)))
            }
            _ => None,
        }
    }

    fn behind(&self, text: &str, layers: usize) -> Option<&str> {
        if let Some(found) = self.needles.iter().find(|needle| text.contains(needle.as_str())) {
            return Some(found);
        }
        if layers == 0 {
            return None;
        }
        let is_between = |character: char| !character.is_ascii_alphanumeric() && !"+/".contains(character);
        let words = text.split(is_between).filter(|word| word.len() >= SHORTEST_WORD);
        words
            .filter_map(|word| WORD.decode(word).ok())
            .find_map(|decoded| self.behind(&String::from_utf8_lossy(&decoded), layers - 1))
    }
}

/// Everything that a server lists, each with its kind. Kinds that cannot be listed are left out: those of other tests come and go.
pub async fn every_object(client: &Client) -> Result<Vec<(String, DynamicObject)>, kube::Error> {
    let discovery = discover(client).await?;
    let kinds = discovery.groups().flat_map(|group| group.recommended_resources());
    let mut all = Vec::new();
    for (kind, _) in kinds.filter(|(_, can)| can.supports_operation(verbs::LIST)) {
        let api = Api::<DynamicObject>::all_with(client.clone(), &kind);
        let Ok(list) = api.list(&ListParams::default()).await else { continue };
        all.extend(list.items.into_iter().map(|object| (kind.kind.clone(), object)));
    }
    Ok(all)
}

/// The kinds of a server. A group that goes while it is read makes all of it fail.
async fn discover(client: &Client) -> Result<Discovery, kube::Error> {
    const MOST_ATTEMPTS: usize = 10;
    for _ in 1..MOST_ATTEMPTS {
        match Discovery::new(client.clone()).run().await {
            Err(kube::Error::Api(status)) if status.code == 404 => (),
            result => return result,
        }
    }
    Discovery::new(client.clone()).run().await
}

/// Which of some texts is in which of some objects: kind, namespace, name, and the text.
pub fn in_objects(
    search: &Search,
    objects: &[(String, DynamicObject)],
) -> Result<Vec<String>, serde_json::Error> {
    let mut found = Vec::new();
    for (kind, object) in objects {
        if let Some(needle) = search.in_value(&serde_json::to_value(object)?) {
            let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
            found.push(format!("{kind} {namespace}/{name}: {needle}"));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::Search;
    use base64::{Engine, prelude::BASE64_STANDARD};
    use serde_json::json;

    #[test]
    fn what_is_hidden_is_found() {
        let search = Search::of(["PRIVATE KEY"]);
        let mut text = format!("-----BEGIN RSA PRIVATE KEY-----\n{}", "a".repeat(64));
        for layers in 0..=3 {
            assert_eq!(search.in_text(&format!("key={text}, and more")), Some("PRIVATE KEY"), "{layers}");
            let object = json!({ "data": [{ "key": format!("{text}\n") }] });
            assert_eq!(search.in_value(&object), Some("PRIVATE KEY"), "{layers}");
            text = BASE64_STANDARD.encode(&text);
        }
        assert_eq!(search.in_bytes(text.as_bytes()), None, "nobody looks behind four");
        assert_eq!(search.in_text("-----BEGIN CERTIFICATE-----"), None);
    }
}
