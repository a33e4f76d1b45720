//! What a process does: hands out, answers, takes over new rules, stops.

use super::world::{RULES, World, until};
use allotment_api::kyma::SubscriptionPhase;
use k8s_openapi::api::{
    authentication::v1::TokenRequest,
    coordination::v1::Lease,
    core::v1::ServiceAccount,
    events::v1::Event,
    rbac::v1::{ClusterRole, ClusterRoleBinding},
};
use kube::{Api, api::PostParams};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn an_account_is_handed_out_and_can_be_asked_about() {
    let world = World::new().await;
    let process = world.run("one");
    world.ask("r", "ga-1").await;
    assert_eq!(world.bound("r").await, "aws-01");

    let (code, ready) = process.get("/readyz?verbose").await;
    assert_eq!(code, 200);
    let expected = [
        "[+] subscription: leads",
        "[+] ledger: reachable, epoch 1",
        "[+] handing out: nothing stands against it",
        "[+] accounts: none needs a person",
        "[+] configuration: the newest is in force",
        "[!] tenancy: trusted: every namespace may name any tenant (tenancy.mode)",
        "ok",
    ];
    let (servers, about_itself): (Vec<&str>, Vec<&str>) =
        ready.lines().partition(|line| line.contains(": last succeeded "));
    assert_eq!(about_itself, expected);
    let named = |name: &str| servers.iter().any(|line| line.starts_with(&format!("[+] {name}: ")));
    let used = [
        "garden-read",
        "garden-write",
        "control-plane-read",
        "control-plane-write",
        "lease",
        "ledger-read",
        "ledger-write",
    ];
    assert!(used.into_iter().all(named), "{ready}");
    assert_eq!(process.get("/readyz").await, (200, "ok\n".to_owned()));
    assert_eq!(process.get("/livez").await, (200, "ok\n".to_owned()));
    assert_eq!(process.get("/nothing").await.0, 404);
    let (_, metrics) = process.get("/metrics").await;
    for line in [
        "keb_available_credentials_bindings{hyperscaler_type=\"aws\",eu_access=\"false\",shared=\"false\"} 2",
        "keb_credentials_bindings_per_ga{global_account_id=\"ga-1\"} 1",
        "keb_shoots_per_credentials_binding{credentials_binding=\"aws-01\"} 0",
        "allotment_leader{controller=\"subscription\"} 1",
        "allotment_rules_rejected 0",
        "allotment_claims_total{outcome=\"claimed\"} 1",
        "allotment_api_requests_total{target=\"garden\",verb=\"patch\",code=\"200\"} ",
        "allotment_api_requests_total{target=\"control-plane\",verb=\"create\",code=\"201\"} ",
    ] {
        assert!(metrics.contains(line), "no {line} in {metrics}");
    }

    let status = world.ask_about(&["pool", "status", "--accounts", "-o", "json"]).await.json();
    let aws = &status["pools"][1];
    assert_eq!(
        (&aws["hyperscalerType"], &aws["claimed"], &aws["free"]),
        (&json!("aws"), &json!(1), &json!(2))
    );
    let account =
        status["accounts"].as_array().unwrap().iter().find(|line| line["account"] == "aws-01").unwrap();
    assert_eq!(
        (&account["state"], &account["tenant"], &account["requests"]),
        (&json!("claimed"), &json!("ga-1"), &json!(1))
    );
    let table = world.ask_about(&["pool", "status"]).await.stdout;
    assert!(
        table.starts_with(
            "POOL                        TOTAL  FREE  CLAIMED  DIRTY  QUARANTINED  OCCUPIED  WAITING\n"
        ),
        "{table}"
    );
    let history = world.ask_about(&["pool", "history", "aws-01"]).await;
    assert_eq!(history.code, 0);
    let words: Vec<&str> =
        history.stdout.lines().skip(1).filter_map(|line| line.split_whitespace().nth(2)).collect();
    assert_eq!(words, ["claimed", "assigned", "confirmed"], "{}", history.stdout);
    assert_eq!(world.ask_about(&["pool", "history", "nothing"]).await.code, 1);
    let verified = world.ask_about(&["ledger", "verify"]).await;
    assert_eq!(
        (verified.code, verified.stdout.as_str()),
        (0, "ledger, bindings, requests and Shoots agree\n")
    );

    let log = process.log();
    assert!(process.stop().await.success(), "{log}");
    let leases: Api<Lease> = Api::namespaced(world.control_plane(), "default");
    let lease = leases.get("allotment-subscription").await.unwrap();
    assert_eq!(lease.spec.unwrap().holder_identity, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn good_rules_are_taken_over_and_bad_ones_refused() {
    let world = World::new().await;
    let process = world.run("one");
    world.ask_with("r", json!({ "provider": "gcp", "subscriptionSelector": "ga-1", "plan": "gcp" })).await;
    world.in_phase("r", SubscriptionPhase::Denied).await;

    world.configure("{rule: [aws, gpc], enabledPlans: [aws]}");
    let ready = process.get_with("/readyz?verbose", "[!] configuration").await;
    assert!(ready.contains("the last good one is in force") && ready.contains("`gpc`"), "{ready}");
    assert!(ready.ends_with("ok\n"), "{ready}");
    process.get_with("/metrics", "allotment_rules_rejected 1").await;
    event(&world, "RulesRejected", "gpc").await;
    // The last good ones still decide.
    world.ask_with("old", json!({ "provider": "aws", "subscriptionSelector": "ga-1", "plan": "aws" })).await;
    assert_eq!(world.bound("old").await, "aws-01");

    world.configure("{rule: [aws, gcp], enabledPlans: [aws, gcp]}");
    assert_eq!(world.bound("r").await, "gcp-01");
    process.get_with("/readyz?verbose", "[+] configuration").await;
    process.get_with("/metrics", "allotment_rules_rejected 0").await;
    event(&world, "RulesReloaded", "2 rules").await;
}

async fn event(world: &World, reason: &str, words: &str) {
    let events: Api<Event> = Api::namespaced(world.control_plane(), "default");
    until(&format!("there is an Event {reason}"), async || {
        let events = events.list(&Default::default()).await.map_err(|error| error.to_string())?;
        let says = |event: &Event| event.note.as_ref().is_some_and(|note| note.contains(words));
        let found = events.iter().any(|event| event.reason.as_deref() == Some(reason) && says(event));
        if found { Ok(()) } else { Err(format!("{:?}", events.items)) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_by_object_can_be_switched_off() {
    let world = World::new().await;
    world.configure(&format!("{RULES}\n# "));
    let config = std::fs::read_to_string(world.config()).unwrap();
    let config = config.replace("'127.0.0.1:0'", "'127.0.0.1:0', perObjectMetrics: false");
    std::fs::write(world.config(), config).unwrap();
    let process = world.run("one");
    world.ask("r", "ga-1").await;
    world.bound("r").await;
    let metrics = process.get_with("/metrics", "keb_available_credentials_bindings").await;
    assert!(!metrics.contains("ga-1") && !metrics.contains("credentials_binding=\"aws-01\""), "{metrics}");
    assert!(metrics.contains("allotment_accounts_per_tenant_count{} 1"), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_of_tenants_are_served_to_readers_who_may_see_them() {
    let world = World::new().await;
    world.configure(&format!("{RULES}\n# "));
    let config = std::fs::read_to_string(world.config()).unwrap();
    let open = config.replace("tenantIds: true", "tenantIds: false");
    std::fs::write(world.config(), open).unwrap();
    let process = world.run("one");
    world.ask("r", "ga-1").await;
    world.bound("r").await;
    let metrics = process.get_with("/metrics", "allotment_accounts_per_tenant_count{} 1").await;
    assert!(!metrics.contains("ga-1") && !metrics.contains("aws-01"), "{metrics}");
    assert!(metrics.contains("allotment_shoots_per_account_bucket{le=\"0.0\"}"), "{metrics}");
    process.stop().await;

    std::fs::write(world.config(), config.replace("tenantIds: true", "secure: true")).unwrap();
    let process = world.run("two");
    let client = world.control_plane();
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": "scrapers" },
        "rules": [{ "nonResourceURLs": ["/metrics"], "verbs": ["get"] }],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": { "name": "scrapers" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "scrapers" },
        "subjects": [{ "kind": "ServiceAccount", "name": "scraper", "namespace": "default" }],
    });
    let params = PostParams::default();
    Api::<ClusterRole>::all(client.clone())
        .create(&params, &serde_json::from_value(role).unwrap())
        .await
        .unwrap();
    let bindings = Api::<ClusterRoleBinding>::all(client.clone());
    bindings.create(&params, &serde_json::from_value(binding).unwrap()).await.unwrap();
    let accounts = Api::<ServiceAccount>::namespaced(client.clone(), "default");
    let token = async |name: &str| {
        let account = serde_json::from_value(json!({ "metadata": { "name": name } })).unwrap();
        accounts.create(&params, &account).await.unwrap();
        let asked = accounts.create_token_request(name, &params, &TokenRequest::default()).await.unwrap();
        format!("Authorization: Bearer {}\r\n", asked.status.unwrap().token.unwrap())
    };
    let (scraper, other) = (token("scraper").await, token("other").await);
    process.get_with("/metrics", "served to bearers of a token").await;
    for (headers, code, words) in [
        ("", 401, "served to bearers of a token"),
        ("Authorization: Bearer made-up\r\n", 401, "does not know this token"),
        (other.as_str(), 403, "may not `get` the URL /metrics"),
        (scraper.as_str(), 200, "allotment_leader"),
    ] {
        let (found, text) = process.get_as("/metrics", headers).await;
        assert_eq!(found, code, "{text}");
        assert!(text.contains(words), "{text}");
        assert!(code == 200 || !text.contains("keb_"), "{text}");
    }
    until("the ids are there", async || {
        let text = process.get_as("/metrics", &scraper).await.1;
        let line = "keb_credentials_bindings_per_ga{global_account_id=\"ga-1\"} 1";
        if text.contains(line) { Ok(()) } else { Err(text) }
    })
    .await;
    assert_eq!(process.get("/livez").await.0, 200);
    let (_, ready) = process.get("/readyz?verbose").await;
    assert!(ready.contains("ledger") && !ready.contains("ga-1"), "{ready}");
}
