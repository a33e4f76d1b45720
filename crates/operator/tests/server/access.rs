//! KubeconfigRequests: what is handed out, for how long, and how it ends.

use super::{
    clusters::Play,
    stage::{Fault, until},
};
use allotment_api::{
    condition::ConditionStatus,
    kyma::{KubeconfigPhase, KubeconfigRequest, KubeconfigRequestStatus, TokenState},
};
use allotment_core::access::Access;
use allotment_operator::{
    kubeconfig::{Operator, Parts, Policy, Settings},
    metrics::Metrics,
    runtime::clock::Clock,
};
use allotment_testing::{Landscape, Outcome, client};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::{
    core::v1::{ConfigMap, Namespace, Secret, ServiceAccount},
    rbac::v1::{ClusterRole, ClusterRoleBinding, Role},
};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
    config::Kubeconfig,
};
use serde_json::{Value, json};
use std::{
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};
use tokio::{task::JoinHandle, time::Instant};

/// Three operators at work, and a cluster that is ready.
pub struct Desk {
    pub play: Play,
    operator: Operator,
    task: JoinHandle<()>,
    /// How far the operator's clock is ahead, in seconds.
    ahead: Arc<AtomicI64>,
    pub shoot: String,
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Desk {
    pub async fn new(landscape: &Landscape) -> Result<Self, Fault> {
        let play = Play::new(landscape, 1).await?;
        play.create("home", |_| ()).await?;
        let shoot = play.ready("home").await?.shoot_name.unwrap();
        let ahead = Arc::new(AtomicI64::new(0));
        let operator = operator(&play, &ahead)?;
        let task = tokio::spawn({
            let operator = operator.clone();
            async move { operator.run_as_leader().await }
        });
        Ok(Self { play, operator, task, ahead, shoot })
    }

    /// Ends the operator like a crash would, and starts another one.
    pub fn restart(&mut self) -> Result<(), Fault> {
        self.task.abort();
        self.start_another()
    }

    /// Starts another one, whatever the one before does: two that both believe that they lead.
    pub fn start_another(&mut self) -> Result<(), Fault> {
        self.operator = operator(&self.play, &self.ahead)?;
        let operator = self.operator.clone();
        let before =
            std::mem::replace(&mut self.task, tokio::spawn(async move { operator.run_as_leader().await }));
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(400)).await;
            before.abort();
        });
        Ok(())
    }

    pub fn requests(&self) -> Api<KubeconfigRequest> {
        let plot = &self.play.stage.plot;
        Api::namespaced(plot.landscape.control_plane.clone(), &plot.namespace)
    }

    pub async fn ask(&self, name: &str, spec: Value) -> Result<KubeconfigRequest, Fault> {
        let mut spec = spec;
        if spec.get("cluster").is_none() {
            spec["cluster"] = json!("home");
        }
        let request = serde_json::from_value(json!({
            "apiVersion": "operator.kyma-project.io/v1alpha1",
            "kind": "KubeconfigRequest",
            "metadata": { "name": name },
            "spec": spec,
        }))?;
        Ok(self.requests().create(&PostParams::default(), &request).await?)
    }

    pub async fn patch(&self, name: &str, patch: Value) -> Result<(), Fault> {
        self.requests().patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await?;
        Ok(())
    }

    pub async fn annotate(&self, name: &str, key: &str, value: &str) -> Result<(), Fault> {
        let key = format!("operator.kyma-project.io/{key}");
        self.patch(name, json!({ "metadata": { "annotations": { key: value } } })).await
    }

    async fn that(
        &self,
        name: &str,
        what: &str,
        is: impl Fn(&KubeconfigRequest) -> bool,
    ) -> Result<KubeconfigRequest, Fault> {
        let api = self.requests();
        until(&format!("KubeconfigRequest {name} {what}"), async || {
            let request = api.get(name).await.map_err(|error| error.to_string())?;
            if is(&request) { Ok(request) } else { Err(format!("{:?}", request.status)) }
        })
        .await
    }

    pub async fn issued(&self, name: &str) -> Result<KubeconfigRequestStatus, Fault> {
        let request = self
            .that(name, "is issued", |request| {
                let status = request.status.as_ref();
                status.is_some_and(|status| {
                    status.phase == Some(KubeconfigPhase::Issued)
                        && status.observed_generation == request.metadata.generation
                })
            })
            .await?;
        Ok(request.status.unwrap())
    }

    /// Waits until a condition has this reason, and returns its message.
    async fn because(&self, name: &str, type_: &str, reason: &str) -> Result<String, Fault> {
        let has = |request: &KubeconfigRequest| condition(request, type_).is_some_and(|it| it.1 == reason);
        let request = self.that(name, &format!("has {type_} {reason}"), has).await?;
        Ok(condition(&request, type_).unwrap().2)
    }

    /// Everything that carries a request's label in the cluster.
    pub async fn left_of(&self, request: &KubeconfigRequest) -> Result<Vec<String>, Fault> {
        let inside = self.play.inside(&self.shoot).await?;
        let ours = ListParams::default()
            .labels(&format!("allotment.dev/kubeconfig-request={}", request.uid().unwrap()));
        let mut all = Vec::new();
        all.extend(
            Api::<ServiceAccount>::all(inside.clone()).list(&ours).await?.iter().map(ResourceExt::name_any),
        );
        all.extend(Api::<Secret>::all(inside.clone()).list(&ours).await?.iter().map(ResourceExt::name_any));
        all.extend(
            Api::<ClusterRole>::all(inside.clone()).list(&ours).await?.iter().map(ResourceExt::name_any),
        );
        all.extend(
            Api::<ClusterRoleBinding>::all(inside.clone())
                .list(&ours)
                .await?
                .iter()
                .map(ResourceExt::name_any),
        );
        all.extend(Api::<Role>::all(inside).list(&ours).await?.iter().map(ResourceExt::name_any));
        Ok(all)
    }
}

