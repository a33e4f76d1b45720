//! Certificates: an authority that makes itself, what it issues, and who a client certificate says somebody is.
//!
//! They are written here rather than by `rcgen`, because a user may be in several groups and `rcgen` writes each
//! attribute of a subject once; and because everything follows from the random bytes that are given. They are
//! verified by webpki.

mod der;
mod key;
#[cfg(test)]
mod tests;
mod tls;

pub use key::KeyKind;
pub(crate) use tls::server_config;

use super::{CREDENTIAL_ID, Randomness, User, hex};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use der::oid;
use jiff::{SignedDuration, Timestamp};
use key::Key;
use ring::digest;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime, pem::PemObject};
use rustls::server::danger::ClientCertVerifier;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// Clocks differ: what is issued is good a little earlier, as Gardener does it.
const BEFORE: SignedDuration = SignedDuration::from_mins(1);

/// What did not work about a key or a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateError(String);

impl CertificateError {
    fn key(doing: &str, why: impl fmt::Display) -> Self {
        Self(format!("{doing} a private key: {why}"))
    }

    fn certificate(doing: &str, why: impl fmt::Display) -> Self {
        Self(format!("{doing} a certificate: {why}"))
    }
}

impl fmt::Display for CertificateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CertificateError {}

/// Signs certificates, and recognises those it has signed.
pub struct CertificateAuthority {
    key: Key,
    certificate: CertificateDer<'static>,
    verifier: Arc<dyn ClientCertVerifier>,
}

/// A certificate that was issued, and its key. It prints without its secret.
pub struct IssuedCertificate {
    certificate: CertificateDer<'static>,
    key: Key,
}

impl fmt::Debug for CertificateAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CertificateAuthority").field("key", &"[redacted]").finish_non_exhaustive()
    }
}

impl fmt::Debug for IssuedCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IssuedCertificate").field("key", &"[redacted]").finish_non_exhaustive()
    }
}

/// A name or an address under which a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerName {
    /// A name: `localhost`.
    Dns(String),
    /// An address: `127.0.0.1`.
    Ip(IpAddr),
}

impl CertificateAuthority {
    /// Makes an authority with a new key.
    pub fn generate(
        kind: KeyKind,
        name: &str,
        now: Timestamp,
        not_after: Timestamp,
        random: Randomness<'_>,
    ) -> Result<Self, CertificateError> {
        let key = Key::generate(kind, random)?;
        let subject = subject(name, &[]);
        let certificate = Unsigned {
            issuer: &subject,
            subject: &subject,
            public_key: &key,
            not_before: now,
            not_after,
            extensions: vec![
                // May sign certificates and lists of those withdrawn, and nothing else.
                extension(oid::KEY_USAGE, true, &der::value(der::BIT_STRING, &[1, 0x06])),
                extension(oid::BASIC_CONSTRAINTS, true, &der::sequence(&[der::boolean(true)])),
            ],
        };
        let certificate = certificate.sign(&key, random)?;
        Self::new(key, certificate)
    }

    /// Reads an authority: a certificate, and its key as PKCS#1, PKCS#8 or SEC 1.
    pub fn from_pem(certificate_pem: &str, key_pem: &str) -> Result<Self, CertificateError> {
        let key = Key::from_pem(key_pem)?;
        let certificate = CertificateDer::from_pem_slice(certificate_pem.as_bytes());
        let certificate = certificate.map_err(|error| CertificateError::certificate("reading", error))?;
        let parts = der::certificate_parts(&certificate);
        let parts = parts.ok_or_else(|| CertificateError::certificate("reading", "it is malformed"))?;
        if parts.public_key != key.public_key_info() {
            return Err(CertificateError::certificate("reading", "the key is that of another"));
        }
        Self::new(key, certificate)
    }

    fn new(key: Key, certificate: CertificateDer<'static>) -> Result<Self, CertificateError> {
        let verifier = tls::verifier(&certificate)?;
        Ok(Self { key, certificate, verifier })
    }

