//! How the client of AWS gets keys for tokens of a workload identity, renews them, and keeps them to itself.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

mod answers;

use allotment_clouds::{
    Answer, Cloud, Refusal,
    aws::{Aws, AwsConfig},
    credentials::{AwsCredentials, WorkloadToken},
    http::{Http, RateLimiter, Rates},
};
use allotment_core::cleanup::ShootHistory;
use answers::{answer, error, server};
use futures::FutureExt;
use jiff::Timestamp;
use secrecy::SecretString;
use serde_json::json;
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU32, Ordering},
};

const ROLE: &str = "arn:aws:iam::200000000001:role/gardener";

/// Another token each time.
#[derive(Default)]
struct Tokens(AtomicU32);

impl WorkloadToken for Tokens {
    fn token(&self) -> Answer<'_, SecretString> {
        let number = self.0.fetch_add(1, Ordering::Relaxed);
        async move { Ok(token(number)) }.boxed()
    }
}

fn token(number: u32) -> SecretString {
    SecretString::from(format!("eyJhbGciOiJFUzI1NiJ9.payload{number}.signature{number}"))
}

type Clock = Arc<Mutex<Timestamp>>;

fn client(url: String) -> (Aws, Arc<Tokens>, Clock) {
    let tokens = Arc::new(Tokens::default());
    let config = json!({
        "apiVersion": "aws.provider.extensions.gardener.cloud/v1alpha1", "kind": "WorkloadIdentityConfig", "roleARN": ROLE,
    });
    let clock = Arc::new(Mutex::new("2026-11-17T12:00:00Z".parse::<Timestamp>().unwrap()));
    let reads = Arc::clone(&clock);
    let aws = Aws::new(AwsConfig {
        credentials: AwsCredentials::of_workload(&config, tokens.clone()).unwrap(),
        history: ShootHistory::Incomplete,
        http: Http::new(None).unwrap(),
        limiter: Arc::new(RateLimiter::new(Rates::default())),
        name: "test".to_owned(),
        endpoint: Some(url),
        now: Arc::new(move || *reads.lock().unwrap()),
    });
    (aws, tokens, clock)
}

/// Keys that end at one o'clock.
fn keys(account: &str, number: u32) -> String {
    let body = format!(
        "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>\
         <AccessKeyId>ASIAEXAMPLE{number}</AccessKeyId><SecretAccessKey>hush{number}</SecretAccessKey>\
         <SessionToken>session{number}</SessionToken><Expiration>2026-11-17T13:00:00Z</Expiration></Credentials>\
         <AssumedRoleUser><Arn>arn:aws:sts::{account}:assumed-role/gardener/allotment-cleanup</Arn></AssumedRoleUser>\
         </AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"
    );
    answer("200 OK", "", &body)
}

fn identity() -> String {
    let arn = "arn:aws:sts::200000000001:assumed-role/gardener/allotment-cleanup";
    let result = format!("<Account>200000000001</Account><Arn>{arn}</Arn>");
    answer("200 OK", "", &format!("<R><GetCallerIdentityResult>{result}</GetCallerIdentityResult></R>"))
}

fn expired() -> String {
    answer("403 Forbidden", "", &error("ExpiredToken", "The security token session0 is expired"))
}

fn says_nothing_secret(printed: &str) {
    for secret in ["eyJ", "payload", "signature0", "signature1", "hush", "session0", "session1", "ASIA"] {
        assert!(!printed.contains(secret), "{secret}: {printed}");
    }
}

#[tokio::test]
async fn a_token_is_exchanged_for_keys_which_sign() {
    let (url, requests) = server(vec![keys("200000000001", 0), identity(), identity()]).await;
    let (aws, tokens, _) = client(url);
    for _ in 0..2 {
        let caller = aws.whoami().await.unwrap();
        assert_eq!(caller.account.as_str(), "200000000001");
        assert_eq!(caller.principal, ROLE, "the role of the credentials is never deleted");
    }
    assert_eq!(tokens.0.load(Ordering::Relaxed), 1, "one session for all calls");
    let requests = requests.lock().unwrap();
    assert!(!requests[0].contains("authorization"), "{}", requests[0]);
    assert!(requests[0].contains("&WebIdentityToken=eyJhbGciOiJFUzI1NiJ9.payload0.signature0"));
    assert!(requests[1].contains("x-amz-security-token: session0") && requests[1].contains("ASIAEXAMPLE0"));
    assert!(!requests[1].contains("eyJ") && !requests[1].contains("hush"), "{}", requests[1]);
    says_nothing_secret(&format!("{aws:?}"));
}

