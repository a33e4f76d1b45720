//! The two servers, and how a request gets to them.

use crate::script::{Call, Content, Who};
use allotment_apiserver::{ApiServer, auth::User};
use allotment_garden::{
    embedded::EmbeddedGarden,
    landscape::{Landscape, client},
};
use http::Request;
use kube::{
    Client,
    client::Body,
    config::{AuthInfo, Kubeconfig},
};
use std::{collections::BTreeMap, error::Error, path::Path};

pub type Failure = Box<dyn Error + Send + Sync>;

/// A server to be tried.
#[derive(Clone)]
pub struct Server {
    pub name: &'static str,
    /// Whether it is ours.
    pub embedded: bool,
    /// Whether it is a garden.
    pub garden: bool,
    admin: Client,
    nobody: Client,
}

/// What `{name}` stands for, on one server.
pub type Variables = BTreeMap<String, String>;

impl Server {
    /// The real one.
    pub async fn real(landscape: &Landscape) -> Result<Self, Failure> {
        let kubeconfig = &landscape.control_plane_kubeconfig;
        Self::at("real", false, landscape.control_plane.clone(), kubeconfig).await
    }

    /// The real garden.
    pub async fn real_garden(landscape: &Landscape) -> Result<Self, Failure> {
        Self::at("real garden", true, landscape.garden.clone(), &landscape.garden_kubeconfig).await
    }

    async fn at(name: &'static str, garden: bool, admin: Client, kubeconfig: &Path) -> Result<Self, Failure> {
        let mut kubeconfig = Kubeconfig::read_from(kubeconfig)?;
        for named in &mut kubeconfig.auth_infos {
            named.auth_info = Some(AuthInfo::default());
        }
        let nobody = client(kubeconfig).await?;
        Ok(Self { name, embedded: false, garden, admin, nobody })
    }

    /// Ours.
    pub fn embedded(server: &ApiServer) -> Self {
        let admin = User::new("admin", ["system:masters"]);
        Self {
            name: "embedded",
            embedded: true,
            garden: false,
            admin: Client::new(server.service(admin), "default"),
            nobody: Client::new(server.anonymous_service(), "default"),
        }
    }

    /// Our garden.
    pub fn embedded_garden(garden: &EmbeddedGarden) -> Self {
        Self { name: "embedded garden", garden: true, ..Self::embedded(&garden.garden) }
    }

    pub async fn send(&self, call: &Call, variables: &Variables) -> Result<http::Response<Body>, Failure> {
        let mut request = Request::builder()
            .method(call.method)
            .uri(encode(&fill(&call.path, variables)))
            .header("accept", call.accept)
            .header("user-agent", "conformance/1");
        let mut client = &self.admin;
        match &call.who {
            Who::Admin => {}
            Who::Nobody => client = &self.nobody,
            Who::Token(token) => {
                client = &self.nobody;
                request = request.header("authorization", format!("Bearer {}", fill(token, variables)));
            }
            Who::As(user, groups) => {
                request = request.header("impersonate-user", fill(user, variables));
                for group in groups {
                    request = request.header("impersonate-group", fill(group, variables));
                }
            }
        }
        let body = match &call.body {
            Content::Nothing => Vec::new(),
            Content::Json(value) => {
                request = request.header("content-type", call.content_type);
                fill(&value.to_string(), variables).into_bytes()
            }
            Content::Text(text) => {
                request = request.header("content-type", call.content_type);
                fill(text, variables).into_bytes()
            }
        };
        Ok(client.send(request.body(Body::from(body))?).await?)
    }
}

/// Puts in what the variables stand for.
pub fn fill(text: &str, variables: &Variables) -> String {
    let mut text = text.to_owned();
    for (name, value) in variables {
        let name = format!("{{{name}}}");
        if text.contains(&name) {
            text = text.replace(&name, value);
        }
    }
    text
}

/// Scripts write selectors as people do; a URL may not have all of that in it.
fn encode(path: &str) -> String {
    path.replace(' ', "%20")
        .replace('"', "%22")
        .replace('<', "%3C")
        .replace('>', "%3E")
        .replace('{', "%7B")
        .replace('}', "%7D")
}
