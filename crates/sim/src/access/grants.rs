//! What the oracle sees: who has what inside which Shoot.

use crate::stage::{
    call::Side,
    dice::dice_for,
    world::{NAMESPACE, World},
};
use allotment_api::{
    condition::ConditionStatus,
    kyma::{ClusterPhase, KubeconfigPhase, KubeconfigRequest, TokenState},
    names::{annotation, label},
};
use allotment_core::check::Violation;
use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use http::Method;
use kube::ResourceExt;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const REQUESTS: &str = "/apis/operator.kyma-project.io/v1alpha1/namespaces/default/kubeconfigrequests";

const SECRETS: &str = "/api/v1/namespaces/default/secrets";

/// The kinds that a grant is made of, by their paths.
const PARTS: [&str; 6] = [
    "/api/v1/serviceaccounts",
    "/api/v1/secrets",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "/apis/rbac.authorization.k8s.io/v1/roles",
    "/apis/rbac.authorization.k8s.io/v1/rolebindings",
];

/// What takes tokens out of a Shoot.
pub(crate) const ENDING: [&str; 2] = ["end token", "take part away"];

/// A server remembers for this long whom it has let in, in milliseconds.
const LONGEST_BELIEF: u64 = 10_000;

/// A token that was published.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Given {
    token: String,
    /// The UID of the Shoot that it is for.
    shoot: String,
    /// The Secret that it is bound to.
    secret: String,
}

/// Every token that was ever published.
#[derive(Clone, Debug, Default)]
pub(crate) struct Issued {
    /// By the UID of the request.
    given: BTreeMap<String, BTreeSet<Given>>,
    /// Until when a Shoot believes a token that is good no more, in milliseconds.
    believed: BTreeMap<String, u64>,
    /// Secrets that requests were ever to publish to, by name.
    pub(crate) named: BTreeSet<String>,
    /// How often one of these was tried.
    trials: u64,
    /// How often something was written, wherever.
    pub(crate) writes: u64,
    /// What was wrong after so many writes: it is asked for again and again, and what does not change need not be looked at.
    at_rest: Option<(u64, Vec<Violation>)>,
}

impl World {
    /// A KubeconfigRequest is like this now.
    pub(crate) fn see_access(&self, object: Option<&Value>) -> Vec<Violation> {
        let Some(request) =
            object.and_then(|object| serde_json::from_value::<KubeconfigRequest>(object.clone()).ok())
        else {
            return Vec::new();
        };
        let uid = request.uid().unwrap_or_default();
        let status = request.status.clone().unwrap_or_default();
        let named = request.spec.secret_ref.iter().chain(&status.secret_ref);
        self.state().issued.named.extend(named.map(|reference| reference.name.clone()));
        let secret = status.tokens.iter().find(|token| token.state == TokenState::Published);
        if let Some(((token, shoot), secret)) = self.published(&request).zip(secret) {
            // What is in a Secret may be newer than the status.
            let secret = bound_to(&token).unwrap_or_else(|| secret.secret.clone());
            let given = Given { token, shoot, secret };
            self.state().issued.given.entry(uid.clone()).or_default().insert(given);
        }
        let name = request.name_any();
        let is_let_go = |given: &&Given| !status.tokens.iter().any(|token| token.secret == given.secret);
        let says_revoked = status
            .conditions
            .iter()
            .any(|condition| condition.type_ == "Revoked" && condition.status == ConditionStatus::True);
        let valid = self.valid_tokens(&uid);
        let found = |what: &str| Violation::Access(format!("{name} {what}"));
        let mut wrong = Vec::new();
        if says_revoked && !valid.is_empty() {
            wrong.push(found("is called revoked, and a token of it is valid"));
        } else if valid.iter().any(|given| is_let_go(&given)) {
            wrong.push(found("has let go of a token that is valid"));
        }
        wrong
    }

