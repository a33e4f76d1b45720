//! Get, list and the beginning of a watch.

use crate::{
    encode::{self, Form},
    error::{ApiError, Cause, Details},
    planted::Planted,
    selector::{FieldSelector, LabelSelector},
    server::{Answer, Call, Server},
    store::{Compacted, Key, Revision, Stored},
    table,
    watch::{self, Watch},
};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use bytes::{BufMut, Bytes, BytesMut};
use serde_json::{Value, json};
use std::sync::Arc;

/// How a list stands to a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Latest,
    Exactly(Revision),
}

impl Server {
    pub(crate) fn get(&self, call: &Call) -> Result<Answer, ApiError> {
        self.check_not_in_future(call)?;
        let stored = self.stored(call)?;
        Ok(Answer::json(
            200,
            match call.form {
                Form::Table => table::of_one(stored, &call.resource, call.now)?,
                form => encode::show(stored, &call.resource, form)?,
            },
        ))
    }

    /// The object that a call is about.
    pub(crate) fn stored(&self, call: &Call) -> Result<&Arc<Stored>, ApiError> {
        let key = Key::new(&call.namespace, &call.name);
        self.store
            .get(&call.resource.storage(), &key)
            .ok_or_else(|| ApiError::not_found(call.resource.group_resource(), &call.name))
    }

    pub(crate) fn list(&self, call: &Call) -> Result<Answer, ApiError> {
        let (labels, fields) = selectors(call)?;
        let mut limit = call.query.number("limit")?.filter(|limit| *limit > 0);
        let (at, after) = self.list_position(call)?;
        // A list of exactly one needs no pages.
        if fields.name().is_some() {
            limit = None;
        }
        let namespace = (!call.namespace.is_empty()).then_some(call.namespace.as_str());
        let selected = |key: &Key, stored: &Stored| -> Result<bool, ApiError> {
            let placed = namespace.is_none_or(|namespace| *key.namespace == *namespace);
            if !placed || !labels.matches(&stored.labels) && !self.has(Planted::LabelSelectorIgnored) {
                return Ok(false);
            }
            Ok(fields.is_empty() || fields.matches(&encode::read(&stored.bytes)?))
        };
        let mut page = Page { call, limit, items: BytesMut::new(), count: 0, last: None, remaining: 0 };
        let kind = call.resource.storage();
        let repeats = self.has(Planted::PageRepeatsLast);
        match at {
            At::Latest => {
                for (key, stored) in self.store.list(&kind, namespace, after.as_ref()) {
                    if selected(key, stored)?
                        && !page.take(key, stored)?
                        && !(labels.is_empty() && fields.is_empty())
                    {
                        break;
                    }
                }
            }
            At::Exactly(revision) => {
                let objects =
                    self.store.list_at(&kind, revision).map_err(|Compacted| list_too_old(&after))?;
                for (key, stored) in objects.iter().filter(|(key, _)| {
                    after.as_ref().is_none_or(|after| *key > after || repeats && *key == after)
                }) {
                    if selected(key, stored)?
                        && !page.take(key, stored)?
                        && !(labels.is_empty() && fields.is_empty())
                    {
                        break;
                    }
                }
            }
        }
        let revision = match at {
            At::Latest => self.store.revision(),
            At::Exactly(revision) => revision,
        };
        let exact = labels.is_empty() && fields.is_empty();
        Ok(Answer::json(200, page.finish(revision, exact)))
    }

