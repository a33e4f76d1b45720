//! A Cluster that Gardener makes, while it is wanted.

use super::{
    Apply, Decision, Looked, Step, View, ask,
    draft::Draft,
    is_held, is_marked, issuers,
    ownership::{Ownership, carries_owner, ownership},
    reading,
    reading::Stage,
    retry, tenant,
};
use crate::{
    cluster::{
        Authentication, Input, Note, Problems, Rendered,
        applied::{is_applied, stamp},
        render, shoot_name,
    },
    condition,
};
use allotment_api::{
    gardener::{CloudProfileSpec, Shoot},
    kyma::{ClusterCondition, ClusterPhase, SubscriptionPhase, SubscriptionRequest, SubscriptionStatus},
    names::annotation,
};
use jiff::SignedDuration;
use serde_json::{Value, json};
use std::time::Duration;

/// What the garden refused is not tried again at once: only another Cluster, configuration or garden helps.
const AFTER_REFUSAL: Duration = Duration::from_mins(5);

/// Shoots of others are not watched: that one has come into the place of ours, or is gone from it, is seen only by looking.
const AFTER_STRANGER: Duration = Duration::from_mins(5);

/// A cluster that could not be looked into is tried again.
pub(super) const AFTER_FAILED_LOOK: Duration = Duration::from_mins(1);

pub(super) fn decide(view: &View<'_>) -> Decision {
    let draft = Draft::new(view);
    if !is_held(view.cluster) {
        return rest(draft).step(Step::Hold);
    }
    match ownership(view) {
        Ownership::Foreign => taken(view, draft),
        Ownership::Replaced(shoot) => replaced(view, draft, shoot),
        Ownership::Managed(shoot) => with_name(view, draft, Some(shoot)),
        Ownership::Absent => with_name(view, draft, None),
    }
}

fn with_name(view: &View<'_>, mut draft: Draft, shoot: Option<&Shoot>) -> Decision {
    if let Some(shoot) = shoot {
        // One that the platform lets us adopt is not deleted with the Cluster before we have written to it.
        draft.facts(shoot, carries_owner(view, shoot));
    }
    let own_name = shoot.and_then(|shoot| shoot.metadata.name.clone());
    let name = match own_name.map_or_else(|| shoot_name(view.cluster, view.project), Ok) {
        Ok(name) => name,
        Err(problem) => {
            draft.problems(&Problems(vec![problem]));
            return rest(draft);
        }
    };
    let Some(infrastructure) = &view.cluster.spec.infrastructure else { return rest(draft) };
    let offered = view.clusters.providers.get(&infrastructure.provider);
    if let (None, Some(offered)) = (view.profile, offered) {
        let message = format!(
            "clusters.providers.{}.cloudProfile: the garden has no CloudProfile {}",
            infrastructure.provider, offered.cloud_profile
        );
        match shoot {
            Some(shoot) => leave_as_it_is(&mut draft, shoot, &message),
            None => draft.not_yet(ClusterPhase::Blocked, "NoCloudProfile", message),
        }
        return rest(draft);
    }
    // A provider that is not offered is a problem before anybody looks into the profile.
    let nothing = CloudProfileSpec::default();
    let own = view.request.filter(|request| ask::is_of(request, view.cluster));
    let binding = own.and_then(ask::binding);
    let rendered = render(&Input {
        cluster: view.cluster,
        role: view.role,
        clusters: view.clusters,
        profile: view.profile.unwrap_or(&nothing),
        live: shoot,
        name: &name,
        namespace: view.garden_namespace,
        binding: binding.unwrap_or("not-known-yet"),
        request: own.and_then(|request| request.metadata.uid.as_deref()).unwrap_or_default(),
        now: view.now,
    });
    // Nothing is asked for, and no account taken, for what could not be made.
    if let (Err(problems), None) = (&rendered, shoot) {
        if was_made(view, &draft) {
            return missing(view, draft);
        }
        draft.problems(problems);
        return rest(draft);
    }
    let Some(request) = view.request else {
        if let Err(denial) = tenant::judge(view) {
            draft.not_yet(ClusterPhase::Invalid, denial.reason, denial.message);
            return rest(draft);
        }
        draft.not_yet(ClusterPhase::Pending, "Pending", "an account is asked for");
        return rest(draft).step(Step::Ask(Box::new(ask::request(view.cluster, infrastructure))));
    };
    if own.is_none() {
        let name = request.metadata.name.as_deref().unwrap_or_default();
        let message = format!("SubscriptionRequest {name} belongs to somebody else; delete or rename it");
        draft.say(ClusterCondition::SubscriptionReady, false, "NameTaken", &message);
        draft.not_yet(ClusterPhase::Invalid, "NameTaken", message);
        return rest(draft);
    }
    let ready = ask::verdict(request);
    let (waits_for, is_deleted) = (ready.message.clone(), request.metadata.deletion_timestamp.is_some());
    let used = shoot.map(|shoot| shoot.spec.credentials_binding_name.as_deref());
    // A cluster that runs elsewhere has a condition of its own, and one that is set twice would change at every look.
    if !(binding.is_some() && used.is_some_and(|used| used != binding)) {
        draft.put(ready);
    }
    draft.status.subscription = Some(subscription(request));
    match (binding, shoot) {
        (Some(binding), Some(shoot)) => made(view, draft, shoot, binding, rendered),
        (Some(binding), None) if !is_deleted => match rendered {
            Ok(rendered) => not_made(view, draft, binding, rendered),
            Err(problems) => {
                draft.problems(&problems);
                rest(draft)
            }
        },
        // Also where there is a Shoot: somebody tore its request away by force. What it should be like cannot be said without
        // an account, so neither can that it is ready.
        (None, _) | (_, None) => {
            let (phase, reason) = match request.status.as_ref().and_then(|status| status.phase) {
                _ if is_deleted => (ClusterPhase::Failed, "NoAccount"),
                Some(SubscriptionPhase::Denied) => (ClusterPhase::Invalid, "NoAccount"),
                Some(SubscriptionPhase::Waiting) => (ClusterPhase::Waiting, "WaitingForAccount"),
                _ => (ClusterPhase::Pending, "Pending"),
            };
            draft.not_yet(phase, reason, waits_for);
            rest(draft)
        }
    }
}

