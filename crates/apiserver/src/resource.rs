//! The kinds that are served.

use crate::{
    error::{FieldError, GroupResource},
    schema::{self, CompiledRules, Schema},
    table::Column,
};
use serde_json::Value;
use std::sync::Arc;

/// A kind in one version, as discovery shows it.
#[derive(Clone, Debug)]
pub struct Resource {
    /// The group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The kind of a list.
    pub list_kind: String,
    /// As in the path.
    pub plural: String,
    /// As kubectl takes it too.
    pub singular: String,
    /// As kubectl takes it too.
    pub short_names: Vec<String>,
    /// What it belongs to.
    pub categories: Vec<String>,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// Whether its status is written apart.
    pub status: bool,
    /// What its objects look like.
    pub(crate) schema: Arc<Schema>,
    /// What its objects must keep, beyond their form.
    pub(crate) rules: Option<Arc<CompiledRules>>,
    /// Paths that field selectors may use, beside name and namespace: `.spec.profile`.
    pub selectable_fields: Vec<String>,
    /// What `kubectl get` shows.
    pub columns: Vec<Column>,
    /// Its schema as OpenAPI has it, for `kubectl explain`.
    pub(crate) openapi: Option<Arc<Value>>,
    /// What it does differently.
    pub(crate) nature: Nature,
    /// What it has from its CustomResourceDefinition, if there is one.
    pub(crate) defined: Option<Defined>,
    /// What it has from a server that reads its objects into types of its own, as an extension's kinds are read.
    pub typed: Option<Arc<Typed>>,
}

/// A kind that another server would read into a type, not one that is kept as it comes.
#[derive(Clone, Debug, PartialEq)]
pub struct Typed {
    /// What is there in every object, whatever the client says: nobody owns it.
    pub zero: Value,
    /// Whether an update may leave out which version it is about.
    pub unconditional_updates: bool,
}

/// What a kind has from its CustomResourceDefinition.
#[derive(Clone, Debug, Default)]
pub(crate) struct Defined {
    /// What those are told who use this version.
    pub deprecation: Option<String>,
    /// Whether the definition is on its way out: there are no new objects.
    pub ending: bool,
    /// The version that objects are kept in, and its schema, if it is another one.
    pub kept_as: Option<(String, Arc<Schema>)>,
}

/// What a kind does differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nature {
    /// Its objects are kept as they are: ConfigMaps, ServiceAccounts, Leases, …
    Plain,
    /// Its objects are kept, and its generation counts changes of everything but metadata and status.
    Custom,
    /// Its objects are answers, and are not kept: reviews.
    Review,
}

impl Resource {
    /// A kind of an [`Extension`](crate::extension::Extension): in namespaces, without a status, shown with its name and age.
    /// What is otherwise is changed afterwards.
    ///
    /// `schema` is as `openAPIV3Schema` of a CustomResourceDefinition has it, but need not be as strict: an extension that
    /// stands for another server says what that server reads. Rules in it are compiled. The fields that every object has are
    /// added.
    ///
    /// ```
    /// use allotment_apiserver::extension::Resource;
    /// use serde_json::json;
    ///
    /// let schema = json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": {
    ///     "pages": { "type": "integer", "minimum": 1 },
    /// } } } });
    /// let mut book = Resource::new("library.example.com", "v1", "Book", "books", &schema).unwrap();
    /// book.short_names.push("bk".to_owned());
    /// book.status = true;
    /// assert_eq!(book.api_version(), "library.example.com/v1");
    /// ```
    pub fn new(
        group: &str,
        version: &str,
        kind: &str,
        plural: &str,
        schema: &Value,
    ) -> Result<Self, Vec<FieldError>> {
        let schema = Schema::of_extension(schema)?;
        let rules = CompiledRules::new(&schema)?;
        Ok(Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
            list_kind: format!("{kind}List"),
            plural: plural.to_owned(),
            singular: kind.to_ascii_lowercase(),
            short_names: Vec::new(),
            categories: Vec::new(),
            namespaced: true,
            status: false,
            schema: Arc::new(schema),
            rules: Some(Arc::new(rules)),
            selectable_fields: Vec::new(),
            columns: vec![Column::of_name(), Column::of_age()],
            openapi: None,
            nature: Nature::Custom,
            defined: None,
            typed: None,
        })
    }

    /// Group and version as objects have it.
    pub fn api_version(&self) -> String {
        match self.group.as_str() {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// The version that objects are kept in, and its schema, if it is another one.
    pub(crate) fn kept_as(&self) -> Option<&(String, Arc<Schema>)> {
        self.defined.as_ref()?.kept_as.as_ref()
    }

    /// Makes an object that was kept one of this version.
    pub(crate) fn adopt(&self, object: &mut Value) {
        object["apiVersion"] = Value::from(self.api_version());
        if self.kept_as().is_some() {
            schema::prune(&self.schema, object);
        }
    }

    /// Makes an object of this version one as it is kept.
    pub(crate) fn prepare_to_keep(&self, object: &mut Value) {
        if let Some((version, schema)) = self.kept_as() {
            object["apiVersion"] = Value::from(format!("{}/{version}", self.group));
            schema::prune(schema, object);
            schema::default(schema, object);
        }
    }

    /// Whether it came with a CustomResourceDefinition, or is served like one.
    pub(crate) fn is_custom(&self) -> bool {
        self.nature == Nature::Custom
    }

    /// Whether its objects are shown and written like those of a CustomResourceDefinition.
    pub(crate) fn is_untyped(&self) -> bool {
        self.is_custom() && self.typed.is_none()
    }

    /// As refusals name it.
    pub fn group_resource(&self) -> GroupResource<'_> {
        GroupResource { group: &self.group, resource: &self.plural }
    }

    /// Where its objects are kept: versions of a kind, and the two faces of Event, share them.
    pub(crate) fn storage(&self) -> StorageKey {
        match (self.group.as_str(), self.plural.as_str()) {
            ("events.k8s.io", "events") => StorageKey { group: String::new(), plural: "events".to_owned() },
            (group, plural) => StorageKey { group: group.to_owned(), plural: plural.to_owned() },
        }
    }
}

/// Where the objects of a kind are kept.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StorageKey {
    /// The group.
    pub group: String,
    /// The plural.
    pub plural: String,
}
