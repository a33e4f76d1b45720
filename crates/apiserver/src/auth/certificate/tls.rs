//! What the HTTPS shell needs of rustls.

use super::{CertificateAuthority, CertificateError, IssuedCertificate};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, RootCertStore, ServerConfig, SignatureScheme};
use std::sync::Arc;

/// How an HTTPS server shows who it is, and that it would like to know who its clients are: if they have a
/// certificate they may show it. Whether it is good is asked per request, of
/// [`CertificateAuthority::user_from_certificate`]: as with a real server, the answer to a bad one is 401 and not a
/// broken connection.
pub(crate) fn server_config(
    serving: &IssuedCertificate,
    clients: &CertificateAuthority,
) -> Result<Arc<ServerConfig>, CertificateError> {
    let failed = |error| CertificateError::certificate("serving with", error);
    let provider = Arc::new(ring::default_provider());
    let asking = AskForCertificate {
        hints: clients.verifier.root_hint_subjects().to_vec(),
        provider: provider.clone(),
    };
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(failed)?
        .with_client_cert_verifier(Arc::new(asking))
        .with_single_cert(vec![serving.certificate_der().clone()], serving.key_der())
        .map_err(failed)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Verifies client certificates that an authority has signed.
pub(super) fn verifier(
    authority: &CertificateDer<'static>,
) -> Result<Arc<dyn ClientCertVerifier>, CertificateError> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.clone()).map_err(|error| CertificateError::certificate("trusting", error))?;
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::new(ring::default_provider()))
        .build()
        .map_err(|error| CertificateError::certificate("trusting", error))
}

/// Takes any certificate whose key the client has.
#[derive(Debug)]
struct AskForCertificate {
    hints: Vec<DistinguishedName>,
    provider: Arc<CryptoProvider>,
}

impl ClientCertVerifier for AskForCertificate {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.hints
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
