//! The fence in the garden: one ConfigMap that every installation has to win by compare-and-swap.
//!
//! A request is told that it has an account only after the fence was written with what the ledger has committed. One write serves all
//! claims that wait for it, and one is under way at a time.

use super::{
    Trouble,
    run::{Inner, Tie},
    term::{Term, TermError},
};
use crate::{
    planted::Planted,
    runtime::{call::call, queue::Outcome},
};
use allotment_core::pool::{Fence, FenceRecord, Served};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::{
    Api, ResourceExt,
    api::{ObjectMeta, Patch, PatchParams, PostParams},
};
use serde_json::json;
use std::time::Duration;

/// The ConfigMap in the garden that says which ledger the garden is served from.
pub const IDENTITY: &str = "allotment-ledger";

/// A leader that has nothing to hand out compares the fence so often.
const FENCE_CHECK: Duration = Duration::from_secs(10);

/// Whoever changes labels of the ConfigMap by hand makes a write fail once; nobody does so all the time.
const MOST_ATTEMPTS: usize = 3;

/// The fence as it was read, with the version that a write to it is conditional on.
#[derive(Clone, Debug)]
pub(super) struct FoundFence {
    pub(super) fence: Fence,
    pub(super) version: Option<String>,
}

/// The fence as this term wrote it last.
#[derive(Clone, Debug)]
pub(super) struct Fenced {
    record: FenceRecord,
    version: String,
    /// So many commits of the ledger are behind it.
    commits: u64,
}

impl Inner {
    /// Reads the fence.
    pub(super) async fn read_fence(&self) -> Result<FoundFence, Trouble> {
        let found =
            call(|| format!("read ConfigMap {IDENTITY}"), self.config_maps().get_opt(IDENTITY)).await?;
        Ok(match found {
            None => FoundFence { fence: Fence::Missing, version: None },
            Some(map) => {
                let record = map.data.as_ref().and_then(FenceRecord::read);
                FoundFence {
                    fence: record.map_or(Fence::Unreadable, Fence::Known),
                    version: Some(map.resource_version().unwrap_or_default()),
                }
            }
        })
    }

    /// Makes the fence this term's, unless it has changed since it was read. The ledger remembers whom it serves, where that is not
    /// what it remembers from before.
    pub(super) async fn win_fence(
        &self,
        ledger: String,
        term: Term,
        id: String,
        found: &FoundFence,
        before: &Served,
        serves: Served,
    ) -> Result<(), Trouble> {
        let (progress, epoch) = (self.ledger.progress(), term.epoch);
        let known = match &found.fence {
            Fence::Known(known) => known.control_plane.clone(),
            Fence::Missing | Fence::Unreadable => None,
        };
        // Whoever cannot tell takes nothing away.
        let serves = Served { control_plane: serves.control_plane.or(known), ..serves };
        let Served { control_plane, installation } = serves.clone();
        let (term, entries) = (Some(id), progress.entries);
        let record = FenceRecord { ledger, epoch, term, entries, control_plane, installation };
        let version = self.write_fence(&record, found.version.as_deref()).await?;
        *self.fenced.lock().await = Some(Fenced { record, version, commits: progress.commits });
        let remembers = self.tie.get() == Some(&Tie::Installation) || *before != Served::default();
        if remembers && *before != serves {
            self.ledger.serve(epoch, &serves, self.clock.now()).await?;
        }
        Ok(())
    }

    /// Whom this operator serves, where it is tied to somebody.
    pub(super) async fn serves(&self) -> Result<Served, Trouble> {
        Ok(Served { control_plane: self.control_plane_uid().await?, installation: self.installation() })
    }

    /// The namespace of the operators, where this one is a part of an installation.
    pub(super) fn installation(&self) -> Option<String> {
        let is_part = self.tie.get() == Some(&Tie::Installation);
        is_part.then(|| self.settings.lease_namespace.clone())
    }

