//! A cleaner whose log is read: no credential may be in it, nor in anything else that it writes.

use super::stage::{Fault, Stage};
use allotment_clouds::Cloud;
use allotment_core::pool::AccountName;
use allotment_operator::{
    cleanup::{Clouds, GardenClouds, OpenAccount, OpenError, Operator},
    runtime::controller::Controller as _,
};
use allotment_testing::{Landscape, Outcome, Search, client, every_object, in_objects};
use futures::{FutureExt, future::BoxFuture};
use kube::{Client, ResourceExt, config::Kubeconfig};
use std::{
    fmt::{self, Write as _},
    sync::{Arc, Mutex},
    thread::JoinHandle,
};
use tokio::sync::{OnceCell, oneshot};
use tracing::{field, span};

/// The garden through a client that is made in the thread of the operator: its log has what kube says of the calls for
/// credentials and tokens.
pub struct OwnClient<F> {
    kubeconfig: Kubeconfig,
    clouds: F,
    made: OnceCell<Arc<GardenClouds>>,
}

impl<F: Fn(Client) -> GardenClouds + Send + Sync> OwnClient<F> {
    pub fn new(landscape: &Landscape, clouds: F) -> Result<Self, Fault> {
        let kubeconfig = Kubeconfig::read_from(&landscape.garden_kubeconfig)?;
        Ok(Self { kubeconfig, clouds, made: OnceCell::new() })
    }
}

impl<F: Fn(Client) -> GardenClouds + Send + Sync> Clouds for OwnClient<F> {
    fn open(&self, account: OpenAccount) -> BoxFuture<'_, Result<Arc<dyn Cloud>, OpenError>> {
        async move {
            let make = async || match client(self.kubeconfig.clone()).await {
                Ok(garden) => Ok(Arc::new((self.clouds)(garden))),
                Err(error) => Err(OpenError::Unusable(error.to_string())),
            };
            self.made.get_or_try_init(make).await?.open(account).await
        }
        .boxed()
    }
}

/// An operator in a thread of its own, where everything is logged that it says, and what it uses.
pub struct Overheard {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
    log: Log,
}

impl Overheard {
    pub fn start(operator: Operator) -> Self {
        let (stop, stopped) = oneshot::channel();
        let log = Log::default();
        let logging = log.clone();
        let thread = std::thread::spawn(move || {
            let _logging = tracing::subscriber::set_default(logging);
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                tokio::select! {
                    () = operator.run_as_leader() => (),
                    _ = stopped => (),
                }
            });
        });
        Self { stop, thread, log }
    }

    /// Ends the operator, and returns its log.
    pub fn stop(self) -> Log {
        drop(self.stop);
        self.thread.join().unwrap();
        self.log
    }
}

/// Everything that is logged, at every level: a line for each event and each span.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<String>>);

impl Log {
    pub fn text(&self) -> String {
        self.0.lock().unwrap().clone()
    }

    /// Whether a line has all of these words.
    pub fn has(&self, words: &[&str]) -> bool {
        self.text().lines().any(|line| words.iter().all(|word| line.contains(word)))
    }

    fn line(&self, record: impl FnOnce(&mut Line)) {
        let mut line = Line::default();
        record(&mut line);
        let mut text = self.0.lock().unwrap();
        text.push_str(&line.0.replace('\n', " "));
        text.push('\n');
    }
}

#[derive(Default)]
struct Line(String);

impl field::Visit for Line {
    fn record_debug(&mut self, field: &field::Field, value: &dyn fmt::Debug) {
        write!(self.0, "{field}={value:?} ").unwrap();
    }
}

impl tracing::Subscriber for Log {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &span::Attributes<'_>) -> span::Id {
        self.line(|line| span.record(line));
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        self.line(|line| values.record(line));
    }

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        self.line(|line| event.record(line));
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// Neither the log nor an object of the plot nor the ledger has a credential, a token or a signature. The Secrets of the garden have
/// the credentials, and are left out.
pub async fn shows_no_secret(
    stage: &Stage,
    log: &Log,
    accounts: &[AccountName],
    secrets: &[String],
) -> Outcome {
    let search = Search::of(secrets.iter().cloned());
    let written = log.text();
    assert!(written.contains("account id recorded"), "the log works: {} characters", written.len());
    assert_eq!(search.in_text(&written), None);
    let landscape = &stage.plot.landscape;
    for (server, namespace) in
        [(&landscape.garden, &stage.plot.garden_namespace), (&landscape.control_plane, &stage.plot.namespace)]
    {
        let mut all = every_object(server).await?;
        all.retain(|(kind, object)| object.namespace().as_ref() == Some(namespace) && kind != "Secret");
        assert!(!all.is_empty());
        assert_eq!(in_objects(&search, &all)?, [] as [&str; 0]);
    }
    for account in accounts {
        let proof = stage.ledger.proof(account).await?.map(|stored| serde_json::to_string(&stored.proof));
        let ledger = format!("{:?} {:?}", stage.ledger.cleaning(account).await?, proof.transpose()?);
        assert_eq!(search.in_text(&ledger), None, "{account}");
    }
    Ok(())
}
