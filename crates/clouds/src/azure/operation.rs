//! Deletions that Azure accepts and carries out later: each is awaited to its own result.

use super::{
    Azure,
    call::{Call, incomplete},
    error::{AzureError, retry_after},
    rows::Row,
};
use crate::{Refusal, http::Response};
use allotment_core::cleanup::{Item, Place};
use http::StatusCode;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::time::{Instant, sleep};

/// Between two questions, if Azure does not say.
const PAUSE: Duration = Duration::from_secs(5);

/// The operations of a subscription that were begun and whose results nobody took, by kind and id. They outlive the client that began
/// them: one that fails later is told when the item is deleted again, by whichever client does that.
#[derive(Default)]
pub struct Operations(Mutex<BTreeMap<(&'static str, String), State>>);

#[derive(Clone)]
enum State {
    Running(Operation),
    Failed(Refusal),
}

/// The address that reports the result of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Operation {
    path: String,
    /// Whether the body has the result; else the status of the answer has.
    has_status: bool,
    permission: &'static str,
    due: Instant,
}

/// How far an operation is.
#[derive(Debug, PartialEq, Eq)]
enum Progress {
    Running { due: Instant },
    Succeeded,
    Failed(Refusal),
}

impl Operations {
    fn with<T>(&self, act: impl FnOnce(&mut BTreeMap<(&'static str, String), State>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn put(&self, row: &'static Row, id: &str, state: Option<State>) {
        self.with(|all| match state {
            Some(state) => all.insert((row.kind, id.to_owned()), state),
            None => all.remove(&(row.kind, id.to_owned())),
        });
    }

    fn get(&self, row: &'static Row, id: &str) -> Option<State> {
        self.with(|all| all.get(&(row.kind, id.to_owned())).cloned())
    }

    fn of(&self, row: &'static Row) -> Vec<String> {
        self.with(|all| all.keys().filter(|(kind, _)| *kind == row.kind).map(|(_, id)| id.clone()).collect())
    }
}

/// The operation of an item from a former pass.
pub(super) enum Former {
    /// There is none, or it succeeded.
    None,
    /// It goes on: nothing needs to be sent again.
    Running,
    /// It failed.
    Failed(Refusal),
}

impl Azure {
    /// The operation that an answer to a deletion begins; none if it is done.
    pub(super) fn begun(
        &self,
        response: &Response,
        permission: &'static str,
    ) -> Result<Option<Operation>, Refusal> {
        let header = |name: &str| response.headers.get(name).and_then(|value| value.to_str().ok());
        let (url, has_status) = match (header("azure-asyncoperation"), header("location")) {
            (Some(url), _) => (url, true),
            (None, Some(url)) if response.status == StatusCode::ACCEPTED => (url, false),
            _ => return Ok(None),
        };
        // The next listing tells how it ended; the token goes nowhere else.
        let path = self.path_of(url).ok_or_else(|| incomplete("an operation that leads elsewhere"))?;
        let due = Instant::now() + retry_after(response).unwrap_or(PAUSE);
        Ok(Some(Operation { path, has_status, permission, due }))
    }

    /// Waits for an operation, and for no longer than asked. One that goes on is remembered: its failure is told when the
    /// item is deleted again.
    pub(super) async fn finish(
        &self,
        row: &'static Row,
        item: &Item,
        mut operation: Operation,
        most: Duration,
    ) -> Result<(), Refusal> {
        let until = Instant::now() + most;
        while operation.due <= until {
            sleep(operation.due.saturating_duration_since(Instant::now())).await;
            match self.progress(&operation, item.id.as_str()).await {
                Progress::Succeeded => return Ok(()),
                Progress::Failed(refusal) => return Err(refusal),
                Progress::Running { due } => operation.due = due,
            }
        }
        self.operations.put(row, item.id.as_str(), Some(State::Running(operation)));
        Ok(())
    }

    /// The operation of an item from a former pass. A failure is told once.
    pub(super) async fn former(&self, row: &'static Row, id: &str) -> Former {
        self.ask(row, id).await;
        match self.operations.get(row, id) {
            None => Former::None,
            Some(State::Running(_)) => Former::Running,
            Some(State::Failed(refusal)) => {
                self.operations.put(row, id, None);
                Former::Failed(refusal)
            }
        }
    }

    /// Asks for the results of all operations of a kind that are due.
    pub(super) async fn settle(&self, row: &'static Row) {
        for id in self.operations.of(row) {
            self.ask(row, &id).await;
        }
    }

    async fn ask(&self, row: &'static Row, id: &str) {
        let Some(State::Running(mut operation)) = self.operations.get(row, id) else { return };
        if operation.due > Instant::now() {
            return;
        }
        let state = match self.progress(&operation, id).await {
            Progress::Succeeded => None,
            Progress::Failed(refusal) => Some(State::Failed(refusal)),
            Progress::Running { due } => {
                operation.due = due;
                Some(State::Running(operation))
            }
        };
        self.operations.put(row, id, state);
    }

    async fn progress(&self, operation: &Operation, id: &str) -> Progress {
        let call = Call { item: id, ..Call::get(operation.path.clone(), operation.permission) };
        let response = match self.call(&Place::GLOBAL, &call).await {
            Ok(response) => response,
            // Azure forgets results; the next listing tells.
            Err(Refusal::Gone) => return Progress::Succeeded,
            // The answer to a question for a status is not the result; else it may be.
            Err(Refusal::Transient { .. }) if operation.has_status => {
                return Progress::Running { due: Instant::now() + PAUSE };
            }
            Err(Refusal::Throttled { .. }) => return Progress::Running { due: Instant::now() + PAUSE },
            Err(refusal) => return Progress::Failed(refusal),
        };
        let due = Instant::now() + retry_after(&response).unwrap_or(PAUSE);
        if !operation.has_status {
            let is_running = response.status == StatusCode::ACCEPTED;
            return if is_running { Progress::Running { due } } else { Progress::Succeeded };
        }
        let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        match body.get("status").and_then(Value::as_str) {
            Some("Succeeded") => Progress::Succeeded,
            Some("Failed" | "Canceled") => {
                let error = body.get("error").cloned().unwrap_or_default();
                Progress::Failed(AzureError::of(&error).late(operation.permission, id))
            }
            Some(_) => Progress::Running { due },
            None => Progress::Failed(incomplete("an operation")),
        }
    }
}
