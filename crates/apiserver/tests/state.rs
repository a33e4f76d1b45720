//! A server that is killed again and again has lost nothing that it acknowledged.

#![allow(clippy::unwrap_used, reason = "these are tests")]
#![allow(clippy::print_stdout, reason = "this is how the child says what was acknowledged")]

use allotment_apiserver::{ApiServer, Server, auth::User};
use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    env,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    thread,
    time::Duration,
};

const FOLDER: &str = "ALLOTMENT_TEST_STATE";
const PATH: &str = "/api/v1/namespaces/default/configmaps";
const KILLS: u64 = 100;

fn open(folder: &Path) -> ApiServer {
    let entropy = Box::new(|bytes: &mut [u8]| getrandom::fill(bytes).unwrap());
    let mut server = Server::new(entropy, Timestamp::now());
    server.keep_in(folder, Timestamp::now()).unwrap();
    ApiServer::with(server, Arc::new(Timestamp::now))
}

async fn send(server: &ApiServer, method: Method, path: &str, body: &Value) -> (StatusCode, Value) {
    let request = Request::builder().method(method).uri(path).body(Bytes::from(body.to_string())).unwrap();
    let answer = server.answer(request, Some(User::new("me", ["system:masters"])));
    let (parts, body) = answer.into_parts();
    (parts.status, serde_json::from_slice(&body.collect().await.unwrap().to_bytes()).unwrap())
}

/// Writes until it is killed, and says what was acknowledged. Nothing happens here unless the test below starts it.
#[tokio::test]
async fn child() {
    let Some(folder) = env::var_os(FOLDER) else { return };
    let server = open(Path::new(&folder));
    let mut out = std::io::stdout().lock();
    for n in 0_u64.. {
        let name = format!("map-{}", n % 7);
        let map = json!({ "metadata": { "name": name }, "data": { "n": n.to_string(), "filling": "x".repeat(20_000) } });
        let path = format!("{PATH}/{name}");
        let (code, object) = match n % 11 {
            10 => send(&server, Method::DELETE, &path, &json!({})).await,
            _ => match send(&server, Method::PUT, &path, &map).await {
                (StatusCode::NOT_FOUND, _) => send(&server, Method::POST, PATH, &map).await,
                answer => answer,
            },
        };
        let version = if n % 11 == 10 { &json!("gone") } else { &object["metadata"]["resourceVersion"] };
        if code.is_success() {
            writeln!(out, "\nACK {name} {}", version.as_str().unwrap()).unwrap();
            out.flush().unwrap();
        }
    }
}

#[tokio::test]
async fn what_was_acknowledged_survives_a_hundred_kills() {
    let folder = tempfile::TempDir::new().unwrap();
    let mut acknowledged: BTreeMap<String, String> = BTreeMap::new();
    let mut total = 0;
    for kill in 0..KILLS {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "child", "--nocapture"])
            .env(FOLDER, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut last = None;
        let mut heard = 0;
        for line in BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok) {
            let Some((name, version)) = line.strip_prefix("ACK ").and_then(|ack| ack.split_once(' ')) else {
                continue;
            };
            acknowledged.insert(name.to_owned(), version.to_owned());
            last = Some(name.to_owned());
            heard += 1;
            // Some moment later it is in the middle of something else; what it still says until then is heard.
            if heard == 1 + kill % 20 {
                thread::sleep(Duration::from_micros(kill * 331 % 5000));
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        total += heard;
        let server = open(folder.path());
        for (name, version) in acknowledged.clone() {
            let (code, object) = send(&server, Method::GET, &format!("{PATH}/{name}"), &json!({})).await;
            let found = object["metadata"]["resourceVersion"].as_str().filter(|_| code.is_success());
            if found == Some(version.as_str()) || (found.is_none() && version == "gone") {
                continue;
            }
            // One more write may have been kept whose acknowledgement nobody heard.
            let number = |text: &str| text.parse::<u64>().unwrap_or(0);
            let newest = acknowledged.values().map(|version| number(version)).max().unwrap_or(0);
            assert!(
                found.is_none_or(|found| number(found) > newest) && last.as_deref() != Some(&name),
                "after kill {kill}: {name} is {found:?} and was acknowledged as {version}"
            );
            acknowledged.insert(name, found.unwrap_or("gone").to_owned());
        }
    }
    assert!(total >= 10 * KILLS, "{total} writes were acknowledged");
}
