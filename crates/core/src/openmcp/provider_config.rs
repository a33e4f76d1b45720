//! What is done about a ProviderConfig, and what its status says.

use super::{
    instance::Instance,
    profiles::{Offer, offer},
    status::{Finding, report},
};
use allotment_api::{
    gardener::CloudProfileSpec,
    openmcp::{
        ClusterProfile, ClusterProfileSpec,
        gardener::{
            ProviderConfig, ProviderConfigStatus,
            names::{ProviderCondition, Reason, finalizer},
        },
        names::{Operation, Reason as CommonReason, annotation},
    },
};
use jiff::Timestamp;
use serde_json::Value;
use std::time::Duration;

/// How many of the Clusters that are in the way a message names.
const LISTED: usize = 5;

/// What the platform refuses may be taken later; nothing tells us.
const AFTER_REFUSAL: Duration = Duration::from_mins(5);

/// Where a Shoot's cloud is described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloudProfileName {
    /// Whether it is the project's own.
    pub is_namespaced: bool,
    /// Its name.
    pub name: String,
}

/// The CloudProfile that the template of a ProviderConfig names.
pub fn cloud_profile_of(config: &ProviderConfig) -> Option<CloudProfileName> {
    let spec = config.spec.shoot_template.get("spec")?;
    let text = |pointer: &str| spec.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    match text("/cloudProfile/name") {
        Some(name) => Some(CloudProfileName {
            is_namespaced: text("/cloudProfile/kind") == Some("NamespacedCloudProfile"),
            name: name.to_owned(),
        }),
        None => text("/cloudProfileName")
            .map(|name| CloudProfileName { is_namespaced: false, name: name.to_owned() }),
    }
}

/// What is known of the CloudProfile.
#[derive(Clone, Copy, Debug)]
pub enum Cloud<'a> {
    /// The garden was not asked yet, or is away: what was offered before stays.
    NotYet,
    /// It is not there.
    Missing,
    /// It is.
    Known(&'a CloudProfileSpec),
}

/// What is known.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Which provider this is.
    pub instance: &'a Instance,
    /// The ProviderConfig.
    pub config: &'a ProviderConfig,
    /// Whether its project can be used; else reason and message.
    pub place: Result<(), (&'a str, &'a str)>,
    /// Its CloudProfile.
    pub cloud: Cloud<'a>,
    /// The ClusterProfile of its name.
    pub profile: Option<&'a ClusterProfile>,
    /// Why the platform refuses the ClusterProfile, if it does.
    pub refusal: Option<&'a str>,
    /// The ClusterProfiles that this provider has made of it in other environments.
    pub elsewhere: &'a [String],
    /// The Clusters that use one of these, as `namespace/name`.
    pub clusters: &'a [String],
    /// Now.
    pub now: Timestamp,
}

/// What is done next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing at all, not even a status.
    Leave,
    /// Take the operation's annotation off.
    Unmark,
    /// Put our finalizer on.
    Hold,
    /// Write the ClusterProfile.
    Offer(String, ClusterProfileSpec),
    /// Delete the ClusterProfile.
    Withdraw(String),
    /// Take our finalizer off.
    LetGo,
    /// Nothing, until something changes.
    Rest,
}

/// What is decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// What is done next.
    pub step: Step,
    /// What the status says, if that is the last thing.
    pub status: ProviderConfigStatus,
    /// When to look again though nothing has changed: a version comes into another stage of its life.
    pub again: Option<Duration>,
}

/// Decides.
pub fn decide(view: &View<'_>) -> Decision {
    let metadata = &view.config.metadata;
    let leave = |step| Decision { step, status: view.config.status.clone().unwrap_or_default(), again: None };
    let operation = metadata.annotations.as_ref().and_then(|all| all.get(annotation::OPERATION));
    let is_marked = |wanted: Operation| operation.map(String::as_str) == Some(wanted.as_str());
    if view.config.spec.provider_ref.name != view.instance.provider || is_marked(Operation::Ignore) {
        return leave(Step::Leave);
    }
    if is_marked(Operation::Reconcile) {
        return leave(Step::Unmark);
    }
    let finalizers = metadata.finalizers.as_deref().unwrap_or_default();
    let is_held = finalizers.iter().any(|name| name == finalizer::PROVIDER_CONFIG);
    match (metadata.deletion_timestamp.is_some(), is_held) {
        (true, false) => leave(Step::Leave),
        (true, true) => ending(view),
        (false, false) => leave(Step::Hold),
        (false, true) => living(view),
    }
}

