//! Accounts that are free and were never used: their account id is recorded, and everything that is in them.

use super::{OpenError, ReconcileError, Task, observe::LiveEntry, run::Inner};
use crate::{
    ledger::{About, CloudAccount},
    runtime::queue::Outcome,
};
use allotment_clouds::{take_inventory, take_witness};
use allotment_core::{
    cleanup::{Baseline, Cloud, Inventory, Mode, attribute},
    pool::{AccountName, Holding},
};
use std::time::Duration;

/// How long until an account whose cloud refused, or whose listing has gaps, is tried again.
const RETRY: Duration = Duration::from_secs(3600);

impl Inner {
    /// Records the account id of an account that is free and was never used: one call.
    pub(super) async fn take_in(
        &self,
        account: &AccountName,
        live: &LiveEntry,
    ) -> Result<(), ReconcileError> {
        let Ok(cloud) = self.cloud_of(account) else { return Ok(()) };
        if !live.entry.entry.is_free() || !self.was_never_used(account, live).await? {
            return Ok(());
        }
        // Another ledger knows of no use at all, and would take a tenant's leftovers for the platform's.
        self.verify_ledger().await?;
        if let Some(recorded) = self.ledger.cloud_account(account).await? {
            if recorded.baseline.is_none() && recorded.shoots_since.is_some() && self.policy().baselines {
                self.add(Task::Baseline(account.clone()));
            }
            return Ok(());
        }
        let how = self.how_to_open(account, cloud, None).await?;
        let client = match self.clouds.open(how).await {
            Ok(client) => client,
            Err(OpenError::Unusable(because)) => {
                tracing::warn!(%account, because, "account id not recorded");
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let caller = match self.identified(&*client).await {
            Ok(caller) => caller,
            Err(refusal) => {
                tracing::warn!(%account, because = %refusal, "account id not recorded");
                return Ok(());
            }
        };
        // It may have been claimed while the cloud was asked.
        if !self.is_still_unused(account).await? {
            return Ok(());
        }
        let now = self.clock.now();
        let recorded = CloudAccount {
            id: caller.account,
            recorded_at: now,
            recorded_by: self.settings.identity.clone(),
            baseline: None,
            shoots_since: Some(now),
        };
        self.ledger.record_cloud_account_once(account, &recorded).await?;
        tracing::info!(%account, id = %recorded.id, "account id recorded");
        if self.policy().baselines {
            self.add(Task::Baseline(account.clone()));
        }
        Ok(())
    }

    /// Lists everything in an account that is free and was never used, and records it.
    pub(super) async fn take_baseline(&self, account: &AccountName) -> Result<Outcome, ReconcileError> {
        let policy = self.policy();
        let (Ok(cloud), Some(recorded)) = (self.cloud_of(account), self.ledger.cloud_account(account).await?)
        else {
            return Ok(Outcome::Done);
        };
        let is_wanted = policy.mode != Mode::Off && policy.baselines && recorded.baseline.is_none();
        if !is_wanted || !self.is_still_unused(account).await? {
            return Ok(Outcome::Done);
        }
        self.verify_ledger().await?;
        let how = self.how_to_open(account, cloud, Some(&recorded)).await?;
        let client = match self.clouds.open(how).await {
            Ok(client) => client,
            Err(OpenError::Unusable(_)) => return Ok(Outcome::After(RETRY)),
            Err(error) => return Err(error.into()),
        };
        let now = || self.clock.now();
        let inventory = match take_inventory(&*client, &now).await {
            Ok(inventory) if inventory.account == recorded.id => inventory,
            Ok(_) | Err(_) => return Ok(Outcome::After(RETRY)),
        };
        if let Some(because) = self.why_no_baseline(&inventory, cloud) {
            tracing::warn!(%account, because, "no baseline taken");
            return Ok(Outcome::After(RETRY));
        }
        let witness = take_witness(&*client, &inventory, &now).await;
        if !self.is_still_unused(account).await? {
            return Ok(Outcome::Done);
        }
        let baseline = Baseline::take(&inventory, Some(&witness));
        self.ledger.add_baseline(account, &baseline, self.clock.now()).await?;
        tracing::info!(%account, items = inventory.items().count(), "baseline taken");
        Ok(Outcome::Done)
    }

    /// A listing with gaps would leave items unprotected; one with items of a Shoot would protect a tenant's leftovers.
    fn why_no_baseline(&self, inventory: &Inventory, cloud: Cloud) -> Option<String> {
        let assumed = self.assumed_absent(cloud);
        let unknown = inventory.unknown();
        if let Some(cell) = unknown.iter().find(|cell| !cell.is_assumed_absent(&assumed)) {
            return Some(format!("{} is unknown: {}", cell.place, cell.because));
        }
        let of_shoot = inventory.items().find_map(|item| {
            let is_gardeners = item.name.as_deref().is_some_and(|name| name.starts_with("shoot--"));
            (is_gardeners || item.attribute(attribute::CLUSTER).is_some()).then(|| item.key())
        })?;
        Some(format!(
            "it was used before: it holds {of_shoot}; clean it, or run `allotment cleanup baseline` if that stays"
        ))
    }

    /// Whether an account is free now, and the ledger knows of no use of it.
    async fn is_still_unused(&self, account: &AccountName) -> Result<bool, ReconcileError> {
        match self.read_entry(account).await? {
            Some(live) if live.entry.entry.is_free() => self.was_never_used(account, &live).await,
            _ => Ok(false),
        }
    }

    async fn was_never_used(&self, account: &AccountName, live: &LiveEntry) -> Result<bool, ReconcileError> {
        if self.index().pool.count_shoots(account).all > 0 {
            return Ok(false);
        }
        let row = self.ledger.account(account).await?;
        if row.is_some_and(|row| row.holding != Holding::Free || !row.assignments.is_empty()) {
            return Ok(false);
        }
        // An entry of a pool that others used, or that a lost ledger knew, may have been a tenant's.
        if let Some(since) = self.ledger.knows_since().await?
            && live.entry.created.is_none_or(|created| created < since)
        {
            return Ok(false);
        }
        let is_new = self.ledger.history(About::Account(account), 1).await?.is_empty();
        Ok(is_new && self.ledger.months(account).await?.is_empty())
    }

    /// The ledger remembers a Shoot in the accounts that it is in: its role and its instance profile are found by its name,
    /// and existing networks that it names are kept.
    pub(super) async fn remember_shoot(&self, name: &String) -> Result<Outcome, ReconcileError> {
        let (shoot, accounts) = {
            let index = self.index();
            let Some(shoot) = index.shoot(name).cloned() else { return Ok(Outcome::Done) };
            (shoot, index.pool.accounts_with(name))
        };
        for account in accounts {
            if !self.ledger.past_shoots(&account).await?.contains(&shoot) {
                self.ledger.remember_shoot(&account, &shoot, self.clock.now()).await?;
            }
        }
        Ok(Outcome::Done)
    }
}
