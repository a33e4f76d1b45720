//! Behaviour tests are written once, against a [`Landscape`], and run on each kind of landscape there is.
//!
//! A test binary (with `harness = false`) lists its cases and hands them to [`run`]:
//!
//! ```no_run
//! use allotment_testing::{Landscape, Outcome, case, run};
//!
//! async fn answers(landscape: Landscape) -> Outcome {
//!     landscape.garden.apiserver_version().await?;
//!     Ok(())
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     run(vec![case!(answers)])
//! }
//! ```
//!
//! The embedded landscape is there at once. The real one is found by `ALLOTMENT_LANDSCAPE`, else it is built and started
//! once, when the first test wants it, and stopped after the last. Where it cannot be had for want of Go, its tests are
//! skipped and say so.

mod clouds;
mod kubectl;
mod openstack;
mod postgres;
mod search;

pub use allotment_garden::{
    embedded::EmbeddedGarden,
    gardenlet::{Failure, Script, ShootKey},
    landscape::{Landscape, Plot, client},
};
pub use clouds::{AwsAccount, AwsCloud, NoCloud, audit as audit_cloud, script as cloud_script};
pub use kubectl::{Kubectl, NoKubectl, Said};
pub use openstack::{CallCounter, OpenStackCloud, OpenStackProject};
pub use postgres::{NoPostgres, Postgres, PostgresPair, PostgresSetup, Replication};
pub use search::{Search, every_object, in_objects};

use allotment_garden::{
    embedded::{EmbeddedError, EmbeddedLandscape},
    landscape::{RealLandscape, Unavailable},
};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::{error::Error, pin::Pin, process::ExitCode, sync::Arc};
use tokio::{runtime::Runtime, sync::OnceCell};

/// What a case comes to.
pub type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

/// A case under way.
pub type Running = Pin<Box<dyn Future<Output = Outcome>>>;

/// One behaviour, to be tried on every kind of landscape.
pub struct Case {
    /// What it is called in the output.
    pub name: &'static str,
    /// What it does.
    pub run: fn(Landscape) -> Running,
    /// Why it is not tried on the embedded landscape, which then must be in the table of what that does differently.
    pub only_real: Option<&'static str>,
}

impl Case {
    /// The same, not tried on the embedded landscape.
    #[must_use]
    pub fn only_on_real(mut self, why: &'static str) -> Self {
        self.only_real = Some(why);
        self
    }
}

/// Makes a [`Case`] of an `async fn(Landscape) -> Outcome`, named with its module or without.
#[macro_export]
macro_rules! case {
    ($name:ident) => {
        $crate::Case { name: stringify!($name), run: |landscape| Box::pin($name(landscape)), only_real: None }
    };
    ($module:ident :: $name:ident) => {
        $crate::Case {
            name: concat!(stringify!($module), "::", stringify!($name)),
            run: |landscape| Box::pin($module::$name(landscape)),
            only_real: None,
        }
    };
}

/// Real shoot API servers: two, so that mixing up two Shoots can show.
const SHOOT_SERVERS: usize = 2;

/// The landscapes of this process.
struct Shared {
    runtime: Runtime,
    embedded: OnceCell<Result<EmbeddedLandscape, EmbeddedError>>,
    real: OnceCell<Result<RealLandscape, Unavailable>>,
}

impl Shared {
    fn on_embedded(&self, case: &Case) -> Result<Completion, Failed> {
        self.runtime.block_on(async {
            match self.embedded.get_or_init(EmbeddedLandscape::start).await {
                Ok(embedded) => run_case(case, embedded.landscape.clone()).await,
                Err(error) => Err(Failed::from(error.to_string())),
            }
        })
    }

    fn on_real(&self, case: &Case) -> Result<Completion, Failed> {
        self.runtime.block_on(async {
            match self.real.get_or_init(|| RealLandscape::find_or_start(SHOOT_SERVERS)).await {
                Ok(real) => run_case(case, real.landscape.clone()).await,
                Err(missing @ Unavailable::GoMissing) => Ok(Completion::ignored_with(missing)),
                Err(error) => Err(Failed::from(error.to_string())),
            }
        })
    }
}

async fn run_case(case: &Case, landscape: Landscape) -> Result<Completion, Failed> {
    match (case.run)(landscape).await {
        Ok(()) => Ok(Completion::Completed),
        Err(error) if error.is::<NoKubectl>() || error.is::<NoPostgres>() || error.is::<NoCloud>() => {
            Ok(Completion::ignored_with(error))
        }
        Err(error) => Err(Failed::from(error.to_string())),
    }
}

/// Runs cases as a test binary does: `--list`, filters and `--test-threads` work as with any other.
pub fn run(cases: Vec<Case>) -> ExitCode {
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
        .with_test_writer()
        .init();
    let runtime = match Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return complain(&format!("cannot start: {error}")),
    };
    let shared = Arc::new(Shared { runtime, embedded: OnceCell::new(), real: OnceCell::new() });
    let mut trials = Vec::new();
    for case in cases.into_iter().map(Arc::new) {
        if case.only_real.is_none() {
            let (shared, case) = (shared.clone(), case.clone());
            let name = format!("embedded::{}", case.name);
            trials.push(Trial::ignorable_test(name, move || shared.on_embedded(&case)));
        }
        let shared = shared.clone();
        trials.push(Trial::ignorable_test(format!("real::{}", case.name), move || shared.on_real(&case)));
    }
    let conclusion = libtest_mimic::run(&arguments(), trials);
    AwsCloud::stop_shared();
    if let Some(Shared { runtime, embedded, real }) = Arc::into_inner(shared) {
        if let Some(Ok(real)) = real.into_inner() {
            runtime.block_on(real.stop());
        }
        drop(embedded);
    }
    conclusion.exit_code()
}

/// What was typed. Cases wait for servers most of the time, so more of them run at once than there are cores.
fn arguments() -> Arguments {
    const CASES_PER_CORE: usize = 3;
    let mut arguments = Arguments::from_args();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    arguments.test_threads.get_or_insert(cores * CASES_PER_CORE);
    arguments
}

#[expect(clippy::print_stderr, reason = "this is the end of a test binary")]
fn complain(text: &str) -> ExitCode {
    eprintln!("{text}");
    ExitCode::FAILURE
}
