//! `allotment kubeconfig revoke`: all are marked or locked first, since every second counts, and then waited for.

use super::{
    super::{input::confirmed, show::counted},
    Scope, is_revoked, lock, says,
};
use crate::output::{self, Bar, Format, Paint};
use allotment_api::{
    condition::ConditionStatus,
    kyma::{KubeconfigCondition, KubeconfigRequest},
    names::annotation,
};
use anyhow::Result;
use futures::{StreamExt, stream};
use kube::{
    ResourceExt,
    api::{Patch, PatchParams},
};
use serde::Serialize;
use serde_json::json;
use std::{collections::BTreeMap, process::ExitCode, time::Duration};
use tokio::time::{Instant, sleep};

/// As many are marked at a time: fast, and no burden for an API server.
const AT_ONCE: usize = 8;

/// How often it is looked how they stand.
const LOOK: Duration = Duration::from_millis(500);

/// And that is no more than this part of the time, however many there are.
const LOOK_SHARE: u32 = 5;

/// As many names are told to whoever is asked to confirm.
const NAMED: usize = 10;

/// What the user wants.
pub(super) struct Order {
    pub(super) is_all: bool,
    pub(super) yes: bool,
    pub(super) timeout: Duration,
    pub(super) output: Option<Format>,
    /// Locks that revoke, and not the annotation.
    pub(super) locks: Option<lock::Order>,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Outcome {
    /// The grant is gone, and its tokens have been seen to be refused.
    Revoked,
    /// There was no grant, and while the annotation is there will be none.
    NothingGranted,
    /// The request was deleted, which takes the grant away first.
    Deleted,
    /// Not yet.
    Pending,
    /// There is no such request.
    Missing,
    /// The control plane did not let us.
    Refused,
}

impl Outcome {
    fn is_done(self) -> bool {
        matches!(self, Self::Revoked | Self::NothingGranted | Self::Deleted)
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Revoked => "revoked",
            Self::NothingGranted => "nothing was granted",
            Self::Deleted => "deleted, and the grant with it",
            Self::Pending => "not revoked yet",
            Self::Missing => "there is no such request",
            Self::Refused => "cannot be revoked",
        }
    }
}

/// A request, and what became of it.
#[derive(Debug, Serialize)]
struct Line {
    namespace: String,
    name: String,
    cluster: String,
    outcome: Outcome,
    done: bool,
    message: String,
}

impl Line {
    fn becomes(&mut self, outcome: Outcome, message: String) {
        (self.outcome, self.done, self.message) = (outcome, outcome.is_done(), message);
    }

    fn text(&self) -> String {
        let Self { namespace, name, outcome, message, .. } = self;
        let because = if message.is_empty() { String::new() } else { format!(": {message}") };
        format!("{namespace}/{name}: {}{because}", outcome.as_str())
    }
}

/// By namespace and name.
type Lines = BTreeMap<(String, String), Line>;

pub(super) async fn run(scope: &Scope, order: &Order) -> Result<ExitCode> {
    let found = scope.read().await?;
    let mut lines: Lines = found.iter().map(line).collect();
    let is_wide =
        order.is_all || lines.len() > 1 || order.locks.as_ref().is_some_and(|locks| locks.is_wide());
    if is_wide
        && (!lines.is_empty() || order.locks.is_some())
        && !order.yes
        && !confirmed(&question(&lines, order))?
    {
        return Ok(ExitCode::FAILURE);
    }
    for name in scope.missing(&found) {
        let namespace = scope.namespace.clone().unwrap_or_default();
        let key = (namespace.clone(), name.clone());
        let (outcome, message) = (Outcome::Missing, String::new());
        lines.insert(key, Line { namespace, name, cluster: String::new(), outcome, done: false, message });
    }
    drop(found);
    let mut told = Told { bar: Bar::new(lines.len()), is_for_people: order.output.is_none() };
    match &order.locks {
        Some(locks) => lock::write(scope, locks).await?,
        None => mark(scope, &mut lines, &mut told).await?,
    }
    let stand = if order.locks.is_some() { stand_locked } else { stand };
    wait(scope, &mut lines, order.timeout, stand, &mut told).await?;
    told.bar.clear();
    if let (Some(locks), None) = (&order.locks, order.output) {
        lock::report(locks);
    }
    report(&lines, order.output)
}

/// What is asked before many are revoked.
fn question(lines: &Lines, order: &Order) -> String {
    let mut names: Vec<String> =
        lines.keys().take(NAMED).map(|(namespace, name)| format!("{namespace}/{name}")).collect();
    if lines.len() > NAMED {
        names.push(format!("and {} more", lines.len() - NAMED));
    }
    let what =
        order.locks.as_ref().map(|locks| format!("lock {}, and ", locks.describe())).unwrap_or_default();
    let listed = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
    format!("{what}revoke {}{listed}?", counted(lines.len(), "kubeconfig"))
}

