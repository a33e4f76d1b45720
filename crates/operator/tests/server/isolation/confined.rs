//! A client that sees a few namespaces only.
//!
//! Operators watch all namespaces here, as they do in production, and API servers are shared with other tests. What a list or a
//! watch of all namespaces says of the namespaces of others is left out of the answer.

use super::super::stage::Fault;
use allotment_testing::Landscape;
use axum::body::{Body as Answer, Bytes, HttpBody};
use futures::{StreamExt, future::BoxFuture, stream};
use http::{Method, Request, Response, header::CONTENT_LENGTH};
use http_body_util::BodyExt as _;
use kube::{
    Client, Config,
    client::{Body, ClientBuilder},
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    sync::Arc,
    task::{Context, Poll},
};
use tower::{BoxError, Layer, Service};

/// The administrator of the control plane, confined to these namespaces.
pub async fn administrator(landscape: &Landscape, namespaces: BTreeSet<String>) -> Result<Client, Fault> {
    let kubeconfig = Kubeconfig::read_from(&landscape.control_plane_kubeconfig)?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    config.default_retry = false;
    Ok(ClientBuilder::try_from(config)?.with_layer(&Confine(Arc::new(namespaces))).build())
}

#[derive(Clone)]
struct Confine(Arc<BTreeSet<String>>);

impl<S> Layer<S> for Confine {
    type Service = Confined<S>;

    fn layer(&self, inner: S) -> Confined<S> {
        Confined { inner, confine: self.clone() }
    }
}

struct Confined<S> {
    inner: S,
    confine: Confine,
}

impl<S, B> Service<Request<Body>> for Confined<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Answer>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let is_of_all = request.method() == Method::GET && !request.uri().path().contains("/namespaces/");
        let is_watch = request.uri().query().is_some_and(|query| query.contains("watch="));
        let (confine, answer) = (self.confine.clone(), self.inner.call(request));
        Box::pin(async move {
            let (mut parts, body) = answer.await.map_err(Into::into)?.into_parts();
            let body = Answer::new(body);
            let body = match (is_of_all && parts.status.is_success(), is_watch) {
                (false, _) => body,
                (true, true) => confine.watch(body),
                (true, false) => confine.list(body).await?,
            };
            parts.headers.remove(CONTENT_LENGTH);
            Ok(Response::from_parts(parts, body))
        })
    }
}

impl Confine {
    /// What is in no namespace is everybody's.
    fn shows(&self, object: &Value) -> bool {
        object["metadata"]["namespace"].as_str().is_none_or(|namespace| self.0.contains(namespace))
    }

    async fn list(&self, body: Answer) -> Result<Answer, BoxError> {
        let bytes = body.collect().await?.to_bytes();
        let Ok(mut list) = serde_json::from_slice::<Value>(&bytes) else { return Ok(bytes.into()) };
        if let Some(items) = list["items"].as_array_mut() {
            items.retain(|item| self.shows(item));
        }
        Ok(serde_json::to_vec(&list)?.into())
    }

    /// A watch is a line per event.
    fn watch(self, body: Answer) -> Answer {
        let start = (body.into_data_stream(), Vec::new(), self);
        Answer::from_stream(stream::try_unfold(start, |(mut chunks, mut rest, confine)| async move {
            while let Some(chunk) = chunks.next().await.transpose()? {
                rest.extend_from_slice(&chunk);
                let lines = confine.events(&mut rest);
                if !lines.is_empty() {
                    return Ok(Some((Bytes::from(lines), (chunks, rest, confine))));
                }
            }
            Ok::<_, axum::Error>(None)
        }))
    }

    /// Takes the whole lines, and leaves out what is not to be seen.
    fn events(&self, rest: &mut Vec<u8>) -> Vec<u8> {
        let mut lines = Vec::new();
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            let event: Value = serde_json::from_slice(&line).unwrap_or_default();
            if self.shows(&event["object"]) {
                lines.extend(line);
            }
        }
        lines
    }
}
