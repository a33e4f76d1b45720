//! Lists and documents.

use super::{
    Answer, Asked,
    error::Fault,
    json,
    state::{Caller, Subscription, group_of, text, type_of},
};
use http::StatusCode;
use serde_json::{Value, json as document};

/// The locations: two with machines, a name for several, and one at the edge.
pub(super) const LOCATIONS: &[&str] = &["westeurope", "northeurope"];

const AUTHORIZATION: &str = "microsoft.authorization/";

impl Subscription {
    pub(super) fn get(&self, asked: &Asked<'_>, path: &[&str]) -> Answer {
        match path {
            [] => self.itself(&asked.caller),
            ["locations"] => Ok(self.locations(&asked.caller)),
            ["resourcegroups"] => {
                Ok(self.list(asked, |key| type_of(key).is_none() && group_of(key).is_some()))
            }
            ["resources"] => Ok(self.list(asked, |key| {
                let is_resource = group_of(key).is_some()
                    && type_of(key).is_some_and(|kind| !kind.starts_with(AUTHORIZATION));
                is_resource && self.documents.get(key).is_some_and(|found| found.get("location").is_some())
            })),
            ["providers", namespace] => Ok(self.provider(namespace)),
            ["providers", "microsoft.authorization", "permissions"] => Ok(self.permissions(&asked.caller)),
            ["providers", _, "locations", location, "usages"] => {
                self.registered(path[1])?;
                self.authorize(
                    &asked.caller,
                    &format!("{}/locations/usages/read", asked.path[1]),
                    &self.root(),
                )?;
                self.usages(path[1], location)
            }
            ["providers", "microsoft.keyvault", soft @ ("deletedvaults" | "deletedmanagedhsms")] => {
                self.registered("microsoft.keyvault")?;
                self.authorize(
                    &asked.caller,
                    &format!("Microsoft.KeyVault/{}/read", asked.path[2]),
                    &self.root(),
                )?;
                let kind = format!("microsoft.keyvault/locations/{soft}");
                Ok(self.list(asked, |key| type_of(key).as_deref() == Some(kind.as_str())))
            }
            ["resourcegroups", _] => self.one(asked, path),
            _ => self.one_or_many(asked, path),
        }
    }

    fn itself(&self, caller: &Caller) -> Answer {
        if self.roles(caller).is_empty() {
            return Err(Fault::new(
                StatusCode::NOT_FOUND,
                "SubscriptionNotFound",
                "The subscription could not be found.",
            ));
        }
        let found = document!({
            "id": self.root(), "subscriptionId": self.id, "tenantId": self.tenant, "displayName": "test", "state": "Enabled",
        });
        Ok(json(StatusCode::OK, &found))
    }

    fn locations(&self, _caller: &Caller) -> http::Response<bytes::Bytes> {
        let location = |name: &str, kind: &str, region: &str| {
            document!({
                "id": format!("{}/locations/{name}", self.root()), "name": name, "displayName": name, "type": kind,
                "metadata": { "regionType": region },
            })
        };
        let mut found: Vec<Value> =
            LOCATIONS.iter().map(|name| location(name, "Region", "Physical")).collect();
        found.extend([location("europe", "Region", "Logical"), location("edge1", "EdgeZone", "Physical")]);
        json(StatusCode::OK, &document!({ "value": found }))
    }

    /// What a provider offers: every type that anybody ever put there.
    fn provider(&self, namespace: &str) -> http::Response<bytes::Bytes> {
        let start = format!("{namespace}/");
        let types = self.documents.keys().filter_map(|key| type_of(key));
        let mut types: Vec<String> =
            types.filter_map(|kind| kind.strip_prefix(&start).map(str::to_owned)).collect();
        types.sort();
        types.dedup();
        let offered = |kind: &String| {
            document!({
                "resourceType": kind, "locations": LOCATIONS, "apiVersions": ["2026-01-01-preview", "2023-01-01", "2020-01-01"],
            })
        };
        let open = LOCATIONS.iter().filter(|location| !self.controls.closed.contains(**location));
        let usages = document!({
            "resourceType": "locations/usages", "locations": open.collect::<Vec<_>>(), "apiVersions": ["2023-01-01"],
        });
        let types: Vec<Value> = types.iter().map(offered).chain([usages]).collect();
        let state =
            if self.controls.unregistered.contains(namespace) { "NotRegistered" } else { "Registered" };
        json(
            StatusCode::OK,
            &document!({ "namespace": namespace, "registrationState": state, "resourceTypes": types }),
        )
    }

    /// The roles at the subscription, each with what it gives and takes away.
    fn permissions(&self, caller: &Caller) -> http::Response<bytes::Bytes> {
        let root = self.root();
        let at_root = self.roles(caller).iter().filter(|role| root.starts_with(&role.scope));
        let granted = at_root.map(|role| {
            document!({ "actions": role.actions, "notActions": role.not_actions, "dataActions": [], "notDataActions": [] })
        });
        json(StatusCode::OK, &document!({ "value": granted.collect::<Vec<_>>() }))
    }

