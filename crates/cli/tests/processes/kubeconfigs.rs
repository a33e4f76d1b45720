//! Kubeconfigs that a process hands out, and `allotment kubeconfig`, which takes them away.

use super::world::{Ran, TENANTS, World, until};
use allotment_api::{
    allotment::AccessLock,
    kyma::{ClusterPhase, KubeconfigPhase, KubeconfigRequest},
};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

/// What the operators need to hand out kubeconfigs.
pub const CLUSTERS: &str = "{providers: {aws: {cloudProfile: aws}}}";

impl World {
    pub fn kubeconfig_requests(&self) -> Api<KubeconfigRequest> {
        Api::namespaced(self.control_plane(), TENANTS)
    }

    /// Asks for a kubeconfig that can do something with ConfigMaps.
    pub async fn ask_for_kubeconfig(&self, name: &str, cluster: &str, verb: &str, secret: Option<&str>) {
        let mut request = wanted(name, cluster, verb);
        if let Some(secret) = secret {
            request["spec"]["secretRef"] = json!({ "name": secret });
        }
        let request = serde_json::from_value(request).unwrap();
        self.kubeconfig_requests().create(&PostParams::default(), &request).await.unwrap();
    }

    /// Asks for one for a Cluster in another namespace.
    async fn ask_for_foreign_kubeconfig(&self, name: &str, cluster: &str) {
        let request = serde_json::from_value(wanted(name, cluster, "get")).unwrap();
        let api: Api<KubeconfigRequest> = Api::namespaced(self.control_plane(), "default");
        api.create(&PostParams::default(), &request).await.unwrap();
    }

    async fn end_foreign_kubeconfig(&self, name: &str) {
        let api: Api<KubeconfigRequest> = Api::namespaced(self.control_plane(), "default");
        api.delete(name, &DeleteParams::default()).await.unwrap();
        until("the other tenant's request is gone", async || match api.get_opt(name).await {
            Ok(None) => Ok(()),
            other => Err(format!("{other:?}")),
        })
        .await;
    }

    /// Waits until a KubeconfigRequest is in this phase.
    pub async fn kubeconfig_in(&self, name: &str, phase: KubeconfigPhase) -> KubeconfigRequest {
        until(&format!("KubeconfigRequest {name} is {phase:?}"), async || {
            let request = self.kubeconfig_requests().get(name).await.map_err(|error| error.to_string())?;
            let status = request.status.clone().unwrap_or_default();
            if status.phase == Some(phase) { Ok(request) } else { Err(format!("{:?}", status.conditions)) }
        })
        .await
    }

    pub async fn annotate(&self, name: &str, key: &str, value: &str) {
        let patch =
            json!({ "metadata": { "annotations": { format!("operator.kyma-project.io/{key}"): value } } });
        let params = PatchParams::default();
        self.kubeconfig_requests().patch_metadata(name, &params, &Patch::Merge(&patch)).await.unwrap();
    }

    async fn kubeconfig(&self, args: &[&str]) -> Ran {
        let kubeconfig = self.control_plane_kubeconfig();
        self.allotment(&[&["kubeconfig"], args, &["--kubeconfig", &kubeconfig]].concat()).await
    }
}

fn wanted(name: &str, cluster: &str, verb: &str) -> Value {
    json!({
        "apiVersion": "operator.kyma-project.io/v1alpha1",
        "kind": "KubeconfigRequest",
        "metadata": { "name": name },
        "spec": {
            "cluster": cluster,
            "clusterRole": { "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": [verb] }] },
        },
    })
}

