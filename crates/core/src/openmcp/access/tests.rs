//! What is done about a request, step by step.

mod always;
mod locked;

use super::*;
use crate::condition;
use allotment_api::{
    condition::ConditionStatus,
    openmcp::{AccessRequest, gardener::names::finalizer, names::annotation},
};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

const PROVIDER: Provider<'static> = Provider {
    environment: "prod",
    name: "gardener",
    namespace: "accessrequests",
    prefixes: Prefixes::WithColon,
};

/// A request in a world where every step works, until something is said to go wrong.
#[derive(Clone)]
struct World {
    request: AccessRequest,
    refusal: Option<&'static str>,
    target: Target,
    is_locked: bool,
    secret: Option<Issued>,
    /// What a kubeconfig would be made for now.
    made_for: String,
    is_look_due: bool,
    /// What goes wrong inside.
    trouble: Option<Hitch>,
    seconds: Option<i64>,
    is_gone: bool,
    now: Timestamp,
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn passing() -> Option<Hitch> {
    let message = "connection refused".to_owned();
    Some(Hitch { reason: "ShootClusterInteractionProblem", message, fate: Fate::Passes })
}

impl World {
    fn new(access: Value) -> Self {
        let mut spec = access;
        spec["clusterRef"] = json!({ "name": "c", "namespace": "n" });
        let request = json!({
            "apiVersion": "clusters.openmcp.cloud/v1alpha1",
            "kind": "AccessRequest",
            "metadata": {
                "name": "a", "namespace": "n", "uid": "u", "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z",
                "labels": {
                    "clusters.openmcp.cloud/provider": "gardener", "clusters.openmcp.cloud/profile": "prod.gardener.x",
                },
            },
            "spec": spec,
            "status": { "phase": "Pending", "observedGeneration": 1 },
        });
        Self {
            request: serde_json::from_value(request).unwrap(),
            refusal: None,
            target: Target::Shoot { uid: "shoot".to_owned(), is_made: true, is_ready: true },
            secret: None,
            is_locked: false,
            made_for: "1".to_owned(),
            is_look_due: false,
            trouble: None,
            seconds: None,
            is_gone: false,
            now: at("2026-01-01T00:10:00Z"),
        }
    }

    fn token() -> Self {
        Self::new(json!({ "token": {} }))
    }

    fn oidc() -> Self {
        Self::new(json!({ "oidc": {
            "name": "idp", "issuer": "https://issuer.example.com", "clientID": "c", "roleBindings": [],
        } }))
    }

    /// Everything that is done at one look, and the decision at its end.
    fn look(&mut self) -> (Vec<&'static str>, Decision) {
        let (mut inside, mut hitch, mut is_issued, mut is_withdrawn) = (None, None, false, false);
        let mut steps = Vec::new();
        loop {
            let target = self.target.clone();
            let view = View {
                provider: &PROVIDER,
                request: &self.request,
                refusal: self.refusal,
                target: &target,
                is_locked: self.is_locked,
                secret: self.secret.as_ref(),
                inside: inside.as_ref(),
                is_issued,
                is_withdrawn,
                hitch: hitch.as_ref(),
                is_look_due: self.is_look_due && inside.is_none(),
                now: self.now,
            };
            let decision = decide(&view);
            assert!(steps.len() < 10, "{steps:?}");
            match &decision.step {
                Step::Leave => {
                    steps.push("leave");
                    return (steps, decision);
                }
                Step::Rest => {
                    self.request.status = Some(decision.status.clone());
                    return (steps, decision);
                }
                Step::Hold => {
                    self.request.metadata.finalizers = Some(vec![finalizer::ACCESS_REQUEST.to_owned()]);
                    steps.push("hold");
                }
                Step::Grant(_) => {
                    steps.push("grant");
                    hitch.clone_from(&self.trouble);
                    if hitch.is_none() {
                        inside = Some(Inside { made_for: self.made_for.clone() });
                    }
                }
                Step::Issue { seconds, .. } => {
                    steps.push("issue");
                    self.seconds = *seconds;
                    let expires = seconds.map(|seconds| self.now + SignedDuration::from_secs(seconds));
                    self.secret = Some(Issued {
                        shoot: "shoot".to_owned(),
                        made_for: self.made_for.clone(),
                        created: self.now,
                        expires,
                    });
                    is_issued = true;
                }
                Step::Unmark => {
                    self.request.metadata.annotations = None;
                    steps.push("unmark");
                }
                Step::Withdraw => {
                    steps.push("withdraw");
                    let trouble = self.trouble.clone().filter(|trouble| trouble.fate != Fate::Lasts);
                    is_withdrawn = trouble.is_none();
                    hitch = trouble.or(hitch);
                }
                Step::Clear => {
                    self.secret = None;
                    steps.push("clear");
                }
                Step::LetGo => {
                    self.is_gone = true;
                    steps.push("let go");
                    return (steps, decision);
                }
            }
        }
    }

