//! One account, and everything that it takes to work on it.

use super::{
    super::{
        place::{Access, Opened, answered, open},
        pool::needs_ledger,
    },
    tally::{CountedClouds, Tally},
};
use crate::{
    args::pool::Place,
    output::{self},
};
use allotment_clouds::Patience;
use allotment_core::pool::AccountName;
use allotment_operator::{
    cleanup::{ByHandError, Operator, Parts, Policy},
    ledger::Ledger,
    metrics::Metrics,
    process,
    runtime::clock::Clock,
    survey::{AccountLine, Sources, Survey},
};
use anyhow::{Context, Result};
use std::{process::ExitCode, sync::Arc};

/// An account of the pool, opened.
pub(super) struct Desk {
    opened: Opened,
    pub(super) account: AccountName,
    /// Its state before anything is done.
    pub(super) line: AccountLine,
    pub(super) policy: Policy,
    pub(super) tally: Arc<Tally>,
}

/// The garden and the ledger, which is opened to read; else says why not, and how to end.
pub(super) async fn open_to_read(place: &Place) -> Result<(Opened, Survey), ExitCode> {
    let opened = open(place, Access::Read).await?;
    needs_ledger(&opened)?;
    let sources = Sources {
        garden: opened.garden.client.clone(),
        // Cleaning asks the ledger for requests.
        control_plane: None,
        ledger: opened.ledger.as_ref(),
        settings: &opened.settings,
    };
    // A list-watch waits for a server that cannot be reached; this tells.
    let survey = Survey::read(&sources, |what| output::progress(&format!("reading {what} ..."))).await;
    let survey = survey.map_err(|error| answered(Err(error.into())))?;
    Ok((opened, survey))
}

impl Desk {
    /// Opens an account, with the ledger to read only; else says why not, and how to end.
    pub(super) async fn open(place: &Place, account: AccountName) -> Result<Self, ExitCode> {
        let (opened, survey) = open_to_read(place).await?;
        let Some(line) = survey.accounts().into_iter().find(|line| line.account == account) else {
            return Err(super::ended(&account.clone(), ByHandError::NoEntry(account)));
        };
        let policy = opened.config.cleanup.policy();
        Ok(Self { opened, account, line, policy, tally: Arc::default() })
    }

    /// The same with the ledger to write. There is one: it was read.
    pub(super) async fn opened_to_write(self, place: &Place) -> Result<Self, ExitCode> {
        let opened = open(place, Access::Write).await?;
        Ok(Self { opened, ..self })
    }

    pub(super) fn ledger(&self) -> Result<&Ledger> {
        self.opened.ledger.as_ref().context("there is no ledger")
    }

    /// An operator that never leads.
    pub(super) fn operator(&self) -> Result<Operator> {
        let Opened { garden, control_plane, config, .. } = &self.opened;
        let clouds = process::garden_clouds(config, garden.client.clone());
        Ok(Operator::new(Parts {
            control_plane: control_plane.clone().context("there is no way to the control plane")?,
            garden: garden.client.clone(),
            ledger: self.ledger()?.clone(),
            clouds: Arc::new(CountedClouds::new(clouds, self.tally.clone())),
            settings: process::cleanup_settings(config, process::identity()),
            policy: self.policy.clone(),
            patience: Patience::default(),
            clock: Clock::system(),
            metrics: Metrics::new(),
        }))
    }
}
