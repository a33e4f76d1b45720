//! Many requests at once, in any order, and writes that are lost: what must hold whatever happens.

use super::*;
use proptest::prelude::{Just, Strategy, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};
use std::collections::BTreeMap;

const LIMIT: usize = 3;

/// What happens.
#[derive(Clone, Debug)]
enum Event {
    /// A request is made, for the purpose of this number.
    Ask(u8, u8),
    /// A request is deleted.
    Delete(u8),
    /// A request is looked at, for so many steps; then the process is killed.
    Look(u8, u8),
    /// What is being deleted and held by nobody goes away.
    Collect,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => (0_u8..8, 0_u8..3).prop_map(|(name, purpose)| Event::Ask(name, purpose)),
        2 => (0_u8..8).prop_map(Event::Delete),
        8 => (0_u8..8, 1_u8..8).prop_map(|(name, steps)| Event::Look(name, steps)),
        1 => Just(Event::Collect),
    ]
}

fn config() -> Scheduler {
    let template = |tenancy: &str| json!({ "spec": { "profile": "p", "tenancy": tenancy } });
    serde_json::from_value(json!({
        "purposeMappings": {
            "0": { "template": template("Exclusive") },
            "1": { "template": template("Shared"), "tenancyCount": LIMIT },
            "2": { "template": template("Shared") },
        },
    }))
    .unwrap()
}

#[derive(Default)]
struct Platform {
    requests: BTreeMap<u8, ClusterRequest>,
    clusters: Vec<Candidate>,
    made: usize,
}

impl Platform {
    fn happens(&mut self, config: &Scheduler, event: &Event) {
        match *event {
            Event::Ask(name, purpose) => {
                self.made += 1;
                let uid = format!("uid-{}", self.made);
                self.requests.entry(name).or_insert_with(|| {
                    let mut request = request(&format!("r{name}"));
                    request.metadata.uid = Some(uid);
                    request.spec.purpose = purpose.to_string();
                    request.spec.wait_for_cluster_deletion = Some(name.is_multiple_of(2));
                    request
                });
            }
            Event::Delete(name) => {
                if let Some(request) = self.requests.get_mut(&name) {
                    if request.metadata.finalizers.is_none() {
                        self.requests.remove(&name);
                    } else {
                        request.metadata.deletion_timestamp = Some(jiff::Timestamp::UNIX_EPOCH.into());
                    }
                }
            }
            Event::Look(name, steps) => self.look(config, name, usize::from(steps)),
            Event::Collect => {
                self.clusters.retain(|cluster| !(cluster.is_deleting && cluster.finalizers.is_empty()));
            }
        }
    }

    fn look(&mut self, config: &Scheduler, name: u8, steps: usize) {
        let Some(request) = self.requests.remove(&name) else { return };
        let clusters = std::mem::take(&mut self.clusters);
        let mut world =
            World { config: config.clone(), policy: Policy::default(), request, clusters, is_gone: false };
        for _ in 0..steps {
            if world.is_gone || matches!(world.step(), "nothing" | "leave") {
                break;
            }
        }
        self.clusters = world.clusters;
        if !world.is_gone {
            self.requests.insert(name, world.request);
        }
    }

    /// What must hold at any moment.
    fn check(&self, config: &Scheduler) {
        for cluster in &self.clusters {
            let (tenants, limit) = (cluster.tenants().len(), &config.purpose_mappings[&cluster.purposes[0]]);
            match cluster.tenancy {
                Tenancy::Exclusive => assert!(tenants <= 1, "{cluster:?}"),
                Tenancy::Shared if limit.tenancy_count > 0 => assert!(tenants <= LIMIT, "{cluster:?}"),
                Tenancy::Shared => (),
            }
        }
        for request in self.requests.values() {
            let uid = request.metadata.uid.as_deref().unwrap();
            let held: Vec<&Candidate> =
                self.clusters.iter().filter(|cluster| cluster.has_tenant(uid)).collect();
            assert!(held.len() <= 1, "{held:?}");
            let given = request.status.as_ref().and_then(|status| status.cluster.as_ref());
            if let (Some(given), Some(held)) = (given, held.first()) {
                assert_eq!((&given.namespace, &given.name), (&held.namespace, &held.name));
            }
        }
        let names: BTreeSet<&str> = self.clusters.iter().map(|cluster| cluster.name.as_str()).collect();
        assert_eq!(names.len(), self.clusters.len(), "a name is taken once");
    }
}

proptest! {
    #[test]
    fn whatever_happens_nobody_shares_too_much_and_nothing_is_left(events in prop::collection::vec(event(), 0..80)) {
        let (config, mut platform) = (config(), Platform::default());
        for event in &events {
            platform.happens(&config, event);
            platform.check(&config);
        }
        // Everybody who is still there gets a Cluster once what is in the way is gone.
        for _ in 0..3 {
            platform.happens(&config, &Event::Collect);
            (0..8).for_each(|name| platform.happens(&config, &Event::Look(name, 20)));
            platform.check(&config);
        }
        for request in platform.requests.values().filter(|it| it.metadata.deletion_timestamp.is_none()) {
            prop_assert_eq!(&request.status.as_ref().unwrap().common.phase, "Granted");
        }
        // And when all have gone, so have their Clusters.
        for _ in 0..3 {
            (0..8).for_each(|name| platform.happens(&config, &Event::Delete(name)));
            (0..8).for_each(|name| platform.happens(&config, &Event::Look(name, 20)));
            platform.happens(&config, &Event::Collect);
        }
        prop_assert!(platform.requests.is_empty(), "{:?}", platform.requests);
        prop_assert!(platform.clusters.is_empty(), "{:?}", platform.clusters);
    }
}
