//! The cleanup operator, as the product puts it together.

use super::client::SimClouds;
use crate::{
    cluster::fleet::PROJECT,
    stage::{
        call::{Role, Side},
        wire::{Sky, Wire},
        world::{GARDEN, NAMESPACE, World},
    },
};
use allotment_api::kyma::BindingKind;
use allotment_clouds::Patience;
use allotment_core::{
    cleanup::{GuardLimits, Mode, Timing},
    pool::LabelKeys,
};
use allotment_operator::{
    cleanup::{Operator, Parts, Policy, Settings},
    metrics::Metrics,
    runtime::clock::Clock,
};
use jiff::SignedDuration;
use kube::Client;
use std::{sync::Arc, time::Duration};

/// So many listings, with the pause between them, take longer than the slowest deletion.
const PASSES: u32 = 15;

/// An account that is stuck is attempted again after this time; later once it is calm, when a person asks for it instead.
const RETRY_STUCK: [SignedDuration; 2] = [SignedDuration::from_secs(30), SignedDuration::from_mins(60)];

/// An operator that is about to start.
pub(crate) fn start(world: &Arc<World>, replica: usize, identity: String) -> Operator {
    let client = |side| Client::new(Wire::new(world, side, Role::Cleanup, replica), NAMESPACE);
    let clock = world.clone();
    let operator = Operator::new(Parts {
        control_plane: client(Side::ControlPlane),
        garden: client(Side::Garden),
        ledger: world.ledger.clone().with_weather(Arc::new(Sky::new(world.clone(), replica))),
        clouds: Arc::new(SimClouds { world: world.clone(), replica }),
        settings: Settings {
            garden_namespace: GARDEN.to_owned(),
            project: PROJECT.to_owned(),
            lease_namespace: NAMESPACE.to_owned(),
            identity,
            binding_kind: BindingKind::CredentialsBinding,
            labels: LabelKeys::default(),
            workers: usize::try_from(world.options.workers).unwrap_or(1),
        },
        policy: policy(world),
        patience: Patience { most: Duration::from_secs(60), every: Duration::from_secs(5) },
        clock: Clock::new(move || clock.now()),
        metrics: Metrics::new(),
    });
    match world.planted {
        Some(fault) => operator.plant(fault),
        None => operator,
    }
}

/// The section `cleanup` of the configuration, as it is now.
pub(crate) fn policy(world: &World) -> Policy {
    let state = world.state();
    let settle = SignedDuration::from_millis(i64::try_from(world.options.settle).unwrap_or(i64::MAX));
    let second = SignedDuration::from_secs;
    Policy {
        mode: Mode::Delete,
        timing: Timing {
            settle,
            pause: second(10),
            retry: second(10),
            retry_stuck: RETRY_STUCK[usize::from(state.calm)],
            passes: PASSES,
            ..Timing::default()
        },
        // Pools are small here, and people make several accounts dirty at once.
        limits: GuardLimits { same_refusal: usize::MAX, dirty_percent: 100 },
        keep: state.truth.kept().map(str::to_owned).collect(),
        ..Policy::default()
    }
}
