//! Health and metrics over HTTP.

mod reviews;

use crate::{
    config::MetricsAccess, dependencies::Dependency, metrics::Metrics, process::Operators,
    runtime::controller::Controller, subscription,
};
use allotment_core::tenancy::Mode;
use axum::{
    Router,
    extract::{RawQuery, State},
    http::{
        HeaderMap, HeaderValue, StatusCode,
        header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE},
    },
    response::{IntoResponse, Response},
    routing::get,
};
use kube::Client;
use reviews::{Reviews, Verdict};
use std::{collections::BTreeSet, fmt, io, sync::Arc, time::Duration};
use tokio::{net::TcpListener, sync::watch, time::timeout};

/// Probes give up after some seconds; a ledger that is slower than this counts as gone.
const LEDGER_DEADLINE: Duration = Duration::from_secs(3);

/// What `tenancy.mode: trusted` means, for whoever did not write it.
pub(crate) const TRUSTED: &str = "trusted: every namespace may name any tenant (tenancy.mode)";

/// What prometheus-client writes.
pub(crate) const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What the server speaks for.
pub struct Health {
    /// The operators that run.
    pub operators: Operators,
    /// Why the newest configuration is not in force, if it is not.
    pub rejected: watch::Receiver<Option<String>>,
    /// Whether namespaces belong to tenants.
    pub tenancy: watch::Receiver<Mode>,
    /// What is counted.
    pub metrics: Metrics,
    /// Whether there are metrics with one line for every tenant and every account.
    pub per_object: bool,
    /// Who reads them.
    pub access: MetricsAccess,
    /// Where tokens are checked.
    pub control_plane: Client,
}

struct Server {
    health: Health,
    /// None where anybody may read metrics.
    reviews: Option<Reviews>,
}

/// Serves for ever.
pub async fn serve(listener: TcpListener, health: Health) -> io::Result<()> {
    axum::serve(listener, router(health)).await
}

fn router(health: Health) -> Router {
    let reviews = health.access.secure.then(|| Reviews::new(health.control_plane.clone()));
    Router::new()
        .route("/livez", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(Arc::new(Server { reviews, health }))
}

async fn ready(State(server): State<Arc<Server>>, RawQuery(query): RawQuery) -> Response {
    let checks = server.health.checks().await;
    let is_ready = checks.iter().all(|check| check.mark != Mark::Failed);
    let code = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let verbose =
        query.is_some_and(|query| query.split('&').any(|part| part.split('=').next() == Some("verbose")));
    let is_shown = |check: &&Check| verbose || matches!(check.mark, Mark::Failed | Mark::Broken);
    let mut text: String = checks.iter().filter(is_shown).map(ToString::to_string).collect();
    text.push_str(if is_ready { "ok\n" } else { "not ready\n" });
    (code, text).into_response()
}

async fn metrics(State(server): State<Arc<Server>>, headers: HeaderMap) -> Response {
    let Server { health, reviews } = &*server;
    if let Some(reviews) = reviews {
        let authorization = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        if let Some(refusal) = refusal(reviews.judge(authorization).await) {
            return refusal;
        }
    }
    let with_ids = health.per_object && (health.access.secure || health.access.tenant_ids);
    if let Some(operator) = &health.operators.cluster {
        operator.read_gauges();
    }
    if let Some(operator) = &health.operators.kubeconfig {
        operator.read_gauges();
    }
    let text = match &health.operators.subscription {
        None => health.metrics.text(),
        Some(operator) => match operator.scrape(with_ids).await {
            Ok(text) => text,
            // A ledger that does not answer is when the rest of the metrics is needed most.
            Err(trouble) => {
                tracing::warn!(error = %trouble, "the gauges of the pool are old");
                health.metrics.text()
            }
        },
    };
    ([(CONTENT_TYPE, OPEN_METRICS)], text).into_response()
}

/// The answer to somebody who may not read metrics.
fn refusal(verdict: Verdict) -> Option<Response> {
    let (code, text) = match verdict {
        Verdict::Allowed => return None,
        Verdict::NoToken => (
            StatusCode::UNAUTHORIZED,
            "metrics are served to bearers of a token: send `Authorization: Bearer <token>`\n",
        ),
        Verdict::Unknown => (StatusCode::UNAUTHORIZED, "the control plane does not know this token\n"),
        Verdict::Forbidden => (
            StatusCode::FORBIDDEN,
            "the bearer of this token may not `get` the URL /metrics: bind a ClusterRole with that right\n",
        ),
        Verdict::NotNow => (StatusCode::SERVICE_UNAVAILABLE, "the token cannot be checked now: try again\n"),
    };
    let mut response = (code, text).into_response();
    if code == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    Some(response)
}

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Good,
    /// A person has to look. The process is ready nevertheless: one that is not would drop out of what Prometheus reads.
    Worry,
    /// It does not work, and neither another replica nor a restart could mend that: the process is ready.
    Broken,
    /// It does not work here. Another replica may work, or this one after a restart.
    Failed,
}

struct Check {
    name: &'static str,
    mark: Mark,
    says: String,
}

impl Check {
    fn new(name: &'static str, (mark, says): (Mark, String)) -> Self {
        Self { name, mark, says }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.mark {
            Mark::Good => '+',
            Mark::Worry => '!',
            Mark::Broken | Mark::Failed => '-',
        };
        writeln!(formatter, "[{mark}] {}: {}", self.name, self.says)
    }
}

