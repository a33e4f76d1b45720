//! While a Cluster is wanted.

use super::{
    Binding, Decision, Place, Record, Step, View,
    draft::Draft,
    render::{Input, Rendered, render},
    view::{is_held, names},
    whose::is_ours,
};
use crate::{
    cluster::{
        Problems,
        applied::is_applied,
        flow::{reading, reading::Stage, retry},
        template::references::Rights,
    },
    openmcp::names::label_value,
};
use allotment_api::{
    gardener::Shoot,
    openmcp::{
        Cluster,
        gardener::{
            ClusterConfig,
            names::{ProviderCondition, Reason},
        },
        names::{Reason as CommonReason, annotation, label},
    },
};
use jiff::SignedDuration;
use serde_json::json;
use std::{collections::BTreeMap, time::Duration};

/// What a garden refuses may be taken later, once somebody has raised a quota, say; nothing tells us.
const AFTER_REFUSAL: Duration = Duration::from_mins(5);

/// While something is under way the watch tells; should it miss something, this does.
const WATCHED: Duration = Duration::from_mins(5);

pub(super) fn decide(view: &View<'_>) -> Decision {
    let mut draft = Draft::new(view);
    draft.drop_condition(ProviderCondition::ForeignFinalizers);
    if !is_held(view.cluster) {
        // A profile that is not there may be a slip of the pen: nothing is held before it is right.
        if view.place.is_ok() {
            return draft.rest().step(Step::Hold);
        }
    } else {
        draft.holds(ProviderCondition::Meta);
    }
    let place = match view.place {
        Ok(place) => place,
        Err((reason, message)) => {
            draft.fails(ProviderCondition::LandscapeManagement, reason, message);
            return draft.rest().after(WATCHED);
        }
    };
    draft.holds(ProviderCondition::LandscapeManagement);
    let missing: Vec<&str> = view
        .cluster_configs
        .iter()
        .filter(|(_, found)| found.is_none())
        .map(|(name, _)| name.as_str())
        .collect();
    if missing.is_empty() {
        draft.holds(ProviderCondition::ClusterConfigurations);
    } else {
        let message = format!("there is no ClusterConfig {} in this namespace", missing.join(", "));
        let reason = CommonReason::InvalidReference.as_str();
        draft.fails(ProviderCondition::ClusterConfigurations, reason, message);
    }
    match find(view) {
        Found::Unknown(name) => draft.rest().step(Step::LookLive(name)),
        Found::Ours(shoot) => made(view, draft, shoot, missing.is_empty()),
        Found::Free(name) => not_made(view, draft, place, &name, missing.is_empty()),
        Found::Taken(names) => {
            let message = format!(
                "Shoot {} is there and is not this Cluster's: it belongs to another Cluster, provider or environment. Set \
                 the label {} on the Cluster to have its Shoot called otherwise",
                names.join(" and "),
                allotment_api::openmcp::gardener::names::label::SHOOT_NAME
            );
            draft.without_shoot();
            draft.shoot_fails(Reason::ShootConflict, message);
            draft.rest().after(AFTER_REFUSAL)
        }
    }
}

/// What was found of the Shoot.
pub(super) enum Found<'a> {
    /// It has to be looked for, by this name.
    Unknown(String),
    /// It is there.
    Ours(&'a Shoot),
    /// It is not there, and this name is free.
    Free(String),
    /// It is not there, and all its names are somebody else's.
    Taken(Vec<String>),
}

pub(super) fn find<'a>(view: &'a View<'_>) -> Found<'a> {
    let names = names(view.cluster, view.instance);
    let is_made = Record::of(view.cluster).is_some_and(|record| record.uid.is_some());
    let mut free = None;
    for name in &names {
        if is_made && free.is_some() {
            // It had this name, and nobody else has.
            break;
        }
        let seen = view.shoots.get(name);
        match seen.and_then(|seen| seen.shoot.as_deref()) {
            Some(shoot) if is_ours(shoot, view.cluster, view.instance) => return Found::Ours(shoot),
            _ if !seen.is_some_and(|seen| seen.is_live) => return Found::Unknown(name.clone()),
            Some(_) => (),
            None => drop(free.get_or_insert_with(|| name.clone())),
        }
    }
    free.map_or(Found::Taken(names), Found::Free)
}