/// There is an account, and no Shoot yet, or no longer.
fn not_made(view: &View<'_>, mut draft: Draft, binding: &str, mut rendered: Rendered) -> Decision {
    if !view.is_live {
        return rest(draft).step(Step::LookLive);
    }
    if was_made(view, &draft) {
        return missing(view, draft);
    }
    draft.status.shoot_name = rendered.shoot["metadata"]["name"].as_str().map(str::to_owned);
    let withheld = issuers::withhold(view, &mut rendered, None);
    tenant::remember(view, &mut rendered.shoot);
    draft.oidc(view, &rendered.notes, false, withheld);
    if let Err(denial) = tenant::judge_request(view) {
        draft.not_yet(ClusterPhase::Invalid, denial.reason, denial.message);
        return rest(draft);
    }
    if let Some(refusal) = view.refusal {
        draft.not_yet(ClusterPhase::Failed, "Refused", format!("the Shoot is refused: {refusal}"));
        return rest(draft).after(AFTER_REFUSAL);
    }
    draft.not_yet(ClusterPhase::Creating, "Creating", "the Shoot is being created");
    let apply = apply(rendered, None, binding, false);
    rest(draft).step(Step::Create(Box::new(apply)))
}

/// Whether there was a Shoot, and nobody asked for another one.
fn was_made(view: &View<'_>, draft: &Draft) -> bool {
    draft.status.shoot_uid.is_some() && !is_marked(view.cluster, annotation::RECREATE_SHOOT)
}

/// The Shoot was there, and is gone: told whatever else is wrong with the Cluster.
fn missing(view: &View<'_>, mut draft: Draft) -> Decision {
    if !view.is_live {
        return rest(draft).step(Step::LookLive);
    }
    let name = draft.status.shoot_name.clone().unwrap_or_default();
    let message = format!(
        "Shoot {name} is gone, and was not deleted by us; its content is lost. Set the annotation {}=true to make a new \
         and empty one",
        annotation::RECREATE_SHOOT
    );
    draft.status.api_server = None;
    draft.status.progress = None;
    draft.say(ClusterCondition::ShootHealthy, false, "ShootMissing", &message);
    draft.not_yet(ClusterPhase::Failed, "ShootMissing", message);
    rest(draft).after(AFTER_STRANGER)
}

