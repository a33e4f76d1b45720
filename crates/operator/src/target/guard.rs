//! Connections to servers that tenants chose: over TLS, and to addresses that are allowed after their names were resolved.

use allotment_core::access::address::{Byoc, is_same_host, judge};
use futures::future::BoxFuture;
use http::Uri;
use hyper_util::rt::TokioIo;
use std::{
    collections::BTreeSet,
    fmt, io,
    net::{IpAddr, SocketAddr},
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard},
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    net::{TcpStream, lookup_host},
    time::timeout,
};
use tower::Service;

/// A name may resolve to any number of addresses; more than these are not tried.
const MOST_ADDRESSES: usize = 8;

const HTTPS_PORT: u16 = 443;

/// Which addresses may be dialled. Cheap to clone; clones share their state.
#[derive(Clone, Default)]
pub struct Guard(Arc<Inner>);

#[derive(Default)]
struct Inner {
    byoc: RwLock<Byoc>,
    own: RwLock<OwnServers>,
}

/// The control plane and the garden.
#[derive(Default)]
struct OwnServers {
    hosts: BTreeSet<String>,
    /// As far as their names could be resolved so far.
    addresses: BTreeSet<IpAddr>,
}

impl Guard {
    /// With these ranges.
    pub fn new(byoc: Byoc) -> Self {
        let guard = Self::default();
        guard.set(byoc);
        guard
    }

    /// Other ranges, for connections that are made from now on.
    pub fn set(&self, byoc: Byoc) {
        *self.0.byoc.write().unwrap_or_else(PoisonError::into_inner) = byoc;
    }

    /// This host is one of our own API servers. It stays so: an API server that was replaced is still no tenant's.
    pub fn add_own_server(&self, host: &str) {
        self.0.own.write().unwrap_or_else(PoisonError::into_inner).hosts.insert(host.to_owned());
    }

    fn own(&self) -> RwLockReadGuard<'_, OwnServers> {
        self.0.own.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The addresses of our own API servers. A name that cannot be resolved now keeps the addresses that it had before.
    async fn own_addresses(&self) -> Vec<IpAddr> {
        let hosts = self.own().hosts.clone();
        let mut found = Vec::new();
        for host in hosts {
            match lookup_host((bare(&host), HTTPS_PORT)).await {
                Ok(addresses) => found.extend(addresses.map(|address| address.ip())),
                Err(error) => tracing::warn!(host, %error, "cannot resolve one of our own API servers"),
            }
        }
        let mut own = self.0.own.write().unwrap_or_else(PoisonError::into_inner);
        own.addresses.extend(found);
        own.addresses.iter().copied().collect()
    }

    /// The addresses of a host that may be dialled, or why there is none.
    pub(super) async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let resolved: Vec<SocketAddr> = lookup_host((bare(host), port)).await?.take(MOST_ADDRESSES).collect();
        let mut own = self.own_addresses().await;
        if self.own().hosts.iter().any(|own| is_same_host(own, host)) {
            own.extend(resolved.iter().map(SocketAddr::ip));
        }
        let byoc = self.0.byoc.read().unwrap_or_else(PoisonError::into_inner);
        let mut allowed = Vec::new();
        let mut refused = None;
        for address in resolved {
            match judge(address.ip(), &byoc, &own) {
                Ok(()) => allowed.push(address),
                Err(forbidden) => refused = Some(format!("{} is not dialled: {forbidden}", address.ip())),
            }
        }
        match (allowed.is_empty(), refused) {
            (true, Some(refused)) => Err(io::Error::new(io::ErrorKind::PermissionDenied, refused)),
            (true, None) => Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address")),
            (false, _) => Ok(allowed),
        }
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let byoc = self.0.byoc.read().unwrap_or_else(PoisonError::into_inner);
        formatter.debug_struct("Guard").field("byoc", &*byoc).field("own", &self.own().hosts).finish()
    }
}

/// Makes TCP connections to addresses that the guard allows.
#[derive(Clone)]
pub(super) struct GuardedConnector {
    pub(super) guard: Guard,
    /// For all addresses of a name together.
    pub(super) timeout: Duration,
}

impl Service<Uri> for GuardedConnector {
    type Response = TokioIo<TcpStream>;
    type Error = io::Error;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let Self { guard, timeout } = self.clone();
        Box::pin(async move { dial(&guard, &uri, timeout).await.map(TokioIo::new) })
    }
}

async fn dial(guard: &Guard, uri: &Uri, within: Duration) -> io::Result<TcpStream> {
    // hyper-rustls would let plain HTTP pass.
    if uri.scheme_str() != Some("https") {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "only https is dialled"));
    }
    let host = uri.host().unwrap_or_default();
    let addresses = guard.resolve(host, uri.port_u16().unwrap_or(HTTPS_PORT)).await?;
    // So that an address that drops packets leaves time for the next.
    let each = within / u32::try_from(addresses.len()).unwrap_or(u32::MAX).max(1);
    let mut failed = io::Error::from(io::ErrorKind::TimedOut);
    for address in addresses {
        match timeout(each, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Ok(Err(error)) => failed = error,
            Err(_) => (),
        }
    }
    Err(failed)
}

/// Without the brackets of an IPv6 address.
fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn byoc(allow: &[&str]) -> Byoc {
        Byoc { allow: allow.iter().map(|range| range.parse().unwrap()).collect(), deny: Vec::new() }
    }

    async fn dialled(guard: &Guard, uri: &str) -> io::Result<TcpStream> {
        dial(guard, &uri.parse().unwrap(), Duration::from_secs(5)).await
    }

    /// A name that resolves to this machine, and every other spelling of its address, is judged by the address.
    #[tokio::test]
    async fn names_are_judged_by_what_they_resolve_to() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (strict, open) = (Guard::default(), Guard::new(byoc(&["127.0.0.0/8"])));
        for host in ["localhost", "127.0.0.1", "127.1", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"] {
            let uri = format!("https://{host}:{port}");
            let error = dialled(&strict, &uri).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{host}: {error}");
            dialled(&open, &uri).await.unwrap();
        }
        for host in ["0.0.0.0", "[::]", "0"] {
            let error = dialled(&open, &format!("https://{host}:{port}")).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{host}: {error}");
        }
        let error = dialled(&open, &format!("http://127.0.0.1:{port}")).await.unwrap_err();
        assert_eq!(error.to_string(), "only https is dialled");
    }

    #[tokio::test]
    async fn our_own_servers_are_not_dialled() {
        let guard = Guard::default();
        guard.add_own_server("198.51.100.7");
        guard.add_own_server("localhost");
        for host in ["198.51.100.7", "[64:ff9b::198.51.100.7]", "LOCALHOST"] {
            let error = guard.resolve(host, 443).await.unwrap_err();
            assert!(error.to_string().ends_with("one of our own API servers"), "{host}: {error}");
        }
        assert_eq!(guard.resolve("198.51.100.8", 443).await.unwrap().len(), 1);
        guard.set(byoc(&["198.51.100.0/24"]));
        assert_eq!(guard.resolve("198.51.100.7", 443).await.unwrap().len(), 1);
    }
}
