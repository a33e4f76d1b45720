//! The expectations are what kube-apiserver 1.36.3 answered to the same requests.

use super::*;
use crate::error::ApiError;
use serde_json::Value;

const ISSUER: &str = "https://127.0.0.1:41361";
const ACCOUNT_UID: &str = "ede335b0-c202-488f-9307-2037e864a6f1";
const SECRET_UID: &str = "fb98a306-f450-46ac-86d0-d25b085f8fb0";

fn signer() -> TokenSigner {
    TokenSigner::new(ISSUER, &[7; 32])
}

fn now() -> Timestamp {
    "2026-11-15T10:15:33.5Z".parse().unwrap()
}

fn account() -> Value {
    json!({ "metadata": { "name": "bot", "namespace": "auth-test", "uid": ACCOUNT_UID } })
}

impl TokenSigner {
    /// The user of a token that is good for the server itself.
    fn authenticate(
        &self,
        token: &str,
        now: Timestamp,
        find: impl Fn(&str, &str, &str) -> Option<Found>,
    ) -> Result<User, TokenError> {
        self.verify(token, now, &self.audiences)?.user(now, find)
    }
}

fn issue(body: &Value) -> Result<Value, ApiError> {
    issue_with(&signer(), body)
}

fn issue_with(signer: &TokenSigner, body: &Value) -> Result<Value, ApiError> {
    let secret = |name: &str| (name == "bind").then(|| SECRET_UID.to_owned());
    let mut random = |bytes: &mut [u8]| bytes.fill(0xab);
    signer.issue(body, &account(), secret, &mut random, now())
}

fn token(body: &Value) -> String {
    issue(body).unwrap()["status"]["token"].as_str().unwrap().to_owned()
}

fn bound() -> Value {
    json!({ "spec": { "boundObjectRef": { "kind": "Secret", "apiVersion": "v1", "name": "bind" } } })
}

/// Both are there, and nothing else is.
fn find(plural: &str, _namespace: &str, name: &str) -> Option<Found> {
    let uid = match (plural, name) {
        ("serviceaccounts", "bot") => ACCOUNT_UID,
        ("secrets", "bind") => SECRET_UID,
        _ => return None,
    };
    Some(Found { uid: uid.to_owned(), deleted_at: None })
}

fn after(seconds: i64) -> Timestamp {
    now() + SignedDuration::from_secs(seconds)
}

#[test]
fn the_answer_and_the_claims_are_those_of_a_real_server() {
    let mut answer = issue(&json!({})).unwrap();
    let token = answer["status"]["token"].take();
    assert_eq!(
        answer,
        json!({
            "kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1",
            "metadata": {
                "name": "bot", "namespace": "auth-test", "uid": ACCOUNT_UID,
                "creationTimestamp": "2026-11-15T10:15:33Z",
            },
            "spec": { "audiences": [ISSUER], "expirationSeconds": 3600, "boundObjectRef": null },
            "status": { "token": null, "expirationTimestamp": "2026-11-15T11:15:33Z" },
        })
    );
    let parts: Vec<&str> = token.as_str().unwrap().split('.').collect();
    let claims = String::from_utf8(URL_SAFE_NO_PAD.decode(parts[1]).unwrap()).unwrap();
    let id = "abababab-abab-4bab-abab-abababababab";
    assert_eq!(
        claims,
        format!(
            r#"{{"aud":["{ISSUER}"],"exp":1794741333,"iat":1794737733,"iss":"{ISSUER}","jti":"{id}","kubernetes.io":{{"namespace":"auth-test","serviceaccount":{{"name":"bot","uid":"{ACCOUNT_UID}"}}}},"nbf":1794737733,"sub":"system:serviceaccount:auth-test:bot"}}"#
        )
    );
    let bound = self::token(&bound());
    let claims = signer().verify(&bound, now(), &[ISSUER.to_owned()]).unwrap();
    assert_eq!(claims.bound_to.secret, Some(Reference { name: "bind".into(), uid: SECRET_UID.into() }));
}

