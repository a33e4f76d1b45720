//! Violations in the cleaning of returned accounts, by the truth of their cloud.

use crate::{
    cleanup::{CloudAccountId, ItemKey},
    pool::AccountName,
};
use std::fmt;

/// Something that must never be true of the cleaning of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CleaningViolation {
    /// The labels of an account were removed, and something was left in it.
    FreedWithLeftovers(AccountName, ItemKey),
    /// The labels of an account were removed that was not to be touched, because.
    FreedUntouchable(AccountName, String),
    /// An item was deleted in an account that was not to be touched, because.
    DeletedUntouchable(AccountName, ItemKey, String),
    /// An item was deleted that stays, because.
    DeletedKept(AccountName, ItemKey, String),
    /// An item was deleted in an account of the cloud that is not the recorded one.
    DeletedElsewhere(AccountName, ItemKey, CloudAccountId),
    /// A baseline protects an item of a tenant.
    BaselineOfTenant(AccountName, ItemKey),
    /// Another account of the cloud is recorded than before, and nobody asked for it.
    RecordedAnew(AccountName, CloudAccountId, CloudAccountId),
    /// At rest: an account is dirty, may be cleaned, and is not stuck.
    NeitherFreeNorStuck(AccountName, String),
    /// At rest: an account is stuck for a reason that is not true.
    FalseReason(AccountName, String),
    /// At rest: the annotation does not tell the reason that the ledger has.
    AnnotatedOtherwise(AccountName, String),
}

impl fmt::Display for CleaningViolation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FreedWithLeftovers(account, item) => {
                write!(formatter, "account {account} became free, and {item} is left in it")
            }
            Self::FreedUntouchable(account, why) => {
                write!(formatter, "account {account} became free, and was not to be touched: {why}")
            }
            Self::DeletedUntouchable(account, item, why) => {
                write!(
                    formatter,
                    "{item} was deleted in account {account}, which was not to be touched: {why}"
                )
            }
            Self::DeletedKept(account, item, why) => {
                write!(formatter, "{item} was deleted in account {account}, and stays: {why}")
            }
            Self::DeletedElsewhere(account, item, id) => {
                write!(
                    formatter,
                    "{item} was deleted for account {account} in cloud account {id}, which is not its own"
                )
            }
            Self::BaselineOfTenant(account, item) => {
                write!(formatter, "the baseline of account {account} protects {item}, which is a tenant's")
            }
            Self::RecordedAnew(account, old, new) => {
                write!(formatter, "cloud account {old} was recorded for account {account}, and {new} is now")
            }
            Self::NeitherFreeNorStuck(account, state) => {
                write!(formatter, "account {account} is dirty, neither cleaned nor stuck: {state}")
            }
            Self::FalseReason(account, reason) => {
                write!(formatter, "account {account} is stuck for a reason that is not true: {reason}")
            }
            Self::AnnotatedOtherwise(account, reason) => {
                write!(
                    formatter,
                    "the annotation of account {account} does not say why it is stuck: {reason}"
                )
            }
        }
    }
}
