//! The cluster operator, as the product puts it together.

use super::fleet::PROJECT;
use crate::{
    hostile,
    stage::{
        call::{Role, Side},
        script::Options,
        wire::Wire,
        world::{GARDEN, NAMESPACE, SimError, World},
    },
};
use allotment_api::kyma::BindingKind;
use allotment_core::{cluster::Clusters, pool::LabelKeys};
use allotment_operator::{
    cluster::{Operator, Parts, Policy, Settings},
    metrics::Metrics,
    runtime::clock::Clock,
    target::{self, Connect, ConnectError, Key, Targets},
};
use kube::Client;
use std::sync::Arc;

/// The size of disks at the beginning, in gibibytes.
pub(crate) const DISK: u64 = 80;

/// An operator that is about to start.
pub(crate) fn start(world: &Arc<World>, replica: usize, identity: String) -> Operator {
    let client = |side| Client::new(Wire::new(world, side, Role::Cluster, replica), NAMESPACE);
    let (control_plane, garden) = (client(Side::ControlPlane), client(Side::Garden));
    let clock = world.clone();
    let (clock, metrics) = (Clock::new(move || clock.now()), Metrics::new());
    let connected = world.clone();
    let connect = Connect::new(move |key, _| {
        let world = connected.clone();
        Box::pin(async move {
            let Key::Shoot { uid, .. } = key else {
                return Err(ConnectError("nobody brings a cluster along".to_owned()));
            };
            Ok(Client::new(Wire::into_shoot(&world, Role::Cluster, replica, uid), NAMESPACE))
        })
    });
    let targets = Targets::new(target::Parts {
        garden: garden.clone(),
        garden_namespace: GARDEN.to_owned(),
        control_plane: control_plane.clone(),
        clock: clock.clone(),
        connect,
        metrics: metrics.clone(),
    });
    let operator = Operator::new(Parts {
        control_plane,
        garden,
        targets,
        settings: Settings {
            garden_namespace: GARDEN.to_owned(),
            project: PROJECT.to_owned(),
            cluster_namespace: None,
            lease_namespace: NAMESPACE.to_owned(),
            identity,
            binding_kind: BindingKind::default(),
            labels: LabelKeys::default(),
            workers: usize::try_from(world.options.workers).unwrap_or(1),
        },
        policy: world.state().clusters.clone(),
        clock,
        metrics,
    });
    match world.planted {
        Some(fault) => operator.plant(fault),
        None => operator,
    }
}

/// The `clusters` section of the configuration.
pub(crate) fn policy(disk: u64, options: &Options) -> Result<Policy, SimError> {
    let pace = options.pace;
    let text = format!(
        "providers: {{aws: {{cloudProfile: aws, volume: {{size: {disk}Gi}}}}}}\nrollout: {{clustersPerMinute: {pace}}}"
    );
    let clusters: Clusters =
        serde_saphyr::from_str(&text).map_err(|error| SimError::Configuration(error.to_string()))?;
    Ok(Policy { clusters: Arc::new(clusters), tenancy: Arc::new(hostile::tenancy(options)), rules: None })
}
