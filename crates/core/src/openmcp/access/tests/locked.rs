//! A lock takes access back, and its end grants it again.

use super::*;

#[test]
fn a_lock_takes_access_back_and_its_end_grants_it_again() {
    for world in [World::token(), World::oidc()] {
        let mut world = world.granted();
        world.is_locked = true;
        assert_eq!(world.steps(), ["withdraw", "clear"]);
        assert_eq!(
            (world.phase(), world.condition("SecretExistsAndIsValid")),
            ("Pending", (false, "Locked"))
        );
        assert!(world.request.status.as_ref().unwrap().secret_ref.is_none());
        world.later(SignedDuration::from_hours(24));
        let (steps, decision) = world.look();
        assert_eq!((steps.as_slice(), decision.is_failed), (&["withdraw"][..], false), "nothing is granted");
        world.is_locked = false;
        assert_eq!(world.steps(), ["grant", "issue"]);
        assert_eq!(world.phase(), "Granted");
    }
}

#[test]
fn a_tenant_does_not_keep_access_with_what_a_tenant_can_write() {
    let changes: [fn(&mut World); 3] = [
        |world| {
            let ignore = [(annotation::OPERATION.to_owned(), "ignore".to_owned())];
            world.request.metadata.annotations = Some(ignore.into());
        },
        |world| world.request.metadata.labels = None,
        |world| world.change(),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut world = World::token().granted();
        change(&mut world);
        world.is_locked = true;
        assert_eq!(world.steps(), ["withdraw", "clear"], "{number}");
    }
}

#[test]
fn nothing_is_granted_while_it_is_locked() {
    let mut world = World::token();
    world.is_locked = true;
    assert!(world.steps().is_empty());
    assert_eq!((world.phase(), world.secret.is_none()), ("Pending", true));
}

#[test]
fn a_cluster_that_cannot_be_reached_is_tried_again() {
    let mut world = World::token().granted();
    (world.is_locked, world.trouble) = (true, passing());
    let (steps, decision) = world.look();
    assert_eq!((steps.as_slice(), decision.is_failed), (&["withdraw"][..], true));
    world.trouble = None;
    assert_eq!(world.steps(), ["withdraw", "clear"]);
}
