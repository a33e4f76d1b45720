//! Alibaba Cloud's signature version 3, ACS3-HMAC-SHA256, in headers.
//!
//! Our own, because the crates that have it are one person's. The tests are the example that Alibaba Cloud publishes, and requests as
//! its Python SDK sends them.

use jiff::{Timestamp, tz::TimeZone};
use ring::{digest, hmac};
use secrecy::{ExposeSecret, SecretString};

const ALGORITHM: &str = "ACS3-HMAC-SHA256";

/// The keys to sign with.
pub(super) struct Keys<'a> {
    pub(super) id: &'a SecretString,
    pub(super) secret: &'a SecretString,
}

/// A request to sign: always a POST of `/`.
pub(super) struct Unsigned<'a> {
    pub(super) host: &'a str,
    pub(super) action: &'a str,
    pub(super) version: &'a str,
    /// The query, not encoded.
    pub(super) query: &'a [(String, String)],
    pub(super) content_type: Option<&'a str>,
    pub(super) body: &'a [u8],
}

/// The headers to add, `host` and `content-type` among them. A nonce is used once: the cloud refuses a second request with it.
pub(super) fn sign(
    keys: &Keys<'_>,
    request: &Unsigned<'_>,
    now: Timestamp,
    nonce: &str,
) -> Vec<(&'static str, String)> {
    let now = now.to_zoned(TimeZone::UTC).strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let hash = sha256(request.body);
    let mut headers = Vec::new();
    headers.extend(request.content_type.map(|content_type| ("content-type", content_type.to_owned())));
    headers.extend([
        ("host", request.host.to_owned()),
        ("x-acs-action", request.action.to_owned()),
        ("x-acs-content-sha256", hash.clone()),
        ("x-acs-date", now),
        ("x-acs-signature-nonce", nonce.to_owned()),
        ("x-acs-version", request.version.to_owned()),
    ]);
    let authorization = authorization(keys, request.query, &headers, &hash);
    headers.push(("authorization", authorization));
    headers
}

/// The header that proves who sends a request. `headers` are in the order of their names: they are signed like that.
fn authorization(
    keys: &Keys<'_>,
    query: &[(String, String)],
    headers: &[(&'static str, String)],
    hash: &str,
) -> String {
    let signed = headers.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
    let lines: String = headers.iter().map(|(name, value)| format!("{name}:{}\n", value.trim())).collect();
    let canonical = format!("POST\n/\n{}\n{lines}\n{signed}\n{hash}", encode_query(query));
    let to_sign = format!("{ALGORITHM}\n{}", sha256(canonical.as_bytes()));
    let key = hmac::Key::new(hmac::HMAC_SHA256, keys.secret.expose_secret().as_bytes());
    let signature = hex(hmac::sign(&key, to_sign.as_bytes()).as_ref());
    let id = keys.id.expose_secret();
    format!("{ALGORITHM} Credential={id},SignedHeaders={signed},Signature={signature}")
}

/// A query or a form as it is signed and sent: sorted by name, then encoded.
pub(super) fn encode_query(query: &[(String, String)]) -> String {
    let mut pairs: Vec<_> = query.iter().collect();
    pairs.sort();
    let pairs = pairs.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// Percent-encodes all but the unreserved characters.
fn encode(text: &str) -> String {
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

fn sha256(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

/// Bytes in hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    /// "V3 request structure and signature" in the documentation of Alibaba Cloud SDK, the example with fixed values.
    #[test]
    fn the_signature_is_that_of_the_published_example() {
        let (id, secret) = ("YourAccessKeyId".into(), "YourAccessKeySecret".into());
        let query = pairs(&[
            ("RegionId", "cn-shanghai"),
            ("ImageId", "win2019_1809_x64_dtc_zh-cn_40G_alibase_20230811.vhd"),
        ]);
        let request = Unsigned {
            host: "ecs.cn-shanghai.aliyuncs.com",
            action: "RunInstances",
            version: "2014-05-26",
            query: &query,
            content_type: None,
            body: b"",
        };
        let now = "2023-10-26T10:22:32Z".parse().unwrap();
        let headers =
            sign(&Keys { id: &id, secret: &secret }, &request, now, "3156853299f313e23d1673dc12e1703d");
        assert_eq!(
            headers.last().unwrap().1,
            "ACS3-HMAC-SHA256 Credential=YourAccessKeyId,SignedHeaders=host;x-acs-action;x-acs-content-sha256;x-acs-date;\
             x-acs-signature-nonce;x-acs-version,Signature=06563a9e1b43f5dfe96b81484da74bceab24a1d853912eee15083a6f0f3283c0"
        );
    }

    /// Requests that alibabacloud-tea-openapi 0.4.6 sent to a server that wrote them down: a query with characters that have to be
    /// encoded (`DescribeInstances`), and a form (`DeleteLoadBalancer` of NLB).
    #[test]
    fn signatures_are_those_of_the_sdk() {
        let (id, secret) = ("LTAIexample".into(), "secretexample".into());
        let keys = Keys { id: &id, secret: &secret };
        let agent = "AlibabaCloud (Linux; x86_64) Python/3.11.7 Core/0.4.3 TeaDSL/2";
        let headers = |content_type: Option<&'static str>, rest: [&str; 4]| {
            let [action, hash, nonce, version] = rest.map(str::to_owned);
            let mut headers = vec![("accept", "application/json".to_owned())];
            headers.extend(content_type.map(|content_type| ("content-type", content_type.to_owned())));
            headers.extend([
                ("host", "127.0.0.1:42085".to_owned()),
                ("user-agent", agent.to_owned()),
                ("x-acs-action", action),
                ("x-acs-content-sha256", hash),
                ("x-acs-credentials-provider", "static_ak".to_owned()),
                ("x-acs-date", "2026-11-18T00:29:50Z".to_owned()),
                ("x-acs-signature-nonce", nonce),
                ("x-acs-version", version),
            ]);
            headers
        };
        let query = pairs(&[
            ("Tag.1.Value", "ü"),
            ("Tag.1.Key", "a b/c*~"),
            ("RegionId", "eu-central-1"),
            ("MaxResults", "100"),
        ]);
        let (hash, nonce) = (sha256(b""), "a7753db998f279aeb4d94d844469ec74");
        let read = headers(None, ["DescribeInstances", &hash, nonce, "2014-05-26"]);
        let signature = "abcd525b92dfe4bb17885e3890c66f5aff508405f649d1137072bdd89438c98c";
        assert!(authorization(&keys, &query, &read, &hash).ends_with(signature));
        let (hash, nonce) = (
            sha256(b"LoadBalancerId=nlb-%C3%BC+1&RegionId=eu-central-1"),
            "6de1ec9b283bc75c7c9aab44c16f7141",
        );
        let form = Some("application/x-www-form-urlencoded");
        let write = headers(form, ["DeleteLoadBalancer", &hash, nonce, "2022-04-30"]);
        let signature = "709b40ecbb95227210c7e4f3d4551ea71b4e26c74a62e49ecbbbe5c6b7ea76ef";
        assert!(authorization(&keys, &[], &write, &hash).ends_with(signature));
    }

    #[test]
    fn queries_are_sorted_and_encoded() {
        assert_eq!(encode_query(&pairs(&[("B", "a b"), ("A.1", "[\"x\"]")])), "A.1=%5B%22x%22%5D&B=a%20b");
    }
}
