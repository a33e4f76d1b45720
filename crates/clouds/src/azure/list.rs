//! Listings by rows.

use super::{
    Azure,
    call::{Call, incomplete},
    error::{AzureError, is_about_types},
    rows::{self, REMOTE, Row},
};
use crate::{Page, PageToken, Refusal};
use allotment_core::cleanup::{
    Cloud as CloudName, Item, ItemId, KindName, Place,
    attribute::{
        CLUSTER, CREATOR, LOCATION, LOCKED_BY, NETWORK, PRINCIPAL, RESOURCE_GROUP, SCOPE, STATE, TYPE,
    },
    kinds::{azure_id, table},
};
use serde_json::Value;

/// The id as Azure wrote it, to delete by.
pub(super) const PATH: &str = "path";

/// Tags whose value is the name of the cluster; the driver for disks and the controller for services set them.
const TAGS_OF_CLUSTERS: &[&str] = &["k8s-azure-cluster-name", "k8s-azure-created-by"];
/// How tags begin that machines of a Shoot have.
const TAG_OF_A_CLUSTER: &str = "kubernetes.io-cluster-";
/// How names begin that Gardener gives.
const NAME_OF_A_CLUSTER: &str = "shoot--";

impl Azure {
    pub(super) async fn list_row(&self, kind: &KindName, page: Option<&PageToken>) -> Result<Page, Refusal> {
        let row = rows::find(kind.as_str()).ok_or_else(|| unsupported(kind))?;
        if page.is_none() {
            self.settle(row).await;
        }
        let path = match page {
            Some(PageToken(path)) => path.clone(),
            None => format!("{}{}?api-version={}{}", self.subscription(), row.list, row.version, row.query),
        };
        let body = match self.read(&Place::GLOBAL, &Call::get(path, permission(row))).await {
            Ok(body) => body,
            Err(Refusal::Other { code, message }) => {
                return match self.why_absent(row, &code).await? {
                    Some(because) => Ok(Page::Absent { because }),
                    None => Err(Refusal::Other { code, message }),
                };
            }
            // The path of a list is never gone: nobody knows what it would have shown.
            Err(Refusal::Gone) => {
                let message = format!("{} was not found", row.list);
                return Err(Refusal::Other { code: "HTTP404".to_owned(), message });
            }
            Err(refusal) => return Err(refusal),
        };
        let values = body.get("value").and_then(Value::as_array).ok_or_else(|| incomplete(row.list))?;
        let mut items = Vec::new();
        for value in values {
            items.extend(self.items(row, value)?);
        }
        let items = self.with_creator(items).await?;
        let next = self.next(&body)?.map(PageToken);
        if next.is_none() {
            self.sees_all().await?;
        }
        Ok(Page::Items { items, next })
    }

    /// Why the account cannot have a kind, if that is what a refusal says. A type that is not found may only not be found in
    /// this version of the API: then its provider still names it.
    async fn why_absent(&self, row: &Row, code: &str) -> Result<Option<String>, Refusal> {
        if let Some(because) = AzureError::absence(code) {
            return Ok(Some(because.to_owned()));
        }
        let listed = row.list.strip_prefix("/providers/").and_then(|path| path.split_once('/'));
        let (Some((namespace, kind)), true) = (listed, is_about_types(code)) else { return Ok(None) };
        let is_offered = self.offer(namespace, kind).await?.is_some();
        Ok((!is_offered).then(|| format!("{namespace} has no {kind} in this cloud of Azure")))
    }

    /// Some services name the application of a service principal where others name the principal.
    async fn with_creator(&self, items: Vec<Item>) -> Result<Vec<Item>, Refusal> {
        let principal = &self.session().await?.principal;
        let is_ours = |item: &Item| {
            item.attribute(CREATOR).is_some_and(|by| by.eq_ignore_ascii_case(&self.credentials.client))
        };
        let named = |item: Item| if is_ours(&item) { item.with(CREATOR, principal.as_str()) } else { item };
        Ok(items.into_iter().map(named).collect())
    }

    fn items(&self, row: &Row, value: &Value) -> Result<Vec<Item>, Refusal> {
        if row.within.is_empty() {
            let is_other = row.kind == "Resource" && rows::has_own_row(&lower(value, "/type"));
            return if is_other { Ok(Vec::new()) } else { Ok(vec![self.item(row, value)?]) };
        }
        let parent = self.item(row, value)?;
        if value.get("properties").is_none() {
            return Err(incomplete(row.list));
        }
        let children = value.pointer(row.within).and_then(Value::as_array).map(Vec::as_slice);
        let child = |value: &Value| {
            let mut item = self.item(row, value)?.with(NETWORK, parent.id.as_str());
            for (name, value) in &parent.attributes {
                if name == LOCATION {
                    item = item.with(name, value.as_str());
                }
            }
            Ok(item)
        };
        children.unwrap_or_default().iter().map(child).collect()
    }

