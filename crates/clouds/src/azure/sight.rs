//! Do these credentials see everything?

use super::{
    Azure,
    call::{Call, incomplete},
    rows::AUTHORIZATION,
};
use crate::Refusal;
use allotment_core::cleanup::Place;
use serde_json::Value;

/// The permission without which a list may be filtered.
pub(super) const SEES_ALL: &str = "*/read";

impl Azure {
    /// Refuses if a list may leave something out. Asked after each listing: rights that were lost meanwhile are seen, too.
    pub(super) async fn sees_all(&self) -> Result<(), Refusal> {
        let path = format!(
            "{}/providers/Microsoft.Authorization/permissions?api-version={AUTHORIZATION}",
            self.subscription()
        );
        let call = Call::get(path, "Microsoft.Authorization/permissions/read");
        let granted = match self.read_all(&Place::GLOBAL, call).await {
            Ok(granted) => granted,
            // Without any role at the subscription there is nothing to be asked.
            Err(Refusal::Gone) => Vec::new(),
            Err(refusal) => return Err(refusal),
        };
        for permission in &granted {
            if reads_all(permission)? {
                return Ok(());
            }
        }
        Err(Refusal::Denied { code: "ListsAreFiltered".to_owned(), action: SEES_ALL.to_owned() })
    }
}

/// Whether one role has the permission to read, and takes nothing of it away. What one role takes away, another one may
/// give; two that complete each other are not looked for.
fn reads_all(permission: &Value) -> Result<bool, Refusal> {
    let list = |name: &str| -> Result<Vec<String>, Refusal> {
        let values = match permission.get(name) {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(values) => values.as_array().ok_or_else(|| incomplete("permissions"))?,
        };
        let text = |value: &Value| value.as_str().map(str::to_lowercase);
        values.iter().map(text).collect::<Option<_>>().ok_or_else(|| incomplete("permissions"))
    };
    let takes_away = |action: &String| action.ends_with("/read") || action.ends_with('*');
    // A condition limits a role in ways that nobody here can judge.
    let is_conditional = permission
        .get("condition")
        .is_some_and(|condition| condition.as_str().is_some_and(|text| !text.is_empty()));
    let reads = list("actions")?.iter().any(|action| action == "*" || action == SEES_ALL);
    Ok(reads && !is_conditional && !list("notActions")?.iter().any(takes_away))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_a_role_that_reads_everything_sees_all() {
        let reads = |permission: Value| reads_all(&permission).unwrap();
        let contributor = json!({
            "actions": ["*"],
            "notActions": ["Microsoft.Authorization/*/Delete", "Microsoft.Authorization/*/Write",
                "Microsoft.Authorization/elevateAccess/Action", "Microsoft.Compute/galleries/share/action"],
        });
        assert!(reads(contributor));
        assert!(reads(json!({ "actions": ["Microsoft.Network/*", "*/read"], "notActions": [] })));
        assert!(!reads(json!({ "actions": ["Microsoft.Network/*/read"], "notActions": [] })));
        for taken in
            ["Microsoft.Authorization/*/read", "Microsoft.Network/*", "*", "Microsoft.Compute/disks/Read"]
        {
            assert!(!reads(json!({ "actions": ["*"], "notActions": [taken] })), "{taken}");
        }
        assert!(!reads(json!({ "actions": ["*"], "condition": "@Resource[x] StringEquals 'y'" })));
        assert!(reads_all(&json!({ "actions": "*" })).is_err() && !reads(json!({})));
    }
}