fn made(
    view: &View<'_>,
    mut draft: Draft,
    shoot: &Shoot,
    binding: &str,
    rendered: Result<Rendered, Problems>,
) -> Decision {
    if shoot.metadata.deletion_timestamp.is_some() {
        let message = "somebody else deletes the Shoot";
        draft.not_yet(ClusterPhase::Failed, "ShootDeleted", message);
        return rest(draft);
    }
    let used = shoot.spec.credentials_binding_name.as_deref();
    if used != Some(binding) {
        let message = format!(
            "the Shoot runs in account {}, but the SubscriptionRequest got {binding}: a cluster is never moved",
            used.unwrap_or("that no CredentialsBinding names")
        );
        draft.say(ClusterCondition::SubscriptionReady, false, "OtherAccount", &message);
        draft.not_yet(ClusterPhase::Failed, "OtherAccount", message);
        return rest(draft);
    }
    let mut rendered = match rendered {
        Ok(rendered) => rendered,
        Err(problems) if problems.is_platforms() => {
            leave_as_it_is(&mut draft, shoot, &problems.to_string());
            return rest(draft);
        }
        Err(problems) => {
            // That Gardener failed matters more, and is mended elsewhere. A condition that is set twice would change at every look.
            let is_ill = match reading::stage(shoot) {
                Stage::GivenUp => true,
                Stage::Done => !draft.holds(ClusterCondition::ShootHealthy),
                Stage::Working => false,
            };
            if is_ill {
                draft.stage(shoot);
                let words =
                    format!("; the Shoot stays as it is, because what is asked for is invalid: {problems}");
                draft.append(ClusterCondition::ClusterProvisioned, &words);
                return rest(draft);
            }
            draft.problems(&problems);
            draft.append(ClusterCondition::ClusterProvisioned, "; the Shoot stays as it is");
            return rest(draft);
        }
    };
    let withheld = issuers::withhold(view, &mut rendered, Some(shoot));
    let Rendered { shoot: mut wanted, authentication, notes } = rendered;
    tenant::remember(view, &mut wanted);
    stamp(&mut wanted);
    let (is_applied, is_forced) =
        (is_applied(&wanted, shoot), is_marked(view.cluster, annotation::RECONCILE));
    let is_asked = draft.status.observed_generation
        != view.cluster.status.as_ref().and_then(|status| status.observed_generation);
    if is_applied || is_asked || was_brought(view) {
        draft.stage(shoot);
    } else {
        // To be seen while it waits for its turn, or is paused.
        let message = "what is asked for is brought to the Shoot when its turn comes";
        draft.not_yet(ClusterPhase::Updating, "Pending", message);
    }
    tell_undone(view, &mut draft, &notes);
    draft.oidc(view, &notes, is_applied && reading::stage(shoot) == Stage::Done, withheld);
    if let (false, Some(refusal)) = (is_applied, view.refusal) {
        draft.not_yet(ClusterPhase::Failed, "Refused", format!("the garden refuses the change: {refusal}"));
        return rest(draft).after(AFTER_REFUSAL);
    }
    if !is_applied {
        let takes_turn = !is_asked && !is_forced;
        if takes_turn && !view.has_turn {
            return rest(draft).waits_its_turn();
        }
        let rendered = Rendered { shoot: wanted, authentication, notes };
        let apply = apply(rendered, Some(shoot), binding, takes_turn);
        return rest(draft).step(Step::Update(Box::new(apply)));
    }
    up_to_date(view, draft, shoot, authentication)
}

/// What runs stays as it is, and as healthy as it is, where only the platform can bring it up to date.
fn leave_as_it_is(draft: &mut Draft, shoot: &Shoot, because: &str) {
    draft.stage(shoot);
    draft.append(ClusterCondition::ClusterProvisioned, &format!("; not brought up to date: {because}"));
}

/// Says what is asked for and not done, though nothing stands in the way of the rest.
fn tell_undone(view: &View<'_>, draft: &mut Draft, notes: &[Note]) {
    let about = ClusterCondition::ClusterProvisioned;
    let mut undone: Vec<String> =
        notes.iter().filter(|note| note.about == about).map(ToString::to_string).collect();
    let asked = view.cluster.spec.infrastructure.as_ref().map(|it| &it.subscription_selector);
    if let (Some(asked), Some(request)) = (asked, view.request)
        && *asked != request.spec.subscription_selector
    {
        undone.push(format!(
            "spec.infrastructure.subscriptionSelector: the account was asked for with {}, and a cluster is never moved to another one",
            request.spec.subscription_selector
        ));
    }
    if !undone.is_empty() {
        draft.append(about, &format!("; not done: {}", undone.join("; ")));
    }
}

