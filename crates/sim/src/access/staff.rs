//! The kubeconfig operator, as the product puts it together.

use crate::{
    hostile,
    stage::{
        call::{Role, Side},
        rates::Kind,
        script::Harm,
        wire::Wire,
        world::{GARDEN, NAMESPACE, World},
    },
};
use allotment_apiserver::server::Answer;
use allotment_core::access::{Access, kubeconfig::Credentials};
use allotment_operator::{
    kubeconfig::{Operator, Parts, Policy, Settings},
    metrics::Metrics,
    runtime::clock::Clock,
    target::{self, Connect, ConnectError, Key, Targets},
};
use bytes::Bytes;
use futures::future::pending;
use http::{HeaderValue, Request, Response, header::AUTHORIZATION};
use http_body_util::{BodyExt, Full};
use kube::{Client, client::Body};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::time::sleep;
use tower::{BoxError, service_fn};

/// An operator that is about to start.
pub(crate) fn start(world: &Arc<World>, replica: usize, identity: String) -> Operator {
    let client = |side| Client::new(Wire::new(world, side, Role::Kubeconfig, replica), NAMESPACE);
    let (control_plane, garden) = (client(Side::ControlPlane), client(Side::Garden));
    let clock = world.clone();
    let (clock, metrics) = (Clock::new(move || clock.now()), Metrics::new());
    let connected = world.clone();
    let connect = Connect::new(move |key, given| {
        let world = connected.clone();
        Box::pin(async move {
            let Key::Shoot { uid, .. } = key else {
                return Err(ConnectError("nobody brings a cluster along".to_owned()));
            };
            Ok(match given.credentials {
                Credentials::Token(token) => {
                    let ask =
                        move |request| ask_with(world.clone(), replica, uid.clone(), token.clone(), request);
                    Client::new(service_fn(ask), NAMESPACE)
                }
                Credentials::Certificate { .. } => {
                    Client::new(Wire::into_shoot(&world, Role::Kubeconfig, replica, uid), NAMESPACE)
                }
            })
        })
    });
    let targets = Targets::new(target::Parts {
        garden: garden.clone(),
        garden_namespace: GARDEN.to_owned(),
        control_plane: control_plane.clone(),
        clock: clock.clone(),
        connect,
        metrics: metrics.clone(),
    });
    let operator = Operator::new(Parts {
        control_plane,
        garden,
        targets,
        settings: Settings {
            garden_namespace: GARDEN.to_owned(),
            request_namespace: None,
            lease_namespace: NAMESPACE.to_owned(),
            identity,
            workers: usize::try_from(world.options.workers).unwrap_or(1),
        },
        policy: Policy {
            access: Arc::new(Access::default()),
            // With a hostile tenant, a request that says no namespace reaches for the honest one.
            cluster_namespace: if world.options.hostile > 0 { NAMESPACE.to_owned() } else { String::new() },
            tenancy: Arc::new(hostile::tenancy(&world.options)),
        },
        clock,
        metrics,
    });
    match world.planted {
        Some(fault) => operator.plant(fault),
        None => operator,
    }
}

/// What is done with a token.
const TRIAL: &str = "try token";

/// A Shoot, as somebody with a token sees it.
async fn ask_with(
    world: Arc<World>,
    replica: usize,
    uid: String,
    token: SecretString,
    request: Request<Body>,
) -> Result<Response<Full<Bytes>>, BoxError> {
    let (harm, latency) = world.begin(replica, TRIAL, "any", Kind::Read);
    world.tried(TRIAL, "any", harm);
    sleep(Duration::from_millis(latency)).await;
    match harm {
        Some(Harm::Delay { time }) => sleep(Duration::from_millis(time)).await,
        Some(Harm::Refuse { code }) => return refusal(code),
        Some(Harm::LoseRequest | Harm::LoseAnswer) => return Err("connection reset".into()),
        Some(_) => return pending().await,
        None => (),
    }
    if !world.has_shoot(&uid) {
        return Err("connection refused: the Shoot is gone".into());
    }
    let (mut parts, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let bearer = HeaderValue::from_str(&format!("Bearer {}", token.expose_secret()))?;
    parts.headers.insert(AUTHORIZATION, bearer);
    let (server, now) = (world.grounds.server(&world, &uid), world.now());
    let request = Request::from_parts(parts, body);
    let Answer::Now(reply) = server.with_server(|server| server.handle(request, None, now)) else {
        return Err("nobody watches with a token".into());
    };
    if reply.code == 401 && world.is_believed(token.expose_secret()) && world.asks_believer() {
        // It knows who asks, and that they may do nothing.
        return refusal(403);
    }
    Ok(Response::builder().status(reply.code).body(Full::new(reply.body))?)
}

/// An answer without what was asked for.
fn refusal(code: u16) -> Result<Response<Full<Bytes>>, BoxError> {
    let status =
        json!({ "apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "", "code": code });
    Ok(Response::builder().status(code).body(Full::new(Bytes::from(status.to_string())))?)
}
