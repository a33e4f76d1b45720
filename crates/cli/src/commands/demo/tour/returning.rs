//! The step with the account that returns, and its condition.

use super::{EXAMPLE_NAMESPACE, Tour};
use crate::commands::demo::cloud::{Cleaning, technical_id};
use allotment_api::{gardener::CredentialsBinding, kyma::Cluster, names::pool};
use allotment_core::{cleanup::Cloud, pool::AccountName};
use anyhow::{Context, Result, ensure};
use k8s_openapi::api::events::v1::Event;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams},
};
use std::fs;

impl Tour<'_> {
    /// Waits until the account ids of all free accounts are recorded: only those are ever cleaned.
    pub(super) async fn taken_in(&self) -> Result<()> {
        let Some(cleaning) = &self.cleaning else { return Ok(()) };
        let selector = format!(
            "{}=aws,!{},!{},!{},!{}",
            pool::HYPERSCALER_TYPE,
            pool::SHARED,
            pool::INTERNAL,
            pool::TENANT_NAME,
            pool::DIRTY
        );
        let free = self.bindings().list_metadata(&ListParams::default().labels(&selector)).await;
        for binding in free.context("cannot list the accounts")? {
            let account = AccountName::new(binding.name_any());
            self.in_time(&format!("the account id of {account} is recorded"), async || {
                let recorded = cleaning.ledger.cloud_account(&account).await?;
                Ok(recorded.filter(|recorded| recorded.baseline.is_some()))
            })
            .await?;
        }
        Ok(())
    }

    pub(super) async fn returning(&mut self, account: &str) -> Result<()> {
        let Some(Cleaning { cloud, ledger }) = self.cleaning.clone() else { return Ok(()) };
        let (name, config) = ("example-cluster", self.config.display().to_string());
        self.begin(
            "An account that returns",
            &format!(
                "The tenant abcd-0001 deletes its only cluster, and Gardener leaves things behind in the cloud. {account} is dirty now, and\n\
                 nobody gets it. Its cleaning is planned, then done; two listings and counts by other calls prove that nothing is left.\n\
                 Only then the next tenant gets it."
            ),
            &[
                format!("control delete cluster {name}"),
                format!("garden get events --field-selector reason=CleanupPlanned,involvedObject.name={account}"),
                format!("sed -i 's/mode: plan/mode: delete/' {config}"),
                format!("allotment cleanup status --config {config} --kubeconfig {}", self.landscape.control_plane_kubeconfig.display()),
                self.ask_for("next", "next"),
            ],
        )
        .await?;
        let clusters: Api<Cluster> = Api::namespaced(self.landscape.control_plane.clone(), EXAMPLE_NAMESPACE);
        let shoot = self
            .until(&clusters, name, "has a Shoot", |cluster: &Cluster| {
                cluster.status.as_ref()?.shoot_name.clone()
            })
            .await?;
        let entry = AccountName::new(account);
        let left = cloud.leave_behind(Cloud::Aws, &entry, &technical_id(&shoot));
        clusters
            .delete(name, &DeleteParams::default())
            .await
            .with_context(|| format!("cannot delete Cluster {name}"))?;
        self.until(&self.bindings(), account, "is dirty", |binding: &CredentialsBinding| {
            binding.labels().contains_key(pool::DIRTY).then_some(())
        })
        .await?;
        self.say(&format!("{account} is dirty, with {left} items in it."))?;
        let events: Api<Event> = Api::namespaced(self.landscape.garden.clone(), self.garden_namespace);
        let planned = self
            .in_time(&format!("the cleaning of {account} is planned"), async || {
                let found = events.list(&ListParams::default()).await?;
                let is_it = |event: &Event| {
                    event.reason.as_deref() == Some("CleanupPlanned")
                        && event.regarding.as_ref().and_then(|it| it.name.as_deref()) == Some(account)
                };
                Ok(found.items.into_iter().find(is_it).and_then(|event| event.note))
            })
            .await?;
        self.say(&format!("Planned: {planned}."))?;
        let text = fs::read_to_string(&self.config).context("cannot read the configuration")?;
        fs::write(&self.config, text.replace("mode: plan", "mode: delete"))
            .context("cannot change the configuration")?;
        self.until(&self.bindings(), account, "is free", |binding: &CredentialsBinding| {
            [pool::DIRTY, pool::TENANT_NAME]
                .iter()
                .all(|label| !binding.labels().contains_key(*label))
                .then_some(())
        })
        .await?;
        ensure!(cloud.leftovers(Cloud::Aws, &entry) == 0, "{account} is free, and not empty");
        let proof = ledger.proof(&entry).await?.context("there is no proof")?;
        self.say(&format!("{account} is empty and free; the proof is {}.", proof.digest))?;
        self.request("next", "next").await?;
        let got = self.bound("next").await?;
        ensure!(got == account, "next has {got}, and not {account}");
        self.say(&format!("next has {got}."))
    }
}
