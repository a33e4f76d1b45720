//! Private keys: made from given random bytes, written as PEM, read from it, and used to sign.

use super::der::{self, oid};
use super::{CertificateError, pem};
use crate::auth::Randomness;
use p256::ecdsa::signature::Signer;
use ring::signature::{KeyPair, RSA_PKCS1_SHA256, RsaKeyPair};
use rsa::pkcs1::EncodeRsaPrivateKey;
use rsa::rand_core::{TryCryptoRng, TryRng};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs1KeyDer, PrivatePkcs8KeyDer, pem::PemObject};
use std::convert::Infallible;

/// What kind of key to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// RSA with 2048 bits, written as PKCS#1, which is all that Gardener reads. Takes a while to make.
    Rsa2048,
    /// ECDSA on P-256: made at once, and its signatures follow from the key (RFC 6979).
    P256,
}

pub(super) enum Key {
    Rsa { pkcs1: Vec<u8>, pair: Box<RsaKeyPair> },
    P256 { scalar: [u8; 32], signing: Box<p256::ecdsa::SigningKey> },
}

impl Key {
    pub(super) fn generate(kind: KeyKind, random: Randomness<'_>) -> Result<Self, CertificateError> {
        match kind {
            KeyKind::Rsa2048 => {
                let key = rsa::RsaPrivateKey::new(&mut Source(random), 2048);
                let key = key.map_err(|error| CertificateError::key("making", error))?;
                let pkcs1 = key.to_pkcs1_der().map_err(|error| CertificateError::key("writing", error))?;
                Self::from_pkcs1(pkcs1.as_bytes())
            }
            KeyKind::P256 => loop {
                // All but one of 2^32 numbers are below the order of the curve.
                let mut scalar = [0; 32];
                random(&mut scalar);
                if let Ok(key) = Self::from_scalar(&scalar) {
                    return Ok(key);
                }
            },
        }
    }

    pub(super) fn from_pem(text: &str) -> Result<Self, CertificateError> {
        let key = PrivateKeyDer::from_pem_slice(text.as_bytes());
        match key.map_err(|error| CertificateError::key("reading", error))? {
            PrivateKeyDer::Pkcs1(key) => Self::from_pkcs1(key.secret_pkcs1_der()),
            PrivateKeyDer::Sec1(key) => Self::from_sec1(key.secret_sec1_der()),
            PrivateKeyDer::Pkcs8(key) => Self::from_pkcs8(key.secret_pkcs8_der()),
            _ => Err(CertificateError::key("reading", "it is none of PKCS#1, PKCS#8 and SEC 1")),
        }
    }

    fn from_pkcs1(der: &[u8]) -> Result<Self, CertificateError> {
        let pair = RsaKeyPair::from_der(der).map_err(|error| CertificateError::key("reading", error))?;
        Ok(Self::Rsa { pkcs1: der.to_vec(), pair: Box::new(pair) })
    }

    fn from_pkcs8(mut der: &[u8]) -> Result<Self, CertificateError> {
        let inner = (|| {
            let mut info = der::expect(&mut der, der::SEQUENCE)?;
            der::take(&mut info)?;
            let (_, _, algorithm) = der::take(&mut info)?;
            Some((algorithm, der::expect(&mut info, der::OCTET_STRING)?))
        })();
        match inner {
            Some((algorithm, inner)) if algorithm == rsa_algorithm() => Self::from_pkcs1(inner),
            Some((algorithm, inner)) if algorithm == p256_algorithm() => Self::from_sec1(inner),
            _ => Err(CertificateError::key("reading", "it is neither RSA nor ECDSA on P-256")),
        }
    }

    fn from_sec1(mut der: &[u8]) -> Result<Self, CertificateError> {
        let scalar = der::expect(&mut der, der::SEQUENCE).and_then(|mut key| {
            der::take(&mut key)?;
            der::expect(&mut key, der::OCTET_STRING)
        });
        let scalar = scalar.and_then(|scalar| <[u8; 32]>::try_from(scalar).ok());
        Self::from_scalar(&scalar.ok_or_else(|| CertificateError::key("reading", "it is not on P-256"))?)
    }

