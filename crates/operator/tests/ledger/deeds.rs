//! Every kind of writing transaction, to be crashed and interleaved.

use crate::bench::{account, accounts, now, place, pool, request, shared, tenant, want};
use allotment_core::pool::{AccountName, Epoch, Holding, PoolKey};
use allotment_operator::ledger::{Assignment, Learned, Ledger, LedgerError, Left, Place};
use std::fmt::Debug;

/// What there is before.
#[derive(Clone, Copy, Debug)]
pub enum Scene {
    /// Nobody has anything.
    Fresh,
    /// `a-1` is being claimed by `t`, with a request in it.
    Claiming,
    /// `a-1` is claimed by `t`, with a request in it, and `v` waits for an account.
    Claimed,
    /// `a-1` is claimed by `t`, and nothing is in it any more.
    Empty,
}

impl Scene {
    pub const ALL: [Self; 4] = [Self::Fresh, Self::Claiming, Self::Claimed, Self::Empty];

    /// Sets it up.
    pub async fn set(self, ledger: &Ledger) -> Stage {
        let epoch = ledger.lead("before", "a term", now()).await.unwrap();
        if matches!(self, Self::Fresh) {
            return Stage { epoch, version: None };
        }
        want("r", "t", &accounts("a", 1)).ask(ledger, epoch).await.unwrap();
        if !matches!(self, Self::Claiming) {
            ledger.confirm(epoch, &account("a-1"), &tenant("t"), now()).await.unwrap();
        }
        if matches!(self, Self::Claimed) {
            want("q", "v", &[]).ask(ledger, epoch).await.unwrap();
        }
        if matches!(self, Self::Empty) {
            let left = Left { foreign: 1, drain: true };
            ledger.release(epoch, &request("r").uid, left, "gone", now()).await.unwrap();
        }
        let version = ledger.account(&account("a-1")).await.unwrap().map(|row| row.version);
        Stage { epoch, version }
    }
}

/// What those who act have seen before.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    pub epoch: Epoch,
    version: Option<i64>,
}

/// A writing transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    Reserve,
    ReserveSecond,
    ReserveForOther,
    ReserveShared,
    ReserveWaiting,
    ReserveInVain,
    ReserveInVainElsewhere,
    Confirm,
    Lose,
    Release,
    ReleaseWaiting,
    Withdraw,
    Adopt,
    AdoptForOther,
    Quarantine,
    BeginDrain,
    Free,
    Repool,
    Retire,
    Assign,
    AssignForOther,
    Lead,
    Clear,
}

impl Deed {
    pub const ALL: [Self; 23] = [
        Self::Reserve,
        Self::ReserveSecond,
        Self::ReserveForOther,
        Self::ReserveShared,
        Self::ReserveWaiting,
        Self::ReserveInVain,
        Self::ReserveInVainElsewhere,
        Self::Confirm,
        Self::Lose,
        Self::Release,
        Self::ReleaseWaiting,
        Self::Withdraw,
        Self::Adopt,
        Self::AdoptForOther,
        Self::Quarantine,
        Self::BeginDrain,
        Self::Free,
        Self::Repool,
        Self::Retire,
        Self::Assign,
        Self::AssignForOther,
        Self::Lead,
        Self::Clear,
    ];