    /// Something was taken out of a Shoot. Whose token ends with it is believed for a while, as the server remembers whom it let in;
    /// and what is published does not end.
    pub(crate) fn see_ended(&self, shoot: &str) {
        let issued = self.state().issued.clone();
        let here = issued.given.values().flatten().filter(|given| given.shoot == shoot);
        let ended = here.filter(|given| {
            !issued.believed.contains_key(&given.token) && !self.is_good(&given.token, shoot)
        });
        for given in ended {
            let mut state = self.state();
            let number = state.issued.believed.len() as u64;
            let mut dice = dice_for(self.options.seed, &["believed"], number);
            // Nobody used it just before, or somebody did.
            let time = if dice.happens(500) { 0 } else { dice.between(1, LONGEST_BELIEF) };
            let until = self.millis() + time;
            state.issued.believed.insert(given.token.clone(), until);
        }
        let is_kept = |request: &&KubeconfigRequest| {
            let tokens = request.status.iter().flat_map(|status| &status.tokens);
            request.metadata.deletion_timestamp.is_none()
                && tokens.into_iter().any(|token| token.state == TokenState::Published)
        };
        let requests = self.requests();
        let refused = requests.iter().filter(is_kept).filter(|request| {
            self.published(request).is_some_and(|(token, at)| at == shoot && !self.is_good(&token, shoot))
        });
        let wrong = refused.map(|request| format!("what {} publishes is refused", request.name_any()));
        self.found(wrong.map(Violation::Access).collect());
    }

    /// Whether a Shoot believes a token that is good no more.
    pub(crate) fn is_believed(&self, token: &str) -> bool {
        let now = self.millis();
        self.state().issued.believed.get(token).is_some_and(|until| now < *until)
    }

    /// Whether a trial gets to the API server of a Shoot that believes a token, and not to its neighbour.
    pub(crate) fn asks_believer(&self) -> bool {
        let mut state = self.state();
        state.issued.trials += 1;
        dice_for(self.options.seed, &["neighbour"], state.issued.trials).happens(500)
    }

    fn requests(&self) -> Vec<KubeconfigRequest> {
        let (_, list) = self.ask(Side::ControlPlane, Method::GET, REQUESTS, None);
        let items = list["items"].as_array().into_iter().flatten();
        items.filter_map(|object| serde_json::from_value(object.clone()).ok()).collect()
    }

    /// What must hold when nothing is left to do.
    pub(crate) fn grants_at_rest(&self) -> Vec<Violation> {
        let now = self.millis();
        let (writes, known) = {
            let Issued { believed, writes, at_rest, .. } = &self.state().issued;
            let is_same = |known: &&(u64, Vec<Violation>)| known.0 == *writes;
            let is_quiet = believed.values().all(|until| *until <= now);
            (*writes, at_rest.as_ref().filter(is_same).filter(|_| is_quiet).map(|known| known.1.clone()))
        };
        if let Some(known) = known {
            return known;
        }
        let wrong = self.wrong_at_rest();
        self.state().issued.at_rest = Some((writes, wrong.clone()));
        wrong
    }

    fn wrong_at_rest(&self) -> Vec<Violation> {
        let requests = self.requests();
        let mut wrong = Vec::new();
        let (mut granted, mut waiting) = (BTreeSet::new(), BTreeSet::new());
        for request in &requests {
            let (name, uid) = (request.name_any(), request.uid().unwrap_or_default());
            match self.unrest(request) {
                // Its last kubeconfig stays, without the permissions that it does not ask for any more.
                _ if self.waits_for_namespace(request) && phase(request) == Some(KubeconfigPhase::Issued) => {
                    granted.insert(uid);
                }
                _ if self.waits_for_namespace(request) => drop(waiting.insert(uid)),
                Some(why) => wrong.push(format!("KubeconfigRequest {name}: {why}")),
                None if phase(request) == Some(KubeconfigPhase::Issued) => drop(granted.insert(uid)),
                None => (),
            }
        }
        for (shoot, owners) in self.owners() {
            wrong.extend(
                owners
                    .difference(&granted)
                    .filter(|uid| !waiting.contains(*uid))
                    .map(|uid| format!("Shoot {shoot} holds something of request {uid}, which has nothing")),
            );
        }
        let known: Vec<String> = self.state().issued.given.keys().cloned().collect();
        for uid in known.iter().filter(|uid| !granted.contains(*uid)) {
            wrong.extend(self.valid_tokens(uid).into_iter().map(|given| {
                format!("a token of request {uid}, which has nothing, is valid in Shoot {}", given.shoot)
            }));
        }
        let mut wrong: Vec<Violation> = wrong.into_iter().map(Violation::Access).collect();
        wrong.extend(self.locked_but_granted());
        wrong
    }

