//! What becomes of a Shoot that is written: the order of gardener-apiserver, which decides which refusal comes first.
//!
//! | step | refusal |
//! |---|---|
//! | [`defaults`]: what every Shoot has | none |
//! | [`mutate`], [`completion`]: what depends on the garden | 403, 500 |
//! | [`form`], [`workers`], [`network`], and on a change [`update`]: the form of the Shoot itself | 422 |
//! | [`references`]: what it refers to | 403 |
//! | [`profile`], [`machines`]: what the CloudProfile allows | 403, 422, 500 |
//! | [`deletion`]: finalizers and confirmations | 403 |

mod completion;
mod defaults;
mod deletion;
mod form;
mod machines;
mod mutate;
mod network;
mod operation;
mod profile;
mod references;
mod status;
mod update;
mod version;
mod warnings;
mod workers;

pub(super) use defaults::set as set_defaults;
pub(super) use deletion::{all_must_be_confirmed, must_be_confirmed};
pub(super) use version::is_expired;
pub(super) use warnings::warnings;

use super::{
    facts::Facts,
    json::{put, text},
    kinds::CORE,
};
use allotment_apiserver::{
    error::{ApiError, FieldError},
    extension::Write,
};
use serde_json::{Value, json};

/// Decides about a write to a Shoot, and changes it as gardener-apiserver does.
pub fn admit_shoot(write: &mut Write<'_>, facts: &dyn Facts) -> Result<(), ApiError> {
    match (write.verb, write.subresource) {
        ("create", "") => create(write, facts),
        ("update", "") => change(write, facts),
        ("update", "status") => status::admit(write),
        ("delete", _) => deletion::confirm(write, facts),
        _ => Ok(()),
    }
}

fn create(write: &mut Write<'_>, facts: &dyn Facts) -> Result<(), ApiError> {
    mutate::admit(write, facts)?;
    mutate::sync_cloud_profile(write.new, None);
    put(write.new, "/status", status::empty());
    let mut errors = form::check(write);
    errors.extend(deletion::force(write.new, None));
    errors.extend(deletion::finalizers_on_creation(write.new));
    refuse(write, errors)?;
    references::check(write, facts)?;
    profile::check(write, facts)
}

fn change(write: &mut Write<'_>, facts: &dyn Facts) -> Result<(), ApiError> {
    let Some(old) = write.old else { return Ok(()) };
    mutate::admit(write, facts)?;
    let counts = operation::counts(write.new, old);
    mutate::sync_cloud_profile(write.new, Some(old));
    let generation = old["metadata"]["generation"].as_i64().unwrap_or_default() + i64::from(counts);
    write.new["metadata"]["generation"] = json!(generation);
    let mut errors = update::check(write.new, old);
    errors.extend(form::check(write));
    errors.extend(deletion::force(write.new, Some(old)));
    refuse(write, errors)?;
    references::check(write, facts)?;
    references::binding_stays(write, facts)?;
    profile::check(write, facts)?;
    deletion::finalizer_stays(write)
}

fn refuse(write: &Write<'_>, errors: Vec<FieldError>) -> Result<(), ApiError> {
    match errors.is_empty() {
        true => Ok(()),
        false => Err(ApiError::invalid(CORE, "Shoot", text(write.new, "/metadata/name"), errors)),
    }
}

/// 403, as admission plugins say it.
fn forbid(write: &Write<'_>, why: impl std::fmt::Display) -> ApiError {
    ApiError::forbidden(write.resource.group_resource(), text(write.new, "/metadata/name"), why)
}

/// The workers, of which a Shoot may have none.
fn workers(shoot: &Value) -> &[Value] {
    super::json::items(shoot, "/spec/provider/workers")
}

/// A worker by its name.
fn worker<'a>(shoot: &'a Value, name: &str) -> Option<&'a Value> {
    workers(shoot).iter().find(|worker| text(worker, "/name") == name)
}
