//! Acting as somebody else: `kubectl --as`.

use super::rbac::{Attributes, Decision, Rbac};
use super::{ANONYMOUS, SERVICE_ACCOUNTS, UNAUTHENTICATED, User, quoted};
use crate::error::ApiError;
use http::HeaderMap;
use std::collections::BTreeMap;

const EXTRA_PREFIX: &str = "impersonate-extra-";
const GROUP: &str = "authentication.k8s.io";

/// As whom a request is to be handled: nothing if its headers do not name anybody else, and a refusal if the user
/// may not act as them.
pub(crate) fn impersonated(
    rbac: &Rbac,
    user: &User,
    headers: &HeaderMap,
    request: &Attributes<'_>,
) -> Result<Option<User>, ApiError> {
    let wanted = Wanted::from_headers(headers);
    if wanted.name.is_empty() {
        return match wanted.is_empty() {
            true => Ok(None),
            false => Err(wanted.without_name()),
        };
    }
    wanted.check(rbac, user, request)?;
    Ok(Some(wanted.into_user()))
}

#[derive(Debug, Default)]
struct Wanted {
    name: String,
    uid: String,
    groups: Vec<String>,
    extra: BTreeMap<String, Vec<String>>,
}

impl Wanted {
    fn from_headers(headers: &HeaderMap) -> Self {
        let texts = |name: &str| -> Vec<String> {
            let values = headers.get_all(name).into_iter();
            values.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect()
        };
        let first = |name| texts(name).into_iter().next().unwrap_or_default();
        let keys = headers.keys().filter_map(|name| {
            let key = name.as_str().strip_prefix(EXTRA_PREFIX)?;
            Some((percent_decoded(key), texts(name.as_str())))
        });
        Self {
            name: first("impersonate-user"),
            uid: first("impersonate-uid"),
            groups: texts("impersonate-group"),
            extra: keys.collect(),
        }
    }

    fn is_empty(&self) -> bool {
        self.uid.is_empty() && self.groups.is_empty() && self.extra.is_empty()
    }

    fn service_account(&self) -> Option<(&str, &str)> {
        let (namespace, name) = self.name.strip_prefix("system:serviceaccount:")?.split_once(':')?;
        (!namespace.is_empty() && !name.is_empty() && !name.contains(':')).then_some((namespace, name))
    }

    fn check(&self, rbac: &Rbac, user: &User, request: &Attributes<'_>) -> Result<(), ApiError> {
        let impersonate = Attributes { verb: "impersonate", ..Attributes::default() };
        let (whom, mode) = match self.service_account() {
            Some((namespace, name)) => {
                (Attributes { resource: "serviceaccounts", namespace, name, ..impersonate }, "serviceaccount")
            }
            None => (Attributes { resource: "users", name: &self.name, ..impersonate }, "user-info"),
        };
        if !rbac.authorize(user, &whom).is_allowed() {
            // A real server first asks whether this very request may be made as somebody else, and says so.
            let verb = format!("impersonate-on:{mode}:{}", request.verb);
            let asked = Attributes { verb: &verb, ..*request };
            return Err(Rbac::forbidden(user, &asked, &Decision::NoOpinion(Vec::new())));
        }
        for group in &self.groups {
            rbac.check(user, &Attributes { resource: "groups", name: group, ..impersonate })?;
        }
        let extra = self.extra.iter().flat_map(|(key, values)| values.iter().map(move |value| (key, value)));
        for (key, value) in extra {
            let resource = "userextras";
            let extra = Attributes { group: GROUP, resource, subresource: key, name: value, ..impersonate };
            rbac.check(user, &extra)?;
        }
        if !self.uid.is_empty() {
            let uid = Attributes { group: GROUP, resource: "uids", name: &self.uid, ..impersonate };
            rbac.check(user, &uid)?;
        }
        Ok(())
    }