/// Whether the generation that the status names was brought to the Shoot. Where something stood in the way (the account, the
/// spec, the garden) it names it all the same, and what is there may be another one's.
fn was_brought(view: &View<'_>) -> bool {
    let conditions = view.cluster.status.as_ref().map(|status| status.conditions.as_slice());
    let type_ = ClusterCondition::ClusterProvisioned.as_str();
    condition::find(conditions.unwrap_or_default(), type_).is_some_and(|said| {
        let reasons = ["Ready", "Creating", "Updating", "NoAddress", "Unhealthy", "ShootFailed"];
        reasons.contains(&said.reason.as_str())
    })
}

/// The Shoot is as rendered.
fn up_to_date(
    view: &View<'_>,
    draft: Draft,
    shoot: &Shoot,
    authentication: Option<Authentication>,
) -> Decision {
    let is_recorded = view.cluster.status.as_ref().and_then(|status| status.shoot_uid.as_ref())
        == shoot.metadata.uid.as_ref();
    let marks = [annotation::RECREATE_SHOOT, annotation::RECONCILE];
    let done: Vec<&'static str> = marks.into_iter().filter(|name| is_marked(view.cluster, name)).collect();
    // Only once the status names the Shoot: until then they say that it is ours.
    if is_recorded && !done.is_empty() {
        return rest(draft).step(Step::Unmark(done));
    }
    // Gardener reads it again at every reconciliation, and does not say what is missing.
    if let (Some(authentication), Looked::Due) = (authentication, view.issuers) {
        return rest(draft).step(Step::CheckIssuers(Box::new(authentication)));
    }
    if reading::stage(shoot) == Stage::GivenUp {
        return given_up(view, draft, shoot);
    }
    administrate(view, draft)
}

/// Asks again when it is time to. The count is written down first: after a crash it is rather too high than too low.
pub(super) fn given_up(view: &View<'_>, mut draft: Draft, shoot: &Shoot) -> Decision {
    let (_, codes) = reading::errors(shoot.status.as_ref());
    let retries = draft.status.retries.unwrap_or(0);
    let is_ending = shoot.metadata.deletion_timestamp.is_some();
    let Some(due) = retry::due(shoot, retry::class(&codes, is_ending), retries) else { return rest(draft) };
    let wait = due.duration_since(view.now);
    if wait > SignedDuration::ZERO {
        return rest(draft).after(wait.unsigned_abs());
    }
    draft.status.retries = Some(retries.saturating_add(1));
    rest(draft).step(Step::Retry)
}

/// The users who have cluster-admin.
pub(super) fn administrate(view: &View<'_>, mut draft: Draft) -> Decision {
    if view.is_locked {
        return rest(draft);
    }
    let mut wanted = view.cluster.spec.administrators.clone();
    wanted.sort_unstable();
    wanted.dedup();
    let withheld = withhold(view, &draft, &mut wanted);
    // What was begun, and not seen to its end, may have left something inside.
    let is_open = draft.says(ClusterCondition::AdministratorsApplied)
        && !draft.holds(ClusterCondition::AdministratorsApplied)
        && !draft.is_withheld(ClusterCondition::AdministratorsApplied);
    let has_changed = wanted != draft.status.administrators || is_open;
    if wanted.is_empty() && !has_changed {
        draft.administrated(&[], withheld);
        return rest(draft);
    }
    let can_be_reached = draft.status.phase == Some(ClusterPhase::Ready);
    match view.administrators {
        Looked::Seen(()) => {
            draft.administrated(&wanted, withheld);
            draft.status.administrators = wanted;
            rest(draft)
        }
        Looked::Failed(why) => {
            draft.say(ClusterCondition::AdministratorsApplied, false, "Unreachable", why);
            rest(draft).after(AFTER_FAILED_LOOK)
        }
        Looked::Due | Looked::NotYet if can_be_reached && has_changed => {
            // It is said before it is done.
            draft.say(
                ClusterCondition::AdministratorsApplied,
                false,
                "Applying",
                "who has cluster-admin is being changed in the cluster",
            );
            rest(draft).step(Step::Administrate(wanted))
        }
        Looked::Due if can_be_reached => rest(draft).step(Step::Administrate(wanted)),
        Looked::Due | Looked::NotYet if has_changed => {
            draft.say(
                ClusterCondition::AdministratorsApplied,
                false,
                "Pending",
                "the users get cluster-admin once the cluster is ready",
            );
            rest(draft)
        }
        Looked::Due | Looked::NotYet => {
            if draft.says(ClusterCondition::AdministratorsApplied) || withheld.is_some() {
                draft.administrated(&wanted, withheld);
            }
            rest(draft)
        }
    }
}

