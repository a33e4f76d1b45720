//! Delete and deletecollection.

use crate::{
    body::{media_type, protobuf},
    encode,
    error::{ApiError, FieldError, FieldErrorKind, GroupResource},
    kinds, meta, patch,
    planted::Planted,
    resource::Resource,
    selector::{FieldSelector, LabelSelector},
    server::{Answer, Call, Server, success},
    store::Key,
};
use serde_json::{Value, json};

/// The finalizer that holds an owner until its dependents are gone.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer that holds an owner until its dependents have forgotten it.
pub(crate) const ORPHAN: &str = "orphan";

/// What becomes of dependents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// What a client says about a deletion.
#[derive(Clone, Debug)]
struct Options {
    propagation: Option<Propagation>,
    uid: Option<String>,
    version: Option<String>,
    dry_run: bool,
    /// As they were sent, for policies.
    sent: Value,
}

impl Options {
    fn of(call: &Call) -> Result<Self, ApiError> {
        let body: Value = match call.body.is_empty() {
            true => json!({}),
            false if media_type(call) == protobuf::MEDIA_TYPE => match protobuf::read(&call.body) {
                Ok(options) => options,
                Err(why) => return Err(ApiError::bad_request(format!("couldn't get version/kind: {why:?}"))),
            },
            false => patch::read(&call.body).map_err(|why| {
                ApiError::bad_request(format!("couldn't get version/kind; json parse error: {why}"))
            })?,
        };
        check_kind(&body)?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        // The query counts only where there is no body.
        let query = |name: &str| call.query.get(name).filter(|_| call.body.is_empty()).map(str::to_owned);
        let policy = text(&body["propagationPolicy"]).or_else(|| query("propagationPolicy"));
        let orphan =
            body["orphanDependents"].as_bool().or_else(|| query("orphanDependents").map(|v| v == "true"));
        let invalid = |error| ApiError::invalid("meta.k8s.io", "DeleteOptions", "", vec![error]);
        if policy.is_some() && orphan.is_some() {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            return Err(invalid(FieldError::new(
                "propagationPolicy",
                FieldErrorKind::Invalid,
                policy,
                detail,
            )));
        }
        let propagation = match policy.as_deref() {
            None => orphan.map(|orphan| if orphan { Propagation::Orphan } else { Propagation::Background }),
            Some("Background") => Some(Propagation::Background),
            Some("Foreground") => Some(Propagation::Foreground),
            Some("Orphan") => Some(Propagation::Orphan),
            Some(other) => {
                let detail = "supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"";
                return Err(invalid(FieldError::new(
                    "propagationPolicy",
                    FieldErrorKind::NotSupported,
                    other,
                    detail,
                )));
            }
        };
        let dry_run: Vec<String> = match body["dryRun"].as_array() {
            Some(list) => list.iter().filter_map(text).collect(),
            None => query("dryRun").into_iter().collect(),
        };
        if dry_run.iter().any(|value| value != "All") {
            let detail = "supported values: \"All\"";
            return Err(invalid(FieldError::new("dryRun", FieldErrorKind::NotSupported, dry_run, detail)));
        }
        let preconditions = &body["preconditions"];
        Ok(Self {
            propagation,
            uid: text(&preconditions["uid"]),
            version: text(&preconditions["resourceVersion"]),
            dry_run: !dry_run.is_empty(),
            sent: sent(call, body),
        })
    }
}

/// The options as a real server reads them: those of the query where there is no body.
fn sent(call: &Call, mut body: Value) -> Value {
    if !call.body.is_empty() {
        return body;
    }
    if let Some(policy) = call.query.get("propagationPolicy") {
        body["propagationPolicy"] = json!(policy);
    }
    if let Some(orphan) = call.query.get("orphanDependents") {
        body["orphanDependents"] = json!(orphan == "true");
    }
    if let Some(seconds) = call.query.get("gracePeriodSeconds").and_then(|text| text.parse::<i64>().ok()) {
        body["gracePeriodSeconds"] = json!(seconds);
    }
    if let Some(dry_run) = call.query.get("dryRun") {
        body["dryRun"] = json!([dry_run]);
    }
    body
}

