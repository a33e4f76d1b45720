//! Documents that are made.

use super::{
    Answer, Asked,
    error::Fault,
    json,
    operation::Deed,
    state::{Subscription, group_of, now, text, type_of},
};
use http::StatusCode;
use serde_json::{Value, json as document};

/// Types whose documents are made with 200.
const PLAIN: &[&str] =
    &["microsoft.compute/availabilitysets", "microsoft.compute/disks", "microsoft.compute/snapshots"];

impl Subscription {
    pub(super) fn put(&mut self, asked: &Asked<'_>, path: &[&str]) -> Answer {
        // However a path is written, ids have this word as Azure writes it.
        let written = asked.path.iter().enumerate().map(|(at, segment)| match at {
            0 if segment.eq_ignore_ascii_case("resourcegroups") => "resourceGroups",
            _ => segment,
        });
        let id = format!("{}/{}", self.root(), written.collect::<Vec<_>>().join("/"));
        let key = format!("{}/{}", self.root(), path.join("/"));
        let kind = type_of(&key);
        let action =
            kind.clone().unwrap_or_else(|| "Microsoft.Resources/subscriptions/resourceGroups".to_owned());
        self.authorize(&asked.caller, &format!("{action}/write"), &key)?;
        self.unlocked(&key, "write")?;
        if let Some(group) = group_of(&key).filter(|group| *group != key) {
            let name = group.rsplit('/').next().unwrap_or_default();
            if !self.documents.contains_key(&group) {
                let message = format!("Resource group '{name}' could not be found.");
                return Err(Fault::new(StatusCode::NOT_FOUND, "ResourceGroupNotFound", message));
            }
            if self.leaving_group(&key).is_some() {
                let message = format!("The resource group '{name}' is in deprovisioning state.");
                return Err(Fault::new(StatusCode::CONFLICT, "ResourceGroupBeingDeleted", message));
            }
        }
        let made = self.make(&id, kind.as_deref(), asked);
        self.parts(&made);
        let shown = self.documents.get(&key).cloned().unwrap_or_default();
        // The SDK takes no other answer for these.
        let is_plain = kind.is_some_and(|kind| PLAIN.contains(&kind.as_str()));
        Ok(json(if is_plain { StatusCode::OK } else { StatusCode::CREATED }, &shown))
    }

    fn make(&mut self, id: &str, kind: Option<&str>, asked: &Asked<'_>) -> Value {
        let mut made = if asked.body.is_object() { asked.body.clone() } else { document!({}) };
        let name = asked.path.last().cloned().unwrap_or_default();
        made["id"] = id.into();
        made["name"] = name.into();
        let written: Option<Vec<&str>> = asked
            .path
            .iter()
            .rposition(|segment| segment.eq_ignore_ascii_case("providers"))
            .map(|at| asked.path[at + 1..].iter().map(String::as_str).collect());
        made["type"] = match written.as_deref() {
            Some([namespace, rest @ ..]) => {
                let types: Vec<&str> = rest.iter().step_by(2).copied().collect();
                format!("{namespace}/{}", types.join("/")).into()
            }
            _ => "Microsoft.Resources/resourceGroups".into(),
        };
        if !made["properties"].is_object() {
            made["properties"] = document!({});
        }
        let (guid, creator) = (self.guid(), asked.caller.object.clone());
        let properties = &mut made["properties"];
        properties["provisioningState"] = "Succeeded".into();
        match kind.unwrap_or_default() {
            "microsoft.authorization/policyexemptions" | "microsoft.network/networkmanagerconnections" => {
                let known = self.principals.iter().find(|known| known.object == creator);
                let application = known.map(|known| known.client.clone()).unwrap_or_default();
                made["systemData"] = document!({ "createdBy": application, "createdByType": "Application", "createdAt": now() });
            }
            "microsoft.compute/virtualmachines" => properties["vmId"] = guid.into(),
            other if other.starts_with("microsoft.compute/") => properties["uniqueId"] = guid.into(),
            other if other.starts_with("microsoft.network/") => properties["resourceGuid"] = guid.into(),
            "microsoft.authorization/roleassignments" | "microsoft.authorization/roledefinitions" => {
                properties["createdBy"] = creator.into();
                properties["createdOn"] = now().into();
                properties["scope"] = id.rsplit_once("/providers/").map_or("", |(scope, _)| scope).into();
            }
            other if other.starts_with("microsoft.authorization/policy") => {
                properties["policyType"] = "Custom".into();
                properties["metadata"] = document!({ "createdBy": creator, "createdOn": now() });
            }
            "microsoft.resources/deployments" => properties["timestamp"] = now().into(),
            _ => (),
        }
        made["createdTime"] = now().into();
        self.insert(made.clone());
        made
    }

