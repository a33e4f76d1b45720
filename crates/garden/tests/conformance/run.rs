//! Runs a case on one server and writes down what it saw.

use crate::{
    normal::Normal,
    plots,
    script::{Action, Call, Case, Step, Until},
    servers::{Failure, Server, Variables, fill},
};
use bytes::Bytes;
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};
use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    time::{sleep, timeout},
};

/// How long something that happens by itself may take: on the real server, which may still be busy with the hundreds of
/// namespaces of an earlier run, and on ours, which does it at once. A real server that deletes a CustomResourceDefinition polls for its
/// objects for a minute, and begins again with a backoff: one such attempt may be lost on a busy machine.
const WAIT_LIMITS: [Duration; 2] = [Duration::from_secs(240), Duration::from_secs(3)];
/// An event that is expected comes long before; this is for one that never comes.
const EVENT_LIMIT: Duration = Duration::from_secs(8);
/// After the expected events: enough for one too many to show up.
const QUIET: Duration = Duration::from_millis(250);
/// A watch that never becomes quiet is a fault of its own, too.
const TOO_MANY: usize = 5;
/// A request that hangs is a fault of its own.
const CALL_LIMIT: Duration = Duration::from_secs(60);

/// What was seen in each step: `code`, `warnings` and `body`, or `events`.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    pub steps: Vec<Value>,
    /// The same before what the server chose was taken out.
    pub raw: Vec<Value>,
}

/// A case on its way through one server.
struct Run<'a> {
    server: &'a Server,
    variables: Variables,
    normal: Normal,
    watches: BTreeMap<&'static str, UnboundedReceiver<Value>>,
    /// What lies outside the namespace and has to be deleted afterwards.
    litter: Vec<String>,
    /// What had a finalizer when it was last seen.
    held: BTreeSet<String>,
}

/// Sends the requests of a case to a server, and cleans up after it.
pub async fn record(case: &Case, server: &Server, variables: &Variables) -> Result<Recording, Failure> {
    let (recording, run) = play(case, server, variables).await?;
    run.tidy_up().await;
    recording
}

/// The same, without cleaning up.
pub async fn record_and_keep(
    case: &Case,
    server: &Server,
    variables: &Variables,
) -> Result<Recording, Failure> {
    play(case, server, variables).await?.0
}

async fn play<'a>(
    case: &Case,
    server: &'a Server,
    variables: &Variables,
) -> Result<(Result<Recording, Failure>, Run<'a>), Failure> {
    let mut run = Run {
        server,
        variables: variables.clone(),
        normal: Normal::default(),
        watches: BTreeMap::new(),
        litter: Vec::new(),
        held: BTreeSet::new(),
    };
    let text = format!("{:?}", case.steps);
    if server.garden && (text.contains("{ns}") || text.contains("{project}")) {
        plots::prepare(server, variables).await?;
    } else if !server.garden && text.contains("{ns}") {
        prepare_namespace(server, variables).await?;
    }
    let mut recording = Recording::default();
    let mut trouble = None;
    for (number, step) in case.steps.iter().enumerate() {
        match run.step(step).await {
            Ok(raw) => {
                // What is ignored is not counted either.
                let mut seen = raw.clone();
                step.ignored.iter().for_each(|place| forget(&mut seen, place));
                if step.any_order {
                    sort(&mut seen);
                }
                let seen = run.normal.value(&seen);
                recording.steps.push(seen);
                recording.raw.push(raw);
            }
            Err(error) => {
                trouble = Some(format!("step {}: {step}: {error}", number + 1));
                break;
            }
        }
    }
    let outcome = match trouble {
        Some(trouble) => Err(format!("{}: {trouble}", server.name).into()),
        None => Ok(recording),
    };
    Ok((outcome, run))
}

