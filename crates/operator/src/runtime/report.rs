//! The condition `Reconciled` of an object: False while its reconcile fails, absent otherwise. All operators write it here.
//!
//! A worker reports each reconcile: a failure is written when it first happens, is not written again while it stays the same, and is
//! removed after the next reconcile that succeeds. An object that waits is not reconciled before something wakes it, so
//! [`tell_lasting`] writes lasting failures of the servers and stores that it waits for, and removes them.

use super::{
    call::CallError,
    status::{StatusChange, write_status},
};
use crate::dependencies::{Dependencies, Dependency};
use allotment_api::condition::Condition;
use allotment_core::failure::{self, Failure, FailureReason};
use jiff::Timestamp;
use kube::{Api, Resource};
use serde::{Serialize, de::DeserializeOwned};
use std::{fmt::Debug, future::Future, time::Duration};
use tokio::time::sleep;

/// How often those that wait are looked through while something fails. With the grace of [`Dependencies`] they are told within
/// 10 seconds.
const TELL_EVERY: Duration = Duration::from_secs(2);

/// What became of a reconcile, for the reader of the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// The condition stays as it is: the reconcile is repeated at once, or says nothing about the object.
    Unchanged,
    /// The reconcile came to its end.
    Finished,
    /// It did not.
    Failed(Failure),
}

/// What the status of an object says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Whether it waits for what the operator does.
    pub waits: bool,
    /// The reason of its failure, if it names one.
    pub reason: Option<String>,
}

impl Told {
    /// What these conditions say.
    pub fn by(conditions: Option<&[Condition]>, waits: bool) -> Self {
        let failure = conditions.and_then(failure::told);
        Self { waits, reason: failure.map(|failure| failure.reason.clone()) }
    }

    /// Whether [`tell_lasting`] may have written its failure.
    fn is_lasting(&self) -> bool {
        let lasting =
            [FailureReason::GardenUnavailable, FailureReason::LedgerUnavailable, FailureReason::Halted];
        lasting.into_iter().any(|reason| self.is_of(reason))
    }

    /// Whether a lasting failure explains what is the matter better. What a server said about the object itself is worth more to its
    /// reader.
    fn yields(&self) -> bool {
        self.reason.is_none() || self.is_lasting() || self.is_of(FailureReason::ServerUnavailable)
    }

    fn is_of(&self, reason: FailureReason) -> bool {
        self.reason.as_deref() == Some(reason.as_str())
    }
}

/// An operator, as far as its objects have a condition `Reconciled`.
pub trait Reporter<T>: Sync {
    /// The tasks that are about objects.
    fn objects(&self) -> Vec<T>;

    /// What the object of a task says; none if the task is about none, or it is gone.
    fn told(&self, task: &T) -> Option<Told>;

    /// The lasting failure that keeps objects waiting.
    fn lasting(&self) -> Option<Failure>;

    /// Returns when [`Self::lasting`] may be about to change, and at once while it may.
    fn until_lasting_may_change(&self) -> impl Future<Output = ()> + Send;

    /// Writes the condition, if it is another one.
    fn write(
        &self,
        task: &T,
        failure: Option<&Failure>,
    ) -> impl Future<Output = Result<(), CallError>> + Send;
}

/// For tasks that are about no object with conditions of ours.
#[derive(Clone, Copy, Debug)]
pub struct NoObjects;

impl<T: Sync> Reporter<T> for NoObjects {
    fn objects(&self) -> Vec<T> {
        Vec::new()
    }

    fn told(&self, _: &T) -> Option<Told> {
        None
    }

    fn lasting(&self) -> Option<Failure> {
        None
    }

    async fn until_lasting_may_change(&self) {
        std::future::pending::<()>().await;
    }

    async fn write(&self, _: &T, _: Option<&Failure>) -> Result<(), CallError> {
        Ok(())
    }
}

/// Writes what became of a reconcile. Returns whether the condition says so now.
pub async fn report<T, R: Reporter<T>>(reporter: &R, task: &T, report: Report) -> bool {
    let Some(told) = reporter.told(task) else { return true };
    let failure = match report {
        Report::Unchanged => return true,
        Report::Finished if !told.waits && told.reason.is_none() => return true,
        Report::Finished => reporter.lasting().filter(|_| told.waits),
        // One text for all who wait for the same, which does not change with each call that fails.
        Report::Failed(failure) if failure.reason.is_of_a_server() => {
            Some(reporter.lasting().unwrap_or(failure))
        }
        Report::Failed(failure) => Some(failure),
    };
    write(reporter, task, failure.as_ref()).await
}

async fn write<T, R: Reporter<T>>(reporter: &R, task: &T, failure: Option<&Failure>) -> bool {
    match reporter.write(task, failure).await {
        Ok(()) => true,
        Err(error) if error.is_not_found() => true,
        // The control plane may be what fails.
        Err(error) => {
            tracing::debug!(%error, "the condition Reconciled is written later");
            false
        }
    }
}

/// Writes lasting failures into the conditions of those that wait, and removes them when they are over. For ever.
pub async fn tell_lasting<T, R: Reporter<T>>(reporter: &R) {
    let mut is_told = false;
    loop {
        if !is_told {
            reporter.until_lasting_may_change().await;
        }
        sleep(TELL_EVERY).await;
        let lasting = reporter.lasting();
        if lasting.is_none() && !is_told {
            continue;
        }
        let mut is_done = true;
        for task in reporter.objects() {
            let Some(told) = reporter.told(&task) else { continue };
            let concerns = match &lasting {
                Some(_) => told.waits && told.yields(),
                None => told.is_lasting(),
            };
            if concerns {
                is_done &= write(reporter, &task, lasting.as_ref()).await;
            }
        }
        is_told = lasting.is_some() || !is_done;
    }
}

/// Writes a failure into the conditions of an object, or removes it. Returns the object as the server has it then; none if nothing
/// changes.
pub async fn write_failure<K, S>(
    api: &Api<K>,
    object: &K,
    status: Option<&S>,
    conditions: impl FnOnce(&mut S) -> &mut Vec<Condition>,
    failure: Option<&Failure>,
    now: Timestamp,
) -> Result<Option<K>, CallError>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
    S: Serialize + Clone + Default,
{
    let mut after = status.cloned().unwrap_or_default();
    if !failure::report(conditions(&mut after), failure, object.meta().generation, now) {
        return Ok(None);
    }
    write_status(api, object, &StatusChange::between(status, &after)).await
}

/// The lasting failure of the first of these that fails, in words for tenants.
pub fn lasting_failure(dependencies: &Dependencies, of: &[Dependency]) -> Option<Failure> {
    let failing = dependencies.failing(of).into_iter().next()?;
    let garden = |what: &str| Failure::new(FailureReason::GardenUnavailable, what);
    let ledger = |what: &str| Failure::new(FailureReason::LedgerUnavailable, what);
    match failing {
        Dependency::GardenRead => Some(garden("the garden, where clusters are made, cannot be read")),
        Dependency::GardenWrite => Some(garden("the garden, where clusters are made, takes no changes")),
        Dependency::LedgerRead => Some(ledger("the ledger of accounts cannot be read")),
        Dependency::LedgerWrite => Some(ledger("the ledger of accounts takes no entries")),
        // Where the control plane fails, nobody can write a condition.
        Dependency::ControlPlaneRead | Dependency::ControlPlaneWrite | Dependency::Lease => None,
    }
}
