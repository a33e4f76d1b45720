//! What is wrong is found, and a ledger that was lost is made anew.

use super::world::{World, until};
use kube::{ResourceExt, api::DeleteParams};
use serde_json::{Value, json};
use std::fs;

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_ledger_is_noticed_and_made_anew() {
    let world = World::new().await;
    let process = world.run("one");
    for (request, tenant) in [("r1", "ga-1"), ("r2", "ga-2")] {
        world.ask(request, tenant).await;
        world.bound(request).await;
    }
    let held = world.held().await;
    assert!(process.stop().await.success());
    let before = fs::read(world.ledger_file()).unwrap();
    for question in
        [&["ledger", "verify"][..], &["pool", "status"], &["pool", "doctor"], &["pool", "history", "a"]]
    {
        world.ask_about(question).await;
        assert_eq!(fs::read(world.ledger_file()).unwrap(), before, "{question:?} changes nothing");
    }
    let last = world.ask_about(&["pool", "history", "aws-01", "--limit", "1"]).await;
    assert_eq!((last.code, last.stdout.lines().count()), (0, 2), "{}", last.stdout);
    assert!(last.stderr.contains("newest 1 entries, and there are older ones"), "{}", last.stderr);
    let last = world.ask_about(&["pool", "history", "aws-01", "--limit", "1", "-o", "json"]).await.json();
    assert_eq!((last["entries"].as_array().unwrap().len(), &last["cut"]), (1, &json!(true)), "{last}");
    let all = world.ask_about(&["pool", "history", "aws-01", "-o", "json"]).await.json();
    assert!(all["entries"].as_array().unwrap().len() > 1 && all["cut"] == false, "{all}");
    for name in ["", "-wal", "-shm"] {
        // Those beside it are there or not.
        let _ = fs::remove_file(format!("{}{name}", world.ledger_file().display()));
    }
    assert_eq!(world.ask_about(&["ledger", "verify"]).await.code, 2, "there is none, and none is made");
    assert!(!world.ledger_file().exists());

    let process = world.run("two");
    process.get_with("/readyz?verbose", "[!] handing out: this garden was served from ledger").await;
    process.get_with("/metrics", "allotment_halted 1").await;
    world.ask("r3", "ga-3").await;
    let verified = world.ask_about(&["ledger", "verify", "-o", "json"]).await;
    assert_eq!(verified.code, 1);
    assert_eq!(codes(&verified.json()["disagreements"]), ["identity"], "{}", verified.stdout);
    // One cause, not a finding for each cluster that the ledger does not know.
    let doctor = world.ask_about(&["pool", "doctor", "-o", "json"]).await;
    assert_eq!((doctor.code, codes(&doctor.json()["findings"])), (1, vec!["identity".to_owned()]));
    let cause = &doctor.json()["findings"][0];
    assert!(cause["message"].as_str().unwrap().starts_with("this garden was served from ledger"), "{cause}");
    assert!(cause["remedy"].as_str().unwrap().contains("allotment ledger rebuild"), "{cause}");
    let not_listed = doctor.json()["notListed"].as_u64().unwrap();
    assert!(not_listed >= 4, "a label and a status of two requests disagree: {}", doctor.stdout);
    let people = world.ask_about(&["pool", "doctor"]).await.stdout;
    assert!(people.contains(&format!("{not_listed} more findings about the ledger only follow")), "{people}");
    let all = world.ask_about(&["pool", "doctor", "--all", "-o", "json"]).await.json();
    assert_eq!(
        (all["findings"].as_array().unwrap().len() as u64, &all["notListed"]),
        (not_listed + 1, &json!(0))
    );
    assert_eq!(all["findings"][0]["code"], "identity", "the cause comes first");
    let all = world.ask_about(&["ledger", "verify", "--all", "-o", "json"]).await.json();
    assert!(all["disagreements"].as_array().unwrap().len() > 4, "{all}");

    let refused = world.ask_about(&["ledger", "rebuild", "--yes"]).await;
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("two_") && refused.stderr.contains("--force"), "{}", refused.stderr);
    let refused = world.ask_about(&["ledger", "rebuild", "--force"]).await;
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("--yes"), "{}", refused.stderr);
    let rebuilt = world.ask_about(&["ledger", "rebuild", "--yes", "--force", "-o", "json"]).await;
    assert_eq!(rebuilt.code, 0, "{} {}", rebuilt.stdout, rebuilt.stderr);
    assert_eq!(rebuilt.json()["requests"], 2);
    assert_eq!(rebuilt.json()["disagreements"], json!([]), "{}", rebuilt.stdout);

    // The operator that halted goes on, and nobody has moved.
    assert_eq!(world.bound("r3").await, "aws-03");
    let now = world.held().await;
    assert!(held.iter().all(|pair| now.contains(pair)), "{held:?} {now:?}");
    assert_eq!(world.ask_about(&["ledger", "verify"]).await.code, 0);

    // One that works starts over, and goes on too.
    let rebuilt = world.ask_about(&["ledger", "rebuild", "--yes", "--force"]).await;
    assert_eq!(rebuilt.code, 0, "{}", rebuilt.stderr);
    world.ask("again", "ga-1").await;
    assert_eq!(world.bound("again").await, world.bound("r1").await);
}