fn living(view: &View<'_>) -> Decision {
    let mut findings = vec![Finding::holds(ProviderCondition::Meta.as_str())];
    let landscape = ProviderCondition::LandscapeManagement.as_str();
    findings.push(match view.place {
        Ok(()) => Finding::holds(landscape),
        Err((reason, message)) => Finding::fails(landscape, reason, message),
    });
    let (cloud, managed) =
        (ProviderCondition::CloudProfile.as_str(), ProviderCondition::ClusterProfileManagement.as_str());
    let known = match (view.cloud, cloud_profile_of(view.config)) {
        (_, None) => {
            let message = "shootTemplate.spec.cloudProfile.name does not say which CloudProfile";
            findings.push(Finding::fails(cloud, Reason::UnknownCloudProfile.as_str(), message));
            None
        }
        (Cloud::Missing, Some(CloudProfileName { name, .. })) => {
            let message = format!("the garden has no CloudProfile {name}");
            findings.push(Finding::fails(cloud, Reason::UnknownCloudProfile.as_str(), message));
            None
        }
        (Cloud::NotYet, Some(_)) => {
            // What was said about it before stays, so that a restart or a garden that is away does not take anything back.
            if view.config.status.is_none() {
                let message = "the garden was not asked yet";
                let reason = Reason::GardenClusterInteractionProblem.as_str();
                findings.push(Finding::fails(cloud, reason, message));
            }
            None
        }
        (Cloud::Known(spec), Some(_)) => {
            findings.push(Finding::holds(cloud));
            Some(spec)
        }
    };
    // The first offer needs a project that can be used; a later one is for Clusters that are there.
    let is_usable = view.place.is_ok() || view.profile.is_some();
    let offered = known.filter(|_| is_usable).map(|spec| {
        let Instance { environment, provider } = view.instance;
        offer(environment, provider, view.config.metadata.name.as_deref().unwrap_or_default(), spec, view.now)
    });
    let (step, again) = match offered {
        None => {
            if view.profile.is_none() {
                let message = "there is no ClusterProfile until its project and its CloudProfile are known";
                findings.push(Finding::fails(managed, Reason::UnknownCloudProfile.as_str(), message));
            }
            (Step::Rest, None)
        }
        Some(Offer { name, spec, changes_at }) => {
            let wait = changes_at.map(|moment| moment.duration_since(view.now).unsigned_abs());
            let is_offered = view.profile.is_some_and(|profile| profile.spec == spec);
            match view.refusal {
                Some(why) if !is_offered => {
                    let reason = CommonReason::PlatformClusterInteractionProblem.as_str();
                    findings.push(Finding::fails(managed, reason, why));
                    (Step::Rest, Some(AFTER_REFUSAL))
                }
                _ => {
                    findings.push(Finding::holds(managed));
                    (if is_offered { Step::Rest } else { Step::Offer(name, spec) }, wait)
                }
            }
        }
    };
    Decision { step, status: status(view, findings), again }
}

fn ending(view: &View<'_>) -> Decision {
    let managed = ProviderCondition::ClusterProfileManagement.as_str();
    let reason = Reason::WaitingForDeletion.as_str();
    let waiting = |message: String| status(view, vec![Finding::fails(managed, reason, message)]);
    let name = view.instance.profile_name(view.config.metadata.name.as_deref().unwrap_or_default());
    let (step, status) = match (view.clusters, view.profile) {
        ([], None) if view.elsewhere.is_empty() => (Step::LetGo, waiting("nothing is left".to_owned())),
        ([], None) => {
            let named = view.elsewhere.join(", ");
            (Step::Rest, waiting(format!("other environments still offer ClusterProfile {named}")))
        }
        ([], Some(_)) => (Step::Withdraw(name), waiting("its ClusterProfile is being deleted".to_owned())),
        (clusters, _) => {
            let named = clusters[..clusters.len().min(LISTED)].join(", ");
            let count = clusters.len();
            (Step::Rest, waiting(format!("{count} Clusters still use it: {named}")))
        }
    };
    Decision { step, status, again: None }
}

