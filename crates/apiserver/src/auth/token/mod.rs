//! ServiceAccount tokens: JSON Web Tokens that name the account and, if asked for, a Secret, and end with both.
//!
//! They are signed with a key that never leaves the process (HMAC), because nobody but the server reads them. The
//! claims are those of a real server.

mod request;
#[cfg(test)]
mod tests;

use super::{CREDENTIAL_ID, User, quoted_list, service_account_name};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use ring::{digest, hmac};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::fmt;

/// Clocks differ: a token is good for so long after its end, before its beginning, and after the deletion of what
/// it is bound to has begun.
const LEEWAY: SignedDuration = SignedDuration::from_mins(1);

/// Signs and reads tokens.
#[derive(Clone)]
pub(crate) struct TokenSigner {
    issuer: String,
    audiences: Vec<String>,
    key: hmac::Key,
    key_id: String,
}

/// What a token says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Claims {
    /// For whom it is meant.
    #[serde(rename = "aud", default)]
    pub audiences: Vec<String>,
    /// When it ends, in seconds since 1970.
    #[serde(rename = "exp")]
    pub expires_at: i64,
    /// When it was made.
    #[serde(rename = "iat")]
    pub issued_at: i64,
    /// Who made it.
    #[serde(rename = "iss")]
    pub issuer: String,
    /// Its own name.
    #[serde(rename = "jti")]
    pub id: String,
    /// What it is bound to.
    #[serde(rename = "kubernetes.io")]
    pub bound_to: BoundTo,
    /// When it begins.
    #[serde(rename = "nbf")]
    pub not_before: i64,
    /// The name of the user.
    #[serde(rename = "sub")]
    pub subject: String,
}

/// What a token is bound to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BoundTo {
    /// The namespace of all of it.
    pub namespace: String,
    /// The Secret that it ends with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<Reference>,
    /// The ServiceAccount.
    #[serde(rename = "serviceaccount")]
    pub service_account: Reference,
}

/// An object, and no other that is called the same later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reference {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
}

/// What there is under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Its UID.
    pub uid: String,
    /// Since when it is being deleted, if it is.
    pub deleted_at: Option<Timestamp>,
}

/// Why a token is not good. Whoever sent it hears "Unauthorized" and nothing else; a TokenReview says the words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TokenError {
    /// It is none of ours.
    NotOurs,
    /// It is one of ours, and something is wrong with it.
    Invalid(String),
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOurs => f.write_str("invalid bearer token"),
            Self::Invalid(why) => write!(f, "[invalid bearer token, {why}]"),
        }
    }
}

impl std::error::Error for TokenError {}

fn wrong(why: impl Into<String>) -> TokenError {
    TokenError::Invalid(why.into())
}

impl fmt::Debug for TokenSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { issuer, audiences, key: _, key_id } = self;
        f.debug_struct("TokenSigner")
            .field("issuer", issuer)
            .field("audiences", audiences)
            .field("key", &"[redacted]")
            .field("key_id", key_id)
            .finish()
    }
}

