//! One look at an account: what its labels, the ledger and its Shoots say, step by step until nothing is left to do.

use super::{PoolEntry, RequestName, Task, Trouble, run::Inner, term::Term, write::NewestShoots};
use crate::{
    ledger::{Account, Learned},
    runtime::{events::Tone, queue::Outcome},
};
use allotment_core::pool::{AccountName, Holding, Row, Step, Tenant, View, account_step};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{MutexGuard, PoisonError},
    time::Duration,
};

/// No account takes more steps than this in one look; a longer way is a circle.
const MOST_STEPS: usize = 8;

/// How long a destructive step waits for the cache of Shoots to catch up.
const CATCH_UP: Duration = Duration::from_secs(8);

/// At most one account in this many of a pool goes into quarantine without a person looking: if more fail, the cause is
/// elsewhere.
const QUARANTINE_SHARE: usize = 10;

/// How long a claim that is under way is left alone: it takes milliseconds.
const CLAIM_TIME: Duration = Duration::from_secs(1);

/// What somebody has to look at is looked at again: it may depend on other accounts, as the share in quarantine does, and
/// nothing says when these change.
const SHOWN_LOOK: Duration = Duration::from_secs(60);

/// Why a claim is given up before the label is written.
const TAKEN: &str = "somebody else changed the binding first";

/// Why the ledger learns something that a label says.
const BY_LABEL: &str = "the binding carries the label";

impl Inner {
    pub(super) async fn look_at_account(
        &self,
        term: Term,
        account: &AccountName,
    ) -> Result<Outcome, Trouble> {
        let row = self.ledger.account(account).await?;
        if row.as_ref().is_some_and(|row| self.is_being_claimed(term, row)) {
            return Ok(Outcome::After(CLAIM_TIME));
        }
        let holder = row.as_ref().and_then(|row| row.holding.tenant().cloned());
        self.settle(term, account, row).await?;
        // There may be room in it now, or its tenant may have another one instead.
        let labelled = self.index().entry(account).and_then(|entry| entry.entry.tenant.clone());
        for tenant in holder.into_iter().chain(labelled).collect::<BTreeSet<_>>() {
            self.wake_tenant(&tenant);
        }
        let is_shown = self.shown().contains_key(account);
        Ok(if is_shown { Outcome::After(SHOWN_LOOK) } else { Outcome::Done })
    }

    /// Whether the request that claims it in this very term is about to confirm it: the watch was faster. Looking at it now
    /// would cost a live read for nothing. Where the request has left meanwhile, nobody else confirms it.
    fn is_being_claimed(&self, term: Term, row: &Account) -> bool {
        let Holding::Claiming(tenant) = &row.holding else { return false };
        if row.assignments.is_empty() {
            return false;
        }
        let labelled = self.index().entry(&row.account).and_then(|entry| entry.entry.tenant.clone());
        row.epoch == term.epoch && labelled.as_ref() == Some(tenant)
    }

    /// Takes steps until the account is at rest.
    pub(super) async fn settle(
        &self,
        term: Term,
        account: &AccountName,
        row: Option<Account>,
    ) -> Result<(), Trouble> {
        let mut row = row;
        for _ in 0..MOST_STEPS {
            let cached = self.index().entry(account).cloned();
            let in_twins = self.assignments_in_twins(account).await?;
            let (entry, step) = match self.step(account, cached.as_ref(), row.as_ref(), in_twins) {
                Step::Rest => {
                    self.shown().remove(account);
                    return Ok(());
                }
                // The write carries the version that this was decided on.
                step @ Step::WriteTenant(_) => (cached, step),
                // Everything else is decided again on what is there now.
                _ => {
                    let live = self.read_entry(account).await?;
                    let step = self.step(account, live.as_ref(), row.as_ref(), in_twins);
                    (live, step)
                }
            };
            if !self.take_step(term, account, entry.as_ref(), row.as_ref(), step).await? {
                return Ok(());
            }
            row = self.ledger.account(account).await?;
        }
        tracing::error!(%account, "an account goes in circles");
        Ok(())
    }

    /// What a new leader does about an account before it hands anything out: the ledger learns what makes accounts less
    /// available. The rest is looked at later, one by one.
    pub(super) async fn compare_account(
        &self,
        term: Term,
        account: &AccountName,
        row: Option<&Account>,
    ) -> Result<(), Trouble> {
        let entry = self.index().entry(account).cloned();
        if row.is_some_and(|row| matches!(row.holding, Holding::Claiming(_))) {
            // Its label may be missing still, and entries with the same credentials must not be taken meanwhile.
            self.index().take(account);
        }
        let in_twins = self.assignments_in_twins(account).await?;
        match self.step(account, entry.as_ref(), row, in_twins) {
            Step::Rest => (),
            step @ (Step::Adopt(_) | Step::BecameDirty(_) | Step::LearnQuarantine(_)) => {
                self.take_step(term, account, entry.as_ref(), row, step).await?;
                self.add(Task::Account(account.clone()));
            }
            _ => self.add(Task::Account(account.clone())),
        }
        Ok(())
    }