    /// Which control plane is served, where the operator is tied to it.
    pub(super) async fn control_plane_uid(&self) -> Result<Option<String>, Trouble> {
        const ROOT: &str = "kube-system";
        if self.tie.get().is_none() {
            return Ok(None);
        }
        let namespaces: Api<Namespace> = Api::all(self.control_plane.clone());
        match call(|| format!("read Namespace {ROOT}"), namespaces.get_metadata_opt(ROOT)).await {
            Ok(found) => Ok(found.and_then(|found| found.metadata.uid)),
            // A person may lack the right. An operator has to know whom it serves: every request of another control plane is gone for it.
            Err(error) if error.code() == Some(403) && self.installation().is_none() => {
                tracing::warn!(
                    because = "the operator may not get Namespace kube-system of the control plane: its ClusterRole lacks the rule",
                    "a wrong control plane would not be noticed"
                );
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns once the fence was written with everything that the ledger had committed when this was called.
    pub(super) async fn secure(&self, term: Term) -> Result<(), Trouble> {
        let needed = self.ledger.progress().commits;
        let mut guard = self.fenced.lock().await;
        let Some(fenced) = guard.as_mut().filter(|fenced| fenced.record.epoch == term.epoch) else {
            return Err(TermError::Over.into());
        };
        for _ in 0..MOST_ATTEMPTS {
            if fenced.commits >= needed {
                return Ok(());
            }
            let progress = self.ledger.progress();
            let record = FenceRecord { entries: progress.entries, ..fenced.record.clone() };
            match self.write_fence(&record, Some(&fenced.version)).await {
                Ok(version) => *fenced = Fenced { record, version, commits: progress.commits },
                Err(Trouble::Call(error)) if error.is_conflict() || error.is_not_found() => {
                    fenced.version = self.still_ours(&fenced.record).await?;
                }
                Err(trouble) => {
                    // Nothing is published until it can be written.
                    self.halted.send_replace(Some(format!("nothing is handed out: {trouble}")));
                    return Err(trouble);
                }
            }
            self.halted.send_if_modified(|halted| halted.take().is_some());
        }
        Err(TermError::Contended.into())
    }

    /// Compares the fence and the ledger with what this term knows of them.
    pub(super) async fn look_at_fence(&self, term: Term) -> Result<Outcome, Trouble> {
        let held = self.hold_fence(term).await;
        match &held {
            Ok(()) => drop(self.halted.send_if_modified(|halted| halted.take().is_some())),
            Err(trouble) => drop(self.halted.send_replace(Some(format!("nothing is handed out: {trouble}")))),
        }
        held.map(|()| Outcome::After(FENCE_CHECK))
    }

    /// Reads the fence, and ends the term if it is not this term's any more, or if the ledger went back.
    pub(super) async fn hold_fence(&self, term: Term) -> Result<(), Trouble> {
        let known = self.fenced.lock().await.as_ref().map(|fenced| fenced.record.clone());
        let known = known.filter(|known| known.epoch == term.epoch).ok_or(TermError::Over)?;
        self.still_ours(&known).await?;
        Ok(self.ledger.check_past().await?)
    }

    /// The version of the fence, where it is still this term's. Else the term is over; the next one begins, or halts, by what it finds.
    async fn still_ours(&self, known: &FenceRecord) -> Result<String, Trouble> {
        let FoundFence { fence, version } = self.read_fence().await?;
        match (&fence, version) {
            (Fence::Known(found), Some(version)) if found.is_of_term(known) => Ok(version),
            _ => {
                self.doubt_caches();
                Err(TermError::Over.into())
            }
        }
    }

    async fn write_fence(&self, record: &FenceRecord, version: Option<&str>) -> Result<String, Trouble> {
        let (api, data) = (self.config_maps(), record.data());
        let written = match version {
            None => {
                let metadata = ObjectMeta { name: Some(IDENTITY.to_owned()), ..ObjectMeta::default() };
                let map = ConfigMap { metadata, data: Some(data), ..ConfigMap::default() };
                let params = PostParams::default();
                call(|| format!("create ConfigMap {IDENTITY}"), api.create(&params, &map)).await?
            }
            Some(version) => {
                let version = Some(version).filter(|_| !self.ledger.has(Planted::FenceWithoutVersion));
                let patch = json!({ "metadata": { "resourceVersion": version }, "data": data });
                let (params, patch) = (PatchParams::default(), Patch::Merge(&patch));
                call(|| format!("update ConfigMap {IDENTITY}"), api.patch(IDENTITY, &params, &patch)).await?
            }
        };
        Ok(written.resource_version().unwrap_or_default())
    }

    fn config_maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.garden.clone(), &self.settings.garden_namespace)
    }
}
