//! An issuer of tokens, in place of a garden.

use allotment_clouds::{
    Answer,
    credentials::{AwsCredentials, WorkloadToken},
};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use futures::FutureExt;
use jiff::Timestamp;
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair},
};
use secrecy::SecretString;
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

const URL: &str = "https://issuer.example";

/// Signs tokens, and counts them.
pub struct Issuer {
    key: EcdsaKeyPair,
    random: SystemRandom,
    pub issued: AtomicU32,
}

impl Issuer {
    pub fn new() -> Self {
        let (random, algorithm) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random).unwrap();
        Self { key, random, issued: AtomicU32::new(0) }
    }

    /// What a role of the test cloud has to know of it.
    pub fn trust(&self) -> Value {
        // One byte says that both coordinates follow.
        let point = &self.key.public_key().as_ref()[1..];
        let key = json!({ "kid": "k", "alg": "ES256", "kty": "EC", "crv": "P-256", "x": encode(&point[..32]), "y": encode(&point[32..]) });
        json!({ "issuer": URL, "audience": "cloud", "subject": "identity", "jwks": { "keys": [key] } })
    }

    pub fn credentials(self: &Arc<Self>, role: &str) -> AwsCredentials {
        let config = json!({
            "apiVersion": "aws.provider.extensions.gardener.cloud/v1alpha1", "kind": "WorkloadIdentityConfig", "roleARN": role,
        });
        AwsCredentials::of_workload(&config, self.clone()).unwrap()
    }
}

impl WorkloadToken for Issuer {
    fn token(&self) -> Answer<'_, SecretString> {
        self.issued.fetch_add(1, Ordering::Relaxed);
        let now = Timestamp::now().as_second();
        let claims = json!({ "iss": URL, "sub": "identity", "aud": ["cloud"], "iat": now, "nbf": now, "exp": now + 600 });
        let header = json!({ "alg": "ES256", "kid": "k" });
        let signed =
            format!("{}.{}", encode(header.to_string().as_bytes()), encode(claims.to_string().as_bytes()));
        let signature = self.key.sign(&self.random, signed.as_bytes()).unwrap();
        let token = format!("{signed}.{}", encode(signature.as_ref()));
        async move { Ok(SecretString::from(token)) }.boxed()
    }
}

fn encode(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}
