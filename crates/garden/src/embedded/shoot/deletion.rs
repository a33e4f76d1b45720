//! The end of a Shoot: it has to be confirmed, and Gardener's finalizer holds it until everything is gone.

use super::super::{
    facts::{Facts, project_of},
    json::{annotation, is_true, items, number, text, texts},
    refusals::{bare_error, bullets, forbidden},
};
use super::forbid;
use allotment_api::gardener::names;
use allotment_apiserver::{
    error::{ApiError, FieldError},
    extension::{Resource, Write},
};
use serde_json::Value;

const FORCE: &str = "confirmation.gardener.cloud/force-deletion";
const CONFIRMED_BY: &str = "deletion.gardener.cloud/confirmed-by";
/// Errors that nobody but the owner of the account can mend: what is left behind is then theirs.
const FORCIBLE: [&str; 5] = [
    "ERR_CLEANUP_CLUSTER_RESOURCES",
    "ERR_CONFIGURATION_PROBLEM",
    "ERR_INFRA_DEPENDENCIES",
    "ERR_INFRA_UNAUTHENTICATED",
    "ERR_INFRA_UNAUTHORIZED",
];

/// Whether an annotation confirms: what Go reads as true.
pub(super) fn is_confirmed(annotation: &str) -> bool {
    matches!(annotation, "1" | "t" | "T" | "true" | "TRUE" | "True")
}

/// Refuses the deletion of a Shoot or Project that is not confirmed.
pub(in super::super) fn must_be_confirmed(write: &Write<'_>) -> Result<(), ApiError> {
    match is_confirmed(annotation(write.new, names::CONFIRM_DELETION)) {
        true => Ok(()),
        false => {
            let why = format!("must have a {:?} annotation to delete", names::CONFIRM_DELETION);
            Err(forbid(write, why))
        }
    }
}

/// Refuses to delete many if one of them is not confirmed.
pub(in super::super) fn all_must_be_confirmed(resource: &Resource, chosen: &[Value]) -> Result<(), ApiError> {
    let unconfirmed = |object: &&Value| !is_confirmed(annotation(object, names::CONFIRM_DELETION));
    let errors: Vec<String> = chosen
        .iter()
        .filter(unconfirmed)
        .map(|object| {
            let why = format!("must have a {:?} annotation to delete", names::CONFIRM_DELETION);
            ApiError::forbidden(resource.group_resource(), text(object, "/metadata/name"), why).message
        })
        .collect();
    match errors.is_empty() {
        true => Ok(()),
        false => Err(bare_error(bullets(&errors))),
    }
}

/// Refuses a deletion that is not confirmed, or by somebody else than the project wants.
pub(super) fn confirm(write: &Write<'_>, facts: &dyn Facts) -> Result<(), ApiError> {
    must_be_confirmed(write)?;
    let project = project_of(facts, text(write.new, "/metadata/namespace"));
    let rules =
        project.as_ref().map(|project| items(project, "/spec/dualApprovalForDeletion")).unwrap_or_default();
    let by_two = rules.iter().find(|rule| text(rule, "/resource") == "shoots").is_some_and(|rule| {
        let labels = &write.new["metadata"]["labels"];
        let wanted = rule["selector"]["matchLabels"].as_object();
        let chosen = wanted.into_iter().flatten().all(|(name, value)| &labels[name] == value);
        let account = write.user.name.starts_with("system:serviceaccount:");
        chosen
            && (!account
                || rule.get("includeServiceAccounts").is_none()
                || is_true(rule, "/includeServiceAccounts"))
    });
    if by_two && annotation(write.new, CONFIRMED_BY) == write.user.name {
        let why = "you are not allowed to both confirm the deletion and send the actual DELETE request - another subject must perform the deletion";
        return Err(forbid(write, why));
    }
    Ok(())
}

/// Whether a Shoot is to go without looking after what it leaves behind.
pub(super) fn is_forced(shoot: &Value) -> bool {
    is_confirmed(annotation(shoot, FORCE))
}

/// Checks the annotation that forces a deletion.
pub(super) fn force(shoot: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let field = format!("metadata.annotations[{FORCE}]");
    let mut errors = Vec::new();
    match (is_forced(shoot), old.is_some_and(is_forced)) {
        (false, true) => {
            errors.push(forbidden(field, "force-deletion annotation cannot be removed once set"));
        }
        (true, false) => {
            if text(shoot, "/metadata/deletionTimestamp").is_empty() {
                let detail = "force-deletion annotation cannot be set when Shoot deletionTimestamp is nil";
                errors.push(forbidden(field.as_str(), detail));
            }
            let codes = items(shoot, "/status/lastErrors").iter().flat_map(|error| texts(error, "/codes"));
            if !codes.into_iter().any(|code| FORCIBLE.contains(&code)) {
                let detail = format!(
                    "force-deletion annotation cannot be set when Shoot status does not contain one of these error codes: [{}]",
                    FORCIBLE.join(" ")
                );
                errors.push(forbidden(field, detail));
            }
        }
        _ => {}
    }
    errors
}

/// Only who looks after a Shoot puts Gardener's finalizer on it.
pub(super) fn finalizers_on_creation(shoot: &Value) -> Vec<FieldError> {
    let finalizers = texts(shoot, "/metadata/finalizers").into_iter().enumerate();
    let ours = finalizers.filter(|(_, finalizer)| *finalizer == names::FINALIZER);
    ours.map(|(n, finalizer)| {
        let detail = format!("finalizer {finalizer:?} cannot be added on creation");
        forbidden(format!("metadata.finalizers[{n}]"), detail)
    })
    .collect()
}

/// Gardener's finalizer stays until everything is gone.
pub(super) fn finalizer_stays(write: &Write<'_>) -> Result<(), ApiError> {
    let held = |shoot: &Value| texts(shoot, "/metadata/finalizers").contains(&names::FINALIZER);
    let removed = write.old.is_some_and(held) && !held(write.new);
    let operation = &write.new["status"]["lastOperation"];
    let never_made = text(write.new, "/status/technicalID").is_empty() || operation.is_null();
    let gone = text(operation, "/type") == "Delete"
        && text(operation, "/state") == "Succeeded"
        && number(operation, "/progress") == 100;
    if removed && !never_made && !gone {
        let why = format!(
            "finalizer {:?} cannot be removed because shoot deletion has not completed successfully yet",
            names::FINALIZER
        );
        return Err(forbid(write, why));
    }
    Ok(())
}
