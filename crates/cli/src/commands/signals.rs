//! Being told to stop.

use anyhow::{Context, Result};
use tokio::signal::unix::{SignalKind, signal};

/// Ends with Ctrl-C, or when a cluster (or an init system) wants the process gone. Signals are noticed from now on, not only
/// when this is waited for.
pub(crate) fn stop() -> Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot wait for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot wait for Ctrl-C")?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => (),
            _ = interrupt.recv() => (),
        }
    })
}