#[test]
fn requests_are_refused_in_the_words_of_a_real_server() {
    let seconds = |value: Value| json!({ "spec": { "expirationSeconds": value } });
    let reference = |reference: Value| json!({ "spec": { "boundObjectRef": reference } });
    let secret =
        |name: &str, uid: &str| json!({ "kind": "Secret", "apiVersion": "v1", "name": name, "uid": uid });
    let too_short = |value: i64| {
        format!(
            r#"TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: {value}: may not specify a duration less than 10 minutes"#
        )
    };
    let cases: Vec<(Value, u16, String)> = vec![
        (seconds(json!(599)), 422, too_short(599)),
        (seconds(json!(0)), 422, too_short(0)),
        (seconds(json!(-5)), 422, too_short(-5)),
        (
            seconds(json!(4_294_967_297_i64)),
            422,
            r#"TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds"#.into(),
        ),
        (
            seconds(json!("x")),
            400,
            r#"TokenRequest in version "v1" cannot be handled as a TokenRequest: json: cannot unmarshal string into Go struct field TokenRequestSpec.spec.expirationSeconds of type int64"#.into(),
        ),
        (
            json!({ "metadata": { "name": "zz" } }),
            422,
            r#"TokenRequest.authentication.k8s.io "bot" is invalid: metadata.name: Invalid value: "zz": must match the service account name if specified"#.into(),
        ),
        (
            json!({ "metadata": { "namespace": "zz" } }),
            400,
            "the namespace of the provided object does not match the namespace sent on the request".into(),
        ),
        (
            json!({ "metadata": { "uid": "zz" } }),
            409,
            format!(
                r#"Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "bot": the UID in the token request (zz) does not match the UID of the service account ({ACCOUNT_UID})"#
            ),
        ),
        (
            reference(secret("bind", "zz")),
            409,
            r#"Operation cannot be fulfilled on Secret "bind": the UID in the bound object reference (zz) does not match the UID in record. The object might have been deleted and then recreated"#.into(),
        ),
        (reference(secret("nope", "")), 404, r#"secrets "nope" not found"#.into()),
        (reference(secret("", "")), 400, "Name parameter required.".into()),
        (
            reference(json!({ "kind": "Pod", "apiVersion": "v1", "name": "nope" })),
            404,
            r#"pods "nope" not found"#.into(),
        ),
        (
            reference(json!({ "kind": "Node", "apiVersion": "v1", "name": "nope" })),
            404,
            r#"nodes "nope" not found"#.into(),
        ),
        (
            reference(json!({ "kind": "ServiceAccount", "apiVersion": "v1", "name": "bot" })),
            400,
            "cannot bind token to object of type /v1, Kind=ServiceAccount".into(),
        ),
        (
            reference(json!({ "kind": "Deployment", "apiVersion": "apps/v1", "name": "bot" })),
            400,
            "cannot bind token to object of type apps/v1, Kind=Deployment".into(),
        ),
        (reference(json!({})), 400, "cannot bind token to object of type /, Kind=".into()),
    ];
    for (body, code, message) in cases {
        let error = issue(&body).unwrap_err();
        assert_eq!((error.code, error.message), (code, message), "{body}");
    }
}

#[test]
fn the_longest_life_that_can_be_asked_for() {
    let body = json!({ "spec": { "expirationSeconds": 4_294_967_296_i64 } });
    assert_eq!(issue(&body).unwrap()["status"]["expirationTimestamp"], "2162-12-22T16:43:49Z");
}

#[test]
fn a_token_makes_the_user_of_its_account() {
    let user = signer().authenticate(&token(&bound()), now(), find).unwrap();
    assert_eq!(
        user.to_json(),
        json!({
            "username": "system:serviceaccount:auth-test:bot", "uid": ACCOUNT_UID,
            "groups": ["system:serviceaccounts", "system:serviceaccounts:auth-test", "system:authenticated"],
            "extra": { "authentication.kubernetes.io/credential-id": ["JTI=abababab-abab-4bab-abab-abababababab"] },
        })
    );
}

#[test]
fn a_token_ends_with_its_time_and_with_what_it_is_bound_to() {
    let plain = token(&json!({}));
    let invalid = "[invalid bearer token, service account token has been invalidated]";
    let missing =
        |plural: &'static str| move |p: &str, n: &str, name: &str| find(p, n, name).filter(|_| p != plural);
    let other = |plural: &'static str| {
        move |p: &str, n: &str, name: &str| {
            let found = find(p, n, name)?;
            Some(if p == plural { Found { uid: "0c585ae2".into(), ..found } } else { found })
        }
    };
    let deleted = |plural: &'static str, at: Timestamp| {
        move |p: &str, n: &str, name: &str| {
            let found = find(p, n, name)?;
            Some(if p == plural { Found { deleted_at: Some(at), ..found } } else { found })
        }
    };
    let says = |token: &str, at: Timestamp, find: &dyn Fn(&str, &str, &str) -> Option<Found>| {
        signer().authenticate(token, at, find).map_err(|error| error.to_string()).err()
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(says(&plain, after(3660), &find), None);
    assert_eq!(
        says(&plain, after(3661), &find),
        some("[invalid bearer token, service account token has expired]")
    );
    let early = "[invalid bearer token, service account token is not valid yet]";
    assert_eq!(says(&plain, after(-61), &find), some(early));
    let gone = r#"[invalid bearer token, serviceaccounts "bot" not found]"#;
    assert_eq!(says(&plain, now(), &missing("serviceaccounts")), some(gone));
    let another = "[invalid bearer token, service account UID (0c585ae2) does not match claim (ede335b0-c202-488f-9307-2037e864a6f1)]";
    assert_eq!(says(&plain, now(), &other("serviceaccounts")), some(another));
    assert_eq!(says(&plain, now(), &missing("secrets")), None);

    let bound = token(&bound());
    assert_eq!(says(&bound, now(), &missing("secrets")), some(invalid));
    let another = "[invalid bearer token, secret UID (0c585ae2) does not match service account secret ref claim (fb98a306-f450-46ac-86d0-d25b085f8fb0)]";
    assert_eq!(says(&bound, now(), &other("secrets")), some(another));
    // Somebody who is being deleted has a minute left.
    assert_eq!(says(&bound, after(60), &deleted("secrets", now())), None);
    assert_eq!(says(&bound, after(61), &deleted("secrets", now())), some(invalid));
    let deleted_account = "[invalid bearer token, service account auth-test/bot has been deleted]";
    assert_eq!(says(&bound, after(61), &deleted("serviceaccounts", now())), some(deleted_account));
}