fn line(request: &KubeconfigRequest) -> ((String, String), Line) {
    let (namespace, name) = (request.namespace().unwrap_or_default(), request.name_any());
    let line = Line {
        namespace: namespace.clone(),
        name: name.clone(),
        cluster: request.spec.cluster.clone(),
        outcome: Outcome::Pending,
        done: false,
        message: String::new(),
    };
    ((namespace, name), line)
}

/// Sets the annotation on all of them.
async fn mark(scope: &Scope, lines: &mut Lines, told: &mut Told) -> Result<()> {
    let waiting: Vec<(String, String)> = waiting(lines);
    let mut marked = stream::iter(waiting)
        .map(|(namespace, name)| async move {
            let patch = json!({ "metadata": { "annotations": { annotation::REVOKE: "true" } } });
            let (params, patch) = (PatchParams::default(), Patch::Merge(&patch));
            let api = scope.requests_in(Some(&namespace));
            let result = api.patch_metadata(&name, &params, &patch).await;
            ((namespace, name), result)
        })
        .buffer_unordered(AT_ONCE);
    while let Some((key, result)) = marked.next().await {
        let Some(line) = lines.get_mut(&key) else { continue };
        match result {
            Ok(_) => (),
            Err(kube::Error::Api(status)) if status.code == 404 => {
                line.becomes(Outcome::Deleted, String::new());
                told.done(line)?;
            }
            Err(error) => line.becomes(Outcome::Refused, error.to_string()),
        }
    }
    Ok(())
}

/// Waits until all that could be marked are revoked, or none has been for too long.
async fn wait(
    scope: &Scope,
    lines: &mut Lines,
    timeout: Duration,
    stand: Stand,
    told: &mut Told,
) -> Result<()> {
    let mut last_done = Instant::now();
    loop {
        let left = waiting(lines);
        told.bar.draw(lines.len() - left.len());
        if left.is_empty() {
            return Ok(());
        }
        let began = Instant::now();
        match scope.read().await {
            Ok(found) => {
                if learn(lines, &found, stand, told)? {
                    last_done = Instant::now();
                }
            }
            Err(error) => {
                for line in lines.values_mut().filter(|line| line.outcome == Outcome::Pending) {
                    line.message = format!("{error:#}");
                }
            }
        }
        if waiting(lines).is_empty() {
            continue;
        }
        let pause = LOOK.max(began.elapsed() * LOOK_SHARE);
        if last_done.elapsed() + pause > timeout {
            return Ok(());
        }
        sleep(pause).await;
    }
}

/// Whether any of those that are waited for is done.
fn learn(lines: &mut Lines, found: &[KubeconfigRequest], stand: Stand, told: &mut Told) -> Result<bool> {
    let found: BTreeMap<(String, String), &KubeconfigRequest> = found
        .iter()
        .map(|request| ((request.namespace().unwrap_or_default(), request.name_any()), request))
        .collect();
    let mut is_any_done = false;
    for (key, line) in lines.iter_mut().filter(|(_, line)| line.outcome == Outcome::Pending) {
        let (outcome, message) =
            found.get(key).map_or((Outcome::Deleted, String::new()), |request| stand(request));
        line.becomes(outcome, message);
        if line.done {
            is_any_done = true;
            told.done(line)?;
        }
    }
    Ok(is_any_done)
}

/// How a request stands, and why.
type Stand = fn(&KubeconfigRequest) -> (Outcome, String);

/// How a request that a lock names stands, and why. That it has no token now means nothing before the operator knows of the lock.
fn stand_locked(request: &KubeconfigRequest) -> (Outcome, String) {
    if says(request, KubeconfigCondition::Locked, ConditionStatus::True) {
        return stand(request);
    }
    let message = "no operator has seen the lock; `allotment run` in the namespace of the lock does";
    (Outcome::Pending, message.to_owned())
}

/// How a request that carries the annotation stands, and why.
fn stand(request: &KubeconfigRequest) -> (Outcome, String) {
    if is_revoked(request) {
        return (Outcome::Revoked, String::new());
    }
    let status = request.status.clone().unwrap_or_default();
    // Whatever may be valid is written there before it is made, on the version of the request that was decided on.
    if status.tokens.is_empty() && status.kubeconfig.is_none() && status.secret_ref.is_none() {
        return (Outcome::NothingGranted, String::new());
    }
    let said = status.conditions.into_iter().find(|said| said.type_ == KubeconfigCondition::Revoked.as_str());
    let message = said.map(|said| said.message).unwrap_or_else(|| {
        "no operator has seen to it; `allotment run` with the controller kubeconfig does".to_owned()
    });
    (Outcome::Pending, message)
}