    /// Why a request is not done.
    fn unrest(&self, request: &KubeconfigRequest) -> Option<String> {
        let status = request.status.clone().unwrap_or_default();
        let is = |key: &str| request.annotations().get(key).is_some_and(|value| value == "true");
        let (is_ready, is_withheld) = {
            let state = self.state();
            let cluster = state.eyes.fleet.clusters.get(&request.spec.cluster);
            let is_ready =
                cluster.is_some_and(|wish| wish.phase == Some(ClusterPhase::Ready) && !wish.deleting);
            (is_ready, cluster.is_some_and(|wish| wish.is_withheld))
        };
        let phase = phase(request);
        if request.metadata.deletion_timestamp.is_some() {
            return Some("it is still there".to_owned());
        }
        if is(annotation::REVOKE) {
            return (phase != Some(KubeconfigPhase::Revoked))
                .then(|| format!("it is to be revoked, and is {phase:?}"));
        }
        let is_told = |reason| status.conditions.iter().any(|condition| condition.reason == reason);
        if !is_ready || is_withheld && (phase == Some(KubeconfigPhase::Denied) || is_told("NotRenewed")) {
            return None;
        }
        if phase != Some(KubeconfigPhase::Issued) || is(annotation::ROTATE) {
            return Some(format!("it is {phase:?}, rotation asked for: {}", is(annotation::ROTATE)));
        }
        if status.tokens.iter().any(|token| matches!(token.state, TokenState::Asked | TokenState::Ending)) {
            return Some("a token is under way".to_owned());
        }
        if status.secret_ref != request.spec.secret_ref {
            return Some("its kubeconfig is not where it asks for it".to_owned());
        }
        let Some((token, shoot)) = self.published(request) else {
            return Some("its kubeconfig cannot be read".to_owned());
        };
        (!self.is_good(&token, &shoot)).then(|| "its token is refused".to_owned())
    }

    /// Whether a request rightly waits, and says for what: a Role in a namespace that is not there, and that it does not ask us to
    /// make.
    fn waits_for_namespace(&self, request: &KubeconfigRequest) -> bool {
        let Some(role) = request.spec.role.as_ref().filter(|role| role.create_namespace != Some(true)) else {
            return false;
        };
        let is_asked = request.metadata.deletion_timestamp.is_none()
            && request.annotations().get(annotation::REVOKE).is_none_or(|value| value != "true");
        let shoot = {
            let state = self.state();
            let wish = state.eyes.fleet.clusters.get(&request.spec.cluster);
            wish.and_then(|wish| wish.shoot_uid.clone())
        };
        let Some(shoot) = shoot.filter(|uid| is_asked && self.has_shoot(uid)) else { return false };
        let path = format!("/api/v1/namespaces/{}", role.namespace);
        let (found, _) = self.ask_server(&self.grounds.server(self, &shoot), Method::GET, &path, None);
        let status = request.status.clone().unwrap_or_default();
        let says_so = status.conditions.iter().any(|condition| condition.message.contains(&role.namespace));
        let is_told = matches!(phase(request), Some(KubeconfigPhase::Pending | KubeconfigPhase::Issued));
        found == 404 && is_told && says_so
    }

