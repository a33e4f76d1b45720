//! `allotment demo`: a landscape with our kinds and operators on it, to play with.
//!
//! | file | what is in it |
//! |---|---|
//! | `board`, `view` | what there is and what happens, for people who watch |
//! | `tour` | a walk through the product |
//! | `cloud` | small clouds behind the accounts |
//! | `crash` | the operators as a process that is killed again and again |
//! | `tenants` | two tenants with users of their own, and the policies that keep them apart |
//! | `words` | what is said at the start, and what there is to try |

mod board;
mod cloud;
mod crash;
mod tenants;
mod tour;
mod view;
mod words;

use super::{pool, signals};
use crate::{
    args::demo::{DemoArgs, Which},
    output,
};
use allotment_garden::{
    embedded::EmbeddedLandscape,
    gardenlet::{Gardenlet, Script, Scripts},
    landscape::{Landscape, RealLandscape, Unavailable},
};
use allotment_operator::{
    process::{self, Operators, Options, Process},
    survey::{Sources, Survey},
};
use anyhow::{Context, Result, bail};
use cloud::{Cleaning, SmallCloud};
use crash::{Fate, Victim, free_leases};
use futures::{StreamExt, future};
use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use serde_json::json;
use std::{
    fs,
    io::{self, IsTerminal},
    net::TcpListener,
    path::{Path, PathBuf},
    pin::pin,
    process::ExitStatus,
    sync::Arc,
    time::Instant,
};
use tempfile::TempDir;
use tokio::{runtime::Runtime, signal, sync::oneshot, task::JoinHandle, time::interval};
use tour::Tour;
use view::{REDRAW, View};
use words::{Ending, Words};

/// Slow enough to watch a Shoot grow.
const STEP_MILLISECONDS: u64 = 2000;

/// Fast enough for a tour of two minutes.
const TOUR_STEP_MILLISECONDS: u64 = 400;

/// The namespace that the examples name.
const EXAMPLE_NAMESPACE: &str = "cluster-operator";

/// The namespace of the project with the pool.
const GARDEN_NAMESPACE: &str = "garden-kyma";

/// The sample rules.
const RULES: &str = include_str!("rules.yaml");

pub(crate) fn run(args: DemoArgs) -> Result<()> {
    output::log("error", output::LogFormat::Text);
    let runtime = Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(async {
        match (args.landscape, &args.state) {
            (Which::Embedded, None) => on_embedded(&args).await,
            (Which::Embedded, Some(folder)) => remembered(&args, folder).await,
            (Which::Real, None) => on_real(&args).await,
            (Which::Real, Some(_)) => bail!(
                "--state is for the embedded landscape: the real one begins anew each time; leave out --landscape real, or --state"
            ),
        }
    })
}

async fn on_embedded(args: &DemoArgs) -> Result<()> {
    let started = Instant::now();
    let embedded = EmbeddedLandscape::start().await?;
    // The ledger and the configuration: gone when the demo is.
    let folder = TempDir::with_prefix("allotment-demo-").context("cannot make a folder for the ledger")?;
    let scene = Scene { landscape: &embedded.landscape, folder: folder.path(), args };
    scene.show("This process is", started).await
}

async fn remembered(args: &DemoArgs, folder: &Path) -> Result<()> {
    let started = Instant::now();
    let embedded = EmbeddedLandscape::start_in(folder).await?;
    // The folder is ours, so whoever had it before is dead, and perhaps was killed with its Leases.
    free_leases(&Api::default_namespaced(embedded.landscape.control_plane.clone())).await?;
    let scene = Scene { landscape: &embedded.landscape, folder, args };
    scene.show("This process is", started).await
}

async fn on_real(args: &DemoArgs) -> Result<()> {
    let started = Instant::now();
    output::note("Starting the real API servers (the first time they are built, which takes minutes) ...");
    let real = tokio::select! {
        real = RealLandscape::find_or_start(4) => real.map_err(explain)?,
        _ = signal::ctrl_c() => return Ok(()),
    };
    let folder = TempDir::with_prefix("allotment-demo-").context("cannot make a folder for the ledger")?;
    let scene = Scene { landscape: &real.landscape, folder: folder.path(), args };
    let shown = scene.show("Real API servers are", started).await;
    real.stop().await;
    shown
}

