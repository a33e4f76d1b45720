//! What the Shoot looks like.

use super::*;

fn version(world: &mut World) -> String {
    world.shoot()["spec"]["kubernetes"]["version"].as_str().unwrap().to_owned()
}

#[test]
fn g2_the_version_that_is_asked_for_is_the_one_that_comes() {
    for (asked, of_template, expected) in [
        (None, None, "1.34.1"),
        (Some("1.33.2"), None, "1.33.2"),
        (Some("1.33"), None, "1.33.5"),
        (None, Some("1.33.2"), "1.33.2"),
        (Some("1.34.1"), Some("1.33.2"), "1.34.1"),
        (None, Some("1.99.0"), "1.99.0"),
    ] {
        let mut world = World::new();
        world.cluster["spec"]["kubernetes"] = json!({"version": asked});
        if let Some(of_template) = of_template {
            world.template()["spec"]["kubernetes"] = json!({"version": of_template});
        }
        world.look();
        assert_eq!(version(&mut world), expected, "{asked:?} {of_template:?}");
    }
    let mut world = World::new();
    world.cluster["spec"]["kubernetes"] = json!({"version": "1.30.1"});
    world.look();
    assert!(world.garden.is_empty());
    let (_, reason, message) = world.condition("ShootManagement");
    assert_eq!(reason, "ConfigurationProblem");
    assert!(message.contains("1.33.2, 1.33.5, 1.34.1"), "{message}");
}

#[test]
fn a_version_is_never_taken_down() {
    let mut world = ready();
    world.cluster["spec"]["kubernetes"] = json!({"version": "1.33.5"});
    world.look();
    assert_eq!((version(&mut world).as_str(), world.phase()), ("1.34.1", "Ready"));
    assert!(world.condition("ShootManagement").2.contains("never taken down"), "and that is told");
    // What Gardener brought in its maintenance stays.
    world.shoot()["spec"]["kubernetes"]["version"] = json!("1.34.7");
    world.shoot()["spec"]["provider"]["workers"][0]["machine"]["image"]["version"] = json!("1.2.0");
    let writes = world.writes;
    world.look();
    assert_eq!((version(&mut world).as_str(), world.writes), ("1.34.7", writes));
}

#[test]
fn g3_patches_are_applied_once_however_often_it_is_looked_at() {
    let mut world = World::new();
    world.policy = Policy::trusted();
    world.template()["spec"]["tolerations"] = json!([{"key": "a"}]);
    let add = json!({"op": "add", "path": "/spec/tolerations/-", "value": {"key": "b"}});
    world.configure("one", json!({"patches": [add], "extensions": [{"type": "x"}]}));
    world.look();
    let once = json!([{"key": "a"}, {"key": "b"}]);
    assert_eq!(world.shoot()["spec"]["tolerations"], once);
    for _ in 0..3 {
        world.cluster["metadata"]["annotations"]["openmcp.cloud/operation"] = json!("reconcile");
        world.settle();
        world.look();
        assert_eq!(world.shoot()["spec"]["tolerations"], once);
        assert_eq!(
            world.shoot()["spec"]["extensions"].as_array().unwrap().len(),
            2,
            "with shoot-oidc-service"
        );
    }
    // What is no longer asked for goes.
    world.cluster_configs.clear();
    world.look();
    assert_eq!(world.shoot()["spec"]["tolerations"], json!([{"key": "a"}]));
    assert_eq!(world.shoot()["spec"]["extensions"], json!([{"type": "shoot-oidc-service"}]));
}

#[test]
fn g20_long_names_fit_into_labels() {
    let mut world = World::new();
    world.cluster["metadata"]["name"] = json!("x".repeat(200));
    world.instance.environment = "e".repeat(90);
    let profile = format!("{}.p.x", world.instance.environment);
    world.profile.as_mut().unwrap().metadata.name = Some(profile.clone());
    world.cluster["spec"]["profile"] = json!(profile);
    world.look();
    let labels = world.shoot()["metadata"]["labels"].as_object().unwrap().clone();
    for (key, value) in &labels {
        assert!(value.as_str().unwrap().len() <= 63, "{key}");
    }
    world.settle();
    world.look();
    assert_eq!((world.phase(), world.writes), ("Ready", 1), "and are still known as ours");
}

