//! The status, as it is put together.

use super::{Decision, Step, View};
use crate::{
    condition::{self, Verdict},
    marks::{self, MARKS_IGNORED},
};
use allotment_api::{
    condition::ConditionStatus,
    kyma::{
        KubeconfigCondition, KubeconfigPhase, KubeconfigRequest, KubeconfigRequestStatus, TokenState,
        TokenStatus,
    },
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use std::time::Duration;

pub(super) struct Draft {
    pub status: KubeconfigRequestStatus,
    generation: Option<i64>,
    now: Timestamp,
}

impl Draft {
    pub fn new(view: &View<'_>) -> Self {
        let mut status = view.request.status.clone().unwrap_or_default();
        status.kubeconfig = None;
        Self { status, generation: view.request.metadata.generation, now: view.now }
    }

    pub fn say(
        &mut self,
        type_: KubeconfigCondition,
        holds: bool,
        reason: &'static str,
        message: impl Into<String>,
    ) {
        let status = if holds { ConditionStatus::True } else { ConditionStatus::False };
        let verdict = Verdict { type_: type_.as_str(), status, reason, message: message.into() };
        condition::set(&mut self.status.conditions, verdict, self.generation, self.now);
    }

    pub fn drop_condition(&mut self, type_: KubeconfigCondition) {
        self.status.conditions.retain(|condition| condition.type_ != type_.as_str());
    }

    pub fn holds(&self, type_: KubeconfigCondition) -> bool {
        condition::find(&self.status.conditions, type_.as_str())
            .is_some_and(|condition| condition.status == ConditionStatus::True)
    }

    /// Says that there is no kubeconfig, and why.
    pub fn not_yet(&mut self, phase: KubeconfigPhase, reason: &'static str, message: impl Into<String>) {
        self.status.phase = Some(phase);
        self.say(KubeconfigCondition::Ready, false, reason, message);
    }

    /// These tokens are gone by now, unless it is known that they went before.
    pub fn note_end(&mut self, is_meant: impl Fn(&TokenStatus) -> bool) {
        for token in self.status.tokens.iter_mut().filter(|token| is_meant(token)) {
            token.ended_at.get_or_insert(Time(self.now));
        }
    }

    /// Nothing of it is in the cluster any more.
    pub fn forget_tokens(&mut self) {
        self.status.tokens.clear();
        self.status.expiration_timestamp = None;
        self.status.issued_at = None;
        self.status.secret_ref = None;
        self.status.made_for = None;
        self.status.shoot = None;
        self.status.brought = None;
    }

    /// Reports ownerReferences that are not ours.
    pub fn tell_marks(&mut self, request: &KubeconfigRequest) {
        let (conditions, verdict) = (&mut self.status.conditions, marks::of_access(request));
        condition::set_or_remove(conditions, MARKS_IGNORED, verdict, self.generation, self.now);
    }

    pub fn tokens_in(&self, state: TokenState) -> impl Iterator<Item = &TokenStatus> {
        self.status.tokens.iter().filter(move |token| token.state == state)
    }

    pub fn observe(&mut self) {
        self.status.observed_generation = self.generation;
    }
}

pub(super) fn rest(draft: Draft) -> Decision {
    Decision { step: Step::Rest, status: draft.status, again: None, is_failed: false, is_maintained: true }
}

impl Decision {
    pub(super) fn step(mut self, step: Step) -> Self {
        self.step = step;
        self
    }

    pub(super) fn after(mut self, wait: Duration) -> Self {
        self.again = Some(wait);
        self
    }

    pub(super) fn not_maintained(mut self) -> Self {
        self.is_maintained = false;
        self
    }

    pub(super) fn failed(mut self) -> Self {
        self.is_failed = true;
        self
    }
}
