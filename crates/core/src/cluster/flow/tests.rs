//! A Cluster from its beginning to its end, a step at a time.

mod issuers;
mod locked;
mod ownership;
mod protection;
mod tenants;

use super::*;
use allotment_api::{
    condition::ConditionStatus,
    gardener::names::CONFIRM_DELETION,
    kyma::{ClusterPhase, SubscriptionPhase},
    names::label,
};
use serde_json::{Value, json};

/// What there is, as JSON, and what is known besides.
#[derive(Clone)]
struct World {
    cluster: Value,
    request: Option<Value>,
    shoot: Option<Value>,
    is_live: bool,
    refusal: Option<String>,
    has_turn: bool,
    adopts: Option<&'static str>,
    is_due: bool,
    protects: bool,
    administrators: Option<Result<(), String>>,
    is_locked: bool,
    machine_types: Vec<&'static str>,
    role: NamespaceRole,
    now: Timestamp,
}

impl World {
    /// A Cluster that has our finalizer.
    fn new() -> Self {
        let cluster = json!({
            "apiVersion": "operator.kyma-project.io/v1alpha1",
            "kind": "Cluster",
            "metadata": {
                "name": "example", "namespace": "kcp", "uid": "0123abcd-ffff", "generation": 1, "resourceVersion": "7",
                "finalizers": ["allotment.dev/cluster"],
                "labels": {"plan": "aws", "globalaccountid": "t-1", "other": "x"},
            },
            "spec": {
                "core": {"region": "eu-central-1", "platformRegion": "cf-eu10"},
                "infrastructure": {
                    "machineType": "m5.large", "autoScalerMin": 1, "autoScalerMax": 3, "provider": "aws", "numberOfZones": 1,
                    "subscriptionSelector": "globalaccount:t-1",
                },
            },
        });
        Self {
            cluster,
            request: None,
            shoot: None,
            is_live: false,
            refusal: None,
            has_turn: true,
            adopts: None,
            is_due: false,
            protects: false,
            administrators: None,
            is_locked: false,
            machine_types: vec!["m5.large", "m5.xlarge"],
            role: NamespaceRole::Tenants([crate::pool::Tenant::new("t-1")].into()),
            now: "2026-01-01T00:00:00Z".parse().unwrap(),
        }
    }

    fn bound() -> Self {
        let mut world = Self::new();
        let Step::Ask(request) = world.decide().step else { panic!("no request") };
        let mut request = json!(request);
        request["metadata"]["uid"] = json!("of-the-request");
        request["status"] = json!({"phase": "Bound", "gardenerSecretName": "account-1", "tenantName": "t-1"});
        world.request = Some(request);
        world
    }

    /// A Shoot that Gardener has made, known to the status.
    fn ready() -> Self {
        Self::bound().made()
    }

    /// The same after Gardener has made the Shoot.
    fn made(mut self) -> Self {
        self.is_live = true;
        self.create();
        self.finish();
        self.rest();
        self.is_live = false;
        self
    }

    fn create(&mut self) {
        let Step::Create(apply) = self.decide().step else { panic!("no Shoot: {:?}", self.decide()) };
        let mut shoot = apply.shoot;
        shoot["metadata"]["uid"] = json!("of-the-shoot");
        shoot["metadata"]["generation"] = json!(1);
        shoot["metadata"]["resourceVersion"] = json!("100");
        shoot["metadata"]["managedFields"] = json!([{"manager": "allotment", "operation": "Apply"}]);
        self.shoot = Some(shoot);
    }

    /// The Shoot is brought in line, and Gardener is through with it.
    fn update(&mut self) {
        let Step::Update(apply) = self.decide().step else { panic!("no update: {:?}", self.decide()) };
        let mut shoot = apply.shoot;
        shoot["metadata"]["uid"] = json!("of-the-shoot");
        shoot["metadata"]["generation"] = json!(2);
        shoot["metadata"]["managedFields"] = json!([{"manager": "allotment", "operation": "Apply"}]);
        self.shoot = Some(shoot);
        self.finish();
    }

