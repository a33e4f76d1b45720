//! What a kind of server has beyond Kubernetes itself: more kinds, checks and subresources. An aggregated API server, or
//! admission, is one.
//!
//! ```
//! use allotment_apiserver::{ApiError, ApiServer, User};
//! use allotment_apiserver::extension::{Extension, Objects, Resource, SubresourceRequest, Write};
//! use kube::{Api, Client, api::PostParams, core::{ApiResource, DynamicObject}};
//! use serde_json::{Value, from_value, json};
//!
//! struct Library;
//!
//! impl Extension for Library {
//!     fn resources(&self) -> Vec<Resource> {
//!         let schema = json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": {
//!             "pages": { "type": "integer", "minimum": 1 },
//!         } } } });
//!         Resource::new("library.example.com", "v1", "Book", "books", &schema).into_iter().collect()
//!     }
//!
//!     // It sees writes of every kind, and the other objects.
//!     fn admit(&self, write: &mut Write<'_>, objects: &Objects<'_>) -> Result<(), ApiError> {
//!         if write.resource.kind != "Book" || write.verb != "create" {
//!             return Ok(());
//!         }
//!         let shelf = write.new["metadata"]["namespace"].as_str().unwrap_or_default();
//!         match objects.list("library.example.com", "books", Some(shelf)).len() {
//!             0 => Ok(()),
//!             _ => Err(ApiError::forbidden(write.resource.group_resource(), "", "the shelf is full")),
//!         }
//!     }
//!
//!     // `kubectl get --raw …/books/first/summary`
//!     fn subresource(
//!         &self,
//!         request: &SubresourceRequest<'_>,
//!         _: &Objects<'_>,
//!     ) -> Option<Result<Value, ApiError>> {
//!         (request.subresource == "summary").then(|| Ok(json!({ "title": request.name })))
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = ApiServer::new();
//! server.with_server(|server| server.extend(Box::new(Library)));
//!
//! let client = Client::new(server.service(User::new("me", ["system:masters"])), "default");
//! let (api_version, kind) = ("library.example.com/v1", "Book");
//! let resource = ApiResource {
//!     group: "library.example.com".into(), version: "v1".into(), api_version: api_version.into(),
//!     kind: kind.into(), plural: "books".into(),
//! };
//! let books = Api::<DynamicObject>::default_namespaced_with(client.clone(), &resource);
//! let book = |name: &str| from_value(json!({
//!     "apiVersion": api_version, "kind": kind, "metadata": { "name": name }, "spec": { "pages": 100 },
//! }));
//! books.create(&PostParams::default(), &book("first")?).await?;
//! let refused = books.create(&PostParams::default(), &book("second")?).await.unwrap_err();
//! assert!(refused.to_string().contains("the shelf is full"), "{refused}");
//!
//! let path = "/apis/library.example.com/v1/namespaces/default/books/first/summary";
//! let summary: Value = client.request(http::Request::get(path).body(Vec::new())?).await?;
//! assert_eq!(summary, json!({ "title": "first" }));
//! # Ok(())
//! # }
//! ```

use crate::{
    auth::{User, rbac::Attributes},
    encode,
    error::{ApiError, FieldError},
    kinds, meta,
    resource::StorageKey,
    schema,
    server::{Call, Server},
    store::Key,
};
use jiff::Timestamp;
use serde_json::Value;

pub use crate::{
    resource::{Resource, Typed},
    table::{Column, Source},
};

/// More kinds, with their checks and subresources.
pub trait Extension: Send {
    /// The kinds that it serves. They are kept and defaulted like those of a CustomResourceDefinition.
    fn resources(&self) -> Vec<Resource>;

    /// Subresources of its own, beside the status, as discovery lists them.
    fn subresources(&self, resource: &Resource) -> Vec<Subresource> {
        let _ = resource;
        Vec::new()
    }

    /// Puts in what an object has if nobody says otherwise, or refuses what cannot be read as one. It comes before anybody is
    /// put down as the owner of a field, so that whoever creates an object owns its defaults too, as on a real server.
    fn prepare(&self, write: &mut Write<'_>) -> Result<(), ApiError> {
        let _ = write;
        Ok(())
    }

    /// Looks at a write before it is kept, and may change or refuse it. It sees writes of every kind.
    fn admit(&self, write: &mut Write<'_>, objects: &Objects<'_>) -> Result<(), ApiError>;

    /// Looks at a deletion of many objects at once before any of them goes.
    fn admit_collection(&self, resource: &Resource, chosen: &[Value]) -> Result<(), ApiError> {
        let _ = (resource, chosen);
        Ok(())
    }

    /// What is told to whoever writes an object that is accepted.
    fn warnings(&self, resource: &Resource, object: &Value) -> Vec<String> {
        let _ = (resource, object);
        Vec::new()
    }

    /// Answers a subresource of its own, or leaves it to the server.
    fn subresource(
        &self,
        request: &SubresourceRequest<'_>,
        objects: &Objects<'_>,
    ) -> Option<Result<Value, ApiError>>;
}

