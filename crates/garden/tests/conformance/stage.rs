//! Both servers, made ready once, and the cases that run on them.

use crate::{
    cases::shared,
    compare::{check_script, compare},
    coverage::Coverage,
    planted, plots,
    run::{Recording, record, record_and_keep},
    script::{Case, case, create, delete, get},
    sequence,
    servers::{Failure, Server, Variables},
};
use allotment_apiserver::{ApiServer, planted::Planted};
use allotment_garden::{
    embedded::EmbeddedGarden,
    landscape::{RealLandscape, Unavailable},
};
use libtest_mimic::{Completion, Failed};
use std::{
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};
use tokio::{runtime::Runtime, sync::OnceCell, time::sleep};

/// What to do.
#[derive(Clone, Copy, Debug)]
pub struct Mode {
    pub real_only: bool,
    pub show: bool,
}

/// In this time a real server that ends namespaces ends at least one of them.
const PROGRESS_WITHIN: Duration = Duration::from_secs(10);

/// Where cases run.
pub struct Stage {
    mode: Mode,
    runtime: Runtime,
    servers: OnceCell<Result<Servers, Absent>>,
    /// Different in every run, so that several may share a real server.
    run: String,
    coverage: Coverage,
    namespaces: Mutex<Vec<String>>,
}

/// Why there are no servers.
enum Absent {
    /// What the real one is built with is missing: nothing can be compared here.
    Skip(String),
    Broken(String),
}

impl From<&Absent> for Result<Completion, Failed> {
    fn from(absent: &Absent) -> Self {
        match absent {
            Absent::Skip(why) => Ok(Completion::ignored_with(why)),
            Absent::Broken(why) => Err(Failed::from(why)),
        }
    }
}

struct Servers {
    landscape: RealLandscape,
    real: Server,
    embedded: Server,
    real_garden: Server,
    embedded_garden: Server,
}

impl Servers {
    /// The two that a case is for, the real one first.
    fn for_case(&self, case: &Case) -> (&Server, &Server) {
        match case.in_garden() {
            true => (&self.real_garden, &self.embedded_garden),
            false => (&self.real, &self.embedded),
        }
    }
}

impl Stage {
    pub fn new(mode: Mode) -> Self {
        let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis() / 100;
        Self {
            mode,
            runtime: Runtime::new().unwrap(),
            servers: OnceCell::new(),
            run: format!("{:07x}", seconds % 0xfff_ffff),
            coverage: Coverage::default(),
            namespaces: Mutex::default(),
        }
    }

    /// Runs a case on both servers at once and compares.
    pub fn try_case(&self, case: &Case, number: usize) -> Result<Completion, Failed> {
        self.runtime.block_on(async {
            let servers = match self.servers().await {
                Ok(servers) => servers,
                Err(absent) => return absent.into(),
            };
            let variables = match case.in_garden() {
                true => plots::variables(&self.run, number),
                false => self.variables(&format!("c{number}")),
            };
            match self.outcome(servers, case, &variables).await {
                Ok(None) => Ok(Completion::Completed),
                Ok(Some(report)) => Err(Failed::from(report)),
                Err(error) => Err(Failed::from(error.to_string())),
            }
        })
    }

    /// Runs a random sequence; one that fails is made as short as possible.
    pub fn try_sequence(&self, seed: u64) -> Result<Completion, Failed> {
        self.runtime.block_on(async {
            let servers = match self.servers().await {
                Ok(servers) => servers,
                Err(absent) => return absent.into(),
            };
            let attempts = std::sync::atomic::AtomicUsize::new(0);
            let fails = |steps: Vec<_>| {
                let attempt = attempts.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let variables = self.variables(&format!("s{seed}-{attempt}"));
                async move {
                    let case = case(format!("sequence::seed_{seed}"), sequence::with_namespace(steps));
                    let mut variables = variables;
                    sequence::variables(&mut variables);
                    self.outcome(servers, &case, &variables)
                        .await
                        .unwrap_or_else(|error| Some(error.to_string()))
                }
            };
            match sequence::shrunk(sequence::steps(seed), fails).await {
                None => Ok(Completion::Completed),
                Some(report) => Err(Failed::from(report)),
            }
        })
    }

