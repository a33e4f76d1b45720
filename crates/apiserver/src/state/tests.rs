use super::*;
use crate::{ApiServer, auth::User, resource::StorageKey, store::Key};
use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs, sync::Arc};
use tempfile::TempDir;

/// A server in a folder, one request at a time.
struct Kept(ApiServer);

impl Kept {
    fn open(folder: &Path) -> Result<Self, StateError> {
        let now = Timestamp::UNIX_EPOCH;
        let mut next = 0_u8;
        // The same every time, so that UIDs of one folder stay apart only if they are kept.
        let entropy = Box::new(move |bytes: &mut [u8]| {
            next = next.wrapping_add(1);
            bytes.fill(next);
        });
        let mut server = Server::new(entropy, now);
        server.keep_in(folder, now)?;
        Ok(Self(ApiServer::with(server, Arc::new(move || now))))
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let mut request = Request::builder().method(method).uri(path);
        if method == "PATCH" {
            request = request.header("content-type", "application/merge-patch+json");
        }
        let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
        let caller = Some(User::new("me", ["system:masters"]));
        let request = request.body(body).unwrap();
        let (answer, kept) = self.0.settled(|server| server.handle(request, caller, Timestamp::UNIX_EPOCH));
        let answer = kept.map_or_else(|error| crate::server::Answer::refusal(&error), |()| answer);
        let crate::server::Answer::Now(reply) = answer else { panic!("a watch") };
        (reply.code, serde_json::from_slice(&reply.body).unwrap_or_default())
    }

    fn put(&self, name: &str, text: &str) -> (u16, Value) {
        let map = json!({ "metadata": { "name": name }, "data": { "text": text } });
        match self.send("POST", "/api/v1/namespaces/default/configmaps", &map) {
            (409, _) => self.send("PATCH", &format!("/api/v1/namespaces/default/configmaps/{name}"), &map),
            answer => answer,
        }
    }

    fn remove(&self, name: &str) -> u16 {
        self.send("DELETE", &format!("/api/v1/namespaces/default/configmaps/{name}"), &Value::Null).0
    }

    /// Everything there is.
    fn all(&self) -> (u64, BTreeMap<String, Bytes>) {
        self.0.with_server(|server| {
            let name = |kind: &StorageKey, key: &Key| format!("{kind:?} {key:?}");
            let all = server.store.all().map(|(kind, key, stored)| (name(kind, key), stored.bytes.clone()));
            (server.store.revision(), all.collect())
        })
    }

    fn with_room(&self, room: Option<u64>) {
        self.0.with_server(|server| server.state.as_mut().unwrap().files.room = room);
    }
}

fn copy(from: &Path) -> TempDir {
    let to = TempDir::new().unwrap();
    for file in fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), to.path().join(file.file_name())).unwrap();
    }
    to
}

#[test]
fn what_was_there_is_there_again() {
    let folder = TempDir::new().unwrap();
    let server = Kept::open(folder.path()).unwrap();
    let definition = json!({
        "metadata": { "name": "things.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": { "plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object",
                "properties": { "size": { "type": "integer", "default": 7, "maximum": 9 } },
            }}}],
        },
    });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert_eq!(server.send("POST", definitions, &definition).0, 201);
    let things = "/apis/example.com/v1/namespaces/default/things";
    let thing = json!({ "apiVersion": "example.com/v1", "kind": "Thing", "metadata": { "name": "a" } });
    let (code, thing) = server.send("POST", things, &thing);
    assert_eq!((code, &thing["size"]), (201, &json!(7)), "{thing}");
    assert_eq!(server.put("gone", "").0, 201);
    assert_eq!(server.remove("gone"), 200);
    let role = json!({ "metadata": { "name": "reader" }, "rules": [{ "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"] }] });
    assert_eq!(server.send("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", &role).0, 201);
    let accounts = "/api/v1/namespaces/default/serviceaccounts/default/token";
    let (code, token) = server.send("POST", accounts, &json!({ "spec": {} }));
    assert_eq!(code, 201);
    let before = server.all();
    drop(server);

    let server = Kept::open(folder.path()).unwrap();
    assert_eq!(server.all(), before);
    assert_eq!(server.send("GET", &format!("{things}/a"), &Value::Null), (200, thing));
    let bad =
        json!({ "apiVersion": "example.com/v1", "kind": "Thing", "metadata": { "name": "b" }, "size": 10 });
    assert_eq!(server.send("POST", things, &bad).0, 422);
    let review = json!({ "spec": { "token": token["status"]["token"] } });
    let (_, review) = server.send("POST", "/apis/authentication.k8s.io/v1/tokenreviews", &review);
    assert_eq!(review["status"]["authenticated"], json!(true), "{review}");
    assert_eq!(server.put("next", "").1["metadata"]["resourceVersion"], json!((before.0 + 1).to_string()));
}