/// A write that is about to be kept.
#[derive(Debug)]
pub struct Write<'a> {
    /// The kind.
    pub resource: &'a Resource,
    /// `create`, `update` or `delete`.
    pub verb: &'static str,
    /// `status`, or empty for the object itself.
    pub subresource: &'a str,
    /// The object as it was.
    pub old: Option<&'a Value>,
    /// The object as it will be; for a deletion, as it is.
    pub new: &'a mut Value,
    /// Who writes.
    pub user: &'a User,
    /// When.
    pub now: Timestamp,
}

impl Write<'_> {
    /// What is wrong with the metadata. The server looks by itself after [`Extension::admit`]; an extension that has errors of
    /// its own to tell, tells these before them.
    pub fn metadata_errors(&self) -> Vec<FieldError> {
        meta::validate(self.new, self.resource)
    }

    /// What the schema of the kind has against the object. The server looks by itself after [`Extension::admit`]; an extension
    /// that says it in other words, or earlier, asks here.
    pub fn schema_errors(&self) -> Vec<FieldError> {
        schema::validate(&self.resource.schema, self.new, None)
    }
}

/// A subresource as discovery shows it.
#[derive(Clone, Debug)]
pub struct Subresource {
    /// `scale`.
    pub name: &'static str,
    /// The kind of its bodies.
    pub kind: &'static str,
    /// Group and version of that kind, if they are others than those of the object.
    pub group_version: Option<(&'static str, &'static str)>,
    /// What can be done with it.
    pub verbs: &'static [&'static str],
}

/// A request to a subresource.
#[derive(Debug)]
pub struct SubresourceRequest<'a> {
    /// The kind.
    pub resource: &'a Resource,
    /// The namespace of the object.
    pub namespace: &'a str,
    /// The name of the object.
    pub name: &'a str,
    /// Which one.
    pub subresource: &'a str,
    /// `get`, `create`, `update` or `patch`.
    pub verb: &'static str,
    /// What was sent.
    pub body: &'a [u8],
    /// Who sent it.
    pub user: &'a User,
    /// When.
    pub now: Timestamp,
}

/// The objects of a server, to read.
pub struct Objects<'a>(pub(crate) &'a Server);

impl Objects<'_> {
    /// An object.
    pub fn get(&self, group: &str, plural: &str, namespace: &str, name: &str) -> Option<Value> {
        let kind = StorageKey { group: group.to_owned(), plural: plural.to_owned() };
        let stored = self.0.store.get(&kind, &Key::new(namespace, name))?;
        encode::read(&stored.bytes).ok()
    }

    /// All objects of a kind, in one namespace or in all.
    pub fn list(&self, group: &str, plural: &str, namespace: Option<&str>) -> Vec<Value> {
        let kind = StorageKey { group: group.to_owned(), plural: plural.to_owned() };
        self.0
            .store
            .list(&kind, namespace, None)
            .filter_map(|(_, stored)| encode::read(&stored.bytes).ok())
            .collect()
    }

    /// Whether a user may do something.
    pub fn allowed(&self, user: &User, attributes: &Attributes<'_>) -> bool {
        self.0.authorize(user, attributes).is_ok()
    }
}

impl Server {
    /// What is told to whoever writes an object.
    pub(crate) fn warnings(&self, old: Option<&Value>, object: &Value, resource: &Resource) -> Vec<String> {
        let own = self.extensions.iter().flat_map(|extension| extension.warnings(resource, object));
        kinds::warnings(old, object, resource).into_iter().chain(own).collect()
    }

    /// Lets the extensions see a deletion of many objects.
    pub(crate) fn admit_collection(&self, call: &Call, chosen: &[Value]) -> Result<(), ApiError> {
        self.extensions.iter().try_for_each(|extension| extension.admit_collection(&call.resource, chosen))
    }

    /// Lets the extensions put in what is missing.
    pub(crate) fn prepare(&self, call: &Call, old: Option<&Value>, new: &mut Value) -> Result<(), ApiError> {
        let verb = if old.is_some() { "update" } else { "create" };
        self.extensions.iter().try_for_each(|extension| extension.prepare(&mut write(call, old, new, verb)))
    }

    /// Lets the extensions see a write.
    pub(crate) fn admit(
        &self,
        call: &Call,
        old: Option<&Value>,
        new: &mut Value,
        verb: &'static str,
    ) -> Result<(), ApiError> {
        self.extensions
            .iter()
            .try_for_each(|extension| extension.admit(&mut write(call, old, new, verb), &Objects(self)))
    }
}

fn write<'a>(call: &'a Call, old: Option<&'a Value>, new: &'a mut Value, verb: &'static str) -> Write<'a> {
    Write {
        resource: &call.resource,
        verb,
        subresource: &call.subresource,
        old,
        new,
        user: &call.user,
        now: call.now,
    }
}
