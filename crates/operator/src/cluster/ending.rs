//! The last steps of a Cluster: the Shoot is deleted, the request is let go, and then the Cluster.

use super::{
    Trouble,
    act::refusal,
    look::{Next, Scene},
    run::Inner,
};
use crate::{
    planted::Planted,
    runtime::{call::call, status::identity},
};
use allotment_api::{
    gardener::Shoot,
    kyma::SubscriptionRequest,
    names::{finalizer, label},
};
use allotment_core::cluster::flow::{is_request_of, request_name};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, Preconditions},
};
use serde_json::json;
use std::sync::Arc;

impl Inner {
    pub(super) async fn delete_shoot(&self, scene: &mut Scene) -> Result<(), Trouble> {
        let Some(shoot) = &scene.shoot else { return Ok(()) };
        let (api, name) = (self.in_the_garden::<Shoot>(), shoot.name_any());
        let only_this = Preconditions { uid: shoot.uid(), resource_version: None };
        let params = DeleteParams { preconditions: Some(only_this), ..DeleteParams::default() };
        let left = match call(|| format!("delete Shoot {name}"), api.delete(&name, &params)).await {
            Ok(answer) => answer.left(),
            Err(error) if error.is_not_found() => None,
            Err(error) => {
                scene.refusal = Some(refusal(&error).ok_or(error)?);
                return Ok(());
            }
        };
        scene.is_live = true;
        // Without a finalizer it is gone at once, though the answer shows it once more.
        scene.shoot = left.filter(|left| !left.finalizers().is_empty()).map(Arc::new);
        let woken = match &scene.shoot {
            Some(ending) => self.index().learn_shoot((**ending).clone()),
            None => self.index().forget_shoot(&name),
        };
        self.wake_others(&scene.name, woken);
        Ok(())
    }

    /// Takes our labels off the Shoot. It is foreign then: it keeps its account for the tenant, and the platform can have another
    /// Cluster adopt it.
    pub(super) async fn release_shoot(&self, scene: &mut Scene) -> Result<(), Trouble> {
        let Some(shoot) = &scene.shoot else { return Ok(()) };
        let mut metadata = identity(&shoot.metadata);
        metadata["labels"] = json!({ label::SUBSCRIPTION_REQUEST: null, label::CLUSTER_UID: null });
        let (api, name) = (self.in_the_garden::<Shoot>(), shoot.name_any());
        let (params, patch) = (PatchParams::default(), json!({ "metadata": metadata }));
        let patch = Patch::Merge(&patch);
        let released =
            match call(|| format!("take our labels off Shoot {name}"), api.patch(&name, &params, &patch))
                .await
            {
                Err(error) if error.is_not_found() => None,
                released => Some(released?),
            };
        tracing::info!(cluster = %scene.name, shoot = name, because = "an annotation says so", "Shoot released");
        // Without the label it is not watched any more.
        let woken = self.index().forget_shoot(&name);
        self.wake_others(&scene.name, woken);
        scene.is_live = true;
        scene.shoot = released.map(Arc::new);
        Ok(())
    }

    /// The Shoot is gone: nothing holds the account any more.
    pub(super) async fn give_back(&self, scene: &mut Scene) -> Result<Next, Trouble> {
        let Some(request) = scene.request.clone() else { return Ok(Next::Decide) };
        let is_held = request.finalizers().iter().any(|name| name == finalizer::CLUSTER);
        if !is_held && request.metadata.deletion_timestamp.is_some() {
            return Ok(Next::Publish);
        }
        self.remove_config_maps(&scene.cluster.uid().unwrap_or_default()).await?;
        self.let_request_go(&request).await?;
        Ok(Next::Publish)
    }

    /// Deletes a request of the Cluster, and takes our finalizer off it.
    async fn let_request_go(&self, request: &SubscriptionRequest) -> Result<(), Trouble> {
        if request.metadata.deletion_timestamp.is_some() {
            return self.release_request(request).await;
        }
        let (name, api) = (request.name_any(), self.requests_beside(request));
        let only_this = Preconditions { uid: request.uid(), resource_version: None };
        let params = DeleteParams { preconditions: Some(only_this), ..DeleteParams::default() };
        match call(|| format!("delete SubscriptionRequest {name}"), api.delete(&name, &params)).await {
            Err(error) if error.is_not_found() => Ok(()),
            answer => match answer?.left() {
                Some(ending) => self.release_request(&ending).await,
                None => Ok(()),
            },
        }
    }

    /// Takes our finalizer off a request that is being deleted.
    pub(super) async fn release_request(&self, request: &SubscriptionRequest) -> Result<(), Trouble> {
        let (name, api) = (request.name_any(), self.requests_beside(request));
        let finalizers: Vec<&String> =
            request.finalizers().iter().filter(|name| *name != finalizer::CLUSTER).collect();
        if finalizers.len() == request.finalizers().len() {
            return Ok(());
        }
        let mut metadata = identity(&request.metadata);
        metadata["finalizers"] = json!(finalizers);
        let (params, patch) = (PatchParams::default(), json!({ "metadata": metadata }));
        let patch = Patch::Merge(&patch);
        let written = api.patch(&name, &params, &patch);
        match call(|| format!("write the finalizers of SubscriptionRequest {name}"), written).await {
            Err(error) if error.is_not_found() => (),
            written => drop(self.index().learn_request(written?)),
        }
        Ok(())
    }

    fn requests_beside(&self, request: &SubscriptionRequest) -> Api<SubscriptionRequest> {
        Api::namespaced(self.control_plane.clone(), &request.namespace().unwrap_or_default())
    }

    /// The last look before the Cluster goes: a request that the cache has not seen would be left behind.
    pub(super) async fn let_go(&self, scene: &mut Scene) -> Result<Next, Trouble> {
        if scene.cluster.spec.byoc.is_none() && !self.planted.has(Planted::ClusterLetGoUnseen) {
            let (api, name) = (self.requests(scene), request_name(&scene.cluster));
            let request = call(|| format!("read SubscriptionRequest {name}"), api.get_opt(&name)).await?;
            let own = request.filter(|request| is_request_of(request, &scene.cluster));
            if let Some(own) = own {
                let woken = self.index().learn_request(own.clone());
                self.wake_others(&scene.name, woken);
                scene.request = Some(Arc::new(own));
                return Ok(Next::Decide);
            }
            // A request that was torn away by force has taken nothing along.
            self.remove_config_maps(&scene.cluster.uid().unwrap_or_default()).await?;
        }
        let finalizers: Vec<&String> =
            scene.cluster.finalizers().iter().filter(|name| *name != finalizer::CLUSTER).collect();
        match self.patch_cluster(scene, json!({ "finalizers": finalizers })).await {
            Err(Trouble::Call(error)) if error.is_not_found() => (),
            result => result?,
        }
        tracing::info!(cluster = %scene.name, "finalizer removed");
        Ok(Next::Nothing)
    }
}
