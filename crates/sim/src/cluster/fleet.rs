//! What the oracles see of Clusters, Shoots and requests: read in a way of its own, not with the operator's code.

use crate::stage::{
    call::{Call, Side},
    world::{By, GARDEN, World, path_of},
};
use allotment_api::{
    condition::ConditionStatus,
    gardener::{OperationState, OperationType, Shoot},
    kyma::{Cluster, SubscriptionRequest},
    names::{annotation, finalizer, label, tenant},
};
use allotment_apiserver::ApiServer;
use allotment_core::{
    check::{Features, Fleet, Owned, Stage, Stand, Violation, Wish, Wrong},
    cluster::shoot_name,
    pool::{AccountName, RequestUid},
};
use http::Method;
use kube::ResourceExt;
use serde_json::Value;
use std::collections::BTreeSet;

/// The project of the simulation.
pub(crate) const PROJECT: &str = "sim";

/// A machine type that no CloudProfile has.
pub(super) const UNKNOWN_MACHINE: &str = "m5.unheard-of";

/// The pool that `infrastructure` itself describes.
const FIRST_POOL: &str = "cpu-worker-0";

/// A request is like this now.
pub(crate) fn see_request(fleet: &mut Fleet, request: &SubscriptionRequest) {
    let uid = RequestUid::new(request.uid().unwrap_or_default());
    let Some(owner) = request.owner_references().iter().find(|owner| owner.kind == "Cluster") else { return };
    let status = request.status.clone().unwrap_or_default();
    let owned = Owned {
        name: request.name_any(),
        owner: owner.uid.clone(),
        deleting: request.metadata.deletion_timestamp.is_some(),
        phase: status.phase,
        account: status.gardener_secret_name.map(AccountName::new),
    };
    fleet.requests.insert(uid, owned);
}

/// What a Cluster asks for.
pub(crate) fn wish_of(object: &Value, disk: u64) -> Option<Wish> {
    let cluster: Cluster = serde_json::from_value(object.clone()).ok()?;
    let status = cluster.status.clone().unwrap_or_default();
    let is_marked =
        |name: &str| cluster.annotations().get(name).is_some_and(|value| value.as_str() != "false");
    let provisioned = status.conditions.iter().find(|condition| condition.type_ == "ClusterProvisioned");
    let infrastructure = cluster.spec.infrastructure.as_ref()?;
    // What the Cluster says goes before the configuration.
    let own_disk = infrastructure.volume.as_ref().and_then(|volume| volume.size.clone());
    let mut asks = Features { disk: own_disk.unwrap_or_else(|| format!("{disk}Gi")), ..Features::default() };
    let first =
        (infrastructure.machine_type.clone(), infrastructure.auto_scaler_min, infrastructure.auto_scaler_max);
    let is_valid = first.0 != UNKNOWN_MACHINE;
    asks.pools.insert(FIRST_POOL.to_owned(), first);
    for pool in &infrastructure.additional_workers {
        let nodes = (pool.machine_type.clone(), pool.auto_scaler_min, pool.auto_scaler_max);
        asks.pools.insert(pool.name.clone(), nodes);
    }
    let issuers = cluster.spec.oidc_config.iter().chain(&cluster.spec.additional_oidc_configs);
    asks.clients = issuers.filter_map(|config| config.client_id.clone()).collect();
    asks.administrators = cluster.spec.administrators.iter().cloned().collect();
    let mut conditions = status.conditions.iter();
    let is_told_no = conditions
        .any(|condition| condition.type_ == "TenantAllowed" && condition.status == ConditionStatus::False);
    let selector = &infrastructure.subscription_selector;
    let label = cluster.labels().get(tenant::GLOBAL_ACCOUNT_ID).filter(|_| selector != "shared");
    let names_two_tenants = label.is_some_and(|label| label != selector);
    Some(Wish {
        uid: cluster.uid().unwrap_or_default(),
        generation: cluster.metadata.generation.unwrap_or_default(),
        deleting: cluster.metadata.deletion_timestamp.is_some(),
        held: cluster.finalizers().iter().any(|name| name == finalizer::CLUSTER),
        protected: object["spec"]["deletionProtection"] == true
            && cluster.annotations().get(annotation::CONFIRM_DELETION) != cluster.metadata.uid.as_ref(),
        paused: is_marked(annotation::PAUSE),
        may_recreate: is_marked(annotation::RECREATE_SHOOT),
        // Nobody has a Shoot adopted.
        may_adopt: None,
        shoot_name: shoot_name(&cluster, PROJECT).unwrap_or_default(),
        shoot_uid: status.shoot_uid,
        phase: status.phase,
        reason: provisioned.map(|condition| condition.reason.clone()).unwrap_or_default(),
        observed: status.observed_generation,
        asks,
        is_valid,
        names_two_tenants,
        is_withheld: is_told_no || names_two_tenants,
    })
}