    /// Refuses what a subscription is not registered for.
    pub(super) fn registered(&self, namespace: &str) -> Result<(), Fault> {
        if !self.controls.unregistered.contains(namespace) {
            return Ok(());
        }
        let message = format!("The subscription is not registered to use namespace '{namespace}'.");
        Err(Fault::new(StatusCode::CONFLICT, "MissingSubscriptionRegistration", message))
    }

    fn one_or_many(&self, asked: &Asked<'_>, path: &[&str]) -> Answer {
        let Some(at) = path.iter().rposition(|segment| *segment == "providers") else {
            return Err(Fault::new(StatusCode::NOT_FOUND, "NotFound", "There is nothing here."));
        };
        let after = &path[at + 1..];
        if after.len() % 2 == 1 {
            return self.one(asked, path);
        }
        self.registered(after[0])?;
        let kind =
            format!("{}/{}", after[0], after[1..].iter().step_by(2).copied().collect::<Vec<_>>().join("/"));
        if self.controls.retired.contains(&kind) {
            let message = format!(
                "The resource type could not be found in the namespace '{}' for api version 'x'.",
                after[0]
            );
            return Err(Fault::new(StatusCode::NOT_FOUND, "InvalidResourceType", message));
        }
        let above = format!("{}/{}", self.root(), path[..at].join("/"));
        let above = above.trim_end_matches('/').to_owned();
        let parent = format!("{}/{}/", self.root(), path[..path.len() - 1].join("/"));
        let is_authorization = kind.starts_with(AUTHORIZATION);
        if !is_authorization {
            let written: Vec<&str> = asked.path[at + 2..].iter().step_by(2).map(String::as_str).collect();
            let action = format!("{}/{}/read", asked.path[at + 1], written.join("/"));
            self.authorize(&asked.caller, &action, &above)?;
        }
        Ok(self.list(asked, |key| {
            let is_kind = type_of(key).as_deref() == Some(kind.as_str());
            let is_part = if after.len() > 2 { key.starts_with(&parent) } else { key.starts_with(&above) };
            // Whatever is inherited from above applies here, too.
            is_kind && (is_part || (is_authorization && !key.starts_with("/subscriptions/")))
        }))
    }

    fn one(&self, asked: &Asked<'_>, path: &[&str]) -> Answer {
        let key = format!("{}/{}", self.root(), path.join("/"));
        let kind =
            type_of(&key).unwrap_or_else(|| "Microsoft.Resources/subscriptions/resourceGroups".to_owned());
        self.authorize(&asked.caller, &format!("{kind}/read"), &key)?;
        let missing = || {
            let code = if type_of(&key).is_none() { "ResourceGroupNotFound" } else { "ResourceNotFound" };
            Fault::new(StatusCode::NOT_FOUND, code, format!("{key} could not be found."))
        };
        let found = self.documents.get(&key).ok_or_else(missing)?;
        Ok(json(StatusCode::OK, &self.shown(found)))
    }

    /// A page of what the caller may read; whatever else there is, nobody mentions.
    fn list(&self, asked: &Asked<'_>, is_asked: impl Fn(&str) -> bool) -> http::Response<bytes::Bytes> {
        let visible = |key: &str| {
            let kind =
                type_of(key).unwrap_or_else(|| "microsoft.resources/subscriptions/resourcegroups".to_owned());
            let scope = if key.starts_with("/subscriptions/") { key.to_owned() } else { self.root() };
            !self.controls.hidden.contains(key) && self.may(&asked.caller, &format!("{kind}/read"), &scope)
        };
        let found: Vec<Value> = self
            .documents
            .iter()
            .filter(|(key, _)| is_asked(key) && visible(key))
            .map(|(_, found)| self.shown(found))
            .collect();
        let from: usize = asked.query.get("$skiptoken").and_then(|token| token.parse().ok()).unwrap_or(0);
        let to = from.saturating_add(self.controls.page.max(1)).min(found.len());
        let page = found.get(from..to).unwrap_or_default();
        let mut body = document!({ "value": page });
        if to < found.len() {
            let mut query = form_urlencoded::Serializer::new(String::new());
            for (name, value) in asked.query.iter().filter(|(name, _)| *name != "$skiptoken") {
                query.append_pair(name, value);
            }
            query.append_pair("$skiptoken", &to.to_string());
            let path = asked.path.join("/");
            body["nextLink"] = format!("{}{}/{path}?{}", asked.base, self.root(), query.finish()).into();
        }
        json(StatusCode::OK, &body)
    }

    /// A document as it is shown: a network has its parts in it.
    fn shown(&self, found: &Value) -> Value {
        let mut shown = found.clone();
        let key = text(found, "/id").to_lowercase();
        if type_of(&key).as_deref() != Some("microsoft.network/virtualnetworks") {
            return shown;
        }
        for (kind, field) in
            [("/subnets/", "subnets"), ("/virtualnetworkpeerings/", "virtualNetworkPeerings")]
        {
            let start = format!("{key}{kind}");
            let hidden = &self.controls.hidden;
            let parts = self
                .within(&key)
                .into_iter()
                .filter(|part| part.starts_with(&start) && !hidden.contains(part));
            let parts: Vec<Value> = parts.filter_map(|part| self.documents.get(&part).cloned()).collect();
            shown["properties"][field] = Value::Array(parts);
        }
        shown
    }
}
