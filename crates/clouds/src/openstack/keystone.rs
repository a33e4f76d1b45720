//! Logging in: a token, the project that it is for, and the catalog of services.

use super::{call::incomplete, error::OpenStackError, services::Service};
use crate::{
    Refusal,
    credentials::{OpenStackCredentials, OpenStackLogin},
    http::{Http, Response},
};
use allotment_core::cleanup::Place;
use bytes::Bytes;
use http::{Request, StatusCode, header::CONTENT_TYPE};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The result of a login.
pub(super) struct Session {
    pub(super) token: SecretString,
    pub(super) project: String,
    pub(super) user: String,
    endpoints: Vec<Endpoint>,
}

struct Endpoint {
    service: String,
    region: String,
    is_public: bool,
    url: String,
}

/// The endpoint of a service in a region.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// At this URL, without a slash at its end.
    At(String),
    /// The catalog does not have the service there.
    Absent,
    /// The catalog has the service, but not for us: what is in it is unknown.
    NotPublic,
}

impl Session {
    /// Logs in.
    pub(super) async fn open(
        http: &Http,
        auth_url: &str,
        credentials: &OpenStackCredentials,
    ) -> Result<Self, Refusal> {
        let request = Request::post(format!("{auth_url}/auth/tokens"))
            .header(CONTENT_TYPE, "application/json")
            .body(Bytes::from(login(credentials).to_string()).into())
            .map_err(|_| Refusal::Other {
                code: "InvalidRequest".to_owned(),
                message: "authURL is not a URL".to_owned(),
            })?;
        let response = http.send(request).await?;
        if response.status.is_success() {
            return Self::read(&response).ok_or_else(|| incomplete("the login"));
        }
        // Its message may repeat what was sent. A refused login is no missing permission: nothing is assumed absent then.
        let message = match response.status {
            StatusCode::UNAUTHORIZED => "keystone does not accept the credentials",
            StatusCode::NOT_FOUND => "authURL is not the third version of keystone",
            _ => "keystone refused the login",
        };
        let error =
            OpenStackError::read(&response).without_secrets(&[credentials.login.secret().expose_secret()]);
        match error.refusal(&response, "", "") {
            refusal @ (Refusal::Throttled { .. } | Refusal::Transient { .. }) => Err(refusal),
            _ => {
                let code = format!("Login{}", response.status.as_u16());
                Err(Refusal::Other { code, message: message.to_owned() })
            }
        }
    }

    fn read(response: &Response) -> Option<Self> {
        let token = response.headers.get("x-subject-token")?.to_str().ok()?;
        let body: Value = serde_json::from_slice(&response.body).ok()?;
        let text = |pointer: &str| body.pointer(pointer)?.as_str().map(str::to_owned);
        let services = body.pointer("/token/catalog").and_then(Value::as_array).map(Vec::as_slice);
        let endpoints = services.unwrap_or_default().iter().flat_map(endpoints);
        Some(Self {
            token: token.to_owned().into(),
            project: text("/token/project/id").filter(|id| !id.is_empty())?,
            user: text("/token/user/id")?,
            endpoints: endpoints.collect(),
        })
    }

    /// The regions in which the catalog has any of these services.
    pub(super) fn regions(&self, services: &[&Service]) -> BTreeSet<Place> {
        let is_ours = |endpoint: &&Endpoint| {
            services.iter().any(|service| service.types.contains(&endpoint.service.as_str()))
        };
        self.endpoints.iter().filter(is_ours).map(|endpoint| Place::new(endpoint.region.clone())).collect()
    }

    /// The endpoint of a service in a region.
    pub(super) fn reach(&self, service: &Service, place: &Place) -> Reach {
        let here = || self.endpoints.iter().filter(|endpoint| endpoint.region == place.as_str());
        // The types of a service are in the order of preference: a catalog can have an old version beside the new one.
        for name in service.types {
            let public = here().find(|endpoint| endpoint.service == *name && endpoint.is_public);
            if let Some(endpoint) = public {
                return Reach::At(base(service, &endpoint.url, &self.project));
            }
        }
        if here().any(|endpoint| service.types.contains(&endpoint.service.as_str())) {
            return Reach::NotPublic;
        }
        Reach::Absent
    }
}

fn endpoints(service: &Value) -> Vec<Endpoint> {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let Some(name) = text(service, "type") else { return Vec::new() };
    let endpoints = service.get("endpoints").and_then(Value::as_array).map(Vec::as_slice);
    let read = |endpoint: &Value| {
        Some(Endpoint {
            service: name.clone(),
            region: text(endpoint, "region_id").or_else(|| text(endpoint, "region"))?,
            is_public: endpoint.get("interface").and_then(Value::as_str) == Some("public"),
            url: text(endpoint, "url")?,
        })
    };
    endpoints.unwrap_or_default().iter().filter_map(read).collect()
}

/// The URL of a service with the version that we speak. Catalogs name a service with its version and project, with its
/// version, or with neither.
fn base(service: &Service, url: &str, project: &str) -> String {
    let url = url.trim_end_matches('/');
    let url = url.strip_suffix(&format!("/AUTH_{project}")).unwrap_or(url);
    let url = url.strip_suffix(&format!("/{project}")).unwrap_or(url);
    let url = match url.rsplit_once('/') {
        Some((rest, last)) if is_version(last) => rest,
        _ => url,
    };
    let of_project = if service.project_in_path { format!("/{project}") } else { String::new() };
    format!("{url}/{}{of_project}", service.version)
}

