//! TLS for PostgreSQL: rustls, and the server's certificate is always checked.

use super::LedgerError;
use rustls::{
    ClientConfig, RootCertStore,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, InvalidDnsNameError, ServerName, pem::PemObject},
};
use rustls_platform_verifier::Verifier;
use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{self, ChannelBinding, MakeTlsConnect, TlsConnect};
use tokio_rustls::{TlsConnector, client};

/// Makes TLS connections.
#[derive(Clone)]
pub(super) struct Tls {
    config: Arc<ClientConfig>,
}

impl Tls {
    /// Trusts the certificate authorities of a file, or those of the system.
    pub(super) fn trusting(file: Option<&str>) -> Result<Self, LedgerError> {
        let address = |what: String| LedgerError::Address(what);
        let provider: Arc<CryptoProvider> = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| address(format!("TLS cannot be used: {error}")))?;
        let config = match file {
            Some(file) => {
                let cannot = |error| address(format!("sslrootcert: cannot read {file}: {error}"));
                let mut roots = RootCertStore::empty();
                for certificate in CertificateDer::pem_file_iter(file).map_err(cannot)? {
                    roots.add(certificate.map_err(cannot)?).map_err(|error| {
                        address(format!("sslrootcert: {file} has a certificate that cannot be used: {error}"))
                    })?;
                }
                if roots.is_empty() {
                    return Err(address(format!("sslrootcert: {file} has no certificate in it")));
                }
                builder.with_root_certificates(roots)
            }
            None => {
                let verifier = Verifier::new(provider).map_err(|error| {
                    address(format!("the certificates of the system cannot be used: {error}"))
                })?;
                builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
            }
        };
        Ok(Self { config: Arc::new(config.with_no_client_auth()) })
    }
}

impl<S> MakeTlsConnect<S> for Tls
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Encrypted<S>;
    type TlsConnect = Connect;
    type Error = io::Error;

    /// Also asked for a socket, which has no name and never connects this way: a bad name is told when it matters.
    fn make_tls_connect(&mut self, domain: &str) -> io::Result<Connect> {
        let server = ServerName::try_from(domain.to_owned());
        Ok(Connect { connector: self.config.clone().into(), server })
    }
}

/// A connection to be made to one server.
pub(super) struct Connect {
    connector: TlsConnector,
    server: Result<ServerName<'static>, InvalidDnsNameError>,
}

impl<S> TlsConnect<S> for Connect
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Encrypted<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let server = self.server.map_err(io::Error::other)?;
            self.connector.connect(server, stream).await.map(Encrypted)
        })
    }
}

/// An encrypted connection.
pub(super) struct Encrypted<S>(client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> tls::TlsStream for Encrypted<S> {
    /// None: it would need the hash that the certificate is signed with, for a check that the certificate itself gets.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Encrypted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Encrypted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
