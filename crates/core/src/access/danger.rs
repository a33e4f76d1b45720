//! Ways from a rule to cluster-admin, or past the end of the access, as far as the rule alone shows them.
//!
//! The table is the whole knowledge: [`danger`] compares a rule with it, and `docs/kubeconfigs.md` lists the same rows, which a
//! test compares. Rows match generously: a wildcard contains what it could match, case does not matter, `pods/*` and `*/*` count
//! as wildcards although RBAC does not read them so, and `resourceNames` never make a rule safe: a ClusterRole means the object of
//! that name in every namespace.

use allotment_api::rbac::PolicyRule;

/// All of something.
pub(super) const ALL: &str = "*";

const WRITE: &[&str] = &["create", "update", "patch"];
const RBAC: &[&str] = &["rbac.authorization.k8s.io"];

/// Where rules apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In the whole cluster.
    ClusterRole,
    /// In one namespace, which is neither the system's nor ours.
    Role,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Danger {
    /// What is asked for, as the docs name it.
    pub what: &'static str,
    /// Why it is dangerous.
    pub why: &'static str,
    /// Whether it is dangerous in a Role, too.
    pub in_role: bool,
    pattern: Pattern,
}

#[derive(Clone, Copy, Debug)]
enum Pattern {
    /// These verbs on these resources of these groups.
    Resources {
        groups: &'static [&'static str],
        resources: &'static [&'static str],
        verbs: &'static [&'static str],
    },
    /// A verb that begins like this, whatever it is on; and a wildcard verb on these resources, in any group.
    Verb { start: &'static str, on: &'static [&'static str] },
    /// Every verb on every resource of any group.
    Everything,
    /// Every resource of this group.
    EveryResource { group: &'static str },
    /// Every verb on this resource of the core group.
    EveryVerb { resource: &'static str },
    /// Paths that begin like this.
    Paths(&'static [&'static str]),
}

const fn in_cluster_role(what: &'static str, why: &'static str, pattern: Pattern) -> Danger {
    Danger { what, why, in_role: false, pattern }
}

const fn anywhere(what: &'static str, why: &'static str, pattern: Pattern) -> Danger {
    Danger { what, why, in_role: true, pattern }
}

const fn resources(
    groups: &'static [&'static str],
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
) -> Pattern {
    Pattern::Resources { groups, resources, verbs }
}

/// All of them. The first that matches is reported, so that the most telling come first.
pub const DANGERS: &[Danger] = &[
    anywhere(
        "every verb (`*`) on every resource (`*`)",
        "the wildcards contain verbs that hand out more rights; name the verbs or the resources",
        Pattern::Everything,
    ),
    anywhere(
        "`bind`",
        "it binds roles with more rights than their binder has",
        Pattern::Verb { start: "bind", on: &["roles", "clusterroles"] },
    ),
    anywhere(
        "`escalate`",
        "it writes roles with more rights than their writer has",
        Pattern::Verb { start: "escalate", on: &["roles", "clusterroles"] },
    ),
    anywhere(
        "`impersonate`",
        "it acts as another user, or as the group system:masters",
        Pattern::Verb {
            start: "impersonate",
            on: &["users", "groups", "uids", "userextras", "serviceaccounts"],
        },
    ),
    anywhere(
        "`create` on `serviceaccounts/token`",
        "it gives tokens of other ServiceAccounts",
        resources(&[""], &["serviceaccounts/token"], &["create"]),
    ),
    anywhere(
        "every resource (`*`) of the core group",
        "the wildcard contains Secrets; name the resources",
        Pattern::EveryResource { group: "" },
    ),
    anywhere(
        "every verb (`*`) on `secrets`",
        "the wildcard contains deleting all of them at once; name the verbs",
        Pattern::EveryVerb { resource: "secrets" },
    ),
    in_cluster_role(
        "reading `secrets`",
        "credentials of system components are in kube-system",
        resources(&[""], &["secrets"], &["get", "list", "watch"]),
    ),
    in_cluster_role(
        "writing `secrets`",
        "a Secret of the type kubernetes.io/service-account-token receives a token of any ServiceAccount, which does not expire",
        resources(&[""], &["secrets"], WRITE),
    ),
    in_cluster_role(
        "deleting `secrets`",
        "credentials of system components, and tokens that others were given, are among them",
        resources(&[""], &["secrets"], &["delete", "deletecollection"]),
    ),
    in_cluster_role(
        "writing `configmaps`",
        "ConfigMaps in kube-system configure DNS and, on some clouds, name the administrators",
        resources(&[""], &["configmaps"], WRITE),
    ),
    in_cluster_role(
        "writing `pods`, `podtemplates`, `replicationcontrollers`",
        "a pod in kube-system runs with the rights of a system component, or on the file system of a node",
        resources(&[""], &["pods", "podtemplates", "replicationcontrollers"], WRITE),
    ),
    in_cluster_role(
        "writing `deployments`, `daemonsets`, `statefulsets`, `replicasets`, `controllerrevisions`",
        "they make pods in kube-system",
        resources(
            &["apps", "extensions"],
            &["deployments", "daemonsets", "statefulsets", "replicasets", "controllerrevisions"],
            WRITE,
        ),
    ),
    in_cluster_role(
        "writing `jobs`, `cronjobs`",
        "they make pods in kube-system",
        resources(&["batch"], &["jobs", "cronjobs"], WRITE),
    ),
    in_cluster_role(
        "`pods/exec`, `pods/attach`",
        "a command in a system component's pod has its rights",
        resources(&[""], &["pods/exec", "pods/attach"], &["create", "get"]),
    ),
    in_cluster_role(
        "writing `pods/ephemeralcontainers`",
        "a container in a system component's pod has its rights",
        resources(&[""], &["pods/ephemeralcontainers"], WRITE),
    ),
    in_cluster_role(
        "`pods/portforward`, `pods/proxy`, `services/proxy`",
        "ports of system components trust who reaches them",
        resources(
            &[""],
            &["pods/portforward", "pods/proxy", "services/proxy"],
            &["create", "get", "update", "patch", "delete"],
        ),
    ),
    in_cluster_role(
        "`nodes/proxy`",
        "a kubelet runs commands in every pod of its node",
        resources(&[""], &["nodes/proxy"], &["create", "get", "update", "patch", "delete"]),
    ),
    in_cluster_role(
        "writing `nodes/status`",
        "the API server takes from it where a kubelet is, and connects there with credentials of its own",
        resources(&[""], &["nodes/status"], &["update", "patch"]),
    ),
    in_cluster_role(
        "creating `nodes`",
        "a new node brings its status along",
        resources(&[""], &["nodes"], &["create"]),
    ),
    in_cluster_role(
        "writing `persistentvolumes`",
        "a volume with a hostPath is the file system of a node",
        resources(&[""], &["persistentvolumes"], WRITE),
    ),
    in_cluster_role(
        "changing `namespaces`, `namespaces/status`, `namespaces/finalize`",
        "their labels lift pod security",
        resources(&[""], &["namespaces", "namespaces/status", "namespaces/finalize"], &["update", "patch"]),
    ),
    in_cluster_role(
        "writing `validatingwebhookconfigurations`, `mutatingwebhookconfigurations`",
        "a webhook receives every Secret that is written, and changes what others write",
        resources(
            &["admissionregistration.k8s.io"],
            &["validatingwebhookconfigurations", "mutatingwebhookconfigurations"],
            WRITE,
        ),
    ),
    in_cluster_role(
        "writing `mutatingadmissionpolicies`, `mutatingadmissionpolicybindings`",
        "a policy changes what others write",
        resources(
            &["admissionregistration.k8s.io"],
            &["mutatingadmissionpolicies", "mutatingadmissionpolicybindings"],
            WRITE,
        ),
    ),
    in_cluster_role(
        "`certificatesigningrequests/approval`, `/status`, `/nodeclient`, `/selfnodeclient`",
        "a certificate for system:masters, or for a node, is a login",
        resources(
            &["certificates.k8s.io"],
            &[
                "certificatesigningrequests/approval",
                "certificatesigningrequests/status",
                "certificatesigningrequests/nodeclient",
                "certificatesigningrequests/selfnodeclient",
            ],
            WRITE,
        ),
    ),
    in_cluster_role(
        "`approve`, `sign`, `attest` on `signers`",
        "whoever signs certificates can sign one for system:masters",
        resources(&["certificates.k8s.io"], &["signers"], &["approve", "sign", "attest"]),
    ),
    in_cluster_role(
        "writing `customresourcedefinitions`",
        "a conversion webhook receives and changes every object of its kind",
        resources(&["apiextensions.k8s.io"], &["customresourcedefinitions"], WRITE),
    ),
    in_cluster_role(
        "writing `openidconnects`, `clusteropenidconnects`",
        "a new issuer is a login as anybody",
        resources(&["authentication.gardener.cloud"], &["openidconnects", "clusteropenidconnects"], WRITE),
    ),
    in_cluster_role(
        "writing `apiservices`",
        "the API server sends the requests of a whole group elsewhere, with who made them",
        resources(&["apiregistration.k8s.io"], &["apiservices"], WRITE),
    ),
    in_cluster_role(
        "writing `roles`, `clusterroles`, `rolebindings`, `clusterrolebindings`",
        "rights that are handed on to somebody else do not end with this access",
        resources(RBAC, &["roles", "clusterroles", "rolebindings", "clusterrolebindings"], WRITE),
    ),
    in_cluster_role(
        "the paths `/debug/`, `/logs`, and wildcards that contain them",
        "they show memory and logs of the API server",
        Pattern::Paths(&["/debug/", "/logs"]),
    ),
];

/// The first row that a rule matches, if any. The rule has one verb, and one resource of one group or one path.
pub fn danger(part: &PolicyRule, scope: Scope) -> Option<&'static Danger> {
    let word = |list: &[String]| list.first().map(|word| word.to_ascii_lowercase());
    let verb = word(&part.verbs)?;
    let (group, resource, path) =
        (word(&part.api_groups), word(&part.resources), part.non_resource_urls.first());
    let matches = |pattern: &Pattern| match (pattern, &group, &resource, path) {
        (Pattern::Paths(starts), _, _, Some(path)) => starts.iter().any(|start| path_overlaps(path, start)),
        (Pattern::Verb { start, .. }, _, _, _) if verb.starts_with(start) => true,
        (Pattern::Verb { on, .. }, _, Some(resource), _) => {
            // Impersonation also knows subresources: `userextras/scopes`.
            let parent = resource.split('/').next().unwrap_or_default();
            verb == ALL && on.contains(&parent)
        }
        (Pattern::Everything, _, Some(resource), _) => {
            verb == ALL && matches!(resource.as_str(), ALL | "*/*")
        }
        (Pattern::EveryResource { group: own }, Some(group), Some(resource), _) => {
            resource == ALL && group_overlaps(group, own)
        }
        (Pattern::EveryVerb { resource: own }, Some(group), Some(resource), _) => {
            verb == ALL && group_overlaps(group, "") && resource_overlaps(resource, own)
        }
        (Pattern::Resources { groups, resources, verbs }, Some(group), Some(resource), _) => {
            (verb == ALL || verbs.contains(&verb.as_str()))
                && groups.iter().any(|own| group_overlaps(group, own))
                && resources.iter().any(|own| resource_overlaps(resource, own))
        }
        _ => false,
    };
    DANGERS
        .iter()
        .filter(|danger| danger.in_role || scope == Scope::ClusterRole)
        .find(|it| matches(&it.pattern))
}

