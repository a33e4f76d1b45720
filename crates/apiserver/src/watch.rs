//! Watches: a place in the history of a kind, and what a client wants to see of it.
//!
//! A watch is a value. Whoever serves it asks [`Server::poll`] for what happened since the last time, and sends that
//! without holding the server.

use crate::{
    encode::{self, Form},
    error::ApiError,
    planted::Planted,
    resource::Resource,
    selector::{FieldSelector, LabelSelector},
    server::Server,
    store::{Change, ChangeKind, Revision, Stored},
    table,
};
use bytes::{BufMut, Bytes, BytesMut};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::sync::Arc;

/// A place in the history of a kind.
#[derive(Clone, Debug)]
pub struct Watch {
    pub(crate) resource: Arc<Resource>,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
    pub(crate) form: Form,
    /// Everything up to here was sent.
    pub(crate) seen: Revision,
    /// What is sent before the history goes on.
    pub(crate) ahead: Vec<Bytes>,
    /// Now, for the ages in tables.
    pub(crate) now: Timestamp,
    /// Whether the client understands bookmarks.
    pub bookmarks: bool,
    /// For how long the client wants it, in seconds.
    pub timeout_seconds: Option<u64>,
    /// Nothing comes any more.
    pub(crate) ended: bool,
}

/// What a watch has to send.
#[derive(Debug, Default)]
pub struct Frames {
    /// Events, each a line of JSON.
    pub frames: Vec<Bytes>,
    /// Whether that was the last of it.
    pub ended: bool,
}

impl Watch {
    /// Tells it the time: ages in tables are as of then.
    pub fn at(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// Whether every event of the kind is sent as it is.
    fn is_plain(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty() && self.name.is_none() && self.form == Form::Whole
    }

    /// An object in the form that the client wants.
    pub(crate) fn show(&self, stored: &Stored) -> Result<Bytes, ApiError> {
        match self.form {
            Form::Table(include) => table::of_one(stored, &self.resource, include, self.now),
            form => encode::show(stored, &self.resource, form),
        }
    }

    pub(crate) fn selects(&self, stored: &Stored, key: &crate::store::Key) -> Result<bool, ApiError> {
        if self.namespace.as_ref().is_some_and(|namespace| *key.namespace != **namespace)
            || self.name.as_ref().is_some_and(|name| *key.name != **name)
            || !self.labels.matches(&stored.labels)
        {
            return Ok(false);
        }
        Ok(self.fields.is_empty() || self.fields.matches(&encode::read_as(stored, &self.resource)?))
    }

    fn frame(&self, change: &Change) -> Result<Option<Bytes>, ApiError> {
        if self.namespace.as_ref().is_some_and(|namespace| *change.key.namespace != **namespace) {
            return Ok(None);
        }
        let word = |kind| match kind {
            ChangeKind::Added => "ADDED",
            ChangeKind::Modified => "MODIFIED",
            ChangeKind::Deleted => "DELETED",
        };
        if self.is_plain() {
            let own = self.show(&change.object)?;
            // Shared by all watchers, unless this one sees another version of the kind.
            if own.as_ptr() == change.object.bytes.as_ptr() {
                return Ok(Some(change.frame.get_or_init(|| frame(word(change.kind), &own)).clone()));
            }
            return Ok(Some(frame(word(change.kind), &own)));
        }
        let before = change
            .previous
            .as_ref()
            .map(|stored| self.selects(stored, &change.key))
            .transpose()?
            .unwrap_or(false);
        let after = change.kind != ChangeKind::Deleted && self.selects(&change.object, &change.key)?;
        let (kind, object) = match (before, after) {
            (false, false) => return Ok(None),
            (false, true) => (ChangeKind::Added, self.show(&change.object)?),
            (true, true) => (ChangeKind::Modified, self.show(&change.object)?),
            (true, false) => (ChangeKind::Deleted, self.last_seen(change)?),
        };
        Ok(Some(frame(word(kind), &object)))
    }

    /// An object that is selected no longer is shown as it was, at the revision of the change.
    fn last_seen(&self, change: &Change) -> Result<Bytes, ApiError> {
        let Some(previous) = change.previous.as_ref().filter(|_| change.kind != ChangeKind::Deleted) else {
            return self.show(&change.object);
        };
        let mut object = encode::read(&self.show(previous)?)?;
        object["metadata"]["resourceVersion"] = json!(change.revision.to_string());
        encode::object(&object)
    }
}

/// An event as a line of JSON.
pub(crate) fn frame(kind: &str, object: &[u8]) -> Bytes {
    let mut bytes = BytesMut::with_capacity(object.len() + kind.len() + 24);
    bytes.put_slice(b"{\"type\":\"");
    bytes.put_slice(kind.as_bytes());
    bytes.put_slice(b"\",\"object\":");
    bytes.put_slice(object);
    bytes.put_slice(b"}\n");
    bytes.freeze()
}

impl Server {
    /// What happened since the last time. A watch whose place is forgotten ends with an error event.
    pub fn poll(&self, watch: &mut Watch) -> Frames {
        let mut frames = Frames { frames: std::mem::take(&mut watch.ahead), ended: watch.ended };
        if watch.ended || self.lost.is_some() {
            frames.ended = true;
            return frames;
        }
        if let Err(error) = self.follow(watch, &mut frames.frames) {
            frames.frames.push(frame("ERROR", error.to_status().to_string().as_bytes()));
            watch.ended = true;
        }
        frames.ended = watch.ended;
        frames
    }

    fn follow(&self, watch: &mut Watch, frames: &mut Vec<Bytes>) -> Result<(), ApiError> {
        // The kind itself may be gone.
        if self.kinds.get(&watch.resource.group, &watch.resource.version, &watch.resource.plural).is_none() {
            watch.ended = true;
            return Ok(());
        }
        let kind = watch.resource.storage();
        let changes = self
            .store
            .changes_after(&kind, watch.seen)
            .map_err(|_| too_old(watch.seen, self.store.revision()))?;
        for change in changes {
            if self.has(Planted::DeletionNotWatched) && change.kind == ChangeKind::Deleted {
                continue;
            }
            let frame = watch.frame(change)?;
            let left = |frame: &Bytes| {
                frame.starts_with(b"{\"type\":\"DELETED\"") && change.kind != ChangeKind::Deleted
            };
            if self.has(Planted::LeavingSelectorNotTold) && frame.as_ref().is_some_and(left) {
                continue;
            }
            frames.extend(frame);
        }
        watch.seen = self.store.revision();
        Ok(())
    }

    /// The event that ends a watch whose place is forgotten.
    pub(crate) fn expire(&self, watch: &Watch) -> Bytes {
        frame("ERROR", too_old(watch.seen, self.store.revision()).to_status().to_string().as_bytes())
    }

    /// An event that says only how far the watch is.
    pub fn bookmark(&self, watch: &Watch) -> Bytes {
        bookmark(&watch.resource, watch.seen, false)
    }
}

/// A bookmark; the one that ends the initial events says so.
pub(crate) fn bookmark(resource: &Resource, revision: Revision, initial_events_end: bool) -> Bytes {
    let mut metadata = json!({ "resourceVersion": revision.to_string() });
    if initial_events_end {
        metadata["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
    }
    let object: Value =
        json!({ "kind": resource.kind, "apiVersion": resource.api_version(), "metadata": metadata });
    frame("BOOKMARK", object.to_string().as_bytes())
}

pub(crate) fn too_old(asked: Revision, now: Revision) -> ApiError {
    ApiError::expired(format!("too old resource version: {asked} ({now})"))
}