    fn from_scalar(scalar: &[u8; 32]) -> Result<Self, CertificateError> {
        let signing = p256::ecdsa::SigningKey::from_slice(scalar);
        let signing = signing.map_err(|error| CertificateError::key("reading", error))?;
        Ok(Self::P256 { scalar: *scalar, signing: Box::new(signing) })
    }

    /// PKCS#1 for RSA, because Gardener wants it so; PKCS#8 otherwise.
    pub(super) fn to_pem(&self) -> String {
        match self {
            Self::Rsa { pkcs1, .. } => pem("RSA PRIVATE KEY", pkcs1),
            Self::P256 { .. } => pem("PRIVATE KEY", &self.to_pkcs8()),
        }
    }

    pub(super) fn to_rustls(&self) -> PrivateKeyDer<'static> {
        match self {
            Self::Rsa { pkcs1, .. } => PrivatePkcs1KeyDer::from(pkcs1.clone()).into(),
            Self::P256 { .. } => PrivatePkcs8KeyDer::from(self.to_pkcs8()).into(),
        }
    }

    fn to_pkcs8(&self) -> Vec<u8> {
        let (algorithm, key) = match self {
            Self::Rsa { pkcs1, .. } => (rsa_algorithm(), pkcs1.clone()),
            Self::P256 { scalar, .. } => {
                const PUBLIC_KEY: u8 = 0xa1;
                let public = der::value(PUBLIC_KEY, &der::bit_string(&self.public_key()));
                let scalar = der::value(der::OCTET_STRING, scalar);
                (p256_algorithm(), der::sequence(&[der::unsigned(&[1]), scalar, public]))
            }
        };
        der::sequence(&[der::unsigned(&[0]), algorithm, der::value(der::OCTET_STRING, &key)])
    }

    /// The public key alone, as key identifiers are made of it.
    pub(super) fn public_key(&self) -> Vec<u8> {
        match self {
            Self::Rsa { pair, .. } => pair.public_key().as_ref().to_vec(),
            Self::P256 { signing, .. } => signing.verifying_key().to_sec1_point(false).as_bytes().to_vec(),
        }
    }

    /// The public key as certificates carry it.
    pub(super) fn public_key_info(&self) -> Vec<u8> {
        let algorithm = match self {
            Self::Rsa { .. } => rsa_algorithm(),
            Self::P256 { .. } => p256_algorithm(),
        };
        der::sequence(&[algorithm, der::bit_string(&self.public_key())])
    }

    pub(super) fn signature_algorithm(&self) -> Vec<u8> {
        match self {
            Self::Rsa { .. } => der::sequence(&[der::object_identifier(oid::SHA256_WITH_RSA), der::null()]),
            Self::P256 { .. } => der::sequence(&[der::object_identifier(oid::ECDSA_WITH_SHA256)]),
        }
    }

    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, CertificateError> {
        match self {
            Self::Rsa { pair, .. } => {
                let mut signature = vec![0; pair.public().modulus_len()];
                // Random bytes blind the computation; the signature does not depend on them.
                let random = ring::rand::SystemRandom::new();
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature)
                    .map_err(|error| CertificateError::key("signing with", error))?;
                Ok(signature)
            }
            Self::P256 { signing, .. } => {
                let signature: p256::ecdsa::Signature = signing
                    .try_sign(message)
                    .map_err(|error| CertificateError::key("signing with", error))?;
                Ok(signature.to_der().as_bytes().to_vec())
            }
        }
    }
}

fn rsa_algorithm() -> Vec<u8> {
    der::sequence(&[der::object_identifier(oid::RSA_ENCRYPTION), der::null()])
}

fn p256_algorithm() -> Vec<u8> {
    der::sequence(&[der::object_identifier(oid::EC_PUBLIC_KEY), der::object_identifier(oid::P256)])
}

/// Random bytes from the argument, in the form that `rsa` takes them.
struct Source<'a>(Randomness<'a>);

impl TryRng for Source<'_> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        (self.0)(&mut bytes);
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        (self.0)(&mut bytes);
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        (self.0)(bytes);
        Ok(())
    }
}

impl TryCryptoRng for Source<'_> {}
