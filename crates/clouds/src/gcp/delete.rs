//! Deletions by rows, and what has to go before them.

use super::{
    Gcp,
    call::{Call, encode, incomplete},
    list::unsupported,
    rows::{self, ASSOCIATIONS, Deed, PROTECTED, Paths},
};
use crate::Refusal;
use allotment_core::cleanup::{Cloud as CloudName, Item, Kind, Place, kinds::table};
use http::Method;
use serde_json::{Value, json};

impl Gcp {
    pub(super) async fn delete_item(&self, item: &Item) -> Result<(), Refusal> {
        let kind = table(CloudName::Gcp).kind(item.kind.as_str()).ok_or_else(|| unsupported(&item.kind))?;
        self.settle_before(kind.wave).await;
        // A deletion that failed since the last pass is begun again, and its reason is told.
        let late = self.failed_late(&item.key()).await;
        let deleted = match item.kind.as_str() {
            rows::SERVICE_ACCOUNT => self.delete_account(item).await,
            rows::METADATA => self.delete_metadata(item).await,
            rows::PEERING => self.delete_peering(item).await,
            rows::NAT => self.delete_nat(item).await,
            _ => self.delete_row(kind, item).await,
        };
        match (deleted, late) {
            (Err(Refusal::Gone), _) => Ok(()),
            (Ok(()), Some(refusal)) => Err(refusal),
            (deleted, _) => deleted,
        }
    }

    async fn delete_row(&self, kind: &'static Kind, item: &Item) -> Result<(), Refusal> {
        let paths = rows::paths(kind.name).ok_or_else(|| unsupported(&item.kind))?;
        let path = path(paths, item)?;
        let prepared = self.prepare(kind.name, item, &path).await;
        if let Err(refusal @ (Refusal::Throttled { .. } | Refusal::Transient { .. } | Refusal::Gone)) =
            prepared
        {
            return Err(refusal);
        }
        let permission = kind.delete.first().copied().unwrap_or_default();
        let call = Call { method: Method::DELETE, url: self.compute(&path), body: Value::Null, permission };
        let deleted = match self.call(&item.place, &call).await {
            // Machines are many, and each takes a minute.
            Ok(answer) if kind.name == "Instance" => {
                self.finished_or_pending(&item.key(), kind.wave, &answer, permission).await
            }
            Ok(answer) => self.finished(&item.place, &answer, permission).await,
            Err(refusal) => Err(refusal),
        };
        // The deletion is refused for what the preparation could not change, so its refusal is the reason.
        match (deleted, prepared) {
            (Err(Refusal::Blocked { .. } | Refusal::Locked { .. }), Err(reason)) => Err(reason),
            (deleted, _) => deleted,
        }
    }

    async fn prepare(&self, kind: &str, item: &Item, path: &str) -> Result<(), Refusal> {
        if item.attribute(PROTECTED) == Some("true") {
            let path = format!("{path}/setDeletionProtection?deletionProtection=false");
            self.act(&item.place, &path, Value::Null, &rows::UNPROTECT).await?;
        }
        let names = item.attribute(ASSOCIATIONS).into_iter().flat_map(|names| names.split(','));
        let deed =
            if kind == rows::DISSOCIATE.kind { &rows::DISSOCIATE } else { &rows::DISSOCIATE_IN_REGION };
        for name in names {
            let path = format!("{path}/removeAssociation?name={}", encode(name));
            match self.act(&item.place, &path, Value::Null, deed).await {
                Ok(()) | Err(Refusal::Gone) => (),
                Err(refusal) => return Err(refusal),
            }
        }
        Ok(())
    }

    /// A call that changes something, to its end.
    pub(super) async fn act(
        &self,
        place: &Place,
        path: &str,
        body: Value,
        deed: &'static Deed,
    ) -> Result<(), Refusal> {
        let call = Call::post(self.compute(path), body, deed.permission);
        let answer = self.call(place, &call).await?;
        self.finished(place, &answer, deed.permission).await
    }