/// A folder with few objects, so that every byte of it can have its turn, and what was in it after each write.
fn small() -> (TempDir, Vec<(u64, Vec<Entry>)>) {
    let folder = TempDir::new().unwrap();
    let kind = StorageKey { group: "g".to_owned(), plural: "things".to_owned() };
    let put = |revision, name| Entry::Put {
        revision,
        kind: kind.clone(),
        key: Key::new("n", name),
        bytes: Bytes::from(format!("{{\"n\":{revision}}}")),
    };
    let beginning = || vec![put(1, "a"), Entry::Complete { revision: 1, count: 1 }];
    let (mut files, found) = Files::open(folder.path(), beginning).unwrap();
    assert_eq!(found, None);
    let log = folder.path().join("log-1");
    let mut entries = vec![put(1, "a")];
    let mut known = vec![(fs::metadata(&log).unwrap().len(), entries.clone())];
    for more in [
        vec![put(2, "b")],
        vec![put(3, "a"), put(4, "c")],
        vec![Entry::Remove { revision: 5, kind: kind.clone(), key: Key::new("n", "a") }],
        vec![put(6, "")],
    ] {
        files.append(&more).unwrap();
        entries.extend(more);
        known.push((fs::metadata(&log).unwrap().len(), entries.clone()));
    }
    (folder, known)
}

fn open_small(folder: &Path) -> Result<(Files, Vec<Entry>), StateError> {
    let (files, found) = Files::open(folder, || panic!("it is not new"))?;
    Ok((files, found.unwrap()))
}

#[test]
fn whatever_the_log_is_cut_off_at_what_came_before_is_there() {
    let (folder, known) = small();
    let whole = fs::read(folder.path().join("log-1")).unwrap();
    for length in usize::try_from(known[0].0).unwrap()..=whole.len() {
        let copy = copy(folder.path());
        fs::write(copy.path().join("log-1"), &whole[..length]).unwrap();
        let (mut files, mut found) = open_small(copy.path()).unwrap();
        // What was written at once may be cut off in between: nobody was told of any of it.
        let (_, before) = known.iter().rev().find(|(known, _)| *known <= length as u64).unwrap();
        let all = &known.last().unwrap().1;
        assert!(found.starts_with(before) && all.starts_with(&found), "cut off at {length}");
        // It goes on from there, and what is written next is not behind a torn end.
        let next = all[1].clone();
        files.append(std::slice::from_ref(&next)).unwrap();
        drop(files);
        found.push(next);
        assert_eq!(open_small(copy.path()).unwrap().1, found, "cut off at {length}");
    }
}

#[test]
fn every_bit_that_is_flipped_is_noticed() {
    let (folder, _) = small();
    for file in ["log-1", "snapshot-1"] {
        let whole = fs::read(folder.path().join(file)).unwrap();
        let copy = copy(folder.path());
        for (at, bit) in (0..whole.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            fs::write(copy.path().join(file), &bytes).unwrap();
            let Err(error) = open_small(copy.path()) else { panic!("{file}, byte {at}, bit {bit}") };
            let text = error.to_string();
            assert!(text.contains(file), "{text}");
            match error {
                StateError::Damaged { offset, .. } => assert!(offset <= at as u64, "{text}"),
                StateError::Version { .. } => assert_eq!(at, 7),
                error => panic!("{error}"),
            }
            assert_eq!(fs::read(copy.path().join(file)).unwrap(), bytes, "it was not touched");
        }
        fs::write(copy.path().join(file), &whole).unwrap();
        open_small(copy.path()).unwrap();
    }
}