    /// The requests in other entries with the same credentials. Almost no account has such, so this is seldom asked.
    pub(super) async fn assignments_in_twins(&self, account: &AccountName) -> Result<u32, Trouble> {
        let (twins, mut count) = (self.index().twins_of(account), 0);
        for twin in twins {
            let row = self.ledger.account(&twin).await?;
            count += row.map_or(0, |row| u32::try_from(row.assignments.len()).unwrap_or(u32::MAX));
        }
        Ok(count)
    }

    fn step(
        &self,
        account: &AccountName,
        entry: Option<&PoolEntry>,
        row: Option<&Account>,
        in_twins: u32,
    ) -> Step {
        let index = self.index();
        let pool = entry.and_then(|entry| entry.entry.pool.as_ref()).or(row.map(|row| &row.pool));
        let may_quarantine = pool.is_some_and(|pool| {
            let size = index.size_of(pool);
            (size.quarantined + 1) * QUARANTINE_SHARE <= size.accounts.max(QUARANTINE_SHARE)
        });
        let step = account_step(&View {
            entry: entry.map(|entry| entry.entry.clone()),
            row: row.map(|row| Row {
                pool: row.pool.clone(),
                holding: row.holding.clone(),
                leaving: row.leaving,
                quarantine: row.quarantine.clone(),
                assignments: u32::try_from(row.assignments.len()).unwrap_or(u32::MAX),
            }),
            shoots: index.count_shoots(account),
            in_twins,
            may_quarantine,
        });
        let is_used = entry.is_some_and(|entry| entry.entry.tenant.is_some() || entry.entry.is_shared());
        if step == Step::Rest && is_used && index.is_contested(account) {
            let others: Vec<String> = index.twins_of(account).iter().map(ToString::to_string).collect();
            return Step::Show(format!(
                "it has the same credentials as {}, which somebody else uses; it gets nothing new until one of them is empty and \
                 its entry is deleted",
                others.join(", ")
            ));
        }
        step
    }

