//! What is done about a Landscape, and what its status says.

use super::status::{Finding, report};
use allotment_api::openmcp::{
    gardener::{
        Landscape, LandscapeProject, LandscapeStatus,
        names::{PROJECT_CONDITION_PREFIX, ProviderCondition, Reason, finalizer},
    },
    names::{Operation, annotation},
};
use jiff::Timestamp;
use std::collections::BTreeMap;

/// What came of logging in.
#[derive(Clone, Copy, Debug)]
pub enum Login<'a> {
    /// Nobody has tried yet.
    NotYet,
    /// It cannot be done.
    Refused(&'a str),
    /// The garden does not answer. It may in a moment, so what is known of it stays.
    Away(&'a str),
    /// It works, or did until just now.
    Done {
        /// The address of the garden.
        server: &'a str,
        /// The namespaces of the projects that can be used.
        projects: &'a BTreeMap<String, String>,
        /// Why a project that somebody names cannot be used.
        refused: &'a BTreeMap<String, String>,
        /// Why the garden could not be asked the last time.
        trouble: Option<&'a str>,
    },
}

/// What is known.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The Landscape.
    pub landscape: &'a Landscape,
    /// What came of logging in.
    pub login: Login<'a>,
    /// The ProviderConfigs that refer to it.
    pub configs: &'a [String],
    /// Now.
    pub now: Timestamp,
}

/// What is done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing at all, not even a status.
    Leave,
    /// Take the operation's annotation off, and log in again.
    Unmark,
    /// Put our finalizer on.
    Hold,
    /// Take our finalizer off.
    LetGo,
    /// Nothing, until something changes.
    Rest,
}

/// Decides what is done next, and what the status says if that is the last thing.
pub fn decide(view: &View<'_>) -> (Step, LandscapeStatus) {
    let metadata = &view.landscape.metadata;
    let before = view.landscape.status.clone().unwrap_or_default();
    let operation = metadata.annotations.as_ref().and_then(|all| all.get(annotation::OPERATION));
    let is_marked = |wanted: Operation| operation.map(String::as_str) == Some(wanted.as_str());
    let finalizers = metadata.finalizers.as_deref().unwrap_or_default();
    let is_held = finalizers.iter().any(|name| name == finalizer::LANDSCAPE);
    let is_ending = metadata.deletion_timestamp.is_some();
    let step = match is_held {
        _ if is_marked(Operation::Ignore) => return (Step::Leave, before),
        _ if is_marked(Operation::Reconcile) => return (Step::Unmark, before),
        false if is_ending => return (Step::Leave, before),
        false => Step::Hold,
        true if is_ending && view.configs.is_empty() => Step::LetGo,
        true => Step::Rest,
    };
    (step, status(view, is_ending))
}

