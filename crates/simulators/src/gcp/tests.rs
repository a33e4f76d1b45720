//! The simulator itself.

use super::{GcpCloud, Setup, auth::verified};
use crate::server::Simulator;
use bytes::Bytes;
use http::{Method, Request};
use serde_json::{Value, json};

/// An assertion of google-auth with another signature, and one that nobody signed.
#[test]
fn an_assertion_without_a_good_signature_is_refused() {
    for assertion in ["", "a.b.c", "eyJhbGciOiJub25lIn0.eyJpc3MiOiJ4In0."] {
        assert!(verified(assertion).is_err(), "{assertion}");
    }
}

#[test]
fn nothing_is_shown_without_a_token() {
    let cloud = GcpCloud::new();
    let project = cloud.project(&Setup::default());
    let path = format!("/compute/v1/projects/{}/global/networks", project.id());
    for token in [None, Some("Bearer ya29.simulated-1")] {
        let mut request = Request::builder().method(Method::GET).uri(&path);
        if let Some(token) = token {
            request = request.header("authorization", token);
        }
        let reply = cloud.handle(request.body(Bytes::new()).unwrap());
        assert_eq!(reply.response.status().as_u16(), 401);
    }
}

#[test]
fn items_that_others_name_are_in_use() {
    let cloud = GcpCloud::new();
    let project = cloud.project(&Setup::default());
    let used = project.with(|project| {
        let network = super::state::Key::new("global", "networks", "default");
        let router = super::state::Key::new("regions/europe-west1", "routers", "r");
        let url = project.url(&network.path());
        project.put(router, json!({ "network": url }), None);
        project.user_of(&network).map(|user| user.collection)
    });
    // The subnetworks and the route of the network are its own, and its rules are not.
    assert_eq!(used.flatten().as_deref(), Some("firewalls"));
    let shown: Value = project.key("http://127.0.0.1:1");
    assert!(shown["token_uri"].as_str().is_some_and(|uri| uri.ends_with("/token")));
}