#[test]
fn reviews_say_what_a_real_server_says() {
    let review = |spec: Value| signer().review(&json!({ "spec": spec }), now(), find);
    let plain = token(&json!({}));
    let for_others = token(&json!({ "spec": { "audiences": ["a", "b"] } }));
    let status = |spec: Value| review(spec).unwrap()["status"].clone();
    let good = status(json!({ "token": plain }));
    assert_eq!((&good["authenticated"], &good["audiences"]), (&json!(true), &json!([ISSUER])));
    assert_eq!(good["user"]["username"], "system:serviceaccount:auth-test:bot");
    assert_eq!(status(json!({ "token": for_others, "audiences": ["a"] }))["audiences"], json!(["a"]));
    let mut forged = plain;
    forged.replace_range(forged.len() - 3.., "abc");
    let cases = [
        (
            json!({ "token": for_others }),
            r#"[invalid bearer token, token audiences ["a" "b"] is invalid for the target audiences ["https://127.0.0.1:41361"]]"#,
        ),
        (
            json!({ "token": for_others, "audiences": ["z"] }),
            r#"[invalid bearer token, token audiences ["a" "b"] is invalid for the target audiences ["z"]]"#,
        ),
        (json!({ "token": "x" }), "invalid bearer token"),
        (
            json!({ "token": forged }),
            "[invalid bearer token, go-jose/go-jose: error in cryptographic primitive]",
        ),
    ];
    for (spec, error) in cases {
        assert_eq!(status(spec), json!({ "user": {}, "error": error }));
    }
    let error = review(json!({ "token": "" })).unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str()),
        (400, "token is required for TokenReview in authentication")
    );
}

#[test]
fn what_others_signed_is_not_ours() {
    let same_issuer = TokenSigner::new(ISSUER, &[8; 32]);
    let theirs =
        issue_with(&same_issuer, &json!({})).unwrap()["status"]["token"].as_str().unwrap().to_owned();
    let error = signer().authenticate(&theirs, now(), find).unwrap_err();
    assert_eq!(error, TokenError::Invalid("invalid signature, no keys found".to_owned()));
    let other_issuer = TokenSigner::new("https://elsewhere", &[7; 32]);
    let theirs =
        issue_with(&other_issuer, &json!({})).unwrap()["status"]["token"].as_str().unwrap().to_owned();
    assert_eq!(signer().authenticate(&theirs, now(), find).unwrap_err(), TokenError::NotOurs);
    for malformed in ["", "a.b", "a.b.c.d", "..", "e30.e30.", "\u{fc}.\u{fc}.\u{fc}"] {
        assert_eq!(
            signer().authenticate(malformed, now(), find).unwrap_err(),
            TokenError::NotOurs,
            "{malformed}"
        );
    }
    // Not even without a signature.
    let unsigned = format!(
        "{}.{}.",
        URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#),
        token(&json!({})).split('.').nth(1).unwrap()
    );
    assert!(signer().authenticate(&unsigned, now(), find).is_err());
    assert!(!format!("{:?}", signer()).contains("7, 7"));
}