fn operator(play: &Play, ahead: &Arc<AtomicI64>) -> Result<Operator, Fault> {
    let clock = Clock::new({
        let ahead = ahead.clone();
        move || Timestamp::now() + SignedDuration::from_secs(ahead.load(Ordering::Relaxed))
    });
    let plot = &play.stage.plot;
    Ok(Operator::new(Parts {
        control_plane: plot.landscape.control_plane.clone(),
        garden: plot.landscape.garden.clone(),
        targets: play.targets.clone(),
        settings: Settings {
            garden_namespace: plot.garden_namespace.clone(),
            request_namespace: Some(plot.namespace.clone()),
            lease_namespace: plot.namespace.clone(),
            identity: "kubeconfig-operator".to_owned(),
            workers: 4,
        },
        policy: policy(json!({}), &plot.namespace)?,
        clock,
        metrics: Metrics::new(),
    }))
}

fn policy(access: Value, namespace: &str) -> Result<Policy, Fault> {
    let access: Access = serde_json::from_value(access)?;
    Ok(Policy { access: Arc::new(access), cluster_namespace: namespace.to_owned() })
}

fn condition(request: &KubeconfigRequest, type_: &str) -> Option<(ConditionStatus, String, String)> {
    let conditions = &request.status.as_ref()?.conditions;
    let found = conditions.iter().find(|condition| condition.type_ == type_)?;
    Some((found.status, found.reason.clone(), found.message.clone()))
}

fn text_of(status: &KubeconfigRequestStatus) -> String {
    let text = BASE64_STANDARD.decode(status.kubeconfig.as_ref().unwrap()).unwrap();
    String::from_utf8(text).unwrap()
}

pub async fn client_of(status: &KubeconfigRequestStatus) -> Result<Client, Fault> {
    Ok(client(Kubeconfig::from_yaml(&text_of(status))?).await?)
}

pub async fn code(client: &Client) -> u16 {
    match Api::<ConfigMap>::namespaced(client.clone(), "default").list(&ListParams::default()).await {
        Ok(_) => 200,
        Err(kube::Error::Api(status)) => status.code,
        Err(error) => panic!("{error}"),
    }
}

/// Waits until a client is refused, and says how long it took.
async fn refused(client: &Client) -> Result<Duration, Fault> {
    let started = Instant::now();
    until("the token is refused", async || match code(client).await {
        401 => Ok(()),
        code => Err(code.to_string()),
    })
    .await?;
    Ok(started.elapsed())
}

