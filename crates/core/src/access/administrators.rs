//! Who is an administrator inside a cluster: one ClusterRoleBinding for each.
//!
//! Names follow from the user, so that two operators, or one that was killed and started again, make the same binding. What
//! is ours is known by the label *and* by the name: both are looked at before anything is removed, since a cluster that we
//! hand out is full of bindings of others.

use sha2::{Digest, Sha256};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

/// The role that administrators have.
pub const ROLE: &str = "cluster-admin";

/// The API group of roles, of bindings and of users in them.
pub const API_GROUP: &str = "rbac.authorization.k8s.io";

/// How the names of our bindings begin.
const PREFIX: &str = "allotment-admin-";

/// As much of the user as a person needs to know whom it is about.
const SLUG_LENGTH: usize = 40;

/// In hexadecimal digits: 128 bits. With less, users whose names fall on the same binding could be looked for.
const HASH_LENGTH: usize = 32;

/// Whose administrators: a Cluster. Several may lead to the same cluster (`byoc`), and each looks after its own bindings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    namespace: String,
    name: String,
}

impl Owner {
    /// The Cluster of this name.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// The value of the label on its bindings. (Names are too long for a label.)
    pub fn mark(&self) -> String {
        hash(&[&self.namespace, &self.name])
    }

    /// The name of the binding that makes a user an administrator.
    ///
    /// ```
    /// use allotment_core::access::administrators::Owner;
    ///
    /// let name = Owner::new("team", "prod").binding_name("Jane.Doe@example.com");
    /// assert!(name.starts_with("allotment-admin-jane-doe-example-com-"));
    /// ```
    pub fn binding_name(&self, user: &str) -> String {
        let slug = slug(user);
        let between = if slug.is_empty() { "" } else { "-" };
        format!("{PREFIX}{slug}{between}{}", hash(&[&self.namespace, &self.name, user]))
    }
}

/// `<namespace>/<name>`, as people write it.
impl std::fmt::Display for Owner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

/// What is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its name.
    pub name: String,
    /// Which one of that name.
    pub uid: String,
    /// The value of our label.
    pub mark: Option<String>,
    /// Somebody deletes it, and something still holds it.
    pub is_leaving: bool,
    /// What it grants.
    pub role: Role,
    /// To whom.
    pub subjects: Vec<Subject>,
}

/// What a binding grants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Its API group.
    pub api_group: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// To whom a binding grants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The API group.
    pub api_group: String,
    /// `User`, `Group`, `ServiceAccount`.
    pub kind: String,
    /// The namespace, of a ServiceAccount.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

impl Found {
    /// Whether it makes this user an administrator, and nobody else anything.
    pub fn grants(&self, user: &str) -> bool {
        let Role { api_group, kind, name } = &self.role;
        let role_fits = api_group == API_GROUP && kind == "ClusterRole" && name == ROLE;
        role_fits
            && matches!(
                self.subjects.as_slice(),
                [Subject { api_group, kind, namespace: None, name }]
                    if api_group == API_GROUP && kind == "User" && name == user
            )
    }
}

/// What to do: first remove, then put. What is replaced is in both, since the role of a binding cannot be changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Bindings to make.
    pub put: Vec<Put>,
    /// Bindings to delete.
    pub remove: Vec<Remove>,
}

/// A binding to make.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Put {
    /// Its name.
    pub name: String,
    /// Whom it makes an administrator.
    pub user: String,
}

/// A binding to delete.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Remove {
    /// Its name.
    pub name: String,
    /// Only this one, and not one of the same name that came after it.
    pub uid: String,
}

impl Plan {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.put.is_empty() && self.remove.is_empty()
    }
}

/// Compares the administrators that a Cluster has with the bindings that are there.
pub fn plan(owner: &Owner, wanted: &[String], found: &[Found]) -> Plan {
    let users: BTreeSet<&str> = wanted.iter().map(String::as_str).filter(|user| !user.is_empty()).collect();
    let mut missing: BTreeMap<String, &str> =
        users.into_iter().map(|user| (owner.binding_name(user), user)).collect();
    let mark = owner.mark();
    let mut remove = Vec::new();
    for binding in found.iter().filter(|binding| is_ours(&mark, binding) && !binding.is_leaving) {
        let fits = missing.get(&binding.name).is_some_and(|user| binding.grants(user));
        if fits {
            missing.remove(&binding.name);
        } else {
            remove.push(Remove { name: binding.name.clone(), uid: binding.uid.clone() });
        }
    }
    remove.sort();
    let put = missing.into_iter().map(|(name, user)| Put { name, user: user.to_owned() }).collect();
    Plan { put, remove }
}