#[test]
fn files_that_are_missing_are_missed() {
    let folder = TempDir::new().unwrap();
    Kept::open(folder.path()).unwrap().put("a", "b");
    for file in ["log-1", "snapshot-1"] {
        let copy = copy(folder.path());
        fs::remove_file(copy.path().join(file)).unwrap();
        let Err(error) = Kept::open(copy.path()) else { panic!("{file}") };
        assert!(error.to_string().contains(file), "{error}");
    }
    let copy = copy(folder.path());
    fs::write(copy.path().join("snapshot-1"), &fs::read(folder.path().join("snapshot-1")).unwrap()[..5000])
        .unwrap();
    let Err(error) = Kept::open(copy.path()) else { panic!("a short snapshot") };
    assert!(error.to_string().contains("ends within an entry"), "{error}");
}

#[test]
fn a_full_disk_stops_writes_and_loses_nothing() {
    let folder = TempDir::new().unwrap();
    let server = Kept::open(folder.path()).unwrap();
    server.put("first", "text");
    let mut refused = 0;
    for room in (0..2000).step_by(31) {
        server.with_room(Some(room));
        let before = server.all();
        let (code, answer) = server.put(&format!("map-{}", room % 5), &room.to_string());
        if code < 300 {
            server.with_room(None);
            continue;
        }
        refused += 1;
        assert_eq!(code, 500, "{answer}");
        let message = answer["message"].as_str().unwrap();
        assert!(message.contains("nothing was changed") && message.contains("log-1"), "{message}");
        assert_eq!(server.all(), before, "with room for {room}");
        // It is read, and written to as soon as there is room.
        assert_eq!(server.send("GET", "/api/v1/namespaces/default/configmaps/first", &Value::Null).0, 200);
        server.with_room(Some(0));
        let (code, answer) = server.put("second", "");
        assert_eq!((code, answer["message"].as_str().unwrap().contains("make room")), (500, true));
        server.with_room(None);
        assert!(server.put("again", &room.to_string()).0 < 300);
        let all = server.all();
        let again = copy(folder.path());
        assert_eq!(Kept::open(again.path()).unwrap().all(), all, "with room for {room}");
    }
    assert!(refused > 10, "{refused}");
}

#[test]
fn a_long_log_becomes_a_snapshot() {
    let folder = TempDir::new().unwrap();
    let server = Kept::open(folder.path()).unwrap();
    let text = "x".repeat(900_000);
    for n in 0..12 {
        assert!(server.put(&format!("map-{}", n % 2), &format!("{n}{text}")).0 < 300);
    }
    let all = server.all();
    drop(server);
    let mut names: Vec<String> = fs::read_dir(folder.path())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains('-'))
        .collect();
    names.sort();
    let [log, snapshot] = &names[..] else { panic!("{names:?}") };
    assert!(log != "log-1" && snapshot.strip_prefix("snapshot-") == log.strip_prefix("log-"), "{names:?}");
    assert_eq!(Kept::open(folder.path()).unwrap().all(), all);
}

#[test]
fn a_snapshot_that_was_not_finished_is_not_missed() {
    let folder = TempDir::new().unwrap();
    let server = Kept::open(folder.path()).unwrap();
    server.put("a", "b");
    let all = server.all();
    drop(server);
    // Before the new pair counts, and after it does and before the old one is gone.
    fs::write(folder.path().join("snapshot.part"), "ALLOT").unwrap();
    fs::write(folder.path().join("log-2"), entry::BEGINNING).unwrap();
    assert_eq!(Kept::open(folder.path()).unwrap().all(), all);
    assert!(!folder.path().join("snapshot.part").exists() && !folder.path().join("log-2").exists());
    let old = copy(folder.path());
    let now = Timestamp::UNIX_EPOCH;
    let mut server = Server::new(Box::new(|_| ()), now);
    server.keep_in(folder.path(), now).unwrap();
    let entries = server.store.snapshot();
    server.state.as_mut().unwrap().files.snapshot(&entries).unwrap();
    drop(server);
    for file in ["snapshot-1", "log-1"] {
        fs::copy(old.path().join(file), folder.path().join(file)).unwrap();
    }
    assert_eq!(Kept::open(folder.path()).unwrap().all(), all);
    assert!(!folder.path().join("snapshot-1").exists());
}

#[test]
fn a_folder_belongs_to_one_server() {
    let folder = TempDir::new().unwrap();
    let server = Kept::open(folder.path()).unwrap();
    let Err(error) = Kept::open(folder.path()) else { panic!("two at once") };
    assert!(error.to_string().contains("in use by another process"), "{error}");
    drop(server);
    Kept::open(folder.path()).unwrap();
}
