//! ShootAdoptions: the platform has a Cluster adopt a Shoot that exists. Whether they fit together is decided on live reads,
//! each time anew until the Shoot is adopted.

use super::{ClusterName, Task, Trouble, index::Index, look::Scene, run::Inner};
use crate::runtime::{
    call::call,
    queue::Outcome,
    status::{StatusChange, write_status},
};
use allotment_api::{
    allotment::{ShootAdoption, ShootAdoptionPhase},
    gardener::Shoot,
    kyma::{Cluster, ClusterCondition, ClusterStatus, SubscriptionRequest},
};
use allotment_core::{
    cluster::{
        adopt::{self, Adoption, LiveOwner, Progress, obstacles},
        flow::{carried_cluster, carried_request, is_owned_by, is_paused, request_for, request_name},
        shoot_name,
    },
    condition,
    pool::wanted,
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{ListParams, ObjectMeta},
};
use serde::de::DeserializeOwned;
use std::{fmt::Debug, sync::Arc, time::Duration};

/// Nothing tells that an obstacle is gone which is not the Cluster's or its Shoot's.
pub(super) const REVIEW_AGAIN: Duration = Duration::from_mins(1);

/// As many objects come with one answer.
const PAGE: u32 = 500;

/// What came of a review.
#[derive(Clone, Debug)]
pub(super) struct Review {
    pub(super) adoption: Arc<ShootAdoption>,
    /// What stands against it.
    obstacles: Vec<String>,
    /// Whether the Shoot carries the UID of the Cluster or its request.
    is_owned: bool,
}

impl Inner {
    /// Looks at an adoption whose Cluster is not known.
    pub(super) async fn reconcile_adoption(&self, name: &str) -> Result<Outcome, Trouble> {
        let Some(adoption) = self.index().pending_adoption(name) else { return Ok(Outcome::Done) };
        let spec = &adoption.spec;
        let cluster =
            ClusterName { namespace: spec.cluster_namespace.clone(), name: spec.cluster_name.clone() };
        let api: Api<Cluster> = Api::namespaced(self.control_plane.clone(), &cluster.namespace);
        if call(|| format!("read Cluster {cluster}"), api.get_metadata_opt(&cluster.name)).await?.is_some() {
            self.add(Task::Cluster(cluster));
            return Ok(Outcome::Done);
        }
        let refused = Progress::Refused(vec![format!("there is no Cluster {cluster}")]);
        self.write_adoption(&adoption, &refused).await?;
        Ok(Outcome::After(REVIEW_AGAIN))
    }

    /// Reviews the adoptions of a Cluster that are pending, on live reads of everything that they depend on.
    pub(super) async fn review_adoptions(&self, scene: &mut Scene) -> Result<(), Trouble> {
        let pending = self.index().adoptions_of(&scene.name);
        if pending.is_empty() {
            return Ok(());
        }
        let api: Api<Cluster> = Api::namespaced(self.control_plane.clone(), &scene.name.namespace);
        let read = api.get_opt(&scene.name.name);
        let Some(cluster) = call(|| format!("read Cluster {}", scene.name), read).await? else {
            return Ok(());
        };
        let woken = self.index().learn_cluster(cluster.clone());
        self.wake_others(&scene.name, woken);
        scene.cluster = Arc::new(cluster);
        let (requests, name) = (self.requests(scene), request_name(&scene.cluster));
        let request = call(|| format!("read SubscriptionRequest {name}"), requests.get_opt(&name)).await?;
        scene.request = request.map(Arc::new);
        for adoption in pending {
            let review = self.review(scene, adoption).await?;
            if review.obstacles.is_empty() && scene.adopts.is_none() {
                scene.adopts = Some(review.adoption.spec.shoot_uid.clone());
            }
            scene.reviews.push(review);
        }
        Ok(())
    }

    async fn review(&self, scene: &mut Scene, adoption: Arc<ShootAdoption>) -> Result<Review, Trouble> {
        let (name, uid) = (&adoption.spec.shoot_name, &adoption.spec.shoot_uid);
        let shoots: Api<Shoot> = self.in_the_garden();
        let shoot = call(|| format!("read Shoot {name}"), shoots.get_opt(name)).await?;
        let shoot = shoot.filter(|shoot| shoot.metadata.uid.as_ref() == Some(uid));
        let Some(shoot) = shoot else {
            let obstacles = vec![format!("there is no Shoot {name} with the UID {uid}")];
            return Ok(Review { adoption, obstacles, is_owned: false });
        };
        let request = scene.own_request();
        let is_owned =
            is_owned_by(&shoot.metadata, scene.cluster.metadata.uid.as_deref(), request.as_deref());
        let found = match is_owned {
            // It was begun before: what stood against it then was looked at.
            true => Vec::new(),
            false => self.obstacles(&scene.cluster, request.as_deref(), &shoot).await?,
        };
        if found.is_empty() {
            scene.shoot = Some(Arc::new(shoot));
            scene.is_live = true;
        }
        Ok(Review { adoption, obstacles: found, is_owned })
    }

