//! How the client behaves towards a server that refuses, lies about the time, or does not answer.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

mod answers;

use allotment_clouds::{
    Cloud, Refusal,
    aws::{Aws, AwsConfig},
    credentials::{AwsCredentials, AwsKeys},
    http::{Http, RateLimiter, Rates},
};
use allotment_core::cleanup::ShootHistory;
use answers::{answer, error, server};
use jiff::Timestamp;
use secrecy::SecretString;
use std::{sync::Arc, time::Duration};

const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
const TOKEN: &str = "IQoJb3JpZ2luX2VjEXAMPLETOKEN";

const IDENTITY: &str = "<R><GetCallerIdentityResult><Account>1</Account><Arn>arn:aws:iam::1:user/u</Arn></GetCallerIdentityResult></R>";

fn client(url: String, http: Http) -> Aws {
    let keys = AwsKeys {
        access_key_id: "AKIDEXAMPLE".into(),
        secret_access_key: SECRET.into(),
        session_token: Some(SecretString::from(TOKEN)),
    };
    Aws::new(AwsConfig {
        credentials: AwsCredentials::Keys { keys, region: None },
        history: ShootHistory::Incomplete,
        http,
        limiter: Arc::new(RateLimiter::new(Rates::default())),
        name: "test".to_owned(),
        endpoint: Some(url),
        now: Arc::new(|| "2026-11-17T12:00:00Z".parse::<Timestamp>().unwrap()),
    })
}

#[tokio::test]
async fn a_clock_that_is_off_is_corrected_and_the_call_repeated() {
    let skewed = error(
        "RequestTimeTooSkewed",
        "The difference between the request time and the current time is too large.",
    );
    let late = answer("403 Forbidden", "date: Tue, 17 Nov 2026 12:30:00 GMT\r\n", &skewed);
    let (url, requests) = server(vec![late, answer("200 OK", "", IDENTITY)]).await;
    let caller = client(url, Http::new(None).unwrap()).whoami().await.unwrap();
    assert_eq!(caller.account.as_str(), "1");
    let requests = requests.lock().unwrap();
    assert!(requests[0].contains("x-amz-date: 20261117T120000Z"), "{}", requests[0]);
    assert!(requests[1].contains("x-amz-date: 20261117T123000Z"), "{}", requests[1]);
    assert!(requests.iter().all(|request| !request.contains(SECRET)));
}

#[tokio::test]
async fn nothing_of_a_refused_signature_is_passed_on() {
    let message = format!(
        "The Canonical String for this request should have been\n'POST\n/\n\nhost:x\nx-amz-security-token:{TOKEN}\n\n\
         host;x-amz-security-token\n9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e'"
    );
    let refused = answer("403 Forbidden", "", &error("SignatureDoesNotMatch", &message));
    let (url, requests) = server(vec![refused]).await;
    let aws = client(url, Http::new(None).unwrap());
    let refusal = aws.whoami().await.unwrap_err();
    let printed = format!("{refusal} {refusal:?} {aws:?}");
    let authorization = requests.lock().unwrap()[0].clone();
    let signature =
        authorization.split("Signature=").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    for secret in [TOKEN, SECRET, "AKIDEXAMPLE", "9095672b", &signature] {
        assert!(!printed.contains(secret), "{printed}");
    }
    assert!(matches!(refusal, Refusal::Other { code, .. } if code == "SignatureDoesNotMatch"));
}

#[tokio::test]
async fn a_server_that_does_not_answer_or_redirects_costs_a_deadline_and_no_credentials() {
    let (url, _) = server(vec![String::new(); 8]).await;
    let http = Http::new(None).unwrap().with_deadline(Duration::from_millis(50));
    let refusal = client(url, http.clone()).whoami().await.unwrap_err();
    assert!(matches!(&refusal, Refusal::Transient { why } if why.contains("deadline")), "{refusal:?}");
    assert_eq!(http.calls(), 5, "a read is repeated");
    let elsewhere = answer("302 Found", "location: http://127.0.0.1:1/\r\n", "");
    let (url, requests) = server(vec![elsewhere]).await;
    let refusal = client(url, Http::new(None).unwrap()).whoami().await.unwrap_err();
    let told = refusal.to_string();
    assert!(matches!(refusal, Refusal::Other { code, .. } if code == "Redirected"));
    assert!(told.contains("answers 302 and sends us to 127.0.0.1"), "{told}");
    assert_eq!(requests.lock().unwrap().len(), 1);
}