/// What a Shoot is like; `map` is the content of the ConfigMap that it names.
pub(crate) fn stand_of(object: &Value, map: Option<&str>, forged: bool) -> Option<Stand> {
    let shoot: Shoot = serde_json::from_value(object.clone()).ok()?;
    let status = shoot.status.clone().unwrap_or_default();
    let stage = match &status.last_operation {
        Some(operation) if operation.state == OperationState::Failed => Stage::GivenUp,
        Some(operation)
            if operation.state == OperationState::Succeeded
                && operation.type_ != OperationType::Delete
                && status.observed_generation == shoot.metadata.generation =>
        {
            Stage::Done
        }
        _ => Stage::Working,
    };
    let mut has = Features::default();
    for worker in &shoot.spec.provider.workers {
        let nodes = (worker.machine.type_.clone(), worker.minimum, worker.maximum);
        has.pools.insert(worker.name.clone(), nodes);
    }
    let disk = shoot.spec.provider.workers.first().and_then(|worker| worker.volume.as_ref());
    has.disk = disk.map(|volume| volume.size.clone()).unwrap_or_default();
    has.clients = map.map(clients_of).unwrap_or_default();
    let version = shoot.spec.kubernetes.version.clone().unwrap_or_default();
    Some(Stand {
        uid: shoot.uid().unwrap_or_default(),
        request: shoot.labels().get(label::SUBSCRIPTION_REQUEST).map(RequestUid::new),
        cluster: shoot.labels().get(label::CLUSTER_UID).cloned(),
        account: shoot.spec.credentials_binding_name.clone().map(AccountName::new),
        version: version.split('.').filter_map(|part| part.parse().ok()).collect(),
        deleting: shoot.metadata.deletion_timestamp.is_some(),
        stage,
        healthy: !status.conditions.is_empty() && status.conditions.iter().all(|it| it.status == "True"),
        has,
        forged,
    })
}

fn clients_of(config: &str) -> BTreeSet<String> {
    let config: Value = serde_json::from_str(config).unwrap_or_default();
    let issuers = config["jwt"].as_array().into_iter().flatten();
    let audiences = issuers.flat_map(|jwt| jwt["issuer"]["audiences"].as_array().into_iter().flatten());
    audiences.filter_map(|audience| audience.as_str().map(str::to_owned)).collect()
}

impl World {
    /// Somebody has written to something that has to do with Clusters.
    pub(crate) fn see_fleet(
        &self,
        call: &Call,
        by: By,
        object: Option<&Value>,
        is_hostile: bool,
    ) -> Vec<Violation> {
        if self.options.clusters == 0 {
            return Vec::new();
        }
        if is_hostile {
            return self.see_of_hostile(call, object);
        }
        let found = match call.plural.as_str() {
            "clusters" => self.see_cluster(&call.name, by, object),
            "shoots" => self.see_shoot(&call.name, by, object),
            "configmaps" if call.side == Side::Garden => {
                let label = object.and_then(|map| map["metadata"]["labels"][label::CLUSTER_UID].as_str());
                let maps = &mut self.state().eyes.fleet.maps;
                match label {
                    Some(uid) => drop(maps.insert(call.name.clone(), uid.to_owned())),
                    None => drop(maps.remove(&call.name)),
                }
                Vec::new()
            }
            _ => Vec::new(),
        };
        let fleet = &mut self.state().eyes.fleet;
        fleet.remember();
        found.into_iter().chain(fleet.violations()).map(Violation::from).collect()
    }