pub fn reads_config_maps() -> Value {
    json!({ "clusterRole": { "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"] }] } })
}

pub async fn a_kubeconfig_can_do_what_was_asked_for_and_nothing_else(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    let team = format!("team-{}", desk.play.stage.plot.namespace);
    let mut spec = reads_config_maps();
    spec["role"] = json!({ "namespace": team, "createNamespace": true, "rules": [
        { "apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "create"] },
    ]});
    spec["expiration"] = json!(900);
    desk.ask("one", spec).await?;
    let status = desk.issued("one").await?;
    let life = status.expiration_timestamp.as_ref().unwrap().0.duration_since(Timestamp::now());
    assert!((800..=905).contains(&life.as_secs()), "{life:?}");
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("kubeconfig");
    std::fs::write(&file, text_of(&status))?;
    let secret = directory.path().join("secret.json");
    let mine =
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "mine", "namespace": team } });
    std::fs::write(&secret, mine.to_string())?;
    let kubectl = |arguments: &[&str]| -> Result<(bool, String), Fault> {
        let path = secret.to_string_lossy();
        let arguments = arguments.iter().map(|word| if *word == "SECRET" { &*path } else { *word });
        let done =
            Command::new(&landscape.kubectl).arg("--kubeconfig").arg(&file).args(arguments).output()?;
        Ok((done.status.success(), String::from_utf8_lossy(&done.stderr).into_owned()))
    };
    for allowed in [
        &["get", "configmaps", "-A"][..],
        &["create", "-f", "SECRET"],
        &["get", "secret", "mine", "-n", &team],
    ] {
        let (is_done, said) = kubectl(allowed)?;
        assert!(is_done, "{allowed:?}: {said}");
    }
    for refused in [
        &["get", "secrets", "-n", "default"][..],
        &["delete", "secret", "mine", "-n", &team],
        &["delete", "configmap", "c", "-n", "default"],
        &["get", "clusterroles"],
    ] {
        let (is_done, said) = kubectl(refused)?;
        assert!(!is_done && said.to_lowercase().contains("forbidden"), "{refused:?}: {said}");
    }
    Ok(())
}

pub async fn a_leaked_token_is_ended_after_the_new_one_is_published(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    desk.ask("one", reads_config_maps()).await?;
    let first = desk.issued("one").await?;
    let old = client_of(&first).await?;
    assert_eq!(code(&old).await, 200);
    desk.annotate("one", "rotate", "true").await?;
    let rotated = desk.that("one", "has a new one", |request| {
        request.status.as_ref().is_some_and(|status| status.kubeconfig != first.kubeconfig)
    });
    let new = client_of(&rotated.await?.status.unwrap()).await?;
    assert_eq!(code(&new).await, 200);
    let done = desk
        .that("one", "is done", |request| {
            request.annotations().get("operator.kyma-project.io/rotate").is_some_and(|value| value == "false")
                && request.status.as_ref().is_some_and(|status| status.tokens.len() == 1)
        })
        .await?;
    assert_eq!(code(&old).await, 401, "it is not said before it is so");
    assert_eq!(code(&new).await, 200);
    assert_eq!(done.status.unwrap().tokens[0].state, TokenState::Published);
    Ok(())
}

pub async fn what_is_revoked_is_refused_and_can_be_granted_anew(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    let request = desk.ask("one", reads_config_maps()).await?;
    let old = client_of(&desk.issued("one").await?).await?;
    assert_eq!(code(&old).await, 200);
    assert!(!desk.left_of(&request).await?.is_empty());
    desk.annotate("one", "revoke", "true").await?;
    let revoked = desk.that("one", "is revoked", |request| {
        condition(request, "Revoked").is_some_and(|it| it.0 == ConditionStatus::True)
    });
    let status = revoked.await?.status.unwrap();
    assert_eq!(code(&old).await, 401, "it is not said before it is so");
    assert_eq!(status.phase, Some(KubeconfigPhase::Revoked));
    assert!(status.kubeconfig.is_none() && status.expiration_timestamp.is_none() && status.tokens.is_empty());
    assert!(desk.left_of(&request).await?.is_empty());
    desk.annotate("one", "revoke", "false").await?;
    let again = client_of(&desk.issued("one").await?).await?;
    assert_eq!((code(&again).await, code(&old).await), (200, 401));
    Ok(())
}

