//! A Cluster that is deleted, and protected or released.

use super::*;

#[test]
fn a_protected_cluster_keeps_its_shoot_until_somebody_says_which_way_out() {
    let protected = || {
        let mut world = World::ready();
        world.cluster["spec"]["deletionProtection"] = json!(true);
        world.delete();
        world
    };
    let mut world = protected();
    let status = world.rest();
    assert_eq!((status.phase, provisioned(&status).1), (Some(ClusterPhase::Deleting), "DeletionProtected"));
    let said = crate::condition::find(&status.conditions, "ClusterProvisioned").unwrap().message.clone();
    for way in ["allotment.dev/confirm-deletion=0123abcd-ffff", "allotment.dev/release-shoot=of-the-shoot"] {
        assert!(said.contains(way), "{said}");
    }
    // Neither another UID nor a word is enough.
    for value in ["true", "of-the-shoot", "another"] {
        world.annotate(annotation::CONFIRM_DELETION, value);
        assert_eq!(provisioned(&world.rest()).1, "DeletionProtected", "{value}");
    }
    world.annotate(annotation::CONFIRM_DELETION, "0123abcd-ffff");
    assert_eq!(world.decide().step, Step::ConfirmDeletion);
    let mut world = protected();
    world.cluster["spec"]["deletionProtection"] = json!(false);
    assert_eq!(world.decide().step, Step::ConfirmDeletion, "whoever may edit it may lift it");
    // What cannot be kept any more is not held up.
    let mut world = protected();
    world.shoot.as_mut().unwrap()["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert_eq!(provisioned(&world.rest()).1, "Deleting");
    let mut world = protected();
    world.shoot = None;
    world.is_live = true;
    assert_eq!(world.decide().step, Step::GiveBack, "there is nothing to keep");
}

#[test]
fn the_configuration_protects_clusters_that_say_nothing() {
    let mut world = World::ready();
    world.protects = true;
    world.delete();
    assert_eq!(provisioned(&world.rest()).1, "DeletionProtected");
    world.cluster["spec"]["deletionProtection"] = json!(false);
    assert_eq!(world.decide().step, Step::ConfirmDeletion);
}

#[test]
fn a_released_shoot_stays_and_its_cluster_goes() {
    let mut world = World::ready();
    world.cluster["spec"]["deletionProtection"] = json!(true);
    world.delete();
    world.annotate(annotation::RELEASE_SHOOT, "of-another");
    assert_eq!(provisioned(&world.rest()).1, "DeletionProtected");
    world.annotate(annotation::RELEASE_SHOOT, "of-the-shoot");
    assert_eq!(world.decide().step, Step::ReleaseShoot);
    world.cluster["spec"]["deletionProtection"] = json!(false);
    assert_eq!(world.decide().step, Step::ReleaseShoot, "also where nothing is protected");
    world.shoot.as_mut().unwrap()["metadata"]["labels"] = json!({});
    assert_eq!(world.decide().step, Step::LookLive);
    world.is_live = true;
    assert_eq!(world.decide().step, Step::GiveBack);
    world.request = None;
    assert_eq!(world.decide().step, Step::LetGo);
}
