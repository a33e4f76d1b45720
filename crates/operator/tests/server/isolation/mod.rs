//! A hostile tenant, with credentials of its own and RBAC enforced, beside a victim and the platform. Everything in the table is tried
//! twice, without the admission policies and with them; each attempt is refused with a sentence that says why, and nothing of
//! others changes.

mod confined;
mod history;
mod labelled;
mod operators;
mod policies;
mod restart;
mod table;
mod world;

pub use labelled::a_label_of_the_namespace_says_which_tenant_it_has;

use super::stage::{Fault, until};
use allotment_testing::{Landscape, Outcome};
use futures::{StreamExt, stream};
use history::History;
use http::{Method, Request};
use serde_json::Value;
use std::{cell::RefCell, collections::BTreeSet, time::Instant};
use table::{Answer, Attempt, Call, Step, Who};
use world::World;

/// Attempts that are under way at once. They do not meet: each has objects of its own.
const AT_ONCE: usize = 8;

/// Fewer would not cover every field, annotation, label and subresource.
const FEWEST: usize = 60;

pub async fn a_hostile_tenant_is_refused_with_a_sentence(landscape: Landscape) -> Outcome {
    let mut world = World::new(&landscape).await?;
    let done = both_rounds(&mut world).await;
    policies::clear_away(&world.plot).await?;
    done
}

async fn both_rounds(world: &mut World) -> Outcome {
    let before = world.others().await?;
    let facts = world.facts().await?;
    let attempts = table::attempts(&facts);
    assert!(attempts.len() >= FEWEST, "{} attempts", attempts.len());
    let history = History::of(world).await?;
    let mut failed = Vec::new();
    for has_policies in [false, true] {
        if has_policies {
            restart::a_forged_status_counts_nowhere(world, &facts).await?;
            world.install_policies().await?;
        }
        let started = Instant::now();
        failed.extend(round(&*world, &attempts, has_policies).await);
        if let Err(error) = world.settled().await {
            failed.push(error.to_string());
        }
        match world.others().await {
            Ok(after) if after == before => (),
            Ok(after) => differences("", &before, &after, &mut failed),
            Err(error) => failed.push(format!("something of others is gone: {error}")),
        }
        tracing::info!(attempts = attempts.len(), has_policies, seconds = ?started.elapsed(), "tried");
    }
    failed.extend(history.faults(&facts));
    if failed.is_empty() {
        Ok(())
    } else {
        Err(format!("{} of {} attempts:\n{}", failed.len(), attempts.len(), failed.join("\n")).into())
    }
}

fn differences(path: &str, before: &Value, after: &Value, found: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            for name in names {
                differences(&format!("{path}/{name}"), &before[name], &after[name], found);
            }
        }
        _ if before != after => found.push(format!("{path} changed from {before} to {after}")),
        _ => (),
    }
}

async fn round(world: &World, attempts: &[Attempt], has_policies: bool) -> Vec<String> {
    let letter = if has_policies { 'p' } else { 'n' };
    let tried = stream::iter(attempts.iter().enumerate()).map(|(number, attempt)| async move {
        let tried = Tried::named(world, &format!("{letter}{number}"));
        let expected = if has_policies { &attempt.with_policies } else { &attempt.without };
        let done = tried.run(attempt, expected).await;
        let removed = tried.remove().await;
        let name = if has_policies { "with policies" } else { "without policies" };
        done.and(removed).err().map(|why| format!("{} ({name}, {letter}{number}): {why}", attempt.what))
    });
    tried.buffer_unordered(AT_ONCE).filter_map(|failed| async { failed }).collect().await
}

/// An attempt under way.
struct Tried<'a> {
    world: &'a World,
    id: RefCell<String>,
    uid: RefCell<Option<String>>,
    made: RefCell<Vec<(Who, String)>>,
}

impl<'a> Tried<'a> {
    fn named(world: &'a World, id: &str) -> Self {
        Self { world, id: RefCell::new(id.to_owned()), uid: RefCell::default(), made: RefCell::default() }
    }

    async fn run(&self, attempt: &Attempt, expected: &Answer) -> Result<(), String> {
        for step in &attempt.before {
            self.step(step).await?;
        }
        let answer = self.send(&attempt.call).await;
        let (object, expected) = match (expected, answer) {
            (Answer::Refused(code, words), Err((got, message)))
                if *code == got && message.contains(&self.fill(words)) =>
            {
                return Ok(());
            }
            (Answer::Refused(code, words), answer) => {
                return Err(format!("expected {code} {words:?}, got {}", short(&answer)));
            }
            (_, Err((code, message))) => return Err(format!("refused: {code} {message}")),
            (expected, Ok(object)) => (object, expected),
        };
        if attempt.call.body["metadata"]["generateName"].is_string() {
            *self.id.borrow_mut() = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        }
        for step in &attempt.after {
            self.step(step).await?;
        }
        self.expect(expected).await
    }