/// The second word counts, also while the first is being seen to.
pub async fn what_is_revoked_or_rotated_in_between_is_not_forgotten(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    let request = desk.ask("one", reads_config_maps()).await?;
    let first = desk.issued("one").await?;
    let old = client_of(&first).await?;
    // The server remembers whom it has let in.
    assert_eq!(code(&old).await, 200);
    desk.annotate("one", "rotate", "true").await?;
    let rotated = desk.that("one", "has a new one", |request| {
        request.status.as_ref().is_some_and(|status| status.kubeconfig != first.kubeconfig)
    });
    let new = client_of(&rotated.await?.status.unwrap()).await?;
    assert_eq!(code(&new).await, 200);
    desk.annotate("one", "revoke", "true").await?;
    desk.because("one", "Revoked", "Revoked").await?;
    assert_eq!((code(&new).await, code(&old).await), (401, 401), "it is not said before it is so");
    assert!(desk.left_of(&request).await?.is_empty());

    desk.patch(
        "one",
        json!({ "metadata": { "annotations": {
            "operator.kyma-project.io/revoke": "false", "operator.kyma-project.io/rotate": "false",
        }}}),
    )
    .await?;
    let again = client_of(&desk.issued("one").await?).await?;
    assert_eq!(code(&again).await, 200);
    desk.annotate("one", "revoke", "true").await?;
    desk.that("one", "is being revoked", |request| condition(request, "Revoked").is_some()).await?;
    desk.annotate("one", "revoke", "false").await?;
    until("it is granted anew", async || {
        let status = desk.requests().get("one").await.map_err(|error| error.to_string())?.status.unwrap();
        if status.kubeconfig.is_none() {
            return Err(format!("{status:?}"));
        }
        let client = client_of(&status).await.map_err(|error| error.to_string())?;
        if code(&client).await == 200 { Ok(client) } else { Err(format!("{:?}", status.conditions)) }
    })
    .await?;
    // What is being ended when the next word comes may still be believed for some seconds.
    desk.that("one", "has one token", |request| {
        request.status.as_ref().is_some_and(
            |status| matches!(status.tokens.as_slice(), [only] if only.state == TokenState::Published),
        )
    })
    .await?;
    let last = client_of(&desk.issued("one").await?).await?;
    assert_eq!((code(&last).await, code(&again).await), (200, 401));
    desk.annotate("one", "revoke", "true").await?;
    desk.that("one", "is revoked", |request| {
        condition(request, "Revoked").is_some_and(|it| it.0 == ConditionStatus::True)
    })
    .await?;
    assert_eq!(code(&last).await, 401, "it is not said before it is so");
    assert!(desk.left_of(&request).await?.is_empty());
    Ok(())
}

pub async fn tokens_are_rotated_in_time_and_no_reader_is_refused(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    desk.ask("one", reads_config_maps()).await?;
    let mut readers = vec![client_of(&desk.issued("one").await?).await?];
    let mut last = desk.issued("one").await?;
    for _ in 0..3 {
        // At two thirds of its life nothing happens; at four fifths there is a new one.
        let issued = last.issued_at.as_ref().unwrap().0;
        let life = last.expiration_timestamp.as_ref().unwrap().0.duration_since(issued).as_secs();
        let go_to = |part: i64| {
            let moment = issued + SignedDuration::from_secs(life * part / 100);
            desk.ahead.store(moment.duration_since(Timestamp::now()).as_secs() + 1, Ordering::Relaxed);
            desk.operator.resync();
        };
        go_to(66);
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(desk.issued("one").await?.kubeconfig, last.kubeconfig);
        go_to(81);
        let kubeconfig = last.kubeconfig.clone();
        desk.that("one", "is rotated", |request| {
            request.status.as_ref().is_some_and(|status| status.kubeconfig != kubeconfig)
        })
        .await?;
        last = desk.issued("one").await?;
        readers.push(client_of(&last).await?);
        for reader in &readers {
            assert_eq!(code(reader).await, 200, "whoever has an older one is not refused before it runs out");
        }
    }
    let states: Vec<_> = last.tokens.iter().map(|token| token.state).collect();
    assert_eq!(states.iter().filter(|state| **state == TokenState::Published).count(), 1);
    Ok(())
}

