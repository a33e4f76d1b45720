//! AccessRequests by token: what is handed out, and how long it works.

use super::{
    desk::{Desk, PROVIDER, code},
    platform::{Fault, condition, create, delete, gone, phase, that, until},
};
use allotment_api::openmcp::AccessRequest;
use allotment_core::openmcp::names::hash8;
use allotment_operator::{
    openmcp::access::{Operator, Settings},
    runtime::controller::Controller as _,
};
use allotment_testing::{Landscape, Outcome};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::{
    core::v1::{ConfigMap, Namespace, Secret, ServiceAccount},
    rbac::v1::{ClusterRole, ClusterRoleBinding, Role},
};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use std::{sync::atomic::Ordering, time::Duration};

pub fn rules(resource: &str, verbs: &[&str]) -> Value {
    json!([{ "apiGroups": [""], "resources": [resource], "verbs": verbs }])
}

async fn may_list<K>(client: &Client, namespace: &str) -> u16
where
    K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
        + Clone
        + serde::de::DeserializeOwned
        + std::fmt::Debug,
{
    code(Api::<K>::namespaced(client.clone(), namespace).list(&ListParams::default()).await)
}

/// RBAC is told to the authorizer by a watch: it may need a moment.
async fn eventually<K>(client: &Client, namespace: &str, expected: u16) -> Result<(), Fault>
where
    K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
        + Clone
        + serde::de::DeserializeOwned
        + std::fmt::Debug,
{
    until(&format!("listing in {namespace} is {expected}"), async || {
        let found = may_list::<K>(client, namespace).await;
        if found == expected { Ok(()) } else { Err(found.to_string()) }
    })
    .await
}

pub async fn a_kubeconfig_works_and_is_limited(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    let (own, namespace) = (&desk.platform.plot.namespace, format!("x-{}", desk.platform.plot.namespace));
    let token = json!({ "token": {
        "permissions": [
            { "rules": rules("namespaces", &["list"]) },
            { "name": format!("own-{own}"), "namespace": namespace, "rules": rules("configmaps", &["list", "create"]) },
        ],
        "roleRefs": [{ "kind": "ClusterRole", "name": format!("reader-{own}") }],
    } });
    let request = desk.ask("a", token).await?;
    let request = desk.granted(&request.name_any()).await?;
    assert_eq!(request.status.as_ref().unwrap().secret_ref.as_ref().unwrap().name, "a.kubeconfig");
    assert_eq!(request.finalizers(), ["gardener.clusters.openmcp.cloud/accessrequest"]);
    for type_ in ["FoundClusterAndProfile", "ShootAccess", "SecretExistsAndIsValid", "Resolved"] {
        assert_eq!(condition(&request, type_).unwrap().0, "True", "{type_}");
    }
    // The Secret is as consumers know it.
    let secret = desk.secret("a").await?;
    let owner = &secret.owner_references()[0];
    assert_eq!(
        (owner.kind.as_str(), owner.controller, Some(&owner.uid)),
        ("AccessRequest", Some(true), request.uid().as_ref())
    );
    let time = |key: &str| {
        let text = String::from_utf8(secret.data.as_ref().unwrap()[key].0.clone()).unwrap();
        Timestamp::from_second(text.parse().unwrap()).unwrap()
    };
    assert_eq!(secret.data.as_ref().unwrap().len(), 3);
    let life = time("expirationTimestamp").duration_since(time("creationTimestamp"));
    assert!((life - SignedDuration::from_hours(30 * 24)).abs() < SignedDuration::from_secs(60), "{life}");
    let kubeconfig: Value = serde_json::from_str(&desk.kubeconfig("a").await?)?;
    assert_eq!(
        (&kubeconfig["current-context"], &kubeconfig["users"][0]["name"]),
        (&json!("cluster"), &json!(PROVIDER))
    );
    // What it may do, and nothing else.
    let holder = desk.holder("a").await?;
    until("namespaces can be listed", async || {
        match code(Api::<Namespace>::all(holder.clone()).list(&ListParams::default()).await) {
            200 => Ok(()),
            code => Err(code.to_string()),
        }
    })
    .await?;
    eventually::<ConfigMap>(&holder, &namespace, 200).await?;
    assert_eq!(may_list::<Secret>(&holder, &namespace).await, 403);
    assert_eq!(may_list::<ConfigMap>(&holder, "default").await, 403);
    assert_eq!(code(Api::<ClusterRole>::all(holder.clone()).list(&ListParams::default()).await), 403);
    // Its names are those of the contract, and its labels say whose it is.
    let (admin, hash) = (desk.admin().await?, hash8(&[own, PROVIDER, own, "a"]));
    let account = Api::<ServiceAccount>::namespaced(admin.clone(), "accessrequests").get(&hash).await?;
    let prefix = "gardener.clusters.openmcp.cloud";
    for (key, value) in [
        ("provider-name", PROVIDER),
        ("environment", own),
        ("managed-by-name", "a"),
        ("managed-by-namespace", own),
    ] {
        assert_eq!(
            account.labels().get(&format!("{prefix}/{key}")).map(String::as_str),
            Some(value),
            "{key}"
        );
    }
    Api::<ClusterRole>::all(admin.clone()).get(&format!("openmcp:permission:{hash}:0")).await?;
    Api::<Role>::namespaced(admin.clone(), &namespace).get(&format!("own-{own}")).await?;
    let bound = Api::<ClusterRoleBinding>::all(admin).get(&format!("openmcp:roleref:{hash}:0")).await?;
    assert_eq!(bound.role_ref.name, format!("reader-{own}"));
    // A second look writes nothing.
    let before = (request.resource_version(), secret.resource_version());
    desk.operator.resync();
    desk.generic.resync();
    tokio::time::sleep(Duration::from_millis(300)).await;
    let after = desk.platform.access_requests().get("a").await?;
    assert_eq!((after.resource_version(), desk.secret("a").await?.resource_version()), before);
    Ok(())
}

