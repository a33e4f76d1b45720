//! The same for a person at the command line. Nothing here needs the Lease: every write is conditional.

use super::{Operator, ReconcileError, reconcile::wait_until, run::Inner};
use crate::{
    ledger::{CloudAccount, PastShoot, StoredProof},
    runtime::{controller::Controller, queue::Outcome},
};
use allotment_clouds::{Cloud, take_inventory, take_witness};
use allotment_core::{
    cleanup::{
        Baseline, CloudAccountId, Inventory, ItemKey, NotSupported, Plan, Question, Record, Refusal,
        ShootHistory, Stage, Stuck, TechnicalId, UnknownCell, Verdict, plan, verdict,
    },
    pool::AccountName,
};
use futures::future::pending;
use std::{collections::BTreeSet, sync::Arc, time::Duration};

/// An operation of a person that did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum ByHandError {
    /// A server, the ledger, or the credentials.
    #[error(transparent)]
    Reconcile(#[from] ReconcileError),
    /// There is no table of kinds for the cloud.
    #[error(transparent)]
    NotSupported(#[from] NotSupported),
    /// The cloud.
    #[error("the cloud refuses to identify the credentials of {account}: {refusal}")]
    Refused {
        /// The account.
        account: AccountName,
        /// The refusal.
        refusal: Refusal,
    },
    /// The pool has no such entry.
    #[error("the pool has no entry {0}; see `allotment pool status`")]
    NoEntry(AccountName),
    /// The credentials lead to another account than the recorded one.
    #[error(
        "the credentials of {account} lead to cloud account {reported}, but {recorded} is recorded; correct the credentials, or, if the \
         account was replaced on purpose, run `allotment cleanup baseline {account} --replace {recorded}`, which forgets its baseline"
    )]
    OtherAccount {
        /// The account.
        account: AccountName,
        /// The account of the credentials.
        reported: CloudAccountId,
        /// The recorded one.
        recorded: CloudAccountId,
    },
    /// A baseline with gaps would leave items unprotected.
    #[error("no baseline is taken of {account}: {}", Stuck::unknown(.cell))]
    Gap {
        /// The account.
        account: AccountName,
        /// The first gap.
        cell: Box<UnknownCell>,
    },
    /// Another entry leads to the same account of the cloud, and is in use.
    #[error(
        "the credentials of {account} lead to cloud account {id}, and so does {other}, which is in use: correct the credentials, or delete one \
         of the two entries"
    )]
    SameAccount {
        /// The account.
        account: AccountName,
        /// The account of the cloud.
        id: CloudAccountId,
        /// The other entry.
        other: String,
    },
    /// An account in use gets no baseline.
    #[error(
        "{account} is {state}: a baseline would protect what its tenant made; use --id-only to record only its account id"
    )]
    InUse {
        /// The account.
        account: AccountName,
        /// Its state.
        state: &'static str,
    },
}

impl From<crate::ledger::LedgerError> for ByHandError {
    fn from(error: crate::ledger::LedgerError) -> Self {
        Self::Reconcile(error.into())
    }
}

/// A listing of an account, and what would be done about it.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The listing.
    pub inventory: Inventory,
    /// The plan.
    pub plan: Plan,
    /// The recorded account; none if nothing is recorded, and then nothing is deleted.
    pub recorded: Option<CloudAccount>,
    /// Ids to keep that no item has, each with an item whose id is nearly the same.
    pub near_misses: Vec<(String, ItemKey)>,
}

/// The request of a person to record an account.
#[derive(Clone, Debug, Default)]
pub struct Baselining {
    /// The account id only: the content may be a tenant's.
    pub id_only: bool,
    /// The names of all Shoots that were ever in the account; none: they are not known.
    pub shoots: Option<BTreeSet<String>>,
    /// The id that is recorded now, and that another may replace.
    pub replace: Option<CloudAccountId>,
    /// The person.
    pub by: String,
}

/// The end of a cleaning by hand.
#[derive(Clone, Debug)]
pub enum Ended {
    /// It is proven empty, and free.
    Cleaned(Box<StoredProof>),
    /// A person has to act.
    Stuck(Stuck),
    /// It may not be cleaned now.
    Refused(String),
}

impl Operator {
    /// Runs an operation beside the list-watches that it needs.
    pub async fn by_hand<T>(&self, operation: impl AsyncFnOnce(ByHand) -> T) -> T {
        let inner = self.inner().clone();
        tokio::select! {
            biased;
            () = Box::pin(self.follow_all()) => pending().await,
            result = async {
                inner.cache.until_complete().await;
                operation(ByHand(inner.clone())).await
            } => result,
        }
    }
}