impl Health {
    async fn checks(&self) -> Vec<Check> {
        let Operators { subscription, cluster, kubeconfig, cleanup, .. } = &self.operators;
        let statements = self.metrics.dependencies().statements();
        let failing: BTreeSet<Dependency> =
            statements.iter().filter(|it| it.is_failing()).map(|it| it.dependency).collect();
        let standing = |is_complete, leads| standing(is_complete, leads, &failing);
        let mut checks = Vec::new();
        if let Some(operator) = subscription {
            checks.push(Check::new("subscription", standing(operator.is_complete(), operator.is_leading())));
            checks.extend(about_accounts(operator, &failing).await);
        }
        if let Some(operator) = cluster {
            checks.push(Check::new("cluster", standing(operator.is_complete(), operator.is_leading())));
        }
        if let Some(operator) = kubeconfig {
            checks.push(Check::new("kubeconfig", standing(operator.is_complete(), operator.is_leading())));
        }
        if let Some(operator) = cleanup {
            checks.push(Check::new("cleanup", standing(operator.is_complete(), operator.is_leading())));
            let halted: BTreeSet<String> = operator.report().halted.into_values().collect();
            checks.extend(halted.into_iter().map(|because| {
                Check::new("cleaning", (Mark::Worry, format!("accounts are not cleaned: {because}")))
            }));
        }
        checks.extend(statements.iter().map(|statement| {
            let mark = if statement.is_failing() { Mark::Broken } else { Mark::Good };
            Check::new(statement.dependency.as_str(), (mark, statement.to_string()))
        }));
        let rejected = self.rejected.borrow().clone();
        checks.push(Check::new(
            "configuration",
            match rejected {
                None => (Mark::Good, "the newest is in force".to_owned()),
                Some(why) => (Mark::Worry, format!("the last good one is in force: {why}")),
            },
        ));
        checks.push(Check::new(
            "tenancy",
            match *self.tenancy.borrow() {
                Mode::Enforced => (Mark::Good, "enforced".to_owned()),
                Mode::Trusted => (Mark::Worry, TRUSTED.to_owned()),
            },
        ));
        checks
    }
}

/// How an operator stands.
fn standing(is_complete: bool, leads: bool, failing: &BTreeSet<Dependency>) -> (Mark, String) {
    match (is_complete, leads) {
        (false, _) => (Mark::Failed, "the caches are not complete yet".to_owned()),
        (true, false) if failing.contains(&Dependency::Lease) => (
            Mark::Broken,
            "does not lead, and cannot try to: its Lease can be neither read nor written".to_owned(),
        ),
        (true, true) => (Mark::Good, "leads".to_owned()),
        (true, false) => (Mark::Good, "standby".to_owned()),
    }
}

/// The ledger, and what stands against handing out.
async fn about_accounts(operator: &subscription::Operator, failing: &BTreeSet<Dependency>) -> Vec<Check> {
    let ledger = match timeout(LEDGER_DEADLINE, operator.ledger().epoch()).await {
        Ok(Ok(epoch)) => match operator.ledger().writes().error {
            None => (Mark::Good, format!("reachable, epoch {epoch}")),
            Some(error) => (Mark::Broken, format!("it can be read, but the last write failed: {error}")),
        },
        Ok(Err(error)) => (Mark::Broken, error.to_string()),
        Err(_) => (Mark::Broken, format!("no answer in {} s", LEDGER_DEADLINE.as_secs())),
    };
    let halted = operator.halted().borrow().clone();
    let halted = match halted {
        Some(why) => (Mark::Worry, why),
        None if ledger.0 == Mark::Broken => {
            (Mark::Worry, "nothing is handed out while the ledger does not work".to_owned())
        }
        None if [Dependency::GardenRead, Dependency::GardenWrite].iter().any(|it| failing.contains(it)) => {
            (Mark::Worry, "nothing is handed out while the garden does not answer".to_owned())
        }
        None => (Mark::Good, "nothing stands against it".to_owned()),
    };
    let quarantined = operator.with_index(|index| index.quarantined());
    let accounts = match operator.to_look_at() {
        none if none.is_empty() && quarantined == 0 => (Mark::Good, "none needs a person".to_owned()),
        // Anybody may read this page: which ones they are, and whose, is not on it.
        some => {
            let says = format!(
                "{} need a person, {quarantined} are in quarantine; `allotment pool doctor` names them",
                some.len()
            );
            (Mark::Worry, says)
        }
    };
    let mut checks = vec![Check::new("ledger", ledger)];
    checks.extend(about_durability(operator).await);
    checks.extend([Check::new("handing out", halted), Check::new("accounts", accounts)]);
    checks
}

/// What a commit of the ledger survives, where its database says so.
async fn about_durability(operator: &subscription::Operator) -> Option<Check> {
    let durability = timeout(LEDGER_DEADLINE, operator.ledger().durability()).await.ok()?.ok()??;
    let says = match durability.warning() {
        None => (Mark::Good, durability.to_string()),
        Some(warning) => (Mark::Worry, format!("{warning} ({durability})")),
    };
    Some(Check::new("commits", says))
}