fn group_overlaps(asked: &str, own: &str) -> bool {
    asked == ALL || asked == own
}

/// Whether a resource in a rule could mean this one. As in RBAC, a resource does not contain its subresources, but `*` does.
fn resource_overlaps(asked: &str, own: &str) -> bool {
    let overlaps = |asked: &str, own: &str| asked == ALL || asked == own;
    match (asked.split_once('/'), own.split_once('/')) {
        (None, _) => overlaps(asked, own),
        (Some((asked, asked_sub)), Some((own, own_sub))) => {
            overlaps(asked, own) && overlaps(asked_sub, own_sub)
        }
        (Some(_), None) => false,
    }
}

/// Whether a path in a rule, with or without `*` at its end, takes in a path that begins like this.
fn path_overlaps(asked: &str, start: &str) -> bool {
    asked.starts_with(start)
        || asked.strip_suffix('*').is_some_and(|stem| start.starts_with(stem))
        || start.trim_end_matches('/') == asked
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn what(group: &str, resource: &str, verb: &str, scope: Scope) -> Option<&'static str> {
        let rule = json!({"apiGroups": [group], "resources": [resource], "verbs": [verb]});
        danger(&serde_json::from_value(rule).unwrap(), scope).map(|danger| danger.what)
    }

    /// Each resource of each row, by name and by every wildcard that contains it.
    #[test]
    fn every_row_is_found_by_name_and_by_wildcard() {
        for danger in DANGERS {
            let Pattern::Resources { groups, resources, verbs } = danger.pattern else { continue };
            for (group, resource, verb) in groups
                .iter()
                .flat_map(|group| resources.iter().map(move |resource| (group, resource)))
                .flat_map(|(group, resource)| verbs.iter().map(move |verb| (group, resource, verb)))
            {
                let mut asked = vec![
                    (group.to_string(), resource.to_string(), verb.to_string()),
                    ("*".to_owned(), resource.to_string(), verb.to_string()),
                    (group.to_string(), "*".to_owned(), verb.to_string()),
                    (group.to_string(), resource.to_string(), "*".to_owned()),
                    (group.to_string(), resource.to_ascii_uppercase(), verb.to_ascii_uppercase()),
                    ("*".to_owned(), "*".to_owned(), "*".to_owned()),
                ];
                if let Some((parent, subresource)) = resource.split_once('/') {
                    asked.push((group.to_string(), format!("*/{subresource}"), verb.to_string()));
                    asked.push((group.to_string(), format!("{parent}/*"), verb.to_string()));
                    asked.push((group.to_string(), "*/*".to_owned(), verb.to_string()));
                }
                for (group, resource, verb) in asked {
                    let found = what(&group, &resource, &verb, Scope::ClusterRole);
                    assert!(found.is_some(), "{verb} {resource} of {group:?}: {}", danger.what);
                    if danger.in_role {
                        assert!(what(&group, &resource, &verb, Scope::Role).is_some(), "{}", danger.what);
                    }
                }
            }
        }
    }

    #[test]
    fn workloads_and_commands_are_a_namespaces_own_business() {
        for (group, resource, verb) in [
            ("", "pods", "create"),
            ("", "pods", "*"),
            ("", "pods/exec", "create"),
            ("", "*/exec", "create"),
            ("apps", "*", "create"),
            ("apps", "deployments", "*"),
            ("batch", "jobs", "create"),
            ("", "secrets", "create"),
            ("*", "secrets", "get"),
            ("", "configmaps", "*"),
            ("rbac.authorization.k8s.io", "rolebindings", "create"),
        ] {
            assert!(what(group, resource, verb, Scope::ClusterRole).is_some(), "{verb} {resource}");
            assert_eq!(what(group, resource, verb, Scope::Role), None, "{verb} {resource}");
        }
    }

    #[test]
    fn what_hands_out_more_is_dangerous_in_every_namespace() {
        for (group, resource, verb) in [
            ("rbac.authorization.k8s.io", "roles", "bind"),
            ("rbac.authorization.k8s.io", "roles", "*"),
            ("rbac.authorization.k8s.io", "*", "*"),
            ("rbac.authorization.k8s.io", "clusterroles", "escalate"),
            ("", "users", "impersonate"),
            ("", "serviceaccounts", "*"),
            ("authentication.k8s.io", "userextras/scopes", "impersonate"),
            ("authentication.k8s.io", "userextras/scopes", "*"),
            ("apps", "*", "*"),
            ("authentication.k8s.io", "users", "impersonate:user-info"),
            ("authentication.k8s.io", "nodes", "impersonate-on:user-info:get"),
            ("", "serviceaccounts/token", "create"),
            ("", "*/token", "create"),
            ("", "serviceaccounts/*", "create"),
            ("", "*", "get"),
            ("*", "*", "list"),
            ("", "secrets", "*"),
            ("", "Secrets", "*"),
        ] {
            for scope in [Scope::ClusterRole, Scope::Role] {
                assert!(what(group, resource, verb, scope).is_some(), "{verb} {resource} of {group}");
            }
        }
    }

    #[test]
    fn what_leads_nowhere_is_allowed() {
        for (group, resource, verb) in [
            ("", "pods", "get"),
            ("", "pods", "delete"),
            ("", "pods/log", "get"),
            ("", "*/log", "get"),
            ("", "pods/eviction", "create"),
            ("", "nodes", "list"),
            ("", "configmaps", "list"),
            ("", "namespaces", "create"),
            ("apps", "*", "get"),
            ("apps", "deployments/scale", "patch"),
            ("metrics.k8s.io", "pods", "*"),
            ("example.com", "secrets", "*"),
            ("example.com", "jobs", "create"),
            ("certificates.k8s.io", "certificatesigningrequests", "create"),
            ("authorization.k8s.io", "selfsubjectaccessreviews", "create"),
        ] {
            assert_eq!(what(group, resource, verb, Scope::ClusterRole), None, "{verb} {resource} of {group}");
        }
    }

    #[test]
    fn names_of_objects_make_nothing_safe() {
        let rule =
            json!({"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["mine"], "verbs": ["get"]});
        assert!(danger(&serde_json::from_value(rule).unwrap(), Scope::ClusterRole).is_some());
    }

    #[test]
    fn paths_are_dangerous_where_they_take_in_what_is_inside_the_server() {
        for (path, is_dangerous) in [
            ("*", true),
            ("/*", true),
            ("/debug/pprof/heap", true),
            ("/debug", true),
            ("/deb*", true),
            ("/debug/*", true),
            ("/logs", true),
            ("/logs/*", true),
            ("/healthz", false),
            ("/healthz/*", false),
            ("/metrics", false),
            ("/apis/*", false),
        ] {
            let rule = json!({"nonResourceURLs": [path], "verbs": ["get"]});
            let found = danger(&serde_json::from_value(rule).unwrap(), Scope::ClusterRole);
            assert_eq!(found.is_some(), is_dangerous, "{path}");
        }
    }

    /// The docs have the same table, row by row.
    #[test]
    fn the_docs_list_every_row() {
        let docs = include_str!("../../../../docs/kubeconfigs.md");
        for danger in DANGERS {
            let scope = if danger.in_role { "everywhere" } else { "ClusterRole" };
            let row = format!("| {} | {scope} | {} |", danger.what, danger.why);
            assert!(docs.contains(&row), "docs/kubeconfigs.md lacks the row\n{row}");
        }
        let rows =
            docs.lines().filter(|line| line.contains("| ClusterRole |") || line.contains("| everywhere |"));
        assert_eq!(rows.count(), DANGERS.len(), "docs/kubeconfigs.md has a row that is not in the table");
    }
}
