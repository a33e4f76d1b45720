//! Operations: changes that take time.

use super::state::{Key, Project};
use serde_json::{Value, json};
use std::time::Instant;

/// A change under way, or its result.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    scope: String,
    target: Key,
    /// So many questions about it are answered with "running".
    calls_left: u32,
    /// And until then.
    until: Instant,
    result: Option<Result<(), Failure>>,
}

/// Why an operation failed.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) status: u16,
    pub(crate) code: String,
    pub(crate) message: String,
}

impl Project {
    /// A change that is done already.
    pub(crate) fn done(&mut self, target: &Key) -> Value {
        self.add_operation(target, Some(Ok(())))
    }

    /// A deletion that begins now.
    pub(crate) fn begin_deletion(&mut self, target: &Key) -> Value {
        if target.collection == "instances"
            && let Some(resource) = self.resources.get_mut(target)
        {
            resource.body["status"] = json!("STOPPING");
        }
        self.add_operation(target, None)
    }

    fn add_operation(&mut self, target: &Key, result: Option<Result<(), Failure>>) -> Value {
        let name = format!("operation-{}", self.next());
        let is_machine = target.collection == "instances";
        let lasts = if is_machine { self.controls.slow_machines } else { self.controls.slow_for };
        let operation = Operation {
            scope: target.scope.clone(),
            target: target.clone(),
            calls_left: self.controls.slow_calls,
            until: Instant::now() + lasts,
            result,
        };
        self.operations.insert(name.clone(), operation);
        self.tick();
        self.show(&name)
    }

    /// The answer to a question about an operation; it costs one of the calls that it takes.
    pub(crate) fn ask(&mut self, scope: &str, name: &str) -> Option<Value> {
        let operation = self.operations.get_mut(name).filter(|operation| operation.scope == scope)?;
        operation.calls_left = operation.calls_left.saturating_sub(1);
        self.tick();
        Some(self.show(name))
    }

    /// Ends what is due.
    pub(crate) fn tick(&mut self) {
        let now = Instant::now();
        let is_due = |operation: &Operation| {
            operation.result.is_none() && operation.calls_left == 0 && operation.until <= now
        };
        let due = self.operations.iter().filter(|(_, operation)| is_due(operation));
        for (name, target) in
            due.map(|(name, operation)| (name.clone(), operation.target.clone())).collect::<Vec<_>>()
        {
            let result = self.end_deletion(&target);
            if let Some(operation) = self.operations.get_mut(&name) {
                operation.result = Some(result);
            }
        }
    }

    fn end_deletion(&mut self, target: &Key) -> Result<(), Failure> {
        if let Some((code, message)) =
            self.controls.late.get(&(target.collection.clone(), target.name.clone()))
        {
            return Err(Failure { status: 400, code: code.clone(), message: message.clone() });
        }
        if let Some(user) = self.user_of(target) {
            let message = in_use(&self.id, target, &user.path());
            return Err(Failure {
                status: 400,
                code: "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE".to_owned(),
                message,
            });
        }
        self.remove(target);
        Ok(())
    }

    fn show(&self, name: &str) -> Value {
        let Some(operation) = self.operations.get(name) else { return Value::Null };
        let status = match operation.result {
            Some(_) => "DONE",
            None if operation.calls_left > 1 => "PENDING",
            None => "RUNNING",
        };
        let mut shown = json!({
            "kind": "compute#operation",
            "id": "1",
            "name": name,
            "status": status,
            "progress": if status == "DONE" { 100 } else { 0 },
            "operationType": "delete",
            "targetLink": self.url(&operation.target.path()),
            "selfLink": self.url(&format!("{}/operations/{name}", operation.scope)),
        });
        if let Some((kind, _)) = operation.scope.split_once('/') {
            shown[kind.trim_end_matches('s')] = json!(self.url(&operation.scope));
        }
        if let Some(Err(Failure { status, code, message })) = &operation.result {
            shown["error"] = json!({ "errors": [{ "code": code, "message": message }] });
            shown["httpErrorStatusCode"] = json!(status);
            shown["httpErrorMessage"] = json!("BAD REQUEST");
        }
        shown
    }
}

/// Google's words.
pub(crate) fn in_use(project: &str, target: &Key, user: &str) -> String {
    let kind = target.collection.trim_end_matches('s');
    let path = target.path();
    format!(
        "The {kind} resource 'projects/{project}/{path}' is already being used by 'projects/{project}/{user}'"
    )
}