/// There is no Shoot yet, or no longer.
fn not_made(view: &View<'_>, mut draft: Draft<'_>, place: &Place, name: &str, is_complete: bool) -> Decision {
    draft.without_shoot();
    let record = Record::of(view.cluster);
    if let Some(Record { shoot, uid: Some(_), .. }) = &record
        && !view.is_forced
    {
        let message = format!(
            "Shoot {shoot} is gone, and was not deleted by us; its content is lost. Set the annotation {}=reconcile to make a \
             new and empty one",
            annotation::OPERATION
        );
        draft.shoot_fails(Reason::ShootNotFound, message);
        return draft.rest();
    }
    if !is_complete {
        draft.shoot_fails(Reason::ShootNotFound, "the Shoot is made once its ClusterConfigs are there");
        return draft.rest();
    }
    let Rendered { shoot, notes: _ } = match rendered(view, None, place, name) {
        Ok(rendered) => rendered,
        Err(problem) => {
            let Problem { reason, message } = problem;
            draft.fails(ProviderCondition::ShootManagement, reason, message);
            return draft.rest();
        }
    };
    if let Some(refusal) = view.refusal {
        draft.shoot_fails(Reason::ShootFailed, format!("the garden refuses the Shoot: {refusal}"));
        return draft.rest().after(AFTER_REFUSAL);
    }
    draft.shoot_fails(Reason::ShootNotFound, "the Shoot does not exist yet");
    if let Some(binding) = Binding::of(&shoot) {
        match verified(view, &binding) {
            Verified::NotYet => return draft.rest().step(Step::VerifyAccount(binding)),
            Verified::Refused(why) => {
                draft.fails(
                    ProviderCondition::ShootManagement,
                    CommonReason::ConfigurationProblem.as_str(),
                    why,
                );
                return draft.rest().after(AFTER_REFUSAL);
            }
            Verified::Fine => (),
        }
    }
    let Place { landscape, project, namespace } = place;
    let announced = Record {
        landscape: Some(landscape.clone()),
        project: project.clone(),
        namespace: namespace.clone(),
        shoot: name.to_owned(),
        uid: None,
    };
    if record.as_ref() != Some(&announced) {
        draft.record(announced.clone());
        return draft.rest().step(Step::Announce(announced));
    }
    draft.rest().step(Step::Create(Box::new(shoot)))
}

fn made(view: &View<'_>, mut draft: Draft<'_>, shoot: &Shoot, is_complete: bool) -> Decision {
    draft.facts(shoot);
    let name = shoot.metadata.name.clone().unwrap_or_default();
    if shoot.metadata.deletion_timestamp.is_some() {
        draft.shoot_fails(Reason::WaitingForDeletion, format!("somebody else deletes Shoot {name}"));
        return draft.rest().after(WATCHED);
    }
    if !is_complete {
        draft.shoot_fails(
            Reason::ShootProgressing,
            "the Shoot stays as it is until its ClusterConfigs are there",
        );
        return draft.rest();
    }
    let place = Place {
        landscape: String::new(),
        project: None,
        namespace: shoot.metadata.namespace.clone().unwrap_or_default(),
    };
    let Rendered { shoot: mut wanted, notes } = match rendered(view, Some(shoot), &place, &name) {
        Ok(rendered) => rendered,
        Err(Problem { reason, message }) => {
            let message = format!("{message}; the Shoot stays as it is");
            draft.fails(ProviderCondition::ShootManagement, reason, message);
            return draft.rest();
        }
    };
    if let Some(refusal) = view.refusal {
        draft.shoot_fails(Reason::ShootFailed, format!("the garden refuses the change: {refusal}"));
        return draft.rest().after(AFTER_REFUSAL);
    }
    if !view.is_applied && (view.is_forced || !is_applied(&wanted, shoot)) {
        // One that stays where it is stays there, whatever became of its account.
        if let Some(binding) = Binding::of(&wanted).filter(|_| moves(&wanted, shoot)) {
            match verified(view, &binding) {
                Verified::NotYet => return draft.rest().step(Step::VerifyAccount(binding)),
                Verified::Refused(why) => {
                    let why = format!("{why}; the Shoot stays as it is");
                    draft.fails(
                        ProviderCondition::ShootManagement,
                        CommonReason::ConfigurationProblem.as_str(),
                        why,
                    );
                    return draft.rest().after(AFTER_REFUSAL);
                }
                Verified::Fine => (),
            }
        }
        wanted["metadata"]["resourceVersion"] = json!(shoot.metadata.resource_version);
        draft.shoot_fails(Reason::ShootProgressing, "what is asked for is brought to the Shoot");
        return draft.rest().step(Step::Update(Box::new(wanted)));
    }
    if let Some(step) = label(view.cluster, view, shoot) {
        return draft.rest().step(step);
    }
    standing(view, draft, shoot, &notes)
}

/// Whether a Shoot may go into an account.
enum Verified {
    NotYet,
    Fine,
    Refused(String),
}

fn verified(view: &View<'_>, binding: &Binding) -> Verified {
    let namespace = view.cluster.metadata.namespace.as_deref().unwrap_or_default();
    match view.account {
        None => Verified::NotYet,
        Some(account) => match binding.refusal(account, &view.policy.role_of(namespace)) {
            None => Verified::Fine,
            Some(why) => Verified::Refused(why),
        },
    }
}

/// Whether a live Shoot would come into another account.
fn moves(wanted: &serde_json::Value, live: &Shoot) -> bool {
    let live = json!({ "spec": live.spec });
    Binding::of(wanted) != Binding::of(&live)
}