/// Refuses a body that is something else.
fn check_kind(body: &Value) -> Result<(), ApiError> {
    let (version, kind) = (meta::text_at(body, "/apiVersion"), meta::text_at(body, "/kind"));
    if kind.is_empty() || kind == "DeleteOptions" {
        return Ok(());
    }
    Err(ApiError::bad_request(format!(
        "no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""
    )))
}

impl Server {
    pub(crate) fn delete(&mut self, call: &Call) -> Result<Answer, ApiError> {
        if !call.subresource.is_empty() {
            return Err(ApiError::method_not_allowed(call.resource.group_resource(), "delete"));
        }
        let options = Options::of(call)?;
        let object = encode::read(&self.stored(call)?.bytes.clone())?;
        let uid = meta::text(&object, "uid").to_owned();
        match self.delete_object(call, object, &options)? {
            Some(left) => Ok(Answer::json(200, encode::object(&left)?)),
            None => Ok(Answer::value(200, &success(&call.resource, &call.name, &uid))),
        }
    }

    /// Deletes an object, and returns it if it has to wait for somebody, or if its kind wants that.
    fn delete_object(
        &mut self,
        call: &Call,
        mut object: Value,
        options: &Options,
    ) -> Result<Option<Value>, ApiError> {
        let resource = call.resource.clone();
        check_preconditions(&object, &resource, options, self.has(Planted::DeletePreconditionIgnored))?;
        kinds::check_delete(&object, &resource)?;
        let old = object.clone();
        self.admit(call, Some(&old), &mut object, "delete")?;
        self.enforce_deletion(call, &old, &options.sent, options.dry_run)?;
        let mut finalizers = meta::finalizers(&object);
        finalizers.retain(|finalizer| match options.propagation {
            None => true,
            Some(Propagation::Background) => finalizer != FOREGROUND && finalizer != ORPHAN,
            Some(Propagation::Foreground) => finalizer != ORPHAN,
            Some(Propagation::Orphan) => finalizer != FOREGROUND,
        });
        let wanted = match options.propagation {
            Some(Propagation::Foreground) => Some(FOREGROUND),
            Some(Propagation::Orphan) => Some(ORPHAN),
            _ => None,
        };
        if let Some(wanted) = wanted.filter(|wanted| !finalizers.iter().any(|finalizer| finalizer == wanted))
        {
            finalizers.push(wanted.to_owned());
        }
        let waits = !self.has(Planted::FinalizerIgnored) && !finalizers.is_empty()
            || kinds::has_own_finalizers(&object, &resource);
        let metadata = meta::metadata(&mut object);
        match finalizers.is_empty() {
            true => drop(metadata.remove("finalizers")),
            false => drop(metadata.insert("finalizers".into(), json!(finalizers))),
        }
        if !waits {
            let gone = if options.dry_run { object } else { self.discard(&resource, object)? };
            return Ok(kinds::returns_deleted(&resource).then_some(gone));
        }
        if !meta::is_deleting(&object) {
            mark_deleted(&mut object, call);
            if kinds::has_own_finalizers(&old, &resource) {
                let generation = old["metadata"].get("generation").cloned();
                let metadata = meta::metadata(&mut object);
                metadata.remove("deletionGracePeriodSeconds");
                generation.map(|generation| metadata.insert("generation".into(), generation));
            }
            kinds::prepare_deletion(&mut object, &resource, call.now);
        }
        if options.dry_run || object == old {
            return Ok(Some(object));
        }
        self.keep(&resource, object).map(Some)
    }

