//! Get, list and the beginning of a watch.

use crate::{
    encode::{self, Form},
    error::{ApiError, Cause, Details, FieldError, FieldErrorKind},
    patch,
    planted::Planted,
    request::Verb,
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
                Form::Table(include) => table::of_one(stored, &call.resource, include, call.now)?,
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
        check_options(call)?;
        let (labels, fields) = selectors(call)?;
        let mut limit = call.query.number("limit")?.filter(|limit| *limit > 0);
        let (at, after) = self.list_position(call, limit)?;
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
            Ok(fields.is_empty() || fields.matches(&encode::read_as(stored, &call.resource)?))
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
    fn list_position(&self, call: &Call, limit: Option<u64>) -> Result<(At, Option<Key>), ApiError> {
        let version = call.query.get("resourceVersion").unwrap_or_default();
        if let Some(token) = call.query.get("continue").filter(|token| !token.is_empty()) {
            if !version.is_empty() && version != "0" {
                let why = "specifying resource version is not allowed when using continue";
                return Err(ApiError::bad_request(why));
            }
            let (revision, key) = read_token(token)?;
            return Ok((At::Exactly(revision), Some(key)));
        }
        let wanted = self.check_not_in_future(call)?;
        match (call.query.get("resourceVersionMatch"), wanted) {
            // A page of the past, as clients asked for it before they could say so.
            (None, Some(revision)) if limit.is_some() => Ok((At::Exactly(revision), None)),
            (Some("Exact"), Some(revision)) => Ok((At::Exactly(revision), None)),
            _ => Ok((At::Latest, None)),
        }
    }

    /// The revision that a call names, if any; one that is still to come is refused.
    fn check_not_in_future(&self, call: &Call) -> Result<Option<Revision>, ApiError> {
        let version = call.query.get("resourceVersion").unwrap_or_default();
        if version.is_empty() {
            return Ok(None);
        }
        let revision: Revision = version.parse().map_err(|_| not_a_version(version, call.verb))?;
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
        check_options(call)?;
        let (labels, fields) = selectors(call)?;
        let wanted = self.check_not_in_future(call)?;
        let initial = call.query.get("sendInitialEvents").map(|_| call.query.flag("sendInitialEvents"));
        let mut watch = Watch {
            resource: call.resource.clone(),
            namespace: (!call.namespace.is_empty()).then(|| call.namespace.clone()),
            name: (!call.name.is_empty()).then(|| call.name.clone()),
            labels,
            fields,
            form: call.form,
            seen: self.store.revision(),
            ahead: Vec::new(),
            now: call.now,
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
        FieldSelector::of(call.query.get("fieldSelector").unwrap_or_default(), &call.resource)?,
    ))
}

/// Refuses options of a list or watch that do not go together, all at once.
fn check_options(call: &Call) -> Result<(), ApiError> {
    call.query.number("timeoutSeconds")?;
    const MATCH: &str = "resourceVersionMatch";
    let option = |name: &str| call.query.get(name).unwrap_or_default();
    let (version, wanted) = (option("resourceVersion"), option(MATCH));
    let initial = call.query.get("sendInitialEvents").is_some();
    let watch = call.verb == Verb::Watch;
    let forbidden = |field: &str, why: &str| FieldError::bare(field, FieldErrorKind::Forbidden, why);
    let unsupported = |values: &str| {
        let detail = format!("supported values: {values}");
        FieldError::new(MATCH, FieldErrorKind::NotSupported, wanted, detail)
    };
    let mut errors = Vec::new();
    let mut check = |wrong: bool, error: FieldError| {
        if wrong {
            errors.push(error);
        }
    };
    if watch {
        let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        check(initial && wanted != "NotOlderThan", forbidden(MATCH, why));
        let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
        check(!wanted.is_empty() && !initial, forbidden(MATCH, why));
        check(!wanted.is_empty() && wanted != "NotOlderThan", unsupported("\"NotOlderThan\""));
    } else {
        let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
        check(!wanted.is_empty() && version.is_empty(), forbidden(MATCH, why));
        let why = "resourceVersionMatch is forbidden when continue is provided";
        check(!wanted.is_empty() && !option("continue").is_empty(), forbidden(MATCH, why));
        let known = matches!(wanted, "" | "Exact" | "NotOlderThan");
        check(!known, unsupported("\"Exact\", \"NotOlderThan\", \"\""));
        let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
        check(wanted == "Exact" && version == "0", forbidden(MATCH, why));
        check(initial, forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
    }
    match errors.is_empty() {
        true => Ok(()),
        false => Err(ApiError::invalid("meta.k8s.io", "ListOptions", "", errors)),
    }
}

/// A real server says so in one way for a list, and in another for the rest.
fn not_a_version(version: &str, verb: Verb) -> ApiError {
    let why = format!(
        "resourceVersion: Invalid value: {version:?}: strconv.ParseUint: parsing {version:?}: invalid syntax"
    );
    match verb {
        Verb::List => ApiError::bad_request(format!("invalid resource version: {why}")),
        _ => ApiError { code: 500, reason: "", message: why, details: None },
    }
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
        if let Form::Table(include) = self.call.form {
            let object = encode::read(&encode::show(stored, &self.call.resource, Form::Whole)?)?;
            let row = table::row(&object, &self.call.resource, include, self.call.now);
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
        if self.call.resource.is_untyped() && self.call.form != Form::Metadata {
            metadata["continue"] = json!("");
        }
        if self.remaining > 0
            && let Some(last) = &self.last
        {
            metadata["continue"] = json!(write_token(revision, last));
            // With a selector, the rest would have to be looked through to be counted.
            if exact {
                metadata["remainingItemCount"] = json!(self.remaining);
            }
        }
        if let Form::Table(_) = self.call.form {
            let rows = format!("[{}]", String::from_utf8_lossy(&self.items));
            let rows: Vec<Value> = serde_json::from_str(&rows).unwrap_or_default();
            return Bytes::from(table::table(&self.call.resource, metadata, rows).to_string());
        }
        let (api_version, kind) = match self.call.form {
            Form::Whole | Form::Table(_) => {
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
    let refuse = |why: &str| {
        ApiError::bad_request(format!("invalid continue token: continue key is not valid: {why}"))
    };
    let bytes =
        BASE64_URL_SAFE_NO_PAD.decode(token).map_err(|_| refuse("illegal base64 data at input byte 0"))?;
    let token = patch::read(&bytes).map_err(|why| refuse(&why))?;
    let key = |token: &Value| -> Option<(Revision, Key)> {
        Some((token["rv"].as_u64()?, Key::new(token["ns"].as_str()?, token["after"].as_str()?)))
    };
    key(&token).ok_or_else(|| refuse("incorrect encoded start resourceVersion 0 (version meta.k8s.io/v1)"))
}

fn list_too_old(after: &Option<Key>) -> ApiError {
    ApiError::expired(match after {
        Some(_) => {
            "The provided continue parameter is too old to display a consistent list result. You must start a new list without the continue parameter."
        }
        None => "The resourceVersion for the provided list is too old.",
    })
}
