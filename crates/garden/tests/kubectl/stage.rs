//! Both servers, made ready once, and the scenes that are played on them.

use crate::{
    normal::normal,
    scene::{Scene, Step},
};
use allotment_garden::{
    embedded::EmbeddedLandscape,
    landscape::{Landscape, RealLandscape, Unavailable},
};
use libtest_mimic::{Completion, Failed};
use std::{
    error::Error,
    fmt::Write as _,
    io::Write as _,
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::SystemTime,
};
use tokio::{runtime::Runtime, sync::OnceCell};

type Failure = Box<dyn Error + Send + Sync>;

/// Where scenes are played.
pub struct Stage {
    show: bool,
    runtime: Runtime,
    servers: OnceCell<Result<Servers, Absent>>,
    /// Different in every run, so that several may share a real server.
    run: String,
}

struct Servers {
    real: RealLandscape,
    embedded: EmbeddedLandscape,
}

/// Why there are no servers.
enum Absent {
    /// What the real one is built with is missing: nothing can be compared here.
    Skip(String),
    Broken(String),
}

/// What a person sees of a command.
#[derive(PartialEq, Eq)]
struct Seen {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Stage {
    pub fn new(show: bool) -> Self {
        let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
        Self {
            show,
            runtime: Runtime::new().unwrap(),
            servers: OnceCell::new(),
            run: format!("{:06x}", seconds % 0xff_ffff),
        }
    }

    /// Plays a scene on both servers at once and compares.
    pub fn play(&self, scene: &Scene) -> Result<Completion, Failed> {
        let servers = match self.runtime.block_on(self.servers.get_or_init(start)) {
            Ok(servers) => servers,
            Err(Absent::Skip(why)) => return Ok(Completion::ignored_with(why)),
            Err(Absent::Broken(why)) => return Err(Failed::from(why)),
        };
        // The name of a project has at most ten characters.
        let namespace = match scene.in_garden() {
            true => format!("k{}", self.run),
            false => format!("{}-{}", scene.name, self.run),
        };
        let kubectl = &servers.real.landscape.kubectl;
        let perform = |landscape: &Landscape| {
            let kubeconfig = match scene.in_garden() {
                true => &landscape.garden_kubeconfig,
                false => &landscape.control_plane_kubeconfig,
            };
            perform(scene, kubectl, kubeconfig, &namespace)
        };
        let (real, embedded) = thread::scope(|scope| {
            let real = scope.spawn(|| perform(&servers.real.landscape));
            let embedded = perform(&servers.embedded.landscape);
            (real.join().unwrap(), embedded)
        });
        let failed = |error: Failure| Failed::from(error.to_string());
        let (real, embedded) = (real.map_err(failed)?, embedded.map_err(failed)?);
        let mut report = String::new();
        for ((step, real), embedded) in scene.steps.iter().zip(&real).zip(&embedded) {
            if self.show {
                println!("$ {}\n{real}", step.command);
            }
            report += &judge(step, real, embedded);
        }
        match report.is_empty() {
            true => Ok(Completion::Completed),
            false => Err(Failed::from(report)),
        }
    }

    pub fn leave(self) {
        if let Some(Ok(servers)) = self.servers.into_inner() {
            self.runtime.block_on(servers.real.stop());
        }
    }
}

async fn start() -> Result<Servers, Absent> {
    let broken = |error: &dyn Error| Absent::Broken(error.to_string());
    let real = RealLandscape::find_or_start(0).await.map_err(|error| match error {
        Unavailable::GoMissing => Absent::Skip(error.to_string()),
        other => broken(&other),
    })?;
    let embedded = EmbeddedLandscape::start().await.map_err(|error| broken(&error))?;
    for landscape in [&real.landscape, &embedded.landscape] {
        landscape.install_crds().await.map_err(|error| broken(&error))?;
    }
    Ok(Servers { real, embedded })
}

/// What is wrong with what was seen of a step; empty if nothing is.
fn judge(step: &Step, real: &Seen, embedded: &Seen) -> String {
    let mut report = String::new();
    let Step { command, fails, differs, .. } = step;
    if (real.code != Some(0)) != *fails {
        let word = if *fails { "works" } else { "fails" };
        let _ = writeln!(report, "$ {command}\n{word} on the real server:\n{real}");
    }
    match differs {
        None if real != embedded => {
            let _ = writeln!(
                report,
                "$ {command}\non the real server:\n{real}\non the embedded one:\n{embedded}"
            );
        }
        Some(why) if real == embedded => {
            let _ = writeln!(report, "$ {command}\nno longer differs ({why})");
        }
        _ => {}
    }
    report
}

/// Types the commands, in a folder of their own.
fn perform(scene: &Scene, kubectl: &Path, kubeconfig: &Path, namespace: &str) -> Result<Vec<Seen>, Failure> {
    let folder = tempfile::tempdir()?;
    std::fs::create_dir(folder.path().join("bin"))?;
    symlink(kubectl, folder.path().join("bin/kubectl"))?;
    let own = folder.path().join("kubeconfig");
    std::fs::copy(kubeconfig, &own)?;
    let path = std::env::var("PATH").unwrap_or_default();
    let mut seen = Vec::new();
    for step in &scene.steps {
        let mut process = Command::new("sh")
            .args(["-c", &step.command])
            .current_dir(folder.path())
            .env("PATH", format!("{}:{path}", folder.path().join("bin").display()))
            // What kubectl remembers of a server is not shared either.
            .env("HOME", folder.path())
            .env("KUBECONFIG", &own)
            .env("NS", namespace)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut stdin) = process.stdin.take() {
            // A command that does not read has ended.
            let _ = stdin.write_all(step.input.as_bytes());
        }
        let output = process.wait_with_output()?;
        let text = |bytes: &[u8]| normal(&String::from_utf8_lossy(bytes));
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        seen.push(Seen { code: output.status.code(), out, err });
    }
    Ok(seen)
}

impl std::fmt::Display for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for line in self.out.lines().chain(self.err.lines()) {
            writeln!(f, "    {line}")?;
        }
        match self.code {
            Some(0) => Ok(()),
            code => writeln!(f, "    (exit code {code:?})"),
        }
    }
}