fn waiting(lines: &Lines) -> Vec<(String, String)> {
    let pending = lines.iter().filter(|(_, line)| line.outcome == Outcome::Pending);
    pending.map(|(key, _)| key.clone()).collect()
}

/// What people see while they wait: a bar on a terminal, else a line for each.
struct Told {
    bar: Bar,
    is_for_people: bool,
}

impl Told {
    fn done(&mut self, line: &Line) -> Result<()> {
        if self.is_for_people && !self.bar.is_on() {
            output::print(&format!("{}\n", line.text()))?;
        }
        Ok(())
    }
}

fn report(lines: &Lines, format: Option<Format>) -> Result<ExitCode> {
    let left: Vec<&Line> = lines.values().filter(|line| !line.done).collect();
    match format {
        Some(format) => {
            let all: Vec<&Line> = lines.values().collect();
            output::print_value(&json!({ "ok": left.is_empty(), "requests": all }), format)?;
        }
        None => {
            let paint = Paint::for_standard_output();
            let mut text = String::new();
            for line in &left {
                text.push_str(&format!("{}\n", paint.red(&line.text())));
            }
            let done = lines.len() - left.len();
            text.push_str(&match (lines.len(), left.len()) {
                (0, _) => "there is none to revoke; `allotment kubeconfig list` shows those that are there\n"
                    .to_owned(),
                (_, 0) => paint.green(&format!("{} revoked", counted(done, "kubeconfig"))) + "\n",
                (all, left) => format!("{done} of {} revoked, {left} not\n", counted(all, "kubeconfig")),
            });
            output::print(&text)?;
        }
    }
    Ok(if left.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::{Outcome, stand, stand_locked};
    use allotment_api::kyma::KubeconfigRequest;
    use serde_json::{Value, json};

    fn of(status: Value) -> (Outcome, String) {
        stand(&request(status))
    }

    fn request(status: Value) -> KubeconfigRequest {
        let request = json!({
            "apiVersion": "operator.kyma-project.io/v1alpha1", "kind": "KubeconfigRequest",
            "metadata": { "name": "r", "namespace": "n" },
            "spec": { "cluster": "c" },
            "status": status,
        });
        serde_json::from_value(request).unwrap()
    }

    fn revoked(status: &str, reason: &str, message: &str) -> Value {
        json!([{ "type": "Revoked", "status": status, "reason": reason, "message": message,
                 "lastTransitionTime": "2026-01-01T00:00:00Z" }])
    }

    #[test]
    fn only_what_is_refused_or_was_never_granted_is_done() {
        let token = json!([{ "secret": "s", "state": "Published" }]);
        let conditions = revoked("True", "Revoked", "gone");
        assert_eq!(of(json!({ "conditions": conditions })).0, Outcome::Revoked);
        assert_eq!(of(json!({ "phase": "Denied" })).0, Outcome::NothingGranted);
        let conditions = revoked("False", "Unreachable", "the cluster does not answer");
        let stands = of(json!({ "tokens": token, "conditions": conditions }));
        assert_eq!(stands, (Outcome::Pending, "the cluster does not answer".to_owned()));
        let (outcome, message) = of(json!({ "tokens": token, "kubeconfig": "eA==" }));
        assert!(outcome == Outcome::Pending && message.contains("no operator"), "{message}");
        assert_eq!(of(json!({ "tokens": [{ "secret": "s", "state": "Asked" }] })).0, Outcome::Pending);
        assert_eq!(of(json!({ "secretRef": { "name": "s" } })).0, Outcome::Pending);
    }

    #[test]
    fn a_lock_counts_once_the_operator_knows_of_it() {
        let of = |status: Value| stand_locked(&request(status)).0;
        assert_eq!(of(json!({})), Outcome::Pending);
        let locked = json!({ "type": "Locked", "status": "True", "reason": "Locked", "message": "m",
                             "lastTransitionTime": "2026-01-01T00:00:00Z" });
        assert_eq!(of(json!({ "conditions": [locked] })), Outcome::NothingGranted);
        let mut conditions = revoked("True", "Revoked", "gone");
        assert_eq!(
            of(json!({ "conditions": conditions })),
            Outcome::Pending,
            "revoked before, and not locked yet"
        );
        conditions.as_array_mut().unwrap().push(locked);
        assert_eq!(of(json!({ "conditions": conditions })), Outcome::Revoked);
    }
}
