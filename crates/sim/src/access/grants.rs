//! What the oracle sees: who has what inside which Shoot.

use crate::stage::{
    call::Side,
    world::{NAMESPACE, World},
};
use allotment_api::{
    condition::ConditionStatus,
    kyma::{ClusterPhase, KubeconfigPhase, KubeconfigRequest, TokenState},
    names::{annotation, label},
};
use allotment_core::check::Violation;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::Method;
use kube::ResourceExt;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const REQUESTS: &str = "/apis/operator.kyma-project.io/v1alpha1/namespaces/default/kubeconfigrequests";

/// The kinds that a grant is made of, by their paths.
const PARTS: [&str; 6] = [
    "/api/v1/serviceaccounts",
    "/api/v1/secrets",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "/apis/rbac.authorization.k8s.io/v1/roles",
    "/apis/rbac.authorization.k8s.io/v1/rolebindings",
];

/// Every token that was ever published: of which request, and into which Shoot.
#[derive(Clone, Debug, Default)]
pub(crate) struct Issued(BTreeMap<String, BTreeSet<(String, String)>>);

impl World {
    /// A KubeconfigRequest is like this now.
    pub(crate) fn see_access(&self, object: Option<&Value>) -> Vec<Violation> {
        let Some(request) =
            object.and_then(|object| serde_json::from_value::<KubeconfigRequest>(object.clone()).ok())
        else {
            return Vec::new();
        };
        let uid = request.uid().unwrap_or_default();
        if let Some((token, shoot)) = self.published(&request) {
            self.state().issued.0.entry(uid.clone()).or_default().insert((token, shoot));
        }
        let status = request.status.clone().unwrap_or_default();
        let says_revoked = status
            .conditions
            .iter()
            .any(|condition| condition.type_ == "Revoked" && condition.status == ConditionStatus::True);
        if !says_revoked || status.kubeconfig.is_some() {
            return Vec::new();
        }
        let name = request.name_any();
        self.valid_tokens(&uid)
            .map(|_| Violation::Untold(format!("{name} is called revoked, and a token of it is valid")))
            .collect()
    }

    /// What must hold when nothing is left to do.
    pub(crate) fn grants_at_rest(&self) -> Vec<Violation> {
        let (_, list) = self.ask(Side::ControlPlane, Method::GET, REQUESTS, None);
        let requests: Vec<KubeconfigRequest> = list["items"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|object| serde_json::from_value(object.clone()).ok())
            .collect();
        let mut wrong = Vec::new();
        let mut granted = BTreeSet::new();
        for request in &requests {
            let (name, uid) = (request.name_any(), request.uid().unwrap_or_default());
            match self.unrest(request) {
                Some(why) => wrong.push(format!("KubeconfigRequest {name}: {why}")),
                None if phase(request) == Some(KubeconfigPhase::Issued) => drop(granted.insert(uid)),
                None => (),
            }
        }
        for (shoot, owners) in self.owners() {
            wrong.extend(
                owners
                    .difference(&granted)
                    .map(|uid| format!("Shoot {shoot} holds something of request {uid}, which has nothing")),
            );
        }
        let known: Vec<String> = self.state().issued.0.keys().cloned().collect();
        for uid in known.iter().filter(|uid| !granted.contains(*uid)) {
            wrong.extend(self.valid_tokens(uid).map(|shoot| {
                format!("a token of request {uid}, which has nothing, is valid in Shoot {shoot}")
            }));
        }
        wrong.into_iter().map(Violation::Untold).collect()
    }

    /// Why a request is not done.
    fn unrest(&self, request: &KubeconfigRequest) -> Option<String> {
        let status = request.status.clone().unwrap_or_default();
        let is = |key: &str| request.annotations().get(key).is_some_and(|value| value == "true");
        let is_ready = {
            let state = self.state();
            let cluster = state.eyes.fleet.clusters.get(&request.spec.cluster);
            cluster.is_some_and(|wish| wish.phase == Some(ClusterPhase::Ready) && !wish.deleting)
        };
        let phase = phase(request);
        if request.metadata.deletion_timestamp.is_some() {
            return Some("it is still there".to_owned());
        }
        if is(annotation::REVOKE) {
            return (phase != Some(KubeconfigPhase::Revoked) && is_ready)
                .then(|| format!("it is to be revoked, and is {phase:?}"));
        }
        if !is_ready {
            return None;
        }
        if phase != Some(KubeconfigPhase::Issued) || is(annotation::ROTATE) {
            return Some(format!("it is {phase:?}, rotation asked for: {}", is(annotation::ROTATE)));
        }
        if status.tokens.iter().any(|token| matches!(token.state, TokenState::Asked | TokenState::Ending)) {
            return Some("a token is under way".to_owned());
        }
        let Some((token, shoot)) = self.published(request) else {
            return Some("its kubeconfig cannot be read".to_owned());
        };
        (!self.is_valid(&token, &shoot)).then(|| "its token is refused".to_owned())
    }

    /// The token that is published, and the UID of the Shoot that it leads into.
    fn published(&self, request: &KubeconfigRequest) -> Option<(String, String)> {
        let text = BASE64_STANDARD.decode(request.status.as_ref()?.kubeconfig.as_ref()?).ok()?;
        let kubeconfig: Value = serde_json::from_slice(&text).ok()?;
        let token = kubeconfig.pointer("/users/0/user/token")?.as_str()?.to_owned();
        let server = kubeconfig.pointer("/clusters/0/cluster/server")?.as_str()?;
        let shoot = server.strip_prefix("https://")?.strip_suffix(".example.com")?;
        let uid = self.state().eyes.fleet.shoots.get(shoot).map(|stand| stand.uid.clone())?;
        Some((token, uid))
    }

    /// The Shoots in which a token of a request is valid.
    fn valid_tokens(&self, uid: &str) -> impl Iterator<Item = String> {
        let issued = self.state().issued.0.get(uid).cloned().unwrap_or_default();
        issued
            .into_iter()
            .filter(|(token, shoot)| self.has_shoot(shoot) && self.is_valid(token, shoot))
            .map(|(_, shoot)| shoot)
    }

    fn is_valid(&self, token: &str, shoot: &str) -> bool {
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
        self.state().eyes.fleet.shoots.values().any(|stand| stand.uid == uid)
    }
}

fn phase(request: &KubeconfigRequest) -> Option<KubeconfigPhase> {
    debug_assert_eq!(request.namespace().as_deref(), Some(NAMESPACE));
    request.status.as_ref().and_then(|status| status.phase)
}