    fn finish(&mut self) {
        let shoot = self.shoot.as_mut().unwrap();
        let condition = |type_: &str| {
            json!({"type": type_, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z",
                   "lastUpdateTime": "2026-01-01T00:00:00Z", "reason": "r", "message": "m"})
        };
        shoot["status"] = json!({
            "observedGeneration": shoot["metadata"]["generation"],
            "lastOperation": {"type": "Create", "state": "Succeeded", "progress": 100, "description": "done",
                              "lastUpdateTime": "2026-01-01T00:00:00Z"},
            "conditions": [condition("APIServerAvailable"), condition("EveryNodeReady")],
            "advertisedAddresses": [{"name": "internal", "url": "https://i"}, {"name": "external", "url": "https://e"}],
        });
    }

    fn decide(&self) -> Decision {
        let read = |value: &Value| serde_json::from_value(value.clone()).unwrap();
        let cluster: Cluster = serde_json::from_value(self.cluster.clone()).unwrap();
        let request: Option<SubscriptionRequest> =
            self.request.as_ref().map(|value| serde_json::from_value(value.clone()).unwrap());
        let shoot: Option<Shoot> = self.shoot.as_ref().map(read);
        let clusters: Clusters = serde_json::from_value(json!({
            "providers": {"aws": {"cloudProfile": "aws"}},
            "defaults": {"deletionProtection": self.protects},
        }))
        .unwrap();
        let types: Vec<Value> = self.machine_types.iter().map(|name| json!({"name": name})).collect();
        let profile: CloudProfileSpec = serde_json::from_value(json!({
            "type": "aws",
            "kubernetes": {"versions": [{"version": "1.35.4"}]},
            "machineImages": [{"name": "gardenlinux", "versions": [{"version": "1.0.0", "architectures": ["amd64"]}]}],
            "machineTypes": types,
            "volumeTypes": [{"name": "gp3"}],
            "regions": [{"name": "eu-central-1", "zones": [{"name": "eu-central-1a"}, {"name": "eu-central-1b"}]}],
        }))
        .unwrap();
        decide(&View {
            cluster: &cluster,
            role: &self.role,
            clusters: &clusters,
            profile: Some(&profile),
            request: request.as_ref(),
            shoot: shoot.as_ref(),
            adopts: self.adopts,
            is_live: self.is_live,
            garden_namespace: "garden-p",
            project: "p",
            refusal: self.refusal.as_deref(),
            has_turn: self.has_turn,
            administrators: match &self.administrators {
                None => Looked::NotYet,
                Some(Ok(())) => Looked::Seen(&()),
                Some(Err(why)) => Looked::Failed(why),
            },
            is_locked: self.is_locked,
            issuers: if self.is_due { Looked::Due } else { Looked::NotYet },
            standing: Looked::NotYet,
            now: self.now,
        })
    }

    /// Decides, expects to rest, and writes the status.
    fn rest(&mut self) -> ClusterStatus {
        let decision = self.decide();
        assert_eq!(decision.step, Step::Rest, "{}", decision.step);
        self.cluster["status"] = json!(decision.status);
        decision.status
    }

    fn annotate(&mut self, key: &str, value: &str) {
        self.cluster["metadata"]["annotations"][key] = json!(value);
    }