impl Run<'_> {
    async fn step(&mut self, step: &Step) -> Result<Value, Failure> {
        let seen = match &step.action {
            Action::Call(call) => self.send(call).await?,
            Action::Wait(call, wanted) => self.wait(call, wanted).await?,
            Action::Open(id, call) => self.open(id, call).await?,
            Action::Collect(id, count) => self.collect(id, *count).await?,
        };
        for (name, pointer) in &step.saves {
            let value = seen.pointer(&format!("/body{pointer}")).or_else(|| seen.pointer(pointer));
            if let Some(value) = value {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                self.variables.insert(name.clone(), text);
            }
        }
        Ok(seen)
    }

    async fn send(&mut self, call: &Call) -> Result<Value, Failure> {
        let answer =
            timeout(CALL_LIMIT, self.server.send(call, &self.variables)).await.map_err(|_| "no answer")??;
        let seen = read(answer).await?;
        self.remember(call, &seen);
        Ok(seen)
    }

    async fn wait(&mut self, call: &Call, wanted: &[Until]) -> Result<Value, Failure> {
        let limit = WAIT_LIMITS[usize::from(self.server.embedded)];
        let started = Instant::now();
        loop {
            let late = started.elapsed() > limit;
            match self.send(call).await {
                Ok(seen) if late || wanted.iter().all(|wanted| holds(wanted, &seen)) => return Ok(seen),
                // A real server that is about to serve something anew may drop a request for it.
                Err(error) if late => return Err(error),
                Ok(_) | Err(_) => {}
            }
            sleep(Duration::from_millis(50)).await;
        }
    }

    async fn open(&mut self, id: &'static str, call: &Call) -> Result<Value, Failure> {
        let answer = self.server.send(call, &self.variables).await?;
        if !answer.status().is_success() {
            return read(answer).await;
        }
        let code = answer.status().as_u16();
        let (sender, receiver) = unbounded_channel();
        self.watches.insert(id, receiver);
        tokio::spawn(async move {
            let mut body = answer.into_body();
            let mut rest = Vec::new();
            while let Some(Ok(frame)) = body.frame().await {
                rest.extend_from_slice(frame.data_ref().unwrap_or(&Bytes::new()));
                while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = rest.drain(..=end).collect();
                    let event = serde_json::from_slice(&line)
                        .unwrap_or_else(|_| json!({ "not JSON": String::from_utf8_lossy(&line) }));
                    if sender.send(event).is_err() {
                        return;
                    }
                }
            }
            // The end is something to compare, too.
            let _ = sender.send(json!("the watch ended"));
        });
        Ok(json!({ "code": code }))
    }

    async fn collect(&mut self, id: &'static str, count: usize) -> Result<Value, Failure> {
        let Some(receiver) = self.watches.get_mut(id) else {
            return Ok(json!({ "events": "there is no such watch" }));
        };
        let mut events: Vec<Value> = Vec::new();
        let told = |events: &[Value]| events.iter().filter(|event| !is_progress(event)).count();
        while told(&events) < count + TOO_MANY {
            let limit = if told(&events) < count { EVENT_LIMIT } else { QUIET };
            match timeout(limit, receiver.recv()).await {
                Ok(Some(event)) => events.push(event),
                Ok(None) | Err(_) => break,
            }
        }
        let mut events = without_progress(events);
        for event in &mut events {
            if event["type"] == "BOOKMARK" {
                event["object"]["metadata"]["resourceVersion"] = json!("<version of the bookmark>");
            }
        }
        Ok(json!({ "events": events }))
    }

    fn remember(&mut self, call: &Call, seen: &Value) {
        if seen["code"].as_u64().is_none_or(|code| code >= 300) || call.path.contains("dryRun") {
            return;
        }
        let path = fill(&call.path, &self.variables);
        let path = path.split('?').next().unwrap_or_default().trim_end_matches("/status");
        let metadata = &seen["body"]["metadata"];
        let path = match (call.method, metadata["name"].as_str()) {
            ("POST", Some(name)) => format!("{path}/{name}"),
            _ => path.to_owned(),
        };
        // A namespace that is left with something that is held never ends, and keeps the real server busy for ever.
        if metadata["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty()) {
            self.held.insert(path.clone());
        }
        let inside = path.split_once("/namespaces/").is_some_and(|(_, rest)| rest.contains('/'));
        // A Shoot goes only if somebody says twice that it is to go.
        let shoot = path.contains("/shoots/") && !path.ends_with("kubeconfig");
        if seen["code"] == 201 && (!inside || shoot) && !path.contains("review") {
            self.litter.push(path);
        }
    }

    /// Lets go of what the case holds, and deletes what it made outside its namespace.
    async fn tidy_up(&self) {
        if self.server.garden {
            return plots::tidy_up(self.server, &self.variables, &self.litter).await;
        }
        let release =
            |path: &String| crate::script::merge(path.clone(), json!({ "metadata": { "finalizers": null } }));
        let gone = |path: &String| crate::script::delete(path.clone());
        let steps = self.held.iter().map(release).chain(self.litter.iter().rev().map(gone));
        for step in steps.chain(self.litter.iter().map(release)) {
            if let Some(call) = step.call() {
                // What is gone already needs nothing.
                let _ = timeout(CALL_LIMIT, self.server.send(call, &Variables::new())).await;
            }
        }
    }
}