    async fn obstacles(
        &self,
        cluster: &Cluster,
        own: Option<&str>,
        shoot: &Shoot,
    ) -> Result<Vec<String>, Trouble> {
        let Some(request) = request_for(cluster) else {
            return Ok(vec!["a Cluster that the tenant brings has no Shoot".to_owned()]);
        };
        let Some(rules) = self.rules() else {
            return Ok(vec![
                "without `hap.rule` the operator does not know which account is the Cluster's".to_owned(),
            ]);
        };
        let wanted = match wanted(&request.spec, &rules) {
            Ok(wanted) => wanted,
            Err(denial) => return Ok(vec![denial.message]),
        };
        let entries = match &shoot.spec.credentials_binding_name {
            None => None,
            Some(binding) => self.pool_entries(binding).await?,
        };
        let entry = entries.and_then(|entries| entries.into_iter().next());
        let account = entry.map(|entry| entry.labels.unwrap_or_default());
        let uid = cluster.metadata.uid.as_deref();
        let owner = live_owner(&self.control_plane, &shoot.metadata, uid, own).await?;
        let mut found = obstacles(&Adoption {
            cluster,
            shoot,
            owner: owner.as_ref(),
            project: &self.settings.project,
            account: account.as_ref(),
            labels: &self.settings.labels,
            wanted: Some(&wanted),
        });
        let own = shoot_name(cluster, &self.settings.project).ok();
        if found.is_empty() && own != shoot.metadata.name {
            found.push(format!("the Cluster's spec.core.shootName is not {}", shoot.name_any()));
        }
        Ok(found)
    }

    /// Writes down how far the adoptions of a Cluster are, and says when to review them again.
    pub(super) async fn report_adoptions(
        &self,
        scene: &Scene,
        status: &ClusterStatus,
    ) -> Result<Option<Duration>, Trouble> {
        let request = scene.own_request();
        let cluster = scene.cluster.metadata.uid.as_deref();
        let is_owned = scene
            .shoot
            .as_ref()
            .is_some_and(|shoot| is_owned_by(&shoot.metadata, cluster, request.as_deref()));
        let mut again = None;
        for review in &scene.reviews {
            let meant = Some(&review.adoption.spec.shoot_uid);
            let is_here = scene.shoot.as_ref().and_then(|shoot| shoot.metadata.uid.as_ref()) == meant;
            let progress = if !review.obstacles.is_empty() {
                Progress::Refused(review.obstacles.clone())
            } else if (review.is_owned || is_owned && is_here) && status.shoot_uid.as_ref() == meant {
                Progress::Adopted
            } else if is_paused(&scene.cluster) {
                Progress::Pending("the Cluster is paused".to_owned())
            } else {
                Progress::Pending(words(status))
            };
            if progress != Progress::Adopted {
                again = Some(REVIEW_AGAIN);
            }
            self.write_adoption(&review.adoption, &progress).await?;
        }
        Ok(again)
    }

    async fn write_adoption(&self, adoption: &ShootAdoption, progress: &Progress) -> Result<(), Trouble> {
        let status = adopt::status(adoption, progress, self.clock.now());
        let (namespace, name) = (&self.settings.lease_namespace, adoption.name_any());
        let api: Api<ShootAdoption> = Api::namespaced(self.control_plane.clone(), namespace);
        let change = StatusChange::between(adoption.status.as_ref(), &status);
        let written = match write_status(&api, adoption, &change).await {
            Err(error) if error.is_not_found() => None,
            written => written?,
        };
        let Some(written) = written else { return Ok(()) };
        let said = written.status.as_ref().and_then(|status| status.conditions.first());
        let because = said.map(|condition| condition.message.as_str()).unwrap_or_default();
        tracing::info!(adoption = name, because, "adoption reviewed");
        self.index().learn_adoption(written);
        Ok(())
    }
}

impl Index {
    /// A ShootAdoption is there. Only its spec, which never changes, makes us look.
    pub(super) fn learn_adoption(&mut self, mut adoption: ShootAdoption) -> Vec<Task> {
        adoption.metadata.managed_fields = None;
        let name = adoption.name_any();
        if self.adoptions.is_past(&name, &adoption.metadata, |known| &known.metadata) {
            return Vec::new();
        }
        let (uid, cluster) = (adoption.uid(), cluster_of_adoption(&adoption));
        let task = self.task_of_adoption(&name, &adoption);
        if is_over(&adoption) {
            self.forget_pending(&cluster, &name);
        } else {
            self.pending_adoptions.entry(cluster).or_default().insert(name.clone());
        }
        let before = self.adoptions.insert(name, Arc::new(adoption));
        if before.is_some_and(|before| before.uid() == uid) { Vec::new() } else { vec![task] }
    }

