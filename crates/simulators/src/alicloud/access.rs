//! Who calls, and whether the signature is right: of the bytes that came.

use super::{
    account::State,
    answers::{Refused, refuse},
    parameters::Parameters,
};
use bytes::Bytes;
use http::Request;
use jiff::{SignedDuration, Timestamp};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ring::{digest, hmac};
use std::collections::{BTreeMap, BTreeSet};

/// Everything but the unreserved characters.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

const TOLERATED: SignedDuration = SignedDuration::from_mins(15);

/// The services, by the version of their APIs.
const SERVICES: &[(&str, &str)] = &[
    ("2014-05-26", "ecs"),
    ("2016-04-28", "vpc"),
    ("2014-05-15", "slb"),
    ("2022-04-30", "nlb"),
    ("2019-09-10", "ros"),
    ("2015-04-01", "sts"),
];

pub(super) struct Call {
    pub(super) service: &'static str,
    pub(super) action: String,
    pub(super) parameters: Parameters,
    pub(super) nonce: String,
    key: String,
    signed: Vec<String>,
    signature: String,
}

impl Call {
    /// As a policy names it.
    pub(super) fn permission(&self) -> String {
        format!("{}:{}", self.service, self.action)
    }
}

pub(super) struct Caller {
    pub(super) account: String,
    pub(super) is_admin: bool,
}

fn header<'a>(request: &'a Request<Bytes>, name: &str) -> &'a str {
    request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Reads a call, before anything is checked.
pub(super) fn read(request: &Request<Bytes>) -> Result<Call, Refused> {
    let version = header(request, "x-acs-version");
    let Some((_, service)) = SERVICES.iter().find(|(known, _)| *known == version) else {
        return Err(refuse(400, "InvalidVersion", "The specified parameter Version is not valid."));
    };
    let authorization = header(request, "authorization");
    let Some(rest) = authorization.strip_prefix("ACS3-HMAC-SHA256 ") else {
        return Err(refuse(
            400,
            "IncompleteSignature",
            "The request signature does not conform to standards.",
        ));
    };
    let parts: BTreeMap<&str, &str> =
        rest.split(',').filter_map(|part| part.trim().split_once('=')).collect();
    let part = |name: &str| parts.get(name).copied().unwrap_or_default().to_owned();
    let mut parameters = pairs(request.uri().query().unwrap_or_default());
    let is_form = header(request, "content-type").starts_with("application/x-www-form-urlencoded");
    if is_form {
        parameters.extend(pairs(&String::from_utf8_lossy(request.body())));
    }
    Ok(Call {
        service,
        action: header(request, "x-acs-action").to_owned(),
        parameters: Parameters(parameters),
        nonce: header(request, "x-acs-signature-nonce").to_owned(),
        key: part("Credential"),
        signed: part("SignedHeaders").split(';').map(str::to_owned).collect(),
        signature: part("Signature"),
    })
}

fn pairs(encoded: &str) -> BTreeMap<String, String> {
    form_urlencoded::parse(encoded.as_bytes()).into_owned().collect()
}

/// Finds the owner of the key and checks time, nonce and signature.
pub(super) fn authenticate(
    accounts: &BTreeMap<String, State>,
    call: &Call,
    request: &Request<Bytes>,
    nonces: &BTreeSet<String>,
) -> Result<Caller, Refused> {
    let owner = accounts.values().find_map(|state| state.keys.get(&call.key).map(|key| (state, key)));
    let Some((state, key)) = owner else {
        return Err(refuse(404, "InvalidAccessKeyId.NotFound", "Specified access key is not found."));
    };
    if !key.is_active {
        return Err(refuse(403, "InvalidAccessKeyId.Inactive", "Specified access key is disabled."));
    }
    let now = Timestamp::now() + state.skew;
    let sent: Option<Timestamp> = header(request, "x-acs-date").parse().ok();
    if sent.is_none_or(|sent| now.duration_since(sent).abs() > TOLERATED) {
        let message = "Specified time stamp or date value is expired.";
        return Err(refuse(400, "InvalidTimeStamp.Expired", message).at(now));
    }
    if call.nonce.is_empty() || nonces.contains(&call.nonce) {
        return Err(refuse(400, "SignatureNonceUsed", "Specified signature nonce was used already."));
    }
    let hash = hex(digest::digest(&digest::SHA256, request.body()).as_ref());
    let needed = [
        "host",
        "x-acs-action",
        "x-acs-content-sha256",
        "x-acs-date",
        "x-acs-signature-nonce",
        "x-acs-version",
    ];
    let has_all = needed.iter().all(|name| call.signed.iter().any(|signed| signed == name));
    if !has_all || header(request, "x-acs-content-sha256") != hash {
        return Err(refuse(
            400,
            "IncompleteSignature",
            "The request signature does not conform to standards.",
        ));
    }
    let to_sign = to_sign(call, request, &hash);
    let secret = hmac::Key::new(hmac::HMAC_SHA256, key.secret.as_bytes());
    if hex(hmac::sign(&secret, to_sign.as_bytes()).as_ref()) != call.signature {
        let message =
            format!("Specified signature does not match our calculation. server string to sign is:{to_sign}");
        return Err(refuse(400, "SignatureDoesNotMatch", &message));
    }
    Ok(Caller { account: state.id.clone(), is_admin: key.is_admin })
}

fn to_sign(call: &Call, request: &Request<Bytes>, hash: &str) -> String {
    let query = pairs(request.uri().query().unwrap_or_default());
    let encode = |text: &str| utf8_percent_encode(text, ENCODED).to_string();
    let query: Vec<String> =
        query.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
    let headers: String =
        call.signed.iter().map(|name| format!("{name}:{}\n", header(request, name).trim())).collect();
    let canonical = format!(
        "{}\n{}\n{}\n{headers}\n{}\n{hash}",
        request.method(),
        request.uri().path(),
        query.join("&"),
        call.signed.join(";")
    );
    format!("ACS3-HMAC-SHA256\n{}", hex(digest::digest(&digest::SHA256, canonical.as_bytes()).as_ref()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
