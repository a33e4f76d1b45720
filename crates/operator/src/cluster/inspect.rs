//! Clusters, looked at from outside by somebody who asks: everything is read live, and nothing is written.

use super::ClusterName;
use crate::runtime::{
    call::{CallError, call},
    clock::Clock,
};
use crate::tenancy::NamespaceRoles;
use allotment_api::{
    gardener::{CloudProfile, CloudProfileSpec, CredentialsBinding, NamespacedCloudProfile, Shoot},
    kyma::{Cluster, Provider, SubscriptionRequest},
    names::{annotation, label},
};
use allotment_core::{
    cluster::{
        AUTHENTICATION_KEY, Authentication, CloudProfileKind, Clusters, Difference, Input, Rendered,
        differences,
        flow::{self, Decision, Looked, View},
        render, shoot_name,
    },
    tenancy::{NamespaceRole, Tenancy},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, ResourceExt,
    api::{ApiResource, DynamicObject, ListParams, Patch},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

/// Where the name of the ConfigMap with the issuers is.
const ISSUERS: &str = "/spec/kubernetes/kubeAPIServer/structuredAuthentication/configMapName";

/// Somebody who asks.
pub struct Inspector {
    /// Where Clusters are.
    pub control_plane: Client,
    /// Where Shoots are.
    pub garden: Client,
    /// The namespace of the project in the garden.
    pub garden_namespace: String,
    /// The project.
    pub project: String,
    /// The configuration that is asked about.
    pub clusters: Clusters,
    /// Whose namespaces are.
    pub tenancy: Tenancy,
    /// The time.
    pub clock: Clock,
    /// CloudProfiles that were read: they are large, and all Clusters have the same few.
    pub profiles: Mutex<BTreeMap<Provider, Option<Arc<CloudProfileSpec>>>>,
}

/// What was found of a Cluster and what belongs to it.
pub struct Found {
    /// What is asked for.
    pub cluster: Cluster,
    /// Its SubscriptionRequest.
    pub request: Option<SubscriptionRequest>,
    /// The Shoot that has its name.
    pub shoot: Option<Shoot>,
    whole_shoot: Value,
    profile: Option<Arc<CloudProfileSpec>>,
    /// What its namespace may ask for.
    role: NamespaceRole,
}

/// What a configuration would do to a Cluster.
#[derive(Clone, Debug, PartialEq)]
pub enum Forecast {
    /// Nothing: the tenant brought it.
    Brought,
    /// Nothing yet: it has no Shoot of its own.
    NotMade,
    /// Nothing: it is being deleted.
    Leaving,
    /// It would not be rolled out, because of what is asked for, or because the garden refuses it.
    Stopped(String),
    /// These fields of the Shoot would be otherwise.
    Changes(Vec<Difference>),
}

impl Found {
    /// Whether a Shoot is the Cluster's own.
    pub fn owns(&self, shoot: &Shoot) -> bool {
        let own = self.request.as_ref().filter(|request| flow::is_request_of(request, &self.cluster));
        let request = own.and_then(|request| request.metadata.uid.as_deref());
        flow::is_owned_by(&shoot.metadata, self.cluster.metadata.uid.as_deref(), request)
    }
}

impl Inspector {
    /// A Cluster; none if there is none of this name.
    pub async fn find(&self, name: &ClusterName) -> Result<Option<Found>, CallError> {
        let api: Api<Cluster> = Api::namespaced(self.control_plane.clone(), &name.namespace);
        match call(|| format!("read Cluster {name}"), api.get_opt(&name.name)).await? {
            Some(cluster) => self.gather(cluster, None).await.map(Some),
            None => Ok(None),
        }
    }

    /// The Clusters of a namespace, or all.
    pub async fn list(&self, namespace: Option<&str>) -> Result<Vec<Cluster>, CallError> {
        let api: Api<Cluster> = match namespace {
            Some(namespace) => Api::namespaced(self.control_plane.clone(), namespace),
            None => Api::all(self.control_plane.clone()),
        };
        let listed = call(|| "list Clusters".to_owned(), api.list(&ListParams::default())).await?;
        Ok(listed.items)
    }

    /// What belongs to a Cluster, with the Shoot of its own name or of another one.
    pub async fn gather(&self, cluster: Cluster, shoot: Option<&str>) -> Result<Found, CallError> {
        let namespace = cluster.namespace().unwrap_or_default();
        let requests: Api<SubscriptionRequest> = Api::namespaced(self.control_plane.clone(), &namespace);
        let request = match cluster.spec.byoc {
            Some(_) => None,
            None => {
                let name = flow::request_name(&cluster);
                call(|| format!("read SubscriptionRequest {name}"), requests.get_opt(&name)).await?
            }
        };
        let own = shoot_name(&cluster, &self.project).ok().filter(|_| cluster.spec.byoc.is_none());
        let whole_shoot = match shoot.map(str::to_owned).or(own) {
            None => Value::Null,
            Some(name) => {
                let found = call(|| format!("read Shoot {name}"), self.shoots().get_opt(&name)).await?;
                json!(found)
            }
        };
        // What a server says of a Shoot can be read by the narrow type, or is as good as none to us.
        let shoot = serde_json::from_value(whole_shoot.clone()).ok().flatten();
        let profile = self.profile_of(&cluster).await?;
        let roles = NamespaceRoles::new(self.control_plane.clone(), Arc::new(self.tenancy.clone()));
        let role = roles.role_now(&namespace).await?;
        Ok(Found { cluster, request, shoot, whole_shoot, profile, role })
    }

    /// What the operator would do next, with this configuration, if it is not this Cluster's turn in a rollout.
    pub fn decide(&self, found: &Found) -> Decision {
        let standing = super::look::written_standing(&found.cluster);
        flow::decide(&View {
            cluster: &found.cluster,
            role: &found.role,
            clusters: &self.clusters,
            profile: found.profile.as_deref(),
            request: found.request.as_ref(),
            shoot: found.shoot.as_ref(),
            adopts: None,
            is_live: true,
            garden_namespace: &self.garden_namespace,
            project: &self.project,
            refusal: None,
            has_turn: false,
            administrators: Looked::NotYet,
            is_locked: false,
            issuers: Looked::NotYet,
            standing: standing.as_ref().map_or(Looked::Due, Looked::Seen),
            now: self.clock.now(),
        })
    }

    /// What this configuration would do to a Cluster's Shoot.
    pub async fn forecast(&self, found: &Found) -> Result<Forecast, CallError> {
        let Found { cluster, shoot, .. } = found;
        if cluster.spec.byoc.is_some() {
            return Ok(Forecast::Brought);
        }
        if cluster.metadata.deletion_timestamp.is_some() {
            return Ok(Forecast::Leaving);
        }
        match shoot.as_ref().filter(|shoot| found.owns(shoot)) {
            None => Ok(Forecast::NotMade),
            Some(shoot) if shoot.metadata.deletion_timestamp.is_some() => Ok(Forecast::Leaving),
            Some(shoot) => {
                let request = shoot.labels().get(label::SUBSCRIPTION_REQUEST).cloned();
                self.try_out(found, &request.unwrap_or_default()).await
            }
        }
    }

    /// Applies the Shoot without writing it, and compares. `request` is the UID that it would carry.
    pub async fn try_out(&self, found: &Found, request: &str) -> Result<Forecast, CallError> {
        let Some(shoot) = &found.shoot else { return Ok(Forecast::NotMade) };
        let provider =
            found.cluster.spec.infrastructure.as_ref().map(|infrastructure| infrastructure.provider);
        let offered = provider.and_then(|provider| self.clusters.providers.get(&provider));
        if let (None, Some(offered)) = (&found.profile, offered) {
            let name = &offered.cloud_profile;
            return Ok(Forecast::Stopped(format!("the garden has no CloudProfile {name}")));
        }
        // A provider that is not offered is a problem before anybody looks into the profile.
        let nothing = CloudProfileSpec::default();
        let rendered = render(&Input {
            cluster: &found.cluster,
            role: &found.role,
            clusters: &self.clusters,
            profile: found.profile.as_deref().unwrap_or(&nothing),
            live: Some(shoot),
            name: &shoot.name_any(),
            namespace: &self.garden_namespace,
            binding: shoot.spec.credentials_binding_name.as_deref().unwrap_or_default(),
            request,
            now: self.clock.now(),
        });
        let Rendered { shoot: mut wanted, authentication, notes: _ } = match rendered {
            Ok(rendered) => rendered,
            Err(problems) => return Ok(Forecast::Stopped(problems.to_string())),
        };
        let issuers = self.issuers(&found.whole_shoot, &mut wanted, authentication).await?;
        let (api, name, mut params) = (self.shoots(), shoot.name_any(), super::act::applying());
        params.dry_run = true;
        let patch = Patch::Apply(&wanted);
        match call(|| format!("try to apply Shoot {name}"), api.patch(&name, &params, &patch)).await {
            Ok(after) => {
                let mut changes = differences(&ours(&found.whole_shoot), &ours(&json!(after)));
                changes.extend(issuers);
                Ok(Forecast::Changes(changes))
            }
            Err(error) => match super::act::refusal(&error) {
                Some(why) => Ok(Forecast::Stopped(why)),
                None => Err(error),
            },
        }
    }

    /// The ConfigMap with the issuers is not there yet, and the garden would refuse a Shoot that names it: what is tried out
    /// keeps the one that it has, and what would be otherwise is told beside it.
    async fn issuers(
        &self,
        live: &Value,
        wanted: &mut Value,
        authentication: Option<Authentication>,
    ) -> Result<Vec<Difference>, CallError> {
        let used = live.pointer(ISSUERS).and_then(Value::as_str).map(str::to_owned);
        let Some(Authentication { name, config, .. }) =
            authentication.filter(|wanted| Some(&wanted.name) != used.as_ref())
        else {
            return Ok(Vec::new());
        };
        let maps: Api<ConfigMap> = Api::namespaced(self.garden.clone(), &self.garden_namespace);
        let before = match &used {
            Some(used) => call(|| format!("read ConfigMap {used}"), maps.get_opt(used)).await?,
            None => None,
        };
        let before = before.and_then(|map| map.data?.remove(AUTHENTICATION_KEY));
        match (wanted.pointer_mut(ISSUERS), &used) {
            (Some(place), Some(used)) => *place = json!(used),
            _ => {
                let kubernetes = wanted.pointer_mut("/spec/kubernetes").and_then(Value::as_object_mut);
                kubernetes
                    .and_then(|all| all.get_mut("kubeAPIServer"))
                    .and_then(Value::as_object_mut)
                    .map(|all| all.remove("structuredAuthentication"));
            }
        }
        let field = ISSUERS.trim_start_matches('/').replace('/', ".");
        let mut changes = vec![Difference { field, before: used.map(Value::from), after: Some(name.into()) }];
        changes.extend(differences(&by_issuer(&before.unwrap_or_default()), &by_issuer(&config)));
        Ok(changes)
    }

    /// The labels of the pool entry that a Shoot's account is in.
    pub async fn account_of(&self, shoot: &Shoot) -> Result<Option<BTreeMap<String, String>>, CallError> {
        let Some(binding) = &shoot.spec.credentials_binding_name else { return Ok(None) };
        let bindings: Api<CredentialsBinding> = Api::namespaced(self.garden.clone(), &self.garden_namespace);
        let found = bindings.get_metadata_opt(binding);
        let found = call(|| format!("read CredentialsBinding {binding}"), found).await?;
        Ok(found.map(|found| found.labels().clone()))
    }

    async fn profile_of(&self, cluster: &Cluster) -> Result<Option<Arc<CloudProfileSpec>>, CallError> {
        let Some(infrastructure) = &cluster.spec.infrastructure else { return Ok(None) };
        let provider = infrastructure.provider;
        let Some(defaults) = self.clusters.providers.get(&provider) else { return Ok(None) };
        let known = self.profiles.lock().unwrap_or_else(PoisonError::into_inner).get(&provider).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let name = &defaults.cloud_profile;
        let found = match defaults.cloud_profile_kind {
            CloudProfileKind::CloudProfile => {
                let api: Api<CloudProfile> = Api::all(self.garden.clone());
                let found = call(|| format!("read CloudProfile {name}"), api.get_opt(name)).await?;
                found.map(|found| found.spec)
            }
            CloudProfileKind::NamespacedCloudProfile => {
                let api: Api<NamespacedCloudProfile> =
                    Api::namespaced(self.garden.clone(), &self.garden_namespace);
                let found = call(|| format!("read NamespacedCloudProfile {name}"), api.get_opt(name)).await?;
                found.and_then(|found| found.status?.cloud_profile_spec)
            }
        };
        let found = found.map(Arc::new);
        self.profiles.lock().unwrap_or_else(PoisonError::into_inner).insert(provider, found.clone());
        Ok(found)
    }

    fn shoots(&self) -> Api<DynamicObject> {
        let kind = ApiResource::erase::<Shoot>(&());
        Api::namespaced_with(self.garden.clone(), &self.garden_namespace, &kind)
    }
}

/// What is asked of each issuer. One that somebody else wrote may be YAML, which is not read here.
fn by_issuer(config: &str) -> Value {
    let config: Value = serde_json::from_str(config).unwrap_or_default();
    let issuers = config["jwt"].as_array().into_iter().flatten();
    let issuers = issuers.filter_map(|jwt| Some((jwt["issuer"]["url"].as_str()?.to_owned(), jwt.clone())));
    json!({ "issuers": issuers.collect::<serde_json::Map<_, _>>() })
}

/// What people see of a Shoot, without the marks that only the operator reads.
fn ours(shoot: &Value) -> Value {
    let mut annotations = shoot["metadata"]["annotations"].clone();
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.remove(annotation::APPLIED);
        annotations.remove(annotation::TENANT);
    }
    json!({
        "metadata": { "labels": shoot["metadata"]["labels"], "annotations": annotations },
        "spec": shoot["spec"],
    })
}