/// By the label and by the name.
fn is_ours(mark: &str, binding: &Found) -> bool {
    binding.mark.as_deref() == Some(mark)
        && binding.name.strip_prefix(PREFIX).is_some_and(|rest| {
            let hash = rest.rsplit('-').next().unwrap_or_default();
            hash.len() == HASH_LENGTH
                && hash.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'))
        })
}

/// Letters and digits, with one hyphen for whatever is between them.
fn slug(user: &str) -> String {
    let mut slug = String::new();
    for character in user.chars() {
        if slug.len() == SLUG_LENGTH {
            break;
        }
        match character.to_ascii_lowercase() {
            plain if plain.is_ascii_alphanumeric() => slug.push(plain),
            _ if slug.is_empty() || slug.ends_with('-') => {}
            _ => slug.push('-'),
        }
    }
    slug.truncate(slug.trim_end_matches('-').len());
    slug
}

/// Each part is preceded by its length, so that no two lists of parts are the same text.
fn hash(parts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part.as_bytes());
    }
    let mut text = String::new();
    for byte in digest.finalize().iter().take(HASH_LENGTH / 2) {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn owner() -> Owner {
        Owner::new("team", "prod")
    }

    /// The binding that a plan asks for, as it is there afterwards.
    fn made(put: &Put, number: usize) -> Found {
        Found {
            name: put.name.clone(),
            uid: format!("uid-{number}"),
            mark: Some(owner().mark()),
            is_leaving: false,
            role: Role { api_group: API_GROUP.into(), kind: "ClusterRole".into(), name: ROLE.into() },
            subjects: vec![Subject {
                api_group: API_GROUP.into(),
                kind: "User".into(),
                namespace: None,
                name: put.user.clone(),
            }],
        }
    }

    fn of(user: &str) -> Found {
        made(&Put { name: owner().binding_name(user), user: user.to_owned() }, 0)
    }

    fn names(users: &[&str]) -> Vec<String> {
        users.iter().map(|&user| user.to_owned()).collect()
    }

    fn apply(plan: &Plan, found: &mut Vec<Found>) {
        for removed in &plan.remove {
            let before = found.len();
            found.retain(|binding| (&binding.name, &binding.uid) != (&removed.name, &removed.uid));
            assert_eq!(found.len(), before - 1, "{removed:?}");
        }
        for (number, put) in plan.put.iter().enumerate() {
            assert!(found.iter().all(|binding| binding.name != put.name), "{put:?} is there already");
            found.push(made(put, 100 + number));
        }
    }

    #[test]
    fn names_are_readable_and_tell_users_and_clusters_apart() {
        let name = owner().binding_name("Jane.Doe@example.com");
        assert_eq!(name, format!("allotment-admin-jane-doe-example-com-{}", &name[name.len() - 32..]));
        assert_eq!(owner().binding_name("ü"), format!("allotment-admin-{}", hash(&["team", "prod", "ü"])));
        let long = owner().binding_name(&"x".repeat(253));
        assert_eq!(long.len(), PREFIX.len() + SLUG_LENGTH + 1 + HASH_LENGTH);
        let different = [
            name,
            long,
            owner().binding_name("jane.doe@example.com"),
            owner().binding_name("jane-doe@example.com"),
            Owner::new("team", "prod2").binding_name("Jane.Doe@example.com"),
            Owner::new("teamp", "rod").binding_name("Jane.Doe@example.com"),
        ];
        assert_eq!(BTreeSet::from(different).len(), 6);
    }

    #[test]
    fn the_mark_can_be_the_value_of_a_label() {
        assert_eq!(crate::label::check(&Owner::new("n".repeat(63), "c".repeat(253)).mark()), Ok(()));
    }

    #[test]
    fn everybody_gets_one_binding_however_often_they_are_listed() {
        let plan = plan(&owner(), &names(&["a", "b", "a", ""]), &[]);
        let mut users: Vec<&str> = plan.put.iter().map(|put| put.user.as_str()).collect();
        users.sort_unstable();
        assert_eq!(users, ["a", "b"]);
        assert_eq!(plan.remove, []);
    }

    #[test]
    fn whoever_is_no_longer_listed_loses_it_and_the_others_stay() {
        let plan = plan(&owner(), &names(&["a"]), &[of("a"), of("b")]);
        assert_eq!(plan.put, []);
        assert_eq!(plan.remove, [Remove { name: owner().binding_name("b"), uid: "uid-0".into() }]);
    }

    #[test]
    fn a_binding_of_ours_that_was_changed_is_replaced() {
        type Change = fn(&mut Found);
        let changes: [(&str, Change); 7] = [
            ("role", |found| found.role.name = "view".into()),
            ("kind of role", |found| found.role.kind = "Role".into()),
            ("user", |found| found.subjects[0].name = "b".into()),
            ("kind of subject", |found| found.subjects[0].kind = "Group".into()),
            ("namespace", |found| found.subjects[0].namespace = Some("default".into())),
            ("one more", |found| found.subjects.push(found.subjects[0].clone())),
            ("nobody", |found| found.subjects.clear()),
        ];
        for (what, change) in changes {
            let mut binding = of("a");
            change(&mut binding);
            let plan = plan(&owner(), &names(&["a"]), &[binding]);
            assert_eq!((plan.put.len(), plan.remove.len()), (1, 1), "{what}");
            assert_eq!(plan.put[0].name, plan.remove[0].name, "{what}");
        }
    }

    #[test]
    fn bindings_of_others_are_left_alone() {
        let mut unlabelled = of("b");
        unlabelled.mark = None;
        let mut of_another_cluster = of("b");
        of_another_cluster.mark = Some(Owner::new("team", "test").mark());
        let mut renamed = of("b");
        renamed.name = "cluster-admin".into();
        let mut almost = of("b");
        almost.name = "allotment-admin-b".into();
        let mut leaving = of("b");
        leaving.is_leaving = true;
        for other in [unlabelled, of_another_cluster, renamed, almost, leaving] {
            assert!(plan(&owner(), &[], std::slice::from_ref(&other)).is_empty(), "{other:?}");
        }
    }

    fn user() -> impl Strategy<Value = String> {
        prop_oneof!["[a-c]", "[A-C.@]{1,3}", ".{0,60}"]
    }

    fn binding() -> impl Strategy<Value = Found> {
        (user(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
            |(user, marked, scheme, role, subject)| {
                let mut found = of(&user);
                if !marked {
                    found.mark = None;
                }
                if !scheme {
                    found.name = format!("other-{user}");
                }
                if !role {
                    found.role.name = "edit".into();
                }
                if !subject {
                    found.subjects[0].name.push('x');
                }
                found
            },
        )
    }

    proptest! {
        #[test]
        fn after_a_plan_there_is_nothing_to_do_and_others_are_as_they_were(
            wanted in prop::collection::vec(user(), 0..6),
            there in prop::collection::vec(binding(), 0..6),
        ) {
            let mut found: Vec<Found> = there;
            found.sort_by(|one, other| one.name.cmp(&other.name));
            found.dedup_by(|one, other| one.name == other.name);
            // What carries a name of ours without our label is in the way; that is told, not planned.
            found.retain(|binding| binding.mark.is_some() || !binding.name.starts_with(PREFIX));
            let others: Vec<Found> =
                found.iter().filter(|binding| !is_ours(&owner().mark(), binding)).cloned().collect();
            let first = plan(&owner(), &wanted, &found);
            apply(&first, &mut found);
            prop_assert_eq!(plan(&owner(), &wanted, &found), Plan::default());
            for other in &others {
                prop_assert!(found.contains(other));
            }
            let users: BTreeSet<&String> = wanted.iter().filter(|user| !user.is_empty()).collect();
            for user in &users {
                prop_assert_eq!(found.iter().filter(|binding| binding.grants(user) && !others.contains(binding)).count(), 1);
            }
            prop_assert_eq!(found.len(), others.len() + users.len());
        }
    }
}
