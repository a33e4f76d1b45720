//! How the client of OpenStack behaves towards servers that refuse, and that no secret leaves it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

use allotment_clouds::{
    Cloud, Page, Refusal,
    credentials::{OpenStackCredentials, OpenStackLogin},
    http::{RateLimiter, Rates},
    openstack::{OpenStack, OpenStackConfig},
};
use allotment_core::cleanup::{Count, CountName, Item, ItemId, KindName, Place};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

const PASSWORD: &str = "correct-horse-battery-staple";
const TOKENS: [&str; 3] = ["gAAAAfirst", "gAAAAsecond", "gAAAAthird"];
const PLACE: Place = Place::of("R1");

type Requests = Arc<Mutex<Vec<String>>>;

/// The server's answer to a request, and its status.
type Script = Arc<dyn Fn(&str) -> (u16, Value) + Send + Sync>;

/// Keystone and all services on one port. Each login gives the next token; everything else is answered by the script.
async fn server(script: Script) -> (String, Requests) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (requests, base) = (Requests::default(), url.clone());
    let seen = Arc::clone(&requests);
    tokio::spawn(async move {
        let mut logins = 0;
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 16 * 1024];
            let length = socket.read(&mut request).await.unwrap();
            let request = String::from_utf8_lossy(&request[..length]).into_owned();
            let (mut status, mut body) = script(&request);
            let mut token = "";
            if request.starts_with("POST /v3/auth/tokens") && status == 200 {
                (status, body, token) = (201, login(&base), TOKENS[logins.min(2)]);
                logins += 1;
            }
            seen.lock().unwrap().push(request);
            let body = body.to_string();
            let answer = format!(
                "HTTP/1.1 {status} X\r\nx-subject-token: {token}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            socket.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    (url, requests)
}

fn login(base: &str) -> Value {
    let endpoints = json!([{ "region_id": "R1", "interface": "public", "url": base }]);
    let catalog: Vec<Value> = ["compute", "network", "block-storage", "identity"]
        .iter()
        .map(|service| json!({ "type": service, "endpoints": endpoints }))
        .collect();
    json!({ "token": { "project": { "id": "p1" }, "user": { "id": "u1" }, "catalog": catalog } })
}

fn client(url: &str) -> OpenStack {
    let credentials = OpenStackCredentials {
        domain: "d".to_owned(),
        project: "p".to_owned(),
        login: OpenStackLogin::Password { username: "u".to_owned(), password: PASSWORD.into() },
        auth_url: Some(url.to_owned()),
        ca_cert: None,
        insecure: false,
    };
    let limiter = Arc::new(RateLimiter::new(Rates { reads: 1000.0, writes: 1000.0 }));
    OpenStack::new(OpenStackConfig { credentials, auth_url: None, limiter, name: "test".to_owned() }).unwrap()
}

fn token_of(request: &str) -> Option<&str> {
    request.lines().find_map(|line| line.strip_prefix("x-auth-token: "))
}

async fn list(client: &OpenStack, kind: &'static str) -> Result<Page, Refusal> {
    client.list(&PLACE, &KindName::of(kind), None).await
}

#[tokio::test]
async fn a_token_that_expired_is_renewed_once() {
    let (url, requests) = server(Arc::new(|request: &str| {
        let is_old = token_of(request) == Some(TOKENS[0]);
        if is_old { (401, json!({})) } else { (200, json!({ "networks": [{ "id": "n" }] })) }
    }))
    .await;
    let page = list(&client(&url), "Network").await.unwrap();
    assert!(matches!(page, Page::Items { items, next: None } if items.len() == 1));
    let logins = requests.lock().unwrap().iter().filter(|request| request.starts_with("POST")).count();
    assert_eq!((logins, requests.lock().unwrap().len()), (2, 4));
}

#[tokio::test]
async fn a_token_that_is_refused_again_is_a_refusal_and_no_loop() {
    let (url, requests) =
        server(Arc::new(
            |request: &str| if request.starts_with("GET") { (401, json!({})) } else { (200, json!({})) },
        ))
        .await;
    let refusal = list(&client(&url), "Network").await.unwrap_err();
    assert_eq!(refusal.code(), "Unauthorized");
    assert_eq!(requests.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn no_refusal_holds_the_token_or_the_password() {
    for status in [400, 401, 403, 404, 409, 418] {
        let (url, _) = server(Arc::new(move |request: &str| {
            if request.starts_with("POST /v3/auth") {
                return (200, json!({}));
            }
            // A service that repeats everything that it was sent.
            let echo = format!("{request} password: {PASSWORD} X-Auth-Token: {}", TOKENS[0]);
            let error = json!({ "code": status, "message": echo });
            (status, json!({ "badRequest": error }))
        }))
        .await;
        let client = client(&url);
        let listed = list(&client, "Server").await.unwrap_err();
        let item = Item::new(KindName::of("Server"), PLACE, ItemId::new("s"));
        let deleted = client.delete(&item).await;
        let counts = client.counts(&PLACE).await;
        let printed = format!("{listed} {listed:?} {deleted:?} {counts:?} {client:?}");
        for secret in [PASSWORD].iter().chain(&TOKENS) {
            assert!(!printed.contains(*secret), "{status}: {printed}");
        }
        let zero = |count: &Count| matches!(count, Count::Known { .. } | Count::Absent { .. });
        assert!(!counts.values().any(zero), "{status}: a refused count is not zero");
    }
}

#[tokio::test]
async fn a_refused_login_says_so_and_repeats_nothing() {
    for status in [400, 401, 403] {
        let (url, requests) = server(Arc::new(move |request: &str| {
            let error = json!({ "code": status, "title": "Unauthorized", "message": request });
            (status, json!({ "error": error }))
        }))
        .await;
        let refusal = client(&url).whoami().await.unwrap_err();
        let printed = format!("{refusal} {refusal:?}");
        assert!(!printed.contains(PASSWORD) && !printed.contains("POST"), "{printed}");
        assert_eq!(
            requests.lock().unwrap().len(),
            1,
            "a password is not tried again: keystone locks users out"
        );
    }
}

#[tokio::test]
async fn each_service_is_sent_its_own_microversion_and_no_other() {
    let (url, requests) =
        server(Arc::new(|_: &str| (200, json!({ "servers": [], "volumes": [], "ports": [] })))).await;
    let client = client(&url);
    for kind in ["Server", "Volume", "Port"] {
        list(&client, kind).await.unwrap();
    }
    let requests = requests.lock().unwrap();
    let with =
        |path: &str| requests.iter().find(|request| request.starts_with(&format!("GET {path}"))).unwrap();
    assert!(with("/v2.1/servers").contains("openstack-api-version: compute "));
    for path in ["/v3/p1/volumes", "/v2.0/ports"] {
        assert!(!with(path).contains("api-version"), "{}", with(path));
    }
    assert!(with("/v2.0/ports").contains("project_id=p1"), "only those of the own project");
}

#[tokio::test]
async fn only_what_the_catalog_or_neutron_does_not_have_is_absent() {
    let (url, _) = server(Arc::new(|request: &str| {
        let path = request.split(' ').nth(1).unwrap();
        match path.split('?').next().unwrap() {
            "/v3/auth/tokens" => (200, json!({})),
            "/v2.0/extensions" => (200, json!({ "extensions": [{ "alias": "router" }] })),
            _ => (404, json!({})),
        }
    }))
    .await;
    let client = client(&url);
    for kind in ["LoadBalancer", "Image", "Share", "Trunk"] {
        assert!(matches!(list(&client, kind).await, Ok(Page::Absent { .. })), "{kind}");
    }
    for kind in ["Router", "Port", "Server"] {
        assert!(list(&client, kind).await.is_err(), "{kind}: nobody knows");
    }
}

#[tokio::test]
async fn key_pairs_of_a_user_with_other_projects_are_not_ours() {
    for (projects, owner) in
        [(json!([{ "id": "p1" }]), None), (json!([{ "id": "p1" }, { "id": "p2" }]), Some("u1"))]
    {
        let body = json!({ "projects": projects, "keypairs": [{ "keypair": { "name": "k" } }] });
        let (url, _) = server(Arc::new(move |_: &str| (200, body.clone()))).await;
        let Page::Items { items, .. } = list(&client(&url), "KeyPair").await.unwrap() else {
            panic!("no items")
        };
        assert_eq!(items[0].attribute("owner"), owner);
    }
}

#[tokio::test]
async fn routes_through_another_subnet_stay_when_an_interface_is_removed() {
    let removed = Arc::new(Mutex::new(0));
    let (url, requests) = server(Arc::new(move |request: &str| {
        if request.contains("/remove_router_interface") {
            let mut removed = removed.lock().unwrap();
            *removed += 1;
            let error =
                json!({ "type": "RouterInterfaceInUseByRoute", "message": "required by one or more routes" });
            return if *removed == 1 { (409, json!({ "NeutronError": error })) } else { (200, json!({})) };
        }
        let routes = json!([
            { "destination": "100.96.0.0/24", "nexthop": "10.250.0.10" },
            { "destination": "100.97.0.0/24", "nexthop": "10.1.0.10" },
        ]);
        (200, json!({ "router": { "routes": routes }, "subnet": { "cidr": "10.250.0.0/16" } }))
    }))
    .await;
    let interface = Item::new(KindName::of("RouterInterface"), PLACE, ItemId::new("port-1"));
    let interface = interface.with("router", "r-1").with("subnet", "s-1");
    client(&url).delete(&interface).await.unwrap();
    let requests = requests.lock().unwrap();
    let change = requests.iter().find(|request| request.starts_with("PUT /v2.0/routers/r-1 ")).unwrap();
    assert!(change.contains("10.1.0.10") && !change.contains("10.250.0.10"), "{change}");
}

#[tokio::test]
async fn a_service_that_is_not_there_is_counted_as_absent() {
    let (url, _) = server(Arc::new(|request: &str| {
        let is_login = request.starts_with("POST");
        if is_login {
            (200, json!({}))
        } else {
            (200, json!({ "limits": { "absolute": { "totalInstancesUsed": 1 } } }))
        }
    }))
    .await;
    let counts = client(&url).counts(&PLACE).await;
    let of = |name| counts.get(&CountName::of(name)).cloned().unwrap();
    assert_eq!(of("compute.instances"), Count::Known { number: 1 });
    assert!(
        matches!(of("compute.server-groups"), Count::Refused { .. }),
        "missing in the answer is not zero"
    );
    let elsewhere = client(&url).counts(&Place::of("R2")).await;
    assert!(elsewhere.values().all(|count| matches!(count, Count::Absent { .. })));
}

#[tokio::test]
async fn the_ports_in_the_way_of_a_subnet_are_named() {
    let (url, _) = server(Arc::new(|request: &str| {
        if request.starts_with("DELETE") {
            let error =
                json!({ "type": "SubnetInUse", "message": "One or more ports have an IP allocation" });
            return (409, json!({ "NeutronError": error }));
        }
        assert!(request.contains("POST") || request.contains("fixed_ips=subnet_id%3Ds-1"), "{request}");
        (200, json!({ "ports": [{ "id": "port-of-another-project" }] }))
    }))
    .await;
    let subnet = Item::new(KindName::of("Subnet"), PLACE, ItemId::new("s-1"));
    let refusal = client(&url).delete(&subnet).await.unwrap_err();
    assert_eq!(refusal.to_string(), "blocked (SubnetInUse): ports port-of-another-project");
}
