//! Keys of a role, in exchange for a token of a workload identity. They are in memory only, and taken anew before they end.

use super::{
    Aws,
    call::{incomplete, unsendable},
    error::{AwsError, THROTTLED, retry_after},
    rows::STS,
    sigv4, xml,
};
use crate::{
    Refusal,
    credentials::{AwsCredentials, AwsKeys, AwsRole},
    http::{Access, Response},
};
use allotment_core::cleanup::{Place, clean_code, clean_message};
use bytes::Bytes;
use futures::FutureExt;
use http::{Request, StatusCode, header::CONTENT_TYPE};
use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret, SecretString};
use std::sync::Arc;
use tokio::sync::Mutex;

const ACTION: &str = "AssumeRoleWithWebIdentity";

/// The name of a session: CloudTrail shows it with every call.
const SESSION: &str = "allotment-cleanup";

/// Keys that end within this time are renewed first: a call with its retries takes no longer, and sessions last an hour.
const MARGIN: SignedDuration = SignedDuration::from_mins(5);

/// The source of keys.
pub(super) enum Login {
    /// They are there.
    Keys(Arc<AwsKeys>),
    /// From a role.
    Role(AwsRole, Mutex<Option<Session>>),
}

impl Login {
    pub(super) fn new(credentials: AwsCredentials) -> Self {
        match credentials {
            AwsCredentials::Keys { keys, .. } => Self::Keys(Arc::new(keys)),
            AwsCredentials::Role(role) => Self::Role(role, Mutex::default()),
        }
    }
}

/// Keys of a role.
pub(super) struct Session {
    keys: Arc<AwsKeys>,
    ends_at: Timestamp,
}

impl Aws {
    /// The keys of now.
    pub(super) async fn keys(&self) -> Result<Arc<AwsKeys>, Refusal> {
        let (role, session) = match &self.login {
            Login::Keys(keys) => return Ok(Arc::clone(keys)),
            Login::Role(role, session) => (role, session),
        };
        // Whoever comes meanwhile waits for the same session.
        let mut session = session.lock().await;
        let in_time = |session: &&Session| session.ends_at.duration_since(self.time()) > MARGIN;
        if let Some(session) = session.as_ref().filter(in_time) {
            return Ok(Arc::clone(&session.keys));
        }
        // A login changes nothing, so it may be repeated.
        let opened = self.retries.run(&Place::GLOBAL, Access::Read, || self.assume(role).boxed()).await?;
        Ok(Arc::clone(&session.insert(opened).keys))
    }

    /// Other keys than these, which have ended; none if nobody can renew them.
    pub(super) async fn renewed_keys(&self, ended: &Arc<AwsKeys>) -> Result<Option<Arc<AwsKeys>>, Refusal> {
        let Login::Role(_, session) = &self.login else { return Ok(None) };
        {
            let mut session = session.lock().await;
            // Another call may have renewed them meanwhile.
            if session.as_ref().is_some_and(|session| Arc::ptr_eq(&session.keys, ended)) {
                *session = None;
            }
        }
        self.keys().await.map(Some)
    }

    fn time(&self) -> Timestamp {
        self.clock.now((self.now)())
    }

    async fn assume(&self, role: &AwsRole) -> Result<Session, Refusal> {
        let token = role.token.token().await?;
        let home = self.partition.home();
        // Nothing is signed: the token is the credential.
        let request = Request::post(format!("{}/", self.base(&STS, &home)))
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded; charset=utf-8")
            .body(Bytes::from(form(&role.arn, &token)).into())
            .map_err(|_| unsendable())?;
        let response = self.http.send(request).await?;
        // A clock that is off would take a new session for one that ends soon.
        self.clock.learn(&response.headers, (self.now)());
        if !response.status.is_success() {
            return Err(refusal(&response, role, &token));
        }
        opened(&response, role)
    }
}

/// The parameters in the order in which botocore sends them.
fn form(role: &str, token: &SecretString) -> String {
    let pairs = [
        ("Action", ACTION),
        ("Version", STS.version),
        ("RoleArn", role),
        ("RoleSessionName", SESSION),
        ("WebIdentityToken", token.expose_secret()),
    ];
    pairs.map(|(name, value)| format!("{name}={}", sigv4::encode(value))).join("&")
}

fn opened(response: &Response, role: &AwsRole) -> Result<Session, Refusal> {
    let text = std::str::from_utf8(&response.body).map_err(|_| incomplete(ACTION))?;
    let document = xml::parse(text)?;
    let field = |path: &str| {
        let found = xml::text(document.root_element(), &format!("{ACTION}Result/{path}"));
        found.ok_or_else(|| incomplete(ACTION))
    };
    let arn = field("AssumedRoleUser/Arn")?;
    let account = arn.split(':').nth(4).unwrap_or_default();
    if account != role.account {
        let message = format!("the keys for role {} are of another account", role.arn);
        return Err(Refusal::Other { code: "AccountChanged".to_owned(), message });
    }
    let keys = AwsKeys {
        access_key_id: field("Credentials/AccessKeyId")?.into(),
        secret_access_key: field("Credentials/SecretAccessKey")?.into(),
        session_token: Some(field("Credentials/SessionToken")?.into()),
    };
    let ends_at = field("Credentials/Expiration")?.parse().map_err(|_| incomplete(ACTION))?;
    Ok(Session { keys: Arc::new(keys), ends_at })
}

/// The refusal of a token. It is never [`Refusal::Denied`]: nobody may declare kinds absent because of it.
fn refusal(response: &Response, role: &AwsRole, token: &SecretString) -> Refusal {
    let AwsError { code, message } = AwsError::read(response);
    if THROTTLED.contains(&code.as_str()) || response.status == StatusCode::TOO_MANY_REQUESTS {
        return Refusal::Throttled { after: retry_after(response) };
    }
    let bounded = clean_code(&code, response.status.as_u16());
    // AWS could not reach the garden's issuer for its keys.
    if response.status.is_server_error() || code == "IDPCommunicationError" {
        return Refusal::Transient { why: bounded };
    }
    let because = match code.as_str() {
        "AccessDenied" => "it does not exist, or its trust policy does not allow the workload identity",
        "ExpiredTokenException" | "ExpiredToken" => "the token of the workload identity has expired",
        "InvalidIdentityToken" | "IDPRejectedClaim" => {
            "the account does not accept the token: it needs an OIDC provider for the garden's issuer, with the audience of the workload identity"
        }
        _ => "the cloud refuses",
    };
    let said = clean_message(&message);
    let repeats = token.expose_secret().split('.').any(|part| !part.is_empty() && message.contains(part));
    let said = if said.is_empty() || repeats { String::new() } else { format!(" ({said})") };
    Refusal::Other { code: bounded, message: format!("role {} cannot be assumed: {because}{said}", role.arn) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The body that botocore 1.44.3 sends for `assume_role_with_web_identity` with these arguments, recorded by
    /// `clouds/run aws web-identity`.
    const RECORDED: &str = "Action=AssumeRoleWithWebIdentity&Version=2011-06-15\
        &RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Fgardener&RoleSessionName=allotment-cleanup\
        &WebIdentityToken=eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln_bmF-dHVyZQ";

    #[test]
    fn the_form_is_the_one_of_botocore() {
        let token = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln_bmF-dHVyZQ".into();
        assert_eq!(form("arn:aws:iam::123456789012:role/gardener", &token), RECORDED);
    }
}