    async fn delete_peering(&self, item: &Item) -> Result<(), Refusal> {
        let (network, name) = whole_and_part(item, "networks", "peerings")?;
        let path = format!("global/networks/{}/removePeering", encode(network));
        self.act(&item.place, &path, json!({ "name": name }), &rows::REMOVE_PEERING).await
    }

    /// Takes a NAT out of its router, and leaves the others in it.
    async fn delete_nat(&self, item: &Item) -> Result<(), Refusal> {
        let (router, name) = whole_and_part(item, "routers", "nats")?;
        let path = format!("regions/{}/routers/{}", encode(item.place.as_str()), encode(router));
        let read = Call::get(self.compute(&path), rows::READ_ROUTER.permission);
        let body = self.call(&item.place, &read).await?;
        let nats = body.get("nats").and_then(Value::as_array).ok_or(Refusal::Gone)?;
        let others: Vec<&Value> =
            nats.iter().filter(|nat| nat.get("name").and_then(Value::as_str) != Some(name)).collect();
        if others.len() == nats.len() {
            return Err(Refusal::Gone);
        }
        let permission = rows::CHANGE_ROUTER.permission;
        let (url, body) = (self.compute(&path), json!({ "nats": others }));
        let answer = self.call(&item.place, &Call { method: Method::PATCH, url, body, permission }).await?;
        self.finished(&item.place, &answer, permission).await
    }
}

/// The path of a deletion.
fn path(paths: &Paths, item: &Item) -> Result<String, Refusal> {
    let parts: Vec<&str> = item.id.as_str().split('/').collect();
    let (zone, name) = match parts.as_slice() {
        [zone, _, name] => (Some(*zone), *name),
        [_, name] => (None, *name),
        _ => return Err(incomplete(paths.list)),
    };
    let scope = match zone {
        Some(_) => "zones/",
        None if item.place.is_global() => "global/",
        None => "regions/",
    };
    let path = paths.delete.iter().find(|path| path.starts_with(scope));
    let path = path.ok_or_else(|| unsupported(&item.kind))?;
    Ok(path
        .replace("{zone}", &encode(zone.unwrap_or_default()))
        .replace("{region}", &encode(item.place.as_str()))
        .replace("{name}", &encode(name)))
}

/// The name of an item, and of the whole that it is a part of.
fn whole_and_part<'a>(item: &'a Item, whole: &str, part: &str) -> Result<(&'a str, &'a str), Refusal> {
    match item.id.as_str().split('/').collect::<Vec<_>>().as_slice() {
        [first, of, second, name] if *first == whole && *second == part => Ok((of, name)),
        _ => Err(incomplete("the id of a part")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use allotment_core::cleanup::{ItemId, KindName};

    #[test]
    fn the_path_follows_from_the_place_and_the_id() {
        let cases = [
            ("Disk", "europe-west1", "europe-west1-b/disks/d", "zones/europe-west1-b/disks/d"),
            ("Disk", "europe-west1", "disks/d", "regions/europe-west1/disks/d"),
            ("Router", "europe-west1", "routers/r", "regions/europe-west1/routers/r"),
            ("Network", "global", "networks/n", "global/networks/n"),
            (
                "GlobalVmExtensionPolicy",
                "global",
                "vmExtensionPolicies/v",
                "global/vmExtensionPolicies/v/delete",
            ),
        ];
        for (kind, place, id, expected) in cases {
            let item = Item::new(KindName::of(kind), Place::of(place), ItemId::new(id));
            assert_eq!(path(rows::paths(kind).unwrap(), &item).unwrap(), expected);
        }
        let group = Item::new(KindName::of("InstanceGroup"), Place::of("r"), ItemId::new("instanceGroups/g"));
        let refusal = path(rows::paths("InstanceGroup").unwrap(), &group).unwrap_err();
        assert_eq!(refusal.code(), "Unsupported", "a group of a region has no deletion");
    }
}