    /// Where a list begins: at which revision, and after which object.
    fn list_position(&self, call: &Call) -> Result<(At, Option<Key>), ApiError> {
        let wanted = self.check_not_in_future(call)?;
        if let Some(token) = call.query.get("continue") {
            let (revision, key) = read_token(token)?;
            return Ok((At::Exactly(revision), Some(key)));
        }
        match (call.query.get("resourceVersionMatch"), wanted) {
            (Some("Exact"), Some(revision)) => Ok((At::Exactly(revision), None)),
            (Some("NotOlderThan") | None, _) => Ok((At::Latest, None)),
            (Some("Exact"), None) => {
                Err(forbidden_match("resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""))
            }
            (Some(other), _) => Err(ApiError::invalid(
                "meta.k8s.io",
                "ListOptions",
                "",
                vec![crate::error::FieldError::new(
                    "resourceVersionMatch",
                    crate::error::FieldErrorKind::NotSupported,
                    other,
                    "supported values: \"Exact\", \"NotOlderThan\", \"\"",
                )],
            )),
        }
    }

    /// The revision that a call names, if any; one that is still to come is refused.
    fn check_not_in_future(&self, call: &Call) -> Result<Option<Revision>, ApiError> {
        let version = call.query.get("resourceVersion").unwrap_or_default();
        if version.is_empty() {
            if call.query.get("resourceVersionMatch").is_some()
                && call.query.get("sendInitialEvents").is_none()
            {
                return Err(forbidden_match(
                    "resourceVersionMatch is forbidden unless resourceVersion is provided",
                ));
            }
            return Ok(None);
        }
        let revision: Revision = version.parse().map_err(|_| {
            let error = crate::error::FieldError::new(
                "resourceVersion",
                crate::error::FieldErrorKind::Invalid,
                version,
                format!("strconv.ParseUint: parsing {version:?}: invalid syntax"),
            );
            ApiError::invalid("meta.k8s.io", "ListOptions", "", vec![error])
        })?;
        if revision == 0 {
            return Ok(None);
        }
        let now = self.store.revision();
        if revision > now {
            let mut error =
                ApiError::timeout(format!("Too large resource version: {revision}, current: {now}"));
            error.details = Some(Box::new(Details {
                causes: vec![Cause {
                    reason: "ResourceVersionTooLarge",
                    message: "Too large resource version".to_owned(),
                    field: String::new(),
                }],
                retry_after_seconds: Some(1),
                ..Details::default()
            }));
            return Err(error);
        }
        Ok(Some(revision))
    }

    pub(crate) fn start_watch(&self, call: &Call) -> Result<Answer, ApiError> {
        let (labels, fields) = selectors(call)?;
        let wanted = self.check_not_in_future(call)?;
        let initial = call.query.get("sendInitialEvents").map(|_| call.query.flag("sendInitialEvents"));
        if initial.is_some() && call.query.get("resourceVersionMatch") != Some("NotOlderThan") {
            return Err(forbidden_match(
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            ));
        }
        let mut watch = Watch {
            resource: call.resource.clone(),
            namespace: (!call.namespace.is_empty()).then(|| call.namespace.clone()),
            name: (!call.name.is_empty()).then(|| call.name.clone()),
            labels,
            fields,
            form: call.form,
            seen: self.store.revision(),
            ahead: Vec::new(),
            started: call.now,
            bookmarks: call.query.flag("allowWatchBookmarks"),
            timeout_seconds: call.query.number("timeoutSeconds")?,
            ended: false,
        };
        match (initial, wanted) {
            (Some(true), _) | (None, None) => {
                self.put_state_ahead(&mut watch)?;
                if initial == Some(true) && watch.bookmarks {
                    let place = if self.has(Planted::BookmarkTooEarly) { 0 } else { watch.ahead.len() };
                    watch.ahead.insert(place, watch::bookmark(&watch.resource, watch.seen, true));
                }
            }
            (Some(false), None) => {}
            (_, Some(revision)) => {
                watch.seen = revision;
                if self.has(Planted::ExpiredWatchGoesOn) {
                    watch.seen = self.store.revision();
                } else if self.store.changes_after(&watch.resource.storage(), revision).is_err() {
                    let error = watch::too_old(revision, self.store.revision());
                    watch.ahead.push(watch::frame("ERROR", error.to_status().to_string().as_bytes()));
                    watch.ended = true;
                }
            }
        }
        Ok(Answer::Watch(Box::new(watch)))
    }

    /// What is there already is told as if it had just been added.
    fn put_state_ahead(&self, watch: &mut Watch) -> Result<(), ApiError> {
        let mut ahead = Vec::new();
        for (key, stored) in self.store.list(&watch.resource.storage(), watch.namespace.as_deref(), None) {
            if watch.selects(stored, key)? {
                ahead.push(watch::frame("ADDED", &watch.show(stored)?));
            }
        }
        watch.ahead = ahead;
        Ok(())
    }
}

fn selectors(call: &Call) -> Result<(LabelSelector, FieldSelector), ApiError> {
    Ok((
        LabelSelector::parse(call.query.get("labelSelector").unwrap_or_default())?,
        FieldSelector::parse(
            call.query.get("fieldSelector").unwrap_or_default(),
            &call.resource.selectable_fields,
        )?,
    ))
}

fn forbidden_match(detail: &str) -> ApiError {
    let error = crate::error::FieldError::bare(
        "resourceVersionMatch",
        crate::error::FieldErrorKind::Forbidden,
        detail,
    );
    ApiError::invalid("meta.k8s.io", "ListOptions", "", vec![error])
}

/// A list as it is put together.
struct Page<'a> {
    call: &'a Call,
    limit: Option<u64>,
    items: BytesMut,
    count: u64,
    last: Option<Key>,
    remaining: u64,
}

impl Page<'_> {
    /// Takes one object, and says whether there is room for it.
    fn take(&mut self, key: &Key, stored: &Stored) -> Result<bool, ApiError> {
        if self.limit.is_some_and(|limit| self.count >= limit) {
            self.remaining += 1;
            return Ok(false);
        }
        if self.count > 0 {
            self.items.put_u8(b',');
        }
        if self.call.form == Form::Table {
            let object = encode::read(&encode::show(stored, &self.call.resource, Form::Whole)?)?;
            let row = table::row(&object, &self.call.resource, self.call.now);
            self.items.put_slice(row.to_string().as_bytes());
        } else {
            self.items.put_slice(&encode::item(stored, &self.call.resource, self.call.form)?);
        }
        self.count += 1;
        self.last = Some(key.clone());
        Ok(true)
    }