    pub(super) fn item(&self, row: &Row, value: &Value) -> Result<Item, Refusal> {
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let path = text("/id");
        if !path.starts_with('/') {
            return Err(incomplete(row.list));
        }
        let is_own = self.is_own(path);
        // Whatever is above the subscription has no id in it.
        let id = if is_own { azure_id(path) } else { None };
        let id = id.unwrap_or_else(|| path.trim_start_matches('/').to_lowercase());
        let group = id.strip_prefix("resourcegroups/").and_then(|rest| rest.split('/').next());
        let group =
            group.filter(|_| row.kind != "ResourceGroup").map(|group| format!("resourcegroups/{group}"));
        let scope = match (is_own, &group) {
            (false, _) => "above",
            (true, Some(_)) => "below",
            (true, None) => "account",
        };
        let mut item = Item::new(KindName::of(row.kind), Place::GLOBAL, ItemId::new(id))
            .with(PATH, path)
            .with(SCOPE, scope)
            .with(RESOURCE_GROUP, group.unwrap_or_default())
            .with(LOCATION, lower(value, "/location").replace(' ', ""))
            .with(STATE, text("/properties/provisioningState"));
        for (name, pointer) in row.attributes {
            item = item.with(name, normal(name, text(pointer)));
        }
        if row.kind.starts_with("Deleted") {
            let is_protected =
                value.pointer("/properties/purgeProtectionEnabled") == Some(&Value::Bool(true));
            let location = lower(value, "/properties/location").replace(' ', "");
            item = item
                .with(LOCATION, location)
                .with(LOCKED_BY, if is_protected { "purgeProtection" } else { "" });
        }
        item.name = Some(text("/name").to_owned()).filter(|name| !name.is_empty());
        item.incarnation = Some(text(row.incarnation).to_owned())
            .filter(|incarnation| !row.incarnation.is_empty() && !incarnation.is_empty());
        let cluster = cluster(value).unwrap_or_default();
        Ok(item.with(CLUSTER, cluster))
    }

    /// Whether an id is in our subscription.
    pub(super) fn is_own(&self, path: &str) -> bool {
        let mut segments = path.split('/');
        let own = &self.credentials.subscription;
        segments.next() == Some("")
            && segments.next().is_some_and(|word| word.eq_ignore_ascii_case("subscriptions"))
            && segments.next().is_some_and(|id| id.eq_ignore_ascii_case(own))
    }
}

/// Attributes that are compared: ids and types in the form in which they are, principals in lower case.
fn normal(name: &str, text: &str) -> String {
    match name {
        TYPE | PRINCIPAL | CREATOR => text.to_lowercase(),
        REMOTE => azure_id(text).unwrap_or_default(),
        _ => text.to_owned(),
    }
}

fn lower(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_lowercase()
}

/// The cluster that made an item, by its tags or its name. A peering is known by the network at its other end.
fn cluster(value: &Value) -> Option<String> {
    let tags = value.get("tags").and_then(Value::as_object);
    let tagged = tags.into_iter().flatten().find_map(|(name, value)| {
        if TAGS_OF_CLUSTERS.contains(&name.as_str()) {
            return value.as_str().map(str::to_owned);
        }
        name.strip_prefix(TAG_OF_A_CLUSTER).map(str::to_owned)
    });
    let name = value.get("name").and_then(Value::as_str);
    let named = || name.filter(|name| name.starts_with(NAME_OF_A_CLUSTER)).map(str::to_owned);
    let peered = || {
        let remote = azure_id(value.pointer("/properties/remoteVirtualNetwork/id")?.as_str()?)?;
        let group = remote.strip_prefix("resourcegroups/")?.split('/').next()?;
        group.starts_with(NAME_OF_A_CLUSTER).then(|| group.to_owned())
    };
    tagged.filter(|cluster| !cluster.is_empty()).or_else(named).or_else(peered)
}

/// The permission that a listing needs.
pub(super) fn permission(row: &Row) -> &'static str {
    let kind = table(CloudName::Azure).kind(row.kind);
    kind.and_then(|kind| kind.list.first()).copied().unwrap_or_default()
}

pub(super) fn unsupported(kind: &KindName) -> Refusal {
    Refusal::Other {
        code: "UnsupportedKind".to_owned(),
        message: format!("the client for Azure has no row for {kind}"),
    }
}
