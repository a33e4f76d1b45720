//! Who may read metrics: bearers of a token that the control plane knows, and who may `get` the URL `/metrics` there.

use crate::runtime::call::{CallError, call};
use k8s_openapi::api::{
    authentication::v1::{TokenReview, TokenReviewSpec, UserInfo},
    authorization::v1::{NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec},
};
use kube::{Api, Client, api::PostParams};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{sync::Semaphore, time::Instant};

/// The path that is asked about.
const PATH: &str = "/metrics";

/// A scraper comes every 15 to 60 seconds; one whose right was taken away reads for this long at most.
const ALLOWED_FOR: Duration = Duration::from_secs(60);

/// Short, so that a right that was just given works at once.
const REFUSED_FOR: Duration = Duration::from_secs(10);

/// So many answers are kept. There are a handful of scrapers; more are tries.
const MOST_KEPT: usize = 64;

/// So many questions are asked at once: whoever tries tokens here must not press on the control plane.
const MOST_ASKED: usize = 2;

/// The longest token that is asked about; those of Kubernetes have about a kilobyte.
const LONGEST_TOKEN_BYTES: usize = 16 << 10;

/// What is answered to a request for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It may be read.
    Allowed,
    /// There is no token.
    NoToken,
    /// Nobody knows the token.
    Unknown,
    /// The bearer may not read it.
    Forbidden,
    /// The control plane did not answer, or too many ask.
    NotNow,
}

/// Answers of the control plane, kept for a moment.
pub(super) struct Reviews {
    control_plane: Client,
    /// By the hash of the token: tokens are not kept.
    kept: Mutex<BTreeMap<[u8; 32], (Verdict, Instant)>>,
    asking: Semaphore,
}

impl Reviews {
    pub(super) fn new(control_plane: Client) -> Self {
        Self { control_plane, kept: Mutex::default(), asking: Semaphore::new(MOST_ASKED) }
    }

    /// Judges the value of the header `Authorization`.
    pub(super) async fn judge(&self, authorization: Option<&str>) -> Verdict {
        let Some(token) = authorization.and_then(bearer) else { return Verdict::NoToken };
        if token.len() > LONGEST_TOKEN_BYTES {
            return Verdict::Unknown;
        }
        let hash: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        if let Some(verdict) = self.known(&hash) {
            return verdict;
        }
        let Ok(_asking) = self.asking.try_acquire() else { return Verdict::NotNow };
        match self.ask(token).await {
            Ok(verdict) => {
                self.keep(hash, verdict);
                verdict
            }
            Err(error) => {
                tracing::warn!(%error, "a token for /metrics cannot be checked");
                Verdict::NotNow
            }
        }
    }

    async fn ask(&self, token: &str) -> Result<Verdict, CallError> {
        let spec = TokenReviewSpec { token: token.to_owned(), ..TokenReviewSpec::default() };
        let review = TokenReview { spec, ..TokenReview::default() };
        let api = Api::<TokenReview>::all(self.control_plane.clone());
        let params = PostParams::default();
        let answer = call(|| "ask who bears a token".to_owned(), api.create(&params, &review)).await?;
        let status = answer.status.unwrap_or_default();
        let user = status.user.filter(|_| status.authenticated == Some(true));
        let Some(UserInfo { username, groups, uid, extra }) = user else { return Ok(Verdict::Unknown) };
        let attributes = NonResourceAttributes { path: Some(PATH.to_owned()), verb: Some("get".to_owned()) };
        let spec = SubjectAccessReviewSpec {
            user: username,
            groups,
            uid,
            extra,
            non_resource_attributes: Some(attributes),
            ..SubjectAccessReviewSpec::default()
        };
        let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        let api = Api::<SubjectAccessReview>::all(self.control_plane.clone());
        let answer = call(|| "ask who may read metrics".to_owned(), api.create(&params, &review)).await?;
        let is_allowed = answer.status.is_some_and(|status| status.allowed);
        Ok(if is_allowed { Verdict::Allowed } else { Verdict::Forbidden })
    }

    fn known(&self, hash: &[u8; 32]) -> Option<Verdict> {
        let now = Instant::now();
        let (verdict, until) = self.kept().get(hash).copied()?;
        (now < until).then_some(verdict)
    }