/// Leaves out who may not be added: a Cluster whose tenant is not its namespace's gives cluster-admin to nobody else. Returns why, if
/// there are others.
fn withhold(view: &View<'_>, draft: &Draft, wanted: &mut Vec<String>) -> Option<String> {
    let denial = tenant::judge(view).err()?;
    let asked = wanted.len();
    wanted.retain(|user| draft.status.administrators.contains(user));
    let left_out = asked - wanted.len();
    let message = format!("withheld from {left_out} of {asked} users: {}", denial.message);
    (left_out > 0).then_some(message)
}

/// What became of its account, where nothing else is decided.
fn tell_account(view: &View<'_>, draft: &mut Draft) {
    let own = view.request.filter(|request| ask::is_of(request, view.cluster));
    if let Some(request) = own {
        draft.put(ask::verdict(request));
        draft.status.subscription = Some(subscription(request));
    }
}

fn subscription(request: &SubscriptionRequest) -> SubscriptionStatus {
    SubscriptionStatus {
        name: request.metadata.name.clone().unwrap_or_default(),
        binding_name: ask::binding(request).map(str::to_owned),
    }
}

/// Tenants learn that the name is taken, and nothing else about a Shoot that may be another tenant's.
fn taken(view: &View<'_>, mut draft: Draft) -> Decision {
    tell_account(view, &mut draft);
    let message = "a Shoot of that name exists, and it is not this Cluster's; the platform can adopt it for this Cluster";
    draft.not_yet(ClusterPhase::Failed, "ShootTaken", message);
    rest(draft).after(AFTER_STRANGER)
}

fn replaced(view: &View<'_>, mut draft: Draft, shoot: &Shoot) -> Decision {
    tell_account(view, &mut draft);
    let name = shoot.metadata.name.as_deref().unwrap_or_default();
    let message = if draft.status.shoot_uid == shoot.metadata.uid {
        format!(
            "Shoot {name} is not this Cluster's any more; it is left alone. The platform can adopt it again"
        )
    } else {
        format!(
            "Shoot {name} is another one than this Cluster's, and is left alone. The platform can adopt it for this Cluster; \
             to have an empty one instead, delete it"
        )
    };
    draft.status.api_server = None;
    draft.status.progress = None;
    draft.say(ClusterCondition::ShootHealthy, false, "ShootReplaced", &message);
    draft.not_yet(ClusterPhase::Failed, "ShootMissing", message);
    rest(draft).after(AFTER_STRANGER)
}

fn apply(rendered: Rendered, live: Option<&Shoot>, binding: &str, takes_turn: bool) -> Apply {
    let Rendered { mut shoot, authentication, notes: _ } = rendered;
    match live {
        // Decided on what the Shoot is like: if it is no longer like that, the decision is taken again.
        Some(live) => shoot["metadata"]["resourceVersion"] = json!(live.metadata.resource_version),
        None => stamp(&mut shoot),
    }
    Apply { shoot: without_null(shoot), authentication, binding: binding.to_owned(), takes_turn }
}

fn without_null(mut shoot: Value) -> Value {
    if shoot["metadata"]["resourceVersion"].is_null()
        && let Some(metadata) = shoot["metadata"].as_object_mut()
    {
        metadata.remove("resourceVersion");
    }
    shoot
}

/// Nothing to do: the beginning of every decision.
pub(super) fn rest(draft: Draft) -> Decision {
    Decision { step: Step::Rest, status: draft.status, again: None, waits_for_turn: false }
}

impl Decision {
    pub(super) fn step(mut self, step: Step) -> Self {
        self.step = step;
        self
    }

    pub(super) fn after(mut self, wait: Duration) -> Self {
        self.again = Some(wait);
        self
    }

    /// It can be used as it is, so this is no worry to anybody.
    fn waits_its_turn(mut self) -> Self {
        self.waits_for_turn = true;
        let type_ = ClusterCondition::ClusterProvisioned.as_str();
        let condition = self.status.conditions.iter_mut().find(|condition| condition.type_ == type_);
        if let Some(condition) = condition.filter(|condition| condition.reason != "Pending") {
            condition.message.push_str("; a new configuration is rolled out when its turn comes");
        }
        self
    }
}