pub async fn a_kubeconfig_can_go_into_a_secret(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    let plot = &desk.play.stage.plot;
    let secrets: Api<Secret> = Api::namespaced(plot.landscape.control_plane.clone(), &plot.namespace);
    let taken = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "taken" }, "stringData": { "k": "v" } });
    secrets.create(&PostParams::default(), &serde_json::from_value(taken)?).await?;
    let mut spec = reads_config_maps();
    spec["secretRef"] = json!({ "name": "taken" });
    desk.ask("one", spec).await?;
    let message = desk.because("one", "Ready", "SecretTaken").await?;
    assert!(message.contains("taken"), "{message}");
    desk.patch("one", json!({ "spec": { "secretRef": { "name": "own", "key": "config" } } })).await?;
    let status = desk.issued("one").await?;
    assert!(status.kubeconfig.is_none());
    let secret = secrets.get("own").await?;
    assert_eq!(secret.owner_references().len(), 1);
    let text = String::from_utf8(secret.data.unwrap()["config"].0.clone())?;
    let client = client(Kubeconfig::from_yaml(&text)?).await?;
    assert_eq!(code(&client).await, 200);
    desk.annotate("one", "revoke", "true").await?;
    desk.that("one", "is revoked", |request| {
        request.status.as_ref().is_some_and(|status| status.phase == Some(KubeconfigPhase::Revoked))
    })
    .await?;
    assert!(secrets.get_opt("own").await?.is_none());
    assert!(secrets.get_opt("taken").await?.is_some());
    refused(&client).await?;
    Ok(())
}

pub async fn policies_bound_what_can_be_had(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    let escalates = json!({ "clusterRole": { "rules": [
        { "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"], "verbs": ["escalate"] },
    ]}});
    desk.ask("escalates", escalates).await?;
    let message = desk.because("escalates", "PolicyAllowed", "Denied").await?;
    assert!(message.contains("spec.clusterRole.rules[0]") && message.contains("escalate"), "{message}");
    // Seed 004's own rules: they match nothing as they are written.
    let seed = json!({
        "clusterRole": { "rules": [
            { "apiGroups": ["application-connector.kyma-project.io/v1alpha1"], "resources": ["Application"], "verbs": ["get"] },
        ]},
        "role": { "namespace": "default", "rules": [{ "apiGroups": ["*"], "resources": ["Secret"], "verbs": ["get", "create"] }] },
    });
    let request = desk.ask("seed", seed).await?;
    desk.issued("seed").await?;
    let message = desk.because("seed", "RulesEffective", "Mended").await?;
    assert!(message.contains("\"applications\"") && message.contains("\"secrets\""), "{message}");
    // What is no longer allowed is taken back.
    let namespace = desk.play.stage.plot.namespace.clone();
    let most = json!({ "policies": [{ "namespaces": [namespace], "clusterRole": [], "role": [] }] });
    desk.operator.set_policy(policy(most, &namespace)?);
    desk.that("seed", "is denied", |request| {
        request.status.as_ref().is_some_and(|status| {
            status.phase == Some(KubeconfigPhase::Denied) && status.kubeconfig.is_none()
        })
    })
    .await?;
    assert!(desk.left_of(&request).await?.is_empty());
    Ok(())
}

pub async fn what_is_changed_in_the_cluster_is_put_back(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    let request = desk.ask("one", reads_config_maps()).await?;
    let client = client_of(&desk.issued("one").await?).await?;
    let inside = desk.play.inside(&desk.shoot).await?;
    let ours =
        ListParams::default().labels(&format!("allotment.dev/kubeconfig-request={}", request.uid().unwrap()));
    let roles: Api<ClusterRole> = Api::all(inside.clone());
    let bindings: Api<ClusterRoleBinding> = Api::all(inside);
    let role = roles.list(&ours).await?.items.remove(0).name_any();
    let more = json!({ "rules": [{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }] });
    roles.patch(&role, &PatchParams::default(), &Patch::Merge(&more)).await?;
    bindings.delete(&role, &DeleteParams::default()).await?;
    desk.operator.look_into_all();
    until("it is put back", async || match code(&client).await {
        200 => Ok(()),
        code => Err(code.to_string()),
    })
    .await?;
    let rules = roles.get(&role).await?.rules.unwrap();
    assert_eq!((rules.len(), rules[0].verbs.as_slice()), (1, &["get".to_owned(), "list".to_owned()][..]));
    Ok(())
}