    fn steps(&mut self) -> Vec<&'static str> {
        self.look().0
    }

    fn granted(mut self) -> Self {
        self.steps();
        assert_eq!(self.phase(), "Granted");
        self
    }

    fn phase(&self) -> &str {
        &self.request.status.as_ref().unwrap().common.phase
    }

    fn condition(&self, type_: &str) -> (bool, &str) {
        let condition =
            condition::find(&self.request.status.as_ref().unwrap().common.conditions, type_).unwrap();
        (condition.status == ConditionStatus::True, &condition.reason)
    }

    /// As the generic controller hands over what was changed.
    fn change(&mut self) {
        self.request.metadata.generation = Some(2);
        let status = self.request.status.as_mut().unwrap();
        status.common.phase = "Pending".to_owned();
        status.common.observed_generation = 2;
    }

    fn delete(&mut self) {
        self.request.metadata.deletion_timestamp = Some(self.now.into());
    }

    fn later(&mut self, duration: SignedDuration) {
        self.now += duration;
    }
}

const NOTHING: [&str; 0] = [];

#[test]
fn a_token_is_granted_and_a_second_look_does_nothing() {
    let mut world = World::token();
    assert_eq!(world.steps(), ["hold", "grant", "issue"]);
    assert_eq!(world.phase(), "Granted");
    assert_eq!(world.seconds, Some(30 * 24 * 3600));
    let status = world.request.status.clone();
    assert_eq!(status.as_ref().unwrap().secret_ref.as_ref().unwrap().name, "a.kubeconfig");
    world.later(SignedDuration::from_secs(60));
    let (steps, decision) = world.look();
    assert_eq!((steps.as_slice(), world.request.status), (&NOTHING[..], status));
    // At 75 to 80 per cent of its life.
    let wait = decision.again.unwrap().as_secs_f64() / (30.0 * 24.0 * 3600.0);
    assert!((0.749..0.8).contains(&wait), "{wait}");
}

#[test]
fn a_login_is_granted_and_never_renewed() {
    let mut world = World::oidc();
    assert_eq!(world.steps(), ["hold", "grant", "issue"]);
    assert_eq!((world.phase(), world.seconds), ("Granted", None));
    world.later(SignedDuration::from_hours(24 * 365));
    let (steps, decision) = world.look();
    assert_eq!((steps.as_slice(), decision.again), (&NOTHING[..], None));
}

#[test]
fn a_token_is_renewed_in_time_and_ends_with_the_request() {
    let mut world = World::token().granted();
    world.later(SignedDuration::from_hours(30 * 24 * 80 / 100));
    assert_eq!(world.steps(), ["grant", "issue"]);
    // One with a time of its own has one token for it.
    let mut world = World::new(json!({ "token": {}, "ttl": "24h" })).granted();
    assert_eq!(world.seconds, Some(24 * 3600 - 600));
    world.later(SignedDuration::from_hours(23));
    assert_eq!(world.look().0, NOTHING);
    // Kubernetes knows no shorter one.
    assert_eq!(World::new(json!({ "token": {}, "ttl": "11m" })).granted().seconds, Some(600));
}

#[test]
fn g7_a_renewal_that_fails_leaves_it_granted_while_the_token_is_valid() {
    let mut world = World::token().granted();
    world.later(SignedDuration::from_hours(30 * 24 * 80 / 100));
    world.trouble = passing();
    let (steps, decision) = world.look();
    assert_eq!((steps.as_slice(), decision.is_failed), (&["grant"][..], true));
    assert_eq!(world.phase(), "Granted");
    assert_eq!(world.condition("SecretExistsAndIsValid"), (true, "RenewalDelayed"));
    assert_eq!(world.condition("ShootAccess"), (false, "ShootClusterInteractionProblem"));
    world.later(SignedDuration::from_hours(30 * 24 * 20 / 100 + 1));
    world.look();
    assert_eq!(world.phase(), "Pending", "now it has run out");
    world.trouble = None;
    assert_eq!(world.steps(), ["grant", "issue"]);
    assert_eq!((world.phase(), world.condition("ShootAccess")), ("Granted", (true, "ShootAccess_True")));
}

#[test]
fn g8_what_is_not_known_yet_changes_nothing() {
    let mut world = World::token().granted();
    let before = world.request.clone();
    world.target = Target::Unknown;
    assert_eq!(world.steps(), ["leave"]);
    world.target = Target::NoWay { reason: "UnknownLandscape", message: "it does not answer".to_owned() };
    assert_eq!(world.steps(), NOTHING);
    assert_eq!(world.request, before, "the token is valid, and nothing is needed");
    world.target = Target::Shoot { uid: "shoot".to_owned(), is_made: true, is_ready: true };
    assert_eq!(world.steps(), NOTHING, "and no new token either");
}

