//! Secrets, of which only the names are looked at.

use super::{PAGE, SurveyError};
use crate::{
    runtime::{
        call::{CallError, call},
        keep::Index as _,
    },
    subscription::{Followed, Index},
};
use allotment_core::pool::AccountName;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, ObjectMeta},
};
use std::collections::{BTreeMap, BTreeSet};

/// Learns every Secret of a namespace that could be in the pool.
pub(super) async fn learn(index: &mut Index, api: Api<Secret>) -> Result<(), SurveyError> {
    index.kept(Followed::Secrets).restart();
    for metadata in list(&api).await? {
        // Without the label of the pool it is some other Secret.
        if index.is_in_the_pool(&metadata) {
            index.learn_secret(&metadata);
        }
    }
    index.listed(Followed::Secrets);
    Ok(())
}

/// The accounts whose Secret does not exist, with its name.
pub(super) async fn missing(
    index: &Index,
    garden: &Client,
) -> Result<BTreeMap<AccountName, String>, SurveyError> {
    let mut by_namespace: BTreeMap<String, Vec<(AccountName, String)>> = BTreeMap::new();
    for (account, _) in index.entries() {
        if let Some((namespace, name)) = index.secret_of(account) {
            by_namespace.entry(namespace).or_default().push((account.clone(), name));
        }
    }
    let mut missing = BTreeMap::new();
    for (namespace, wanted) in by_namespace {
        let api: Api<Secret> = Api::namespaced(garden.clone(), &namespace);
        let there = match list(&api).await {
            Ok(all) => all.into_iter().filter_map(|metadata| metadata.name).collect(),
            // Who may not list may still get.
            Err(error) if error.code() == Some(403) => one_by_one(&api, &wanted).await?,
            Err(error) => return Err(error.into()),
        };
        let gone = wanted.into_iter().filter(|(_, name)| !there.contains(name));
        missing.extend(gone.map(|(account, name)| (account, format!("{namespace}/{name}"))));
    }
    Ok(missing)
}

async fn list(api: &Api<Secret>) -> Result<Vec<ObjectMeta>, CallError> {
    let mut params = ListParams::default().limit(PAGE);
    let mut all = Vec::new();
    loop {
        let page = call(|| "list secrets".to_owned(), api.list_metadata(&params)).await?;
        all.extend(page.items.into_iter().map(|object| object.metadata));
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(all),
        }
    }
}

async fn one_by_one(
    api: &Api<Secret>,
    wanted: &[(AccountName, String)],
) -> Result<BTreeSet<String>, CallError> {
    let mut there = BTreeSet::new();
    for (_, name) in wanted {
        let found = call(|| format!("read Secret {name}"), api.get_metadata_opt(name)).await?;
        there.extend(found.map(|found| found.name_any()));
    }
    Ok(there)
}
