//! How items behave.

use allotment_core::cleanup::Refusal;
use std::time::Duration;

/// How an item behaves. The default: every list shows it at once, and a deletion takes no time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nature {
    /// Its list does not show it. Counts do, where the table has one that covers it.
    pub hidden: bool,
    /// The time from the accepted deletion, or from the end of its holder, until it is gone.
    pub delete_takes: Duration,
    /// Every deletion is refused.
    pub refuses: Option<Refusal>,
    /// Neither lists nor counts show it before. It blocks other items all the same.
    pub appears_after: Duration,
}

impl Nature {
    /// An ordinary item whose deletion takes time.
    pub fn slow(delete_takes: Duration) -> Self {
        Self { delete_takes, ..Self::default() }
    }
}
