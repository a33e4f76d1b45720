//! Assertions that a service account signs.

use crate::{Refusal, credentials::GcpKey};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use ring::{rand::SystemRandom, signature};
use rustls::pki_types::{PrivateKeyDer, pem::PemObject};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

/// Everything that the roles of the service account allow.
pub(super) const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";

/// Google accepts at most an hour.
const VALID_SECONDS: i64 = 3600;

/// A signed assertion that the bearer is the service account.
pub(super) fn assertion(key: &GcpKey, now: Timestamp) -> Result<String, Refusal> {
    let (header, claims) = (header(key), claims(key, now));
    let part = |json: Value| URL_SAFE_NO_PAD.encode(json.to_string());
    let input = format!("{}.{}", part(header), part(claims));
    let signature = URL_SAFE_NO_PAD.encode(sign(key, input.as_bytes())?);
    Ok(format!("{input}.{signature}"))
}

fn header(key: &GcpKey) -> Value {
    let mut header = json!({ "alg": "RS256", "typ": "JWT" });
    if let Some(id) = &key.private_key_id {
        header["kid"] = json!(id);
    }
    header
}

fn claims(key: &GcpKey, now: Timestamp) -> Value {
    let issued = now.as_second();
    json!({
        "iss": key.client_email,
        "aud": key.token_uri,
        "scope": SCOPE,
        "iat": issued,
        "exp": issued.saturating_add(VALID_SECONDS),
    })
}

/// RS256: PKCS #1 v1.5 over SHA-256.
fn sign(key: &GcpKey, input: &[u8]) -> Result<Vec<u8>, Refusal> {
    // No reason of the parser is passed on: it is about the key.
    let unusable = || Refusal::Other {
        code: "InvalidPrivateKey".to_owned(),
        message: "private_key is no RSA key in PEM".to_owned(),
    };
    let der = PrivateKeyDer::from_pem_slice(key.private_key.expose_secret().as_bytes());
    let pair = match der.map_err(|_| unusable())? {
        PrivateKeyDer::Pkcs8(der) => signature::RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()),
        PrivateKeyDer::Pkcs1(der) => signature::RsaKeyPair::from_der(der.secret_pkcs1_der()),
        _ => return Err(unusable()),
    };
    let pair = pair.map_err(|_| unusable())?;
    let mut signed = vec![0; pair.public().modulus_len()];
    let padding = &signature::RSA_PKCS1_SHA256;
    pair.sign(padding, &SystemRandom::new(), input, &mut signed).map_err(|_| unusable())?;
    Ok(signed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `clouds/run gcp record` has google-auth make an assertion with the key of the simulator, and writes this.
    const RECORDED: &str = include_str!("recorded.json");

    fn decoded(part: &str) -> Value {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
    }

    #[test]
    fn an_assertion_is_the_one_that_google_auth_makes() {
        let recorded: Value = serde_json::from_str(RECORDED).unwrap();
        let text = |name: &str| recorded["assertion"][name].as_str().unwrap().to_owned();
        let key = GcpKey {
            client_email: text("clientEmail"),
            private_key_id: Some(text("privateKeyId")),
            private_key: allotment_simulators::gcp::PRIVATE_KEY.into(),
            token_uri: text("tokenUri"),
        };
        let theirs = text("assertion");
        let (input, signature) = theirs.rsplit_once('.').unwrap();
        assert_eq!(URL_SAFE_NO_PAD.encode(sign(&key, input.as_bytes()).unwrap()), signature);
        let (their_header, their_claims) = input.split_once('.').unwrap();
        let issued = decoded(their_claims)["iat"].as_i64().unwrap();
        let now = Timestamp::from_second(issued).unwrap();
        assert_eq!(header(&key), decoded(their_header));
        assert_eq!(claims(&key, now), decoded(their_claims));
        let ours = assertion(&key, now).unwrap();
        let parts: Vec<&str> = ours.split('.').collect();
        assert_eq!((decoded(parts[0]), decoded(parts[1])), (header(&key), claims(&key, now)));
        assert_eq!(parts.len(), 3);
    }

    #[test]
    fn a_key_that_is_none_is_refused_without_a_word_of_it() {
        let key = GcpKey {
            client_email: "e".to_owned(),
            private_key_id: None,
            private_key: "-----BEGIN PRIVATE KEY-----\naHVzaA==\n-----END PRIVATE KEY-----\n".into(),
            token_uri: "u".to_owned(),
        };
        let refusal = assertion(&key, Timestamp::UNIX_EPOCH).unwrap_err();
        assert_eq!(refusal.code(), "InvalidPrivateKey");
        assert!(!format!("{refusal:?}").contains("aHVzaA"));
    }
}
