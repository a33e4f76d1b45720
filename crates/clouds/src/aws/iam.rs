//! Roles and instance profiles, by the names of Shoots: Gardener's policy allows to get them, not to list them.

use super::{Aws, call::incomplete, rows::IAM, xml};
use crate::{Page, PageToken, Refusal, http::Access};
use allotment_core::cleanup::{Item, ItemId, KindName, Place, attribute, kinds::table};
use roxmltree::Node;

pub(super) const INSTANCE_PROFILE: &str = "InstanceProfile";
pub(super) const ROLE: &str = "Role";

/// The roles of an instance profile, to take out before it goes.
pub(super) const ROLES: &str = "roles";

/// The principal of an ARN. A session of a role is the role.
pub(super) fn principal(arn: &str) -> String {
    let parts: Vec<&str> = arn.split(':').collect();
    match parts.as_slice() {
        [arn, partition, "sts", _, account, session] if session.starts_with("assumed-role/") => {
            let role = session.split('/').nth(1).unwrap_or_default();
            format!("{arn}:{partition}:iam::{account}:role/{role}")
        }
        // A role may have a path, which its sessions do not show.
        [arn, partition, "iam", _, account, role] if role.starts_with("role/") => {
            let role = role.rsplit('/').next().unwrap_or_default();
            format!("{arn}:{partition}:iam::{account}:role/{role}")
        }
        _ => arn.to_owned(),
    }
}

impl Aws {
    /// The names to ask for, or why nobody knows them.
    pub(super) fn names(&self, kind: &str) -> Result<Vec<String>, Refusal> {
        let row = table(allotment_core::cleanup::Cloud::Aws).kind(kind);
        row.and_then(|row| row.names(&self.history)).ok_or_else(|| Refusal::Other {
            code: "HistoryIncomplete".to_owned(),
            message: format!(
                "the history does not name all Shoots of the account, and {kind}s are found by name"
            ),
        })
    }

    /// One page is one name.
    pub(super) async fn by_name(&self, kind: &KindName, page: Option<&PageToken>) -> Result<Page, Refusal> {
        let names = self.names(kind.as_str())?;
        let index = page.and_then(|token| token.0.parse::<usize>().ok()).unwrap_or(0);
        let mut items = Vec::new();
        if let Some(name) = names.get(index) {
            items.extend(self.get(kind.as_str(), name).await?);
        }
        let next = index.saturating_add(1);
        Ok(Page::Items { items, next: (next < names.len()).then(|| PageToken(next.to_string())) })
    }

    /// A role or instance profile; none if there is none with this name.
    pub(super) async fn get(&self, kind: &str, name: &str) -> Result<Option<Item>, Refusal> {
        let (action, parameter) = (format!("Get{kind}"), format!("{kind}Name"));
        let parameters = vec![(parameter.clone(), name.to_owned())];
        let answer = match self.query(&IAM, &Place::GLOBAL, &action, parameters, Access::Read).await {
            Ok(answer) => answer,
            Err(Refusal::Gone) => return Ok(None),
            Err(refusal) => return Err(refusal),
        };
        let document = xml::parse(&answer)?;
        let found = xml::find(document.root_element(), &format!("{action}Result/{kind}"));
        let node = *found.first().ok_or_else(|| incomplete(&action))?;
        let found = xml::text(node, &parameter).ok_or_else(|| incomplete(&action))?;
        let mut item = Item::new(KindName::new(kind), Place::GLOBAL, ItemId::new(found.clone()))
            .with(attribute::PRINCIPAL, xml::text(node, "Arn").map(|arn| principal(&arn)).unwrap_or_default())
            .with(ROLES, xml::texts(node, "Roles/member/RoleName").join(","));
        item.name = Some(found);
        item.incarnation = xml::text(node, &format!("{kind}Id"));
        Ok(Some(item))
    }

    pub(super) async fn delete_profile(&self, item: &Item) -> Result<(), Refusal> {
        let name = ("InstanceProfileName", item.id.as_str());
        for role in item.attribute(ROLES).into_iter().flat_map(|roles| roles.split(',')) {
            self.change("RemoveRoleFromInstanceProfile", &[name, ("RoleName", role)]).await?;
        }
        self.change("DeleteInstanceProfile", &[name]).await
    }

    pub(super) async fn delete_role(&self, item: &Item) -> Result<(), Refusal> {
        let role = ("RoleName", item.id.as_str());
        for policy in
            self.policies("ListAttachedRolePolicies", role, "AttachedPolicies/member/PolicyArn").await?
        {
            self.change("DetachRolePolicy", &[role, ("PolicyArn", &policy)]).await?;
        }
        for policy in self.policies("ListRolePolicies", role, "PolicyNames/member").await? {
            self.change("DeleteRolePolicy", &[role, ("PolicyName", &policy)]).await?;
        }
        self.change("DeleteRole", &[role]).await
    }

    /// All pages; a role that is gone has no policies.
    async fn policies(&self, action: &str, role: (&str, &str), path: &str) -> Result<Vec<String>, Refusal> {
        let mut found = Vec::new();
        let mut marker: Option<String> = None;
        loop {
            let mut parameters = vec![(role.0.to_owned(), role.1.to_owned())];
            parameters.extend(marker.clone().map(|marker| ("Marker".to_owned(), marker)));
            let answer = match self.query(&IAM, &Place::GLOBAL, action, parameters, Access::Read).await {
                Err(Refusal::Gone) => return Ok(Vec::new()),
                answer => answer?,
            };
            let document = xml::parse(&answer)?;
            let result = |path: &str| format!("{action}Result/{path}");
            let root: Node<'_, '_> = document.root_element();
            found.extend(xml::texts(root, &result(path)));
            let next = xml::text(root, &result("Marker"));
            if next.is_none() || next == marker {
                return Ok(found);
            }
            marker = next;
        }
    }

    async fn change(&self, action: &str, parameters: &[(&str, &str)]) -> Result<(), Refusal> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let parameters = parameters.iter().map(owned).collect();
        match self.query(&IAM, &Place::GLOBAL, action, parameters, Access::Write).await {
            Ok(_) | Err(Refusal::Gone) => Ok(()),
            Err(refusal) => Err(refusal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_of_a_role_is_the_role() {
        let role = "arn:aws:iam::1:role/cleaner";
        assert_eq!(principal("arn:aws:sts::1:assumed-role/cleaner/session"), role);
        assert_eq!(principal("arn:aws:iam::1:role/some/path/cleaner"), role);
        assert_eq!(principal("arn:aws:iam::1:user/gardener"), "arn:aws:iam::1:user/gardener");
    }
}
