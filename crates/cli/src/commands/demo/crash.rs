//! The operators in a process of their own, which is killed again and again.

use super::view::View;
use allotment_garden::landscape::Landscape;
use anyhow::{Context, Result};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{
    Api, ResourceExt,
    api::{ListParams, Patch, PatchParams},
};
use serde_json::json;
use std::{
    env,
    fs::OpenOptions,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};
use tokio::{
    process::{Child, Command},
    time::{Instant, Interval, interval_at},
};

/// The operators, and when they are killed next.
pub(super) struct Victim {
    config: PathBuf,
    control_plane: Api<Lease>,
    kubeconfig: PathBuf,
    child: Child,
    killing: Interval,
    kills: usize,
}

impl Victim {
    /// Starts them.
    pub(super) fn start(landscape: &Landscape, config: &Path, every: Duration) -> Result<Self> {
        let kubeconfig = landscape.control_plane_kubeconfig.clone();
        Ok(Self {
            child: spawn(config, &kubeconfig)?,
            config: config.to_owned(),
            control_plane: Api::default_namespaced(landscape.control_plane.clone()),
            kubeconfig,
            killing: interval_at(Instant::now() + every, every),
            kills: 0,
        })
    }

    /// Waits until it is time.
    pub(super) async fn time(&mut self) {
        self.killing.tick().await;
    }

    /// Kills them in the middle of whatever they do, and starts them anew. In a cluster, a second process would stand by
    /// and take over when the Lease of the dead one runs out, after 15 seconds; we know that it is dead.
    pub(super) async fn kill(&mut self, view: &mut View) -> Result<()> {
        self.child.kill().await.context("cannot kill the operators")?;
        let leases =
            self.control_plane.list(&ListParams::default()).await.context("cannot list the Leases")?;
        for lease in leases {
            let nobody = json!({ "spec": { "holderIdentity": null } });
            self.control_plane
                .patch(&lease.name_any(), &PatchParams::default(), &Patch::Merge(nobody))
                .await
                .context("cannot free a Lease")?;
        }
        self.child = spawn(&self.config, &self.kubeconfig)?;
        self.kills += 1;
        view.tell(&format!("operators: killed for the {} time, and started anew", ordinal(self.kills)))
    }

    /// Lets them go in peace.
    pub(super) async fn stop(mut self) {
        // They are told to die with this process anyway.
        let _ = self.child.kill().await;
    }
}

fn spawn(config: &Path, kubeconfig: &Path) -> Result<Child> {
    let log = config.with_file_name("operators.log");
    let log = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&log)
        .with_context(|| format!("cannot write {}", log.display()))?;
    let program = env::current_exe().context("cannot find the program itself")?;
    Command::new(program)
        .arg("run")
        .arg("--config")
        .arg(config)
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .kill_on_drop(true)
        .spawn()
        .context("cannot start the operators")
}

fn ordinal(n: usize) -> String {
    let suffix = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{n}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::ordinal;

    #[test]
    fn numbers_are_spoken() {
        let all = [1, 2, 3, 4, 11, 12, 13, 21, 102, 111].map(ordinal);
        assert_eq!(all, ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "111th"]);
    }
}
