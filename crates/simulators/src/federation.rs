//! Tokens of an issuer outside of a cloud: the trust that workload identities rest on.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use serde_json::Value;

/// The issuer, audience and subject whose tokens a cloud accepts.
#[derive(Clone, Debug)]
pub struct Trust {
    /// The issuer.
    pub issuer: String,
    /// Its public keys. A real cloud fetches them from the issuer.
    pub jwks: Value,
    /// The audience.
    pub audience: String,
    /// The subject.
    pub subject: String,
}

/// The reason why a token is not accepted. Clouds tell these apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistrust {
    /// It is no signed token, or no key of the issuer signed it.
    Signature,
    /// It has ended, or has not begun.
    Time,
    /// Another issuer.
    Issuer,
    /// Another audience.
    Audience,
    /// Another subject.
    Subject,
}

impl Trust {
    /// Whether a token is accepted, its subject included.
    pub(crate) fn accepts(&self, token: &str) -> Result<(), Mistrust> {
        let subject = self.subject_of(token)?;
        if subject == self.subject { Ok(()) } else { Err(Mistrust::Subject) }
    }

    /// The subject of a token of the issuer that is for the audience.
    pub(crate) fn subject_of(&self, token: &str) -> Result<String, Mistrust> {
        let claims = self.signed(token).ok_or(Mistrust::Signature)?;
        let text = |name: &str| claims.get(name).and_then(Value::as_str).unwrap_or_default();
        if text("iss") != self.issuer {
            return Err(Mistrust::Issuer);
        }
        let time = |name: &str| claims.get(name).and_then(Value::as_i64).ok_or(Mistrust::Time);
        let now = Timestamp::now().as_second();
        if time("exp")? <= now || time("nbf")? > now + 1 {
            return Err(Mistrust::Time);
        }
        let audiences = match claims.get("aud") {
            Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
            Some(Value::String(one)) => vec![one.as_str()],
            _ => Vec::new(),
        };
        if !audiences.contains(&self.audience.as_str()) {
            return Err(Mistrust::Audience);
        }
        Ok(text("sub").to_owned())
    }

    /// The claims, if a key of the issuer signed them with ES256.
    fn signed(&self, token: &str) -> Option<Value> {
        let (input, signature) = token.rsplit_once('.')?;
        let (header, claims) = input.split_once('.')?;
        let header = decoded(header)?;
        if header.get("alg")? != "ES256" {
            return None;
        }
        let keys = self.jwks.get("keys")?.as_array()?;
        let key = keys.iter().find(|key| key.get("kid") == header.get("kid"))?;
        let coordinate = |name: &str| URL_SAFE_NO_PAD.decode(key.get(name)?.as_str()?).ok();
        // The byte tells that both coordinates follow.
        let point = [vec![4], coordinate("x")?, coordinate("y")?].concat();
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
        public.verify(input.as_bytes(), &signature).ok()?;
        decoded(claims)
    }
}

fn decoded(part: &str) -> Option<Value> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "these are tests")]
mod tests {
    use super::*;
    use ring::{
        rand::SystemRandom,
        signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair},
    };
    use serde_json::json;

    /// The example of RFC 7515, A.3: a key, and what it signed.
    const X: &str = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU";
    const Y: &str = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0";
    const SIGNED: &str = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.\
        DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";

    fn trust(jwks: Value) -> Trust {
        let text = str::to_owned;
        Trust { issuer: text("joe"), jwks, audience: text("cloud"), subject: text("identity") }
    }

    #[test]
    fn the_signature_of_the_standard_is_verified() {
        let known = trust(json!({ "keys": [{ "kty": "EC", "crv": "P-256", "x": X, "y": Y }] }));
        assert_eq!(known.signed(SIGNED).unwrap()["iss"], "joe");
        assert_eq!(known.accepts(SIGNED), Err(Mistrust::Time), "it ended in 2011");
        let forged = SIGNED.replace("eyJpc3MiOiJqb2UiLA0", "eyJpc3MiOiJqb2UiLB0");
        assert_eq!(known.accepts(&forged), Err(Mistrust::Signature));
    }

    #[test]
    fn every_claim_counts() {
        let (random, algorithm) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random).unwrap();
        let point = &pair.public_key().as_ref()[1..];
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let key = json!({ "kid": "k", "x": encode(&point[..32]), "y": encode(&point[32..]) });
        let known = trust(json!({ "keys": [key] }));
        let now = Timestamp::now().as_second();
        let token = |change: Value| {
            let mut claims =
                json!({ "iss": "joe", "aud": ["cloud"], "sub": "identity", "exp": now + 60, "nbf": now });
            for (name, value) in change.as_object().unwrap() {
                claims[name] = value.clone();
            }
            let header = encode(json!({ "alg": "ES256", "kid": "k" }).to_string().as_bytes());
            let input = format!("{header}.{}", encode(claims.to_string().as_bytes()));
            let signature = pair.sign(&random, input.as_bytes()).unwrap();
            format!("{input}.{}", encode(signature.as_ref()))
        };
        assert_eq!(known.accepts(&token(json!({}))), Ok(()));
        for (change, expected) in [
            (json!({ "iss": "jim" }), Mistrust::Issuer),
            (json!({ "aud": ["another"] }), Mistrust::Audience),
            (json!({ "sub": "somebody" }), Mistrust::Subject),
            (json!({ "exp": now - 1 }), Mistrust::Time),
            (json!({ "nbf": now + 60 }), Mistrust::Time),
            (json!({ "nbf": null }), Mistrust::Time),
        ] {
            assert_eq!(known.accepts(&token(change.clone())), Err(expected), "{change}");
        }
        assert_eq!(known.accepts("a.b.c"), Err(Mistrust::Signature));
        let strangers = trust(json!({ "keys": [{ "kid": "k", "x": X, "y": Y }] }));
        assert_eq!(strangers.accepts(&token(json!({}))), Err(Mistrust::Signature));
    }
}
