//! Clusters, made by a process that runs several operators.

use super::world::{World, until};
use allotment_api::kyma::ClusterPhase;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, ResourceExt, api::DeleteParams};

const CLUSTERS: &str = "{providers: {aws: {cloudProfile: aws}}}";

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_made_and_a_changed_configuration_is_rolled_out() {
    let world = World::new().await;
    world.configure_clusters(CLUSTERS);
    let (_gardenlet, process) = (world.gardenlet(), world.run("one"));
    world.ask_for_cluster("c", "ga-1").await;
    let cluster = world.cluster_in("c", ClusterPhase::Ready).await;
    let shoot = cluster.status.unwrap().shoot_name.unwrap();

    let (_, ready) = process.get("/readyz?verbose").await;
    for line in ["[+] subscription: leads", "[+] cluster: leads", "[+] configuration: the newest is in force"]
    {
        assert!(ready.contains(line), "{ready}");
    }
    let metrics =
        process.get_with("/metrics", "allotment_clusters{phase=\"Ready\",provider=\"aws\"} 1").await;
    for line in [
        "allotment_clusters{phase=\"Failed\",provider=\"aws\"} 0",
        "allotment_leader{controller=\"cluster\"} 1",
        "allotment_leader{controller=\"subscription\"} 1",
    ] {
        assert!(metrics.contains(line), "no {line} in {metrics}");
    }

    world.configure_clusters("{providers: {aws: {cloudProfile: aws}}, defaults: {sshAccess: true}}");
    until("the configuration is rolled out", async || {
        let settings = world.whole_shoot(&shoot).await["spec"]["provider"]["workersSettings"].clone();
        if settings["sshAccess"]["enabled"] == true { Ok(()) } else { Err(settings.to_string()) }
    })
    .await;
    world.configure_clusters("{namespace: tenants, providers: {aws: {cloudProfile: aws}}}");
    until("who hands out kubeconfigs is told too", async || {
        let log = process.log();
        if log.contains("what kubeconfigs may be asked for") { Ok(()) } else { Err(log) }
    })
    .await;
    // It is followed from the start, or not at all.
    let namespaced = "{providers: {aws: {cloudProfile: own, cloudProfileKind: NamespacedCloudProfile}}}";
    world.configure_clusters(namespaced);
    until("what cannot be taken over is told", async || {
        let log = process.log();
        if log.contains("clusters.providers.*.cloudProfileKind") { Ok(()) } else { Err(log) }
    })
    .await;
    world.cluster_in("c", ClusterPhase::Ready).await;

    world.clusters().delete("c", &DeleteParams::default()).await.unwrap();
    until("the account is dirty", async || {
        let binding = world.bindings().get("aws-01").await.map_err(|error| error.to_string())?;
        let labels = binding.labels().clone();
        if labels.contains_key("dirty") { Ok(()) } else { Err(format!("{labels:?}")) }
    })
    .await;
    assert!(world.clusters().get_opt("c").await.unwrap().is_none());

    let log = process.log();
    assert!(process.stop().await.success(), "{log}");
    let leases: Api<Lease> = Api::namespaced(world.control_plane(), "default");
    for name in ["allotment-subscription", "allotment-cluster", "allotment-kubeconfig"] {
        assert_eq!(leases.get(name).await.unwrap().spec.unwrap().holder_identity, None, "{name}: {log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_handing_out_neither_rules_nor_a_ledger_are_needed() {
    let world = World::new().await;
    world.configure_with(&format!("clusters: {CLUSTERS}\ncontrollers: [cluster]\n"));
    let process = world.run("one");
    let ready = process.get_with("/readyz?verbose", "[+] cluster: leads").await;
    // The servers that it uses have a line each.
    let about_itself: Vec<&str> = ready.lines().filter(|line| !line.contains(": last succeeded ")).collect();
    assert_eq!(
        about_itself,
        [
            "[+] cluster: leads",
            "[+] configuration: the newest is in force",
            "[!] tenancy: trusted: every namespace may name any tenant (tenancy.mode)",
            "ok"
        ]
    );
    assert!(!ready.contains("ledger"), "{ready}");
    process.get_with("/metrics", "allotment_clusters{phase=\"Ready\",provider=\"aws\"} 0").await;
    world.configure_with("clusters: {providers: {gcp: {cloudProfile: gcp}}}\ncontrollers: [cluster]\n");
    process.get_with("/metrics", "allotment_clusters{phase=\"Ready\",provider=\"gcp\"} 0").await;
    assert!(process.stop().await.success());
}
