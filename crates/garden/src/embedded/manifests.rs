//! What a garden and the API server of a Shoot have from the beginning: the same as on the real landscape.
//!
//! The files are those of `landscape/manifests`, which is outside of what an image is built from; a test holds the two
//! together.

use allotment_apiserver::{Server, auth::User, server::Answer};
use bytes::Bytes;
use http::{Method, Request};
use jiff::Timestamp;
use serde_json::Value;

/// A garden: namespaces and Secrets first.
pub(super) const GARDEN: [&str; 11] = [
    include_str!("manifests/garden-core/00-namespaces.yaml"),
    include_str!("manifests/garden-core/10-secrets.yaml"),
    include_str!("manifests/garden/00-project.yaml"),
    include_str!("manifests/garden/10-controllerregistrations-providers.yaml"),
    include_str!("manifests/garden/11-controllerregistrations-nodes.yaml"),
    include_str!("manifests/garden/12-controllerregistrations-extensions.yaml"),
    include_str!("manifests/garden/20-cloudprofile-alicloud.yaml"),
    include_str!("manifests/garden/20-cloudprofile-aws.yaml"),
    include_str!("manifests/garden/20-cloudprofile-az.yaml"),
    include_str!("manifests/garden/20-cloudprofile-converged-cloud.yaml"),
    include_str!("manifests/garden/20-cloudprofile-gcp.yaml"),
];

/// The pool of accounts.
pub(super) const POOL: [&str; 1] = [include_str!("manifests/garden/30-credentialsbindings.yaml")];

/// What Gardener puts into every Shoot for its users.
pub(super) const SHOOT_ACCESS: [&str; 1] = [include_str!("manifests/shoot-access/access.yaml")];

/// Why a server did not begin with what it should.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file is not what we know.
    #[error("cannot read a manifest: {0}")]
    Manifest(String),
    /// The server does not take an object.
    #[error("cannot create {kind} {name}: {why}")]
    Refused {
        /// Its kind.
        kind: String,
        /// Its name.
        name: String,
        /// What the server said.
        why: String,
    },
}

/// Creates all objects of some files.
pub(super) fn load(server: &mut Server, files: &[&str], now: Timestamp) -> Result<(), LoadError> {
    for file in files {
        let objects: Vec<Value> =
            serde_saphyr::from_multiple(file).map_err(|error| LoadError::Manifest(error.to_string()))?;
        for object in objects {
            create(server, &object, now)?;
        }
    }
    Ok(())
}

fn create(server: &mut Server, object: &Value, now: Timestamp) -> Result<(), LoadError> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
    let refused = |why: String| LoadError::Refused { kind: kind.clone(), name: name.clone(), why };
    let root = match text(&object["apiVersion"]) {
        version if version.contains('/') => format!("/apis/{version}"),
        version => format!("/api/{version}"),
    };
    let place = match text(&object["metadata"]["namespace"]) {
        namespace if namespace.is_empty() => root,
        namespace => format!("{root}/namespaces/{namespace}"),
    };
    let request = Request::builder()
        .method(Method::POST)
        .uri(format!("{place}/{}s?fieldValidation=Strict&fieldManager=landscape", kind.to_ascii_lowercase()))
        .body(Bytes::from(object.to_string()))
        .map_err(|error| refused(error.to_string()))?;
    match server.handle(request, Some(admin()), now) {
        Answer::Now(reply) if reply.code < 300 => {
            server.do_chores(now);
            Ok(())
        }
        Answer::Now(reply) => Err(refused(String::from_utf8_lossy(&reply.body).into_owned())),
        Answer::Watch(_) => Err(refused("the server answered with a watch".to_owned())),
    }
}

/// Who set everything up.
pub(super) fn admin() -> User {
    User::new("admin", ["system:masters"])
}
