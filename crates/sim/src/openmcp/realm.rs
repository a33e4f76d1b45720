//! Platforms and gardens.

use super::{
    garden::Grounds,
    providers::{PROJECTS, Providers},
    sees::Sight,
};
use crate::{
    hostile::HOSTILE,
    stage::{
        call::Side,
        world::{SimError, World},
    },
};
use allotment_api::{allotment, openmcp};
use allotment_apiserver::{ApiServer, server::Entropy, service::Clock};
use allotment_core::openmcp::instance::Instance;
use allotment_garden::embedded::EmbeddedGarden;
use http::Method;
use serde_json::{Value, json};
use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// An API server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    Platform(usize),
    Garden(usize),
    /// By UID.
    Shoot(String),
}

impl Place {
    pub(crate) fn of(side: Side, number: usize, shoot: Option<&str>) -> Self {
        match (side, shoot) {
            (_, Some(uid)) => Self::Shoot(uid.to_owned()),
            (Side::ControlPlane, None) => Self::Platform(number),
            (Side::Garden | Side::Shoot, None) => Self::Garden(number),
        }
    }

    pub(crate) fn server(&self, world: &World) -> Option<ApiServer> {
        let realm = world.realm.as_ref()?;
        match self {
            Self::Platform(number) => realm.platforms.get(*number).cloned(),
            Self::Garden(number) => realm.gardens.get(*number).cloned(),
            Self::Shoot(uid) => Some(realm.grounds.server(world, realm, uid)),
        }
    }

    /// Asks as an administrator would.
    pub(super) fn ask(
        &self,
        world: &World,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> (u16, Value) {
        match self.server(world) {
            Some(server) => world.ask_server(&server, method, path, body),
            None => (0, Value::Null),
        }
    }

    /// The objects of a list.
    pub(super) fn list(&self, world: &World, path: &str) -> Vec<Value> {
        let (_, list) = self.ask(world, Method::GET, path, None);
        list["items"].as_array().cloned().unwrap_or_default()
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Platform(number) => write!(formatter, "platform {number}"),
            Self::Garden(number) => write!(formatter, "garden {number}"),
            Self::Shoot(uid) => write!(formatter, "Shoot {uid}"),
        }
    }
}

/// Platforms and gardens, and who works there.
pub(crate) struct Realm {
    pub(crate) providers: Providers,
    /// Who the processes are.
    pub(crate) instances: Vec<Instance>,
    platforms: Vec<ApiServer>,
    pub(super) gardens: Vec<ApiServer>,
    pub(super) grounds: Grounds,
    sight: Mutex<Sight>,
}

impl Realm {
    pub(crate) fn new(
        providers: &Providers,
        step_milliseconds: u64,
        garden: &ApiServer,
        control_plane: &ApiServer,
        entropy: impl Fn() -> Entropy,
        clock: &Clock,
    ) -> Result<Self, SimError> {
        let (mut platforms, mut gardens) = (vec![control_plane.clone()], vec![garden.clone()]);
        if providers.platforms > 1 || providers.gardens > 1 {
            let EmbeddedGarden { garden, control_plane, shoots: _ } =
                EmbeddedGarden::with(entropy, clock.clone())?;
            platforms.extend(Some(control_plane).filter(|_| providers.platforms > 1));
            gardens.extend(Some(garden).filter(|_| providers.gardens > 1));
        }
        Ok(Self {
            providers: providers.clone(),
            instances: providers.instances(),
            grounds: Grounds::new(step_milliseconds, gardens.len()),
            platforms,
            gardens,
            sight: Mutex::default(),
        })
    }

    pub(super) fn sight(&self) -> MutexGuard<'_, Sight> {
        self.sight.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The numbers of the platforms.
    pub(super) fn platforms(&self) -> impl Iterator<Item = usize> + use<> {
        0..self.platforms.len()
    }

    /// The garden that a Landscape leads to.
    pub(super) fn garden_of(&self, landscape: &str) -> usize {
        if landscape == "l2" { self.gardens.len() - 1 } else { 0 }
    }

    /// Whether a process of this provider is there, on this platform.
    pub(super) fn serves(&self, platform: usize, instance: &Instance) -> bool {
        self.instances.contains(instance) && self.providers.platform_of(&instance.environment) == platform
    }
}

/// Puts into platforms and gardens what is there before anybody begins.
pub(crate) fn set_up(world: &World) -> Result<(), SimError> {
    let Some(realm) = &world.realm else { return Ok(()) };
    let must = |place: Place, path: &str, body: &Value| {
        let (code, answer) = place.ask(world, Method::POST, path, Some(body));
        let what = format!("{place} {path} {}", body["metadata"]["name"]);
        if code < 300 { Ok(()) } else { Err(SimError::SetUp { what, code, body: answer.to_string() }) }
    };
    for platform in realm.platforms() {
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        for crd in openmcp::crds() {
            must(Place::Platform(platform), path, &json!(crd))?;
        }
        for crd in allotment::crds() {
            // The first platform is the control plane of every play, which may have some of them already.
            Place::Platform(platform).ask(world, Method::POST, path, Some(&json!(crd)));
        }
        if world.options.hostile > 0 {
            let body = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": HOSTILE } });
            // The first platform may have it from before.
            Place::Platform(platform).ask(world, Method::POST, "/api/v1/namespaces", Some(&body));
        }
    }
    for garden in 0..realm.gardens.len() {
        for (project, namespace) in PROJECTS {
            let labels = json!({ "gardener.cloud/role": "project", "project.gardener.cloud/name": project });
            let metadata = json!({ "name": namespace, "labels": labels });
            let body = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata });
            must(Place::Garden(garden), "/api/v1/namespaces", &body)?;
            let body = json!({
                "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Project", "metadata": { "name": project },
                "spec": { "namespace": namespace },
            });
            must(Place::Garden(garden), "/apis/core.gardener.cloud/v1beta1/projects", &body)?;
            let metadata = json!({ "name": "acc", "namespace": namespace });
            let body = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata });
            must(Place::Garden(garden), &format!("/api/v1/namespaces/{namespace}/secrets"), &body)?;
            let body = json!({
                "apiVersion": "security.gardener.cloud/v1alpha1", "kind": "CredentialsBinding", "metadata": metadata,
                "provider": { "type": "aws" },
                "credentialsRef": { "apiVersion": "v1", "kind": "Secret", "name": "acc", "namespace": namespace },
            });
            let path =
                format!("/apis/security.gardener.cloud/v1alpha1/namespaces/{namespace}/credentialsbindings");
            must(Place::Garden(garden), &path, &body)?;
        }
    }
    Ok(())
}