/// A bookmark that only says how far the server is, not that the initial events are complete.
fn is_progress(event: &Value) -> bool {
    event["type"] == "BOOKMARK" && event["object"]["metadata"]["annotations"].is_null()
}

/// When a server tells how far it is, is its own business, except that it does so before the end.
fn without_progress(events: Vec<Value>) -> Vec<Value> {
    let mut kept: Vec<Value> = Vec::new();
    let mut progress = None;
    for event in events {
        if is_progress(&event) {
            progress = Some(event);
            continue;
        }
        let before_the_end = progress.take().filter(|_| event == "the watch ended");
        kept.extend(before_the_end);
        kept.push(event);
    }
    kept
}

/// Makes the namespace of a case, and waits for what every namespace gets.
pub async fn prepare_namespace(server: &Server, variables: &Variables) -> Result<(), Failure> {
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "{ns}" } });
    let mut run = Run {
        server,
        variables: variables.clone(),
        normal: Normal::default(),
        watches: BTreeMap::new(),
        litter: Vec::new(),
        held: BTreeSet::new(),
    };
    run.step(&crate::script::create("/api/v1/namespaces", namespace)).await?;
    for path in ["serviceaccounts/default", "configmaps/kube-root-ca.crt"] {
        let step = crate::script::get(format!("/api/v1/namespaces/{{ns}}/{path}")).until_code(200);
        let seen = run.step(&step).await?;
        if seen["code"] != 200 {
            return Err(format!("{}: a new namespace does not get its {path}: {seen}", server.name).into());
        }
    }
    Ok(())
}

async fn read(answer: http::Response<Body>) -> Result<Value, Failure> {
    let (parts, body) = answer.into_parts();
    let header = |value: &http::HeaderValue| value.to_str().unwrap_or_default().to_owned();
    let warnings: Vec<String> = parts.headers.get_all("warning").iter().map(header).collect();
    let media_type = parts.headers.get("content-type").map(header).unwrap_or_default();
    let bytes = timeout(CALL_LIMIT, body.collect()).await.map_err(|_| "no end of the answer")??.to_bytes();
    let body = serde_json::from_slice(&bytes)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned()));
    Ok(json!({
        "code": parts.status.as_u16(),
        "warnings": warnings,
        "mediaType": media_type,
        "body": body,
    }))
}

fn holds(wanted: &Until, seen: &Value) -> bool {
    let body = &seen["body"];
    match wanted {
        Until::Code(code) => seen["code"] == *code,
        Until::Is(pointer, value) => body.pointer(pointer) == Some(value),
        Until::There(pointer) => body.pointer(pointer).is_some(),
        Until::Gone(pointer) => body.pointer(pointer).is_none(),
        Until::Count(pointer, count) => {
            body.pointer(pointer).and_then(Value::as_array).is_some_and(|items| items.len() == *count)
        }
        Until::Says(words) => body["message"].as_str().is_some_and(|message| message.contains(words)),
        Until::Warned => seen["warnings"].as_array().is_some_and(|warnings| !warnings.is_empty()),
    }
}

/// Puts what is wrong with an object, or what a group has, in an order that does not depend on chance.
fn sort(seen: &mut Value) {
    if let Some(Value::Array(causes)) = seen.pointer_mut("/body/details/causes") {
        causes.sort_by_key(Value::to_string);
    }
    if let Some(Value::Array(resources)) = seen.pointer_mut("/body/resources") {
        resources.sort_by_key(|resource| resource["name"].to_string());
    }
    if let Some(Value::String(message)) = seen.pointer_mut("/body/message") {
        let mut parts: Vec<&str> = message.split([',', '[', ']']).map(str::trim).collect();
        parts.sort_unstable();
        *message = parts.join(", ");
    }
}

/// Takes a part out. `*` stands for every item of an array or field of an object.
fn forget(value: &mut Value, place: &str) {
    let Some(rest) = place.strip_prefix('/') else { return };
    let (head, tail) =
        rest.split_once('/').map_or((rest, None), |(head, tail)| (head, Some(format!("/{tail}"))));
    let head = head.replace("~1", "/").replace("~0", "~");
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                if head == "*" || head == index.to_string() {
                    match &tail {
                        Some(tail) => forget(item, tail),
                        None => *item = json!("<ignored>"),
                    }
                }
            }
        }
        Value::Object(fields) => match tail {
            Some(tail) => {
                let chosen = fields.iter_mut().filter(|(key, _)| head == "*" || **key == head);
                chosen.for_each(|(_, field)| forget(field, &tail));
            }
            None => fields.retain(|key, _| head != "*" && *key != head),
        },
        _ => {}
    }
}