#[test]
fn g11_a_lost_reference_is_written_again() {
    let mut world = World::token().granted();
    world.request.status.as_mut().unwrap().secret_ref = None;
    assert_eq!(world.steps(), NOTHING);
    assert!(world.request.status.unwrap().secret_ref.is_some());
}

#[test]
fn g23_a_cluster_that_is_not_there_yet_is_waited_for_without_trying() {
    let mut world = World::token();
    for target in [
        Target::NoShoot,
        Target::Shoot { uid: "shoot".to_owned(), is_made: false, is_ready: false },
        Target::NoWay { reason: "UnknownLandscape", message: "it does not answer".to_owned() },
    ] {
        world.target = target;
        let (steps, decision) = world.look();
        assert_eq!((steps.as_slice(), decision.is_failed, decision.again), (&NOTHING[..], false, None));
        assert_eq!(world.phase(), "Pending");
    }
    world.target = Target::Shoot { uid: "shoot".to_owned(), is_made: true, is_ready: false };
    assert_eq!(world.steps(), ["hold", "grant", "issue"]);
}

#[test]
fn g4_a_deleted_request_ends_also_without_its_cluster() {
    let deleted = || {
        let mut world = World::token().granted();
        world.delete();
        world
    };
    assert_eq!(deleted().steps(), ["withdraw", "let go"]);
    for target in [Target::NoShoot, Target::NoCluster { name: "Cluster n/c".to_owned() }] {
        let mut world = World { target, ..deleted() };
        assert_eq!(world.steps(), ["let go"]);
    }
    // The Shoot alone is gone.
    let gone = Hitch { reason: "ShootNotFound", message: "it is not there".to_owned(), fate: Fate::Gone };
    let mut world = World { trouble: Some(gone), ..deleted() };
    assert_eq!(world.steps(), ["withdraw", "let go"]);
    // It does not answer: until nothing of it can be used any more.
    let no_way = Target::NoWay { reason: "UnknownLandscape", message: "it is not there".to_owned() };
    for world in [World { trouble: passing(), ..deleted() }, World { target: no_way, ..deleted() }] {
        let mut world = world;
        let (_, decision) = world.look();
        assert!(!world.is_gone && (decision.is_failed || decision.again.is_some()));
        assert!(!world.condition("Cleanup").0);
        world.later(SignedDuration::from_hours(31 * 24));
        world.look();
        assert!(world.is_gone);
    }
    // Somebody changed its labels.
    let mut world = deleted();
    world.request.metadata.labels = None;
    assert_eq!(world.steps(), ["withdraw", "let go"]);
    let mut world = World::token();
    world.delete();
    assert_eq!(world.steps(), ["leave"], "nothing was ever done");
}

#[test]
fn changed_permissions_need_no_new_token() {
    let mut world = World::token().granted();
    world.change();
    assert_eq!(world.steps(), ["grant"]);
    assert_eq!(
        (world.phase(), world.request.status.as_ref().unwrap().common.observed_generation),
        ("Granted", 2)
    );
}

#[test]
fn another_cluster_under_the_same_name_gets_another_kubeconfig() {
    let mut world = World::token().granted();
    let mut other = world.clone();
    world.target = Target::Shoot { uid: "other".to_owned(), is_made: true, is_ready: true };
    assert_eq!(world.steps(), ["grant", "issue"]);
    // The same Shoot with another address, CA or ServiceAccount is found out when it is looked at.
    other.made_for = "2".to_owned();
    assert_eq!(other.steps(), NOTHING);
    other.is_look_due = true;
    assert_eq!(other.steps(), ["grant", "issue"]);
    assert_eq!(other.steps(), ["grant"]);
}

#[test]
fn a_look_that_nobody_was_told_of_is_taken_again() {
    let mut world = World::token().granted();
    world.trouble = passing();
    world.is_look_due = true;
    world.steps();
    assert!(!world.condition("ShootAccess").0);
    // The next look succeeded, and the write that would have told of it did not.
    world.trouble = None;
    world.is_look_due = false;
    assert_eq!(world.steps(), ["grant"]);
    assert!(world.condition("ShootAccess").0);
    assert_eq!(world.steps(), NOTHING);
}

#[test]
fn a_switch_from_token_to_login_is_made() {
    let mut world = World::token().granted();
    world.request.spec = World::oidc().request.spec;
    world.change();
    assert_eq!(world.steps(), ["grant", "issue"]);
    assert_eq!(world.seconds, None);
}

