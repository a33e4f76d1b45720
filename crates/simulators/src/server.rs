//! HTTP on a free port of loopback, on a thread of its own.

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use std::{convert::Infallible, io, net::SocketAddr, sync::Arc, thread::JoinHandle, time::Duration};
use tokio::{net::TcpListener, sync::oneshot};

/// An answer, and how long the cloud takes for it.
pub struct Reply {
    /// The answer.
    pub response: Response<Bytes>,
    /// The pause before it.
    pub after: Duration,
}

impl From<Response<Bytes>> for Reply {
    fn from(response: Response<Bytes>) -> Self {
        Self { response, after: Duration::ZERO }
    }
}

/// A cloud: requests in, answers out. Time passes between requests only, so that a test decides about it.
pub trait Simulator: Send + Sync + 'static {
    /// Answers one request. The URI is that of the request line: path and query.
    fn handle(&self, request: Request<Bytes>) -> Reply;
}

/// A running server. It ends when it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts a server.
    pub fn start(simulator: Arc<dyn Simulator>) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        // Not by tokio: whoever starts it may be in a runtime of their own.
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        // Scripts block the thread of a test while they wait for an answer.
        let thread = std::thread::spawn(move || {
            runtime.block_on(async {
                let Ok(listener) = TcpListener::from_std(listener) else { return };
                tokio::select! {
                    () = accept(listener, simulator) => (),
                    _ = stopped => (),
                }
            });
        });
        Ok(Self { address, stop: Some(stop), thread: Some(thread) })
    }

    /// `http://127.0.0.1:PORT`.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// `127.0.0.1:PORT`.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn accept(listener: TcpListener, simulator: Arc<dyn Simulator>) {
    while let Ok((stream, _)) = listener.accept().await {
        let simulator = Arc::clone(&simulator);
        let service = service_fn(move |request| answer(Arc::clone(&simulator), request));
        // A client that goes away ends its connection, and nothing else.
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

async fn answer(
    simulator: Arc<dyn Simulator>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let Ok(body) = body.collect().await else {
        let mut response = Response::new(Full::default());
        *response.status_mut() = StatusCode::BAD_REQUEST;
        return Ok(response);
    };
    let Reply { response, after } = simulator.handle(Request::from_parts(parts, body.to_bytes()));
    tokio::time::sleep(after).await;
    Ok(response.map(Full::new))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "these are tests")]
mod tests {
    use super::*;
    use std::{
        io::{Read, Write},
        net::TcpStream,
    };

    struct Echo;

    impl Simulator for Echo {
        fn handle(&self, request: Request<Bytes>) -> Reply {
            Response::new(Bytes::from(request.uri().to_string())).into()
        }
    }

    #[test]
    fn it_answers_until_it_is_dropped() {
        let server = Server::start(Arc::new(Echo)).unwrap();
        let address = server.address();
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET /a?b=c HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("/a?b=c"), "{answer}");
        drop(server);
        assert!(TcpStream::connect(address).is_err());
    }
}
