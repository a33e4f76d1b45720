//! Makes the connections of the pool: with TLS, or without where that is allowed.

use super::{
    address::{Address, Encryption},
    tls,
};
use deadpool_postgres::Connect;
use std::{
    error::Error as StdError,
    fmt, io,
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    task::JoinHandle,
};
use tokio_postgres::{
    Client, Config, Error, NoTls, Socket,
    tls::{ChannelBinding, MakeTlsConnect, NoTlsStream, TlsConnect, TlsStream},
};
use tokio_postgres_rustls::MakeRustlsConnect;

type Connected = Result<(Client, JoinHandle<()>), Error>;

/// Connects to one address, with the files as they are now.
pub(super) struct Connector(pub(super) Address);

impl Connect for Connector {
    fn connect(&self, config: &Config) -> Pin<Box<dyn Future<Output = Connected> + Send + '_>> {
        let mut config = config.clone();
        Box::pin(async move {
            match self.0.password() {
                Ok(Some(password)) => config.password(password),
                Ok(None) => &mut config,
                Err(error) => return connect(&config, Unusable(error)).await,
            };
            match &self.0.encryption {
                Encryption::Local => connect(&config, NoTls).await,
                Encryption::Off => connect(&config, NoClearPassword).await,
                Encryption::Tls(files) => match tls::config(files) {
                    Ok(tls) => connect(&config, MakeRustlsConnect::new(tls)).await,
                    Err(error) => connect(&config, Unusable(error)).await,
                },
            }
        })
    }
}

async fn connect<T>(config: &Config, tls: T) -> Connected
where
    T: MakeTlsConnect<Socket> + Send,
    T::Stream: Send + 'static,
    T::TlsConnect: Send,
    <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
{
    let (client, connection) = config.connect(tls).await?;
    // Ends when the client is dropped; the client gets the error too.
    let task = tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection to PostgreSQL ended");
        }
    });
    Ok((client, task))
}

/// Makes no connection, because a file that it needs cannot be used. The driver's errors cannot be made in any other way.
struct Unusable(io::Error);

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Unusable {
    type Stream = NoTlsStream;
    type TlsConnect = NoTls;
    type Error = io::Error;

    fn make_tls_connect(&mut self, _: &str) -> io::Result<NoTls> {
        Err(io::Error::new(self.0.kind(), self.0.to_string()))
    }
}

/// Takes the place of TLS where it is off: reads along until the server has said how it wants the password, and ends the
/// connection if it wants it in clear text.
struct NoClearPassword;

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for NoClearPassword {
    type Stream = Watched<S>;
    type TlsConnect = Self;
    type Error = io::Error;

    fn make_tls_connect(&mut self, _: &str) -> io::Result<Self> {
        Ok(Self)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for NoClearPassword {
    type Stream = Watched<S>;
    type Error = io::Error;
    type Future = std::future::Ready<io::Result<Watched<S>>>;

    fn connect(self, stream: S) -> Self::Future {
        std::future::ready(Ok(Watched { stream, seen: Some(Vec::new()) }))
    }
}

/// The server asked for the password in clear text, on a connection that others can read.
#[derive(Debug)]
pub(super) struct ClearPassword;

impl fmt::Display for ClearPassword {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(
            "the server asks for the password in clear text on a connection without TLS; it gets none",
        )
    }
}

impl StdError for ClearPassword {}

/// A connection that is not encrypted.
pub(super) struct Watched<S> {
    stream: S,
    /// What the server has said so far, until it is known how it wants the password.
    seen: Option<Vec<u8>>,
}

impl<S> Watched<S> {
    fn watch(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(seen) = &mut self.seen else { return Ok(()) };
        seen.extend_from_slice(bytes);
        match authentication(seen) {
            Some(CLEAR_TEXT) => Err(io::Error::new(io::ErrorKind::PermissionDenied, ClearPassword)),
            Some(_) => {
                self.seen = None;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

/// The number of the method, in the first message about authentication.
const CLEAR_TEXT: u32 = 3;

/// Finds that message: each has a letter, a length that counts itself, and a body.
fn authentication(mut bytes: &[u8]) -> Option<u32> {
    loop {
        let (kind, rest) = bytes.split_first()?;
        let length = u32::from_be_bytes(*rest.first_chunk()?);
        if *kind == b'R' {
            return rest.get(4..8)?.first_chunk().map(|method| u32::from_be_bytes(*method));
        }
        bytes = rest.get(usize::try_from(length.max(4)).ok()?..)?;
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Watched<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        Poll::Ready(self.watch(buffer.filled().get(before..).unwrap_or_default()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::{CLEAR_TEXT, ClearPassword, Watched, authentication};

    /// The server may say something else first, and everything may come in pieces.
    #[test]
    fn a_request_for_the_clear_password_is_seen() {
        let clear = [&b"N\0\0\0\x08note"[..], b"R\0\0\0\x08\0\0\0\x03"].concat();
        assert_eq!(authentication(&clear), Some(CLEAR_TEXT));
        for length in 0..clear.len() {
            assert_eq!(authentication(&clear[..length]), None, "{length}");
        }
        let mut watched = Watched { stream: (), seen: Some(Vec::new()) };
        let (last, rest) = clear.split_last().unwrap();
        for byte in rest {
            watched.watch(&[*byte]).unwrap();
        }
        let error = watched.watch(&[*last]).unwrap_err();
        assert!(error.get_ref().is_some_and(|inner| inner.is::<ClearPassword>()), "{error}");
    }

    #[test]
    fn other_ways_are_let_through_and_watched_no_longer() {
        let mut watched = Watched { stream: (), seen: Some(Vec::new()) };
        watched.watch(b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0").unwrap();
        assert!(watched.seen.is_none());
        watched.watch(b"R\0\0\0\x08\0\0\0\x03").unwrap();
    }
}
