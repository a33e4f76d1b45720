//! TLS for PostgreSQL: rustls, and the server's certificate is always checked.

use super::address::TlsFiles;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject},
};
use rustls_platform_verifier::Verifier;
use std::{io, path::Path, sync::Arc};

/// Reads the files, anew for each connection: certificates are renewed.
pub(super) fn config(files: &TlsFiles) -> io::Result<ClientConfig> {
    let TlsFiles { root, identity, any_name } = files;
    let provider: Arc<CryptoProvider> = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| io::Error::other(format!("TLS cannot be used: {error}")))?;
    let verifier: Arc<dyn ServerCertVerifier> = match root {
        Some(file) => {
            let roots = Arc::new(authorities(file)?);
            let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider).build();
            let verifier = verifier.map_err(|error| io::Error::other(format!("sslrootcert: {error}")))?;
            if *any_name { Arc::new(AnyName(verifier)) } else { verifier }
        }
        None => Arc::new(Verifier::new(provider).map_err(|error| {
            io::Error::other(format!("the certificates of the system cannot be used: {error}"))
        })?),
    };
    let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
    let Some((certificate, key)) = identity else { return Ok(builder.with_no_client_auth()) };
    let chain = certificates("sslcert", certificate)?;
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| cannot("sslkey", key, &error))?;
    builder.with_client_auth_cert(chain, secret).map_err(|error| cannot("sslcert", certificate, &error))
}

fn authorities(file: &Path) -> io::Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates("sslrootcert", file)? {
        roots.add(certificate).map_err(|error| cannot("sslrootcert", file, &error))?;
    }
    Ok(roots)
}

fn certificates(parameter: &str, file: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let read = || CertificateDer::pem_file_iter(file)?.collect::<Result<Vec<_>, _>>();
    let certificates = read().map_err(|error| cannot(parameter, file, &error))?;
    if certificates.is_empty() {
        return Err(io::Error::other(format!("{parameter}: {} has no certificate in it", file.display())));
    }
    Ok(certificates)
}

fn cannot(parameter: &str, file: &Path, error: &dyn std::error::Error) -> io::Error {
    io::Error::other(format!("{parameter}: cannot use {}: {error}", file.display()))
}

/// Checks who signed the certificate, and not the name in it: `sslmode=verify-ca`.
#[derive(Debug)]
struct AnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        // The name is compared last, when everything else is right.
        match self.0.verify_server_cert(certificate, intermediates, server, ocsp, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
