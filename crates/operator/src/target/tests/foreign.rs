//! Servers that tenants bring may answer with anything, and tenants choose where they are.

use super::*;
use crate::target::{Reached, TargetTrouble, administrators};
use allotment_core::access::administrators::Owner;
use std::io;

const WORDS: &str = "words of the server";

/// What a server does with every request.
#[derive(Clone)]
enum Answer {
    Says(u16, String),
    Breaks,
    Hangs,
    /// As an API server does, with very long words.
    Boasts,
}

fn boast(path: &str) -> String {
    let long = "9".repeat(3_000_000);
    let status = json!({ "allowed": true, "userInfo": { "username": long } });
    let review = |group: &str, kind: &str| {
        json!({
            "apiVersion": format!("{group}.k8s.io/v1"), "kind": kind, "metadata": {}, "spec": {}, "status": status,
        })
    };
    let answer = match path.rsplit('/').next() {
        Some("selfsubjectreviews") => review("authentication", "SelfSubjectReview"),
        Some("selfsubjectaccessreviews") => review("authorization", "SelfSubjectAccessReview"),
        _ => json!({
            "major": "1", "minor": "36", "gitVersion": format!("v1.36.0{long}"), "gitCommit": "", "gitTreeState": "",
            "buildDate": "", "goVersion": "", "compiler": "", "platform": "",
        }),
    };
    answer.to_string()
}

impl Answer {
    fn client(self) -> Client {
        let service = tower::service_fn(move |request: Request<Body>| {
            let answer = match self.clone() {
                Self::Boasts => Self::Says(200, boast(request.uri().path())),
                other => other,
            };
            async move {
                match answer {
                    Self::Says(code, text) => Ok(Response::builder()
                        .status(code)
                        .header("location", "https://127.0.0.1/elsewhere")
                        .body(Body::from(text.into_bytes()))
                        .unwrap()),
                    Self::Breaks => Err(io::Error::other(WORDS)),
                    Self::Hangs | Self::Boasts => std::future::pending().await,
                }
            }
        });
        Client::new(service, "default")
    }
}

/// A cluster whose kubeconfig is in a Secret, and whose server does this.
async fn brought(answer: Answer) -> Reached {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s", "uid": "u", "resourceVersion": "1" },
        "data": { "kubeconfig": BASE64_STANDARD.encode(kubeconfig_text()) },
    });
    let control_plane = Answer::Says(200, secret.to_string()).client();
    let targets = Targets::new(Parts {
        garden: control_plane.clone(),
        garden_namespace: "garden-a".to_owned(),
        control_plane,
        clock: Clock::system(),
        connect: Connect::new(move |_, _| {
            let client = answer.clone().client();
            Box::pin(async { Ok(client) })
        }),
        metrics: Metrics::new(),
    });
    let key = Key::Byoc { namespace: "a".to_owned(), secret: "s".to_owned(), key: "kubeconfig".to_owned() };
    targets.reach(&key).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn tenants_learn_that_a_cluster_cannot_be_reached_and_no_more() {
    let long = WORDS.repeat(100_000);
    for answer in [
        Answer::Breaks,
        Answer::Hangs,
        Answer::Says(200, long.clone()),
        Answer::Says(200, format!("{{\"major\": [\"{long}\"]}}")),
        Answer::Says(302, String::new()),
        Answer::Says(400, long.clone()),
        Answer::Says(401, status(401, &long)),
        Answer::Says(403, status(403, WORDS)),
        Answer::Says(404, status(404, WORDS)),
        Answer::Says(409, status(409, WORDS)),
        Answer::Says(429, status(429, WORDS)),
        Answer::Says(500, long.clone()),
        Answer::Says(503, format!("{WORDS}\nWARN forged")),
    ] {
        let log = Log::default();
        let _logging = tracing::subscriber::set_default(log.clone());
        let reached = brought(answer).await;
        let owner = Owner::new("a", "cluster");
        for trouble in [
            check(&reached).await.unwrap_err(),
            administrators::apply(&reached, &owner, &["jane".to_owned()]).await.unwrap_err(),
            reached.unreadable(WORDS),
        ] {
            assert_eq!(trouble.to_string(), "the cluster cannot be reached");
            assert!(!format!("{trouble:?}").contains(WORDS), "{trouble:?}");
            assert!(matches!(trouble, TargetTrouble::Call(_)) && !trouble.is_lasting());
        }
        let log = log.0.lock().unwrap().clone();
        assert!(log.contains("a cluster cannot be reached") || log.contains("refused a call"), "{log}");
        assert!(log.len() < 5_000, "{} bytes in the log", log.len());
        assert!(!log.contains(SECRET) && !log.contains("\nWARN"), "{log}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_server_says_about_itself_is_cut_short() {
    let standing = check(&brought(Answer::Boasts).await).await.unwrap();
    assert_eq!(standing.version.len(), 64 + 3);
    assert!(standing.version.starts_with("1.36.0999") && standing.version.ends_with("..."));
    assert_eq!(standing.user.unwrap().len(), 256 + 3);
}

/// A list that leads to one call after the other does not keep a worker for ever.
#[tokio::test(start_paused = true)]
async fn a_server_cannot_keep_a_worker_busy() {
    let reached = brought(Answer::Hangs).await;
    let started = tokio::time::Instant::now();
    while started.elapsed() < Duration::from_secs(40) {
        let before = started.elapsed();
        check(&reached).await.unwrap_err();
        if started.elapsed() == before {
            break;
        }
    }
    assert_eq!(started.elapsed(), Duration::from_secs(30));
}

#[tokio::test]
async fn a_cluster_on_this_machine_is_not_dialled() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let text = kubeconfig_text().replace("a.example.com", &address.to_string());
    let https = Connect::over_https(&Metrics::new());
    let key = Key::Byoc { namespace: "a".to_owned(), secret: "s".to_owned(), key: "kubeconfig".to_owned() };
    let client = https.make(key, kubeconfig::read(text.as_bytes()).unwrap()).await.unwrap();
    let error = client.apiserver_version().await.unwrap_err();
    let mut told = String::new();
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(error) = cause {
        told.push_str(&format!("{error}; "));
        cause = error.source();
    }
    assert!(told.contains("127.0.0.1 is not dialled: loopback address"), "{told}");
    let connected = timeout(Duration::from_millis(50), listener.accept()).await;
    assert!(connected.is_err(), "{connected:?}");
}
