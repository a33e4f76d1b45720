//! From what people type to clients and a ledger.

use super::{
    config_file,
    input::{UNREAD, WRONG_USAGE},
    run::refuse,
};
use crate::{args::pool::Place, output};
use allotment_operator::{
    config::{Config, Settled},
    ledger::{Ledger, LedgerError, Place as LedgerPlace},
    metrics::Metrics,
    process::{self, StartError, clients},
    subscription::{Policy, Settings},
    survey::{Sources, Survey, SurveyError},
};
use anyhow::Result;
use clients::Garden;
use kube::Client;
use std::{path::Path, process::ExitCode};

/// What there is to ask.
pub(crate) struct Opened {
    pub(crate) garden: Garden,
    pub(crate) control_plane: Option<Client>,
    pub(crate) ledger: Option<Ledger>,
    pub(crate) settings: Settings,
    pub(crate) policy: Option<Policy>,
    pub(crate) config: Config,
}

/// What the ledger is opened for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Changes nothing: no ledger is made, and none is migrated.
    Read,
    Write,
}

/// Opens it; else says why not, and how to end.
pub(crate) async fn open(place: &Place, access: Access) -> Result<Opened, ExitCode> {
    // Whoever names a garden does not mean the configuration that happens to lie around: its ledger may be another garden's.
    let with_defaults = place.garden_kubeconfig.is_none();
    let config = config_file::find_any(place.config.config.as_deref(), with_defaults)?;
    if config.is_none() && place.garden_kubeconfig.is_none() && place.kubeconfig.is_none() {
        let error = config_file::none();
        output::complain(&anyhow::anyhow!(
            "{error}; say where the garden is: --config FILE, or --garden-kubeconfig FILE"
        ));
        return Err(ExitCode::from(WRONG_USAGE));
    }
    connect(place, config.as_deref(), access).await.map_err(|error| match error {
        StartError::Client(_) | StartError::Ledger(_) if !is_missing(&error) => unread(&error.into()),
        error => ended(error),
    })
}

/// Ends a command whose answer is its exit code: one that could not be had is neither yes nor no.
pub(crate) fn answered(answer: Result<ExitCode>) -> ExitCode {
    answer.unwrap_or_else(|error| unread(&error))
}

fn unread(error: &anyhow::Error) -> ExitCode {
    output::complain(error);
    ExitCode::from(UNREAD)
}

fn is_missing(error: &StartError) -> bool {
    matches!(error, StartError::Ledger(LedgerError::Missing { .. }))
}

/// Says why there is nothing to ask, and how to end.
pub(crate) fn ended(error: StartError) -> ExitCode {
    let is_missing = is_missing(&error);
    if is_missing || matches!(error, StartError::Read { .. }) {
        output::complain(&error.into());
        if is_missing {
            output::note(
                "if the ledger was lost, bring a backup back; without one, start the operators, which make an empty ledger and \
                 halt, and run `allotment ledger rebuild`",
            );
        }
        return ExitCode::from(WRONG_USAGE);
    }
    refuse(error)
}

/// The URL of the ledger that a configuration names.
pub(crate) fn ledger_url(config: &Path) -> Result<String, StartError> {
    Ok(process::read(config)?.1.config.ledger.read()?)
}

async fn connect(place: &Place, path: Option<&Path>, access: Access) -> Result<Opened, StartError> {
    let settled = match path {
        Some(path) => process::read(path)?.1,
        None => Settled { config: Config::default(), rules: None },
    };
    let policy = settled.policy();
    let mut config = settled.config;
    if let Some(path) = &place.garden_kubeconfig {
        config.gardener.kubeconfig.clone_from(path);
    }
    if let Some(namespace) = &place.namespace {
        config.gardener.namespace.clone_from(namespace);
    }
    let metrics = Metrics::new();
    let kubeconfig = place.kubeconfig.as_deref();
    let garden = Garden::new(&config.gardener, kubeconfig, &metrics).await?;
    let control_plane = match (path, kubeconfig) {
        (None, None) => None,
        _ => Some(clients::control_plane(kubeconfig, &metrics).await?),
    };
    let ledger = match path {
        Some(_) => Some(open_ledger(&config, &garden, access).await?),
        None => None,
    };
    let settings = process::subscription_settings(&config, process::identity());
    Ok(Opened { garden, control_plane, ledger, settings, policy, config })
}

async fn open_ledger(config: &Config, garden: &Garden, access: Access) -> Result<Ledger, StartError> {
    let url = config.ledger.read()?;
    let place = LedgerPlace { garden: garden.name.clone(), project: config.gardener.namespace.clone() };
    Ok(match access {
        Access::Read => Ledger::open_to_read(&url, place).await?,
        Access::Write => Ledger::open(&url, place).await?,
    })
}

impl Opened {
    /// Reads everything.
    pub(crate) async fn survey(&self) -> Result<Survey, SurveyError> {
        let sources = Sources {
            garden: self.garden.client.clone(),
            control_plane: self.control_plane.clone(),
            ledger: self.ledger.as_ref(),
            settings: &self.settings,
        };
        Survey::read(&sources, |what| output::progress(&format!("reading {what} ..."))).await
    }
}