    fn into_user(self) -> User {
        let service_account_groups = self.service_account().filter(|_| self.groups.is_empty());
        let groups = match service_account_groups {
            Some((namespace, _)) => {
                vec![SERVICE_ACCOUNTS.to_owned(), format!("{SERVICE_ACCOUNTS}:{namespace}")]
            }
            None => self.groups,
        };
        let mut user = User { name: self.name, uid: self.uid, groups, extra: self.extra };
        if user.name == ANONYMOUS && !user.is_in(UNAUTHENTICATED) {
            user.groups.push(UNAUTHENTICATED.to_owned());
        }
        user.authenticated()
    }

    /// The real server shows what it has read, in the syntax of Go.
    fn without_name(&self) -> ApiError {
        let list = |values: &[String]| {
            let values: Vec<String> = values.iter().map(|value| quoted(value)).collect();
            format!("[]string{{{}}}", values.join(", "))
        };
        let groups = if self.groups.is_empty() { "[]string(nil)".to_owned() } else { list(&self.groups) };
        let extra = if self.extra.is_empty() {
            "map[string][]string(nil)".to_owned()
        } else {
            let extra = self.extra.iter().map(|(key, values)| format!("{}:{}", quoted(key), list(values)));
            format!("map[string][]string{{{}}}", extra.collect::<Vec<_>>().join(", "))
        };
        let uid = quoted(&self.uid);
        ApiError::bad_request(format!(
            "requested &user.DefaultInfo{{Name:\"\", UID:{uid}, Groups:{groups}, Extra:{extra}}} without impersonating a \
             user name"
        ))
    }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let code = tail.get(..2).filter(|_| byte == b'%').and_then(|digits| {
            let digits = std::str::from_utf8(digits).ok()?;
            digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(())?;
            u8::from_str_radix(digits, 16).ok()
        });
        match (byte, code) {
            (_, Some(code)) => {
                bytes.push(code);
                rest = &tail[2..];
            }
            // As it is, all of it, if it is malformed.
            (b'%', None) => return text.to_owned(),
            (byte, None) => {
                bytes.push(byte);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::rbac::{Kind, bootstrap_objects};
    use http::{HeaderName, HeaderValue};
    use serde_json::json;

    const REVIEW: Attributes<'_> = Attributes {
        verb: "create",
        group: "authentication.k8s.io",
        resource: "selfsubjectreviews",
        subresource: "",
        namespace: "",
        name: "",
        path: None,
    };

    type Headers<'a> = &'a [(&'a str, &'a str)];

    fn headers(pairs: Headers<'_>) -> HeaderMap {
        let pair = |(name, value): &(&str, &str)| {
            (HeaderName::try_from(*name).unwrap(), HeaderValue::from_str(value).unwrap())
        };
        pairs.iter().map(pair).fold(HeaderMap::new(), |mut map, (name, value)| {
            map.append(name, value);
            map
        })
    }

    fn rbac() -> Rbac {
        let mut rbac = Rbac::default();
        for (kind, object) in bootstrap_objects() {
            rbac.upsert(kind, "", object["metadata"]["name"].as_str().unwrap(), &object);
        }
        rbac.upsert(Kind::ClusterRole, "", "imp", &json!({ "rules": [
            { "apiGroups": [""], "resources": ["users"], "resourceNames": ["alice"], "verbs": ["impersonate"] },
            { "apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"] },
        ] }));
        rbac.upsert(
            Kind::ClusterRoleBinding,
            "",
            "imp",
            &json!({
                "roleRef": { "kind": "ClusterRole", "name": "imp" },
                "subjects": [{ "kind": "ServiceAccount", "namespace": "auth-test", "name": "imp" }],
            }),
        );
        rbac
    }

