//! The cache: pool entries and Shoots, from watches. It is the subscription operator's, without requests.

use super::Task;
use crate::{
    ledger::PastShoot,
    runtime::{keep, kept::Progress},
    subscription::{self, Followed},
};
use allotment_api::{gardener::Shoot, kyma::BindingKind};
use allotment_core::{
    cleanup::{Cloud, Keep, TechnicalId},
    pool::LabelKeys,
};
use kube::ResourceExt;
use std::collections::BTreeMap;

/// Everything that is known.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) pool: subscription::Index,
    project: String,
    /// The Shoots that exist, as the ledger will remember them.
    shoots: BTreeMap<String, PastShoot>,
}

impl Index {
    pub(super) fn new(kind: BindingKind, keys: LabelKeys, project: String) -> Self {
        Self { pool: subscription::Index::new(kind, keys), project, shoots: BTreeMap::new() }
    }

    /// Changes the pool's cache, and returns the tasks that follow.
    pub(super) fn change(
        &mut self,
        change: impl FnOnce(&mut subscription::Index) -> Vec<subscription::Task>,
    ) -> Vec<Task> {
        accounts(change(&mut self.pool))
    }

    pub(super) fn upsert_shoot(&mut self, shoot: &Shoot) -> Vec<Task> {
        let name = shoot.name_any();
        let past = past_shoot(shoot, &self.project);
        let is_new = self.shoots.insert(name.clone(), past.clone()).as_ref() != Some(&past);
        let mut tasks = self.change(|pool| pool.learn_shoot(shoot));
        tasks.extend(is_new.then_some(Task::Shoot(name)));
        tasks
    }

    pub(super) fn remove_shoot(&mut self, name: &String) -> Vec<Task> {
        self.shoots.remove(name);
        self.change(|pool| pool.forget_shoot(name))
    }

    pub(super) fn shoot(&self, name: &str) -> Option<&PastShoot> {
        self.shoots.get(name)
    }

    pub(super) fn shoot_names(&self) -> impl Iterator<Item = &String> {
        self.shoots.keys()
    }
}

impl keep::Index for Index {
    type Followed = Followed;
    type Task = Task;

    fn is_complete(&self) -> bool {
        self.pool.is_pool_complete()
    }

    fn kept(&mut self, what: Followed) -> &mut dyn Progress {
        keep::Index::kept(&mut self.pool, what)
    }

    fn listed(&mut self, what: Followed) -> Vec<Task> {
        let tasks = self.change(|pool| keep::Index::listed(pool, what));
        if what == Followed::Shoots {
            let Self { pool, shoots, .. } = self;
            shoots.retain(|name, _| pool.has_shoot(name));
        }
        tasks
    }
}

fn accounts(tasks: Vec<subscription::Task>) -> Vec<Task> {
    let accounts = tasks.into_iter().filter_map(|task| match task {
        subscription::Task::Account(account) => Some(Task::Account(account)),
        _ => None,
    });
    accounts.collect()
}

fn past_shoot(shoot: &Shoot, project: &str) -> PastShoot {
    let name = shoot.name_any();
    let mut keep = Keep::default();
    let provider = &shoot.spec.provider;
    if let (Ok(cloud), Some(config)) = (provider.type_.parse::<Cloud>(), &provider.infrastructure_config) {
        keep.add_existing(cloud, &name, config);
    }
    let technical_id = TechnicalId::new(format!("shoot--{project}--{name}"));
    PastShoot { technical_id, existing: keep.ids().map(str::to_owned).collect() }
}