fn is_version(segment: &str) -> bool {
    let number = segment.strip_prefix('v').unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// The URL of keystone's third version. Secrets and CloudProfiles name it with and without the version.
pub(super) fn auth_url(url: &str) -> String {
    let url = url.trim_end_matches('/');
    if url.ends_with("/v3") { url.to_owned() } else { format!("{}/v3", url.trim_end_matches("/v2.0")) }
}

/// The only place where a secret is put into a body.
fn login(credentials: &OpenStackCredentials) -> Value {
    let OpenStackCredentials { domain, project, login, auth_url: _, ca_cert: _, insecure: _ } = credentials;
    let domain = json!({ "name": domain });
    match login {
        OpenStackLogin::Password { username, password } => json!({ "auth": {
            "identity": { "methods": ["password"], "password": { "user": {
                "name": username, "domain": domain, "password": password.expose_secret(),
            } } },
            "scope": { "project": { "name": project, "domain": domain } },
        } }),
        OpenStackLogin::ApplicationCredentialId { id, secret } => application_credential(&json!({
            "id": id, "secret": secret.expose_secret(),
        })),
        OpenStackLogin::ApplicationCredentialName { name, username, secret } => {
            application_credential(&json!({
                "name": name, "user": { "name": username, "domain": domain }, "secret": secret.expose_secret(),
            }))
        }
    }
}

/// An application credential has a project of its own, and keystone refuses a scope beside it.
fn application_credential(credential: &Value) -> Value {
    let methods = json!(["application_credential"]);
    json!({ "auth": { "identity": { "methods": methods, "application_credential": credential } } })
}

#[cfg(test)]
mod tests {
    use super::{
        super::services::{BLOCK_STORAGE, COMPUTE, LOAD_BALANCER, NETWORK},
        *,
    };
    use http::HeaderMap;

    fn session(catalog: &Value) -> Session {
        let token = json!({ "project": { "id": "p1" }, "user": { "id": "u1" }, "catalog": catalog });
        let mut headers = HeaderMap::new();
        headers.insert("x-subject-token", "gAAAAA".parse().unwrap());
        let body = json!({ "token": token }).to_string().into();
        Session::read(&Response { status: StatusCode::CREATED, headers, body }).unwrap()
    }

    fn endpoint(region: &str, interface: &str, url: &str) -> Value {
        json!({ "region_id": region, "interface": interface, "url": url })
    }

    #[test]
    fn every_spelling_of_an_endpoint_leads_to_the_version_that_we_speak() {
        let cases = [
            (&NETWORK, "http://n:9696", "http://n:9696/v2.0"),
            (&NETWORK, "http://n/networking/v2.0/", "http://n/networking/v2.0"),
            (&COMPUTE, "http://c/v2.1/p1", "http://c/v2.1"),
            (&COMPUTE, "http://c/compute/v2", "http://c/compute/v2.1"),
            (&BLOCK_STORAGE, "http://b/v3/p1", "http://b/v3/p1"),
            (&BLOCK_STORAGE, "http://b/volume", "http://b/volume/v3/p1"),
            (&LOAD_BALANCER, "http://l/load-balancer", "http://l/load-balancer/v2.0"),
        ];
        for (service, url, expected) in cases {
            assert_eq!(base(service, url, "p1"), expected, "{url}");
        }
        assert_eq!(auth_url("https://k:5000/"), "https://k:5000/v3");
        assert_eq!(auth_url("https://k/identity/v3/"), "https://k/identity/v3");
    }

    #[test]
    fn only_a_service_that_is_not_in_the_catalog_is_absent() {
        let catalog = json!([
            { "type": "compute", "endpoints": [endpoint("R1", "public", "http://c"), endpoint("R2", "admin", "http://c2")] },
            { "type": "volumev2", "endpoints": [endpoint("R1", "public", "http://old/v2/p1")] },
            { "type": "volumev3", "endpoints": [endpoint("R1", "public", "http://b/v3/p1")] },
            { "type": "identity", "endpoints": [endpoint("K", "public", "http://k")] },
        ]);
        let session = session(&catalog);
        let (first, second) = (Place::of("R1"), Place::of("R2"));
        assert_eq!(session.reach(&COMPUTE, &first), Reach::At("http://c/v2.1".to_owned()));
        assert_eq!(session.reach(&BLOCK_STORAGE, &first), Reach::At("http://b/v3/p1".to_owned()));
        assert_eq!(session.reach(&COMPUTE, &second), Reach::NotPublic, "not ours to call is not absent");
        assert_eq!(session.reach(&BLOCK_STORAGE, &second), Reach::Absent);
        assert_eq!(session.regions(&[&COMPUTE, &BLOCK_STORAGE]), BTreeSet::from([first, second]));
    }

    #[test]
    fn an_application_credential_is_sent_without_a_scope() {
        let credentials = |login| OpenStackCredentials {
            domain: "d".to_owned(),
            project: "p".to_owned(),
            login,
            auth_url: None,
            ca_cert: None,
            insecure: false,
        };
        let secret = SecretString::from("s");
        let id = OpenStackLogin::ApplicationCredentialId { id: "i".to_owned(), secret: secret.clone() };
        let body = login(&credentials(id));
        assert!(body.pointer("/auth/scope").is_none(), "{body}");
        let (name, username) = ("n".to_owned(), "u".to_owned());
        let body = login(&credentials(OpenStackLogin::ApplicationCredentialName {
            name,
            username,
            secret: secret.clone(),
        }));
        let user = body.pointer("/auth/identity/application_credential/user/domain/name").unwrap();
        assert_eq!(user, "d");
        let password = OpenStackLogin::Password { username: "u".to_owned(), password: secret };
        assert_eq!(login(&credentials(password)).pointer("/auth/scope/project/domain/name").unwrap(), "d");
    }
}