pub async fn a_changed_request_takes_the_old_rules_away(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    let request = desk.ask("one", json!({
        "role": { "namespace": "default", "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"] }] },
    }));
    let request = request.await?;
    let old = client_of(&desk.issued("one").await?).await?;
    assert_eq!(code(&old).await, 200);
    let nodes = json!({ "rules": [{ "apiGroups": [""], "resources": ["nodes"], "verbs": ["list"] }] });
    desk.patch("one", json!({ "spec": { "role": null, "clusterRole": nodes } })).await?;
    desk.issued("one").await?;
    assert_eq!(code(&old).await, 403, "the same ServiceAccount, other rules");
    let inside = desk.play.inside(&desk.shoot).await?;
    let ours =
        ListParams::default().labels(&format!("allotment.dev/kubeconfig-request={}", request.uid().unwrap()));
    assert!(Api::<Role>::all(inside).list(&ours).await?.items.is_empty());
    Ok(())
}

pub async fn rotated_credentials_of_a_shoot_make_a_new_kubeconfig(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    desk.ask("one", reads_config_maps()).await?;
    let first = desk.issued("one").await?;
    let rotation = json!({ "status": { "credentials": { "rotation": { "serviceAccountKey": {
        "phase": "Prepared", "lastInitiationTime": Timestamp::now(),
    }}}}});
    desk.play
        .stage
        .plot
        .shoots()
        .patch_status(&desk.shoot, &PatchParams::default(), &Patch::Merge(&rotation))
        .await?;
    desk.that("one", "has a new one", |request| {
        request.status.as_ref().is_some_and(|status| status.kubeconfig != first.kubeconfig)
    })
    .await?;
    assert_eq!(code(&client_of(&first).await?).await, 200, "the old one runs out by itself");
    Ok(())
}

pub async fn what_is_missing_is_told(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    let mut spec = reads_config_maps();
    spec["cluster"] = json!("nowhere");
    desk.ask("no-cluster", spec).await?;
    let message = desk.because("no-cluster", "Ready", "NoCluster").await?;
    assert!(message.contains("nowhere"), "{message}");
    let absent = format!("not-{}", desk.play.stage.plot.namespace);
    let spec = json!({ "role": { "namespace": absent, "rules": [
        { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"] },
    ]}});
    desk.ask("no-namespace", spec).await?;
    let message = desk.because("no-namespace", "Ready", "NamespaceMissing").await?;
    assert!(message.contains(&absent) && message.contains("createNamespace"), "{message}");
    let namespaces: Api<Namespace> = Api::all(desk.play.inside(&desk.shoot).await?);
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": absent } });
    namespaces.create(&PostParams::default(), &serde_json::from_value(namespace)?).await?;
    desk.issued("no-namespace").await?;
    namespaces.delete(&absent, &DeleteParams::default()).await?;
    Ok(())
}

pub async fn a_deleted_request_leaves_nothing_behind(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    let request = desk.ask("one", reads_config_maps()).await?;
    let old = client_of(&desk.issued("one").await?).await?;
    let gone = async |name: &str| {
        let api = desk.requests();
        let name = name.to_owned();
        until(&format!("KubeconfigRequest {name} is gone"), async || match api.get_opt(&name).await {
            Ok(None) => Ok(()),
            other => Err(format!("{:?}", other.map(|request| request.map(|request| request.status)))),
        })
        .await
    };
    desk.requests().delete("one", &DeleteParams::default()).await?;
    gone("one").await?;
    assert!(desk.left_of(&request).await?.is_empty());
    assert_eq!(code(&old).await, 401);
    // A cluster that is gone does not stand in the way.
    desk.ask("two", reads_config_maps()).await?;
    desk.issued("two").await?;
    desk.play.delete("home").await?;
    desk.play.gone("home").await?;
    desk.requests().delete("two", &DeleteParams::default()).await?;
    gone("two").await?;
    Ok(())
}
