//! AWS Signature Version 4, in headers.
//!
//! Our own, because the crates are heavy for a hundred lines: aws-sigv4 brings 20 crates that nothing else here needs, and
//! reqsign reads profiles, files and metadata servers. The tests are vectors of the suite that AWS publishes.

use jiff::{Timestamp, tz::TimeZone};
use ring::{digest, hmac};
use secrecy::{ExposeSecret, SecretString};

/// The keys to sign with.
pub(super) struct Keys<'a> {
    pub(super) id: &'a SecretString,
    pub(super) secret: &'a SecretString,
    pub(super) token: Option<&'a SecretString>,
}

/// A request to sign.
pub(super) struct Unsigned<'a> {
    pub(super) method: &'a str,
    pub(super) host: &'a str,
    /// The path, encoded as it is sent; its segments are not empty, `.` or `..`.
    pub(super) path: &'a str,
    /// The query, not encoded.
    pub(super) query: &'a [(String, String)],
    pub(super) content_type: Option<&'a str>,
    pub(super) body: &'a [u8],
    pub(super) service: &'a str,
    pub(super) region: &'a str,
}

/// The headers to add, `host` and `content-type` among them.
pub(super) fn sign(keys: &Keys<'_>, request: &Unsigned<'_>, now: Timestamp) -> Vec<(&'static str, String)> {
    let now = now.to_zoned(TimeZone::UTC);
    let (day, time) = (now.strftime("%Y%m%d").to_string(), now.strftime("%Y%m%dT%H%M%SZ").to_string());
    let mut headers = Vec::new();
    // In the order of their names: they are signed like that.
    if let Some(content_type) = request.content_type {
        headers.push(("content-type", content_type.to_owned()));
    }
    headers.push(("host", request.host.to_owned()));
    headers.push(("x-amz-date", time.clone()));
    if let Some(token) = keys.token {
        headers.push(("x-amz-security-token", token.expose_secret().to_owned()));
    }
    let signed = headers.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
    let canonical = canonical(request, &headers, &signed);
    let scope = format!("{day}/{}/{}/aws4_request", request.region, request.service);
    let to_sign = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", sha256(canonical.as_bytes()));
    let signature = hex(&mac(&signing_key(keys, &day, request), &to_sign));
    let id = keys.id.expose_secret();
    headers.push((
        "authorization",
        format!("AWS4-HMAC-SHA256 Credential={id}/{scope}, SignedHeaders={signed}, Signature={signature}"),
    ));
    headers
}

fn canonical(request: &Unsigned<'_>, headers: &[(&'static str, String)], signed: &str) -> String {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}:{}\n", value.trim())).collect();
    let hash = sha256(request.body);
    let (method, path, query) = (request.method, request.path, encode_query(request.query));
    format!("{method}\n{path}\n{query}\n{headers}\n{signed}\n{hash}")
}

/// The query as it is signed and sent: encoded, then sorted.
pub(super) fn encode_query(query: &[(String, String)]) -> String {
    let mut pairs: Vec<_> = query.iter().map(|(name, value)| (encode(name), encode(value))).collect();
    pairs.sort();
    pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

/// Percent-encodes all but the unreserved characters.
pub(super) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

fn signing_key(keys: &Keys<'_>, day: &str, request: &Unsigned<'_>) -> Vec<u8> {
    let secret = format!("AWS4{}", keys.secret.expose_secret());
    let parts = [day, request.region, request.service, "aws4_request"];
    parts.iter().fold(secret.into_bytes(), |key, part| mac(&key, part))
}

fn mac(key: &[u8], message: &str) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    hmac::sign(&key, message.as_bytes()).as_ref().to_vec()
}

fn sha256(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A case of the published suite: method, path, query, token, signature.
    type Case = (
        &'static str,
        &'static str,
        &'static [(&'static str, &'static str)],
        Option<&'static str>,
        &'static str,
    );

    const TOKEN: &str = "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267";

    /// get-vanilla, post-vanilla, get-vanilla-query-order-key-case, get-vanilla-with-session-token, get-utf8 and
    /// get-vanilla-query-unreserved.
    const SUITE: &[Case] = &[
        ("GET", "/", &[], None, "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        ("POST", "/", &[], None, "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        (
            "GET",
            "/",
            &[("Param2", "value2"), ("Param1", "value1")],
            None,
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
        ),
        ("GET", "/", &[], Some(TOKEN), "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8"),
        ("GET", "/%E1%88%B4", &[], None, "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"),
        (
            "GET",
            "/",
            &[(
                "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
                "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
            )],
            None,
            "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197",
        ),
    ];

    #[test]
    fn signatures_are_those_of_the_published_suite() {
        for (method, path, query, token, expected) in SUITE {
            let (id, secret) = ("AKIDEXAMPLE".into(), "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".into());
            let token = token.map(SecretString::from);
            let keys = Keys { id: &id, secret: &secret, token: token.as_ref() };
            let query: Vec<_> =
                query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let request = Unsigned {
                method,
                host: "example.amazonaws.com",
                path,
                query: &query,
                content_type: None,
                body: b"",
                service: "service",
                region: "us-east-1",
            };
            let headers = sign(&keys, &request, "2015-08-30T12:36:00Z".parse().unwrap());
            let (_, authorization) = headers.last().unwrap();
            assert!(
                authorization.ends_with(&format!("Signature={expected}")),
                "{method} {path}: {authorization}"
            );
        }
    }

    #[test]
    fn a_form_is_encoded_as_aws_does() {
        assert_eq!(encode("a b/c+ü~"), "a%20b%2Fc%2B%C3%BC~");
        let query = [("B".to_owned(), "2".to_owned()), ("A".to_owned(), "1&2".to_owned())];
        assert_eq!(encode_query(&query), "A=1%262&B=2");
    }
}
