//! Operations that take time.

use super::{Answer, control::Slow, empty, error::Fault, json, state::Subscription};
use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header::LOCATION};
use serde_json::json as document;
use std::time::Instant;

/// One of them.
pub(super) struct Operation {
    deed: Deed,
    due: Due,
    result: Option<Result<(), Fault>>,
}

/// What happens when it is due.
#[derive(Clone)]
pub(super) enum Deed {
    Delete(String),
    DeleteGroup(String),
    Purge(String),
}

enum Due {
    Call(u64),
    Time(Instant),
}

impl Subscription {
    /// Begins an operation, and answers where its result will be. Groups have no status, as in Azure.
    pub(super) fn begin(&mut self, base: &str, deed: Deed) -> Response<Bytes> {
        let id = self.guid();
        let due = match self.controls.slow {
            Slow::Calls(calls) => Due::Call(self.calls + calls),
            Slow::Time(time) => Due::Time(Instant::now() + time),
        };
        let has_status = matches!(deed, Deed::Delete(_));
        self.operations.insert(id.clone(), Operation { deed, due, result: None });
        let mut response = empty(StatusCode::ACCEPTED);
        let url =
            |kind: &str| format!("{base}{}/{kind}/{id}?operation=1&api-version=2021-04-01", self.root());
        let mut add = |name: &'static str, value: String| {
            if let Ok(value) = HeaderValue::from_str(&value) {
                response.headers_mut().insert(name, value);
            }
        };
        add(LOCATION.as_str(), url("operationresults"));
        add("retry-after", "0".to_owned());
        if has_status {
            add("azure-asyncoperation", url("operations"));
        }
        response
    }

    /// Ends what is due.
    pub(super) fn end_operations(&mut self) {
        let is_due = |operation: &Operation| {
            operation.result.is_none()
                && match operation.due {
                    Due::Call(call) => call <= self.calls,
                    Due::Time(time) => time <= Instant::now(),
                }
        };
        let due: Vec<(String, Deed)> = self
            .operations
            .iter()
            .filter(|(_, operation)| is_due(operation))
            .map(|(id, operation)| (id.clone(), operation.deed.clone()))
            .collect();
        for (id, deed) in due {
            let result = self.carry_out(&deed);
            if let Some(operation) = self.operations.get_mut(&id) {
                operation.result = Some(result);
            }
        }
    }

    /// How far an operation is: in its body, or by the status of the answer.
    pub(super) fn progress(&self, id: &str, has_status: bool) -> Answer {
        let unknown =
            || Fault::new(StatusCode::NOT_FOUND, "OperationNotFound", "There is no such operation.");
        let operation = self.operations.get(id).ok_or_else(unknown)?;
        let running = |mut response: Response<Bytes>| {
            response.headers_mut().insert("retry-after", HeaderValue::from_static("0"));
            response
        };
        match (&operation.result, has_status) {
            (None, true) => Ok(running(json(StatusCode::OK, &document!({ "status": "InProgress" })))),
            (None, false) => Ok(running(empty(StatusCode::ACCEPTED))),
            (Some(Ok(())), true) => Ok(json(StatusCode::OK, &document!({ "status": "Succeeded" }))),
            (Some(Ok(())), false) => Ok(empty(StatusCode::OK)),
            (Some(Err(fault)), true) => {
                Ok(json(StatusCode::OK, &document!({ "status": "Failed", "error": fault.error() })))
            }
            (Some(Err(fault)), false) => Err(fault.clone()),
        }
    }
}