fn explain(error: Unavailable) -> anyhow::Error {
    match error {
        error @ Unavailable::GoMissing => anyhow::Error::new(error)
            .context("--landscape real needs Go 1.26 or newer; without it the demo needs nothing"),
        error => error.into(),
    }
}

/// Where the demo takes place.
struct Scene<'a> {
    landscape: &'a Landscape,
    /// For the ledger and the configuration.
    folder: &'a Path,
    args: &'a DemoArgs,
}

impl Scene<'_> {
    /// Sets the scene, says what there is, and shows what happens until Ctrl-C.
    async fn show(&self, what: &str, started: Instant) -> Result<()> {
        let Self { landscape, args, .. } = self;
        landscape.install_crds().await?;
        let namespace =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": EXAMPLE_NAMESPACE } });
        Api::<Namespace>::all(landscape.control_plane.clone())
            .patch(EXAMPLE_NAMESPACE, &PatchParams::apply("allotment-demo"), &Patch::Apply(namespace))
            .await
            .with_context(|| format!("cannot make the namespace {EXAMPLE_NAMESPACE}"))?;
        let step_milliseconds = if args.tour { TOUR_STEP_MILLISECONDS } else { STEP_MILLISECONDS };
        let scripts = Scripts::with_default(Script { step_milliseconds, ..Script::default() });
        let gardenlet = Gardenlet::new(landscape.garden.clone(), landscape.servers.clone(), scripts);
        let running = gardenlet.start(None);
        let config = self.configure()?;
        tenants::settle(landscape, self.folder, &config).await?;
        let stop = signals::stop()?;
        let hands = Hands::start(landscape, &config, args).await?;
        output::print(&words::welcome(landscape, what, started.elapsed(), args.servers_only))?;
        output::print(&self.pool_now(&config).await?)?;
        let address = process::read(&config)?.1.config.server.address;
        let ending = Ending { state: args.state.as_deref(), without_operators: args.servers_only };
        let next_steps = Words::write(landscape, &config, &address, &ending)?.next_steps();
        if !args.tour {
            output::print(&next_steps)?;
        }
        let shown = self.watch(hands, &config, &next_steps, stop).await;
        output::note("Stopping ...");
        drop(running);
        shown
    }

    /// Shows what happens. After a tour, people at a terminal can go on by themselves.
    async fn watch(
        &self,
        mut hands: Hands,
        config: &Path,
        next_steps: &str,
        stop: impl Future<Output = ()>,
    ) -> Result<()> {
        let Self { landscape, args, .. } = self;
        let mut view = View::new(!args.tour);
        let mut sightings = pin!(board::sightings(landscape, GARDEN_NAMESPACE));
        let mut redraw = interval(REDRAW);
        let mut stop = pin!(stop);
        let mut tour = pin!(Tour::new(landscape, GARDEN_NAMESPACE, config, hands.cleaning()).walk());
        let mut touring = args.tour;
        let shown = loop {
            tokio::select! {
                () = &mut stop => break Ok(()),
                ended = &mut tour, if touring => {
                    touring = false;
                    if ended.is_err() || !io::stdout().is_terminal() {
                        break ended;
                    }
                    output::print(&format!("Everything is still there.\n{next_steps}"))?;
                }
                Some(seen) = sightings.next() => view.see(seen)?,
                _ = redraw.tick() => view.draw()?,
                fate = hands.fate() => match hands.meet(fate).await {
                    Ok(told) => view.tell(&told)?,
                    Err(error) => break Err(error),
                },
            }
        };
        hands.stop().await;
        shown
    }

    /// Writes the operators' configuration, if there is none yet.
    fn configure(&self) -> Result<PathBuf> {
        let path = self.folder.join("config.yaml");
        if path.exists() {
            return Ok(path);
        }
        let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let text = format!(
            "{RULES}\ngardener:\n  kubeconfig: {}\n  name: demo\nledger:\n  url: sqlite://{}\ncontrollers: {}\n\
             # What becomes of returned accounts. The clouds behind them are in this process, and fast.\n\
             cleanup:\n  mode: plan\n  settleSeconds: 2\n\
             server:\n  address: {}\n\
             # Namespaces with this label are their tenant's. The examples are in namespaces of the platform, which may name any tenant.\n\
             tenancy:\n  namespaceLabel: {}\n  platform: [{EXAMPLE_NAMESPACE}, default]\n\
             # Shoots and clusters that tenants bring are on loopback here.\n\
             byoc:\n  allow: [127.0.0.0/8, '::1/128']\n\
             # The server is on loopback, too.\n\
             metrics:\n  tenantIds: true\n",
            json!(self.landscape.garden_kubeconfig),
            self.folder.join("ledger.db").display(),
            self.controllers(),
            port.context("cannot find a free port")?,
            tenants::LABEL,
        );
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }

    /// The operators that run. Only the tour has a cloud, and only operators in this process reach it.
    fn controllers(&self) -> &'static str {
        match self.args {
            DemoArgs { tour: true, crash: None, .. } => "[subscription, cluster, kubeconfig, cleanup]",
            _ => "[subscription, cluster, kubeconfig]",
        }
    }

    /// The pool as it is at the start.
    async fn pool_now(&self, config: &Path) -> Result<String> {
        let settings = process::subscription_settings(&process::read(config)?.1.config, String::new());
        let sources = Sources {
            garden: self.landscape.garden.clone(),
            control_plane: Some(self.landscape.control_plane.clone()),
            ledger: None,
            settings: &settings,
        };
        let survey = Survey::read(&sources, |_| ()).await?;
        Ok(pool::show::pools(&survey.pools()))
    }
}

