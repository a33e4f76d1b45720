//! Who asks, and whether they may: users, RBAC, ServiceAccount tokens, client certificates.
//!
//! Everything here is a plain value: time and randomness are arguments, and objects come in as they change. What a
//! refusal says is what kube-apiserver 1.36 says, because clients read it.

pub mod certificate;
pub(crate) mod impersonation;
pub(crate) mod kubeconfig;
pub(crate) mod rbac;
pub(crate) mod review;
pub(crate) mod token;

pub use rbac::Attributes;

use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The name of somebody who showed no credentials.
pub const ANONYMOUS: &str = "system:anonymous";
/// The group of everybody who showed credentials.
pub const AUTHENTICATED: &str = "system:authenticated";
/// The group of everybody who did not.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The group that may do everything, whatever RBAC says.
pub const MASTERS: &str = "system:masters";
/// The group of all ServiceAccounts; with `:<namespace>` behind it, of those in one namespace.
pub const SERVICE_ACCOUNTS: &str = "system:serviceaccounts";
/// The key in [`User::extra`] that says with which credential somebody came.
pub const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";

/// Where random bytes come from.
pub type Randomness<'a> = &'a mut dyn FnMut(&mut [u8]);

/// Somebody who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// The name: `alice`, `system:serviceaccount:default:bot`.
    pub name: String,
    /// The UID, empty where the credentials carry none.
    pub uid: String,
    /// The groups, in the order of the credentials.
    pub groups: Vec<String>,
    /// What else is known.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// Somebody with a name and groups; [`AUTHENTICATED`] is added.
    pub fn new<G: Into<String>>(name: impl Into<String>, groups: impl IntoIterator<Item = G>) -> Self {
        let groups = groups.into_iter().map(Into::into).collect();
        Self { name: name.into(), groups, ..Self::default() }.authenticated()
    }

    /// Somebody who showed no credentials.
    pub fn anonymous() -> Self {
        Self { name: ANONYMOUS.to_owned(), groups: vec![UNAUTHENTICATED.to_owned()], ..Self::default() }
    }

    /// A ServiceAccount.
    pub fn service_account(namespace: &str, name: &str, uid: &str) -> Self {
        let groups = [SERVICE_ACCOUNTS.to_owned(), format!("{SERVICE_ACCOUNTS}:{namespace}")];
        Self { uid: uid.to_owned(), ..Self::new(service_account_name(namespace, name), groups) }
    }

    /// Adds the group of those who showed credentials, unless it is settled already whether they did.
    pub fn authenticated(mut self) -> Self {
        if self.name != ANONYMOUS && !self.is_in(AUTHENTICATED) && !self.is_in(UNAUTHENTICATED) {
            self.groups.push(AUTHENTICATED.to_owned());
        }
        self
    }

    /// Whether this is a member of a group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|g| g == group)
    }

    /// Whether this one may do everything.
    pub fn is_master(&self) -> bool {
        self.is_in(MASTERS)
    }

    /// As reviews show it: what is empty is left out.
    pub fn to_json(&self) -> Value {
        let Self { name, uid, groups, extra } = self;
        let mut user = json!({});
        for (key, value) in [("username", name), ("uid", uid)] {
            if !value.is_empty() {
                user[key] = json!(value);
            }
        }
        if !groups.is_empty() {
            user["groups"] = json!(groups);
        }
        if !extra.is_empty() {
            user["extra"] = json!(extra);
        }
        user
    }
}

/// The user name of a ServiceAccount.
pub(crate) fn service_account_name(namespace: &str, name: &str) -> String {
    format!("system:serviceaccount:{namespace}:{name}")
}

/// A string as Go's `%q` shows it.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            '\'' => out.push('\''),
            c if (c as u32) < 0x20 || c == '\u{7f}' => out.push_str(&format!("\\x{:02x}", c as u32)),
            // What Rust would escape beyond those above is what is not printable.
            c if c.escape_debug().len() > 1 => match c as u32 {
                code @ 0x1_0000.. => out.push_str(&format!("\\U{code:08x}")),
                code => out.push_str(&format!("\\u{code:04x}")),
            },
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A list of strings as Go's `%q` shows it.
pub(crate) fn quoted_list<S: AsRef<str>>(texts: &[S]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quoted(text.as_ref())).collect();
    format!("[{}]", texts.join(" "))
}

/// Several errors as one, as Go's aggregates show them: each one once, in brackets if there are several.
pub(crate) fn aggregate(errors: &[String]) -> String {
    let mut unique: Vec<&str> = Vec::new();
    for error in errors {
        if !unique.contains(&error.as_str()) {
            unique.push(error);
        }
    }
    match unique.as_slice() {
        [one] => (*one).to_owned(),
        many => format!("[{}]", many.join(", ")),
    }
}

/// A text in an object; absent is empty, as in Go.
pub(crate) fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A list of texts in an object; absent is empty, as in Go.
pub(crate) fn texts(object: &Value, key: &str) -> Vec<String> {
    let items = object.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// A list in an object; absent is empty, as in Go.
pub(crate) fn items<'a>(object: &'a Value, key: &str) -> &'a [Value] {
    object.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// A field that is there and not null.
pub(crate) fn present<'a>(object: &'a Value, key: &str) -> Option<&'a Value> {
    object.get(key).filter(|value| !value.is_null())
}

/// A UUID of version 4.
pub(crate) fn uuid(random: Randomness<'_>) -> String {
    let mut bytes = [0; 16];
    random(&mut bytes);
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_with_credentials_are_in_their_group_once() {
        assert_eq!(User::new("a", ["g"]).groups, ["g", AUTHENTICATED]);
        assert_eq!(User::new("a", [AUTHENTICATED, "g"]).groups, [AUTHENTICATED, "g"]);
        assert_eq!(User::anonymous().authenticated().groups, [UNAUTHENTICATED]);
        assert_eq!(
            User::service_account("ns", "bot", "7").groups,
            ["system:serviceaccounts", "system:serviceaccounts:ns", AUTHENTICATED]
        );
    }

    #[test]
    fn strings_are_quoted_as_go_does() {
        let cases = [
            ("a", r#""a""#),
            ("we\"ird'\\", r#""we\"ird'\\""#),
            ("\u{1}\n\u{7f}", r#""\x01\n\x7f""#),
            ("ü\u{200b}\u{e0001}", r#""ü\u200b\U000e0001""#),
        ];
        for (text, expected) in cases {
            assert_eq!(quoted(text), expected);
        }
        assert_eq!(quoted_list(&["a", "b"]), r#"["a" "b"]"#);
        assert_eq!(quoted_list::<&str>(&[]), "[]");
    }

    #[test]
    fn a_uuid_is_one_of_version_four() {
        let mut random = |bytes: &mut [u8]| bytes.fill(0xff);
        assert_eq!(uuid(&mut random), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    }
}