impl TokenSigner {
    /// A signer with a secret. Its tokens are for the issuer itself unless somebody asks for other audiences.
    pub(crate) fn new(issuer: impl Into<String>, secret: &[u8; 32]) -> Self {
        let issuer = issuer.into();
        Self {
            audiences: vec![issuer.clone()],
            issuer,
            key: hmac::Key::new(hmac::HMAC_SHA256, secret),
            key_id: URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, secret)),
        }
    }

    /// The audiences of the server itself.
    pub(crate) fn audiences(&self) -> &[String] {
        &self.audiences
    }

    /// The token that says this.
    pub(crate) fn sign(&self, claims: &Claims) -> String {
        let header = json!({ "alg": "HS256", "kid": self.key_id }).to_string();
        // Through a `Value`, because Go sorts the claims.
        let claims = serde_json::to_value(claims).unwrap_or_default().to_string();
        let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
        let signature = URL_SAFE_NO_PAD.encode(hmac::sign(&self.key, signed.as_bytes()));
        format!("{signed}.{signature}")
    }

    /// What a token says, if it is one of ours, for one of these audiences, and has not run out. Whether what it is
    /// bound to is still there is another question: [`Claims::user`].
    pub(crate) fn verify(
        &self,
        token: &str,
        now: Timestamp,
        audiences: &[String],
    ) -> Result<Claims, TokenError> {
        let (signed, signature) = token.rsplit_once('.').ok_or(TokenError::NotOurs)?;
        let (header, payload) = signed.split_once('.').ok_or(TokenError::NotOurs)?;
        let decode = |part: &str| {
            let bytes = URL_SAFE_NO_PAD.decode(part).map_err(|_| TokenError::NotOurs)?;
            serde_json::from_slice::<serde_json::Value>(&bytes).map_err(|_| TokenError::NotOurs)
        };
        let (header, payload) = (decode(header)?, decode(payload)?);
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| TokenError::NotOurs)?;
        if payload["iss"] != self.issuer.as_str() {
            return Err(TokenError::NotOurs);
        }
        if header["kid"] != self.key_id.as_str() {
            return Err(wrong("invalid signature, no keys found"));
        }
        if header["alg"] != "HS256" || hmac::verify(&self.key, signed.as_bytes(), &signature).is_err() {
            return Err(wrong("go-jose/go-jose: error in cryptographic primitive"));
        }
        let claims: Claims = serde_json::from_value(payload).map_err(|_| TokenError::NotOurs)?;
        if !claims.audiences.iter().any(|audience| audiences.contains(audience)) {
            let (own, target) = (quoted_list(&claims.audiences), quoted_list(audiences));
            return Err(wrong(format!("token audiences {own} is invalid for the target audiences {target}")));
        }
        claims.check_time(now)?;
        Ok(claims)
    }
}

impl Claims {
    fn check_time(&self, now: Timestamp) -> Result<(), TokenError> {
        let (now, leeway) = (now.as_second(), LEEWAY.as_secs());
        if now.saturating_add(leeway) < self.not_before {
            return Err(wrong("service account token is not valid yet"));
        }
        if now.saturating_sub(leeway) > self.expires_at {
            return Err(wrong("service account token has expired"));
        }
        if now.saturating_add(leeway) < self.issued_at {
            return Err(wrong("service account token is issued in the future"));
        }
        Ok(())
    }

    /// The user, if the account and what else it is bound to are still there. `find` tells
    /// what there is under a plural (`serviceaccounts`, `secrets`), a namespace and a name.
    pub(crate) fn user(
        &self,
        now: Timestamp,
        find: impl Fn(&str, &str, &str) -> Option<Found>,
    ) -> Result<User, TokenError> {
        let BoundTo { namespace, secret, service_account } = &self.bound_to;
        let is_gone = |found: &Found| found.deleted_at.is_some_and(|at| at.duration_until(now) > LEEWAY);
        let account = find("serviceaccounts", namespace, &service_account.name).ok_or_else(|| {
            wrong(format!("serviceaccounts {} not found", super::quoted(&service_account.name)))
        })?;
        if account.uid != service_account.uid {
            let (there, claimed) = (&account.uid, &service_account.uid);
            return Err(wrong(format!("service account UID ({there}) does not match claim ({claimed})")));
        }
        if is_gone(&account) {
            let name = &service_account.name;
            return Err(wrong(format!("service account {namespace}/{name} has been deleted")));
        }
        if let Some(bound) = secret {
            let gone = || wrong("service account token has been invalidated");
            let secret = find("secrets", namespace, &bound.name).ok_or_else(gone)?;
            if secret.uid != bound.uid {
                return Err(wrong(format!(
                    "secret UID ({}) does not match service account secret ref claim ({})",
                    secret.uid, bound.uid
                )));
            }
            if is_gone(&secret) {
                return Err(gone());
            }
        }
        let mut user = User::service_account(namespace, &service_account.name, &service_account.uid);
        user.extra.insert(CREDENTIAL_ID.to_owned(), vec![format!("JTI={}", self.id)]);
        Ok(user)
    }
}

/// A time as objects show it: to the second.
pub(crate) fn rfc3339(time: Timestamp) -> String {
    Timestamp::from_second(time.as_second()).unwrap_or(time).to_string()
}

fn claims_for(
    signer: &TokenSigner,
    bound_to: BoundTo,
    audiences: Vec<String>,
    seconds: i64,
    id: String,
    now: Timestamp,
) -> Claims {
    let now = now.as_second();
    Claims {
        audiences,
        expires_at: now.saturating_add(seconds),
        issued_at: now,
        issuer: signer.issuer.clone(),
        id,
        subject: service_account_name(&bound_to.namespace, &bound_to.service_account.name),
        bound_to,
        not_before: now,
    }
}