    fn keep(&self, hash: [u8; 32], verdict: Verdict) {
        let now = Instant::now();
        let mut kept = self.kept();
        kept.retain(|_, (_, until)| now < *until);
        if kept.len() >= MOST_KEPT {
            // Those who were refused first: they cannot push out who may read.
            let last = kept.iter().min_by_key(|(_, (verdict, until))| (*verdict == Verdict::Allowed, *until));
            if let Some(hash) = last.map(|(hash, _)| *hash) {
                kept.remove(&hash);
            }
        }
        let time = if verdict == Verdict::Allowed { ALLOWED_FOR } else { REFUSED_FOR };
        kept.insert(hash, (verdict, now + time));
    }

    fn kept(&self) -> MutexGuard<'_, BTreeMap<[u8; 32], (Verdict, Instant)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The token of `Bearer <token>`; the word is written in any case.
fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{Request, Response};
    use kube::client::Body;
    use serde_json::{Value, json};
    use std::{
        convert::Infallible,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
    };

    /// A control plane that knows `reader`, who may read, and `other`, who may not; it counts what it is asked.
    fn control_plane(asked: &Arc<AtomicUsize>) -> Client {
        let asked = asked.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            asked.fetch_add(1, Ordering::Relaxed);
            async move {
                let body = request.into_body().collect_bytes().await.unwrap();
                let mut review: Value = serde_json::from_slice(&body).unwrap();
                let code = match (review["kind"].as_str(), review["spec"]["token"].as_str()) {
                    (_, Some("broken")) => 500,
                    (Some("TokenReview"), Some(token)) if token == "reader" || token == "other" => {
                        review["status"] = json!({ "authenticated": true, "user": { "username": token } });
                        201
                    }
                    (Some("TokenReview"), _) => {
                        review["status"] = json!({ "authenticated": false });
                        201
                    }
                    _ => {
                        let spec = &review["spec"];
                        assert_eq!(
                            spec["nonResourceAttributes"],
                            json!({ "path": "/metrics", "verb": "get" })
                        );
                        review["status"] = json!({ "allowed": spec["user"] == "reader" });
                        201
                    }
                };
                let body = Body::from(review.to_string().into_bytes());
                Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap())
            }
        });
        Client::new(service, "default")
    }

    #[tokio::test(start_paused = true)]
    async fn only_those_who_may_read_metrics_do() {
        let asked = Arc::new(AtomicUsize::new(0));
        let reviews = Reviews::new(control_plane(&asked));
        let long = format!("Bearer {}", "x".repeat(LONGEST_TOKEN_BYTES + 1));
        for (authorization, expected, costs) in [
            (None, Verdict::NoToken, 0),
            (Some(""), Verdict::NoToken, 0),
            (Some("Bearer "), Verdict::NoToken, 0),
            (Some("Basic reader"), Verdict::NoToken, 0),
            (Some("reader"), Verdict::NoToken, 0),
            (Some(long.as_str()), Verdict::Unknown, 0),
            (Some("Bearer nobody"), Verdict::Unknown, 1),
            (Some("Bearer other"), Verdict::Forbidden, 2),
            (Some("Bearer reader"), Verdict::Allowed, 2),
            // Kept.
            (Some("bearer reader"), Verdict::Allowed, 0),
            (Some("Bearer nobody"), Verdict::Unknown, 0),
            // What could not be asked is not kept.
            (Some("Bearer broken"), Verdict::NotNow, 1),
            (Some("Bearer broken"), Verdict::NotNow, 1),
        ] {
            let before = asked.load(Ordering::Relaxed);
            assert_eq!(reviews.judge(authorization).await, expected, "{authorization:?}");
            assert_eq!(asked.load(Ordering::Relaxed) - before, costs, "{authorization:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn answers_are_kept_for_a_moment_and_not_without_bound() {
        let asked = Arc::new(AtomicUsize::new(0));
        let reviews = Reviews::new(control_plane(&asked));
        assert_eq!(reviews.judge(Some("Bearer reader")).await, Verdict::Allowed);
        for number in 0..2 * MOST_KEPT {
            assert_eq!(reviews.judge(Some(&format!("Bearer try-{number}"))).await, Verdict::Unknown);
        }
        assert_eq!(reviews.kept().len(), MOST_KEPT);
        let before = asked.load(Ordering::Relaxed);
        assert_eq!(reviews.judge(Some("Bearer reader")).await, Verdict::Allowed);
        assert_eq!(asked.load(Ordering::Relaxed), before, "who tries cannot push out who may read");
        tokio::time::advance(ALLOWED_FOR).await;
        assert_eq!(reviews.judge(Some("Bearer reader")).await, Verdict::Allowed);
        assert_eq!(asked.load(Ordering::Relaxed), before + 2);
    }
}
