//! Which tenants a namespace has, as the operators know it: the configuration, and the label of Namespaces where it says so.

use crate::runtime::{
    call::{CallError, call},
    follow::{MetadataOf, Position, Seen, follow},
    kept::{Kept, Progress},
};
use allotment_core::tenancy::{NamespaceRole, Tenancy};
use futures::future::pending;
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client, ResourceExt};
use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
};
use tokio::sync::watch;

/// The roles of namespaces. Each operator has its own: it wakes what it is responsible for when a role changes.
pub struct NamespaceRoles {
    control_plane: Client,
    tenancy: RwLock<Arc<Tenancy>>,
    /// The label that is watched. Another one takes effect with the next start.
    label: Option<String>,
    /// The value of the label, of every Namespace that has it.
    tenants: Mutex<Kept<String, String>>,
    is_listed: watch::Sender<bool>,
}

impl fmt::Debug for NamespaceRoles {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("NamespaceRoles").field("label", &self.label).finish_non_exhaustive()
    }
}

impl NamespaceRoles {
    /// Nothing is watched before [`NamespaceRoles::watch`].
    pub fn new(control_plane: Client, tenancy: Arc<Tenancy>) -> Self {
        let label = tenancy.watched_label().map(str::to_owned);
        let is_listed = watch::channel(label.is_none()).0;
        Self { control_plane, tenancy: RwLock::new(tenancy), label, tenants: Mutex::default(), is_listed }
    }

    /// Takes over another configuration.
    pub fn set(&self, tenancy: Arc<Tenancy>) {
        *self.tenancy.write().unwrap_or_else(PoisonError::into_inner) = tenancy;
    }

    /// Watches Namespaces, where they have a label that counts, for ever; `changed` is told of each whose tenant is another one.
    pub async fn watch(&self, changed: impl Fn(&str)) {
        let Some(label) = &self.label else { return pending().await };
        let namespaces: Api<Namespace> = Api::all(self.control_plane.clone());
        follow(MetadataOf(namespaces), Some(label.clone()), Position::new(), |seen| match seen {
            Seen::Restarted => self.tenants().restart(),
            Seen::Reached(version) => self.tenants().reached(version),
            Seen::Applied(namespace) => {
                let name = namespace.name_any();
                let value = namespace.labels().get(label).cloned().unwrap_or_default();
                let before = self.tenants().insert(name.clone(), value.clone());
                if before.as_ref() != Some(&value) {
                    changed(&name);
                }
            }
            Seen::Deleted(namespace) => {
                self.tenants().remove(&namespace.name_any());
                changed(&namespace.name_any());
            }
            Seen::Listed => {
                let gone = self.tenants().missing();
                for name in gone {
                    self.tenants().remove(&name);
                    changed(&name);
                }
                self.is_listed.send_replace(true);
            }
            Seen::Returned(_) => (),
            Seen::Unreadable(name, why) => tracing::warn!(name, why, "cannot read a Namespace"),
        })
        .await;
    }

    /// Waits until Namespaces have been listed once: before that, nothing is judged.
    pub async fn until_listed(&self) {
        // The sender lives as long as this does.
        let _ = self.is_listed.subscribe().wait_for(|listed| *listed).await;
    }

    /// Whether Namespaces have been listed once.
    pub fn is_listed(&self) -> bool {
        *self.is_listed.borrow()
    }

    /// What a namespace may ask for, as far as the watch has told.
    pub fn role_of(&self, namespace: &str) -> NamespaceRole {
        let tenant = self.tenants().get(&namespace.to_owned()).cloned();
        self.role(namespace, tenant.as_deref())
    }

    /// The same, for a decision that is told to somebody: a Namespace that was made a moment ago may be unknown to the watch.
    pub async fn role_now(&self, namespace: &str) -> Result<NamespaceRole, CallError> {
        let role = self.role_of(namespace);
        let (NamespaceRole::Tenants(tenants), Some(label)) = (&role, &self.label) else { return Ok(role) };
        if !tenants.is_empty() {
            return Ok(role);
        }
        let api: Api<Namespace> = Api::all(self.control_plane.clone());
        let live = call(|| format!("read Namespace {namespace}"), api.get_metadata_opt(namespace)).await?;
        let tenant = live.and_then(|live| live.labels().get(label).cloned());
        Ok(self.role(namespace, tenant.as_deref()))
    }

    fn role(&self, namespace: &str, tenant: Option<&str>) -> NamespaceRole {
        self.tenancy.read().unwrap_or_else(PoisonError::into_inner).role_of(namespace, tenant)
    }

    fn tenants(&self) -> MutexGuard<'_, Kept<String, String>> {
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