    /// The token that is published, and the UID of the Shoot that it leads into.
    fn published(&self, request: &KubeconfigRequest) -> Option<(String, String)> {
        let text = BASE64_STANDARD.decode(self.published_text(request)?).ok()?;
        let kubeconfig: Value = serde_json::from_slice(&text).ok()?;
        let token = kubeconfig.pointer("/users/0/user/token")?.as_str()?.to_owned();
        let server = kubeconfig.pointer("/clusters/0/cluster/server")?.as_str()?;
        let shoot = server.strip_prefix("https://")?.strip_suffix(".example.com")?;
        let state = self.state();
        // One that has the name now may be another one.
        let known = state.issued.given.values().flatten().find(|given| given.token == token);
        let known = known.map(|given| given.shoot.clone());
        let uid = known.or_else(|| state.eyes.fleet.shoots.get(shoot).map(|stand| stand.uid.clone()))?;
        Some((token, uid))
    }

    /// The kubeconfig, in the Secret that the status names, or in the status itself.
    fn published_text(&self, request: &KubeconfigRequest) -> Option<String> {
        let status = request.status.as_ref()?;
        let Some(reference) = &status.secret_ref else { return status.kubeconfig.clone() };
        let path = format!("{SECRETS}/{}", reference.name);
        let (_, secret) = self.ask(Side::ControlPlane, Method::GET, &path, None);
        let owner = secret.pointer("/metadata/ownerReferences/0/uid")?.as_str()?;
        let key = reference.key.as_deref().unwrap_or("kubeconfig");
        let text = secret["data"][key].as_str().filter(|_| request.uid().as_deref() == Some(owner))?;
        Some(text.to_owned())
    }

    /// The tokens of a request that somebody could use.
    fn valid_tokens(&self, uid: &str) -> Vec<Given> {
        let mut given = self.state().issued.given.get(uid).cloned().unwrap_or_default();
        given.retain(|Given { token, shoot, .. }| {
            self.has_shoot(shoot) && (self.is_believed(token) || self.is_good(token, shoot))
        });
        given.into_iter().collect()
    }

    /// Whether a Shoot would let somebody in with a token that it has never seen.
    fn is_good(&self, token: &str, shoot: &str) -> bool {
        let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": { "token": token } });
        let server = self.grounds.server(self, shoot);
        let (_, answer) = self.ask_server(
            &server,
            Method::POST,
            "/apis/authentication.k8s.io/v1/tokenreviews",
            Some(&review),
        );
        answer["status"]["authenticated"] == true
    }

    /// Whose parts there are in each Shoot.
    fn owners(&self) -> BTreeMap<String, BTreeSet<String>> {
        let shoots: Vec<String> =
            self.state().eyes.fleet.shoots.values().map(|stand| stand.uid.clone()).collect();
        let owners = |shoot: &String| {
            let server = self.grounds.server(self, shoot);
            let parts = PARTS.iter().flat_map(|path| {
                let path = format!("{path}?labelSelector={}", label::KUBECONFIG_REQUEST);
                let (_, list) = self.ask_server(&server, Method::GET, &path, None);
                list["items"].as_array().cloned().unwrap_or_default()
            });
            let uids = parts.filter_map(|part| {
                part["metadata"]["labels"][label::KUBECONFIG_REQUEST].as_str().map(str::to_owned)
            });
            uids.collect::<BTreeSet<String>>()
        };
        shoots.iter().map(|shoot| (shoot.clone(), owners(shoot))).collect()
    }

    /// Whether there is a Shoot with this UID.
    pub(crate) fn has_shoot(&self, uid: &str) -> bool {
        let eyes = &self.state().eyes;
        eyes.fleet.shoots.values().any(|stand| stand.uid == uid)
            || eyes.isolation.shoots.values().any(|shoot| shoot.uid == uid)
    }
}

/// The Secret that a token is bound to, as the token says.
fn bound_to(token: &str) -> Option<String> {
    let claims = BASE64_URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    claims["kubernetes.io"]["secret"]["name"].as_str().map(str::to_owned)
}

fn phase(request: &KubeconfigRequest) -> Option<KubeconfigPhase> {
    debug_assert_eq!(request.namespace().as_deref(), Some(NAMESPACE));
    request.status.as_ref().and_then(|status| status.phase)
}