#[test]
fn g24_odd_templates_are_told_and_break_nothing() {
    for (pointer, value) in [
        ("/spec/kubernetes", json!({"version": "latest"})),
        ("/spec/kubernetes", json!("1.34")),
        ("/spec/maintenance", json!([])),
        ("/spec/maintenance", json!({"autoUpdate": "yes"})),
        ("/spec/dns", json!(7)),
        ("/spec/provider", json!("aws")),
        ("/spec", json!(null)),
    ] {
        let mut world = World::new();
        match pointer {
            "/spec" => world.template()["spec"] = value.clone(),
            pointer => world.template()["spec"][pointer.trim_start_matches("/spec/")] = value.clone(),
        }
        world.look();
        assert_eq!(world.condition("ShootManagement").1, "ConfigurationProblem", "{pointer} {value}");
    }
    for patch in [
        json!({"op": "replace", "path": "/metadata/name", "value": "other"}),
        json!({"op": "replace", "path": "/metadata", "value": "x"}),
        json!({"op": "add", "path": "/metadata/finalizers", "value": ["x"]}),
        json!({"op": "add", "path": "/metadata/annotations/gardener.cloud~1operation", "value": "retry"}),
        json!({"op": "remove", "path": "/spec"}),
    ] {
        let mut world = World::new();
        world.configure("one", json!({"patches": [patch]}));
        world.look();
        assert_eq!(world.condition("ShootManagement").1, "ConfigurationProblem", "{patch}");
    }
}

#[test]
fn g24_an_unchanged_shoot_is_not_written_and_removed_fields_go() {
    let mut world = ready();
    let writes = world.writes;
    world.look();
    assert_eq!(world.writes, writes);
    world.template()["spec"]["purpose"] = json!("testing");
    world.look();
    assert_eq!(world.shoot()["spec"]["purpose"], "testing");
    world.template()["spec"].as_object_mut().unwrap().remove("purpose");
    world.look();
    assert_eq!(world.shoot()["spec"].get("purpose"), None);
}

#[test]
fn marks_go_from_the_cluster_over_the_template_to_the_shoot() {
    let mut world = World::new();
    world.cluster["metadata"]["labels"] = json!({"metadata.open-control-plane.io/a": "1", "other": "2", "metadata.open-control-plane.io/b": "1"});
    world.cluster["metadata"]["annotations"] = json!({"metadata.open-control-plane.io/c": "3"});
    world.template()["metadata"]["labels"] = json!({"metadata.open-control-plane.io/b": "template", "gardener.clusters.openmcp.cloud/environment": "forged"});
    world.look();
    let metadata = world.shoot()["metadata"].clone();
    assert_eq!(metadata["labels"]["metadata.open-control-plane.io/a"], "1");
    assert_eq!(metadata["labels"]["metadata.open-control-plane.io/b"], "template");
    assert_eq!(metadata["labels"].get("other"), None);
    assert_eq!(metadata["labels"]["gardener.clusters.openmcp.cloud/environment"], "e");
    assert_eq!(metadata["annotations"]["metadata.open-control-plane.io/c"], "3");
    let issuer = "authentication.gardener.cloud/issuer";
    assert_eq!(metadata["annotations"][issuer], "managed");
    // Not every Gardener has managed issuers.
    world.template()["metadata"]["annotations"] = json!({issuer: ""});
    world.look();
    assert_eq!(world.shoot()["metadata"]["annotations"].get(issuer), None);
}

#[test]
fn enforced_extensions_are_there_and_what_others_add_stays() {
    let mut world = World::new();
    world.config.as_mut().unwrap().spec.enforced_shoot_extensions = Some(Vec::new());
    world.look();
    assert_eq!(world.shoot()["spec"].get("extensions"), None);
    world.config.as_mut().unwrap().spec.enforced_shoot_extensions = None;
    world.template()["spec"]["extensions"] =
        json!([{"type": "shoot-oidc-service", "disabled": true, "providerConfig": {"a": 1}}]);
    world.look();
    let configured = json!([{"type": "shoot-oidc-service", "providerConfig": {"a": 1}}]);
    assert_eq!(world.shoot()["spec"]["extensions"], configured);
    world.shoot()["spec"]["extensions"].as_array_mut().unwrap().push(json!({"type": "theirs"}));
    world.template()["spec"]["purpose"] = json!("testing");
    world.look();
    assert_eq!(world.shoot()["spec"]["extensions"].as_array().unwrap().len(), 2);
}
