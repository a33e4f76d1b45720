//! Three operators at work on one cluster, and people who ask for access to it.

use super::{
    clusters::Play,
    stage::{Fault, until},
};
use allotment_api::{
    condition::ConditionStatus,
    kyma::{KubeconfigPhase, KubeconfigRequest, KubeconfigRequestStatus},
};
use allotment_core::{access::Access, tenancy::Tenancy};
use allotment_operator::{
    kubeconfig::{Operator, Parts, Policy, Settings},
    metrics::Metrics,
    runtime::{clock::Clock, controller::Controller as _},
};
use allotment_testing::{Landscape, client};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::{
    core::v1::{ConfigMap, Secret, ServiceAccount},
    rbac::v1::{ClusterRole, ClusterRoleBinding, Role},
};
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, Patch, PatchParams, PostParams},
    config::{AuthInfo, Kubeconfig},
};
use serde_json::{Value, json};
use std::{
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
    pub operator: Operator,
    task: JoinHandle<()>,
    /// How far the operator's clock is ahead, in seconds.
    pub ahead: Arc<AtomicI64>,
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
        let operator = operator(&play, &ahead, play.stage.plot.landscape.control_plane.clone())?;
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
        let control_plane = self.play.stage.plot.landscape.control_plane.clone();
        self.start_as(control_plane)
    }

    pub fn start_as(&mut self, control_plane: Client) -> Result<(), Fault> {
        self.operator = operator(&self.play, &self.ahead, control_plane)?;
        let operator = self.operator.clone();
        let before =
            std::mem::replace(&mut self.task, tokio::spawn(async move { operator.run_as_leader().await }));
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(400)).await;
            before.abort();
        });
        Ok(())
    }

    /// Goes on with an operator that may do here what the chart allows where a namespace is not open for Secrets.
    pub async fn restart_without_secrets(&mut self) -> Result<(), Fault> {
        let plot = &self.play.stage.plot;
        let (admin, namespace) = (&plot.landscape.control_plane, plot.namespace.as_str());
        let once = PostParams::default();
        let account = json!({ "metadata": { "name": "operator" } });
        let accounts: Api<ServiceAccount> = Api::namespaced(admin.clone(), namespace);
        accounts.create(&once, &serde_json::from_value(account)?).await?;
        // The landscape is shared, and this is not in a namespace.
        let name = format!("operator-of-{namespace}");
        let role = json!({ "metadata": { "name": name }, "rules": [
            { "apiGroups": ["operator.kyma-project.io"], "verbs": ["get", "list", "watch", "patch"],
              "resources": ["clusters", "kubeconfigrequests", "kubeconfigrequests/status"] },
            { "apiGroups": ["allotment.dev"], "verbs": ["get", "list", "watch"], "resources": ["accesslocks"] },
            { "apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"] },
        ]});
        Api::<ClusterRole>::all(admin.clone()).create(&once, &serde_json::from_value(role)?).await?;
        let binding = json!({ "metadata": { "name": name },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name },
            "subjects": [{ "kind": "ServiceAccount", "name": "operator", "namespace": namespace }],
        });
        Api::<ClusterRoleBinding>::all(admin.clone())
            .create(&once, &serde_json::from_value(binding)?)
            .await?;
        let asked = serde_json::from_value(json!({ "metadata": {}, "spec": { "audiences": [] } }))?;
        let token =
            accounts.create_token_request("operator", &once, &asked).await?.status.unwrap().token.unwrap();
        let mut kubeconfig = Kubeconfig::read_from(&plot.landscape.control_plane_kubeconfig)?;
        for user in &mut kubeconfig.auth_infos {
            user.auth_info = Some(AuthInfo { token: Some(token.clone().into()), ..AuthInfo::default() });
        }
        let control_plane = client(kubeconfig).await?;
        self.task.abort();
        self.start_as(control_plane)
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

    pub async fn patch_json(&self, name: &str, patch: Value) -> Result<(), Fault> {
        let patch = Patch::<()>::Json(serde_json::from_value(patch)?);
        self.requests().patch(name, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    pub async fn annotate(&self, name: &str, key: &str, value: &str) -> Result<(), Fault> {
        let key = format!("operator.kyma-project.io/{key}");
        self.patch(name, json!({ "metadata": { "annotations": { key: value } } })).await
    }

    pub async fn that(
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
    pub async fn because(&self, name: &str, type_: &str, reason: &str) -> Result<String, Fault> {
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

fn operator(play: &Play, ahead: &Arc<AtomicI64>, control_plane: Client) -> Result<Operator, Fault> {
    let clock = Clock::new({
        let ahead = ahead.clone();
        move || Timestamp::now() + SignedDuration::from_secs(ahead.load(Ordering::Relaxed))
    });
    let plot = &play.stage.plot;
    Ok(Operator::new(Parts {
        control_plane,
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

pub fn policy(access: Value, namespace: &str) -> Result<Policy, Fault> {
    let access: Access = serde_json::from_value(access)?;
    Ok(Policy {
        access: Arc::new(access),
        cluster_namespace: namespace.to_owned(),
        tenancy: Arc::new(Tenancy::trusted()),
    })
}

pub fn condition(request: &KubeconfigRequest, type_: &str) -> Option<(ConditionStatus, String, String)> {
    let conditions = &request.status.as_ref()?.conditions;
    let found = conditions.iter().find(|condition| condition.type_ == type_)?;
    Some((found.status, found.reason.clone(), found.message.clone()))
}

pub fn text_of(status: &KubeconfigRequestStatus) -> String {
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
pub async fn refused(client: &Client) -> Result<Duration, Fault> {
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