pub async fn changed_permissions_take_the_old_ones_away(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    let (one, two) =
        (format!("one-{}", desk.platform.plot.namespace), format!("two-{}", desk.platform.plot.namespace));
    let permission =
        |namespace: &str| json!([{ "namespace": namespace, "rules": rules("configmaps", &["list"]) }]);
    desk.ask("a", json!({ "token": { "permissions": permission(&one) } })).await?;
    desk.granted("a").await?;
    let (holder, kubeconfig) = (desk.holder("a").await?, desk.kubeconfig("a").await?);
    eventually::<ConfigMap>(&holder, &one, 200).await?;
    desk.change("a", json!({ "spec": { "token": { "permissions": permission(&two) } } })).await?;
    desk.granted("a").await?;
    eventually::<ConfigMap>(&holder, &two, 200).await?;
    eventually::<ConfigMap>(&holder, &one, 403).await?;
    assert_eq!(desk.kubeconfig("a").await?, kubeconfig, "the token is as good as before");
    let roles =
        Api::<Role>::all(desk.admin().await?).list(&ListParams::default().labels(&desk.labels("a"))).await?;
    assert_eq!(roles.items.len(), 1);
    Ok(())
}

pub async fn what_is_changed_behind_our_back_is_put_back(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    desk.ask("a", json!({ "token": { "permissions": [{ "rules": rules("namespaces", &["list"]) }] } }))
        .await?;
    desk.granted("a").await?;
    let (admin, own) = (desk.admin().await?, &desk.platform.plot.namespace);
    let hash = hash8(&[own, PROVIDER, own, "a"]);
    // A role that can do more, and a ServiceAccount that is gone with its tokens.
    let roles = Api::<ClusterRole>::all(admin.clone());
    let name = format!("openmcp:permission:{hash}:0");
    let more = json!({ "rules": [{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }] });
    roles.patch(&name, &PatchParams::default(), &Patch::Merge(&more)).await?;
    let accounts = Api::<ServiceAccount>::namespaced(admin, "accessrequests");
    accounts.delete(&hash, &DeleteParams::default()).await?;
    let before = desk.kubeconfig("a").await?;
    desk.operator.look_into_all();
    until("another token is handed out", async || {
        let now = desk.kubeconfig("a").await.map_err(|error| error.to_string())?;
        if now == before { Err("the same".to_owned()) } else { Ok(()) }
    })
    .await?;
    let rules = roles.get(&name).await?.rules.unwrap();
    assert_eq!(rules[0].verbs, ["list"]);
    desk.holder("a").await?.apiserver_version().await?;
    // A Secret that is deleted comes back, with another token.
    desk.secrets().delete("a.kubeconfig", &DeleteParams::default()).await?;
    until("the Secret is back", async || desk.secret("a").await.map_err(|error| error.to_string())).await?;
    desk.granted("a").await?;
    Ok(())
}

