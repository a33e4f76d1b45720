//! What a Shoot is asked to do by an annotation, and whether a change counts as a new generation.

use super::super::{
    json::{annotate, annotation, at, is_true, text, unannotate},
    refusals::{forbidden, unsupported},
};
use allotment_api::gardener::names;
use allotment_apiserver::error::FieldError;
use serde_json::Value;

/// Those that there are, in the order in which a refusal lists them.
const OPERATIONS: [&str; 19] = [
    "force-in-place-update",
    "maintain",
    "reconcile",
    "retry",
    "rollout-workers",
    "rotate-ca-complete",
    "rotate-ca-start",
    "rotate-ca-start-without-workers-rollout",
    "rotate-credentials-complete",
    "rotate-credentials-start",
    "rotate-credentials-start-without-workers-rollout",
    "rotate-etcd-encryption-key",
    "rotate-etcd-encryption-key-complete",
    "rotate-etcd-encryption-key-start",
    "rotate-observability-credentials",
    "rotate-rollout-workers",
    "rotate-serviceaccount-key-complete",
    "rotate-serviceaccount-key-start",
    "rotate-serviceaccount-key-start-without-workers-rollout",
];

fn split(annotation: &str) -> Vec<&str> {
    annotation.split(';').map(str::trim).filter(|operation| !operation.is_empty()).collect()
}

/// What is completed by an operation: how a refusal calls it, and where the status says how far it is.
const COMPLETED: [(&str, &str, &[&str]); 4] = [
    ("rotate-ca-complete", "CA rotation", &["certificateAuthorities"]),
    ("rotate-serviceaccount-key-complete", "service account key rotation", &["serviceAccountKey"]),
    ("rotate-etcd-encryption-key-complete", "ETCD encryption key rotation", &["etcdEncryptionKey"]),
    (
        "rotate-credentials-complete",
        "rotation of all credentials",
        &["certificateAuthorities", "serviceAccountKey"],
    ),
];

/// Checks the annotation.
pub(super) fn check(shoot: &Value) -> Vec<FieldError> {
    let operations = split(annotation(shoot, names::OPERATION));
    if let Some(error) = known(&operations) {
        return vec![error];
    }
    let field = format!("metadata.annotations[{}]", names::OPERATION);
    let mut errors = Vec::new();
    for (operation, words, rotations) in COMPLETED {
        for rotation in rotations.iter().filter(|_| operations.contains(&operation)) {
            let phase = format!("credentials/rotation/{rotation}/phase");
            if text(shoot, &format!("/status/{phase}")) != "Prepared" {
                let phase = phase.replace('/', ".");
                let detail = format!("cannot complete {words} if .status.{phase} is not 'Prepared'");
                errors.push(forbidden(field.as_str(), detail));
            }
        }
    }
    errors
}

fn known(operations: &[&str]) -> Option<FieldError> {
    let field = format!("metadata.annotations[{}]", names::OPERATION);
    for operation in operations {
        let for_workers =
            operation.starts_with("rotate-rollout-workers") || operation.starts_with("rollout-workers");
        if !OPERATIONS.contains(operation) && !for_workers && *operation != "rotate-ssh-keypair" {
            return Some(unsupported(field, *operation, &listed()));
        }
        if operations.len() > 1 && matches!(*operation, "force-in-place-update" | "maintain" | "retry") {
            let detail = format!(
                "operation '{operation}' is not permitted to be run in parallel with other operations"
            );
            return Some(forbidden(field, detail));
        }
    }
    None
}

fn listed() -> Vec<&'static str> {
    let mut all: Vec<&str> = OPERATIONS.to_vec();
    all.push("rotate-ssh-keypair");
    all.sort_unstable();
    all
}

/// Whether a change counts. An operation that is taken up by counting is removed from the annotation.
pub(super) fn counts(shoot: &mut Value, old: &Value) -> bool {
    let confined = is_true(shoot, "/spec/maintenance/confineSpecUpdateRollout");
    let hibernates = |shoot: &Value| is_true(shoot, "/spec/hibernation/enabled");
    let spec = match confined {
        true => hibernates(shoot) != hibernates(old),
        false => at(shoot, "/spec") != at(old, "/spec"),
    };
    let forced = |shoot: &Value| super::deletion::is_forced(shoot);
    if spec || !forced(old) && forced(shoot) {
        return true;
    }
    if at(shoot, "/status/lastOperation").is_none() {
        return false;
    }
    let failed = text(shoot, "/status/lastOperation/state") == "Failed";
    let asked = annotation(shoot, names::OPERATION).to_owned();
    let operations = split(&asked);
    if failed {
        if asked == "retry" {
            unannotate(shoot, names::OPERATION);
        }
        return asked == "retry";
    }
    let left: Vec<&str> = operations.iter().copied().filter(|operation| *operation != "reconcile").collect();
    if left.is_empty() {
        unannotate(shoot, names::OPERATION);
    } else if left.len() != operations.len() {
        annotate(shoot, names::OPERATION, &left.join(";"));
    }
    operations.iter().any(|operation| {
        *operation == "reconcile" || operation.starts_with("rotate-") || operation.starts_with("rollout-")
    })
}