fn codes(findings: &Value) -> Vec<String> {
    let findings = findings.as_array().unwrap().iter();
    findings.map(|finding| finding["code"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_finds_everything_and_knows_a_remedy() {
    let world = World::new().await;
    let kubeconfig = world.garden_kubeconfig();
    let doctor = ["pool", "doctor", "--garden-kubeconfig", &kubeconfig, "-o", "json"];
    let healthy = world.allotment(&doctor).await;
    assert_eq!(
        (healthy.code, &healthy.json()["ok"]),
        (0, &json!(true)),
        "{} {}",
        healthy.stdout,
        healthy.stderr
    );

    world.change("aws-01", json!({ "labels": { "dirty": "false" } })).await;
    world.change("aws-02", json!({ "labels": { "hyperscalerType": null } })).await;
    world
        .change(
            "aws-03",
            json!({ "annotations": { "allotment.dev/quarantine": "the invoice was not paid" } }),
        )
        .await;
    world.add_account("twin", "gcp-01", json!({ "hyperscalerType": "aws" })).await;
    world.add_account("lonely", "lonely", json!({ "hyperscalerType": "aws" })).await;
    world.secrets().delete("lonely", &DeleteParams::default()).await.unwrap();
    until("the Secret is gone", async || match world.secrets().get_opt("lonely").await {
        Ok(None) => Ok(()),
        Ok(Some(mut secret)) => {
            // Gardener holds Secrets of bindings; somebody insists.
            secret.finalizers_mut().clear();
            let _ = world.secrets().replace("lonely", &Default::default(), &secret).await;
            Err("it is held".to_owned())
        }
        Err(error) => Err(error.to_string()),
    })
    .await;

    let sick = world.allotment(&doctor).await;
    let findings = sick.json()["findings"].clone();
    let found: Vec<String> = findings
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| {
            format!("{} {}", finding["code"].as_str().unwrap(), finding["account"].as_str().unwrap())
        })
        .collect();
    let expected = [
        "stranded aws-01",
        "stranded aws-02",
        "quarantined aws-03",
        "same-credentials gcp-01",
        "missing-secret lonely",
    ];
    assert_eq!((sick.code, found.as_slice()), (1, expected.map(str::to_owned).as_slice()));
    assert!(
        findings.as_array().unwrap().iter().all(|finding| !finding["remedy"].as_str().unwrap().is_empty())
    );
    let people = world.allotment(&doctor[..4]).await;
    assert!(people.stdout.contains("remove the label or set it to \"true\""), "{}", people.stdout);
    assert!(people.stdout.ends_with("5 findings\n"), "{}", people.stdout);
}
