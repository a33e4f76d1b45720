//! The status, as it is put together.

use super::{View, is_marked, reading, reading::Stage};
use crate::{
    cluster::{Note, Problems},
    condition::{self, Verdict},
};
use allotment_api::{
    condition::ConditionStatus,
    gardener::Shoot,
    kyma::{ClusterCondition, ClusterPhase, ClusterStatus},
    names::annotation,
};
use jiff::Timestamp;

/// The reason of what is not applied because it gives access to somebody who may not have it.
const WITHHELD: &str = "Withheld";

const PAUSED: &str = " (paused by the annotation allotment.dev/pause)";

/// A status in the making: it begins with the one that is there.
pub(super) struct Draft {
    pub status: ClusterStatus,
    generation: Option<i64>,
    now: Timestamp,
}

impl Draft {
    pub fn new(view: &View<'_>) -> Self {
        let mut status = view.cluster.status.clone().unwrap_or_default();
        let generation = view.cluster.metadata.generation;
        status.observed_generation = generation;
        Self { status, generation, now: view.now }
    }

    pub fn put(&mut self, verdict: Verdict) {
        condition::set(&mut self.status.conditions, verdict, self.generation, self.now);
    }

    pub fn say(
        &mut self,
        type_: ClusterCondition,
        holds: bool,
        reason: &'static str,
        message: impl Into<String>,
    ) {
        let status = if holds { ConditionStatus::True } else { ConditionStatus::False };
        self.put(Verdict { type_: type_.as_str(), status, reason, message: message.into() });
    }

    /// Says that it is not provisioned, and how far it is.
    pub fn not_yet(&mut self, phase: ClusterPhase, reason: &'static str, message: impl Into<String>) {
        self.status.phase = Some(phase);
        self.say(ClusterCondition::ClusterProvisioned, false, reason, message);
    }

    pub fn problems(&mut self, problems: &Problems) {
        let phase = if problems.is_platforms() { ClusterPhase::Blocked } else { ClusterPhase::Invalid };
        self.status.phase = Some(phase);
        problems.verdicts().into_iter().for_each(|verdict| self.put(verdict));
    }

    /// Adds to the message of a condition.
    pub fn append(&mut self, type_: ClusterCondition, words: &str) {
        let said = self.status.conditions.iter_mut().find(|condition| condition.type_ == type_.as_str());
        if let Some(said) = said {
            said.message.push_str(words);
        }
    }

    pub fn drop_condition(&mut self, type_: ClusterCondition) {
        self.status.conditions.retain(|condition| condition.type_ != type_.as_str());
    }

    /// Whether it is said that something holds, or does not.
    pub fn says(&self, type_: ClusterCondition) -> bool {
        condition::find(&self.status.conditions, type_.as_str()).is_some()
    }

    pub fn holds(&self, type_: ClusterCondition) -> bool {
        condition::find(&self.status.conditions, type_.as_str())
            .is_some_and(|condition| condition.status == ConditionStatus::True)
    }

    /// What a Shoot tells by itself, whatever else is the matter. Its UID is written down only once it is settled that it is
    /// ours: what the status names is deleted with the Cluster.
    pub fn facts(&mut self, shoot: &Shoot, is_settled: bool) {
        let status = shoot.status.as_ref();
        let is_new =
            is_settled && self.status.shoot_uid.is_some() && self.status.shoot_uid != shoot.metadata.uid;
        if is_new {
            self.status.administrators.clear();
            self.status.retries = None;
            self.drop_condition(ClusterCondition::AdministratorsApplied);
        }
        let was_healthy = self.holds(ClusterCondition::ClusterProvisioned) && !is_new;
        if is_settled {
            self.status.shoot_name.clone_from(&shoot.metadata.name);
            self.status.shoot_uid.clone_from(&shoot.metadata.uid);
        }
        self.status.api_server = reading::address(status);
        self.status.kubernetes_version.clone_from(&shoot.spec.kubernetes.version);
        self.status.last_operation = reading::operation(status);
        self.status.progress = Some(reading::progress(status));
        self.put(reading::health(status, was_healthy));
    }

    /// How far a Shoot is that is as rendered.
    pub fn stage(&mut self, shoot: &Shoot) {
        let words = self.status.last_operation.as_ref().map(|operation| operation.description.clone());
        let words = words.unwrap_or_else(|| "Gardener has not begun yet".to_owned());
        let is_first =
            self.status.last_operation.as_ref().is_none_or(|operation| operation.type_ == "Create")
                && !was_ready(self.status.phase);
        match reading::stage(shoot) {
            Stage::GivenUp => {
                let (why, codes) = reading::errors(shoot.status.as_ref());
                let codes = if codes.is_empty() { String::new() } else { format!(" ({})", codes.join(", ")) };
                let message = format!("Gardener has given up: {why}{codes}");
                self.not_yet(ClusterPhase::Failed, "ShootFailed", message);
            }
            Stage::Working if is_first => self.not_yet(ClusterPhase::Creating, "Creating", words),
            Stage::Working => self.not_yet(ClusterPhase::Updating, "Updating", words),
            Stage::Done if self.status.api_server.is_none() => {
                self.not_yet(
                    ClusterPhase::Creating,
                    "NoAddress",
                    "Gardener has not said where its API server is",
                );
            }
            Stage::Done if !self.holds(ClusterCondition::ShootHealthy) => {
                let health =
                    condition::find(&self.status.conditions, ClusterCondition::ShootHealthy.as_str());
                let message = health.map(|health| health.message.clone()).unwrap_or_default();
                // One that was never healthy is not ill, and neither is one that was just changed: it is not there yet.
                let (phase, reason) = match self.status.phase {
                    _ if is_first => (ClusterPhase::Creating, "Creating"),
                    Some(ClusterPhase::Updating) if reading::is_progressing(shoot.status.as_ref()) => {
                        (ClusterPhase::Updating, "Updating")
                    }
                    _ => (ClusterPhase::Unhealthy, "Unhealthy"),
                };
                self.not_yet(phase, reason, message);
            }
            Stage::Done => {
                self.status.phase = Some(ClusterPhase::Ready);
                self.status.retries = None;
                self.say(ClusterCondition::ClusterProvisioned, true, "Ready", "cluster running");
            }
        }
    }