/// Name and outcome of each.
fn outcomes(answer: &Value) -> Vec<(&str, &str)> {
    let all = answer["requests"].as_array().unwrap().iter();
    all.map(|line| (line["name"].as_str().unwrap(), line["outcome"].as_str().unwrap())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_handed_out_is_listed_and_revoked() {
    let world = World::new().await;
    world.configure_clusters(CLUSTERS);
    let (_gardenlet, process) = (world.gardenlet(), world.run("one"));
    world.ask_for_cluster("c", "ga-1").await;
    world.cluster_in("c", ClusterPhase::Ready).await;
    for (name, verb, secret) in [("a", "get", None), ("b", "get", Some("b-secret")), ("denied", "bind", None)]
    {
        world.ask_for_kubeconfig(name, "c", verb, secret).await;
    }
    world.ask_for_kubeconfig("lost", "nowhere", "get", None).await;
    for name in ["a", "b"] {
        world.kubeconfig_in(name, KubeconfigPhase::Issued).await;
    }
    world.kubeconfig_in("denied", KubeconfigPhase::Denied).await;

    let listed = world.kubeconfig(&["list", "--cluster", "c"]).await;
    let words: Vec<Vec<&str>> = listed.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words[0], ["NAMESPACE", "NAME", "CLUSTER", "PHASE", "EXPIRES", "REVOKED"]);
    assert_eq!((&words[1][..4], words[1][5]), (&["tenants", "a", "c", "Issued"][..], "no"), "{words:?}");
    assert_eq!(words[3], ["tenants", "denied", "c", "Denied", "-", "no"], "{words:?}");
    assert_eq!(words.len(), 4, "{words:?}");
    let all = world.kubeconfig(&["list", "-o", "json"]).await.json();
    assert_eq!(all["requests"].as_array().unwrap().len(), 4, "{all}");

    assert_eq!(world.kubeconfig(&["revoke"]).await.code, 2);
    assert_eq!(world.kubeconfig(&["revoke", "a", "--all"]).await.code, 2);
    let unsure = world.kubeconfig(&["revoke", "--all"]).await;
    assert!(unsure.code == 1 && unsure.stderr.contains("without --yes"), "{}", unsure.stderr);
    world.kubeconfig_in("a", KubeconfigPhase::Issued).await;

    // A Cluster of the same name in another namespace is another tenant's.
    world.ask_for_foreign_kubeconfig("theirs", "c").await;
    let open = world.kubeconfig(&["revoke", "--cluster", "c", "--yes"]).await;
    assert_eq!(open.code, 2, "{}{}", open.stdout, open.stderr);
    assert!(
        open.stderr.contains("(default, tenants)") && open.stderr.contains("--namespace"),
        "{}",
        open.stderr
    );
    world.kubeconfig_in("a", KubeconfigPhase::Issued).await;
    let wide = world.kubeconfig(&["list", "--cluster", "c", "-A", "-o", "json"]).await.json();
    assert_eq!(wide["requests"].as_array().unwrap().len(), 4, "{wide}");
    world.end_foreign_kubeconfig("theirs").await;

    let one = world.kubeconfig(&["revoke", "a", "-n", TENANTS]).await;
    assert_eq!((one.code, one.stdout.as_str()), (0, "tenants/a: revoked\n1 kubeconfig revoked\n"));
    let revoked = world.kubeconfig_requests().get("a").await.unwrap().status.unwrap();
    assert_eq!((revoked.phase, revoked.kubeconfig), (Some(KubeconfigPhase::Revoked), None));
    let some = world.kubeconfig(&["revoke", "a", "nobody", "-n", TENANTS, "--yes"]).await;
    assert_eq!(some.code, 1);
    assert!(some.stdout.contains("tenants/nobody: there is no such request\n"), "{}", some.stdout);

    let rest = world.kubeconfig(&["revoke", "--all", "--yes", "-o", "json"]).await;
    let answer = rest.json();
    assert_eq!((rest.code, &answer["ok"]), (0, &json!(true)), "{answer}");
    let outcomes = outcomes(&answer);
    assert_eq!(outcomes[..2], [("a", "revoked"), ("b", "revoked")], "{answer}");
    // What never had anything is called revoked as soon as the operator has seen the annotation.
    assert_eq!([outcomes[2].0, outcomes[3].0], ["denied", "lost"], "{answer}");
    let done = |outcome: &str| ["nothing-granted", "revoked"].contains(&outcome);
    assert!(outcomes[2..].iter().all(|(_, outcome)| done(outcome)), "{answer}");
    let listed = world.kubeconfig(&["list", "b", "-n", TENANTS, "-o", "json"]).await.json();
    assert_eq!(listed["requests"][0]["revoked"], true, "{listed}");

    locked_until_the_lock_is_gone(&world).await;

    // Without an operator nothing is said to be revoked.
    world.kubeconfig_in("a", KubeconfigPhase::Issued).await;
    let log = process.log();
    assert!(process.stop().await.success(), "{log}");
    let late = world.kubeconfig(&["revoke", "a", "-n", TENANTS, "--timeout", "1s"]).await;
    assert_eq!(late.code, 1, "{}", late.stdout);
    assert!(
        late.stdout.contains("tenants/a: not revoked yet: no operator has seen to it"),
        "{}",
        late.stdout
    );
}

/// Locks a Cluster whose request `a` is revoked, and unlocks it.
async fn locked_until_the_lock_is_gone(world: &World) {
    world.annotate("a", "revoke", "false").await;
    world.kubeconfig_in("a", KubeconfigPhase::Issued).await;
    for wrong in [
        &["revoke", "--lock", "--cluster", "c"][..],
        &["revoke", "--lock", "--all"],
        &["revoke", "--reason", "r", "a"],
    ] {
        assert_eq!(world.kubeconfig(wrong).await.code, 2, "{wrong:?}");
    }
    let order = ["revoke", "--lock", "-n", TENANTS, "--cluster", "c"];
    let elsewhere =
        world.kubeconfig(&[&order[..], &["--operator-namespace", "kube-system", "--yes"]].concat()).await;
    assert!(
        elsewhere.code == 1 && elsewhere.stderr.contains("no operator has a Lease"),
        "{}",
        elsewhere.stderr
    );
    let unsure = world.kubeconfig(&order).await;
    assert!(unsure.code == 1 && unsure.stderr.contains("without --yes"), "{}", unsure.stderr);
    let locked = world.kubeconfig(&[&order[..], &["--reason", "a secret", "--yes"]].concat()).await;
    assert_eq!(locked.code, 0, "{}{}", locked.stdout, locked.stderr);
    let locks: Api<AccessLock> = Api::namespaced(world.control_plane(), "default");
    let lock = locks.list(&Default::default()).await.unwrap().items.remove(0);
    let name = lock.name_any();
    assert!(
        locked.stderr.contains(&format!("kubectl delete accesslock -n default {name}")),
        "{}",
        locked.stderr
    );
    assert_eq!((lock.spec.cluster.as_deref(), lock.spec.reason.as_deref()), (Some("c"), Some("a secret")));
    world.annotate("a", "revoke", "true").await;
    world.annotate("a", "revoke", "false").await;
    world.kubeconfig_in("a", KubeconfigPhase::Revoked).await;
    let again = world.kubeconfig(&[&order[..], &["--yes", "-o", "json"]].concat()).await;
    assert_eq!((again.code, locks.list(&Default::default()).await.unwrap().items.len()), (0, 1));
    locks.delete(&name, &DeleteParams::default()).await.unwrap();
    world.kubeconfig_in("a", KubeconfigPhase::Issued).await;
    let refused = world.kubeconfig(&["list", "--refused", "-o", "json"]).await.json();
    assert_eq!(refused["requests"], json!([]), "what was never granted is not listed");
}
