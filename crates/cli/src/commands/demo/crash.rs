//! The operators in a process of their own, which is killed again and again.

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
    io,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};
use tokio::{
    process::{Child, Command},
    time::{Instant, Interval, interval_at},
};

/// The operators, and when they are killed next.
pub(super) struct Victim {
    program: PathBuf,
    config: PathBuf,
    control_plane: Api<Lease>,
    kubeconfig: PathBuf,
    /// None while they are not running: they ended by themselves, and wait to be started anew.
    child: Option<Child>,
    killing: Interval,
    kills: usize,
}

/// What became of the operators.
pub(super) enum Fate {
    /// It is time to kill them.
    Due,
    /// They ended by themselves, which they should not.
    Ended(io::Result<ExitStatus>),
}

impl Victim {
    /// Starts them.
    pub(super) fn start(landscape: &Landscape, config: &Path, every: Duration) -> Result<Self> {
        let mut victim = Self {
            program: env::current_exe().context("cannot find the program itself")?,
            config: config.to_owned(),
            control_plane: Api::default_namespaced(landscape.control_plane.clone()),
            kubeconfig: landscape.control_plane_kubeconfig.clone(),
            child: None,
            killing: interval_at(Instant::now() + every, every),
            kills: 0,
        };
        victim.spawn()?;
        Ok(victim)
    }

    /// Waits until it is time to kill them, or until they end by themselves.
    pub(super) async fn fate(&mut self) -> Fate {
        let Some(child) = &mut self.child else {
            self.killing.tick().await;
            return Fate::Due;
        };
        tokio::select! {
            _ = self.killing.tick() => Fate::Due,
            ended = child.wait() => Fate::Ended(ended),
        }
    }

    /// Does what is to be done, and says what it was.
    pub(super) async fn meet(&mut self, fate: Fate) -> Result<String> {
        match fate {
            Fate::Due => self.kill().await,
            Fate::Ended(ended) => {
                self.child = None;
                let how = ended.map_or_else(|error| error.to_string(), |status| status.to_string());
                let log = self.log();
                // Started at once, they might end at once, and so on.
                Ok(format!(
                    "operators: ended by themselves ({how}); {} says why, and they are started anew soon",
                    log.display()
                ))
            }
        }
    }

    /// Kills them in the middle of whatever they do, and starts them anew. In a cluster, a second process would stand by
    /// and take over when the Lease of the dead one runs out, after 15 seconds; we know that it is dead.
    async fn kill(&mut self) -> Result<String> {
        let killed = match self.child.take() {
            Some(mut child) => {
                child.kill().await.context("cannot kill the operators")?;
                true
            }
            None => false,
        };
        free_leases(&self.control_plane).await?;
        self.spawn()?;
        if !killed {
            return Ok("operators: started anew".to_owned());
        }
        self.kills += 1;
        Ok(format!("operators: killed for the {} time, and started anew", ordinal(self.kills)))
    }

    /// Lets them go in peace.
    pub(super) async fn stop(mut self) {
        if let Some(child) = &mut self.child {
            // They are told to die with this process anyway.
            let _ = child.kill().await;
        }
    }

    fn log(&self) -> PathBuf {
        self.config.with_file_name("operators.log")
    }

    fn spawn(&mut self) -> Result<()> {
        let log = self.log();
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log)
            .with_context(|| format!("cannot write {}", log.display()))?;
        let child = Command::new(&self.program)
            .arg("run")
            .arg("--config")
            .arg(&self.config)
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .context("cannot start the operators")?;
        self.child = Some(child);
        Ok(())
    }
}

/// Whoever holds a Lease is known to be dead: nobody has to wait until it runs out.
pub(super) async fn free_leases(leases: &Api<Lease>) -> Result<()> {
    for lease in leases.list(&ListParams::default()).await.context("cannot list the Leases")? {
        let nobody = json!({ "spec": { "holderIdentity": null } });
        leases
            .patch(&lease.name_any(), &PatchParams::default(), &Patch::Merge(nobody))
            .await
            .context("cannot free a Lease")?;
    }
    Ok(())
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
    use super::*;
    use allotment_garden::embedded::EmbeddedLandscape;
    use tempfile::TempDir;

    #[test]
    fn numbers_are_spoken() {
        let all = [1, 2, 3, 4, 11, 12, 13, 21, 102, 111].map(ordinal);
        assert_eq!(all, ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "111th"]);
    }

    #[tokio::test]
    async fn what_ended_by_itself_is_not_said_to_be_killed() {
        let folder = TempDir::new().unwrap();
        let embedded = EmbeddedLandscape::start().await.unwrap();
        let landscape = &embedded.landscape;
        let every = Duration::from_millis(300);
        let mut victim = Victim {
            program: "false".into(),
            config: folder.path().join("config.yaml"),
            control_plane: Api::default_namespaced(landscape.control_plane.clone()),
            kubeconfig: landscape.control_plane_kubeconfig.clone(),
            child: None,
            killing: interval_at(Instant::now() + every, every),
            kills: 0,
        };
        victim.spawn().unwrap();
        let mut told = Vec::new();
        for _ in 0..2 {
            let fate = tokio::time::timeout(Duration::from_secs(20), victim.fate()).await.unwrap();
            told.push(victim.meet(fate).await.unwrap());
        }
        assert!(told[0].contains("ended by themselves (exit status: 1)"), "{told:?}");
        assert!(told[0].contains("operators.log"), "{told:?}");
        assert_eq!(told[1], "operators: started anew");
        victim.stop().await;
    }
}
