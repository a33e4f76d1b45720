//! The server over HTTPS, on loopback: for kubectl, and for clients that bring a kubeconfig.
//!
//! ```
//! use allotment_apiserver::ApiServer;
//! use kube::{Client, Config, config::{KubeConfigOptions, Kubeconfig}};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let local = ApiServer::new().serve_locally(0, None).await?;
//! // As JSON, which is YAML: written to a file, it is for kubectl.
//! let kubeconfig: Kubeconfig = serde_json::from_value(local.admin_kubeconfig.clone())?;
//! let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
//! let version = Client::try_from(config)?.apiserver_version().await?;
//! assert_eq!(version.major, "1");
//! # Ok(())
//! # }
//! ```

use crate::{
    auth::{
        MASTERS, User,
        certificate::{CertificateAuthority, CertificateError, KeyKind, ServerName, server_config},
        kubeconfig::kubeconfig,
    },
    error::ApiError,
    server::Answer,
    service::{ApiServer, respond_to},
    state::{StateError, keep_port, kept_authority, last_port},
};
use http::{Request, header};
use http_body_util::{BodyExt, Limited};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use jiff::SignedDuration;
use serde_json::Value;
use std::{
    convert::Infallible,
    fmt, io,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    sync::Arc,
};
use tokio::{net::TcpListener, net::TcpStream, task::JoinHandle, task::JoinSet};
use tokio_rustls::{TlsAcceptor, rustls::ServerConfig};

/// Nobody sends more than this and gets an answer; the server itself refuses far less.
const READ_LIMIT_BYTES: usize = 16 * 1024 * 1024;

/// Finds out who shows a client certificate, given in DER; nobody, if it is not good.
type Identify = Arc<dyn Fn(&[u8]) -> Option<User> + Send + Sync>;

/// A server that listens. It ends, with all its connections, when this is dropped.
#[derive(Debug)]
pub struct Listening {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Listening {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `https://127.0.0.1:…`.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl ApiServer {
    /// Listens on a loopback port: a free one if `port` is 0.
    async fn listen(&self, port: u16, tls: Arc<ServerConfig>, identify: Identify) -> io::Result<Listening> {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(accept(self.clone(), listener, TlsAcceptor::from(tls), identify));
        Ok(Listening { address, task })
    }
}

/// Takes connections until it is aborted; those that are open then go with it.
async fn accept(server: ApiServer, listener: TcpListener, tls: TlsAcceptor, identify: Identify) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        while connections.try_join_next().is_some() {}
        connections.spawn(serve(server.clone(), stream, tls.clone(), identify.clone()));
    }
}

async fn serve(server: ApiServer, stream: TcpStream, tls: TlsAcceptor, identify: Identify) {
    // A client that does not speak TLS, or shows a certificate of another CA, is not worth more than the end of it.
    let Ok(stream) = tls.accept(stream).await else { return };
    let shown = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
    let caller = shown.map(|certificate| identify(certificate));
    let service = service_fn(move |request: Request<Incoming>| {
        let (server, caller) = (server.clone(), caller.clone());
        async move {
            let (parts, body) = request.into_parts();
            let body = Limited::new(body, READ_LIMIT_BYTES).collect().await.map(|body| body.to_bytes());
            // What was cut off on the way is no JSON, and is refused as that.
            let request = Request::from_parts(parts, body.unwrap_or_default());
            let has_token = request.headers().contains_key(header::AUTHORIZATION);
            Ok::<_, Infallible>(match caller {
                Some(None) if !has_token => respond_to(Answer::refusal(&ApiError::unauthorized())),
                caller => server.answer(request, caller.flatten()),
            })
        }
    });
    let builder = auto::Builder::new(TokioExecutor::new());
    // The end of a connection, however it comes about, concerns nobody but the client.
    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
}

