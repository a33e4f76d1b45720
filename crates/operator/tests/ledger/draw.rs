//! Operations on a ledger, drawn at random.

use crate::bench::{account, pool, shared, tenant};
use allotment_core::pool::{AccountName, Accounts, Holding, Limit, PoolKey, Tenant};
use allotment_operator::ledger::{Learned, Left};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// An operation, as it is drawn.
#[derive(Clone, Debug)]
pub enum Operation {
    Reserve {
        uid: String,
        of: Tenant,
        pool: PoolKey,
        accounts: Accounts,
        cap: Option<u32>,
        free: Vec<AccountName>,
        foreign: BTreeMap<AccountName, u32>,
    },
    Confirm(AccountName, Tenant),
    Lose(AccountName, Tenant, Holding),
    Release(String, Left),
    Learn {
        account: AccountName,
        pool: PoolKey,
        stale: bool,
        learned: Learned,
    },
    Assign(String, Option<Tenant>, AccountName, PoolKey),
    Clear,
}

fn tenants() -> impl Strategy<Value = Tenant> {
    (0..3).prop_map(|number| tenant(&format!("t{number}")))
}

fn names() -> impl Strategy<Value = AccountName> {
    (0..6).prop_map(|number| account(&format!("a{number}")))
}

fn uids() -> impl Strategy<Value = String> {
    (0..9).prop_map(|number| format!("r{number}"))
}

fn pools() -> impl Strategy<Value = PoolKey> {
    prop_oneof![4 => Just(pool("aws")), 1 => Just(pool("azure")), 1 => Just(shared("aws"))]
}

fn holdings() -> impl Strategy<Value = Holding> {
    prop_oneof![
        Just(Holding::Free),
        tenants().prop_map(Holding::Claimed),
        prop::option::of(tenants()).prop_map(Holding::Dirty),
    ]
}

fn learnings() -> impl Strategy<Value = Learned> {
    prop_oneof![
        1 => tenants().prop_map(Learned::Adopted),
        1 => Just(Learned::Repooled),
        1 => prop::option::of(tenants()).prop_map(Learned::BecameDirty),
        3 => Just(Learned::Freed),
        1 => Just(Learned::BeginDrain),
        1 => (0..2_u8).prop_map(|number| Learned::Quarantined(number.to_string())),
        2 => Just(Learned::Lifted),
        1 => Just(Learned::Retired),
    ]
}

pub fn operations() -> impl Strategy<Value = Operation> {
    let limits =
        prop_oneof![Just(Accounts::One), (1..4_u32).prop_map(|limit| Accounts::Several(Limit(limit)))];
    let some = prop::collection::vec(names(), 0..6);
    let foreign = prop::collection::btree_map(names(), 0..3_u32, 0..2);
    let reserve = (uids(), tenants(), pools(), limits, prop::option::of(1..4_u32), some, foreign).prop_map(
        |(uid, of, pool, accounts, cap, mut free, foreign)| {
            free.dedup();
            Operation::Reserve { uid, of, pool, accounts, cap, free, foreign }
        },
    );
    let left = (0..2_u32, any::<bool>()).prop_map(|(foreign, drain)| Left { foreign, drain });
    let learn = (names(), pools(), prop::bool::weighted(0.1), learnings())
        .prop_map(|(account, pool, stale, learned)| Operation::Learn { account, pool, stale, learned });
    prop_oneof![
        10 => reserve,
        2 => (names(), tenants()).prop_map(|(account, of)| Operation::Confirm(account, of)),
        2 => (names(), tenants(), holdings()).prop_map(|(account, of, found)| Operation::Lose(account, of, found)),
        5 => (uids(), left).prop_map(|(uid, left)| Operation::Release(uid, left)),
        5 => learn,
        2 => (uids(), names(), pools(), tenants()).prop_map(|(uid, account, pool, of)| {
            let of = (!pool.shared).then_some(of);
            Operation::Assign(uid, of, account, pool)
        }),
        1 => Just(Operation::Clear),
    ]
}
