//! What can never be granted, whatever the cluster says.

use allotment_api::openmcp::{AccessRequest, PermissionsRequest, RoleKind, RoleRef};
use std::collections::BTreeSet;

/// What is wrong with a request, with its place.
pub(super) fn fault(request: &AccessRequest) -> Option<String> {
    let spec = &request.spec;
    match (&spec.token, &spec.oidc) {
        (Some(token), _) => {
            let roles = token.role_refs.iter().enumerate();
            let mut roles = roles.map(|(number, role)| (format!("spec.token.roleRefs[{number}]"), role));
            roles
                .find_map(|(place, role)| of_role(&place, role))
                .or_else(|| of_permissions("spec.token.permissions", &token.permissions))
        }
        (None, Some(oidc)) => {
            let bindings = oidc.provider.role_bindings.iter().enumerate();
            let mut roles = bindings.flat_map(|(number, bindings)| {
                let place = move |role| format!("spec.oidc.roleBindings[{number}].roleRefs[{role}]");
                bindings.role_refs.iter().enumerate().map(move |(role, it)| (place(role), it))
            });
            roles
                .find_map(|(place, role)| of_role(&place, role))
                .or_else(|| of_permissions("spec.oidc.roles", &oidc.roles))
        }
        (None, None) => Some("spec: neither token nor oidc is set".to_owned()),
    }
}

fn of_role(place: &str, role: &RoleRef) -> Option<String> {
    let has_namespace = role.namespace.as_deref().is_some_and(|namespace| !namespace.is_empty());
    (role.kind == RoleKind::Role && !has_namespace)
        .then(|| format!("{place}.namespace: it says where Role {} is, and is missing", role.name))
}

/// Two of one name would be one role with the rules of the second.
fn of_permissions(place: &str, permissions: &[PermissionsRequest]) -> Option<String> {
    let mut seen = BTreeSet::new();
    permissions.iter().enumerate().find_map(|(number, permission)| {
        let name = permission.name.as_deref().filter(|name| !name.is_empty())?;
        let namespace = permission.namespace.as_deref().unwrap_or_default();
        (!seen.insert((namespace, name)))
            .then(|| format!("{place}[{number}].name: another one is called {name} already"))
    })
}
