//! Tokens: from the key of a service account, or from a token of a workload identity.

use super::{
    Gcp,
    call::{Form, incomplete},
    jwt,
};
use crate::{
    Refusal,
    credentials::{GcpCredentials, GcpKey, GcpLogin, GcpWorkload},
    http::Access,
};
use allotment_core::cleanup::Place;
use futures::FutureExt;
use http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use std::sync::Arc;

/// A token, as long as it is good.
pub(super) struct Session {
    pub(super) token: SecretString,
    expires_at: Timestamp,
}

/// A token that ends within this time is not used for another call.
const MARGIN: SignedDuration = SignedDuration::from_secs(120);

/// Google does not say how long the token of an exchange is good; it is an hour, and no login is asked for more.
const LIFETIME: &str = "3600s";

/// Where Google takes assertions and tokens. A Secret that names another server would send it everything that it needs to
/// be the service account.
const TOKEN_URIS: &[&str] = &[
    "https://oauth2.googleapis.com/token",
    "https://accounts.google.com/o/oauth2/token",
    "https://www.googleapis.com/oauth2/v4/token",
];
const EXCHANGES: &[&str] = &["https://sts.googleapis.com/v1/token"];
const IMPERSONATION: &str = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/";

/// The first address that is neither Google's nor the test cloud's, by the name of its key.
pub(super) fn foreign_address(credentials: &GcpCredentials, endpoint: Option<&str>) -> Option<&'static str> {
    let is_test = |url: &str| {
        endpoint.is_some_and(|endpoint| {
            url.strip_prefix(endpoint.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/'))
        })
    };
    match &credentials.login {
        GcpLogin::Key(key) => {
            let is_known = TOKEN_URIS.contains(&key.token_uri.as_str()) || is_test(&key.token_uri);
            (!is_known).then_some("token_uri")
        }
        GcpLogin::Workload(workload) => {
            if !(EXCHANGES.contains(&workload.token_url.as_str()) || is_test(&workload.token_url)) {
                return Some("token_url");
            }
            let url = workload.impersonation_url.as_deref()?;
            // An email address, and no path that leads elsewhere.
            let is_address =
                workload.service_account().is_some_and(|email| !email.contains(['/', '?', '#', '%']));
            let is_known = is_address && (url.starts_with(IMPERSONATION) || is_test(url));
            (!is_known).then_some("service_account_impersonation_url")
        }
    }
}

/// The form of the exchange of a token of a workload identity.
pub(super) fn exchange_form(workload: &GcpWorkload, token: &SecretString) -> Form {
    let pairs = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        ("audience", &workload.audience),
        ("scope", jwt::SCOPE),
        ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
        ("subject_token", token.expose_secret()),
        ("subject_token_type", &workload.subject_token_type),
    ];
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

impl Gcp {
    /// The session, logged in if there is none or it ends soon.
    pub(super) async fn session(&self) -> Result<Arc<Session>, Refusal> {
        let mut session = self.session.lock().await;
        let now = (self.now)();
        let is_good =
            |session: &Arc<Session>| session.expires_at.checked_sub(MARGIN).is_ok_and(|until| now < until);
        if let Some(session) = session.as_ref().filter(|session| is_good(session)) {
            return Ok(Arc::clone(session));
        }
        // A login changes nothing, so it may be repeated.
        let opened = self.retries.run(&Place::GLOBAL, Access::Read, || self.log_in().boxed()).await?;
        let opened = Arc::new(opened);
        *session = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// Another session than this one, which a service did not accept.
    pub(super) async fn renewed(&self, refused: &Arc<Session>) -> Result<Arc<Session>, Refusal> {
        {
            let mut session = self.session.lock().await;
            // Another call may have renewed it meanwhile.
            if session.as_ref().is_some_and(|session| Arc::ptr_eq(session, refused)) {
                *session = None;
            }
        }
        self.session().await
    }

    async fn log_in(&self) -> Result<Session, Refusal> {
        match &self.credentials.login {
            GcpLogin::Key(key) => self.with_key(key).await,
            GcpLogin::Workload(workload) => self.with_workload(workload).await,
        }
    }

    async fn with_key(&self, key: &GcpKey) -> Result<Session, Refusal> {
        let grant = "urn:ietf:params:oauth:grant-type:jwt-bearer";
        let form = |assertion: String| -> Form {
            vec![("grant_type".to_owned(), grant.to_owned()), ("assertion".to_owned(), assertion)]
        };
        let signed = || jwt::assertion(key, self.clock.now((self.now)()));
        let response = self.post_form(&key.token_uri, &form(signed()?)).await?;
        // An assertion with a wrong time is refused; the answer has the right one.
        let is_skewed =
            response.status == StatusCode::BAD_REQUEST && self.clock.learn(&response.headers, (self.now)());
        let response =
            if is_skewed { self.post_form(&key.token_uri, &form(signed()?)).await? } else { response };
        self.opened(&response.body, response.status)
    }

    async fn with_workload(&self, workload: &GcpWorkload) -> Result<Session, Refusal> {
        let subject = workload.token.token().await?;
        let response = self.post_form(&workload.token_url, &exchange_form(workload, &subject)).await?;
        let federated = self.opened(&response.body, response.status)?;
        let Some(url) = &workload.impersonation_url else { return Ok(federated) };
        let body = json!({ "scope": [jwt::SCOPE], "lifetime": LIFETIME });
        let response = self.post_json(url, &federated.token, &body).await?;
        if !response.status.is_success() {
            return Err(not_accepted(&response.body, response.status, "iam.serviceAccounts.getAccessToken"));
        }
        let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        let field = |name: &str| body.get(name).and_then(Value::as_str);
        let (Some(token), Some(expires_at)) =
            (field("accessToken"), field("expireTime").and_then(|time| time.parse().ok()))
        else {
            return Err(incomplete("generateAccessToken"));
        };
        Ok(Session { token: token.into(), expires_at })
    }

    fn opened(&self, body: &[u8], status: StatusCode) -> Result<Session, Refusal> {
        if !status.is_success() {
            return Err(not_accepted(body, status, ""));
        }
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let token = body.get("access_token").and_then(Value::as_str);
        let seconds = body.get("expires_in").and_then(Value::as_i64);
        let (Some(token), Some(seconds)) = (token, seconds) else { return Err(incomplete("the login")) };
        let expires_at = (self.now)().checked_add(SignedDuration::from_secs(seconds));
        Ok(Session { token: token.into(), expires_at: expires_at.map_err(|_| incomplete("the login"))? })
    }
}

/// The refusal of a login. Its description may repeat the assertion, so only its code is passed on.
fn not_accepted(body: &[u8], status: StatusCode, permission: &str) -> Refusal {
    if status == StatusCode::TOO_MANY_REQUESTS {
        return Refusal::Throttled { after: None };
    }
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let error = body.get("error");
    let code = error.and_then(|error| error.as_str().or_else(|| error.get("status").and_then(Value::as_str)));
    let code: String = code
        .unwrap_or_default()
        .chars()
        .filter(|char| char.is_ascii_alphanumeric() || *char == '_')
        .take(64)
        .collect();
    let code = if code.is_empty() { format!("HTTP{}", status.as_u16()) } else { code };
    if status.is_server_error() {
        return Refusal::Transient { why: code };
    }
    let message = if permission.is_empty() {
        "the cloud does not accept the credentials".to_owned()
    } else {
        format!("the workload identity may not act as the service account: {permission}")
    };
    Refusal::Other { code, message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Answer, credentials::WorkloadToken};

    struct Fixed;

    impl WorkloadToken for Fixed {
        fn token(&self) -> Answer<'_, SecretString> {
            async { Ok(SecretString::from("subject")) }.boxed()
        }
    }