    /// What a hostile tenant has is not checked: only that it leads nowhere else.
    fn see_of_hostile(&self, call: &Call, object: Option<&Value>) -> Vec<Violation> {
        match (call.plural.as_str(), object) {
            ("shoots", object) => self.grounds.see(&call.name, object),
            ("clusters", None) => self.see_collected(),
            _ => (),
        }
        Vec::new()
    }

    fn see_cluster(&self, name: &str, by: By, object: Option<&Value>) -> Vec<Wrong> {
        let disk = self.state().disk;
        let wish = object.and_then(|object| wish_of(object, disk));
        let mut state = self.state();
        let fleet = &mut state.eyes.fleet;
        let found = match fleet.clusters.get(name) {
            Some(before) if by == By::Operator => fleet.cluster_write(name, before, wish.as_ref()),
            _ => Vec::new(),
        };
        let is_gone = wish.is_none();
        match wish {
            Some(wish) => drop(fleet.clusters.insert(name.to_owned(), wish)),
            None => drop(fleet.clusters.remove(name)),
        }
        drop(state);
        if is_gone {
            self.see_collected();
        }
        found
    }

    /// What a Cluster owned is collected with it.
    fn see_collected(&self) {
        let requests: Vec<String> = self.state().eyes.requests.keys().cloned().collect();
        for request in &requests {
            let Some(path) = path_of("subscriptionrequests", request) else { continue };
            let (code, object) = self.ask(Side::ControlPlane, Method::GET, &path, None);
            let object = (code == 200).then_some(&object);
            let violations = self.state().eyes.see("subscriptionrequests", request, object);
            self.found(violations);
        }
    }

    fn see_shoot(&self, name: &str, by: By, object: Option<&Value>) -> Vec<Wrong> {
        self.grounds.see(name, object);
        let map = object
            .and_then(|shoot| {
                shoot["spec"]["kubernetes"]["kubeAPIServer"]["structuredAuthentication"]["configMapName"]
                    .as_str()
            })
            .map(|map| format!("/api/v1/namespaces/{GARDEN}/configmaps/{map}"))
            .map(|path| self.ask(Side::Garden, Method::GET, &path, None).1);
        let map = map.as_ref().and_then(|map| map["data"]["config.yaml"].as_str());
        let fleet = &mut self.state().eyes.fleet;
        let before = fleet.shoots.get(name);
        let uid = object.and_then(|object| object["metadata"]["uid"].as_str());
        let forged = match before {
            Some(before) if Some(before.uid.as_str()) == uid => before.forged,
            _ => by != By::Operator,
        };
        let mut stand = object.and_then(|object| stand_of(object, map, forged));
        if let (Some(before), Some(stand)) = (before, &mut stand)
            && before.uid == stand.uid
        {
            stand.has.administrators.clone_from(&before.has.administrators);
        }
        let found = match by {
            By::Operator | By::Cleaner => fleet.shoot_write(name, before, stand.as_ref()),
            By::Meddler | By::Other => Vec::new(),
        };
        match stand {
            Some(stand) => drop(fleet.shoots.insert(name.to_owned(), stand)),
            None => drop(fleet.shoots.remove(name)),
        }
        found
    }

    /// Who has cluster-admin, by what stands in a Shoot.
    pub(crate) fn look_into(&self, server: &ApiServer, uid: &str) {
        let path = format!(
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings?labelSelector={}",
            label::ADMINISTRATOR
        );
        let (_, ours) = self.ask_server(server, Method::GET, &path, None);
        let bindings = ours["items"].as_array().into_iter().flatten();
        let users = bindings.flat_map(|binding| binding["subjects"].as_array().into_iter().flatten());
        let users: BTreeSet<String> =
            users.filter_map(|subject| subject["name"].as_str().map(str::to_owned)).collect();
        let mut state = self.state();
        if let Some(stand) = state.eyes.fleet.shoots.values_mut().find(|stand| stand.uid == uid) {
            stand.has.administrators = users;
        }
    }
}