    /// Takes one step. Returns whether another look is worth it.
    async fn take_step(
        &self,
        term: Term,
        account: &AccountName,
        entry: Option<&PoolEntry>,
        row: Option<&Account>,
        step: Step,
    ) -> Result<bool, Trouble> {
        let known =
            entry.and_then(|entry| entry.entry.pool.clone()).or_else(|| row.map(|row| row.pool.clone()));
        let Some(pool) = known else { return Ok(false) };
        let now = self.clock.now();
        let learn = async |learned: Learned, because: &str| {
            let version = row.map(|row| row.version);
            self.ledger.learn(term.epoch, account, &pool, version, &learned, because, now).await
        };
        match (step, entry) {
            (Step::Rest, _) => return Ok(false),
            (Step::Show(why), _) => {
                self.show(account, entry, why).await;
                return Ok(false);
            }
            (Step::WriteTenant(tenant), Some(entry)) => {
                return self.finish_claim(term, account, entry, &tenant).await;
            }
            (Step::Confirm(tenant), _) => self.ledger.confirm(term.epoch, account, &tenant, now).await?,
            (Step::Lose(tenant, found), _) => self.lose(term, account, &tenant, &found, TAKEN).await?,
            (Step::WriteDirty, Some(entry)) => {
                if !self.is_empty_now(account).await? {
                    return Ok(false);
                }
                self.write_dirty(account, entry).await?;
                let (tenant, because) =
                    (row.and_then(|row| row.holding.tenant().cloned()), "its last cluster is gone");
                learn(Learned::BecameDirty(tenant), because).await?;
                self.tell(account, entry, Tone::Normal, "AccountDirty", because).await;
            }
            (Step::Adopt(tenant), _) => {
                let is_used = self.index().is_named_by_a_request(account);
                let learned = if is_used { Learned::Adopted(tenant) } else { Learned::Abandoned(tenant) };
                learn(learned, BY_LABEL).await?;
            }
            (Step::Repool, _) => learn(Learned::Repooled, "the labels of the binding changed").await?,
            (Step::BecameDirty(tenant), _) => learn(Learned::BecameDirty(tenant), BY_LABEL).await?,
            (Step::Free, _) => {
                if self.is_empty_now(account).await? {
                    learn(Learned::Freed, &self.why_free(account, row).await?).await?;
                    self.index().untake(account);
                    self.wake_pool(&pool);
                }
            }
            (Step::BeginDrain, _) => learn(Learned::BeginDrain, "its last Shoot is gone").await?,
            (Step::Retire, _) => learn(Learned::Retired, "its entry is gone from the pool").await?,
            (Step::Quarantine(why), Some(entry)) => {
                self.write_quarantine(account, entry, Some(&why)).await?;
                learn(Learned::Quarantined(why.clone()), &why).await?;
                self.tell(account, entry, Tone::Warning, "AccountQuarantined", &why).await;
            }
            (Step::LearnQuarantine(why), _) => learn(Learned::Quarantined(why.clone()), &why).await?,
            (Step::Lift, Some(entry)) => {
                self.write_quarantine(account, entry, None).await?;
                learn(Learned::Lifted, "a Shoot succeeded in it").await?;
                self.wake_pool(&pool);
            }
            (Step::LearnLift, _) => {
                learn(Learned::Lifted, "the annotation was removed").await?;
                self.wake_pool(&pool);
            }
            (Step::WriteTenant(_) | Step::WriteDirty | Step::Quarantine(_) | Step::Lift, None) => {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The reason why the labels of a dirty account are gone: a proof that is younger than the dirt, or a person.
    async fn why_free(&self, account: &AccountName, row: Option<&Account>) -> Result<String, Trouble> {
        let proof = self.ledger.proof(account).await?;
        let proof = proof.filter(|proof| row.is_some_and(|row| proof.proven_at >= row.since));
        Ok(match proof {
            Some(proof) => format!("it is proven empty (proof {})", proof.digest),
            None => "somebody cleaned it and removed the labels".to_owned(),
        })
    }

    /// Writes the tenant's name on a claimed account, unless it turns out to be occupied. Returns whether another look is worth it.
    async fn finish_claim(
        &self,
        term: Term,
        account: &AccountName,
        entry: &PoolEntry,
        tenant: &Tenant,
    ) -> Result<bool, Trouble> {
        self.see_shoots_of_now().await?;
        let in_the_way = self.index().in_the_way_of_a_claim(account);
        if let Some(occupied) = in_the_way {
            let because = format!("it {occupied}");
            self.lose(term, account, tenant, &Holding::Free, &because).await?;
            return Ok(false);
        }
        self.write_tenant(account, entry, tenant).await?;
        self.ledger.confirm(term.epoch, account, tenant, self.clock.now()).await?;
        Ok(true)
    }

    /// Shows what only a person can put right, once.
    async fn show(&self, account: &AccountName, entry: Option<&PoolEntry>, why: String) {
        let before = self.shown().insert(account.clone(), why.clone());
        if before.as_ref() == Some(&why) {
            return;
        }
        tracing::error!(%account, why, "somebody has to look");
        if let Some(entry) = entry {
            self.tell(account, entry, Tone::Warning, "AccountNeedsAttention", &why).await;
        }
    }

    fn shown(&self) -> MutexGuard<'_, BTreeMap<AccountName, String>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says what was decided about an account, in the log and in an Event beside its entry.
    async fn tell(&self, account: &AccountName, entry: &PoolEntry, tone: Tone, reason: &str, because: &str) {
        tracing::info!(%account, because, "{reason}");
        let about = self.entries.reference(account, &entry.uid);
        self.garden_recorder.say_about(about, tone, reason, because).await;
    }

    /// A claim came to nothing: who was to be in this account is decided about again.
    async fn lose(
        &self,
        term: Term,
        account: &AccountName,
        tenant: &Tenant,
        found: &Holding,
        because: &str,
    ) -> Result<(), Trouble> {
        tracing::info!(%account, %tenant, because, "claim given up");
        let again = self.ledger.lose(term.epoch, account, tenant, found, because, self.clock.now()).await?;
        self.index().untake(account);
        for request in again {
            self.add(Task::Request(RequestName { namespace: request.namespace, name: request.name }));
        }
        Ok(())
    }

    /// Whether no Shoot is in an account, by a cache that shows every Shoot that exists now.
    async fn is_empty_now(&self, account: &AccountName) -> Result<bool, Trouble> {
        let read = async { self.newest_shoots().await.map(|newest| newest.version) };
        let (is_reached, version) = self.positions.shoots.reach_live(read, CATCH_UP).await?;
        if !is_reached {
            return Err(Trouble::Behind(version));
        }
        Ok(self.index().count_shoots(account).all == 0)
    }

    /// Waits until the cache of Shoots shows those of now, for a claim.
    ///
    /// A server that has nothing to tell sends a bookmark after a second at best, which is too long for each claim. Where as many
    /// Shoots are known as there are, and none of them is being deleted, the cache shows them all: a Shoot goes minutes after
    /// its deletion began, so that none can have gone unseen and left its place in the count to another.
    async fn see_shoots_of_now(&self) -> Result<(), Trouble> {
        let before = self.positions.shoots.version();
        let NewestShoots { version, count } = self.shoots_of_now.get(|| self.newest_shoots()).await?;
        let is_in_order = self.positions.shoots.compare_live(before, version);
        let is_settled = is_in_order && count.is_some() && self.index().settled_shoots() == count;
        if is_settled || self.positions.shoots.reach(version, CATCH_UP).await {
            Ok(())
        } else {
            Err(Trouble::Behind(version))
        }
    }
}