    /// Says who has cluster-admin, or from whom it is withheld.
    pub fn administrated(&mut self, users: &[String], withheld: Option<String>) {
        let applied = ClusterCondition::AdministratorsApplied;
        match (users.len(), withheld) {
            (_, Some(why)) => self.say(applied, false, WITHHELD, why),
            (0, None) => self.drop_condition(applied),
            (1, None) => self.say(applied, true, "Applied", "1 user has cluster-admin"),
            (many, None) => self.say(applied, true, "Applied", format!("{many} users have cluster-admin")),
        }
    }

    /// Whether it is said that something is withheld.
    pub fn is_withheld(&self, type_: ClusterCondition) -> bool {
        condition::find(&self.status.conditions, type_.as_str()).is_some_and(|said| said.reason == WITHHELD)
    }

    /// Whether the issuers are rolled out or withheld, and what could not be done as asked.
    pub fn oidc(&mut self, view: &View<'_>, notes: &[Note], is_rolled_out: bool, withheld: Option<String>) {
        if let Some(withheld) = withheld {
            return self.say(ClusterCondition::OidcApplied, false, WITHHELD, withheld);
        }
        let spec = &view.cluster.spec;
        if spec.oidc_config.is_none() && spec.additional_oidc_configs.is_empty() {
            return self.drop_condition(ClusterCondition::OidcApplied);
        }
        let notes: Vec<String> = notes
            .iter()
            .filter(|note| note.about == ClusterCondition::OidcApplied)
            .map(ToString::to_string)
            .collect();
        let (reason, mut message) = match is_rolled_out {
            true => ("Applied", "the issuers are rolled out".to_owned()),
            false => ("RollingOut", "the issuers are being rolled out".to_owned()),
        };
        if !notes.is_empty() {
            message = format!("{message}; {}", notes.join("; "));
        }
        self.say(ClusterCondition::OidcApplied, is_rolled_out, reason, message);
    }
}

/// Something is left undone: this generation was not taken note of. Whoever waits for it goes on waiting, nobody is told that
/// it is ready, and it is done at once when the pause is over, not as part of a rollout.
pub(super) fn hold_back(view: &View<'_>, status: &mut ClusterStatus) {
    let before = view.cluster.status.as_ref();
    let generation = status.observed_generation;
    status.observed_generation = before.and_then(|before| before.observed_generation);
    if status.observed_generation == generation || status.phase != Some(ClusterPhase::Ready) {
        return;
    }
    // As it was: a condition that is set twice would change at every look.
    let type_ = ClusterCondition::ClusterProvisioned.as_str();
    let said = before.and_then(|before| condition::find(&before.conditions, type_)).cloned();
    status.conditions.retain(|condition| condition.type_ != type_);
    status.conditions.extend(said);
    status.conditions.sort_by(|one, other| one.type_.cmp(&other.type_));
    let mut draft = Draft { status: std::mem::take(status), generation, now: view.now };
    draft.not_yet(ClusterPhase::Updating, "Updating", "what is asked for is not brought to the cluster yet");
    *status = draft.status;
}

/// Says that the annotation that asks for a Shoot does nothing, while it is there.
pub(super) fn note_annotation(view: &View<'_>, status: &mut ClusterStatus) {
    let generation = view.cluster.metadata.generation;
    let mut draft = Draft { status: std::mem::take(status), generation, now: view.now };
    if is_marked(view.cluster, annotation::ADOPT_SHOOT) {
        let message = format!(
            "the annotation {} does nothing: only the platform has a Shoot adopted, by a ShootAdoption",
            annotation::ADOPT_SHOOT
        );
        draft.say(ClusterCondition::ShootAdopted, false, "AnnotationIgnored", message);
    } else {
        draft.drop_condition(ClusterCondition::ShootAdopted);
    }
    *status = draft.status;
}

/// Says in the one condition that everybody reads that nothing is done.
pub(super) fn note_pause(view: &View<'_>, status: &mut ClusterStatus) {
    // It was paused before anybody had said anything.
    if status.phase.is_none() {
        let phase = match view.cluster.metadata.deletion_timestamp {
            None => ClusterPhase::Pending,
            Some(_) => ClusterPhase::Deleting,
        };
        let generation = view.cluster.metadata.generation;
        let mut draft = Draft { status: std::mem::take(status), generation, now: view.now };
        draft.not_yet(phase, phase.as_str(), "nothing was done yet");
        *status = draft.status;
    }
    let type_ = ClusterCondition::ClusterProvisioned.as_str();
    let condition = status.conditions.iter_mut().find(|condition| condition.type_ == type_);
    if let Some(condition) = condition
        && !condition.message.ends_with(PAUSED)
    {
        condition.message.push_str(PAUSED);
    }
}

fn was_ready(phase: Option<ClusterPhase>) -> bool {
    matches!(
        phase,
        Some(ClusterPhase::Ready | ClusterPhase::Updating | ClusterPhase::Unhealthy | ClusterPhase::Invalid)
    )
}
