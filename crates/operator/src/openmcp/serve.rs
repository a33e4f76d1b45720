//! Health and metrics of the provider over HTTP.

use super::process::Controllers;
use crate::{metrics::Metrics, server::OPEN_METRICS};
use axum::{
    Router,
    http::{StatusCode, header::CONTENT_TYPE},
    response::IntoResponse,
    routing::get,
};
use std::io;
use tokio::net::TcpListener;

/// Listens where Go's flags say: `:8080` is every address of this machine, `0` or nothing is nowhere.
pub(super) async fn listen(address: &str) -> io::Result<Option<TcpListener>> {
    let address = address.trim();
    match address.strip_prefix(':') {
        _ if address.is_empty() || address == "0" => Ok(None),
        Some(port) => match TcpListener::bind(format!("[::]:{port}")).await {
            // Not every machine has IPv6.
            Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
                TcpListener::bind(format!("0.0.0.0:{port}")).await.map(Some)
            }
            bound => bound.map(Some),
        },
        None => TcpListener::bind(address).await.map(Some),
    }
}

/// Health. Another garden's trouble is not this process's: it is ready once it knows what there is on the platform.
pub(super) fn health(controllers: Controllers) -> Router {
    let ready = move || {
        let controllers = controllers.clone();
        async move {
            match controllers.is_complete() {
                true => (StatusCode::OK, "ok\n"),
                false => (StatusCode::SERVICE_UNAVAILABLE, "the caches are not complete yet\n"),
            }
        }
    };
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/livez", get(async || "ok\n"))
        .route("/readyz", get(ready))
}

/// Metrics.
pub(super) fn metrics(metrics: Metrics) -> Router {
    let text = move || {
        let text = metrics.text();
        async move { ([(CONTENT_TYPE, OPEN_METRICS)], text).into_response() }
    };
    Router::new().route("/metrics", get(text))
}

/// Serves for ever; nothing where nobody listens.
pub(super) async fn serve(listener: Option<TcpListener>, router: Router) {
    let Some(listener) = listener else { return std::future::pending().await };
    // Whoever watches over us has to notice, and starts us anew.
    if let Err(error) = axum::serve(listener, router).await {
        tracing::error!(%error, "the server for health and metrics has ended");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn addresses_are_read_as_go_does() {
        assert!(listen("0").await.unwrap().is_none());
        assert!(listen("").await.unwrap().is_none());
        assert!(listen(":0").await.unwrap().is_some());
        assert!(listen("127.0.0.1:0").await.unwrap().is_some());
        assert!(listen("nowhere").await.is_err());
    }
}
