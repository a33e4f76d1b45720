//! Which Shoot and which request are a Cluster's own.

use super::*;

#[test]
fn a_request_of_somebody_else_is_not_used() {
    let mut world = World::bound();
    world.request.as_mut().unwrap()["spec"]["provider"] = json!("azure");
    let status = world.rest();
    assert_eq!(provisioned(&status).1, "NameTaken");
}

#[test]
fn another_shoot_in_the_place_of_ours_is_left_alone() {
    let mut world = World::ready();
    world.shoot.as_mut().unwrap()["metadata"]["uid"] = json!("of-another");
    world.cluster["metadata"]["generation"] = json!(2);
    world.cluster["spec"]["infrastructure"]["machineType"] = json!("m5.xlarge");
    let status = world.rest();
    assert_eq!(provisioned(&status).1, "ShootMissing");
    assert_eq!(status.shoot_uid.as_deref(), Some("of-the-shoot"));
}

#[test]
fn a_copy_of_our_shoot_is_not_ours_unless_told_to() {
    let mut world = World::ready();
    let shoot = world.shoot.as_mut().unwrap();
    shoot["metadata"]["uid"] = json!("of-the-copy");
    shoot["metadata"]["managedFields"] = json!([{"manager": "velero", "operation": "Update"}]);
    world.annotate(annotation::RECREATE_SHOOT, "true");
    assert_eq!(provisioned(&world.rest()).1, "ShootMissing");
    world.annotate(annotation::ADOPT_SHOOT, "of-the-copy");
    assert_eq!(provisioned(&world.rest()).1, "ShootMissing", "the annotation alone does nothing");
    world.adopts = Some("of-the-copy");
    assert_eq!(world.rest().shoot_uid.as_deref(), Some("of-the-copy"));
    // The same where the status never named a Shoot.
    world.adopts = None;
    world.cluster["status"] = Value::Null;
    world.cluster["metadata"]["annotations"] = Value::Null;
    assert_eq!(provisioned(&world.rest()).1, "ShootTaken");
}