pub async fn what_can_never_be_granted_is_denied_and_taken_back(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    desk.ask("bad", json!({ "token": { "roleRefs": [{ "kind": "Role", "name": "r" }] } })).await?;
    let valid = "SecretExistsAndIsValid";
    let why = desk.because("bad", "Denied", valid, "ConfigurationProblem").await?;
    assert!(why.starts_with("spec.token.roleRefs[0].namespace"), "{why}");
    // One that was granted, and is changed into what no server takes.
    desk.ask("a", json!({ "token": { "permissions": [{ "rules": rules("namespaces", &["list"]) }] } }))
        .await?;
    desk.granted("a").await?;
    let holder = desk.holder("a").await?;
    let nothing = json!([{ "rules": [{ "apiGroups": [""], "resources": ["namespaces"], "verbs": [] }] }]);
    desk.change("a", json!({ "spec": { "token": { "permissions": nothing } } })).await?;
    let why = desk.because("a", "Denied", valid, "ConfigurationProblem").await?;
    assert!(why.contains("verbs"), "{why}");
    gone(&desk.secrets(), "a.kubeconfig").await?;
    until("the token is refused", async || {
        match code(Api::<Namespace>::all(holder.clone()).list(&ListParams::default()).await) {
            401 | 403 => Ok(()),
            code => Err(code.to_string()),
        }
    })
    .await?;
    // It stays denied, and is granted when it is changed back.
    desk.operator.resync();
    desk.generic.resync();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(phase(&desk.platform.access_requests().get("a").await?), "Denied");
    let fine = json!([{ "rules": rules("namespaces", &["list"]) }]);
    desk.change("a", json!({ "spec": { "token": { "permissions": fine } } })).await?;
    desk.granted("a").await?;
    Ok(())
}

pub async fn a_name_that_somebody_else_has_is_told_and_left_alone(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    let (admin, name) = (desk.admin().await?, format!("theirs-{}", desk.platform.plot.namespace));
    let roles = Api::<ClusterRole>::all(admin);
    let theirs = ClusterRole {
        metadata: ObjectMeta { name: Some(name.clone()), ..ObjectMeta::default() },
        ..ClusterRole::default()
    };
    roles.create(&PostParams::default(), &theirs).await?;
    desk.ask(
        "a",
        json!({ "token": { "permissions": [{ "name": name, "rules": rules("namespaces", &["list"]) }] } }),
    )
    .await?;
    let why = desk.because("a", "Pending", "ShootAccess", "NameTaken").await?;
    assert!(why.contains(&name), "{why}");
    assert_eq!(roles.get(&name).await?.rules.unwrap_or_default(), []);
    roles.delete(&name, &DeleteParams::default()).await?;
    desk.granted("a").await?;
    // A Secret of that name is not taken either.
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "b.kubeconfig" }, "stringData": { "a": "b" } });
    desk.secrets().create(&PostParams::default(), &serde_json::from_value(secret)?).await?;
    desk.ask("b", json!({ "token": {} })).await?;
    desk.because("b", "Pending", "ShootAccess", "NameTaken").await?;
    assert_eq!(desk.secret("b").await?.data.unwrap().len(), 1);
    delete(&desk.platform.access_requests(), "b").await?;
    gone(&desk.platform.access_requests(), "b").await
}