    async fn expect(&self, expected: &Answer) -> Result<(), String> {
        match expected {
            Answer::Refused(..) => Ok(()),
            Answer::Told { path, words, then } => {
                let words = self.fill(words);
                self.is_told(path, &words).await?;
                match then {
                    Some(then) => Box::pin(self.expect(then)).await,
                    None => Ok(()),
                }
            }
            Answer::Reported { path, words, may_be_granted } => {
                let words = self.fill(words);
                let says = |object: &Value| {
                    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
                    let mut messages = conditions.filter_map(|condition| condition["message"].as_str());
                    let phase = object["status"]["phase"].as_str().unwrap_or_default();
                    let is_granted = ["Ready", "Bound", "Issued"].contains(&phase);
                    messages.any(|message| message.contains(&words)) && (*may_be_granted || !is_granted)
                };
                self.becomes(path, &format!("says {words:?}"), says).await
            }
            Answer::Corrected { path, pointer, value } => {
                let is_right = |object: &Value| object.pointer(pointer).unwrap_or(&Value::Null) != value;
                self.becomes(path, &format!("has not {value} at {pointer}"), is_right).await
            }
        }
    }

    /// Waits until an Event about an object has these words, and shows that it is one Event: whoever provokes it has no storm of them.
    async fn is_told(&self, path: &str, words: &str) -> Result<(), String> {
        let path = self.fill(path);
        let (collection, name) = path.rsplit_once('/').unwrap_or_default();
        let (namespace, plural) = collection.rsplit_once('/').unwrap_or_default();
        let namespace = namespace.rsplit_once('/').unwrap_or_default().1;
        let read = table::get(format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events"));
        let is_about = |event: &&Value| {
            let kind = event["regarding"]["kind"].as_str().unwrap_or_default().to_lowercase();
            event["regarding"]["name"] == name && plural.trim_end_matches('s') == kind.trim_end_matches('s')
        };
        until(&format!("an Event on {path} says {words:?}"), async || {
            let events = self.send(&read).await.map_err(|(code, message)| format!("{code} {message}"))?;
            let events: Vec<&Value> =
                events["items"].as_array().into_iter().flatten().filter(is_about).collect();
            let said = |event: &&&Value| event["note"].as_str().is_some_and(|note| note.contains(words));
            match events.iter().filter(said).count() {
                1 => Ok(()),
                _ => Err(format!("{events:?}")),
            }
        })
        .await
        .map_err(|error| error.to_string())
    }

    /// Waits until an object is what is waited for.
    async fn becomes(&self, path: &str, what: &str, is: impl Fn(&Value) -> bool) -> Result<(), String> {
        let read = table::get(path.to_owned());
        until(what, async || match self.send(&read).await {
            Ok(object) if is(&object) => Ok(()),
            Ok(object) => Err(object["status"].to_string()),
            Err((code, message)) => Err(format!("{code} {message}")),
        })
        .await
        .map_err(|error| error.to_string())
    }

    async fn step(&self, step: &Step) -> Result<(), String> {
        match step {
            Step::Call(call) => {
                let answer = self.send(call).await;
                let object = answer
                    .map_err(|(code, message)| format!("{} {}: {code} {message}", call.method, call.path))?;
                let mut uid = self.uid.borrow_mut();
                if uid.is_none() {
                    *uid = object["metadata"]["uid"].as_str().map(str::to_owned);
                }
                Ok(())
            }
            Step::Until { path, pointer } => {
                self.becomes(path, &format!("has {pointer}"), |object| object.pointer(pointer).is_some())
                    .await
            }
        }
    }

    async fn send(&self, call: &Call) -> Result<Value, (u16, String)> {
        let path = self.fill(&call.path);
        let mut request = Request::builder().method(&call.method).uri(&path);
        if call.method == Method::POST {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in &call.headers {
            request = request.header(*name, value);
        }
        let body =
            if call.body.is_null() { Vec::new() } else { self.fill(&call.body.to_string()).into_bytes() };
        let request = request.body(body).map_err(|error| (0, error.to_string()))?;
        let answer: Result<Value, kube::Error> = self.world.client(call.who).request(request).await;
        let object = answer.map_err(|error| match error {
            kube::Error::Api(status) => (status.code, status.message.clone()),
            error => (0, error.to_string()),
        })?;
        if call.method == Method::POST
            && let Some(name) = object["metadata"]["name"].as_str()
        {
            self.made.borrow_mut().push((call.who, format!("{path}/{name}")));
        }
        Ok(object)
    }

    fn fill(&self, text: &str) -> String {
        let uid = self.uid.borrow().clone().unwrap_or_default();
        let digits: String = uid.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
        text.replace("{id}", &self.id.borrow()).replace("{uid8}", &digits).replace("{uid}", &uid)
    }

    /// Deletes what was made, with the credentials that made it: also that is a part of the attempt.
    async fn remove(&self) -> Result<(), String> {
        let made = self.made.borrow().clone();
        for (who, path) in made.iter().rev() {
            if path.contains("/clusters/") {
                let marks =
                    serde_json::json!({ "metadata": { "annotations": { "allotment.dev/pause": null } } });
                let _ = self.send(&table::patch(path.clone(), marks).by(*who)).await;
            }
            match self.send(&table::delete(path.clone()).by(*who)).await {
                Ok(_) | Err((404, _)) => (),
                Err((code, message)) => return Err(format!("cannot delete {path}: {code} {message}")),
            }
        }
        Ok(())
    }
}

fn short(answer: &Result<Value, (u16, String)>) -> String {
    match answer {
        Ok(object) => format!("accepted: {}", object["metadata"]["name"]),
        Err((code, message)) => format!("{code} {}", message.chars().take(500).collect::<String>()),
    }
}

type Done<T> = Result<T, Fault>;
