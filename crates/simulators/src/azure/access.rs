//! Who may do what.

use super::{
    error::Fault,
    login,
    state::{Caller, Granted, State, Subscription},
};
use bytes::Bytes;
use http::{Request, StatusCode, header::AUTHORIZATION};

pub(super) fn authenticate(state: &State, request: &Request<Bytes>) -> Result<Caller, Fault> {
    let refused = |code: &str, message: &str| Fault::new(StatusCode::UNAUTHORIZED, code, message);
    let header = request.headers().get(AUTHORIZATION).and_then(|header| header.to_str().ok());
    let token = header.and_then(|header| header.strip_prefix("Bearer "));
    let token = token.ok_or_else(|| refused("AuthenticationFailed", "Authentication failed."))?;
    let claims = login::verified(&state.key, token)
        .filter(|claims| {
            claims["aud"].as_str().is_some_and(|audience| audience.starts_with("https://management."))
        })
        // It repeats the token, as no server should.
        .ok_or_else(|| {
            refused("InvalidAuthenticationToken", &format!("The access token is invalid: {token}"))
        })?;
    let text = |name: &str| claims[name].as_str().unwrap_or_default().to_owned();
    let caller = Caller { tenant: text("tid"), object: text("oid") };
    let number = |name: &str| claims[name].as_u64().unwrap_or_default();
    let is_over = |subscription: &Subscription| {
        let until = claims["calls"].as_u64().zip(subscription.controls.session_calls);
        until.is_some_and(|(since, lasts)| subscription.calls >= since + lasts)
    };
    let is_revoked = state.subscriptions.values().any(|subscription| {
        let known = subscription.principals.iter().find(|known| known.object == caller.object);
        known.is_some_and(|known| number("number") < known.valid_from || is_over(subscription))
    });
    if is_revoked {
        return Err(refused("ExpiredAuthenticationToken", "The access token has expired."));
    }
    Ok(caller)
}

impl Subscription {
    /// Refuses what the caller may not do.
    pub(super) fn authorize(&self, caller: &Caller, action: &str, scope: &str) -> Result<(), Fault> {
        if self.may(caller, action, scope) {
            return Ok(());
        }
        let object = &caller.object;
        let message = format!(
            "The client '{object}' with object id '{object}' does not have authorization to perform action '{action}' over \
             scope '{scope}' or the scope is invalid. If access was recently granted, please refresh your credentials."
        );
        Err(Fault::new(StatusCode::FORBIDDEN, "AuthorizationFailed", message))
    }

    pub(super) fn may(&self, caller: &Caller, action: &str, scope: &str) -> bool {
        let is_tenant = self.principals.first().is_some_and(|tenant| tenant.object == caller.object);
        if is_tenant && self.controls.denied.iter().any(|denied| covers(denied, action)) {
            return false;
        }
        let scope = format!("{}/", scope.to_lowercase());
        self.roles(caller).iter().any(|role| {
            scope.starts_with(&format!("{}/", role.scope))
                && role.actions.iter().any(|granted| covers(granted, action))
                && !role.not_actions.iter().any(|taken| covers(taken, action))
        })
    }

    pub(super) fn roles(&self, caller: &Caller) -> &[Granted] {
        let known = self.principals.iter().find(|known| known.object == caller.object);
        known.map(|known| known.roles.as_slice()).unwrap_or_default()
    }
}

/// Whether a pattern covers an action; `*` stands for anything.
fn covers(pattern: &str, action: &str) -> bool {
    let (pattern, action) = (pattern.to_lowercase(), action.to_lowercase());
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = action.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::covers;

    #[test]
    fn patterns_cover_actions() {
        assert!(covers("*", "a/b") && covers("*/read", "A/b/Read") && covers("a/*/delete", "a/b/c/delete"));
        assert!(!covers("*/read", "a/write") && !covers("a/b", "a/b/c") && !covers("a/*/delete", "a/delete"));
    }
}