    /// Plants a fault in a server of its own, and wants a case to notice it that passes without.
    pub fn try_fault(&self, fault: Planted) -> Result<Completion, Failed> {
        self.runtime.block_on(async {
            let servers = match self.servers().await {
                Ok(servers) => servers,
                Err(absent) => return absent.into(),
            };
            if self.mode.real_only {
                return Ok(Completion::ignored_with("there is no embedded server"));
            }
            self.is_noticed(servers, fault).await.map_err(|error| Failed::from(error.to_string()))?;
            Ok(Completion::Completed)
        })
    }

    async fn is_noticed(&self, servers: &Servers, fault: Planted) -> Result<(), Failure> {
        let server = ApiServer::new();
        let faulty = Server::embedded(&server);
        install(&faulty, &self.variables("shared")).await?;
        server.with_server(|server| {
            server.compact();
            server.plant(fault);
        });
        let mut trouble = String::new();
        for (number, case) in planted::witnesses(fault).iter().enumerate() {
            let variables = self.variables(&format!("p{}-{number}", fault as usize));
            self.namespaces.lock().unwrap().push(variables["ns"].clone());
            let (real, sound, faulty) = tokio::join!(
                record(case, &servers.real, &variables),
                record(case, &servers.embedded, &variables),
                record(case, &faulty, &variables)
            );
            let (real, sound) = (real?, sound?);
            if let Some(report) = compare(case, &real, &sound) {
                trouble += &format!("{} fails without the fault, too:\n{report}", case.name);
                continue;
            }
            // A server that no longer answers is noticed as well.
            if faulty.is_err() || faulty.is_ok_and(|faulty| compare(case, &real, &faulty).is_some()) {
                return Ok(());
            }
            trouble += &format!("{} does not notice it\n", case.name);
        }
        Err(trouble.into())
    }

    async fn outcome(
        &self,
        servers: &Servers,
        case: &Case,
        variables: &Variables,
    ) -> Result<Option<String>, Failure> {
        let (on_real, on_embedded) = servers.for_case(case);
        if !case.in_garden() {
            self.namespaces.lock().unwrap().push(variables["ns"].clone());
        }
        if self.mode.real_only {
            let real = record(case, on_real, variables).await?;
            self.coverage.add(case, &real);
            self.show(case, &real, &Recording::default());
            return Ok(check_script(case, &real).filter(|_| !case.name.starts_with("sequence")));
        }
        let (real, embedded) =
            tokio::join!(record(case, on_real, variables), record(case, on_embedded, variables));
        let (real, embedded) = (real?, embedded?);
        self.coverage.add(case, &real);
        self.show(case, &real, &embedded);
        let script = check_script(case, &real).filter(|_| !case.name.starts_with("sequence"));
        Ok(match (script, compare(case, &real, &embedded)) {
            (None, None) => None,
            (script, differences) => {
                Some(format!("{}{}", script.unwrap_or_default(), differences.unwrap_or_default()))
            }
        })
    }

    fn show(&self, case: &Case, real: &Recording, embedded: &Recording) {
        if !self.mode.show {
            return;
        }
        for (number, step) in case.steps.iter().enumerate() {
            println!("{} step {}: {step}", case.name, number + 1);
            for (name, recording) in [("real", real), ("embedded", embedded)] {
                if let Some(seen) = recording.raw.get(number) {
                    println!("  {name}: {}", crate::script::short(&seen.to_string()));
                }
            }
        }
    }

    fn variables(&self, place: &str) -> Variables {
        let group = format!("g{}.example.com", self.run);
        Variables::from([("ns".to_owned(), format!("x{}-{place}", self.run)), ("group".to_owned(), group)])
    }

