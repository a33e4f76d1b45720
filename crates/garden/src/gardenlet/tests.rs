use super::{
    life::{Step, next},
    *,
};
use allotment_api::gardener::{OperationState, OperationType, ShootStatus, names};
use serde_json::json;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn identity() -> GardenerIdentity {
    GardenerIdentity { id: "i".into(), name: "n".into(), version: "v".into() }
}

fn shoot() -> Shoot {
    serde_json::from_value(json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot",
        "metadata": { "name": "s", "namespace": "garden-kyma", "uid": "u-1", "generation": 1 },
        "spec": { "region": "eu-central-1", "provider": { "type": "aws" }, "kubernetes": {} }
    }))
    .unwrap()
}

fn taken() -> Shoot {
    let mut shoot = shoot();
    shoot.metadata.finalizers = Some(vec![names::FINALIZER.into()]);
    shoot
}

/// Drives a Shoot until it rests, as a garden would, and returns what its status said on the way.
fn live(shoot: &mut Shoot, script: &Script, clock: &mut i64) -> Vec<String> {
    let mut told = Vec::new();
    for _ in 0..40 {
        *clock += 1;
        match next(shoot, script, &identity(), at(*clock)) {
            Step::Idle | Step::Wait(_) => return told,
            Step::Take => shoot.metadata.finalizers = Some(vec![names::FINALIZER.into()]),
            Step::LetGo => {
                shoot.metadata.finalizers = None;
                told.push("gone".to_owned());
                return told;
            }
            Step::Report(status) | Step::Publish(status) => {
                let operation = status.last_operation.clone().unwrap();
                told.push(format!("{:?} {:?} {}", operation.type_, operation.state, operation.progress));
                shoot.status = Some(*status);
            }
        }
    }
    panic!("it never rests: {told:?}");
}

#[test]
fn a_shoot_is_made_and_then_healthy() {
    let (mut shoot, mut clock) = (shoot(), 0);
    let told = live(&mut shoot, &Script::default(), &mut clock);
    assert_eq!(
        told,
        [
            "Create Processing 0",
            "Create Processing 12",
            "Create Processing 41",
            "Create Processing 68",
            "Create Processing 93",
            "Create Succeeded 100",
            "Create Succeeded 100",
        ]
    );
    let status = shoot.status.clone().unwrap();
    assert_eq!(status.technical_id.as_deref(), Some("shoot--kyma--s"));
    assert_eq!(status.uid.as_deref(), Some("u-1"));
    assert_eq!(status.observed_generation, Some(1));
    assert!(status.conditions.iter().all(|condition| condition.status == "True"), "{:?}", status.conditions);
    assert_eq!(status.conditions.len(), 5);
}

#[test]
fn success_comes_before_health() {
    let (mut shoot, mut clock) = (taken(), 0);
    while shoot.status.as_ref().and_then(|s| s.last_operation.as_ref()).map(|o| o.state)
        != Some(OperationState::Succeeded)
    {
        clock += 1;
        match next(&shoot, &Script::default(), &identity(), at(clock)) {
            Step::Report(status) | Step::Publish(status) => shoot.status = Some(*status),
            step => panic!("{step:?}"),
        }
    }
    assert!(shoot.status.unwrap().conditions.iter().all(|condition| condition.status == "Progressing"));
}

#[test]
fn a_change_is_reconciled_and_a_deletion_ends_it() {
    let (mut shoot, mut clock) = (shoot(), 0);
    live(&mut shoot, &Script::default(), &mut clock);
    shoot.metadata.generation = Some(2);
    let told = live(&mut shoot, &Script::default(), &mut clock);
    assert_eq!(told.first().unwrap(), "Reconcile Processing 0");
    assert_eq!(told.last().unwrap(), "Reconcile Succeeded 100");
    shoot.metadata.deletion_timestamp = Some(at(clock).into());
    shoot.metadata.generation = Some(3);
    let told = live(&mut shoot, &Script::default(), &mut clock);
    assert_eq!(told.first().unwrap(), "Delete Processing 0");
    assert_eq!(told[told.len() - 2..], ["Delete Succeeded 100", "gone"]);
}

#[test]
fn a_failed_shoot_stays_until_it_is_retried() {
    let (mut shoot, mut clock) = (shoot(), 0);
    let failing = Script { fail: Some(Failure::with_code("ERR_INFRA_QUOTA_EXCEEDED")), ..Script::default() };
    let told = live(&mut shoot, &failing, &mut clock);
    assert_eq!(told.last().unwrap(), "Create Failed 12");
    let status = shoot.status.clone().unwrap();
    assert_eq!(status.last_errors[0].codes, ["ERR_INFRA_QUOTA_EXCEEDED"]);
    assert_eq!(
        live(&mut shoot, &Script::default(), &mut clock),
        Vec::<String>::new(),
        "Gardener does not retry"
    );
    // `retry` bumps the generation, and a Shoot that was never made is still to be made.
    shoot.metadata.generation = Some(2);
    let told = live(&mut shoot, &Script::default(), &mut clock);
    assert_eq!(told.first().unwrap(), "Create Processing 0");
    assert_eq!(told.last().unwrap(), "Create Succeeded 100");
    assert!(shoot.status.unwrap().last_errors.is_empty());
}