    /// The certificate of the authority itself.
    pub fn certificate_pem(&self) -> String {
        pem("CERTIFICATE", &self.certificate)
    }

    /// Its key: PKCS#1 for RSA, PKCS#8 for ECDSA.
    pub fn key_pem(&self) -> String {
        self.key.to_pem()
    }

    /// Issues a certificate by which somebody shows who they are.
    pub fn issue_client(
        &self,
        kind: KeyKind,
        user: &str,
        groups: &[String],
        now: Timestamp,
        not_after: Timestamp,
        random: Randomness<'_>,
    ) -> Result<IssuedCertificate, CertificateError> {
        let client = der::sequence(&[der::object_identifier(oid::CLIENT_AUTH)]);
        let extensions = vec![extension(oid::EXTENDED_KEY_USAGE, false, &client)];
        self.issue(kind, &subject(user, groups), extensions, now, not_after, random)
    }

    /// Issues a certificate by which a server shows who it is.
    pub fn issue_serving(
        &self,
        kind: KeyKind,
        names: &[ServerName],
        now: Timestamp,
        not_after: Timestamp,
        random: Randomness<'_>,
    ) -> Result<IssuedCertificate, CertificateError> {
        const DNS: u8 = 0x82;
        const IP: u8 = 0x87;
        let sans: Vec<Vec<u8>> = names
            .iter()
            .map(|name| match name {
                ServerName::Dns(name) => der::value(DNS, name.as_bytes()),
                ServerName::Ip(IpAddr::V4(address)) => der::value(IP, &address.octets()),
                ServerName::Ip(IpAddr::V6(address)) => der::value(IP, &address.octets()),
            })
            .collect();
        let server = der::sequence(&[der::object_identifier(oid::SERVER_AUTH)]);
        let extensions = vec![
            extension(oid::EXTENDED_KEY_USAGE, false, &server),
            extension(oid::SUBJECT_ALT_NAME, false, &der::sequence(&sans)),
        ];
        self.issue(kind, &subject("kube-apiserver", &[]), extensions, now, not_after, random)
    }

    fn issue(
        &self,
        kind: KeyKind,
        subject: &[u8],
        mut extensions: Vec<Vec<u8>>,
        now: Timestamp,
        not_after: Timestamp,
        random: Randomness<'_>,
    ) -> Result<IssuedCertificate, CertificateError> {
        const SIGNATURES_AND_KEYS: [u8; 2] = [5, 0xa0];
        const KEY_ID: u8 = 0x80;
        let key = Key::generate(kind, random)?;
        let authority = der::certificate_parts(&self.certificate);
        let authority =
            authority.ok_or_else(|| CertificateError::certificate("reading", "it is malformed"))?;
        let authority_key_id = der::sequence(&[der::value(KEY_ID, &key_id(&self.key))]);
        extensions.push(extension(oid::KEY_USAGE, true, &der::value(der::BIT_STRING, &SIGNATURES_AND_KEYS)));
        extensions.push(extension(oid::AUTHORITY_KEY_ID, false, &authority_key_id));
        let certificate = Unsigned {
            issuer: authority.subject,
            subject,
            public_key: &key,
            not_before: now,
            not_after,
            extensions,
        };
        Ok(IssuedCertificate { certificate: certificate.sign(&self.key, random)?, key })
    }

    /// Whom a client certificate is about, if this authority has signed it, for clients, and it is good now.
    pub fn user_from_certificate(&self, certificate: &[u8], now: Timestamp) -> Option<User> {
        let shown = CertificateDer::from(certificate);
        let seconds = u64::try_from(now.as_second()).ok()?;
        let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        self.verifier.verify_client_cert(&shown, &[], now).ok()?;
        let parts = der::certificate_parts(certificate)?;
        let mut user = User::default();
        for (which, text) in der::name_attributes(parts.subject)? {
            match which {
                oid::COMMON_NAME => user.name = text,
                oid::ORGANIZATION => user.groups.push(text),
                oid::KUBERNETES_UID => user.uid = text,
                _ => {}
            }
        }
        let fingerprint = hex(digest::digest(&digest::SHA256, certificate).as_ref());
        user.extra.insert(CREDENTIAL_ID.to_owned(), vec![format!("X509SHA256={fingerprint}")]);
        (!user.name.is_empty()).then(|| user.authenticated())
    }
}

