//! Any bytes as requests: `METHOD path content-type`, the body below, `---` between two of them.

use crate::{
    Server,
    auth::User,
    server::{Answer, Entropy},
};
use bytes::Bytes;
use http::Request;
use jiff::Timestamp;
use serde_json::Value;

thread_local! {
    /// Made once: it takes far longer than what is looked at.
    static FRESH: Server = Server::new(entropy(), Timestamp::UNIX_EPOCH);
}

/// The same bytes each time.
fn entropy() -> Entropy {
    let mut count = 0_u8;
    Box::new(move |bytes: &mut [u8]| {
        count = count.wrapping_add(1);
        bytes.fill(count);
    })
}

impl Server {
    /// Another one that has what this one has, and goes its own way.
    fn another(&self) -> Self {
        Self {
            store: self.store.clone(),
            kinds: self.kinds.clone(),
            rbac: self.rbac.clone(),
            tokens: self.tokens.clone(),
            chores: self.chores.clone(),
            policies: self.policies.clone(),
            warned: Vec::new(),
            extensions: Vec::new(),
            entropy: entropy(),
            root_ca: self.root_ca.clone(),
            state: None,
            lost: None,
            #[cfg(feature = "planted")]
            planted: None,
        }
    }
}

/// Sends them, and says how many were taken.
pub fn examine(bytes: &[u8]) -> usize {
    let mut server = FRESH.with(Server::another);
    let mut taken = 0;
    for request in split(bytes) {
        let before = server.revision();
        taken += usize::from(send(&mut server, request).is_some_and(|code| code < 300));
        assert!(server.revision() >= before, "time does not go back");
    }
    for path in ["/version", "/api/v1/namespaces", "/apis", "/openapi/v3"] {
        assert_eq!(send(&mut server, format!("GET {path}").as_bytes()), Some(200), "{path}");
    }
    taken
}

fn split(bytes: &[u8]) -> Vec<&[u8]> {
    const BETWEEN: &[u8] = b"\n---\n";
    let mut parts = Vec::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(BETWEEN.len()).position(|window| window == BETWEEN) {
        parts.push(&rest[..at]);
        rest = &rest[at + BETWEEN.len()..];
    }
    parts.push(rest);
    parts
}

/// The code of the answer; none for what HTTP itself would not let through.
fn send(server: &mut Server, request: &[u8]) -> Option<u16> {
    let at = request.iter().position(|byte| *byte == b'\n').unwrap_or(request.len());
    let head = std::str::from_utf8(&request[..at]).ok()?;
    let body = request.get(at + 1..).unwrap_or_default();
    let mut words = head.split(' ');
    let request = Request::builder()
        .method(words.next()?)
        .uri(words.next()?)
        .header("content-type", words.next().unwrap_or_default())
        .header("accept", words.next().unwrap_or("application/json"))
        .body(Bytes::copy_from_slice(body))
        .ok()?;
    let answer = server.handle(request, Some(User::new("me", ["system:masters"])), Timestamp::UNIX_EPOCH);
    server.do_chores(Timestamp::UNIX_EPOCH);
    match answer {
        Answer::Now(reply) => {
            assert!((200..600).contains(&reply.code), "{}", reply.code);
            if reply.content_type == "application/json" && !reply.body.is_empty() {
                let body: Value = serde_json::from_slice(&reply.body).unwrap();
                assert!(body.is_object(), "{body}");
            }
            Some(reply.code)
        }
        Answer::Watch(mut watch) => {
            server.poll(&mut watch);
            Some(200)
        }
    }
}