    fn key(token_uri: &str) -> GcpCredentials {
        let key = GcpKey {
            client_email: "e".to_owned(),
            private_key_id: None,
            private_key: "k".into(),
            token_uri: token_uri.to_owned(),
        };
        GcpCredentials { project: "p".to_owned(), login: GcpLogin::Key(key) }
    }

    fn workload(token_url: &str, impersonation_url: &str) -> GcpCredentials {
        let workload = GcpWorkload {
            token: Arc::new(Fixed),
            audience: "//iam.googleapis.com/x".to_owned(),
            subject_token_type: "urn:ietf:params:oauth:token-type:jwt".to_owned(),
            token_url: token_url.to_owned(),
            impersonation_url: Some(impersonation_url.to_owned()),
        };
        GcpCredentials { project: "p".to_owned(), login: GcpLogin::Workload(workload) }
    }

    #[test]
    fn credentials_are_sent_to_google_or_to_the_test_cloud_and_nowhere_else() {
        let test = Some("http://127.0.0.1:80");
        assert_eq!(foreign_address(&key("https://oauth2.googleapis.com/token"), None), None);
        assert_eq!(foreign_address(&key("http://127.0.0.1:80/token"), test), None);
        for uri in [
            "https://oauth2.googleapis.com.example.com/token",
            "https://example.com/token",
            "http://127.0.0.1:80/token",
        ] {
            assert_eq!(foreign_address(&key(uri), None), Some("token_uri"), "{uri}");
        }
        assert_eq!(foreign_address(&key("http://127.0.0.1:8080/token"), test), Some("token_uri"));
        let sts = "https://sts.googleapis.com/v1/token";
        let good = format!("{IMPERSONATION}a@p.iam.gserviceaccount.com:generateAccessToken");
        assert_eq!(foreign_address(&workload(sts, &good), None), None);
        assert_eq!(foreign_address(&workload("https://example.com/", &good), None), Some("token_url"));
        for bad in [
            "https://example.com/serviceAccounts/a:generateAccessToken".to_owned(),
            format!("{IMPERSONATION}../../x:generateAccessToken"),
            format!("{IMPERSONATION}a:signBlob"),
        ] {
            let found = foreign_address(&workload(sts, &bad), None);
            assert_eq!(found, Some("service_account_impersonation_url"), "{bad}");
        }
    }

    #[test]
    fn an_exchange_is_the_one_that_google_auth_makes() {
        // See the test of assertions.
        let recorded: Value = serde_json::from_str(include_str!("recorded.json")).unwrap();
        let GcpLogin::Workload(mut workload) = workload("", "").login else { panic!("a workload") };
        workload.audience = recorded["exchange"]["audience"].as_str().unwrap().to_owned();
        let theirs: Form = serde_json::from_value(recorded["exchange"]["form"].clone()).unwrap();
        let mut ours = exchange_form(&workload, &"subject".into());
        ours.sort();
        assert_eq!(ours, theirs);
    }

    #[test]
    fn a_refused_login_repeats_nothing_of_the_assertion() {
        let body = json!({ "error": "invalid_grant", "error_description": "Invalid JWT Signature: eyJhbGciOi.hush" });
        let refusal = not_accepted(body.to_string().as_bytes(), StatusCode::BAD_REQUEST, "");
        assert_eq!(refusal.code(), "invalid_grant");
        assert!(!format!("{refusal:?}").contains("hush"));
        assert!(refusal.missing().is_none(), "no permission is missing, so nothing can be assumed absent");
    }
}