    pub(super) fn forget_adoption(&mut self, name: &str) -> Vec<Task> {
        let Some(gone) = self.adoptions.remove(&name.to_owned()) else { return Vec::new() };
        let cluster = cluster_of_adoption(&gone);
        self.forget_pending(&cluster, name);
        vec![Task::Cluster(cluster)]
    }

    fn forget_pending(&mut self, cluster: &ClusterName, name: &str) {
        if let Some(names) = self.pending_adoptions.get_mut(cluster) {
            names.remove(name);
            if names.is_empty() {
                self.pending_adoptions.remove(cluster);
            }
        }
    }

    /// An adoption that has not come to its end.
    pub(super) fn pending_adoption(&self, name: &str) -> Option<Arc<ShootAdoption>> {
        self.adoptions.get(&name.to_owned()).filter(|adoption| !is_over(adoption)).cloned()
    }

    /// The adoptions of a Cluster that have not come to their end.
    pub(super) fn adoptions_of(&self, cluster: &ClusterName) -> Vec<Arc<ShootAdoption>> {
        let names = self.pending_adoptions.get(cluster).into_iter().flatten();
        names.filter_map(|name| self.pending_adoption(name)).collect()
    }

    /// Adoptions that have not come to their end, and whose Cluster is not there.
    pub(super) fn stray_adoptions(&self) -> Vec<Task> {
        let stray = self.pending_adoptions.iter().filter(|(cluster, _)| self.clusters.get(cluster).is_none());
        stray.flat_map(|(_, names)| names.iter().cloned().map(Task::Adoption)).collect()
    }

    fn task_of_adoption(&self, name: &str, adoption: &ShootAdoption) -> Task {
        let cluster = cluster_of_adoption(adoption);
        match self.clusters.get(&cluster) {
            Some(_) => Task::Cluster(cluster),
            None => Task::Adoption(name.to_owned()),
        }
    }
}

fn cluster_of_adoption(adoption: &ShootAdoption) -> ClusterName {
    let spec = &adoption.spec;
    ClusterName { namespace: spec.cluster_namespace.clone(), name: spec.cluster_name.clone() }
}

/// Whether an adoption has come to its end.
fn is_over(adoption: &ShootAdoption) -> bool {
    adoption.metadata.deletion_timestamp.is_some()
        || adoption.status.as_ref().and_then(|status| status.phase) == Some(ShootAdoptionPhase::Adopted)
}

/// Who lives whose UID a Shoot carries, in whatever namespace, other than the Cluster and the request with these UIDs.
pub async fn live_owner(
    control_plane: &Client,
    shoot: &ObjectMeta,
    cluster: Option<&str>,
    request: Option<&str>,
) -> Result<Option<LiveOwner>, Trouble> {
    if let Some(uid) = carried_cluster(shoot).filter(|uid| Some(*uid) != cluster)
        && let Some(name) = with_uid::<Cluster>(control_plane, uid).await?
    {
        return Ok(Some(LiveOwner::Cluster(name)));
    }
    let carried = carried_request(shoot).filter(|uid| Some(*uid) != request);
    let Some(uid) = carried else { return Ok(None) };
    let found = with_uid::<SubscriptionRequest>(control_plane, uid).await?;
    Ok(found.map(LiveOwner::Request))
}

/// The object with this UID, as `<namespace>/<name>`. A server does not find objects by UID, and adoptions are rare.
async fn with_uid<K>(client: &Client, uid: &str) -> Result<Option<String>, Trouble>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let api: Api<K> = Api::all(client.clone());
    let mut params = ListParams::default().limit(PAGE);
    loop {
        let page = call(|| format!("list {}", K::plural(&())), api.list_metadata(&params)).await?;
        if let Some(found) = page.items.iter().find(|one| one.metadata.uid.as_deref() == Some(uid)) {
            return Ok(Some(format!("{}/{}", found.namespace().unwrap_or_default(), found.name_any())));
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(None),
        }
    }
}

fn words(status: &ClusterStatus) -> String {
    let provisioned = condition::find(&status.conditions, ClusterCondition::ClusterProvisioned.as_str());
    provisioned.map_or_else(
        || "the operator has not looked at the Cluster yet".to_owned(),
        |said| format!("Cluster: {}", said.message),
    )
}