    pub(crate) fn delete_collection(&mut self, call: &Call) -> Result<Answer, ApiError> {
        if !kinds::can_delete_collection(&call.resource)
            || (call.resource.namespaced && call.namespace.is_empty())
        {
            return Err(ApiError::no_such_method());
        }
        let options = Options::of(call)?;
        let labels = LabelSelector::parse(call.query.get("labelSelector").unwrap_or_default())?;
        let selector = call.query.get("fieldSelector").unwrap_or_default();
        let fields = FieldSelector::parse(selector, &call.resource.selectable_fields)?;
        let namespace = (!call.namespace.is_empty()).then_some(call.namespace.as_str());
        let mut chosen = Vec::new();
        for (_, stored) in self.store.list(&call.resource.storage(), namespace, None) {
            if labels.matches(&stored.labels)
                && (fields.is_empty() || fields.matches(&encode::read_as(stored, &call.resource)?))
            {
                chosen.push(encode::read(&stored.bytes)?);
            }
        }
        self.admit_collection(call, &chosen)?;
        let mut metadata = json!({ "resourceVersion": self.store.revision().to_string() });
        if call.resource.is_untyped() {
            metadata["continue"] = json!("");
        }
        let mut items = Vec::new();
        for object in chosen {
            let one = Call { name: meta::text(&object, "name").to_owned(), ..call.clone() };
            items.push(listed(object.clone(), &call.resource));
            self.delete_object(&one, object, &options)?;
        }
        Ok(Answer::value(
            200,
            &json!({
                "kind": call.resource.list_kind, "apiVersion": call.resource.api_version(),
                "metadata": metadata, "items": items,
            }),
        ))
    }

    /// Takes an object out of the store, and returns it as it was last.
    pub(crate) fn discard(&mut self, resource: &Resource, mut object: Value) -> Result<Value, ApiError> {
        let revision = self.store.next_revision().to_string();
        meta::metadata(&mut object).insert("resourceVersion".into(), json!(revision));
        let key = Key::new(meta::text(&object, "namespace"), meta::text(&object, "name"));
        let storage = resource.storage();
        self.store.remove(&storage, &key, encode::object(&object)?);
        self.noticed(&storage, &key, None);
        self.owner_gone(&object);
        Ok(object)
    }
}

/// Refuses a deletion that was meant for another object, or for an older one.
fn check_preconditions(
    object: &Value,
    resource: &Resource,
    options: &Options,
    lenient: bool,
) -> Result<(), ApiError> {
    let (uid, version) = (meta::text(object, "uid"), meta::text(object, "resourceVersion"));
    let name = meta::text(object, "name");
    for (what, wanted, is, happened) in [
        ("UID", &options.uid, uid, "deleted and then recreated"),
        ("ResourceVersion", &options.version, version, "modified"),
    ] {
        let Some(wanted) = wanted.as_deref().filter(|wanted| *wanted != is && !lenient) else { continue };
        // Namespaces are deleted in a way of their own; for the others a real server names the kind, not the resource.
        if kinds::has_own_finalizers(object, resource) {
            let why =
                format!("Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {is}");
            return Err(ApiError::conflict(resource.group_resource(), name, why));
        }
        let kind = GroupResource { group: &resource.group, resource: &resource.kind };
        let why = format!(
            "the {what} in the precondition ({wanted}) does not match the {what} in record ({is}). The object might have been {happened}"
        );
        return Err(ApiError::conflict(kind, name, why));
    }
    Ok(())
}

/// An object as one item of a list: kinds that are built in leave version and kind out.
fn listed(mut object: Value, resource: &Resource) -> Value {
    if let Some(fields) = object.as_object_mut().filter(|_| !resource.is_untyped()) {
        fields.remove("apiVersion");
        fields.remove("kind");
    }
    object
}

fn mark_deleted(object: &mut Value, call: &Call) {
    let generation = object["metadata"]["generation"].as_i64();
    let metadata = meta::metadata(object);
    metadata.insert("deletionTimestamp".into(), meta::time(call.now));
    metadata.insert("deletionGracePeriodSeconds".into(), json!(0));
    // What controllers see as a change of the object.
    if let Some(generation) = generation.filter(|generation| *generation > 0) {
        metadata.insert("generation".into(), json!(generation + 1));
    }
}