    fn delete(&mut self) {
        self.cluster["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    }

    fn operation(&mut self, change: Value) {
        let operation = &mut self.shoot.as_mut().unwrap()["status"]["lastOperation"];
        operation.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    }
}

fn provisioned(status: &ClusterStatus) -> (ConditionStatus, &str) {
    let condition = crate::condition::find(&status.conditions, "ClusterProvisioned").unwrap();
    (condition.status, condition.reason.as_str())
}

#[test]
fn the_finalizer_comes_before_anything_else() {
    let mut world = World::new();
    world.cluster["metadata"]["finalizers"] = json!([]);
    assert_eq!(world.decide().step, Step::Hold);
    world.annotate(annotation::PAUSE, "true");
    assert_eq!(world.rest().phase, Some(ClusterPhase::Pending));
}

#[test]
fn the_request_says_what_the_rules_need() {
    let Step::Ask(request) = World::new().decide().step else { panic!() };
    assert_eq!(request.metadata.name.as_deref(), Some("example-0123abcd"));
    assert_eq!(request.metadata.finalizers.as_deref(), Some(&["allotment.dev/cluster".to_owned()][..]));
    let spec = json!(request.spec);
    assert_eq!(spec["plan"], "aws");
    assert_eq!(spec["platformRegion"], "cf-eu10");
    assert_eq!(spec["hyperscalerRegion"], "eu-central-1");
    assert_eq!(spec["subscriptionSelector"], "globalaccount:t-1");
    let labels = request.metadata.labels.unwrap();
    assert!(labels.contains_key("plan") && !labels.contains_key("other"));
}

#[test]
fn what_cannot_be_made_asks_for_nothing() {
    let mut world = World::new();
    world.cluster["spec"]["infrastructure"]["machineType"] = json!("m5.huge");
    let status = world.rest();
    assert_eq!(provisioned(&status), (ConditionStatus::False, "Invalid"));
    let message = &status.conditions[0].message;
    assert!(
        message.contains("spec.infrastructure.machineType") && message.contains("m5.xlarge"),
        "{message}"
    );
}

#[test]
fn who_waits_for_an_account_says_so() {
    let mut world = World::bound();
    let message = "no free account in pool aws; place 2 in the queue";
    world.request.as_mut().unwrap()["status"] = json!({"phase": "Waiting", "conditions": [{
        "type": "Ready", "status": "False", "reason": "Exhausted", "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]});
    let status = world.rest();
    assert_eq!(status.phase, Some(ClusterPhase::Waiting));
    assert_eq!(provisioned(&status), (ConditionStatus::False, "WaitingForAccount"));
    assert!(status.conditions.iter().all(|condition| condition.message == message));
}

#[test]
fn a_shoot_is_made_only_after_a_live_look() {
    let mut world = World::bound();
    assert_eq!(world.decide().step, Step::LookLive);
    world.is_live = true;
    let Step::Create(apply) = world.decide().step else { panic!() };
    assert_eq!(apply.binding, "account-1");
    assert_eq!(apply.shoot["metadata"]["labels"][label::SUBSCRIPTION_REQUEST], "of-the-request");
    assert!(apply.shoot["metadata"].get("uid").is_none());
}

#[test]
fn no_shoot_is_made_for_a_request_that_is_deleted() {
    let mut world = World::bound();
    world.is_live = true;
    world.request.as_mut().unwrap()["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert_eq!(provisioned(&world.rest()).1, "NoAccount");
}

#[test]
fn it_is_ready_when_everything_holds_and_a_second_look_changes_nothing() {
    let mut world = World::bound();
    world.is_live = true;
    world.create();
    assert_eq!(world.rest().phase, Some(ClusterPhase::Creating));
    world.finish();
    let complete = world.shoot.clone();
    for (pointer, value) in [
        ("/status/observedGeneration", json!(0)),
        ("/status/lastOperation/state", json!("Processing")),
        ("/status/conditions/0/status", json!("Progressing")),
        ("/status/advertisedAddresses", json!([])),
    ] {
        *world.shoot.as_mut().unwrap().pointer_mut(pointer).unwrap() = value;
        let status = world.rest();
        assert_eq!(provisioned(&status).0, ConditionStatus::False, "{pointer}");
        assert_eq!(status.phase, Some(ClusterPhase::Creating), "{pointer}");
        world.shoot.clone_from(&complete);
    }
    let status = world.rest();
    assert_eq!(provisioned(&status), (ConditionStatus::True, "Ready"));
    assert_eq!(status.phase, Some(ClusterPhase::Ready));
    assert_eq!(status.api_server.as_deref(), Some("https://e"));
    assert_eq!(status.shoot_uid.as_deref(), Some("of-the-shoot"));
    world.now = "2026-01-02T00:00:00Z".parse().unwrap();
    assert_eq!(world.rest(), status);
}

#[test]
fn ready_is_an_observation_and_no_latch() {
    let mut world = World::ready();
    world.shoot.as_mut().unwrap()["status"]["conditions"][1]["status"] = json!("Progressing");
    assert_eq!(world.rest().phase, Some(ClusterPhase::Ready));
    world.shoot.as_mut().unwrap()["status"]["conditions"][1]["status"] = json!("False");
    let status = world.rest();
    assert_eq!(status.phase, Some(ClusterPhase::Unhealthy));
    assert!(status.conditions.iter().any(|condition| condition.message.contains("EveryNodeReady")));
}

#[test]
fn a_changed_cluster_is_applied_at_once_and_a_changed_configuration_in_its_turn() {
    let mut world = World::ready();
    world.has_turn = false;
    world.cluster["spec"]["infrastructure"]["machineType"] = json!("m5.xlarge");
    let decision = world.decide();
    assert!(decision.waits_for_turn && decision.step == Step::Rest, "nobody asked for it");
    assert_eq!(decision.status.phase, Some(ClusterPhase::Ready));
    world.has_turn = true;
    assert!(matches!(world.decide().step, Step::Update(apply) if apply.takes_turn));
    world.has_turn = false;
    world.cluster["metadata"]["generation"] = json!(2);
    let Step::Update(apply) = world.decide().step else { panic!() };
    assert!(!apply.takes_turn);
    assert_eq!(apply.shoot["metadata"]["uid"], "of-the-shoot");
    assert_eq!(apply.shoot["metadata"]["resourceVersion"], "100");
}

#[test]
fn what_the_garden_refuses_is_told_and_not_tried_at_once() {
    let mut world = World::ready();
    world.cluster["metadata"]["generation"] = json!(2);
    world.cluster["spec"]["infrastructure"]["machineType"] = json!("m5.xlarge");
    world.refusal = Some("no quota".to_owned());
    let decision = world.decide();
    assert_eq!(provisioned(&decision.status), (ConditionStatus::False, "Refused"));
    assert!(decision.again.is_some());
}

#[test]
fn a_missing_shoot_is_not_made_again_unless_asked_for() {
    let mut world = World::ready();
    world.shoot = None;
    assert_eq!(world.decide().step, Step::LookLive);
    world.is_live = true;
    let status = world.rest();
    assert_eq!(provisioned(&status).1, "ShootMissing");
    world.annotate(annotation::RECREATE_SHOOT, "true");
    world.create();
    world.shoot.as_mut().unwrap()["metadata"]["uid"] = json!("of-the-second");
    assert_eq!(world.rest().shoot_uid.as_deref(), Some("of-the-second"));
    assert_eq!(world.decide().step, Step::Unmark(vec![annotation::RECREATE_SHOOT]));
}

#[test]
fn who_asks_is_told_what_it_waits_for() {
    let awaited = |world: &World| {
        let cluster: Cluster = serde_json::from_value(world.cluster.clone()).unwrap();
        world.decide().awaited(&cluster).0
    };
    let mut world = World::new();
    assert_eq!(awaited(&world), Awaited::Operator);
    world = World::bound();
    world.request.as_mut().unwrap()["status"] = json!({"phase": "Waiting"});
    assert_eq!(awaited(&world), Awaited::Account);
    world = World::ready();
    assert_eq!(awaited(&world), Awaited::Nothing);
    world.has_turn = false;
    world.shoot.as_mut().unwrap()["metadata"]["annotations"][annotation::APPLIED] = json!("of an older one");
    assert_eq!(awaited(&world), Awaited::Turn);
    world.annotate(annotation::PAUSE, "true");
    assert_eq!(awaited(&world), Awaited::Pause);
    world = World::ready();
    world.operation(json!({"state": "Processing", "type": "Reconcile"}));
    assert_eq!(awaited(&world), Awaited::Gardener);
    world.operation(json!({"state": "Failed", "type": "Reconcile"}));
    assert_eq!(awaited(&world), Awaited::Person);
    world.cluster["spec"] = json!({"byoc": {"kubeconfigSecretRef": {"name": "s", "key": "k"}}});
    world.cluster["status"] = json!({"phase": "Failed"});
    assert_eq!(awaited(&world), Awaited::Person);
    world.cluster["status"] = json!({});
    assert_eq!(awaited(&world), Awaited::Operator);
}

#[test]
fn who_asks_is_told_at_what_the_operator_failed() {
    let awaited = |world: &World| {
        let cluster: Cluster = serde_json::from_value(world.cluster.clone()).unwrap();
        world.decide().awaited(&cluster)
    };
    let said = |type_: &str, reason: &str, message: &str| {
        json!([{
            "type": type_, "status": "False", "reason": reason, "message": message,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }])
    };
    let mut world = World::bound();
    world.is_live = true;
    assert_eq!(awaited(&world).0, Awaited::Operator, "nothing was tried yet");
    let failure = "cannot apply Shoot a: the server cannot be reached";
    world.cluster["status"] = json!({"conditions": said("Reconciled", "ServerUnavailable", failure)});
    assert_eq!(awaited(&world), (Awaited::Platform, failure.to_owned()));
    let refusal = "the Shoot is refused: field not declared in schema (500)";
    world.cluster["status"] = json!({
        "observedGeneration": world.cluster["metadata"]["generation"],
        "conditions": said("ClusterProvisioned", "Refused", refusal),
    });
    assert_eq!(awaited(&world), (Awaited::Person, refusal.to_owned()));
}

#[test]
fn a_cluster_without_an_account_repeats_the_failure_of_its_request() {
    let mut world = World::bound();
    for phase in [json!(null), json!("Waiting")] {
        world.request.as_mut().unwrap()["status"] = json!({
            "phase": phase,
            "conditions": [{
                "type": "Reconciled", "status": "False", "reason": "LedgerUnavailable", "message": "no ledger",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }],
        });
        let status = world.rest();
        let message = &status.conditions.iter().find(|it| it.type_ == "ClusterProvisioned").unwrap().message;
        assert!(message.ends_with("; no ledger"), "{message}");
    }
}

#[test]
fn what_gardener_gave_up_is_retried_by_class() {
    let mut world = World::ready();
    world.operation(json!({"state": "Failed", "type": "Reconcile"}));
    world.shoot.as_mut().unwrap()["status"]["lastErrors"] =
        json!([{"description": "no quota", "codes": ["ERR_INFRA_QUOTA_EXCEEDED"]}]);
    let decision = world.decide();
    assert_eq!(provisioned(&decision.status), (ConditionStatus::False, "ShootFailed"));
    assert_eq!(decision.again, Some(Duration::from_mins(15)));
    world.now = "2026-01-01T00:15:00Z".parse().unwrap();
    let decision = world.decide();
    assert_eq!((decision.step, decision.status.retries), (Step::Retry, Some(1)));
    world.shoot.as_mut().unwrap()["status"]["lastErrors"] =
        json!([{"description": "bad", "codes": ["ERR_CONFIGURATION_PROBLEM"]}]);
    let decision = world.decide();
    assert_eq!((decision.step, decision.again), (Step::Rest, None), "only another spec helps");
}

#[test]
fn administrators_are_applied_when_it_is_ready_and_when_they_change() {
    let mut world = World::ready();
    world.cluster["spec"]["administrators"] = json!(["b", "a", "b"]);
    assert_eq!(world.decide().step, Step::Administrate(vec!["a".to_owned(), "b".to_owned()]));
    world.administrators = Some(Err("no answer".to_owned()));
    let decision = world.decide();
    assert!(decision.again.is_some() && decision.status.administrators.is_empty());
    world.administrators = Some(Ok(()));
    assert_eq!(world.rest().administrators, ["a", "b"]);
    world.administrators = None;
    assert_eq!(world.decide().step, Step::Rest);
    // Also of another generation: a later look into the cluster has nothing new to say.
    world.cluster["metadata"]["generation"] = json!(2);
    let status = world.rest();
    world.administrators = Some(Ok(()));
    assert_eq!(world.rest(), status);
    world.administrators = None;
    world.cluster["spec"]["administrators"] = json!([]);
    assert_eq!(world.decide().step, Step::Administrate(Vec::new()));
}

#[test]
fn the_config_map_with_the_issuers_is_checked_when_it_is_due() {
    let mut world = World::ready();
    world.is_due = true;
    assert_eq!(world.decide().step, Step::Rest, "it has no issuers");
    world.cluster["spec"]["oidcConfig"] = json!({"clientID": "c", "issuerURL": "https://issuer.example.com"});
    world.cluster["metadata"]["generation"] = json!(2);
    world.update();
    let Step::CheckIssuers(authentication) = world.decide().step else { panic!("{:?}", world.decide().step) };
    let map = authentication.config_map("garden-p");
    assert_eq!(map["metadata"]["labels"][label::CLUSTER_UID], "0123abcd-ffff");
    assert_eq!(map["metadata"]["labels"][label::SUBSCRIPTION_REQUEST], "of-the-request");
    assert_eq!(map["metadata"]["annotations"][annotation::CLUSTER], "kcp/example");
    world.is_due = false;
    assert_eq!(world.decide().step, Step::Rest);
}

#[test]
fn a_paused_cluster_is_left_alone() {
    let mut world = World::ready();
    world.annotate(annotation::PAUSE, "true");
    world.cluster["metadata"]["generation"] = json!(2);
    world.cluster["spec"]["infrastructure"]["machineType"] = json!("m5.xlarge");
    let status = world.rest();
    assert!(status.conditions.iter().any(|condition| condition.message.contains("paused")));
    assert_eq!(status.phase, Some(ClusterPhase::Updating));
    world.now = "2026-01-02T00:00:00Z".parse().unwrap();
    assert_eq!(world.rest(), status, "a second look writes nothing");
    // What was asked for meanwhile need not wait for a turn.
    world.has_turn = false;
    world.annotate(annotation::PAUSE, "false");
    assert!(matches!(world.decide().step, Step::Update(_)));
}

/// The account came at once, and the pause before anything was said.
#[test]
fn a_pause_says_how_far_it_is() {
    let mut world = World::bound();
    world.annotate(annotation::PAUSE, "true");
    let status = world.rest();
    assert_eq!(status.phase, Some(ClusterPhase::Pending));
    assert_eq!(provisioned(&status), (ConditionStatus::False, "Pending"));
    world.cluster["status"] = Value::Null;
    world.delete();
    assert_eq!(world.rest().phase, Some(ClusterPhase::Deleting));
}

/// The Shoot was written, and the status not yet, when the pause began.
#[test]
fn a_pause_says_ready_of_the_generation_that_the_shoot_is_like() {
    let mut world = World::ready();
    world.cluster["metadata"]["generation"] = json!(2);
    world.cluster["spec"]["infrastructure"]["machineType"] = json!("m5.xlarge");
    world.update();
    world.annotate(annotation::PAUSE, "true");
    assert_eq!(world.rest().observed_generation, Some(2));
    // Part of what is asked for is left undone, and the Shoot is not what generation 2 asks for either.
    world.cluster["metadata"]["generation"] = json!(4);
    world.cluster["spec"]["infrastructure"]["machineType"] = json!("m5.large");
    world.cluster["spec"]["administrators"] = json!(["a"]);
    world.annotate(annotation::PAUSE, "false");
    world.update();
    world.annotate(annotation::PAUSE, "true");
    let status = world.rest();
    assert_eq!((status.phase, status.observed_generation), (Some(ClusterPhase::Updating), Some(2)));
}

/// Its status names the generation already, from when the account was in the way.
#[test]
fn what_was_never_brought_to_a_shoot_is_not_ready_while_it_waits_for_its_turn() {
    let mut world = World::ready();
    world.cluster["metadata"]["generation"] = json!(2);
    world.cluster["spec"]["infrastructure"]["machineType"] = json!("m5.xlarge");
    world.request.as_mut().unwrap()["status"]["gardenerSecretName"] = json!("account-2");
    assert_eq!(provisioned(&world.rest()).1, "OtherAccount");
    world.request.as_mut().unwrap()["status"]["gardenerSecretName"] = json!("account-1");
    world.has_turn = false;
    let status = world.rest();
    assert_eq!((status.phase, provisioned(&status).1), (Some(ClusterPhase::Updating), "Pending"));
    world.now = "2026-01-02T00:00:00Z".parse().unwrap();
    assert_eq!(world.rest(), status, "a second look writes nothing");
    world.has_turn = true;
    world.update();
    assert_eq!(world.rest().phase, Some(ClusterPhase::Ready));
}

#[test]
fn deletion_confirms_waits_gives_back_and_lets_go() {
    let mut world = World::ready();
    world.delete();
    assert_eq!(world.decide().step, Step::ConfirmDeletion);
    world.shoot.as_mut().unwrap()["metadata"]["annotations"][CONFIRM_DELETION] = json!("true");
    assert_eq!(world.decide().step, Step::DeleteShoot);
    world.refusal = Some("a second person has to agree".to_owned());
    assert_eq!(provisioned(&world.rest()).1, "DeletionRefused");
    world.refusal = None;
    world.shoot.as_mut().unwrap()["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    world.operation(
        json!({"type": "Delete", "state": "Processing", "progress": 30, "description": "taking it away"}),
    );
    let status = world.rest();
    assert_eq!((status.phase, status.progress), (Some(ClusterPhase::Deleting), Some(30)));
    world.shoot = None;
    assert_eq!(world.decide().step, Step::LookLive);
    world.is_live = true;
    assert_eq!(world.decide().step, Step::GiveBack);
    world.request = None;
    assert_eq!(world.decide().step, Step::LetGo);
}

#[test]
fn news_are_told_once() {
    let mut world = World::bound();
    world.is_live = true;
    let before = world.decide().status;
    world.create();
    let created = world.rest();
    let mut cluster: Cluster = serde_json::from_value(world.cluster.clone()).unwrap();
    let mut reasons = |before: &ClusterStatus, after: &ClusterStatus| -> Vec<&'static str> {
        cluster.status = Some(before.clone());
        news(&cluster, after, None).into_iter().map(|news| news.reason).collect()
    };
    assert_eq!(reasons(&before, &created), ["ShootCreated"]);
    world.finish();
    let ready = world.rest();
    assert_eq!(reasons(&created, &ready), ["ShootReady"]);
    assert!(reasons(&ready, &ready).is_empty());
    cluster.status = Some(before);
    assert_eq!(news(&cluster, &created, created.shoot_uid.as_deref())[0].reason, "ShootAdopted");
    // The annotation alone does nothing, and says so once.
    world.annotate(annotation::ADOPT_SHOOT, "of-the-shoot");
    let ignored = world.rest();
    cluster.status = Some(ready);
    assert_eq!(news(&cluster, &ignored, None)[0].reason, "AnnotationIgnored");
    cluster.status = Some(ignored.clone());
    assert!(news(&cluster, &ignored, None).is_empty());
    world.cluster["metadata"]["annotations"] = Value::Null;
    assert!(world.rest().conditions.iter().all(|condition| condition.type_ != "ShootAdopted"));
}

#[test]
fn a_request_that_nobody_has_looked_at_is_pending() {
    let mut world = World::bound();
    world.is_live = true;
    world.request.as_mut().unwrap()["status"]["phase"] = json!(SubscriptionPhase::Pending);
    assert_eq!(world.rest().phase, Some(ClusterPhase::Pending));
}

#[test]
fn a_cluster_in_another_account_says_so_once() {
    let mut world = World::ready();
    world.request.as_mut().unwrap()["status"]["gardenerSecretName"] = json!("account-2");
    let status = world.rest();
    assert_eq!(provisioned(&status).1, "OtherAccount");
    world.now = "2026-01-02T00:00:00Z".parse().unwrap();
    assert_eq!(world.rest(), status, "a second look writes nothing");
}

#[test]
fn who_gets_cluster_admin_is_said_before_it_is_done() {
    let mut world = World::ready();
    world.cluster["spec"]["administrators"] = json!(["ann@example.com"]);
    let decision = world.decide();
    assert!(matches!(decision.step, Step::Administrate(_)), "{:?}", decision.step);
    // It is said, done, and then the process ends. Meanwhile nobody wants it any more: it has to be looked for.
    world.cluster["status"] = json!(decision.status);
    world.cluster["spec"]["administrators"] = json!([]);
    let decision = world.decide();
    assert!(matches!(&decision.step, Step::Administrate(users) if users.is_empty()), "{:?}", decision.step);
}

/// What kstatus makes of a status, by the rules of its library for conditions.
fn kstatus(status: &ClusterStatus) -> &'static str {
    let is = |type_: &str, holds: ConditionStatus| {
        crate::condition::find(&status.conditions, type_).is_some_and(|said| said.status == holds)
    };
    match () {
        () if is("Reconciling", ConditionStatus::True) => "InProgress",
        () if is("Stalled", ConditionStatus::True) => "Failed",
        () if is("Ready", ConditionStatus::True) => "Current",
        () => "InProgress",
    }
}

#[test]
fn a_bad_edit_of_a_cluster_that_runs_is_stalled_and_the_cluster_stays_ready() {
    let mut world = World::bound();
    world.is_live = true;
    assert_eq!(kstatus(&world.decide().status), "InProgress");
    world.create();
    assert_eq!(kstatus(&world.rest()), "InProgress");
    world.finish();
    let status = world.rest();
    assert_eq!((status.phase, kstatus(&status)), (Some(ClusterPhase::Ready), "Current"));
    world.cluster["spec"]["infrastructure"]["machineType"] = json!("m5.huge");
    world.cluster["metadata"]["generation"] = json!(2);
    let status = world.rest();
    assert_eq!((status.phase, kstatus(&status)), (Some(ClusterPhase::Invalid), "Failed"));
    assert_eq!(status.observed_generation, Some(2), "it was read");
    let ready = crate::condition::find(&status.conditions, "Ready").unwrap();
    assert_eq!((ready.status, ready.observed_generation), (ConditionStatus::True, Some(1)), "that runs");
    let stalled = crate::condition::find(&status.conditions, "Stalled").unwrap();
    assert_eq!((stalled.reason.as_str(), stalled.observed_generation), ("Invalid", Some(2)));
    assert!(stalled.message.contains("spec.infrastructure.machineType"), "{}", stalled.message);
    // A Shoot that falls ill meanwhile is not ready, and is again when it is well.
    let well = world.shoot.clone();
    *world.shoot.as_mut().unwrap().pointer_mut("/status/conditions/0/status").unwrap() = json!("False");
    let status = world.rest();
    assert_eq!(status.phase, Some(ClusterPhase::Unhealthy), "that matters more");
    assert!(provisioned(&status).0 == ConditionStatus::False && kstatus(&status) == "InProgress");
    world.shoot = well;
    let status = world.rest();
    assert_eq!((status.phase, kstatus(&status)), (Some(ClusterPhase::Invalid), "Failed"));
    assert!(
        crate::condition::find(&status.conditions, "Ready")
            .is_some_and(|it| it.status == ConditionStatus::True)
    );
    // One that is gone is told, though what is asked for is invalid.
    world.shoot = None;
    world.is_live = false;
    assert_eq!(world.decide().step, Step::LookLive);
    world.is_live = true;
    let status = world.rest();
    assert_eq!((status.phase, provisioned(&status).1), (Some(ClusterPhase::Failed), "ShootMissing"));
    let ready = crate::condition::find(&status.conditions, "Ready").unwrap();
    assert_eq!(ready.status, ConditionStatus::False);
}

#[test]
fn an_update_ends_ready_and_not_ill_for_a_moment() {
    let mut world = World::ready();
    let progressing = |world: &mut World, state: &str| {
        let shoot = world.shoot.as_mut().unwrap();
        *shoot.pointer_mut("/status/lastOperation/state").unwrap() = json!(state);
        *shoot.pointer_mut("/status/conditions/0/status").unwrap() = json!("Progressing");
    };
    progressing(&mut world, "Processing");
    let status = world.rest();
    assert_eq!(status.phase, Some(ClusterPhase::Updating));
    world.cluster["status"] = json!(status);
    progressing(&mut world, "Succeeded");
    let status = world.rest();
    assert_eq!(status.phase, Some(ClusterPhase::Updating), "Gardener has not seen all of it work yet");
    assert_eq!(kstatus(&status), "InProgress");
    world.finish();
    assert_eq!(world.rest().phase, Some(ClusterPhase::Ready));
}

#[test]
fn what_is_asked_for_and_not_done_is_told() {
    let mut world = World::ready();
    world.cluster["spec"]["infrastructure"]["subscriptionSelector"] = json!("another");
    let status = world.rest();
    let said = crate::condition::find(&status.conditions, "ClusterProvisioned").unwrap();
    assert!(said.message.contains("not done: spec.infrastructure.subscriptionSelector"), "{}", said.message);
}

#[test]
fn a_shoot_with_a_template_that_is_refused_now_stays_as_it_is() {
    let mut world = World::bound();
    world.role = NamespaceRole::Platform;
    world.cluster["spec"]["shootTemplate"] = json!({"spec": {"seedSelector": {"matchLabels": {"a": "b"}}}});
    world.is_live = true;
    world.create();
    world.finish();
    assert_eq!(world.rest().phase, Some(ClusterPhase::Ready));
    // The namespace is a tenant's from now on, and the Cluster asks for something else besides.
    world.role = NamespaceRole::Tenants([].into());
    world.cluster["spec"]["infrastructure"]["autoScalerMax"] = json!(5);
    world.cluster["metadata"]["generation"] = json!(2);
    let status = world.rest();
    let said = crate::condition::find(&status.conditions, "ClusterProvisioned").unwrap();
    assert_eq!((status.phase, said.reason.as_str()), (Some(ClusterPhase::Invalid), "Invalid"));
    for words in ["spec.shootTemplate.spec.seedSelector: only the platform", "the Shoot stays as it is"] {
        assert!(said.message.contains(words), "{}", said.message);
    }
    assert_eq!(world.rest(), status, "a second look changes nothing");
    world.cluster["spec"].as_object_mut().unwrap().remove("shootTemplate");
    world.update();
    assert_eq!(world.rest().phase, Some(ClusterPhase::Ready));
}