    async fn servers(&self) -> Result<&Servers, &Absent> {
        self.servers.get_or_init(|| self.start()).await.as_ref()
    }

    async fn start(&self) -> Result<Servers, Absent> {
        let landscape = RealLandscape::find_or_start(0).await.map_err(|error| match error {
            Unavailable::GoMissing => Absent::Skip(error.to_string()),
            other => Absent::Broken(other.to_string()),
        })?;
        let broken = |error: Failure| Absent::Broken(error.to_string());
        let real = Server::real(&landscape.landscape).await.map_err(broken)?;
        settle(&real).await.map_err(broken)?;
        let server = ApiServer::new();
        let embedded = Server::embedded(&server);
        let variables = self.variables("shared");
        install(&real, &variables).await.map_err(broken)?;
        if !self.mode.real_only {
            install(&embedded, &variables).await.map_err(broken)?;
            // The real one has long forgotten its beginnings.
            server.with_server(|server| server.compact());
        }
        let real_garden = Server::real_garden(&landscape.landscape).await.map_err(broken)?;
        let garden = EmbeddedGarden::new().map_err(|error| Absent::Broken(error.to_string()))?;
        let embedded_garden = Server::embedded_garden(&garden);
        Ok(Servers { landscape, real, embedded, real_garden, embedded_garden })
    }

    /// Cleans up and gives back what was covered.
    pub fn leave(self: Arc<Self>) -> Coverage {
        let Some(Self { runtime, servers, run, coverage, namespaces, .. }) = Arc::into_inner(self) else {
            return Coverage::default();
        };
        if let Some(Ok(servers)) = servers.into_inner() {
            let group = format!("g{run}.example.com");
            let mut paths: Vec<String> = shared::definitions()
                .iter()
                .map(|definition| {
                    definition["metadata"]["name"].as_str().unwrap_or_default().replace("{group}", &group)
                })
                .map(|name| format!("{}/{name}", shared::DEFINITIONS))
                .collect();
            paths.extend(
                namespaces.into_inner().unwrap().iter().map(|name| format!("/api/v1/namespaces/{name}")),
            );
            runtime.block_on(async {
                for path in paths {
                    if let Some(call) = delete(path).call() {
                        // Not every case made one.
                        let _ = servers.real.send(call, &Variables::new()).await;
                    }
                }
                servers.landscape.stop().await;
            });
        }
        coverage
    }
}

/// Waits until a real server has ended the namespaces of an earlier run, or no longer gets on with it: as long as it is
/// busy with hundreds of them, it is too slow for cases that wait for one.
async fn settle(server: &Server) -> Result<(), Failure> {
    let ending =
        case("ending namespaces", [get("/api/v1/namespaces?fieldSelector=status.phase=Terminating")]);
    let mut before = usize::MAX;
    loop {
        let recording = record_and_keep(&ending, server, &Variables::new()).await?;
        let count =
            recording.raw.first().and_then(|seen| seen["body"]["items"].as_array()).map_or(0, Vec::len);
        if count == 0 || count >= before {
            return Ok(());
        }
        before = count;
        sleep(PROGRESS_WITHIN).await;
    }
}

/// The definitions that most cases share: on a real server, a definition takes a second or more until it is served.
async fn install(server: &Server, variables: &Variables) -> Result<(), Failure> {
    for definition in shared::definitions() {
        let spec = &definition["spec"];
        let path = format!("/apis/{{group}}/v1/{}", spec["names"]["plural"].as_str().unwrap_or_default());
        let steps = [create(shared::DEFINITIONS, definition.clone()), get(path).until_code(200)];
        let case = case("shared definitions", steps);
        let recording = record_and_keep(&case, server, variables).await?;
        if let Some(trouble) = check_script(&case, &recording) {
            return Err(format!("{}: {trouble}", server.name).into());
        }
    }
    Ok(())
}
