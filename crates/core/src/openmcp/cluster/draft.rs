//! What the status of a Cluster says.

use super::{Decision, Record, Step, View};
use crate::{
    cluster::flow::reading,
    openmcp::status::{Finding, report},
};
use allotment_api::{
    condition::ConditionStatus,
    gardener::{Shoot, ShootCondition},
    openmcp::{
        ClusterStatus, Endpoint, Status,
        gardener::names::{ProviderCondition, Reason, SHOOT_CONDITION_PREFIX},
        names::endpoint,
    },
};

/// A status that is being put together.
pub(super) struct Draft<'a> {
    view: &'a View<'a>,
    findings: Vec<Finding>,
    record: Option<Record>,
    endpoints: Vec<Endpoint>,
    api_server: Option<String>,
    /// The conditions that the Shoot reports; the others of its are dropped.
    of_shoot: Option<Vec<String>>,
    /// Conditions that no longer mean anything.
    dropped: Vec<&'static str>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(view: &'a View<'a>) -> Self {
        let before = view.cluster.status.as_ref();
        Self {
            view,
            findings: Vec::new(),
            record: Record::of(view.cluster),
            endpoints: before.map(|status| status.endpoints.clone()).unwrap_or_default(),
            api_server: before.and_then(|status| status.api_server.clone()),
            of_shoot: None,
            dropped: Vec::new(),
        }
    }

    pub(super) fn holds(&mut self, type_: ProviderCondition) {
        self.findings.push(Finding::holds(type_.as_str()));
    }

    pub(super) fn fails(&mut self, type_: ProviderCondition, reason: &str, message: impl Into<String>) {
        self.findings.push(Finding::fails(type_.as_str(), reason, message));
    }

    /// How it stands with the Shoot.
    pub(super) fn shoot_fails(&mut self, reason: Reason, message: impl Into<String>) {
        self.fails(ProviderCondition::ShootManagement, reason.as_str(), message);
    }

    /// The Shoot is as asked for, and Gardener has done it.
    pub(super) fn shoot_holds(&mut self, notes: &[String]) {
        let finding = Finding::holds(ProviderCondition::ShootManagement.as_str());
        let finding = if notes.is_empty() { finding } else { finding.because("", notes.join("; ")) };
        self.findings.push(finding);
    }

    pub(super) fn record(&mut self, record: Record) {
        self.record = Some(record);
    }

    /// There is no Shoot: nothing leads to it, and nothing is known of how it is.
    pub(super) fn without_shoot(&mut self) {
        self.endpoints = Vec::new();
        self.api_server = None;
        self.of_shoot = Some(Vec::new());
    }

    pub(super) fn drop_condition(&mut self, type_: ProviderCondition) {
        self.dropped.push(type_.as_str());
    }

    /// What the Shoot says of itself.
    pub(super) fn facts(&mut self, shoot: &Shoot) {
        let status = shoot.status.as_ref();
        let addresses = status.map(|status| status.advertised_addresses.as_slice()).unwrap_or_default();
        let named = |name: &str| addresses.iter().find(|address| address.name == name);
        let contract =
            [("external", endpoint::APISERVER_EXTERNAL), ("internal", endpoint::APISERVER_INTERNAL)];
        let contract = contract.into_iter().filter_map(|(name, ours)| {
            Some(Endpoint { name: ours.to_owned(), url: named(name)?.url.clone() })
        });
        let theirs = addresses.iter().map(|it| Endpoint { name: it.name.clone(), url: it.url.clone() });
        // The names of the contract and, beside them, Gardener's, which upstream's consumers may look for.
        self.endpoints = contract.chain(theirs).collect();
        self.api_server = reading::address(status);
        let conditions = status.map(|status| status.conditions.as_slice()).unwrap_or_default();
        self.of_shoot = Some(conditions.iter().map(|condition| prefixed(&condition.type_)).collect());
        self.findings.extend(conditions.iter().map(copied));
        let ShootIdentity { name, namespace, uid } = ShootIdentity::of(shoot);
        let before = self.record.take();
        let place = self.view.place.ok();
        self.record = Some(Record {
            landscape: place
                .map(|place| place.landscape.clone())
                .or(before.as_ref().and_then(|it| it.landscape.clone())),
            project: place.and_then(|place| place.project.clone()).or(before.and_then(|it| it.project)),
            namespace,
            shoot: name,
            uid,
        });
    }

    pub(super) fn rest(self) -> Decision {
        let Self { view, findings, record, endpoints, api_server, of_shoot, dropped } = self;
        let before = view.cluster.status.as_ref();
        let mut common = before.map(|status| status.common.clone());
        if let Some(common) = &mut common {
            common.conditions.retain(|condition| {
                let is_of_shoot = condition.type_.starts_with(SHOOT_CONDITION_PREFIX);
                let is_reported = of_shoot.as_ref().is_none_or(|all| all.contains(&condition.type_));
                (!is_of_shoot || is_reported) && !dropped.contains(&condition.type_.as_str())
            });
        }
        let common: Status = report(&view.cluster.metadata, common.as_ref(), findings, view.now);
        let provider_status = record.map(|record| record.to_value());
        let status = ClusterStatus { common, api_server, provider_status, endpoints };
        Decision { step: Step::Rest, status, again: None }
    }
}

struct ShootIdentity {
    name: String,
    namespace: String,
    uid: Option<String>,
}

impl ShootIdentity {
    fn of(shoot: &Shoot) -> Self {
        let part = |part: &Option<String>| part.clone().unwrap_or_default();
        let metadata = &shoot.metadata;
        Self { name: part(&metadata.name), namespace: part(&metadata.namespace), uid: metadata.uid.clone() }
    }
}

fn prefixed(type_: &str) -> String {
    format!("{SHOOT_CONDITION_PREFIX}{type_}")
}

/// A condition of the Shoot's. `Progressing` is neither good nor bad to Gardener; here it does not hold.
fn copied(condition: &ShootCondition) -> Finding {
    let ShootCondition { type_, status, reason, message, .. } = condition;
    Finding {
        type_: prefixed(type_),
        status: match status.as_str() {
            "True" => ConditionStatus::True,
            "Unknown" => ConditionStatus::Unknown,
            _ => ConditionStatus::False,
        },
        reason: reason.clone(),
        message: message.clone(),
    }
}