#[test]
fn an_error_is_retried_by_itself() {
    let (mut shoot, mut clock) = (shoot(), 0);
    let failure =
        Failure { state: OperationState::Error, ..Failure::with_code("ERR_INFRA_RATE_LIMITS_EXCEEDED") };
    let failing = Script { step_milliseconds: 10_000, fail: Some(failure), ..Script::default() };
    // Each look is a second later, so each step of ten seconds makes it rest nine times.
    for _ in 0..60 {
        live(&mut shoot, &failing, &mut clock);
    }
    let state = |shoot: &Shoot| shoot.status.clone().unwrap().last_operation.unwrap().state;
    assert!(matches!(state(&shoot), OperationState::Error | OperationState::Processing));
    assert!(!shoot.status.clone().unwrap().last_errors.is_empty());
    clock += 10;
    live(&mut shoot, &Script::default(), &mut clock);
    assert_eq!(state(&shoot), OperationState::Succeeded);
}

#[test]
fn a_failure_can_be_kept_to_one_operation() {
    let (mut shoot, mut clock) = (shoot(), 0);
    let failure = Failure {
        during: Some(OperationType::Delete),
        ..Failure::with_code("ERR_CLEANUP_CLUSTER_RESOURCES")
    };
    let script = Script { fail: Some(failure), ..Script::default() };
    assert_eq!(live(&mut shoot, &script, &mut clock).last().unwrap(), "Create Succeeded 100");
    shoot.metadata.deletion_timestamp = Some(at(clock).into());
    assert_eq!(live(&mut shoot, &script, &mut clock).last().unwrap(), "Delete Failed 23");
}

#[test]
fn a_slow_shoot_waits_between_steps() {
    let script = Script { step_milliseconds: 10_000, ..Script::default() };
    let mut shoot = taken();
    let Step::Report(status) = next(&shoot, &script, &identity(), at(100)) else {
        panic!("it did not start")
    };
    shoot.status = Some(*status);
    assert_eq!(next(&shoot, &script, &identity(), at(103)), Step::Wait(Duration::from_secs(7)));
    assert!(matches!(next(&shoot, &script, &identity(), at(110)), Step::Report(_)));
}

#[test]
fn a_held_shoot_stands_still() {
    let (mut shoot, mut clock) = (shoot(), 0);
    let held = Script { hold_at: Some(50), ..Script::default() };
    assert_eq!(live(&mut shoot, &held, &mut clock).last().unwrap(), "Create Processing 41");
    assert_eq!(live(&mut shoot, &Script::default(), &mut clock).last().unwrap(), "Create Succeeded 100");
}

#[test]
fn a_flapping_shoot_loses_and_regains_its_api_server() {
    let (mut shoot, mut clock) = (shoot(), 0);
    live(&mut shoot, &Script::default(), &mut clock);
    let flapping = Script { flap_milliseconds: Some(5000), ..Script::default() };
    let mut seen = Vec::new();
    for _ in 0..30 {
        clock += 1;
        if let Step::Report(status) = next(&shoot, &flapping, &identity(), at(clock)) {
            seen.push(status.conditions[0].status.clone());
            assert!(status.conditions[1..].iter().all(|condition| condition.status == "True"));
            shoot.status = Some(*status);
        }
    }
    assert!(seen.len() >= 5 && seen[0] == "False" && seen[1] == "True" && seen[2] == "False", "{seen:?}");
}

#[test]
fn a_foreign_shoot_in_deletion_is_left_alone() {
    let mut shoot = shoot();
    shoot.metadata.deletion_timestamp = Some(at(1).into());
    assert_eq!(next(&shoot, &Script::default(), &identity(), at(2)), Step::Idle);
}

#[test]
fn an_annotation_wins_over_the_scripts_of_a_test() {
    let scripts = Scripts::default();
    let mut shoot = shoot();
    scripts.set(ShootKey::of(&shoot), Script { hold_at: Some(1), ..Script::default() });
    assert_eq!(scripts.of(&shoot).hold_at, Some(1));
    shoot.annotations_mut().insert(ANNOTATION.into(), r#"{"holdAt": 2}"#.into());
    assert_eq!(scripts.of(&shoot).hold_at, Some(2));
    shoot.annotations_mut().insert(ANNOTATION.into(), "nonsense".into());
    assert_eq!(scripts.of(&shoot).hold_at, Some(1));
    scripts.clear(&ShootKey::of(&shoot));
    assert_eq!(scripts.of(&shoot), Script::default());
}

#[test]
fn an_empty_status_of_an_api_server_counts_as_none() {
    let mut shoot = taken();
    shoot.status = Some(ShootStatus {
        uid: Some(String::new()),
        technical_id: Some(String::new()),
        ..ShootStatus::default()
    });
    let Step::Report(status) = next(&shoot, &Script::default(), &identity(), at(1)) else {
        panic!("it did not start")
    };
    assert_eq!(status.uid.as_deref(), Some("u-1"));
}
