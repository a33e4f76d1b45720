//! Operations: every change of Compute Engine is one, and has a result of its own.

use super::{
    Gcp,
    call::{Call, encode, incomplete},
    error::GcpError,
};
use crate::Refusal;
use allotment_core::cleanup::{ItemKey, Place};
use futures::{StreamExt, stream};
use serde_json::Value;
use std::{collections::BTreeMap, time::Duration};
use tokio::{
    sync::Mutex,
    time::{Instant, sleep},
};

/// How long operations are awaited.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// The pause before the first question; it doubles.
    pub first: Duration,
    /// The longest pause.
    pub every: Duration,
    /// The longest wait for the result of one.
    pub most: Duration,
    /// The longest wait for a machine, before the next one is deleted; all of them are awaited before the next wave.
    pub machine: Duration,
}

impl Default for Patience {
    /// Most deletions take seconds; a group with many machines takes minutes.
    fn default() -> Self {
        Self {
            first: Duration::from_millis(500),
            every: Duration::from_secs(5),
            most: Duration::from_secs(300),
            machine: Duration::from_secs(2),
        }
    }
}

/// An operation under way.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    place: Place,
    path: String,
    permission: &'static str,
}

/// The deletions of a project that were not awaited to their end. They outlive the client that began them: one that fails later is told
/// when the item is deleted again, by whichever client does that.
#[derive(Default)]
pub struct Pending {
    running: Mutex<BTreeMap<ItemKey, (u8, Operation)>>,
    failed: Mutex<BTreeMap<ItemKey, Refusal>>,
}

/// So many operations are asked for at once.
const AT_ONCE: usize = 4;

impl Gcp {
    /// The operation that an answer stands for; none if it is done.
    pub(super) fn operation(
        place: &Place,
        answer: &Value,
        permission: &'static str,
    ) -> Result<Option<Operation>, Refusal> {
        if is_done(answer, permission)? {
            return Ok(None);
        }
        let text = |field: &str| answer.get(field).and_then(Value::as_str);
        let name = text("name").ok_or_else(|| incomplete("a deletion"))?;
        let last = |url: &str| encode(url.rsplit('/').next().unwrap_or(url));
        let scope = match (text("zone"), text("region")) {
            (Some(zone), _) => format!("zones/{}", last(zone)),
            (None, Some(region)) => format!("regions/{}", last(region)),
            (None, None) => "global".to_owned(),
        };
        let path = format!("{scope}/operations/{}", encode(name));
        Ok(Some(Operation { place: place.clone(), path, permission }))
    }

    /// Waits for the result; none if it did not come in time.
    pub(super) async fn awaited(&self, operation: &Operation, most: Duration) -> Option<Result<(), Refusal>> {
        let until = Instant::now() + most;
        let mut pause = self.patience.first;
        loop {
            sleep(pause.min(until.saturating_duration_since(Instant::now()))).await;
            let call = Call::get(self.compute(&operation.path), "compute.globalOperations.get");
            match self.call(&operation.place, &call).await {
                Ok(answer) => match is_done(&answer, operation.permission) {
                    Ok(true) => return Some(Ok(())),
                    Ok(false) => (),
                    Err(refusal) => return Some(Err(refusal)),
                },
                // It may be done, and nobody knows how: the next listing tells.
                Err(Refusal::Gone) => return None,
                Err(refusal) => return Some(Err(refusal)),
            }
            if Instant::now() >= until {
                return None;
            }
            pause = pause.saturating_mul(2).min(self.patience.every);
        }
    }

    /// Waits for the result of a call, to its end.
    pub(super) async fn finished(
        &self,
        place: &Place,
        answer: &Value,
        permission: &'static str,
    ) -> Result<(), Refusal> {
        let Some(operation) = Self::operation(place, answer, permission)? else { return Ok(()) };
        match self.awaited(&operation, self.patience.most).await {
            Some(result) => result,
            None => Err(Refusal::Blocked {
                code: "OPERATION_RUNNING".to_owned(),
                by: "the operation is still running".to_owned(),
            }),
        }
    }

    /// Waits for a deletion for a moment, and remembers it if it takes longer.
    pub(super) async fn finished_or_pending(
        &self,
        key: &ItemKey,
        wave: u8,
        answer: &Value,
        permission: &'static str,
    ) -> Result<(), Refusal> {
        let Some(operation) = Self::operation(&key.place, answer, permission)? else { return Ok(()) };
        match self.awaited(&operation, self.patience.machine).await {
            Some(result) => result,
            None => {
                self.pending.running.lock().await.insert(key.clone(), (wave, operation));
                Ok(())
            }
        }
    }

    /// The refusal that ended the last deletion of an item, after nobody waited for it any longer.
    pub(super) async fn failed_late(&self, key: &ItemKey) -> Option<Refusal> {
        let running = self.pending.running.lock().await.remove(key);
        if let Some((_, operation)) = running {
            return self.awaited(&operation, self.patience.most).await?.err();
        }
        self.pending.failed.lock().await.remove(key)
    }

    /// Waits for everything of the waves before.
    pub(super) async fn settle_before(&self, wave: u8) {
        let mut all = self.pending.running.lock().await;
        let (before, others): (BTreeMap<_, _>, BTreeMap<_, _>) =
            std::mem::take(&mut *all).into_iter().partition(|(_, (of, _))| *of < wave);
        *all = others;
        let waiting = before.into_iter().map(|(key, (_, operation))| async move {
            (key, self.awaited(&operation, self.patience.most).await)
        });
        // Others that begin the same wave wait at the lock.
        let waiting: Vec<_> = waiting.collect();
        let ended: Vec<_> = stream::iter(waiting).buffer_unordered(AT_ONCE).collect().await;
        let mut failed = self.pending.failed.lock().await;
        for (key, result) in ended {
            if let Some(Err(refusal)) = result {
                failed.insert(key, refusal);
            }
        }
    }
}

/// Whether an operation is done; its error is a refusal.
fn is_done(answer: &Value, permission: &str) -> Result<bool, Refusal> {
    if let Some(error) = GcpError::of_operation(answer) {
        return Err(error.refusal(permission));
    }
    match answer.get("status").and_then(Value::as_str) {
        Some("DONE") => Ok(true),
        Some("PENDING" | "RUNNING") => Ok(false),
        _ => Err(incomplete("an operation")),
    }
}