/// How it stands with a Shoot that is as it should be.
fn standing(view: &View<'_>, mut draft: Draft<'_>, shoot: &Shoot, notes: &[String]) -> Decision {
    let status = shoot.status.as_ref();
    let words = reading::operation(status).map(|operation| {
        format!(
            "{} is {} ({} %): {}",
            operation.type_,
            operation.state,
            reading::progress(status),
            operation.description
        )
    });
    match reading::stage(shoot) {
        Stage::Working => {
            let words = words.unwrap_or_else(|| "Gardener has not begun with the Shoot yet".to_owned());
            draft.shoot_fails(Reason::ShootProgressing, words);
            draft.rest().after(WATCHED)
        }
        Stage::GivenUp => {
            let (why, _) = reading::errors(status);
            draft.shoot_fails(Reason::ShootFailed, format!("Gardener has given up: {why}"));
            given_up(view, draft, shoot)
        }
        Stage::Done if status.is_none_or(|status| status.conditions.is_empty()) => {
            draft.shoot_fails(Reason::ShootProgressing, "Gardener has not said yet how the Shoot is");
            draft.rest().after(WATCHED)
        }
        Stage::Done if reading::address(status).is_none() => {
            draft.shoot_fails(
                Reason::ShootProgressing,
                "Gardener has not published the address of the Shoot yet",
            );
            draft.rest().after(WATCHED)
        }
        Stage::Done => {
            draft.shoot_holds(notes);
            draft.rest()
        }
    }
}

/// Asks Gardener again after a while: an outage that is over is not noticed otherwise. Each failed try sets the time anew.
pub(super) fn given_up(view: &View<'_>, draft: Draft<'_>, shoot: &Shoot) -> Decision {
    let (_, codes) = reading::errors(shoot.status.as_ref());
    let is_ending = shoot.metadata.deletion_timestamp.is_some();
    // As if it had been tried some times already: ten minutes, or some hours where a person has to do something.
    let due = retry::due(shoot, retry::class(&codes, is_ending), 3);
    let name = shoot.metadata.name.clone().unwrap_or_default();
    let retry = Step::Retry(name);
    match due {
        _ if view.is_forced => draft.rest().step(retry),
        None => draft.rest(),
        Some(due) => match due.duration_since(view.now) {
            wait if wait > SignedDuration::ZERO => draft.rest().after(wait.unsigned_abs()),
            _ => draft.rest().step(retry),
        },
    }
}

/// Why nothing is rendered: for a condition.
struct Problem {
    reason: &'static str,
    message: String,
}

fn rendered(view: &View<'_>, live: Option<&Shoot>, place: &Place, name: &str) -> Result<Rendered, Problem> {
    let (Some(profile), Some(config)) = (view.profile, view.config) else {
        let message =
            format!("ClusterProfile {} or its ProviderConfig is not there", view.cluster.spec.profile);
        return Err(Problem { reason: Reason::UnknownProfile.as_str(), message });
    };
    let configs: Vec<&ClusterConfig> =
        view.cluster_configs.iter().filter_map(|(_, config)| config.as_deref()).collect();
    let namespace = view.cluster.metadata.namespace.as_deref().unwrap_or_default();
    let role = view.policy.role_of(namespace);
    render(&Input {
        rights: &Rights::of(&role, namespace, &view.policy.openmcp.references),
        instance: view.instance,
        cluster: view.cluster,
        config,
        cluster_configs: &configs,
        versions: &profile.spec.supported_versions,
        live,
        name,
        namespace: &place.namespace,
    })
    .map_err(|problems: Problems| Problem {
        reason: CommonReason::ConfigurationProblem.as_str(),
        message: problems.to_string(),
    })
}

/// What the Cluster says in labels and annotations about what runs.
fn label(cluster: &Cluster, view: &View<'_>, shoot: &Shoot) -> Option<Step> {
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    let mut labels = BTreeMap::from([(label::PROVIDER.to_owned(), label_value(&view.instance.provider))]);
    let known = cluster.metadata.labels.clone().unwrap_or_default();
    let runs = shoot.spec.kubernetes.version.as_deref().map(label_value);
    // While it is brought up to date, the old version runs.
    let is_settled = reading::stage(shoot) == Stage::Done || !known.contains_key(label::K8S_VERSION);
    if let Some(version) = runs.filter(|_| is_settled) {
        labels.insert(label::K8S_VERSION.to_owned(), version);
    }
    let place = view.place.ok();
    let landscape = place.map(|place| place.landscape.as_str()).unwrap_or_default();
    let info = format!("{landscape}/{}/{}", text(&shoot.metadata.namespace), text(&shoot.metadata.name));
    let annotations = BTreeMap::from([(annotation::PROVIDER_INFO.to_owned(), info)]);
    let noted = cluster.metadata.annotations.clone().unwrap_or_default();
    let is_new = |wanted: &BTreeMap<String, String>, known: &BTreeMap<String, String>| {
        wanted.iter().any(|(key, value)| known.get(key) != Some(value))
    };
    let is_new = is_new(&labels, &known) || is_new(&annotations, &noted);
    is_new.then_some(Step::Label { labels, annotations })
}
