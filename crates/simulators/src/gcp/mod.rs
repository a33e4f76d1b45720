//! Google Cloud: Compute Engine, service accounts and logins, for the account cleaner.
//!
//! - *References decide what is in use.* An item cannot be deleted while another one names it; networks and subnetworks notice that
//!   late, in the result of their operation, everything else at once.
//! - *Changes are operations.* Insertions are done at once, for the sake of fills; deletions take calls or time.
//! - *Lists* have pages, are aggregated or not, and say which scopes they could not reach.
//! - *Tokens* are given for assertions with a good signature, or in exchange for the token of a workload identity.

mod auth;
mod compute;
mod controls;
mod iam;
mod lists;
mod made;
mod operations;
mod quotas;
mod references;
mod reply;
mod state;
#[cfg(test)]
mod tests;

pub use state::Setup;

use crate::server::{Reply, Simulator};
use bytes::Bytes;
use http::{Method, Request};
use reply::{Answer, refused};
use serde_json::{Value, json};
use state::{Project, State};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The key of all service accounts of all simulators. It opens nothing else.
pub const PRIVATE_KEY: &str = include_str!("key.pem");

/// Google Cloud, with any number of projects.
#[derive(Debug, Default)]
pub struct GcpCloud(Mutex<State>);

impl GcpCloud {
    /// A cloud without projects.
    pub fn new() -> Arc<Self> {
        Arc::new(Self::default())
    }

    /// A new project, as Google makes it: with a default network.
    pub fn project(self: &Arc<Self>, setup: &Setup) -> GcpProject {
        let id = self.state().add_project(setup);
        GcpProject { cloud: Arc::clone(self), id }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One project of the cloud, and the controls of it.
#[derive(Clone, Debug)]
pub struct GcpProject {
    cloud: Arc<GcpCloud>,
    id: String,
}

impl GcpProject {
    /// The project id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The service account of the credentials.
    pub fn client_email(&self) -> String {
        state::client_email(&self.id)
    }

    /// The content of `serviceaccount.json`.
    pub fn key(&self, endpoint: &str) -> Value {
        json!({
            "type": "service_account",
            "project_id": self.id,
            "private_key_id": "0123456789abcdef",
            "private_key": PRIVATE_KEY,
            "client_email": self.client_email(),
            "client_id": "1",
            "token_uri": format!("{endpoint}/token"),
            "universe_domain": "googleapis.com",
        })
    }

    /// The providerConfig of a workload identity.
    pub fn workload_config(&self, endpoint: &str) -> Value {
        let email = self.client_email();
        json!({
            "apiVersion": "gcp.provider.extensions.gardener.cloud/v1alpha1",
            "kind": "WorkloadIdentityConfig",
            "projectID": self.id,
            "credentialsConfig": {
                "universe_domain": "googleapis.com",
                "type": "external_account",
                "audience": auth::audience(&self.id),
                "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
                "token_url": format!("{endpoint}/v1/token"),
                "service_account_impersonation_url":
                    format!("{endpoint}/v1/projects/-/serviceAccounts/{email}:generateAccessToken"),
            },
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut Project) -> T) -> Option<T> {
        self.cloud.state().projects.get_mut(&self.id).map(act)
    }
}

/// A request, taken apart.
pub(crate) struct Call<'a> {
    pub(crate) method: Method,
    /// The path behind the project.
    pub(crate) path: Vec<&'a str>,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Call<'_> {
    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

impl Simulator for GcpCloud {
    fn handle(&self, request: Request<Bytes>) -> Reply {
        let mut state = self.state();
        let answer = route(&mut state, &request);
        answer.into_reply()
    }
}

fn route(state: &mut State, request: &Request<Bytes>) -> Answer {
    let decode = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
    let path: Vec<String> = request.uri().path().trim_matches('/').split('/').map(decode).collect();
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let query = request.uri().query().unwrap_or_default().as_bytes();
    let query = form_urlencoded::parse(query).into_owned().collect();
    let login = match path.as_slice() {
        ["token"] => Some(auth::with_assertion(state, request.body())),
        ["v1", "token"] => Some(auth::exchange(state, request.body())),
        ["v1", "projects", "-", "serviceAccounts", account] => {
            Some(auth::impersonate(state, request.headers(), account))
        }
        _ => None,
    };
    if let Some(answer) = login {
        return answer;
    }
    let Some(of) = auth::project_of(state, request.headers()) else {
        return refused(401, "authError", "Request had invalid authentication credentials");
    };
    let body = serde_json::from_slice(request.body()).unwrap_or_default();
    let (service, named, rest) = match path.as_slice() {
        ["compute", "v1", "projects", project, rest @ ..] => ("compute", *project, rest.to_vec()),
        ["v1", "projects", project, rest @ ..] => ("iam", *project, rest.to_vec()),
        _ => return refused(404, "notFound", "there is no such service"),
    };
    if named != of {
        let message = format!("Required 'compute.projects.get' permission for 'projects/{named}'");
        return refused(403, "forbidden", &message);
    }
    let Some(project) = state.projects.get_mut(&of) else {
        return refused(404, "notFound", "The project was not found");
    };
    let call = Call { method: request.method().clone(), path: rest, query, body };
    project.tick();
    if let Some(answer) = controls::before(project, service, &call) {
        return answer;
    }
    if service == "iam" { iam::answer(project, &call) } else { compute::answer(project, &call) }
}
