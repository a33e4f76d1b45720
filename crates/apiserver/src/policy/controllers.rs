//! Controllers that a cluster has by itself: policies see their deletions too, as those of their ServiceAccounts.

use super::request::{Admission, Operation, delete_options, in_version_of};
use crate::{auth::User, meta, resource::Resource, server::Server};
use serde_json::{Value, json};
use std::sync::Arc;

/// A controller that deletes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Controller {
    GarbageCollector,
    Namespace,
}

impl Controller {
    fn user(self) -> User {
        let name = match self {
            Self::GarbageCollector => "generic-garbage-collector",
            Self::Namespace => "namespace-controller",
        };
        User::service_account("kube-system", name, "")
    }

    fn options(self, object: &Value) -> Value {
        delete_options(&match self {
            Self::GarbageCollector => {
                json!({ "propagationPolicy": "Background", "preconditions": { "uid": meta::text(object, "uid") } })
            }
            Self::Namespace => json!({ "propagationPolicy": "Background" }),
        })
    }
}

impl Server {
    /// Whether no policy denies a controller the deletion of an object. It hears no warnings.
    pub(crate) fn controller_may_delete(
        &mut self,
        controller: Controller,
        resource: &Arc<Resource>,
        object: &Value,
    ) -> bool {
        if self.policies.is_idle() {
            return true;
        }
        let old = in_version_of(resource, object);
        let user = controller.user();
        let admission = Admission {
            resource,
            kind: [&resource.group, &resource.version, &resource.kind],
            namespace: meta::text(object, "namespace"),
            // A namespace is emptied kind by kind.
            name: if controller == Controller::Namespace { "" } else { meta::text(object, "name") },
            subresource: "",
            operation: Operation::Delete,
            object: None,
            old: Some(&old),
            user: &user,
            options: controller.options(object),
            dry_run: false,
        };
        let warned = self.warned.len();
        let allowed = self.enforce_on(&admission).is_ok();
        self.warned.truncate(warned);
        allowed
    }
}
