//! Documents that go.

use super::{
    Answer, Asked, empty,
    error::Fault,
    operation::Deed,
    state::{Subscription, group_of, type_of},
};
use http::StatusCode;

impl Subscription {
    pub(super) fn delete(&mut self, asked: &Asked<'_>, path: &[&str]) -> Answer {
        let key = format!("{}/{}", self.root(), path.join("/"));
        let is_group = group_of(&key).as_deref() == Some(key.as_str());
        let kind = type_of(&key);
        if !is_group && kind.is_none() {
            return Err(Fault::new(
                StatusCode::BAD_REQUEST,
                "InvalidResourceType",
                "This cannot be deleted.",
            ));
        }
        let at = asked.path.iter().rposition(|segment| segment.eq_ignore_ascii_case("providers"));
        let action = match at {
            Some(at) => {
                let types: Vec<&str> = asked.path[at + 2..].iter().step_by(2).map(String::as_str).collect();
                format!("{}/{}", asked.path[at + 1], types.join("/"))
            }
            None => "Microsoft.Resources/subscriptions/resourceGroups".to_owned(),
        };
        self.authorize(&asked.caller, &format!("{action}/delete"), &key)?;
        if !self.documents.contains_key(&key) {
            if is_group {
                let message = format!("Resource group '{}' could not be found.", path[1]);
                return Err(Fault::new(StatusCode::NOT_FOUND, "ResourceGroupNotFound", message));
            }
            return Ok(empty(StatusCode::NO_CONTENT));
        }
        // A lock does not keep locks.
        let is_lock = kind.as_deref() == Some("microsoft.authorization/locks");
        if !is_lock {
            self.unlocked(&key, "delete")?;
        }
        if is_group {
            self.mark(&key, "Deleting");
            return Ok(self.begin(&asked.base, Deed::DeleteGroup(key)));
        }
        self.unused(&key)?;
        let is_slow = kind.is_some_and(|kind| {
            kind.starts_with("microsoft.compute/")
                || kind.starts_with("microsoft.network/")
                || kind.ends_with("/deployments")
        });
        if is_slow {
            self.mark(&key, "Deleting");
            return Ok(self.begin(&asked.base, Deed::Delete(key)));
        }
        self.remove(&key);
        Ok(empty(StatusCode::OK))
    }

    fn mark(&mut self, key: &str, state: &str) {
        if let Some(document) = self.documents.get_mut(key) {
            document["properties"]["provisioningState"] = state.into();
        }
    }

    /// The end of an operation.
    pub(super) fn carry_out(&mut self, deed: &Deed) -> Result<(), Fault> {
        match deed {
            Deed::Delete(key) => {
                // Somebody may have begun to use it meanwhile.
                if let Err(fault) = self.unused(key) {
                    self.mark(key, "Failed");
                    return Err(fault);
                }
                self.remove(key);
            }
            Deed::Purge(key) => {
                self.documents.remove(key);
            }
            Deed::DeleteGroup(key) => {
                let late = self.controls.late.get_mut(key).filter(|(_, times)| *times > 0);
                let late = late.map(|(fault, times)| {
                    *times -= 1;
                    fault.clone()
                });
                if let Some(fault) = late.or_else(|| self.empty_group(key).err()) {
                    self.mark(key, "Succeeded");
                    return Err(fault);
                }
                // Roles outlive the group that they were given on; policies do not.
                for inside in
                    self.within(key).into_iter().filter(|inside| !inside.contains("/roleassignments/"))
                {
                    self.documents.remove(&inside);
                }
                self.documents.remove(key);
            }
        }
        Ok(())
    }
}
