//! The metadata of the project: keys and scripts for all machines of it.

use super::{
    Gcp,
    call::incomplete,
    read::short_digest,
    rows::{METADATA, SET_METADATA},
};
use crate::{Page, Refusal};
use allotment_core::cleanup::{Item, ItemId, KindName, Place, attribute::PRISTINE};
use serde_json::{Value, json};

/// The metadata, in a project and in the ids of its items.
const FIELD: &str = "commonInstanceMetadata";

impl Gcp {
    pub(super) async fn list_metadata(&self) -> Result<Page, Refusal> {
        let project = self.project().await?;
        let items: Result<Vec<Item>, Refusal> = entries(&project)?.iter().map(read).collect();
        Ok(Page::Items { items: items?, next: None })
    }

    /// Takes an entry out, and leaves the others. The fingerprint is that of the read: whoever changed it meanwhile wins.
    pub(super) async fn delete_metadata(&self, item: &Item) -> Result<(), Refusal> {
        let name = item.name.as_deref().ok_or_else(|| incomplete(FIELD))?;
        let project = self.project().await?;
        let entries = entries(&project)?;
        let others: Vec<&Value> =
            entries.iter().filter(|entry| entry.get("key").and_then(Value::as_str) != Some(name)).collect();
        if others.len() == entries.len() {
            return Err(Refusal::Gone);
        }
        let fingerprint = project.pointer("/commonInstanceMetadata/fingerprint");
        let body = json!({ "fingerprint": fingerprint, "items": others, "kind": "compute#metadata" });
        self.act(&Place::GLOBAL, "setCommonInstanceMetadata", body, &SET_METADATA).await
    }
}

fn entries(project: &Value) -> Result<Vec<Value>, Refusal> {
    match project.pointer("/commonInstanceMetadata/items") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(items) => items.as_array().cloned().ok_or_else(|| incomplete(FIELD)),
    }
}

/// The value may be a secret of a tenant: only its digest is kept.
fn read(entry: &Value) -> Result<Item, Refusal> {
    let key = entry.get("key").and_then(Value::as_str).ok_or_else(|| incomplete(FIELD))?;
    let value = entry.get("value").and_then(Value::as_str).unwrap_or_default();
    let id = ItemId::new(format!("{FIELD}/{key}"));
    let mut item = Item::new(KindName::of(METADATA), Place::GLOBAL, id);
    item.name = Some(key.to_owned());
    item.incarnation = Some(short_digest(value.as_bytes()));
    let is_harmless = match key {
        "google-compute-default-zone" | "google-compute-default-region" => true,
        "enable-oslogin" => value.eq_ignore_ascii_case("true"),
        _ => false,
    };
    Ok(item.with(PRISTINE, if is_harmless { "true" } else { "" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_never_shown_and_a_changed_one_is_another_item() {
        let entry = |key: &str, value: &str| read(&json!({ "key": key, "value": value })).unwrap();
        let keys = entry("ssh-keys", "somebody:ssh-ed25519 AAAA");
        assert!(!format!("{keys:?}").contains("AAAA"));
        assert_ne!(keys.incarnation, entry("ssh-keys", "").incarnation);
        assert_eq!(keys.attribute(PRISTINE), None);
        assert_eq!(entry("enable-oslogin", "TRUE").attribute(PRISTINE), Some("true"));
        assert_eq!(entry("enable-oslogin", "FALSE").attribute(PRISTINE), None);
    }
}
