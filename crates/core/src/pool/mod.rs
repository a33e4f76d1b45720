//! Which account? The pool of accounts, what can be true of one, and who gets which.

mod account;
mod compare;
mod complaint;
mod decide;
mod entry;
mod examine;
mod fence;
mod fit;
pub mod key;
mod limits;
mod names;
mod occupied;
mod queue;
mod retention;
mod status;
mod step;
mod wanted;

#[cfg(test)]
mod tests;

pub use account::{Candidate, Closed, Holding};
pub use compare::{Asked, Compared, Grown, NotReady, Sides, compare, rests_on_ledger};
pub use complaint::{Ailment, Complaint};
pub use decide::{Answer, Choice, Dedicated, Lack, Question, decide};
pub use entry::Entry;
pub use examine::{
    Patient, PoolSummary, occupied_account, same_cloud_account, same_credentials, state, summarize,
};
pub use fence::{FENCED_ENTRIES, Fence, FenceRecord, LedgerFacts, LedgerMismatch, Served, Traces, verify};
pub use fit::{account_is_for, account_is_of_pool};
pub use key::{LabelKeys, PoolKey};
pub use limits::{Accounts, Limit, MultiAccount};
pub use names::{AccountName, Epoch, RequestUid, Tenant};
pub use occupied::{OCCUPIED, Occupied, Twin, is_contested, occupied_sentence, stands_for};
pub use queue::{Ahead, EXACT_POSITIONS, Line, Waiting, about, ahead_in_round, ahead_of, in_turns};
pub use retention::{CLAIMS_DAYS, OldEntry, Retention};
pub use status::Progress;
pub use step::{REFUSED, Row, Shoots, Step, View, account_step};
pub use wanted::{Denial, Wanted, tenant_of, wanted};