    /// Does it, and says what came of it.
    pub async fn run(self, ledger: &Ledger, stage: Stage) -> Result<String, LedgerError> {
        let Stage { epoch, version } = stage;
        let free = accounts("a", 4);
        let (a1, a2, aws) = (account("a-1"), account("a-2"), pool("aws"));
        let learn = async |at: &AccountName, to: &PoolKey, version: Option<i64>, learned: Learned| {
            ledger.learn(epoch, at, to, version, &learned, "seen", now()).await
        };
        let reserve =
            async |uid: &str, of: &str| want(uid, of, &free).limit(2).cap(2).ask(ledger, epoch).await;
        let assign = async |of: &str, at: &AccountName| {
            let (request, tenant, account, pool) = (request("p"), Some(tenant(of)), at.clone(), pool("aws"));
            let assignment = Assignment { request, tenant, account, pool, cluster: None, since: now() };
            ledger.assign(epoch, &assignment, "proven", now()).await
        };
        let release = async |uid: &str| {
            let left = Left { foreign: 0, drain: true };
            ledger.release(epoch, &request(uid).uid, left, "deleted", now()).await
        };
        match self {
            Self::Reserve => said(reserve("n", "t").await),
            Self::ReserveSecond => said(reserve("m", "t").await),
            Self::ReserveForOther => said(reserve("o", "u").await),
            Self::ReserveShared => {
                // The labels of a-2 have just been changed.
                let all = [account("a-2"), account("s-1")];
                said(want("h", "", &all).in_pool(shared("aws")).ask(ledger, epoch).await)
            }
            Self::ReserveWaiting => said(reserve("q", "v").await),
            // One request, whose rules have just been changed: it waits, or has an account, never both.
            Self::ReserveInVain => said(want("w", "w", &[]).in_pool(pool("azure")).ask(ledger, epoch).await),
            Self::ReserveInVainElsewhere => {
                said(want("w", "", &[account("s-1")]).in_pool(shared("aws")).ask(ledger, epoch).await)
            }
            Self::Confirm => said(ledger.confirm(epoch, &a1, &tenant("t"), now()).await),
            Self::Lose => {
                let found = Holding::Claimed(tenant("x"));
                said(ledger.lose(epoch, &a1, &tenant("t"), &found, "taken", now()).await.map(drop))
            }
            Self::Release => said(release("r").await),
            Self::ReleaseWaiting => said(release("q").await),
            Self::Withdraw => said(ledger.withdraw(epoch, &request("q").uid, "gone", now()).await),
            Self::Adopt => said(learn(&a2, &aws, None, Learned::Adopted(tenant("t"))).await),
            Self::AdoptForOther => said(learn(&a2, &aws, None, Learned::Adopted(tenant("u"))).await),
            Self::Quarantine => said(learn(&a1, &aws, version, Learned::Quarantined("401".to_owned())).await),
            Self::BeginDrain => said(learn(&a1, &aws, version, Learned::BeginDrain).await),
            Self::Free => said(learn(&a1, &aws, version, Learned::Freed).await),
            Self::Repool => said(learn(&a1, &pool("aws_eu"), version, Learned::Repooled).await),
            Self::Retire => said(learn(&a1, &aws, version, Learned::Retired).await),
            Self::Assign => said(assign("t", &a1).await),
            Self::AssignForOther => said(assign("u", &a2).await),
            Self::Lead => said(ledger.lead("after", "a term", now()).await),
            Self::Clear => said(ledger.clear(epoch, "rebuild", now()).await),
        }
    }
}

/// What was answered; that it did not come about is an error only where it may when repeated.
fn said<T: Debug>(outcome: Result<T, LedgerError>) -> Result<String, LedgerError> {
    match outcome {
        Ok(answer) => Ok(format!("{answer:?}")),
        Err(error) if error.is_retryable() => Err(error),
        Err(error) => Ok(error.category().to_owned()),
    }
}

/// Everything that the ledger says, but for versions and times.
pub async fn state(ledger: &Ledger) -> String {
    let mut lines = Vec::new();
    for row in ledger.accounts().await.unwrap() {
        let seats: Vec<String> = row
            .assignments
            .iter()
            .map(|seat| format!("{} of {:?} from {}", seat.request.uid, seat.tenant, seat.pool))
            .collect();
        let (leaving, quarantine) = (row.leaving, row.quarantine);
        lines.push(format!(
            "{} in {}: {}, leaving {leaving}, {quarantine:?}, {seats:?}",
            row.account, row.pool, row.holding
        ));
    }
    for queue in ledger.queues().await.unwrap() {
        let waiting = ledger.waiting(&queue.pool).await.unwrap();
        let uids: Vec<&str> = waiting.iter().map(|(waiting, ..)| waiting.request.as_str()).collect();
        lines.push(format!("queue of {}: {uids:?}", queue.pool));
    }
    lines.join("\n")
}

/// A place that nothing else happens in.
pub fn stage(name: String) -> Place {
    Place { garden: name, ..place() }
}
