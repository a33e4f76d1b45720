//! Deletions by rows.

use super::{
    Azure,
    call::{Call, encode, encode_path, incomplete},
    list::{PATH, unsupported},
    operation::Former,
    rows::{self, End, RESOURCES, Row},
};
use crate::Refusal;
use allotment_core::cleanup::{
    Cloud as CloudName, Item, Place,
    attribute::TYPE,
    kinds::{azure_id, table},
};
use http::Method;
use serde_json::Value;
use std::time::Duration;

impl Azure {
    pub(super) async fn delete_row(&self, item: &Item) -> Result<(), Refusal> {
        let row = rows::find(item.kind.as_str()).ok_or_else(|| unsupported(&item.kind))?;
        let path = self.path_to(item)?;
        // An operation that failed since the last pass is begun again, and its reason is told.
        let former = match self.former(row, item.id.as_str()).await {
            Former::Running => return Ok(()),
            Former::Failed(refusal) => Err(refusal),
            Former::None => Ok(()),
        };
        let answer = match self.begin(row, item, &path).await {
            Ok(()) | Err(Refusal::Gone) => former,
            Err(refusal) => Err(refusal),
        };
        match answer {
            Err(refusal) => Err(self.named(row, item, refusal).await),
            Ok(()) => Ok(()),
        }
    }

    async fn begin(&self, row: &'static Row, item: &Item, path: &str) -> Result<(), Refusal> {
        let permission = permission(row);
        let path = encode_path(path);
        let (method, path) = match row.end {
            End::Delete(query) | End::Begin(query) => {
                (Method::DELETE, format!("{path}?api-version={}{query}", row.version))
            }
            End::OfItsType => {
                (Method::DELETE, format!("{path}?api-version={}", self.version_of(item).await?))
            }
            End::Purge => (Method::POST, format!("{path}/purge?api-version={}", row.version)),
        };
        let call = Call { method, path, permission, item: item.id.as_str() };
        let response = self.call(&Place::GLOBAL, &call).await?;
        let Some(operation) = self.begun(&response, permission)? else { return Ok(()) };
        let most = if matches!(row.end, End::Begin(_)) { Duration::ZERO } else { self.patience };
        self.finish(row, item, operation, most).await
    }

    /// The path of an item, which has to be in our subscription and lead nowhere else.
    fn path_to(&self, item: &Item) -> Result<String, Refusal> {
        let path = item.attribute(PATH).unwrap_or_default();
        let is_plain = |segment: &str| !segment.is_empty() && segment != "." && segment != "..";
        let is_whole = path.split('/').skip(1).all(is_plain) && path.split('/').count() > 3;
        if self.is_own(path) && is_whole && azure_id(path).as_deref() == Some(item.id.as_str()) {
            return Ok(path.to_owned());
        }
        let message = "its id is not in the subscription".to_owned();
        Err(Refusal::Other { code: "ForeignId".to_owned(), message })
    }

    /// The newest version of the API for the type of an item that is no preview, if there is one.
    async fn version_of(&self, item: &Item) -> Result<String, Refusal> {
        let kind = item.attribute(TYPE).unwrap_or_default();
        let (namespace, name) = kind.split_once('/').ok_or_else(|| incomplete("the type of a resource"))?;
        let offer = self.offer(namespace, name).await?.unwrap_or_default();
        let versions = offer.get("apiVersions").and_then(Value::as_array);
        let versions = || versions.into_iter().flatten().filter_map(Value::as_str);
        let stable = versions().find(|version| !version.contains("preview"));
        stable.or_else(|| versions().next()).map(str::to_owned).ok_or_else(|| Refusal::Other {
            code: "UnknownResourceType".to_owned(),
            message: format!("no resource provider has the type {kind}"),
        })
    }

    /// The description of a type by its provider: versions of the API, and locations. None if it does not have the type.
    pub(super) async fn offer(&self, namespace: &str, kind: &str) -> Result<Option<Value>, Refusal> {
        let path = format!("{}/providers/{}?api-version={RESOURCES}", self.subscription(), encode(namespace));
        let call = Call::get(path, "Microsoft.Resources/subscriptions/providers/read");
        let body = match self.read(&Place::GLOBAL, &call).await {
            Err(Refusal::Gone) => return Ok(None),
            answer => answer?,
        };
        let types = body.get("resourceTypes").and_then(Value::as_array);
        let types =
            types.filter(|types| !types.is_empty()).ok_or_else(|| incomplete("a resource provider"))?;
        let is_it = |offered: &&Value| {
            offered
                .get("resourceType")
                .and_then(Value::as_str)
                .is_some_and(|it| it.eq_ignore_ascii_case(kind))
        };
        Ok(types.iter().find(is_it).cloned())
    }

    /// The refusal with the locks in the way: Azure names what is locked, and not by which lock. A lock that the credentials
    /// may not remove is a lock, and no missing permission that could be assumed away.
    async fn named(&self, row: &Row, item: &Item, refusal: Refusal) -> Refusal {
        match refusal {
            Refusal::Denied { code, action } if row.kind == "Lock" => Refusal::Locked {
                code,
                by: format!("lock {}, and {action} is not granted", item.id.as_str()),
            },
            Refusal::Locked { code, by } if code == "ScopeLocked" => {
                let locks = self.locks_on(item.id.as_str()).await;
                Refusal::Locked { code, by: if locks.is_empty() { by } else { locks.join(", ") } }
            }
            other => other,
        }
    }

    /// The locks on an item, on what it is in, and on what is in it. Without an answer the refusal is as good as it came.
    async fn locks_on(&self, id: &str) -> Vec<String> {
        let Some(row) = rows::find("Lock") else { return Vec::new() };
        let path = format!("{}{}?api-version={}", self.subscription(), row.list, row.version);
        let found = self.read_all(&Place::GLOBAL, Call::get(path, super::list::permission(row))).await;
        let of = |lock: &Value| azure_id(lock.get("id")?.as_str()?);
        let is_in_the_way = |lock: &String| {
            // A lock's id begins with what it is on.
            let (on, _) = lock.rsplit_once("providers/microsoft.authorization/locks/").unwrap_or((lock, ""));
            let (on, id) = (on.to_owned(), format!("{id}/"));
            on.starts_with(&id) || id.starts_with(&on)
        };
        let locks = found.unwrap_or_default();
        locks.iter().filter_map(of).filter(is_in_the_way).take(3).map(|lock| format!("lock {lock}")).collect()
    }
}

/// The permission that a deletion needs.
pub(super) fn permission(row: &Row) -> &'static str {
    let kind = table(CloudName::Azure).kind(row.kind);
    kind.and_then(|kind| kind.delete.first()).copied().unwrap_or_default()
}