    /// What comes along: subnets that are written in their network, the disk of a machine, the watcher of a location.
    fn parts(&mut self, made: &Value) {
        let (id, location) = (text(made, "/id").to_owned(), text(made, "/location").to_owned());
        let key = id.to_lowercase();
        match type_of(&key).as_deref() {
            Some("microsoft.network/virtualnetworks") => {
                self.watch(&location);
                let subnets = made.pointer("/properties/subnets").and_then(Value::as_array).cloned();
                for mut subnet in subnets.unwrap_or_default() {
                    subnet["id"] = format!("{id}/subnets/{}", text(&subnet, "/name")).into();
                    subnet["type"] = "Microsoft.Network/virtualNetworks/subnets".into();
                    self.insert(subnet);
                }
                if let Some(network) = self.documents.get_mut(&key) {
                    network["properties"]["subnets"] = document!([]);
                }
            }
            Some("microsoft.compute/virtualmachines") => {
                let has_disk = made.pointer("/properties/storageProfile/osDisk/managedDisk/id").is_some();
                let group = group_of(&key).unwrap_or_default();
                let name = format!("{}_OsDisk", text(made, "/name"));
                let disk = format!("{group}/providers/Microsoft.Compute/disks/{name}");
                if has_disk || location.is_empty() {
                    return;
                }
                let unique = self.guid();
                self.insert(document!({
                    "id": disk, "name": name, "type": "Microsoft.Compute/disks", "location": location,
                    "sku": { "name": "Premium_LRS" }, "properties": { "provisioningState": "Succeeded", "uniqueId": unique },
                }));
                if let Some(machine) = self.documents.get_mut(&key) {
                    machine["properties"]["storageProfile"]["osDisk"]["managedDisk"] =
                        document!({ "id": disk });
                }
            }
            _ => (),
        }
    }

    /// Azure makes a watcher in each location with a network, in a group of its own.
    fn watch(&mut self, location: &str) {
        let group = format!("{}/resourceGroups/NetworkWatcherRG", self.root());
        if !self.documents.contains_key(&group.to_lowercase()) {
            self.insert(document!({
                "id": group, "name": "NetworkWatcherRG", "type": "Microsoft.Resources/resourceGroups", "location": location,
                "properties": { "provisioningState": "Succeeded" },
            }));
        }
        let name = format!("NetworkWatcher_{location}");
        self.insert(document!({
            "id": format!("{group}/providers/Microsoft.Network/networkWatchers/{name}"), "name": name,
            "type": "Microsoft.Network/networkWatchers", "location": location, "properties": { "provisioningState": "Succeeded" },
        }));
    }

    pub(super) fn post(&mut self, asked: &Asked<'_>, path: &[&str]) -> Answer {
        match path {
            ["providers", namespace, "register"] => {
                self.controls.unregistered.remove(*namespace);
                Ok(json(
                    StatusCode::OK,
                    &document!({ "namespace": namespace, "registrationState": "Registered" }),
                ))
            }
            ["providers", "microsoft.keyvault", "locations", _, _, _, "purge"] => {
                let key = format!("{}/{}", self.root(), path[..6].join("/"));
                let action = format!("Microsoft.KeyVault/locations/{}/purge/action", asked.path[4]);
                self.authorize(&asked.caller, &action, &key)?;
                let found = self.documents.get(&key).ok_or_else(|| {
                    Fault::new(
                        StatusCode::NOT_FOUND,
                        "DeletedVaultNotFound",
                        "There is no such deleted vault.",
                    )
                })?;
                if found.pointer("/properties/purgeProtectionEnabled") == Some(&Value::Bool(true)) {
                    let message =
                        "Operation \"DeletedVaultPurge\" is not allowed because purge protection is enabled.";
                    return Err(Fault::new(StatusCode::CONFLICT, "VaultPurgeNotAllowed", message));
                }
                Ok(self.begin(&asked.base, Deed::Purge(key)))
            }
            _ => Err(Fault::new(StatusCode::NOT_FOUND, "NotFound", "There is nothing here.")),
        }
    }
}