/// The operators: in this process, in one that is killed, or in one that people start themselves.
enum Hands {
    Here {
        running: JoinHandle<()>,
        stop: oneshot::Sender<()>,
        cleaning: Option<Cleaning>,
        shoots: Option<JoinHandle<()>>,
    },
    Apart(Box<Victim>),
    Absent,
}

impl Hands {
    async fn start(landscape: &Landscape, config: &Path, args: &DemoArgs) -> Result<Self> {
        if args.servers_only {
            return Ok(Self::Absent);
        }
        if let Some(every) = args.crash {
            return Ok(Self::Apart(Box::new(Victim::start(landscape, config, every)?)));
        }
        let kubeconfig = Some(landscape.control_plane_kubeconfig.clone());
        let cloud = SmallCloud::default();
        let process = Process::start(Options {
            config: config.to_owned(),
            kubeconfig,
            controllers: None,
            clouds: Some(Arc::new(cloud.clone())),
        })
        .await?;
        let Operators { subscription, cleanup, .. } = process.operators();
        let ledger = subscription.as_ref().map(|operator| operator.ledger().clone());
        let cleaning = ledger.filter(|_| cleanup.is_some()).map(|ledger| Cleaning { cloud, ledger });
        if let Some(cleaning) = &cleaning {
            cleaning.record_accounts(landscape).await?;
        }
        let followed = cleaning.clone().map(|cleaning| cleaning.follow_shoots(landscape.garden.clone()));
        let shoots = followed.map(tokio::spawn);
        let (stop, told) = oneshot::channel();
        let running = tokio::spawn(process.run_until(async {
            // Whoever could tell is gone: that tells too.
            let _ = told.await;
        }));
        Ok(Self::Here { running, stop, cleaning, shoots })
    }

    /// The cloud, and the ledger that says what was done in it.
    fn cleaning(&self) -> Option<Cleaning> {
        match self {
            Self::Here { cleaning, .. } => cleaning.clone(),
            Self::Apart(_) | Self::Absent => None,
        }
    }

    /// Waits until something becomes of them.
    async fn fate(&mut self) -> Fate {
        match self {
            Self::Here { running, .. } => {
                let ended = running.await;
                Fate::Ended(ended.map(|()| ExitStatus::default()).map_err(io::Error::other))
            }
            Self::Apart(victim) => victim.fate().await,
            Self::Absent => future::pending().await,
        }
    }

    /// Does what is to be done, and says what it was.
    async fn meet(&mut self, fate: Fate) -> Result<String> {
        match (self, fate) {
            (Self::Apart(victim), fate) => victim.meet(fate).await,
            (Self::Here { .. } | Self::Absent, Fate::Ended(Err(error))) => {
                Err(error).context("the operators ended")
            }
            (Self::Here { .. } | Self::Absent, _) => {
                bail!("the operators ended by themselves; without them there is no demo")
            }
        }
    }

    async fn stop(self) {
        match self {
            Self::Here { running, stop, shoots, .. } => {
                shoots.iter().for_each(JoinHandle::abort);
                let _ = stop.send(());
                // Whoever has ended by itself was waited for already.
                if !running.is_finished() {
                    let _ = running.await;
                }
            }
            Self::Apart(victim) => victim.stop().await,
            Self::Absent => (),
        }
    }
}