#[test]
fn annotations_are_obeyed() {
    let mut world = World::token().granted();
    let mark = |value: &str| Some([(annotation::OPERATION.to_owned(), value.to_owned())].into());
    world.request.metadata.annotations = mark("reconcile");
    assert_eq!(world.steps(), ["grant", "issue", "unmark"]);
    world.request.metadata.annotations = mark("ignore");
    world.delete();
    assert_eq!(world.steps(), ["leave"]);
}

#[test]
fn what_can_never_be_granted_is_denied() {
    let role = json!({ "kind": "Role", "name": "r" });
    let twice = json!([{ "name": "r", "rules": [] }, { "name": "r", "rules": [] }]);
    let mut oidc = World::oidc().request.spec.oidc.map(|oidc| json!(oidc)).unwrap();
    oidc["roleBindings"] = json!([{ "subjects": [], "roleRefs": [role] }]);
    for (access, place) in [
        (json!({ "token": { "roleRefs": [role] } }), "spec.token.roleRefs[0].namespace"),
        (json!({ "token": { "permissions": twice } }), "spec.token.permissions[1].name"),
        (json!({ "oidc": oidc }), "spec.oidc.roleBindings[0].roleRefs[0].namespace"),
    ] {
        let mut world = World::new(access);
        assert_eq!(world.steps(), NOTHING);
        assert_eq!(world.phase(), "Denied");
        let conditions = &world.request.status.as_ref().unwrap().common.conditions;
        let message = &condition::find(conditions, "SecretExistsAndIsValid").unwrap().message;
        assert!(message.starts_with(place), "{message}");
    }
}

#[test]
fn what_a_denied_request_had_is_taken_back_first() {
    let mut world = World::token().granted();
    let no =
        Hitch { reason: "OidcNotSupported", message: "it has no such kind".to_owned(), fate: Fate::Lasts };
    world.request.spec = World::oidc().request.spec;
    world.change();
    world.trouble = Some(no);
    assert_eq!(world.steps(), ["grant", "withdraw", "clear"]);
    assert_eq!(
        (world.phase(), world.condition("SecretExistsAndIsValid")),
        ("Denied", (false, "OidcNotSupported"))
    );
    assert!(world.secret.is_none() && world.request.status.as_ref().unwrap().secret_ref.is_none());
    assert_eq!(world.steps(), ["leave"], "it is looked at again when it changes");
    // What cannot be taken back yet is not denied yet.
    let mut world = World::token().granted();
    world.request.spec.token.as_mut().unwrap().role_refs =
        serde_json::from_value(json!([{ "kind": "Role", "name": "r" }])).unwrap();
    world.change();
    world.trouble = passing();
    let (steps, decision) = world.look();
    assert_eq!((steps.as_slice(), decision.is_failed, world.phase()), (&["withdraw"][..], true, "Pending"));
}

#[test]
fn what_is_not_ours_is_left_alone() {
    let mut world = World::token();
    world.target = Target::NotOurs;
    assert_eq!(world.steps(), ["leave"]);
    world.delete();
    assert_eq!(world.steps(), ["leave"]);
    let mut world = World::token();
    world.request.status = None;
    assert_eq!(world.steps(), ["leave"], "the generic controller comes first");
}

#[test]
fn a_cluster_that_is_gone_is_told() {
    let mut world = World::token().granted();
    world.target = Target::NoCluster { name: "Cluster n/c".to_owned() };
    assert_eq!(world.steps(), NOTHING);
    assert_eq!((world.phase(), world.condition("FoundClusterAndProfile").0), ("Pending", false));
}

#[test]
fn a_reference_that_is_not_allowed_gets_nothing_new_and_loses_nothing() {
    let mut world = World::token();
    world.refusal = Some("not allowed");
    let (steps, decision) = world.look();
    assert_eq!((steps.len(), decision.status.common.phase.as_str()), (0, "Denied"), "{steps:?}");
    let found = condition::find(&decision.status.common.conditions, "FoundClusterAndProfile").unwrap();
    assert_eq!((found.reason.as_str(), found.message.as_str()), ("InvalidReference", "not allowed"));
    // What was granted before stays until it runs out, and is not renewed.
    let mut world = World::token();
    world.look();
    let secret = world.secret.clone();
    world.refusal = Some("not allowed");
    world.now = at("2026-01-29T00:00:00Z");
    world.is_look_due = true;
    let (steps, decision) = world.look();
    assert_eq!((steps.len(), decision.status.common.phase.as_str()), (0, "Granted"), "{steps:?}");
    assert_eq!(world.secret, secret);
    world.now = at("2026-02-20T00:00:00Z");
    world.look();
    let (_, decision) = world.look();
    assert_eq!((world.secret, decision.status.common.phase.as_str()), (None, "Denied"));
}