pub async fn g6_two_environments_and_two_providers_never_touch_each_other(landscape: Landscape) -> Outcome {
    let mut desk = Desk::new(&landscape).await?;
    // The same request in another environment has these in the same cluster.
    let (admin, own) = (desk.admin().await?, desk.platform.plot.namespace.clone());
    let prefix = "gardener.clusters.openmcp.cloud";
    let labels = json!({
        format!("{prefix}/managed-by-name"): "a", format!("{prefix}/managed-by-namespace"): own,
        format!("{prefix}/provider-name"): PROVIDER, format!("{prefix}/environment"): "other",
    });
    let roles = Api::<ClusterRole>::all(admin);
    let name = format!("openmcp:permission:other-{own}:0");
    let other = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": { "name": name, "labels": labels }, "rules": [],
    });
    roles.create(&PostParams::default(), &serde_json::from_value(other)?).await?;
    // Providers that could mistake it for theirs: of another name, and of another environment.
    for parts in [desk.platform.parts("q"), desk.platform.parts_in("other", PROVIDER)] {
        let (operator, landscapes) =
            (Operator::new(parts.clone(), Settings::default()), parts.landscapes.clone());
        desk.platform.run(async move {
            tokio::join!(operator.run_as_leader(), landscapes.follow());
        });
    }
    desk.ask("a", json!({ "token": { "permissions": [{ "rules": rules("namespaces", &["list"]) }] } }))
        .await?;
    desk.granted("a").await?;
    desk.operator.look_into_all();
    tokio::time::sleep(Duration::from_millis(500)).await;
    let request = desk.platform.access_requests().get("a").await?;
    assert_eq!(phase(&request), "Granted");
    delete(&desk.platform.access_requests(), "a").await?;
    gone(&desk.platform.access_requests(), "a").await?;
    assert!(roles.get_opt(&name).await?.is_some(), "the other environment's");
    let left = roles.list(&ListParams::default().labels(&desk.labels("a"))).await?;
    assert_eq!(left.items.len(), 0);
    Ok(())
}

pub async fn g7_a_token_is_renewed_in_time_and_granted_while_it_is_valid(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    desk.ask("a", json!({ "token": {} })).await?;
    desk.granted("a").await?;
    let before = desk.kubeconfig("a").await?;
    // After 80 per cent of its life, with no way into the cluster.
    desk.platform.is_cut.store(true, Ordering::Relaxed);
    desk.platform.ahead.store(24 * 24 * 3600, Ordering::Relaxed);
    desk.operator.resync();
    desk.because("a", "Granted", "ShootAccess", "ShootClusterInteractionProblem").await?;
    let why = desk.because("a", "Granted", "SecretExistsAndIsValid", "RenewalDelayed").await?;
    assert!(why.contains("the way is cut"), "{why}");
    let tokens = desk.platform.tokens.load(Ordering::Relaxed);
    assert_eq!(desk.kubeconfig("a").await?, before, "{tokens} tokens");
    assert_eq!(tokens, 1);
    desk.platform.is_cut.store(false, Ordering::Relaxed);
    desk.operator.resync();
    desk.because("a", "Granted", "SecretExistsAndIsValid", "Issued").await?;
    assert_ne!(desk.kubeconfig("a").await?, before);
    desk.holder("a").await?.apiserver_version().await?;
    // One that has run out is not granted any more.
    desk.platform.is_cut.store(true, Ordering::Relaxed);
    desk.platform.ahead.store(80 * 24 * 3600, Ordering::Relaxed);
    desk.operator.resync();
    desk.because("a", "Pending", "SecretExistsAndIsValid", "ShootClusterInteractionProblem").await?;
    Ok(())
}