impl IssuedCertificate {
    /// The certificate.
    pub fn certificate_pem(&self) -> String {
        pem("CERTIFICATE", &self.certificate)
    }

    /// The certificate in the form that goes over the wire.
    pub fn certificate_der(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// The key: PKCS#1 for RSA, PKCS#8 for ECDSA.
    pub fn key_pem(&self) -> String {
        self.key.to_pem()
    }

    /// The key as rustls takes it.
    pub fn key_der(&self) -> PrivateKeyDer<'static> {
        self.key.to_rustls()
    }
}

/// A certificate before it is signed.
struct Unsigned<'a> {
    issuer: &'a [u8],
    subject: &'a [u8],
    public_key: &'a Key,
    not_before: Timestamp,
    not_after: Timestamp,
    extensions: Vec<Vec<u8>>,
}

impl Unsigned<'_> {
    fn sign(mut self, by: &Key, random: Randomness<'_>) -> Result<CertificateDer<'static>, CertificateError> {
        const VERSION: u8 = 0xa0;
        const EXTENSIONS: u8 = 0xa3;
        let id = der::value(der::OCTET_STRING, &key_id(self.public_key));
        self.extensions.push(extension(oid::SUBJECT_KEY_ID, false, &id));
        let mut serial = [0; 16];
        random(&mut serial);
        // Neither zero nor negative.
        serial[0] = (serial[0] & 0x7f) | 0x40;
        let not_before = self.not_before.checked_sub(BEFORE).unwrap_or(self.not_before);
        let body = der::sequence(&[
            der::value(VERSION, &der::unsigned(&[2])),
            der::unsigned(&serial),
            by.signature_algorithm(),
            self.issuer.to_vec(),
            der::sequence(&[der::time(not_before), der::time(self.not_after)]),
            self.subject.to_vec(),
            self.public_key.public_key_info(),
            der::value(EXTENSIONS, &der::sequence(&self.extensions)),
        ]);
        let signature = der::bit_string(&by.sign(&body)?);
        Ok(der::sequence(&[body, by.signature_algorithm(), signature]).into())
    }
}

fn extension(which: &[u8], is_critical: bool, content: &[u8]) -> Vec<u8> {
    let mut parts = vec![der::object_identifier(which)];
    if is_critical {
        parts.push(der::boolean(true));
    }
    parts.push(der::value(der::OCTET_STRING, content));
    der::sequence(&parts)
}

/// Twenty bytes that stand for a key, as RFC 7093 makes them.
fn key_id(key: &Key) -> Vec<u8> {
    digest::digest(&digest::SHA256, &key.public_key()).as_ref()[..20].to_vec()
}

fn subject(name: &str, groups: &[String]) -> Vec<u8> {
    let attribute = |which: &[u8], text: &str| {
        let text = der::value(der::UTF8_STRING, text.as_bytes());
        der::value(der::SET, &der::sequence(&[der::object_identifier(which), text]))
    };
    let groups = groups.iter().map(|group| attribute(oid::ORGANIZATION, group));
    let parts: Vec<Vec<u8>> = groups.chain([attribute(oid::COMMON_NAME, name)]).collect();
    der::sequence(&parts)
}

fn pem(label: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let mut out = format!("-----BEGIN {label}-----\n");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, tail) = rest.split_at(rest.len().min(64));
        out.push_str(line);
        out.push('\n');
        rest = tail;
    }
    out.push_str(&format!("-----END {label}-----\n"));
    out
}