fn status(view: &View<'_>, findings: Vec<Finding>) -> ProviderConfigStatus {
    let before = view.config.status.as_ref().map(|status| &status.common);
    ProviderConfigStatus { common: report(&view.config.metadata, before, findings, view.now) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    struct World {
        instance: Instance,
        config: ProviderConfig,
        cloud: CloudProfileSpec,
        profile: Option<ClusterProfile>,
        clusters: Vec<String>,
        elsewhere: Vec<String>,
        refusal: Option<&'static str>,
    }

    impl World {
        fn new() -> Self {
            let config = json!({
                "apiVersion": "gardener.clusters.openmcp.cloud/v1alpha1", "kind": "ProviderConfig",
                "metadata": {"name": "c", "generation": 1, "finalizers": [finalizer::PROVIDER_CONFIG]},
                "spec": {
                    "providerRef": {"name": "p"}, "landscapeRef": {"name": "l"}, "project": "x",
                    "shootTemplate": {"spec": {"cloudProfile": {"kind": "CloudProfile", "name": "aws"}}},
                },
            });
            let cloud = json!({"type": "aws", "kubernetes": {"versions": [
                {"version": "1.34.1", "lifecycle": [
                    {"classification": "supported"},
                    {"classification": "deprecated", "startTime": "2026-06-01T00:00:00Z"},
                ]},
            ]}});
            Self {
                instance: Instance { environment: "e".to_owned(), provider: "p".to_owned() },
                config: serde_json::from_value(config).unwrap(),
                cloud: serde_json::from_value(cloud).unwrap(),
                profile: None,
                clusters: Vec::new(),
                elsewhere: Vec::new(),
                refusal: None,
            }
        }

        fn decide_with(&self, cloud: Cloud<'_>, place: Result<(), (&str, &str)>) -> Decision {
            decide(&View {
                instance: &self.instance,
                config: &self.config,
                place,
                cloud,
                profile: self.profile.as_ref(),
                refusal: self.refusal,
                elsewhere: &self.elsewhere,
                clusters: &self.clusters,
                now: "2026-01-01T00:00:00Z".parse().unwrap(),
            })
        }

        fn decide(&self) -> Decision {
            self.decide_with(Cloud::Known(&self.cloud), Ok(()))
        }

        /// Does what is decided, as a server would.
        fn obey(&mut self, decision: Decision) {
            if let Step::Offer(name, spec) = decision.step {
                self.profile = Some(ClusterProfile::new(&name, spec));
            }
            self.config.status = Some(decision.status);
        }

        fn phase(&self) -> &str {
            &self.config.status.as_ref().unwrap().common.phase
        }

        fn end(&mut self) {
            self.config.metadata.deletion_timestamp = Some(jiff::Timestamp::UNIX_EPOCH.into());
        }
    }

    #[test]
    fn g15_a_profile_is_offered_and_offered_anew_when_a_version_ages() {
        let mut world = World::new();
        let decision = world.decide();
        let Step::Offer(name, spec) = &decision.step else { panic!("{decision:?}") };
        assert_eq!((name.as_str(), spec.supported_versions.len()), ("e.p.c", 1));
        assert_eq!(decision.again, Some(Duration::from_secs(151 * 24 * 3600)), "until June");
        world.obey(decision);
        assert_eq!((world.decide().step, world.phase()), (Step::Rest, "Ready"));
    }

    #[test]
    fn g14_a_cloud_profile_that_comes_back_is_good_again() {
        let mut world = World::new();
        let decision = world.decide_with(Cloud::Missing, Ok(()));
        world.obey(decision);
        assert_eq!(world.phase(), "Progressing");
        let decision = world.decide();
        world.obey(decision);
        assert_eq!(world.phase(), "Ready");
        let decision = world.decide_with(Cloud::NotYet, Ok(()));
        world.obey(decision);
        assert_eq!(world.phase(), "Ready", "after a restart nothing is taken back");
    }

    #[test]
    fn a_project_that_cannot_be_used_offers_nothing() {
        let mut world = World::new();
        let decision = world.decide_with(Cloud::Known(&world.cloud), Err(("InvalidProject", "no")));
        assert_eq!(decision.step, Step::Rest);
        world.obey(decision);
        assert_eq!(world.phase(), "Progressing");
    }

    #[test]
    fn g12_deletion_waits_for_clusters() {
        let mut world = World::new();
        let decision = world.decide();
        world.obey(decision);
        world.end();
        world.clusters = vec!["n/a".to_owned()];
        let decision = world.decide();
        assert_eq!(decision.step, Step::Rest);
        world.obey(decision);
        assert_eq!(world.phase(), "Terminating");
        world.clusters.clear();
        assert_eq!(world.decide().step, Step::Withdraw("e.p.c".to_owned()));
    }

    #[test]
    fn a_profile_that_the_platform_refuses_is_told() {
        let mut world = World::new();
        world.refusal = Some("too long");
        let decision = world.decide();
        assert!(decision.step == Step::Rest && decision.again.is_some());
        world.obey(decision);
        assert_eq!(world.phase(), "Progressing");
    }

    #[test]
    fn another_environment_is_waited_for() {
        let mut world = World::new();
        world.end();
        world.elsewhere = vec!["f.p.c".to_owned()];
        assert_eq!(world.decide().step, Step::Rest);
    }

    #[test]
    fn g13_deletion_ends_if_the_profile_is_gone_already() {
        let mut world = World::new();
        world.end();
        assert_eq!(world.decide_with(Cloud::NotYet, Err(("UnknownLandscape", "gone"))).step, Step::LetGo);
    }

    #[test]
    fn what_is_not_ours_or_not_to_be_touched_is_left_alone() {
        let mut world = World::new();
        world.config.metadata.finalizers = None;
        assert_eq!(world.decide().step, Step::Hold);
        world.instance.provider = "q".to_owned();
        assert_eq!(world.decide().step, Step::Leave);
        let mut world = World::new();
        let mark = |value: &str| Some([(annotation::OPERATION.to_owned(), value.to_owned())].into());
        world.config.metadata.annotations = mark("ignore");
        assert_eq!(world.decide().step, Step::Leave);
        world.config.metadata.annotations = mark("reconcile");
        assert_eq!(world.decide().step, Step::Unmark);
    }
}