pub async fn g8_a_restart_changes_nothing(landscape: Landscape) -> Outcome {
    let mut desk = Desk::new(&landscape).await?;
    desk.ask("a", json!({ "token": {} })).await?;
    let before = desk.granted("a").await?.resource_version();
    let (kubeconfig, asked) = (desk.kubeconfig("a").await?, issued(&desk));
    // Another process, which never learns of any Landscape.
    let parts = desk.platform.parts(PROVIDER);
    let (operator, landscapes) =
        (Operator::new(parts.clone(), Settings::default()), parts.landscapes.clone());
    let running = operator.clone();
    desk.platform.run(async move { running.run_as_leader().await });
    tokio::time::sleep(Duration::from_millis(500)).await;
    operator.resync();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(desk.platform.access_requests().get("a").await?.resource_version(), before);
    // And when it does, the token is still good.
    desk.platform.run(async move { landscapes.follow().await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    operator.resync();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(desk.platform.access_requests().get("a").await?.resource_version(), before);
    assert_eq!(desk.kubeconfig("a").await?, kubeconfig);
    assert_eq!(issued(&desk), asked, "no way into the cluster was asked for");
    Ok(())
}

/// How many admin kubeconfigs the garden issued.
fn issued(desk: &Desk) -> String {
    let text = desk.platform.metrics.text();
    let lines = text.lines().filter(|line| line.contains("admin_kubeconfig") && line.contains("issued"));
    lines.collect::<Vec<_>>().join("\n")
}

pub async fn g11_a_lost_reference_to_the_secret_is_written_again(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    desk.ask("a", json!({ "token": {} })).await?;
    desk.granted("a").await?;
    desk.status_of("a", json!({ "secretRef": null })).await?;
    that(&desk.platform.access_requests(), "a", "names its Secret", |request: &AccessRequest| {
        request.status.as_ref().is_some_and(|status| status.secret_ref.is_some())
    })
    .await?;
    Ok(())
}

pub async fn g20_names_that_are_too_long_for_a_label_are_no_trouble(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    let name = "a".repeat(120);
    desk.ask(&name, json!({ "token": { "permissions": [{ "rules": rules("namespaces", &["list"]) }] } }))
        .await?;
    let request = desk.granted(&name).await?;
    let secret = request.status.unwrap().secret_ref.unwrap().name;
    assert!(secret.len() <= 63 && desk.secrets().get_opt(&secret).await?.is_some());
    delete(&desk.platform.access_requests(), &name).await?;
    gone(&desk.platform.access_requests(), &name).await
}

pub async fn g23_a_request_is_granted_as_soon_as_its_cluster_is_ready(landscape: Landscape) -> Outcome {
    let desk = Desk::without_cluster(&landscape).await?;
    desk.make_cluster().await?;
    let access = json!({ "requestRef": desk.platform.here("r"), "token": {} });
    create::<AccessRequest>(&desk.platform.access_requests(), json!({ "name": "a" }), access).await?;
    desk.platform.granted("r", &desk.cluster).await?;
    desk.because("a", "Pending", "ShootAccess", "ShootNotFound").await?;
    desk.cluster_is_ready().await?;
    desk.granted("a").await?;
    // Nothing was tried in vain, so there was no wait between tries that could have grown.
    let text = desk.platform.metrics.text();
    let failures = text
        .lines()
        .filter(|line| line.starts_with("allotment_reconcile_errors") && line.contains("\"accessrequest\""));
    let in_vain: Vec<&str> = failures.filter(|line| !line.contains("conflict")).collect();
    assert!(in_vain.is_empty(), "{in_vain:?}");
    Ok(())
}