fn status(view: &View<'_>, is_ending: bool) -> LandscapeStatus {
    let landscape = view.landscape;
    let mut before = landscape.status.clone().unwrap_or_default();
    let (mut findings, access) = (
        vec![Finding::holds(ProviderCondition::Meta.as_str())],
        ProviderCondition::GardenClusterAccess.as_str(),
    );
    let (mut api_server, mut projects) = (before.api_server, before.projects);
    match view.login {
        Login::NotYet => {
            let is_new = !before.common.conditions.iter().any(|condition| condition.type_ == access);
            let reason = Reason::GardenClusterInteractionProblem.as_str();
            let finding = Finding::fails(access, reason, "nobody has logged in yet");
            findings.extend(Some(finding).filter(|_| is_new));
        }
        Login::Refused(why) => {
            findings.push(Finding::fails(access, Reason::KubeconfigError.as_str(), why));
            (api_server, projects) = (String::new(), Vec::new());
            before
                .common
                .conditions
                .retain(|condition| !condition.type_.starts_with(PROJECT_CONDITION_PREFIX));
        }
        Login::Away(why) => {
            findings.push(Finding::fails(access, Reason::GardenClusterInteractionProblem.as_str(), why));
        }
        Login::Done { server, projects: usable, refused, trouble } => {
            findings.push(match trouble {
                None => Finding::holds(access),
                Some(why) => Finding::fails(access, Reason::GardenClusterInteractionProblem.as_str(), why),
            });
            server.clone_into(&mut api_server);
            projects = usable
                .iter()
                .map(|(name, namespace)| LandscapeProject {
                    name: name.clone(),
                    namespace: namespace.clone(),
                })
                .collect();
            let of = |name: &str| format!("{PROJECT_CONDITION_PREFIX}{name}");
            // A project that nobody may use, and nobody wants to, is not worth a word.
            before.common.conditions.retain(|condition| {
                let name = condition.type_.strip_prefix(PROJECT_CONDITION_PREFIX);
                name.is_none_or(|name| usable.contains_key(name) || refused.contains_key(name))
            });
            let reason = Reason::ProjectAvailable.as_str();
            findings.extend(usable.iter().map(|(name, namespace)| {
                Finding::holds(of(name)).because(reason, format!("its namespace is {namespace}"))
            }));
            let reason = Reason::InvalidProject.as_str();
            findings.extend(refused.iter().map(|(name, why)| Finding::fails(of(name), reason, why)));
        }
    }
    if is_ending && !view.configs.is_empty() {
        let message = format!("ProviderConfigs still refer to it: {}", view.configs.join(", "));
        let reason = Reason::WaitingForDeletion.as_str();
        findings.push(Finding::fails(ProviderCondition::LandscapeManagement.as_str(), reason, message));
    }
    let common = report(&landscape.metadata, Some(&before.common), findings, view.now);
    LandscapeStatus { common, api_server, projects }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn landscape(metadata: Value) -> Landscape {
        let mut landscape = json!({
            "apiVersion": "gardener.clusters.openmcp.cloud/v1alpha1", "kind": "Landscape",
            "metadata": {"name": "l", "generation": 1}, "spec": {"access": {}},
        });
        for (key, value) in metadata.as_object().unwrap() {
            landscape["metadata"][key] = value.clone();
        }
        serde_json::from_value(landscape).unwrap()
    }

    fn decided(landscape: &Landscape, login: Login<'_>, configs: &[&str]) -> (Step, LandscapeStatus) {
        let configs: Vec<String> = configs.iter().map(|name| (*name).to_owned()).collect();
        let now = Timestamp::UNIX_EPOCH;
        decide(&View { landscape, login, configs: &configs, now })
    }

    fn held() -> Value {
        json!({"finalizers": [finalizer::LANDSCAPE]})
    }

    #[test]
    fn what_can_be_used_is_told() {
        let projects = BTreeMap::from([("a".to_owned(), "garden-a".to_owned())]);
        let refused = BTreeMap::from([("b".to_owned(), "no such".to_owned())]);
        let login =
            |trouble| Login::Done { server: "https://g", projects: &projects, refused: &refused, trouble };
        let mut one = landscape(held());
        let (step, status) = decided(&one, login(None), &["c"]);
        assert_eq!((step, status.common.phase.as_str()), (Step::Rest, "Progressing"));
        assert_eq!((status.api_server.as_str(), status.projects.len()), ("https://g", 1));
        let types: Vec<&str> = status.common.conditions.iter().map(|it| it.type_.as_str()).collect();
        assert_eq!(types, ["GardenClusterAccess", "Meta", "Project_a", "Project_b"]);
        one.status = Some(status);
        let nothing = BTreeMap::new();
        let good = Login::Done { server: "https://g", projects: &projects, refused: &nothing, trouble: None };
        assert_eq!(decided(&one, good, &[]).1.common.phase, "Ready", "nobody wants b any more");
        let (_, status) = decided(&one, login(Some("away")), &["c"]);
        assert_eq!(status.projects.len(), 1, "it may be back in a moment");
    }

    #[test]
    fn g10_a_login_that_cannot_work_is_told_and_offers_nothing() {
        let (step, status) = decided(&landscape(held()), Login::Refused("users[0].user.exec"), &[]);
        assert_eq!((step, status.common.phase.as_str()), (Step::Rest, "Progressing"));
        assert_eq!(status.common.conditions[0].reason, "KubeconfigError");
        assert!(status.projects.is_empty() && status.api_server.is_empty());
    }

    #[test]
    fn g22_deletion_waits_for_who_refers_to_it_and_comes_to_an_end() {
        let ending = landscape(
            json!({"finalizers": [finalizer::LANDSCAPE], "deletionTimestamp": "2026-01-01T00:00:00Z"}),
        );
        let (step, status) = decided(&ending, Login::NotYet, &["c"]);
        assert_eq!((step, status.common.phase.as_str()), (Step::Rest, "Terminating"));
        assert!(status.common.conditions.iter().any(|it| it.message.ends_with("refer to it: c")));
        assert_eq!(decided(&ending, Login::Refused("x"), &[]).0, Step::LetGo, "also if it never worked");
    }

    #[test]
    fn people_have_a_say() {
        let marked = |value: &str| landscape(json!({"annotations": {"openmcp.cloud/operation": value}}));
        assert_eq!(decided(&marked("ignore"), Login::NotYet, &[]).0, Step::Leave);
        assert_eq!(decided(&marked("reconcile"), Login::NotYet, &[]).0, Step::Unmark);
        assert_eq!(decided(&landscape(json!({})), Login::NotYet, &[]).0, Step::Hold);
    }
}
