//! KubeconfigRequests: what is handed out, where, and for how long.

use super::{
    desk::{Desk, client_of, code, policy, reads_config_maps, refused, text_of},
    stage::{Fault, until},
};
use allotment_api::kyma::{KubeconfigPhase, TokenState};
use allotment_testing::{Landscape, Outcome, client};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::{
    core::v1::{Namespace, Secret},
    rbac::v1::{ClusterRole, ClusterRoleBinding, Role},
};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
    config::Kubeconfig,
};
use serde_json::{Value, json};
use std::{process::Command, sync::atomic::Ordering, time::Duration};

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

pub async fn a_namespace_that_is_not_open_for_secrets_is_told(landscape: Landscape) -> Outcome {
    let mut desk = Desk::new(&landscape).await?;
    desk.restart_without_secrets().await?;
    let mut spec = reads_config_maps();
    spec["secretRef"] = json!({ "name": "own" });
    desk.ask("one", spec).await?;
    let message = desk.because("one", "Ready", "Forbidden").await?;
    let namespace = &desk.play.stage.plot.namespace;
    let remedy = format!("add {namespace} to rbac.kubeconfigSecretNamespaces of the chart");
    assert!(message.contains("Secret own") && message.ends_with(&remedy), "{message}");
    desk.restart()?;
    desk.issued("one").await?;
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
    let issued = desk.issued("seed").await?;
    let message = desk.because("seed", "RulesEffective", "Mended").await?;
    assert!(message.contains("\"applications\"") && message.contains("\"secrets\""), "{message}");
    // Access that is no longer allowed ends with its tokens.
    let namespace = desk.play.stage.plot.namespace.clone();
    let most = json!({ "policies": [{ "namespaces": [namespace], "clusterRole": [], "role": [] }] });
    desk.operator.set_policy(policy(most, &namespace)?);
    let message = desk.because("seed", "PolicyAllowed", "NoLongerAllowed").await?;
    assert!(message.contains("not renewed"), "{message}");
    let client = client_of(&issued).await?;
    assert_eq!(code(&client).await, 403, "it is known, and has no rights on ConfigMaps");
    // Past the moment when it would have been renewed.
    desk.ahead.store(3000, Ordering::Relaxed);
    desk.operator.look_into_all();
    tokio::time::sleep(Duration::from_millis(300)).await;
    let status = desk.requests().get("seed").await?.status.unwrap();
    assert_eq!((status.kubeconfig, status.phase), (issued.kubeconfig, Some(KubeconfigPhase::Issued)));
    desk.ahead.store(3601, Ordering::Relaxed);
    desk.operator.resync();
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

pub async fn old_rules_go_though_the_new_ones_cannot_be_made(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    desk.ask("one", reads_config_maps()).await?;
    let old = client_of(&desk.issued("one").await?).await?;
    assert_eq!(code(&old).await, 200);
    let nowhere = json!({ "namespace": "nowhere", "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": ["list"] }] });
    desk.patch("one", json!({ "spec": { "role": nowhere, "clusterRole": null } })).await?;
    until("the old rules are gone", async || match code(&old).await {
        403 => Ok(()),
        code => Err(code.to_string()),
    })
    .await?;
    desk.that("one", "tells about the namespace", |request| {
        let conditions = request.status.iter().flat_map(|status| &status.conditions);
        conditions.into_iter().any(|condition| condition.message.contains("nowhere"))
    })
    .await?;
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
    let namespace = &desk.play.stage.plot.namespace;
    assert!(message.contains(&format!("no Cluster nowhere in namespace {namespace}")), "{message}");
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

pub async fn roles_are_bound_to_namespaces(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    let namespace = desk.play.stage.plot.namespace.clone();
    let role = |namespace: &str, resource: &str, verb: &str| {
        json!({ "role": { "namespace": namespace, "createNamespace": true, "rules": [
            { "apiGroups": [""], "resources": [resource], "verbs": [verb] },
        ]}})
    };
    for (number, protected) in
        ["kube-system", "kube-public", "kube-made-up", "allotment-access"].iter().enumerate()
    {
        let name = format!("protected-{number}");
        desk.ask(&name, role(protected, "secrets", "get")).await?;
        let message = desk.because(&name, "PolicyAllowed", "Denied").await?;
        assert!(message.contains(&format!("spec.role.namespace: {protected}")), "{message}");
    }
    let made: Api<Namespace> = Api::all(desk.play.inside(&desk.shoot).await?);
    assert!(made.get_opt("kube-made-up").await?.is_none());
    let exec = json!({ "clusterRole": { "rules": [
        { "apiGroups": [""], "resources": ["pods/exec"], "verbs": ["create"] },
    ]}});
    desk.ask("exec", exec).await?;
    let message = desk.because("exec", "PolicyAllowed", "Denied").await?;
    assert!(message.contains("create pods/exec: a command in a system component's pod"), "{message}");
    let team = format!("team-{namespace}");
    desk.ask("own", role(&team, "pods/exec", "create")).await?;
    desk.issued("own").await?;
    // Only a name opens a namespace of the system.
    let dangerous = |role_namespaces: &[&str]| {
        json!({ "policies": [
            { "namespaces": [namespace], "dangerous": true, "roleNamespaces": role_namespaces },
        ]})
    };
    desk.operator.set_policy(policy(dangerous(&["*", "kube-*"]), &namespace)?);
    desk.issued("exec").await?;
    desk.because("protected-0", "PolicyAllowed", "Denied").await?;
    desk.operator.set_policy(policy(dangerous(&["kube-system"]), &namespace)?);
    desk.issued("protected-0").await?;
    desk.because("protected-3", "PolicyAllowed", "Denied").await?;
    desk.because("own", "PolicyAllowed", "NoLongerAllowed").await?;
    Ok(())
}

pub async fn the_example_is_issued_as_it_is_written(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    let mut example: Value =
        serde_saphyr::from_str(include_str!("../../../../examples/kubeconfig-request.yaml"))?;
    // The namespace of its Role is there already, and its Cluster has another name here.
    let inside = desk.play.inside(&desk.shoot).await?;
    let team = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "compass-system" } });
    match Api::<Namespace>::all(inside).create(&PostParams::default(), &serde_json::from_value(team)?).await {
        Err(kube::Error::Api(status)) if status.code == 409 => (),
        created => drop(created?),
    }
    example["spec"]["cluster"] = json!("home");
    desk.ask("seed", example["spec"].take()).await?;
    desk.issued("seed").await?;
    desk.because("seed", "PolicyAllowed", "Allowed").await?;
    Ok(())
}