    #[test]
    fn the_one_acted_as_is_the_one_a_real_server_makes_of_the_headers() {
        let master = User::new("admin", ["system:masters"]);
        let cases: [(Headers<'_>, &str, &[&str]); 6] = [
            (&[("impersonate-user", "alice")], "alice", &["system:authenticated"]),
            (
                &[("impersonate-user", "system:serviceaccount:x:y")],
                "system:serviceaccount:x:y",
                &["system:serviceaccounts", "system:serviceaccounts:x", "system:authenticated"],
            ),
            (
                &[("impersonate-user", "system:serviceaccount:x:y:z")],
                "system:serviceaccount:x:y:z",
                &["system:authenticated"],
            ),
            (
                &[("impersonate-user", "system:serviceaccount:x:y"), ("impersonate-group", "g")],
                "system:serviceaccount:x:y",
                &["g", "system:authenticated"],
            ),
            (&[("impersonate-user", "system:anonymous")], "system:anonymous", &["system:unauthenticated"]),
            (
                &[("impersonate-user", "alice"), ("impersonate-group", "system:unauthenticated")],
                "alice",
                &["system:unauthenticated"],
            ),
        ];
        for (pairs, name, groups) in cases {
            let user = impersonated(&rbac(), &master, &headers(pairs), &REVIEW).unwrap().unwrap();
            let in_groups: Vec<&str> = user.groups.iter().map(String::as_str).collect();
            assert_eq!((user.name.as_str(), in_groups.as_slice()), (name, groups));
        }
        let extra =
            [("impersonate-user", "a"), ("impersonate-extra-scopes%2fx", "b"), ("impersonate-uid", "9")];
        let user = impersonated(&rbac(), &master, &headers(&extra), &REVIEW).unwrap().unwrap();
        assert_eq!((user.uid.as_str(), &user.extra["scopes/x"]), ("9", &vec!["b".to_owned()]));
        assert_eq!(impersonated(&rbac(), &master, &HeaderMap::new(), &REVIEW).unwrap(), None);
    }

    #[test]
    fn refusals_are_those_of_a_real_server() {
        let imp = User::service_account("auth-test", "imp", "");
        let nobody = User::new("nobody", ["system:authenticated"]);
        let alice = ("impersonate-user", "alice");
        let cases: [(&User, Headers<'_>, &str); 7] = [
            (
                &nobody,
                &[alice],
                r#"selfsubjectreviews.authentication.k8s.io is forbidden: User "nobody" cannot impersonate-on:user-info:create resource "selfsubjectreviews" in API group "authentication.k8s.io" at the cluster scope"#,
            ),
            (
                &nobody,
                &[("impersonate-user", "system:serviceaccount:x:y")],
                r#"selfsubjectreviews.authentication.k8s.io is forbidden: User "nobody" cannot impersonate-on:serviceaccount:create resource "selfsubjectreviews" in API group "authentication.k8s.io" at the cluster scope"#,
            ),
            (
                &imp,
                &[alice, ("impersonate-group", "g1")],
                r#"groups "g1" is forbidden: User "system:serviceaccount:auth-test:imp" cannot impersonate resource "groups" in API group "" at the cluster scope"#,
            ),
            (
                &imp,
                &[alice, ("impersonate-uid", "7")],
                r#"uids.authentication.k8s.io "7" is forbidden: User "system:serviceaccount:auth-test:imp" cannot impersonate resource "uids" in API group "authentication.k8s.io" at the cluster scope"#,
            ),
            (
                &imp,
                &[alice, ("impersonate-extra-Scopes%2fx", "b")],
                r#"userextras.authentication.k8s.io "b" is forbidden: User "system:serviceaccount:auth-test:imp" cannot impersonate resource "userextras/scopes/x" in API group "authentication.k8s.io" at the cluster scope"#,
            ),
            (
                &imp,
                &[("impersonate-group", "g")],
                r#"requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"g"}, Extra:map[string][]string(nil)} without impersonating a user name"#,
            ),
            (
                &imp,
                &[("impersonate-extra-a", "b")],
                r#"requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string(nil), Extra:map[string][]string{"a":[]string{"b"}}} without impersonating a user name"#,
            ),
        ];
        for (user, pairs, message) in cases {
            assert_eq!(impersonated(&rbac(), user, &headers(pairs), &REVIEW).unwrap_err().message, message);
        }
    }
}
