//! What keeps an item from being deleted: a lock, or another item that refers to it.

use super::{
    error::Fault,
    state::{Subscription, group_of, text, type_of},
};
use http::StatusCode;
use serde_json::{Value, json};

const LOCKS: &str = "/providers/microsoft.authorization/locks/";

/// References that hold nothing: a snapshot outlives its disk, a peering its other end, and roles and policies whatever they
/// are about.
const FREE: &[&str] = &[
    "microsoft.compute/snapshots",
    "microsoft.network/virtualnetworks/virtualnetworkpeerings",
    "microsoft.authorization/roleassignments",
    "microsoft.authorization/policyassignments",
    "microsoft.authorization/policyexemptions",
    "microsoft.authorization/locks",
];

impl Subscription {
    /// Refuses if a lock is on the item, on what it is in, or on what is in it.
    pub(super) fn unlocked(&self, id: &str, for_what: &str) -> Result<(), Fault> {
        let id = format!("{}/", id.to_lowercase());
        let locked: Vec<&str> = self
            .documents
            .iter()
            .filter_map(|(key, lock)| Some((key.rsplit_once(LOCKS)?.0, text(lock, "/properties/level"))))
            .filter(|(_, level)| for_what == "delete" || *level == "ReadOnly")
            .map(|(on, _)| on)
            .filter(|on| id.starts_with(&format!("{on}/")) || (for_what == "delete" && on.starts_with(&id)))
            .collect();
        if locked.is_empty() {
            return Ok(());
        }
        let scopes: Vec<String> = locked.iter().map(|scope| format!("'{scope}'")).collect();
        let message = format!(
            "The scope '{}' cannot perform {for_what} operation because following scope(s) are locked: {}. Please remove the \
             lock and try again.",
            id.trim_end_matches('/'),
            scopes.join(",")
        );
        Err(Fault::new(StatusCode::CONFLICT, "ScopeLocked", message))
    }

    /// Refuses if another item refers to this one.
    pub(super) fn unused(&self, id: &str) -> Result<(), Fault> {
        let Some(by) = self.users(id).into_iter().next() else { return Ok(()) };
        let kind = type_of(id).unwrap_or_default();
        let name = kind.rsplit('/').next().unwrap_or_default();
        let (status, code) = match kind.as_str() {
            "microsoft.network/virtualnetworks/subnets" => {
                (StatusCode::BAD_REQUEST, "InUseSubnetCannotBeDeleted")
            }
            "microsoft.network/networksecuritygroups" => {
                (StatusCode::BAD_REQUEST, "InUseNetworkSecurityGroupCannotBeDeleted")
            }
            "microsoft.network/routetables" => (StatusCode::BAD_REQUEST, "InUseRouteTableCannotBeDeleted"),
            "microsoft.network/natgateways" => (StatusCode::BAD_REQUEST, "InUseNatGatewayCannotBeDeleted"),
            "microsoft.network/publicipaddresses" => {
                (StatusCode::BAD_REQUEST, "PublicIPAddressCannotBeDeleted")
            }
            "microsoft.network/networkinterfaces" => (StatusCode::BAD_REQUEST, "NicInUse"),
            _ => (StatusCode::CONFLICT, "OperationNotAllowed"),
        };
        let message = format!("{name} {id} is in use by {by} and cannot be deleted.");
        Err(Fault::new(status, code, message))
    }

    /// The ids of items that refer to this one, or to a subnet of this network.
    fn users(&self, id: &str) -> Vec<String> {
        let id = id.to_lowercase();
        let is_network = type_of(&id).as_deref() == Some("microsoft.network/virtualnetworks");
        let inside = format!("{id}/");
        let others = self.documents.iter().filter(|(key, _)| **key != id && !key.starts_with(&inside));
        // Definitions are held by the assignments that name them.
        let is_definition = type_of(&id).is_some_and(|kind| kind.ends_with("definitions"));
        let holds =
            |key: &str| is_definition || !type_of(key).is_some_and(|kind| FREE.contains(&kind.as_str()));
        others
            .filter(|(key, _)| holds(key))
            .filter(|(key, document)| {
                let refers = |reference: &str| {
                    let reference = reference.to_lowercase();
                    // The id of a document is no reference; nor is that of a part of it.
                    !reference.starts_with(key.as_str())
                        && (reference == id || (is_network && reference.starts_with(&inside)))
                };
                refers_to(document, &refers)
            })
            .map(|(_, document)| text(document, "/id").to_owned())
            .collect()
    }

    /// Deletes what is in a group, in the order that references allow. What is left is in use elsewhere.
    pub(super) fn empty_group(&mut self, group: &str) -> Result<(), Fault> {
        let is_resource = |key: &String| !key.contains("/providers/microsoft.authorization/");
        loop {
            let inside: Vec<String> = self.within(group).into_iter().filter(is_resource).collect();
            let free: Vec<String> = inside.iter().filter(|key| self.unused(key).is_ok()).cloned().collect();
            if inside.is_empty() {
                return Ok(());
            }
            if free.is_empty() {
                return Err(self.stuck(group, &inside));
            }
            for key in free {
                self.remove(&key);
            }
        }
    }

    fn stuck(&self, group: &str, inside: &[String]) -> Fault {
        let name = group.rsplit('/').next().unwrap_or_default();
        let ids: Vec<&str> = inside
            .iter()
            .filter_map(|key| self.documents.get(key))
            .map(|document| text(document, "/id"))
            .collect();
        let message = format!(
            "Deletion of resource group '{name}' failed as resources with identifiers '{}' could not be deleted. The \
             provisioning state of the resource group will be rolled back.",
            ids.join(",")
        );
        let mut fault = Fault::new(StatusCode::CONFLICT, "ResourceGroupDeletionBlocked", message);
        fault.details = ids
            .iter()
            .map(|id| {
                let why = self.unused(id).err().map(|fault| json!({ "error": fault.error() }).to_string());
                json!({ "code": null, "target": id, "message": why.unwrap_or_default() })
            })
            .collect();
        fault
    }

    /// Removes a document with everything in it. A vault is only deleted softly.
    pub(super) fn remove(&mut self, key: &str) {
        for child in self.within(key) {
            self.documents.remove(&child);
        }
        let Some(document) = self.documents.remove(key) else { return };
        let soft = match type_of(key).as_deref() {
            Some("microsoft.keyvault/vaults") => "deletedVaults",
            Some("microsoft.keyvault/managedhsms") => "deletedManagedHSMs",
            _ => return,
        };
        let (name, location) = (text(&document, "/name").to_owned(), text(&document, "/location").to_owned());
        let id = format!("{}/providers/Microsoft.KeyVault/locations/{location}/{soft}/{name}", self.root());
        let protected = document.pointer("/properties/enablePurgeProtection").cloned().unwrap_or(Value::Null);
        self.insert(json!({
            "id": id, "name": name, "type": format!("Microsoft.KeyVault/{soft}"),
            "properties": {
                "vaultId": text(&document, "/id"), "location": location, "deletionDate": super::state::now(),
                "purgeProtectionEnabled": protected,
            },
        }));
    }

    /// The group of an id, if it is being deleted.
    pub(super) fn leaving_group(&self, id: &str) -> Option<String> {
        let group = group_of(&id.to_lowercase())?;
        let state = text(self.documents.get(&group)?, "/properties/provisioningState");
        (state == "Deleting").then_some(group)
    }
}

fn refers_to(value: &Value, refers: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => refers(text),
        Value::Array(values) => values.iter().any(|value| refers_to(value, refers)),
        Value::Object(fields) => fields.values().any(|value| refers_to(value, refers)),
        _ => false,
    }
}