#[test]
fn a_shoot_that_was_there_before_is_adopted_only_when_told_to() {
    let mut world = World::ready();
    world.cluster["status"] = Value::Null;
    world.shoot.as_mut().unwrap()["metadata"]["labels"] = json!({});
    let decision = world.decide();
    assert_eq!(provisioned(&decision.status).1, "ShootTaken");
    // The Shoots of others are not watched, so it is looked whether it is still there. The account is known meanwhile.
    assert_eq!(decision.again, Some(Duration::from_mins(5)));
    assert_eq!(decision.status.subscription.unwrap().binding_name.as_deref(), Some("account-1"));
    assert!(decision.status.conditions.iter().any(|condition| condition.reason == "Assigned"));
    world.annotate(annotation::ADOPT_SHOOT, "of-the-shoot");
    assert_eq!(provisioned(&world.decide().status).1, "ShootTaken", "the annotation alone does nothing");
    world.adopts = Some("of-another");
    assert_eq!(provisioned(&world.decide().status).1, "ShootTaken", "another Shoot was meant");
    world.adopts = Some("of-the-shoot");
    let Step::Update(apply) = world.decide().step else { panic!("it is not adopted") };
    assert_eq!(apply.shoot["metadata"]["labels"][label::CLUSTER_UID], "0123abcd-ffff");
    world.request.as_mut().unwrap()["status"]["gardenerSecretName"] = json!("account-2");
    let status = world.rest();
    assert_eq!(provisioned(&status).1, "OtherAccount");
    // Whoever gives up and deletes the Cluster again keeps the Shoot.
    assert_eq!(status.shoot_uid, None);
    world.cluster["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    world.is_live = true;
    assert_eq!(world.decide().step, Step::GiveBack);
}

/// What the Shoot carries, who wrote it, and what the status says: only the first two prove anything.
#[test]
fn only_a_uid_on_the_shoot_that_we_wrote_makes_it_the_clusters() {
    let (ours, others) = (json!([{"manager": "allotment"}]), json!([{"manager": "velero"}]));
    let (cluster, request) = (label::CLUSTER_UID, label::SUBSCRIPTION_REQUEST);
    let (own, own_request) = (json!("0123abcd-ffff"), json!("of-the-request"));
    let other = json!("of-another");
    for (labels, managers, named, expected) in [
        (json!({cluster: own, request: own_request}), &ours, true, "Ready"),
        (json!({cluster: own, request: own_request}), &ours, false, "Ready"),
        (json!({cluster: own}), &ours, true, "Ready"),
        (json!({request: own_request}), &ours, false, "Ready"),
        // The Cluster's UID decides.
        (json!({cluster: other, request: own_request}), &ours, false, "ShootTaken"),
        (json!({cluster: other, request: other}), &ours, false, "ShootTaken"),
        (json!({cluster: other, request: other}), &ours, true, "ShootMissing"),
        (json!({}), &ours, true, "ShootMissing"),
        (json!({}), &ours, false, "ShootTaken"),
        (json!({cluster: own, request: own_request}), &others, true, "ShootMissing"),
        (json!({cluster: own, request: own_request}), &others, false, "ShootTaken"),
    ] {
        let mut world = World::ready();
        let shoot = world.shoot.as_mut().unwrap();
        shoot["metadata"]["labels"] = labels.clone();
        shoot["metadata"]["managedFields"] = managers.clone();
        if !named {
            world.cluster["status"] = Value::Null;
        }
        // The labels that are missing are written again.
        let status = world.decide().status;
        assert_eq!(provisioned(&status).1, expected, "{labels} {managers} {named}");
        let is_told = status.conditions.iter().any(|condition| condition.message.contains("of-the-shoot"));
        assert!(!is_told, "nobody is told a UID: {status:?}");
    }
}

#[test]
fn a_forged_status_takes_no_shoot() {
    let mut world = World::bound();
    world.is_live = true;
    world.create();
    let shoot = world.shoot.as_mut().unwrap();
    shoot["metadata"]["name"] = json!("victim");
    shoot["metadata"]["labels"] =
        json!({(label::CLUSTER_UID): "of-the-victim", (label::SUBSCRIPTION_REQUEST): "of-theirs"});
    world.cluster["status"] = json!({"phase": "Ready", "shootName": "victim", "shootUID": "of-the-shoot"});
    assert_eq!(provisioned(&world.rest()).1, "ShootMissing");
    world.delete();
    assert_eq!(world.decide().step, Step::GiveBack, "the Shoot stays");
}

#[test]
fn a_request_is_the_clusters_by_name_and_content() {
    let with = |pointer: &str, value: Value| {
        let mut world = World::bound();
        world.is_live = true;
        *world.request.as_mut().unwrap().pointer_mut(pointer).unwrap() = value;
        provisioned(&world.decide().status).1.to_owned()
    };
    assert_eq!(with("/metadata/ownerReferences", json!([])), "Creating", "`--cascade=orphan` removes it");
    assert_eq!(with("/metadata/name", json!("example-ffffffff")), "NameTaken");
    assert_eq!(with("/metadata/namespace", json!("another")), "NameTaken");
    assert_eq!(with("/spec/provider", json!("gcp")), "NameTaken");
    assert_eq!(with("/spec/hyperscalerRegion", json!("us-east-1")), "NameTaken");
    assert_eq!(with("/spec/clusterRef/name", json!("another")), "NameTaken");
}

#[test]
fn a_shoot_that_was_taken_over_goes_with_its_cluster() {
    let mut world = World::ready();
    world.cluster["status"] = Value::Null;
    world.adopts = Some("of-the-shoot");
    // It carries the request's UID: that was written.
    assert_eq!(world.rest().shoot_uid.as_deref(), Some("of-the-shoot"));
    world.cluster["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert_eq!(world.decide().step, Step::ConfirmDeletion);
}

#[test]
fn what_carries_our_request_goes_with_the_cluster_whatever_its_uid() {
    let mut world = World::ready();
    world.shoot.as_mut().unwrap()["metadata"]["uid"] = json!("of-another");
    world.delete();
    assert_eq!(world.decide().step, Step::ConfirmDeletion);
    world.shoot.as_mut().unwrap()["metadata"]["labels"] = json!({});
    world.is_live = true;
    assert_eq!(world.decide().step, Step::GiveBack, "it is somebody else's");
}
