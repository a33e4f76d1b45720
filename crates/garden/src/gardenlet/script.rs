//! What the stand-in is told to do with a Shoot, other than to make it succeed.

use super::ShootKey;
use allotment_api::gardener::{OperationState, OperationType, Shoot};
use kube::ResourceExt;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// The annotation on a Shoot that holds a [`Script`] in JSON, for people with kubectl.
pub const ANNOTATION: &str = "gardenlet.allotment.dev/script";

/// What happens to a Shoot. The default is the happy path, as fast as it goes.
///
/// ```
/// # use allotment_garden::gardenlet::Script;
/// let script: Script = serde_json::from_str(r#"{"fail": {"codes": ["ERR_INFRA_QUOTA_EXCEEDED"]}}"#).unwrap();
/// assert_eq!(script.fail.unwrap().codes, ["ERR_INFRA_QUOTA_EXCEEDED"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Script {
    /// How long to wait between two steps. Gardener's times are whole seconds, so a wait may be up to one second shorter.
    pub step_milliseconds: u64,
    /// Fail.
    pub fail: Option<Failure>,
    /// Stand still at this per cent.
    pub hold_at: Option<i32>,
    /// Once it has succeeded: lose and regain the API server, this long each.
    pub flap_milliseconds: Option<u64>,
}

/// How to fail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Failure {
    /// Gardener's error codes.
    #[serde(default)]
    pub codes: Vec<String>,
    /// For people.
    #[serde(default = "default_description")]
    pub description: String,
    /// `Error` is tried again and again, `Failed` is given up.
    #[serde(default = "default_state")]
    pub state: OperationState,
    /// Only during this operation.
    #[serde(default)]
    pub during: Option<OperationType>,
}

fn default_description() -> String {
    "task \"Waiting until shoot infrastructure has been reconciled\" failed: told to fail".to_owned()
}

fn default_state() -> OperationState {
    OperationState::Failed
}

impl Failure {
    /// Gives up with this code.
    pub fn with_code(code: &str) -> Self {
        Self {
            codes: vec![code.to_owned()],
            description: default_description(),
            state: default_state(),
            during: None,
        }
    }
}

impl Script {
    /// The time between two steps.
    pub fn step(&self) -> Duration {
        Duration::from_millis(self.step_milliseconds)
    }

    /// How to fail during this operation, if at all.
    pub fn failure(&self, during: OperationType) -> Option<&Failure> {
        self.fail.as_ref().filter(|failure| failure.during.is_none_or(|only| only == during))
    }
}

/// The scripts of a stand-in: a default, and others for Shoots that need not exist yet. An annotation wins over both.
#[derive(Clone, Debug, Default)]
pub struct Scripts(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    default: Script,
    by_shoot: BTreeMap<ShootKey, Script>,
}

impl Scripts {
    /// Scripts whose default is this one.
    pub fn with_default(default: Script) -> Self {
        Self(Arc::new(Mutex::new(Inner { default, by_shoot: BTreeMap::new() })))
    }

    /// Tells what happens to one Shoot from now on.
    pub fn set(&self, shoot: ShootKey, script: Script) {
        self.lock().by_shoot.insert(shoot, script);
    }

    /// Lets one Shoot go back to the default.
    pub fn clear(&self, shoot: &ShootKey) {
        self.lock().by_shoot.remove(shoot);
    }

    /// The script of a Shoot. An annotation that cannot be read is worth a warning and no more: anybody can write one.
    pub(super) fn of(&self, shoot: &Shoot) -> Script {
        let key = ShootKey::of(shoot);
        if let Some(text) = shoot.annotations().get(ANNOTATION) {
            match serde_json::from_str(text) {
                Ok(script) => return script,
                Err(error) => tracing::warn!(shoot = %key, %error, "ignoring the annotation {ANNOTATION}"),
            }
        }
        let inner = self.lock();
        inner.by_shoot.get(&key).unwrap_or(&inner.default).clone()
    }

    /// A poisoned lock is no danger here: every write is one insert or remove.
    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