/// Operations of a person.
#[derive(Clone)]
pub struct ByHand(Arc<Inner>);

impl ByHand {
    /// Lists an account, and plans. Deletes nothing, whatever its state.
    pub async fn plan(&self, account: &AccountName) -> Result<Listing, ByHandError> {
        let (inventory, _, recorded) = self.list(account).await?;
        let keep = self.0.keep(account).await?;
        let baseline = recorded.as_ref().and_then(|recorded| recorded.baseline.as_ref());
        let plan = plan(&inventory, &keep, baseline).assuming(&self.0.assumed_absent(inventory.cloud));
        let near_misses = keep.near_misses(&inventory);
        Ok(Listing { inventory, plan, recorded, near_misses })
    }

    /// Lists an account twice, the settle time apart, and takes the witness. Deletes nothing.
    pub async fn verify(&self, account: &AccountName) -> Result<Verdict, ByHandError> {
        let (first, ..) = self.list(account).await?;
        let settle = self.0.policy().timing.settle;
        let now = || self.0.clock.now();
        if let Outcome::After(wait) = wait_until(first.finished_at + settle, now()) {
            tokio::time::sleep(wait).await;
        }
        let (second, client, recorded) = self.list(account).await?;
        let witness = take_witness(&*client, &second, &now).await;
        let keep = self.0.keep(account).await?;
        Ok(verdict(&Question {
            first: &first,
            second: &second,
            witness: &witness,
            keep: &keep,
            baseline: recorded.as_ref().and_then(|recorded| recorded.baseline.as_ref()),
            settle,
            assume_absent: &self.0.assumed_absent(second.cloud),
        }))
    }

    /// Records the account id, and, unless the account is in use, everything that is in it.
    pub async fn baseline(
        &self,
        account: &AccountName,
        wanted: &Baselining,
    ) -> Result<CloudAccount, ByHandError> {
        self.0.verify_ledger().await?;
        let live = self.0.read_entry(account).await?.ok_or_else(|| ByHandError::NoEntry(account.clone()))?;
        let entry = &live.entry.entry;
        let has_shoots = self.0.count_shoots_now(account).await? > 0;
        let state =
            [(entry.dirty, "dirty"), (entry.tenant.is_some(), "a tenant's"), (has_shoots, "used by Shoots")];
        if let Some((_, state)) = state.into_iter().find(|(is, _)| *is && !wanted.id_only) {
            return Err(ByHandError::InUse { account: account.clone(), state });
        }
        // A person says that nothing in it is a tenant's, or which Shoots were in it.
        let named = wanted.shoots.iter().flatten().map(|name| self.technical_id(name)).collect();
        let is_known = wanted.shoots.is_some() || !wanted.id_only;
        let (client, before) = self.open_with(account, is_known.then_some(named)).await?;
        let now = || self.0.clock.now();
        let recorded_at = now();
        let (id, baseline) = if wanted.id_only {
            let refused = |refusal| ByHandError::Refused { account: account.clone(), refusal };
            let id = client.whoami().await.map_err(refused)?.account;
            let kept = before.as_ref().filter(|before| before.id == id);
            (id, kept.and_then(|kept| kept.baseline.clone()))
        } else {
            let inventory = self.inventory(account, &*client).await?;
            let assumed = self.0.assumed_absent(inventory.cloud);
            if let Some(cell) = inventory.unknown().into_iter().find(|cell| !cell.is_assumed_absent(&assumed))
            {
                return Err(ByHandError::Gap { account: account.clone(), cell: Box::new(cell) });
            }
            let witness = take_witness(&*client, &inventory, &now).await;
            (inventory.account.clone(), Some(Baseline::take(&inventory, Some(&witness))))
        };
        // It decides which account is emptied, so nobody changes it by the way.
        if let Some(before) = before.as_ref().filter(|before| before.id != id)
            && wanted.replace.as_ref() != Some(&before.id)
        {
            let (account, recorded) = (account.clone(), before.id.clone());
            return Err(ByHandError::OtherAccount { account, reported: id, recorded });
        }
        let known = before.filter(|before| before.id == id).and_then(|before| before.shoots_since);
        let shoots_since = if is_known { Some(recorded_at) } else { known };
        let recorded =
            CloudAccount { id, recorded_at, recorded_by: wanted.by.clone(), baseline, shoots_since };
        if let Some(other) = self.0.others_in_use(account, Some(&recorded)).await?.same.pop() {
            return Err(ByHandError::SameAccount { account: account.clone(), id: recorded.id, other });
        }
        for name in wanted.shoots.iter().flatten() {
            let shoot = PastShoot { technical_id: self.technical_id(name), existing: BTreeSet::new() };
            self.0.ledger.remember_shoot(account, &shoot, recorded_at).await?;
        }
        self.0.ledger.record_cloud_account(account, &recorded).await?;
        Ok(recorded)
    }

