//! A KubeconfigRequest from its beginning to its end, a step at a time.

mod locked;
mod minting;
mod refused;

use super::*;
use allotment_api::{
    condition::ConditionStatus,
    kyma::{KubeconfigPhase, TokenState},
    names::annotation,
};
use jiff::SignedDuration;
use serde_json::{Value, json};

struct World {
    request: Value,
    cluster: Option<Value>,
    access: Access,
    role: NamespaceRole,
    is_locked: bool,
    is_published: bool,
    tenant: Option<&'static str>,
    rotation: &'static str,
    place: Option<&'static str>,
    is_granted: bool,
    is_ended: bool,
    is_withdrawn: bool,
    is_swept: bool,
    is_waiting: bool,
    hitch: Option<Hitch>,
    no_token_before: Option<Timestamp>,
    is_look_due: bool,
    now: Timestamp,
}

fn start() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

impl World {
    fn new() -> Self {
        Self {
            request: json!({
                "apiVersion": "operator.kyma-project.io/v1alpha1",
                "kind": "KubeconfigRequest",
                "metadata": {
                    "name": "one", "namespace": "a", "uid": "u-1", "generation": 1, "finalizers": ["allotment.dev/kubeconfig"],
                    "annotations": {},
                },
                "spec": {
                    "cluster": "home",
                    "clusterRole": {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
                    "expiration": 3600,
                },
            }),
            cluster: Some(json!({
                "apiVersion": "operator.kyma-project.io/v1alpha1",
                "kind": "Cluster",
                "metadata": {"name": "home", "namespace": "a"},
                "spec": {},
                "status": {"phase": "Ready", "apiServer": "https://e", "shootName": "s", "shootUID": "s-1"},
            })),
            access: Access::default(),
            role: NamespaceRole::Trusted,
            is_locked: false,
            is_published: false,
            tenant: None,
            rotation: "r1",
            place: None,
            is_granted: false,
            is_ended: false,
            is_withdrawn: false,
            is_swept: true,
            is_waiting: false,
            hitch: None,
            no_token_before: None,
            is_look_due: false,
            now: start(),
        }
    }

    /// With a kubeconfig of an hour, issued at the start.
    fn issued() -> Self {
        let mut world = Self::new();
        world.record();
        world.issue();
        world.rest();
        world.is_granted = false;
        world
    }

    fn with<T>(&self, look: impl FnOnce(&View<'_>) -> T) -> T {
        let request: KubeconfigRequest = serde_json::from_value(self.request.clone()).unwrap();
        let cluster: Option<Cluster> =
            self.cluster.as_ref().map(|cluster| serde_json::from_value(cluster.clone()).unwrap());
        look(&View {
            request: &request,
            is_published: self.is_published,
            access: &self.access,
            is_locked: self.is_locked,
            cluster: cluster.as_ref(),
            role: &self.role,
            tenant: self.tenant,
            rotation: self.rotation,
            place: self.place,
            is_granted: self.is_granted,
            is_ended: self.is_ended,
            is_withdrawn: self.is_withdrawn,
            is_swept: self.is_swept,
            is_waiting: self.is_waiting,
            hitch: self.hitch.as_ref(),
            no_token_before: self.no_token_before,
            is_look_due: self.is_look_due,
            now: self.now,
        })
    }

    fn decide(&self) -> Decision {
        self.with(decide)
    }

    fn record(&mut self) {
        let decision = self.decide();
        assert_eq!(decision.step, Step::Record);
        self.request["status"] = json!(decision.status);
    }

    /// Takes the steps from a recorded token to a published kubeconfig.
    fn issue(&mut self) {
        assert!(matches!(self.decide().step, Step::Grant(_)), "{:?}", self.decide().step);
        self.is_granted = true;
        let Step::Issue { secret, seconds, .. } = self.decide().step else {
            panic!("{:?}", self.decide().step)
        };
        let end = self.now + SignedDuration::from_secs(seconds);
        let token = Token { secret: &secret, issued: self.now, end, place: "p1" };
        let status = self.with(|view| issued(view, &token));
        self.request["status"] = json!(status);
        self.is_published = true;
    }

    fn rest(&mut self) -> KubeconfigRequestStatus {
        let decision = self.decide();
        assert_eq!(decision.step, Step::Rest);
        self.request["status"] = json!(decision.status);
        decision.status
    }

    fn annotate(&mut self, key: &str, value: &str) {
        self.request["metadata"]["annotations"][key] = json!(value);
    }

    fn after(&mut self, seconds: i64) {
        self.now = start() + SignedDuration::from_secs(seconds);
    }

    fn states(&self) -> Vec<TokenState> {
        let status: KubeconfigRequestStatus = serde_json::from_value(self.request["status"].clone()).unwrap();
        status.tokens.iter().map(|token| token.state).collect()
    }
}

fn unreachable() -> Hitch {
    Hitch { reason: "Unreachable", message: "no answer".to_owned(), is_shut: false, is_gone: false }
}

fn gone() -> Hitch {
    Hitch { reason: "ClusterGone", message: "gone".to_owned(), is_shut: false, is_gone: true }
}

fn holds(status: &KubeconfigRequestStatus, type_: &str) -> Option<(ConditionStatus, String)> {
    crate::condition::find(&status.conditions, type_)
        .map(|condition| (condition.status, condition.reason.clone()))
}

#[test]
fn a_token_is_written_down_before_it_is_asked_for() {
    let mut world = World::new();
    world.request["metadata"]["finalizers"] = json!([]);
    assert_eq!(world.decide().step, Step::Hold);
    world.request["metadata"]["finalizers"] = json!(["allotment.dev/kubeconfig"]);
    world.record();
    assert_eq!(world.states(), [TokenState::Asked]);
    world.issue();
    assert_eq!(world.states(), [TokenState::Published]);
    let status = world.rest();
    assert_eq!(status.phase, Some(KubeconfigPhase::Issued));
    assert_eq!(holds(&status, "Ready").unwrap().0, ConditionStatus::True);
    assert_eq!(world.rest(), status, "a second look changes nothing");
}

#[test]
fn a_new_one_comes_in_time_and_the_old_one_runs_out() {
    let mut world = World::issued();
    world.after(2500);
    let again = world.decide().again.unwrap();
    assert!((Duration::from_secs(20)..=Duration::from_secs(380)).contains(&again), "{again:?}");
    world.after(2880);
    world.record();
    assert_eq!(world.states(), [TokenState::Published, TokenState::Asked]);
    world.issue();
    assert_eq!(world.states(), [TokenState::Replaced, TokenState::Published]);
    world.rest();
    // Once it has run out, its Secret goes with the next look into the cluster.
    world.after(3700);
    world.is_granted = false;
    assert_eq!(world.decide().step, Step::Rest);
    world.is_granted = true;
    assert!(matches!(world.decide().step, Step::End { is_urgent: false, .. }));
    world.is_ended = true;
    world.rest();
    assert_eq!(world.states(), [TokenState::Published]);
}

#[test]
fn what_makes_a_new_one_necessary() {
    let changes: [fn(&mut World); 5] = [
        |world| world.request["metadata"]["generation"] = json!(2),
        |world| world.rotation = "r2",
        |world| world.place = Some("p2"),
        |world| world.annotate(annotation::ROTATE, "true"),
        |world| world.is_published = false,
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut world = World::issued();
        change(&mut world);
        assert_eq!(world.decide().step, Step::Record, "{number}");
    }
}

#[test]
fn a_leaked_token_is_ended_after_the_new_one_is_published() {
    let mut world = World::issued();
    world.annotate(annotation::ROTATE, "true");
    world.record();
    world.issue();
    assert_eq!(world.states(), [TokenState::Ending, TokenState::Published]);
    assert!(matches!(world.decide().step, Step::End { is_urgent: true, .. }), "and not another one");
    world.is_ended = true;
    assert_eq!(world.decide().step, Step::Unmark);
    world.annotate(annotation::ROTATE, "false");
    world.rest();
    assert_eq!(world.states(), [TokenState::Published]);
}

#[test]
fn nothing_is_called_revoked_before_it_is() {
    let mut world = World::issued();
    world.annotate(annotation::REVOKE, "true");
    world.record();
    assert!(matches!(world.decide().step, Step::Withdraw(_)));
    world.hitch = Some(unreachable());
    let decision = world.decide();
    assert!(decision.is_failed);
    assert_eq!(holds(&decision.status, "Revoked"), Some((ConditionStatus::False, "Unreachable".to_owned())));
    assert!(!decision.status.tokens.is_empty());
    world.hitch = None;
    world.is_waiting = true;
    let decision = world.decide();
    assert_eq!((decision.step, decision.again), (Step::Rest, Some(TRY_AGAIN)));
    assert_eq!(holds(&decision.status, "Revoked").unwrap().0, ConditionStatus::False);
    world.is_waiting = false;
    world.is_withdrawn = true;
    let decision = world.decide();
    assert_eq!(decision.step, Step::Clear);
    assert_eq!(decision.status.phase, Some(KubeconfigPhase::Revoked));
    assert!(decision.status.tokens.is_empty() && decision.status.expiration_timestamp.is_none());
    world.request["status"] = json!(decision.status);
    world.is_published = false;
    world.is_withdrawn = false;
    let status = world.rest();
    assert_eq!(holds(&status, "Revoked").unwrap().0, ConditionStatus::True);
    world.annotate(annotation::REVOKE, "false");
    assert_eq!(world.decide().step, Step::Record, "it is granted anew");
}

#[test]
fn whoever_wants_it_back_gets_a_new_one() {
    let mut world = World::issued();
    world.annotate(annotation::REVOKE, "true");
    world.record();
    assert_eq!(world.states(), [TokenState::Ending]);
    // What was there may be gone by now.
    world.annotate(annotation::REVOKE, "false");
    world.record();
    assert_eq!(world.states(), [TokenState::Ending, TokenState::Asked]);
    world.issue();
    assert_eq!(world.states(), [TokenState::Ending, TokenState::Published]);
    assert!(matches!(world.decide().step, Step::End { is_urgent: true, .. }));
}

#[test]
fn a_cluster_that_cannot_be_reached_leaves_what_is_valid() {
    let mut world = World::issued();
    world.after(2880);
    world.record();
    world.hitch = Some(unreachable());
    let decision = world.decide();
    assert_eq!(holds(&decision.status, "Ready"), Some((ConditionStatus::True, "RotationDelayed".to_owned())));
    world.after(3700);
    let decision = world.decide();
    assert_eq!(holds(&decision.status, "Ready"), Some((ConditionStatus::False, "Unreachable".to_owned())));
}

#[test]
fn a_cluster_that_is_not_there_or_not_ready_is_waited_for() {
    let mut world = World::new();
    world.cluster.as_mut().unwrap()["status"]["phase"] = json!("Creating");
    assert_eq!(holds(&world.rest(), "Ready").unwrap().1, "ClusterNotReady");
    world.cluster = None;
    assert_eq!(holds(&world.rest(), "Ready").unwrap().1, "NoCluster");
}

/// Somebody may take the finalizers off a Cluster: then its Shoot lives on, and what was granted in it.
#[test]
fn a_grant_is_taken_back_also_when_the_cluster_is_gone_and_its_shoot_is_not() {
    let mut world = World::issued();
    assert_eq!(world.request["status"]["shoot"], json!({"name": "s", "uid": "s-1"}));
    world.cluster = None;
    world.record();
    assert!(matches!(world.decide().step, Step::Withdraw(_)));
    world.hitch = Some(unreachable());
    // Longer than any token lives: a garden says in the end whether the Shoot is there.
    for seconds in [10, 100_000] {
        world.after(seconds);
        let decision = world.decide();
        assert!(decision.is_failed && !decision.status.tokens.is_empty());
        assert_eq!(holds(&decision.status, "Ready"), Some((ConditionStatus::False, "NoCluster".to_owned())));
        assert_eq!(
            holds(&decision.status, "Revoked"),
            Some((ConditionStatus::False, "Unreachable".to_owned()))
        );
    }
    world.hitch = Some(gone());
    let decision = world.decide();
    assert_eq!((decision.step, decision.status.shoot.clone()), (Step::Clear, None));
    assert_eq!(holds(&decision.status, "Revoked"), None, "nobody asked for that");
}

#[test]
fn a_grant_is_taken_back_before_it_is_made_in_another_cluster() {
    let others: [fn(&mut Value); 3] = [
        |status| status["shootUID"] = json!("s-2"),
        |status| status["shootName"] = json!("t"),
        |status| *status = json!({"phase": "Pending"}),
    ];
    for other in others {
        let mut world = World::issued();
        other(&mut world.cluster.as_mut().unwrap()["status"]);
        world.record();
        assert_eq!(world.states(), [TokenState::Ending]);
        assert!(matches!(world.decide().step, Step::Withdraw(_)));
        world.hitch = Some(unreachable());
        assert!(world.decide().is_failed);
        for (is_withdrawn, hitch) in [(true, None), (false, Some(gone()))] {
            (world.is_withdrawn, world.hitch) = (is_withdrawn, hitch);
            let decision = world.decide();
            assert_eq!((decision.step, decision.status.shoot), (Step::Clear, None));
            assert!(decision.status.tokens.is_empty());
        }
    }
}

/// `kubectl wait --for=condition=Revoked` comes back, whatever else is the matter.
#[test]
fn what_was_never_granted_is_revoked_at_once() {
    let mut denied = World::new();
    denied.access = serde_json::from_value(json!({"policies": [{"namespaces": ["b"]}]})).unwrap();
    let mut missing = World::new();
    missing.cluster = None;
    for mut world in [denied, missing, World::new()] {
        world.annotate(annotation::REVOKE, "true");
        let status = world.rest();
        assert_eq!(status.phase, Some(KubeconfigPhase::Revoked));
        assert_eq!(holds(&status, "Revoked"), Some((ConditionStatus::True, "Revoked".to_owned())));
        assert_eq!(world.rest(), status, "a second look changes nothing");
        world.annotate(annotation::REVOKE, "false");
        assert_eq!(holds(&world.decide().status, "Revoked"), None);
    }
}

#[test]
fn what_is_revoked_where_the_cluster_is_gone_says_so() {
    let mut world = World::issued();
    world.cluster = None;
    world.annotate(annotation::REVOKE, "true");
    world.record();
    world.hitch = Some(unreachable());
    assert_eq!(
        holds(&world.decide().status, "Revoked"),
        Some((ConditionStatus::False, "Unreachable".to_owned()))
    );
    world.hitch = Some(gone());
    let decision = world.decide();
    assert_eq!(decision.step, Step::Clear);
    world.request["status"] = json!(decision.status);
    (world.is_published, world.hitch) = (false, None);
    let told = Some((ConditionStatus::True, "ClusterGone".to_owned()));
    assert_eq!(holds(&world.rest(), "Revoked"), told);
}

#[test]
fn a_look_puts_back_what_was_changed() {
    let mut world = World::issued();
    world.is_look_due = true;
    assert!(matches!(world.decide().step, Step::Grant(_)));
    world.is_granted = true;
    assert_eq!(world.decide().step, Step::Rest);
}

#[test]
fn deletion_takes_everything_out_first_but_does_not_wait_for_ever() {
    let mut world = World::issued();
    world.request["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert!(matches!(world.decide().step, Step::Withdraw(_)));
    world.hitch = Some(unreachable());
    assert!(world.decide().is_failed);
    // Ten minutes after the last token has run out.
    world.after(3600 + 599);
    assert!(world.decide().is_failed);
    world.after(3600 + 600);
    assert_eq!(world.decide().step, Step::LetGo);
    world.after(10);
    world.hitch = Some(gone());
    assert_eq!(world.decide().step, Step::LetGo);
    world.hitch = None;
    world.is_withdrawn = true;
    assert_eq!(world.decide().step, Step::LetGo);
}

#[test]
fn clusters_are_looked_for_where_they_may_be() {
    let request = |extra: Value| -> KubeconfigRequest {
        let mut request = World::new().request;
        request["spec"].as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        serde_json::from_value(request).unwrap()
    };
    assert_eq!(cluster_namespaces(&request(json!({})), ""), ["a"]);
    assert_eq!(cluster_namespaces(&request(json!({})), "kcp"), ["a", "kcp"]);
    assert_eq!(cluster_namespaces(&request(json!({"clusterNamespace": "b"})), "kcp"), ["b"]);
}

#[test]
fn a_cluster_that_the_tenant_brought_is_cleaned_also_when_its_cluster_is_gone() {
    let mut world = World::new();
    world.cluster.as_mut().unwrap()["spec"]["byoc"] = json!({"kubeconfigSecretRef": {"name": "brought"}});
    world.record();
    world.issue();
    world.rest();
    world.cluster = None;
    world.is_granted = false;
    world.record();
    assert!(matches!(world.decide().step, Step::Withdraw(_)));
    world.hitch = Some(unreachable());
    assert!(world.decide().is_failed, "its token is still good");
    world.after(3601);
    assert_eq!(world.decide().step, Step::Clear, "there is nothing left that could be used");
    world.after(10);
    world.request["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert!(world.decide().is_failed);
    world.hitch = None;
    assert!(matches!(world.decide().step, Step::Withdraw(_)));
}

#[test]
fn another_secret_is_another_cluster_unless_the_old_one_is_gone() {
    let mut world = World::new();
    world.cluster.as_mut().unwrap()["spec"]["byoc"] = json!({"kubeconfigSecretRef": {"name": "brought"}});
    world.record();
    world.issue();
    world.rest();
    world.is_granted = false;
    world.cluster.as_mut().unwrap()["spec"]["byoc"] = json!({"kubeconfigSecretRef": {"name": "other"}});
    world.record();
    assert!(matches!(world.decide().step, Step::Withdraw(_)));
    world.hitch = Some(Hitch { is_shut: true, ..unreachable() });
    world.record();
    assert_eq!(world.request["status"]["brought"]["name"], "other");
    world.hitch = None;
    world.record();
    assert_eq!(world.states(), [TokenState::Ending, TokenState::Asked], "what is there is not forgotten");
}

/// A request in namespace `a` whose namespace has these tenants, for a Cluster of this tenant in this namespace.
fn of_tenant(tenants: &[&str], cluster_namespace: &str, tenant: Option<&str>) -> World {
    let mut world = World::new();
    world.role = NamespaceRole::Tenants(tenants.iter().map(|name| crate::pool::Tenant::new(*name)).collect());
    let cluster = world.cluster.as_mut().unwrap();
    cluster["metadata"]["namespace"] = json!(cluster_namespace);
    if let Some(tenant) = tenant {
        cluster["metadata"]["labels"] = json!({ "globalaccountid": tenant });
    }
    if cluster_namespace != "a" {
        world.access.policies = vec![crate::access::Policy {
            namespaces: vec!["a".to_owned()],
            cluster_namespaces: vec!["*".to_owned()],
            ..crate::access::Policy::default()
        }];
    }
    world
}

#[test]
fn access_is_for_the_tenant_that_the_shoot_was_made_for_whatever_the_cluster_says() {
    let is_granted = |world: &World| world.decide().step == Step::Record;
    for (tenants, namespace, tenant) in [(["u"], "a", None), (["u"], "a", Some("u")), (["u"], "b", Some("u"))]
    {
        let mut world = of_tenant(&tenants, namespace, tenant);
        world.tenant = Some("t");
        assert!(!is_granted(&world), "{namespace} {tenant:?}");
        world.tenant = Some("u");
        assert!(is_granted(&world), "{namespace} {tenant:?}");
    }
    let mut world = of_tenant(&["t", "u"], "a", None);
    world.tenant = Some("t");
    assert!(is_granted(&world), "one of several tenants");
    world.role = NamespaceRole::Platform;
    world.tenant = Some("v");
    assert!(is_granted(&world), "the platform's namespaces are for any tenant");
}

#[test]
fn access_is_for_tenants_of_the_namespace_only() {
    let is_granted = |world: &World| world.decide().step == Step::Record;
    assert!(is_granted(&of_tenant(&["t"], "a", Some("t"))));
    assert!(is_granted(&of_tenant(&["t", "u"], "a", None)), "its own Cluster need not name a tenant");
    assert!(is_granted(&of_tenant(&["t"], "b", Some("t"))), "the policies let it");
    for (tenants, tenant) in [(&["t"][..], Some("v")), (&[], None), (&[], Some("t"))] {
        let decision = of_tenant(tenants, "a", tenant).decide();
        assert_eq!(decision.status.phase, Some(KubeconfigPhase::Denied), "{tenants:?} {tenant:?}");
    }
}

#[test]
fn whether_another_tenant_has_a_cluster_is_not_told() {
    for (named, phase) in [(Some("b"), KubeconfigPhase::Denied), (None, KubeconfigPhase::Pending)] {
        let said = [Some(Some("v")), Some(None), None].map(|of| {
            let mut world = of_tenant(&["t"], "b", of.flatten());
            world.request["spec"]["clusterNamespace"] = json!(named);
            if of.is_none() {
                world.cluster = None;
            }
            let decision = world.decide();
            assert_eq!(decision.status.phase, Some(phase), "{named:?} {of:?}");
            json!([decision.step == Step::Rest, decision.status])
        });
        assert!(said.iter().all(|each| *each == said[0]), "{said:#?}");
    }
}