#[tokio::test]
async fn keys_are_renewed_with_a_new_token_before_they_end() {
    let answers = vec![keys("200000000001", 0), identity(), keys("200000000001", 1), identity()];
    let (url, requests) = server(answers).await;
    let (aws, tokens, clock) = client(url);
    aws.whoami().await.unwrap();
    *clock.lock().unwrap() = "2026-11-17T12:56:00Z".parse().unwrap();
    aws.whoami().await.unwrap();
    assert_eq!(tokens.0.load(Ordering::Relaxed), 2);
    let requests = requests.lock().unwrap();
    assert!(requests[2].contains("payload1"), "{}", requests[2]);
    assert!(requests[3].contains("x-amz-security-token: session1"), "{}", requests[3]);
}

#[tokio::test]
async fn keys_that_have_ended_are_renewed_once_for_each_call() {
    let answers = vec![keys("200000000001", 0), expired(), keys("200000000001", 1), identity()];
    let (url, _) = server(answers).await;
    let (aws, tokens, _) = client(url);
    aws.whoami().await.unwrap();
    assert_eq!(tokens.0.load(Ordering::Relaxed), 2);
    let answers = vec![keys("200000000001", 0), expired(), keys("200000000001", 1), expired()];
    let (url, requests) = server(answers).await;
    let (aws, ..) = client(url);
    let refusal = aws.whoami().await.unwrap_err();
    assert_eq!(refusal.code(), "ExpiredToken");
    assert_eq!(requests.lock().unwrap().len(), 4);
    says_nothing_secret(&format!("{refusal} {refusal:?}"));
}

#[tokio::test]
async fn renewed_keys_of_another_account_are_refused_and_never_used() {
    let answers = vec![keys("200000000001", 0), expired(), keys("200000000002", 1)];
    let (url, requests) = server(answers).await;
    let (aws, ..) = client(url);
    let refusal = aws.whoami().await.unwrap_err();
    assert_eq!(refusal.code(), "AccountChanged");
    assert_eq!(requests.lock().unwrap().len(), 3);
    says_nothing_secret(&format!("{refusal} {refusal:?}"));
}

#[tokio::test]
async fn a_refused_token_says_why_and_repeats_nothing_of_it() {
    let cases = [
        (
            "403 Forbidden",
            "AccessDenied",
            "Not authorized to perform sts:AssumeRoleWithWebIdentity",
            "trust policy",
        ),
        ("400 Bad Request", "InvalidIdentityToken", "Incorrect token audience", "Incorrect token audience"),
        (
            "400 Bad Request",
            "InvalidIdentityToken",
            "Cannot read eyJhbGciOiJFUzI1NiJ9.payload0.signature0",
            "OIDC",
        ),
        ("400 Bad Request", "ExpiredTokenException", "Token expired: current date 5", "expired"),
    ];
    for (status, code, message, expected) in cases {
        let (url, requests) = server(vec![answer(status, "", &error(code, message))]).await;
        let (aws, ..) = client(url);
        let refusal = aws.whoami().await.unwrap_err();
        let printed = format!("{refusal} {refusal:?}");
        assert!(printed.contains(expected) && printed.contains(ROLE), "{printed}");
        assert_eq!(refusal.code(), code);
        assert!(refusal.missing().is_none(), "no kind may be assumed absent because of it");
        assert!(!refusal.is_temporary());
        assert_eq!(requests.lock().unwrap().len(), 1);
        says_nothing_secret(&printed);
    }
}

/// The garden, which gives no token.
struct NoTokens;

impl WorkloadToken for NoTokens {
    fn token(&self) -> Answer<'_, SecretString> {
        async {
            let message = "grant create on workloadidentities/token".to_owned();
            Err(Refusal::Other { code: "TokenRefused".to_owned(), message })
        }
        .boxed()
    }
}

#[tokio::test]
async fn without_a_token_the_cloud_is_not_asked() {
    let config = json!({
        "apiVersion": "aws.provider.extensions.gardener.cloud/v1alpha1", "kind": "WorkloadIdentityConfig", "roleARN": ROLE,
    });
    let http = Http::new(None).unwrap();
    let aws = Aws::new(AwsConfig {
        credentials: AwsCredentials::of_workload(&config, Arc::new(NoTokens)).unwrap(),
        history: ShootHistory::Incomplete,
        http: http.clone(),
        limiter: Arc::new(RateLimiter::new(Rates::default())),
        name: "test".to_owned(),
        endpoint: Some("http://127.0.0.1:1".to_owned()),
        now: Arc::new(Timestamp::now),
    });
    assert_eq!(aws.whoami().await.unwrap_err().code(), "TokenRefused");
    assert_eq!(http.calls(), 0);
}
