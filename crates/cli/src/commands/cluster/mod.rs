//! `allotment cluster`: what people ask about Clusters.

mod adopt;
mod diff;
mod explain;
mod file;

use super::{config_file, input::WRONG_USAGE, place::answered, run::refuse};
use crate::{
    args::cluster::{ClusterCommand, Reach},
    output,
};
use allotment_core::rules::RuleSet;
use allotment_operator::{
    cluster::Inspector,
    config::Config,
    metrics::Metrics,
    process::{self, Connections, StartError},
    runtime::clock::Clock,
};
use anyhow::{Context, Result};
use std::{collections::BTreeMap, path::Path, process::ExitCode, sync::Arc, sync::Mutex};
use tokio::runtime::Runtime;

pub(crate) fn run(command: ClusterCommand) -> Result<ExitCode> {
    Runtime::new().context("cannot start the runtime")?.block_on(async {
        let reach = match &command {
            ClusterCommand::Explain { reach, .. }
            | ClusterCommand::Diff { reach, .. }
            | ClusterCommand::Adopt { reach, .. } => reach,
        };
        let opened = match open(reach).await {
            Ok(opened) => opened,
            Err(code) => return Ok(code),
        };
        match command {
            ClusterCommand::Explain { name, namespace, output, reach: _ } => {
                explain::run(&opened, opened.named(namespace, name), output).await
            }
            ClusterCommand::Diff { names, namespace, all_namespaces, output, reach: _ } => {
                let namespace = (!all_namespaces).then(|| opened.namespace(namespace));
                Ok(answered(Box::pin(diff::run(&opened, &names, namespace.as_deref(), output)).await))
            }
            ClusterCommand::Adopt {
                name,
                namespace,
                file,
                shoot,
                operator_namespace,
                yes,
                timeout,
                reach: _,
            } => {
                let operator_namespace = operator_namespace.unwrap_or_else(process::own_namespace);
                let asked = adopt::Asked { name, namespace, file, shoot, operator_namespace, yes, timeout };
                Box::pin(adopt::run(&opened, asked)).await
            }
        }
    })
}

/// Somebody who can be asked, and what the configuration says.
struct Opened {
    inspector: Inspector,
    config: Config,
    rules: Option<Arc<RuleSet>>,
}

async fn open(reach: &Reach) -> Result<Opened, ExitCode> {
    let config = config_file::find(reach.config.config.as_deref())?;
    connect(reach, &config).await.map_err(|error| match error {
        error @ StartError::Read { .. } => {
            output::complain(&error.into());
            ExitCode::from(WRONG_USAGE)
        }
        error => refuse(error),
    })
}

async fn connect(reach: &Reach, config: &Path) -> Result<Opened, StartError> {
    let settled = process::read(config)?.1;
    let mut config = settled.config;
    if let Some(path) = &reach.garden_kubeconfig {
        config.gardener.kubeconfig.clone_from(path);
    }
    let Connections { control_plane, garden, .. } =
        Connections::open(&config, reach.kubeconfig.as_deref(), &Metrics::new()).await?;
    let inspector = Inspector {
        control_plane,
        garden: garden.client,
        garden_namespace: config.gardener.namespace.clone(),
        project: config.gardener.project().to_owned(),
        clusters: config.clusters.clone(),
        tenancy: config.tenancy.clone().unwrap_or_default(),
        clock: Clock::system(),
        profiles: Mutex::new(BTreeMap::new()),
    };
    Ok(Opened { inspector, config, rules: settled.rules })
}

impl Opened {
    fn namespace(&self, given: Option<String>) -> String {
        given.unwrap_or_else(|| self.inspector.control_plane.default_namespace().to_owned())
    }

    fn named(&self, namespace: Option<String>, name: String) -> allotment_operator::cluster::ClusterName {
        allotment_operator::cluster::ClusterName { namespace: self.namespace(namespace), name }
    }
}

/// Says that a Cluster is not there.
fn not_there(name: &allotment_operator::cluster::ClusterName) -> ExitCode {
    output::complain(&anyhow::anyhow!("there is no Cluster {name}"));
    ExitCode::FAILURE
}