    /// Cleans an account as the operator does, until it is free, stuck, or may not be cleaned. The policy says how far.
    pub async fn run(&self, account: &AccountName, progress: impl Fn(Stage)) -> Result<Ended, ByHandError> {
        let began = self.0.clock.now();
        self.begin_anew(account).await?;
        loop {
            let outcome = match Box::pin(self.0.reconcile_account(account)).await {
                Ok(outcome) => outcome,
                Err(ReconcileError::Overtaken { because, .. }) => return Ok(Ended::Refused(because)),
                Err(error) => return Err(error.into()),
            };
            let Some(cleaning) = self.0.ledger.cleaning(account).await? else {
                let proof = self.0.ledger.proof(account).await?.filter(|proof| proof.proven_at >= began);
                return Ok(match proof {
                    Some(proof) => Ended::Cleaned(Box::new(proof)),
                    None => Ended::Refused("it is not dirty".to_owned()),
                });
            };
            progress(cleaning.record.stage);
            if let Some(stuck) = cleaning.record.stuck {
                return Ok(Ended::Stuck(stuck));
            }
            if let Some(because) = self.0.reports.get().waits.remove(account) {
                return Ok(Ended::Refused(because));
            }
            if let Outcome::After(wait) = outcome {
                tokio::time::sleep(wait.min(Duration::from_secs(60))).await;
            }
        }
    }

    /// A person does not wait for the operator's next attempt, and its failed passes do not count. A proven account goes on as it is.
    async fn begin_anew(&self, account: &AccountName) -> Result<(), ByHandError> {
        let Some(cleaning) = self.0.ledger.cleaning(account).await? else { return Ok(()) };
        if cleaning.record.stage != Stage::Free {
            let now = self.0.clock.now();
            let record = Record { began_at: cleaning.record.began_at, ..Record::new(now) };
            self.0.ledger.write_cleaning(account, Some(cleaning.version), &record, now).await?;
            self.0.drop_evidence(account);
        }
        Ok(())
    }

    async fn list(
        &self,
        account: &AccountName,
    ) -> Result<(Inventory, Arc<dyn Cloud>, Option<CloudAccount>), ByHandError> {
        let (client, recorded) = self.open(account).await?;
        let inventory = self.inventory(account, &*client).await?;
        match &recorded {
            Some(recorded) if recorded.id != inventory.account => Err(ByHandError::OtherAccount {
                account: account.clone(),
                reported: inventory.account,
                recorded: recorded.id.clone(),
            }),
            _ => Ok((inventory, client, recorded)),
        }
    }

    async fn inventory(&self, account: &AccountName, client: &dyn Cloud) -> Result<Inventory, ByHandError> {
        let now = || self.0.clock.now();
        let refused = |refusal| ByHandError::Refused { account: account.clone(), refusal };
        take_inventory(client, &now).await.map_err(refused)
    }

    fn technical_id(&self, shoot: &str) -> TechnicalId {
        TechnicalId::new(format!("shoot--{}--{shoot}", self.0.settings.project))
    }

    async fn open(
        &self,
        account: &AccountName,
    ) -> Result<(Arc<dyn Cloud>, Option<CloudAccount>), ByHandError> {
        self.open_with(account, None).await
    }

    /// A client that knows these Shoots, where the ledger does not know all of them.
    async fn open_with(
        &self,
        account: &AccountName,
        shoots: Option<BTreeSet<TechnicalId>>,
    ) -> Result<(Arc<dyn Cloud>, Option<CloudAccount>), ByHandError> {
        if self.0.read_entry(account).await?.is_none() {
            return Err(ByHandError::NoEntry(account.clone()));
        }
        let cloud = self.0.cloud_of(account)?;
        let recorded = self.0.ledger.cloud_account(account).await?;
        let mut how = self.0.how_to_open(account, cloud, recorded.as_ref()).await?;
        if let (ShootHistory::Incomplete, Some(shoots)) = (&how.history, shoots) {
            how.history = ShootHistory::Complete(shoots);
        }
        let client = self.0.clouds.open(how).await.map_err(ReconcileError::from)?;
        Ok((client, recorded))
    }
}
