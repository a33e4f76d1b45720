//! The gauges of the pool, read off when somebody asks for them.

use super::{Operator, Trouble, forged::ASSIGNMENT_KNOWN};
use crate::metrics::{AccountLabel, PoolLabel, QueueLabel, StateLabel, TenantLabel};
use allotment_api::kyma::SubscriptionRequest;
use allotment_core::{
    condition,
    pool::{PoolKey, state},
};
use std::collections::BTreeMap;

/// The states of accounts, so that one that no account is in says 0.
const STATES: [&str; 10] = [
    "free",
    "occupied",
    "stranded",
    "claiming",
    "claimed",
    "draining",
    "dirty",
    "shared",
    "internal",
    "quarantined",
];

impl Operator {
    /// What a scrape gets. `with_ids`: the gauges that have one line for each tenant and account; else histograms of them.
    pub async fn scrape(&self, with_ids: bool) -> Result<String, Trouble> {
        let inner = self.inner();
        let (gauges, failed) = (inner.metrics.pool(), inner.ledger.writes().failed);
        gauges.ledger_write_errors.inc_by(failed.saturating_sub(gauges.ledger_write_errors.get()));
        let (queues, rows) = (inner.ledger.queues().await?, inner.ledger.accounts().await?);
        let holdings: BTreeMap<_, _> = rows.iter().map(|row| (&row.account, &row.holding)).collect();
        let now = inner.clock.now();
        {
            let index = inner.index();
            gauges.available.clear();
            for (pool, count) in index.pools() {
                let label = PoolLabel {
                    hyperscaler_type: pool.hyperscaler_type.to_string(),
                    eu_access: pool.eu_access.to_string(),
                    shared: pool.shared.to_string(),
                };
                gauges.available.get_or_create(&label).set(number(count));
            }
            let mut states: BTreeMap<(&'static str, String), usize> = BTreeMap::new();
            gauges.per_account.clear();
            for (account, entry) in index.entries() {
                let provider = index.provider_of(account).unwrap_or_default();
                for state in STATES {
                    states.entry((state, provider.clone())).or_default();
                }
                let (holding, is_occupied) =
                    (holdings.get(account).copied(), index.why_occupied(account).is_some());
                *states.entry((state(&entry.entry, holding, is_occupied), provider)).or_default() += 1;
                if with_ids {
                    let label = AccountLabel { credentials_binding: account.to_string() };
                    gauges.per_account.get_or_create(&label).set(i64::from(index.count_shoots(account).all));
                }
            }
            gauges.accounts.clear();
            for ((state, provider), count) in states {
                gauges.accounts.get_or_create(&StateLabel { state, provider }).set(number(count));
            }
            gauges.per_tenant.clear();
            let shoots = index.entries().map(|(account, _)| index.count_shoots(account).all as usize);
            gauges.by_accounts.set(Some(shoots).filter(|_| !with_ids));
            let tenants = index.accounts_per_tenant().map(|(_, count)| count);
            gauges.by_tenants.set(Some(tenants).filter(|_| !with_ids));
            for (tenant, count) in index.accounts_per_tenant().filter(|_| with_ids) {
                gauges
                    .per_tenant
                    .get_or_create(&TenantLabel { global_account_id: tenant.to_string() })
                    .set(number(count));
            }
            let lost = index.requests().filter(|(_, request)| has_lost_its_account(request)).count();
            gauges.assignments_lost.set(number(lost));
            gauges.shoots.set(number(index.shoots()));
            gauges.queue_length.clear();
            gauges.queue_oldest.clear();
            for (pool, _) in index.pools() {
                let label = queue_label(&pool);
                gauges.queue_length.get_or_create(&label).set(0);
                gauges.queue_oldest.get_or_create(&label).set(0);
            }
        }
        for queue in queues {
            let label = queue_label(&queue.pool);
            gauges.queue_length.get_or_create(&label).set(i64::try_from(queue.length).unwrap_or(i64::MAX));
            gauges.queue_oldest.get_or_create(&label).set(now.duration_since(queue.oldest).as_secs());
        }
        gauges.to_look_at.set(number(self.to_look_at().len()));
        gauges.halted.set(i64::from(self.halted().borrow().is_some()));
        Ok(inner.metrics.text())
    }
}

fn queue_label(pool: &PoolKey) -> QueueLabel {
    QueueLabel {
        pool: pool.to_string(),
        hyperscaler_type: pool.hyperscaler_type.clone(),
        eu_access: pool.eu_access.to_string(),
        shared: pool.shared.to_string(),
    }
}

fn has_lost_its_account(request: &SubscriptionRequest) -> bool {
    let conditions = request.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    condition::find(conditions, ASSIGNMENT_KNOWN).is_some()
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
