//! `allotment cluster explain`.

use super::{Opened, not_there};
use crate::output::{self, Format, Paint};
use allotment_api::{condition::ConditionStatus, kyma::ClusterPhase};
use allotment_core::cluster::flow::{Awaited, Decision};
use allotment_operator::cluster::{ClusterName, Found};
use anyhow::Result;
use kube::ResourceExt;
use serde_json::{Value, json};
use std::process::ExitCode;

pub(super) async fn run(opened: &Opened, name: ClusterName, format: Option<Format>) -> Result<ExitCode> {
    let Some(found) = opened.inspector.find(&name).await? else { return Ok(not_there(&name)) };
    let decision = opened.inspector.decide(&found);
    match format {
        Some(format) => output::print_value(&for_machines(&name, &found, &decision), format)?,
        None => output::print(&for_people(&name, &found, &decision))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn for_machines(name: &ClusterName, found: &Found, decision: &Decision) -> Value {
    let (awaited, words) = decision.awaited(&found.cluster);
    let asked = found.request.as_ref();
    let status = asked.and_then(|request| request.status.as_ref());
    json!({
        "cluster": { "namespace": name.namespace, "name": name.name },
        "phase": decision.status.phase,
        "waitsFor": { "what": awaited, "because": words },
        "next": { "step": decision.step.to_string(), "againInSeconds": decision.again.map(|wait| wait.as_secs()) },
        "account": {
            "request": asked.map(ResourceExt::name_any),
            "phase": status.and_then(|status| status.phase),
            "binding": status.and_then(|status| status.gardener_secret_name.clone()),
            "tenant": status.and_then(|status| status.tenant_name.clone()),
            "matchedRule": status.and_then(|status| status.matched_rule.clone()),
            "queuePosition": status.and_then(|status| status.queue_position),
        },
        "shoot": {
            "name": decision.status.shoot_name,
            "uid": decision.status.shoot_uid,
            "apiServer": decision.status.api_server,
            "kubernetesVersion": decision.status.kubernetes_version,
            "progress": decision.status.progress,
            "lastOperation": decision.status.last_operation,
            "retries": decision.status.retries,
        },
        "conditions": decision.status.conditions,
    })
}

fn for_people(name: &ClusterName, found: &Found, decision: &Decision) -> String {
    let (paint, status) = (Paint::for_standard_output(), &decision.status);
    let (awaited, words) = decision.awaited(&found.cluster);
    let phase = status.phase.unwrap_or(ClusterPhase::Pending);
    let shown = match awaited {
        Awaited::Nothing => paint.green(phase.as_str()),
        Awaited::Person => paint.red(phase.as_str()),
        _ => paint.yellow(phase.as_str()),
    };
    let mut rows = vec![["Cluster".to_owned(), format!("{name}, {shown}")]];
    let mut row = |what: &str, says: String| rows.push([what.to_owned(), says]);
    let waits_for = match words.as_str() {
        "" => awaited.to_string(),
        words => format!("{awaited}: {words}"),
    };
    row("waits for", waits_for);
    row("next", next(decision));
    if let Some(account) = account(found) {
        row("account", account);
    }
    if let Some(shoot) = &status.shoot_name {
        row("Shoot", shoot_line(shoot, decision));
    }
    if let Some(address) = &status.api_server {
        let version = status.kubernetes_version.as_deref().unwrap_or("a version that is not known");
        row("API server", format!("{address}, {version}"));
    }
    format!("{}\n{}", output::table(&rows), conditions(decision, paint))
}

fn next(decision: &Decision) -> String {
    match decision.again {
        None => decision.step.to_string(),
        Some(wait) => format!("{}; it is looked at again in {} s", decision.step, wait.as_secs()),
    }
}

fn account(found: &Found) -> Option<String> {
    let request = found.request.as_ref()?;
    let status = request.status.clone().unwrap_or_default();
    let binding = status.gardener_secret_name.unwrap_or_else(|| "none yet".to_owned());
    let tenant = status.tenant_name.map_or_else(String::new, |tenant| format!(", of {tenant}"));
    let phase = status.phase.map_or_else(|| "Pending".to_owned(), |phase| format!("{phase:?}"));
    let place =
        status.queue_position.map_or_else(String::new, |place| format!(", place {place} in the queue"));
    let rule = status.matched_rule.map_or_else(String::new, |rule| format!(", by rule {rule}"));
    Some(format!("{binding}{tenant}{rule} (SubscriptionRequest {} is {phase}{place})", request.name_any()))
}

fn shoot_line(shoot: &str, decision: &Decision) -> String {
    let status = &decision.status;
    let Some(operation) = &status.last_operation else {
        return format!("{shoot}, which Gardener has not begun yet");
    };
    let progress = status.progress.map_or_else(String::new, |progress| format!(", {progress} %"));
    let retries = status.retries.map_or_else(String::new, |retries| format!(", asked again {retries} times"));
    format!("{shoot}: {} {}{progress}{retries}: {}", operation.type_, operation.state, operation.description)
}

fn conditions(decision: &Decision, paint: Paint) -> String {
    let heading = ["CONDITION", "STATUS", "REASON", "MESSAGE"].map(str::to_owned);
    let all = &decision.status.conditions;
    let row = |condition: &allotment_api::condition::Condition| {
        let status = format!("{:?}", condition.status);
        [condition.type_.clone(), status, condition.reason.clone(), condition.message.clone()]
    };
    let rows: Vec<_> = std::iter::once(heading).chain(all.iter().map(row)).collect();
    let table = output::table(&rows);
    let mut lines = table.lines();
    let mut text = lines.next().map_or_else(String::new, |head| paint.bold(head) + "\n");
    for (line, condition) in lines.zip(all) {
        text.push_str(&match condition.status {
            ConditionStatus::True => line.to_owned(),
            _ => paint.yellow(line),
        });
        text.push('\n');
    }
    text
}
