//! From a Cluster to a Shoot, and back, in every order.

use super::*;

#[test]
fn a_cluster_becomes_ready_and_a_second_look_does_nothing() {
    let mut world = World::new();
    let [first, second] = <[String; 2]>::try_from(names(&world.cluster(), &world.instance)).unwrap();
    let (steps, _) = world.look();
    let expected = [
        "put a finalizer on the Cluster".to_owned(),
        format!("read Shoot {first} live"),
        format!("read Shoot {second} live"),
        format!("write down that its Shoot is {first}"),
        "create the Shoot".to_owned(),
        "label the Cluster".to_owned(),
    ];
    assert_eq!(steps, expected);
    world.settle();
    world.look();
    let status = world.cluster["status"].clone();
    assert_eq!(
        (status["phase"].as_str(), status["apiServer"].as_str()),
        (Some("Ready"), Some("https://ext"))
    );
    let endpoints: Vec<&str> =
        status["endpoints"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(endpoints, ["apiserver-external", "apiserver-internal", "external", "internal"]);
    assert_eq!(world.cluster["metadata"]["labels"]["clusters.openmcp.cloud/provider"], "p");
    assert_eq!(world.cluster["metadata"]["labels"]["clusters.openmcp.cloud/k8sversion"], "1.34.1");
    let writes = world.writes;
    let (steps, _) = world.look();
    assert!(steps.is_empty(), "{steps:?}");
    assert_eq!((world.cluster["status"].clone(), world.writes), (status, writes));
}

#[test]
fn g1_ready_only_by_generation_operation_conditions_and_address_together() {
    let mut world = World::new();
    world.look();
    assert_eq!(world.phase(), "Progressing", "it was only just made");
    let spoil: [fn(&mut Value); 6] = [
        |shoot| shoot["status"]["observedGeneration"] = json!(0),
        |shoot| shoot["status"]["lastOperation"]["state"] = json!("Processing"),
        |shoot| shoot["status"]["conditions"] = json!([]),
        |shoot| shoot["status"]["conditions"][0]["status"] = json!("False"),
        |shoot| shoot["status"]["conditions"][1]["status"] = json!("Progressing"),
        |shoot| shoot["status"]["advertisedAddresses"] = json!([]),
    ];
    for (number, spoil) in spoil.into_iter().enumerate() {
        world.settle();
        world.look();
        assert_eq!(world.phase(), "Ready", "before {number}");
        spoil(world.shoot());
        world.look();
        assert_eq!(world.phase(), "Progressing", "after {number}");
    }
}

#[test]
fn g5_a_shoot_of_another_environment_is_neither_taken_over_nor_deleted() {
    let mut world = ready();
    let theirs = world.shoot().clone();
    // The other environment has a Cluster of the same name, and the same project.
    let mut other = World::new();
    other.instance.environment = "f".to_owned();
    other.profile.as_mut().unwrap().metadata.name = Some("f.p.x".to_owned());
    other.cluster["spec"]["profile"] = json!("f.p.x");
    other.cluster["metadata"]["uid"] = json!("another-cluster");
    other.garden = world.garden.clone();
    other.look();
    let name = name_of(&world);
    assert_eq!(other.garden[&name], theirs, "it is as it was");
    assert_eq!(other.garden.len(), 2, "there is a second one, of another name");
    assert_ne!(record(&other).shoot, name);
    // Nor if the label asks for that very name.
    let mut greedy = World::new();
    greedy.instance.environment = "f".to_owned();
    greedy.profile.as_mut().unwrap().metadata.name = Some("f.p.x".to_owned());
    greedy.cluster["metadata"]["uid"] = json!("another-cluster");
    greedy.cluster["metadata"]["labels"] = json!({"gardener.clusters.openmcp.cloud/shoot-name": name});
    greedy.garden = world.garden.clone();
    greedy.look();
    assert_eq!(greedy.condition("ShootManagement").1, "ShootConflict");
    greedy.end();
    let (steps, _) = greedy.look();
    assert_eq!(steps.last().unwrap(), "take the finalizer off the Cluster");
    assert_eq!(greedy.garden[&name], theirs);
}

#[test]
fn g5_a_shoot_of_a_cluster_that_had_the_same_name_is_not_taken_over() {
    let mut world = ready();
    let garden = world.garden.clone();
    world = World::new();
    world.cluster["metadata"]["uid"] = json!("made-anew");
    world.garden = garden.clone();
    world.look();
    let name = names(&World::new().cluster(), &world.instance)[0].clone();
    assert_eq!(world.garden[&name], garden[&name]);
}

#[test]
fn a_shoot_that_upstream_made_is_taken_over_if_the_status_names_it() {
    let mut world = World::new();
    world.look();
    let name = name_of(&world);
    world.shoot()["metadata"]["labels"]
        .as_object_mut()
        .unwrap()
        .remove("gardener.clusters.openmcp.cloud/cluster-uid");
    world.settle();
    let upstream = json!({"shoot": {"metadata": {"name": name, "namespace": "garden-proj"}}});
    world.shoot()["metadata"]["namespace"] = json!("garden-proj");
    world.cluster["status"]["providerStatus"] = upstream;
    world.look();
    assert_eq!(world.garden.len(), 1);
    let labels = world.shoot()["metadata"]["labels"].clone();
    assert_eq!(
        labels["gardener.clusters.openmcp.cloud/cluster-uid"], "the-cluster",
        "it is told apart from now on"
    );
}

#[test]
fn g12_a_cluster_whose_configuration_is_gone_says_so_and_can_be_deleted() {
    let mut world = ready();
    (world.profile, world.config) = (None, None);
    world.look();
    assert_eq!((world.phase(), world.condition("ShootManagement").1), ("Progressing", "UnknownProfile"));
    world.end();
    let (steps, _) = world.look();
    assert!(steps.iter().any(|step| step.starts_with("delete Shoot")), "{steps:?}");
    world.garden.clear();
    assert_eq!(world.look().0.last().unwrap(), "take the finalizer off the Cluster");
}

#[test]
fn g17_deletion_is_looked_at_again_and_ends() {
    let mut world = ready();
    world.end();
    let (_, decision) = world.look();
    assert!(decision.again.is_some(), "should the watch miss it");
    assert_eq!((world.phase(), world.condition("ShootManagement").1), ("Terminating", "WaitingForDeletion"));
    world.shoot()["status"]["lastOperation"] = operation("Failed");
    let (_, decision) = world.look();
    assert!(decision.again.is_some(), "it is tried again");
    world.garden.clear();
    assert_eq!(world.look().0.last().unwrap(), "take the finalizer off the Cluster");
}

#[test]
fn deletion_waits_for_others_and_for_a_way() {
    let mut world = ready();
    world.end();
    world.cluster["metadata"]["finalizers"]
        .as_array_mut()
        .unwrap()
        .push(json!("request.clusters.openmcp.cloud/u"));
    let (steps, _) = world.look();
    assert!(steps.is_empty());
    assert_eq!(world.condition("ForeignFinalizers").1, "WaitingForDeletion");
    world.cluster["metadata"]["finalizers"] = json!([finalizer::CLUSTER, "foregroundDeletion"]);
    world.place = Err(("UnknownLandscape", "Landscape l is not there"));
    let (steps, decision) = world.look();
    assert!(steps.is_empty() && decision.again.is_some(), "the Shoot is not left behind");
    assert!(world.condition("LandscapeManagement").2.contains("there is no way to it"));
    // One that never had a Shoot needs no way.
    let mut world = World::new();
    world.cluster["metadata"]["finalizers"] = json!([finalizer::CLUSTER]);
    world.place = Err(("UnknownLandscape", "Landscape l is not there"));
    world.end();
    assert_eq!(world.look().0, ["take the finalizer off the Cluster"]);
}

#[test]
fn g18_a_shoot_that_exists_is_never_said_not_to() {
    let mut world = World::new();
    world.refusal = Some("quota");
    world.look();
    assert_eq!(world.condition("ShootManagement").1, "ShootFailed");
    world.refusal = None;
    world.look();
    for _ in 0..3 {
        assert_ne!(world.condition("ShootManagement").1, "ShootNotFound");
        world.settle();
        world.look();
    }
    assert_eq!(world.condition("ShootManagement").0, "True");
}

#[test]
fn a_shoot_that_is_missing_is_made_anew_only_when_asked_for() {
    let mut world = ready();
    world.garden.clear();
    world.look();
    assert_eq!((world.condition("ShootManagement").1, world.garden.len()), ("ShootNotFound", 0));
    assert_eq!(world.cluster["status"].get("apiServer"), None, "nothing leads to it");
    world.cluster["metadata"]["annotations"]["openmcp.cloud/operation"] = json!("reconcile");
    world.look();
    assert_eq!(world.garden.len(), 1);
    assert_eq!(record(&world).uid.as_deref(), world.shoot()["metadata"]["uid"].as_str());
}

#[test]
fn g19_what_is_not_ours_is_left_alone_and_its_annotations_too() {
    for change in
        [(|world: &mut World| world.instance.provider = "q".to_owned()) as fn(&mut World), |world| {
            world.instance.environment = "f".to_owned();
        }]
    {
        let mut world = World::new();
        world.cluster["metadata"]["annotations"] = json!({"openmcp.cloud/operation": "reconcile"});
        change(&mut world);
        let (steps, decision) = world.look();
        assert!(steps.is_empty() && decision.step == Step::Leave);
    }
}

#[test]
fn people_can_have_it_left_alone_and_looked_at() {
    let mut world = ready();
    world.end();
    world.cluster["metadata"]["annotations"]["openmcp.cloud/operation"] = json!("ignore");
    assert_eq!(world.look().1.step, Step::Leave, "not even its deletion");
    let mut world = ready();
    let writes = world.writes;
    world.cluster["metadata"]["annotations"]["openmcp.cloud/operation"] = json!("reconcile");
    let (steps, _) = world.look();
    assert_eq!(steps[0], "take the operation's annotation off");
    assert_eq!(world.writes, writes + 1, "whether or not there seems to be something to do");
}

#[test]
fn a_shoot_that_gardener_gave_up_is_tried_again() {
    let mut world = ready();
    world.shoot()["status"]["lastOperation"] = operation("Failed");
    let (steps, decision) = world.look();
    assert!(steps.is_empty() && decision.again.is_some(), "after a while");
    assert_eq!(world.condition("ShootManagement").1, "ShootFailed");
    world.shoot()["status"]["lastOperation"]["lastUpdateTime"] = json!("2025-12-31T00:00:00Z");
    let (steps, _) = world.look();
    assert!(steps[0].starts_with("ask Gardener to try again"), "{steps:?}");
}

#[test]
fn what_it_waits_for_is_told() {
    let mut world = World::new();
    world.place = Err(("UnknownLandscape", "Landscape l is not there"));
    world.look();
    assert_eq!(world.condition("LandscapeManagement").1, "UnknownLandscape");
    assert!(world.cluster["metadata"].get("finalizers").is_none(), "nothing is held yet");
    let mut world = World::new();
    world.cluster_configs.push(("missing".to_owned(), None));
    world.look();
    assert_eq!(world.condition("ClusterConfigurations").1, "InvalidReference");
    assert!(world.garden.is_empty());
}

#[test]
fn a_name_that_somebody_took_after_the_shoot_was_gone_does_not_end_the_cluster() {
    let mut world = ready();
    let (first, mut shoot) = world.garden.pop_first().unwrap();
    // Of the same name on another platform, say.
    shoot["metadata"]["labels"]["gardener.clusters.openmcp.cloud/environment"] = json!("f");
    world.garden.insert(first.clone(), shoot);
    world.look();
    assert!(world.condition("ShootManagement").2.contains(&format!("Shoot {first} is gone")));
    assert_eq!(world.garden.len(), 1, "nobody asked for another one");
    world.cluster["metadata"]["annotations"] = json!({"openmcp.cloud/operation": "reconcile"});
    world.look();
    let second = names(&world.cluster(), &world.instance);
    assert_eq!(world.garden.len(), 2);
    assert_ne!(second[0], first);
    assert!(world.garden.contains_key(&second[0]), "{second:?}");
}