    fn finish(self, revision: Revision, exact: bool) -> Bytes {
        let mut metadata = json!({ "resourceVersion": revision.to_string() });
        if self.remaining > 0
            && let Some(last) = &self.last
        {
            metadata["continue"] = json!(write_token(revision, last));
            // With a selector, the rest would have to be looked through to be counted.
            if exact {
                metadata["remainingItemCount"] = json!(self.remaining);
            }
        }
        if self.call.form == Form::Table {
            let rows = format!("[{}]", String::from_utf8_lossy(&self.items));
            let rows: Vec<Value> = serde_json::from_str(&rows).unwrap_or_default();
            return Bytes::from(table::table(&self.call.resource, metadata, rows).to_string());
        }
        let (api_version, kind) = match self.call.form {
            Form::Whole | Form::Table => {
                (self.call.resource.api_version(), self.call.resource.list_kind.clone())
            }
            Form::Metadata => ("meta.k8s.io/v1".to_owned(), "PartialObjectMetadataList".to_owned()),
        };
        let head = format!(
            "{{\"kind\":{},\"apiVersion\":{},\"metadata\":{metadata},\"items\":[",
            Value::from(kind),
            Value::from(api_version)
        );
        let mut bytes = BytesMut::with_capacity(head.len() + self.items.len() + 2);
        bytes.put_slice(head.as_bytes());
        bytes.put_slice(&self.items);
        bytes.put_slice(b"]}");
        bytes.freeze()
    }
}

fn write_token(revision: Revision, last: &Key) -> String {
    let token = json!({ "v": "meta.k8s.io/v1", "rv": revision, "ns": last.namespace, "after": last.name });
    BASE64_URL_SAFE_NO_PAD.encode(token.to_string())
}

fn read_token(token: &str) -> Result<(Revision, Key), ApiError> {
    let parse = || -> Option<(Revision, Key)> {
        let token: Value = serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
        Some((token["rv"].as_u64()?, Key::new(token["ns"].as_str()?, token["after"].as_str()?)))
    };
    parse().ok_or_else(|| ApiError::bad_request("invalid continue token: continue key is not valid"))
}

fn list_too_old(after: &Option<Key>) -> ApiError {
    ApiError::expired(match after {
        Some(_) => {
            "The provided continue parameter is too old to display a consistent list result. You must start a new list without the continue parameter."
        }
        None => "The resourceVersion for the provided list is too old.",
    })
}