/// A server on loopback with authorities of its own, and the kubeconfig of its admin.
pub struct Local {
    /// It ends when this is dropped.
    pub listening: Listening,
    /// For whoever may do everything. It holds a key.
    pub admin_kubeconfig: Value,
    /// Signs the certificates of clients.
    pub clients: Arc<CertificateAuthority>,
    /// The certificate behind the one that the server shows, in PEM.
    pub serving_ca_pem: String,
}

/// Why a server does not listen.
#[derive(Debug)]
pub enum LocalError {
    /// A certificate could not be made.
    Certificate(CertificateError),
    /// The port could not be had.
    Port(io::Error),
    /// What has to be kept cannot be.
    State(StateError),
}

impl fmt::Display for LocalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Certificate(error) => write!(f, "cannot make a certificate: {error}"),
            Self::Port(error) => write!(f, "cannot listen on 127.0.0.1: {error}"),
            Self::State(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LocalError {}

/// Longer than anything that is tried out lasts.
const LIFE: SignedDuration = SignedDuration::from_hours(24 * 365 * 10);

impl ApiServer {
    /// Listens on loopback: if `port` is 0, on a free one, or on that of the last time if the server remembers. `clients`
    /// signs the certificates of clients; without it, an authority is made, or read if the server remembers.
    pub async fn serve_locally(
        &self,
        port: u16,
        clients: Option<Arc<CertificateAuthority>>,
    ) -> Result<Local, LocalError> {
        let now = self.now();
        let end = now + LIFE;
        let random: &mut (dyn FnMut(&mut [u8]) + Send) = &mut |bytes| {
            let _ = getrandom::fill(bytes);
        };
        let kind = KeyKind::P256;
        let made = LocalError::Certificate;
        let folder = self.with_server(|server| server.state.as_ref().map(|state| state.folder.clone()));
        let mut authority = |name: &str| {
            let mut make =
                || CertificateAuthority::generate(kind, &format!("allotment-{name}"), now, end, random);
            match &folder {
                Some(folder) => kept_authority(&folder.join(format!("{name}.pem")), make),
                None => make().map_err(made),
            }
        };
        let serving = authority("serving")?;
        let clients = match clients {
            Some(clients) => clients,
            None => Arc::new(authority("clients")?),
        };
        let names = [ServerName::Ip(Ipv4Addr::LOCALHOST.into()), ServerName::Dns("localhost".to_owned())];
        let certificate = serving.issue_serving(kind, &names, now, end, random).map_err(made)?;
        let groups = [MASTERS.to_owned()];
        let admin = clients.issue_client(kind, "admin", &groups, now, end, random).map_err(made)?;
        let tls = server_config(&certificate, &clients).map_err(made)?;
        let (authority, server) = (clients.clone(), self.clone());
        let identify: Identify =
            Arc::new(move |certificate| authority.user_from_certificate(certificate, server.now()));
        let listening = self.listen_again(port, folder.as_deref(), tls, identify).await?;
        let serving_ca_pem = serving.certificate_pem();
        self.with_server(|server| server.set_root_ca(&serving_ca_pem));
        let admin_kubeconfig = kubeconfig(&listening.url(), &serving_ca_pem, "admin", &admin);
        Ok(Local { listening, admin_kubeconfig, clients, serving_ca_pem })
    }

    /// Where it listened the last time, kubeconfigs that were handed out lead to.
    async fn listen_again(
        &self,
        port: u16,
        folder: Option<&Path>,
        tls: Arc<ServerConfig>,
        identify: Identify,
    ) -> Result<Listening, LocalError> {
        let Some(folder) = folder.filter(|_| port == 0) else {
            return self.listen(port, tls, identify).await.map_err(LocalError::Port);
        };
        let listening = match self.listen(last_port(folder), tls.clone(), identify.clone()).await {
            Ok(listening) => listening,
            Err(_) => self.listen(0, tls, identify).await.map_err(LocalError::Port)?,
        };
        keep_port(folder, listening.address().port()).map_err(LocalError::State)?;
        Ok(listening)
    }
}
