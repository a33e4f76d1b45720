//! Keys, which are made once and stay: what was handed out with them works after a restart.

use super::{StateError, files::failed};
use crate::{
    auth::{
        certificate::{CertificateAuthority, CertificateError},
        token::TokenSigner,
    },
    bootstrap::ISSUER,
    https::LocalError,
    server::Entropy,
};
use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// Whoever signs the tokens of this folder.
pub(super) fn token_signer(folder: &Path, entropy: &mut Entropy) -> Result<TokenSigner, StateError> {
    let path = folder.join("tokens.key");
    let mut key = [0_u8; 32];
    match fs::read(&path) {
        Ok(bytes) => {
            let why = "a key has 32 bytes";
            let damaged = |_| StateError::Damaged { file: path, offset: 0, why };
            key = bytes.try_into().map_err(damaged)?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            entropy(&mut key);
            write(&path, &key).map_err(|source| failed("write", &path, source))?;
        }
        Err(source) => return Err(failed("read", &path, source)),
    }
    Ok(TokenSigner::new(ISSUER, &key))
}

/// An authority that is kept in a file, the certificate and its key, and is made if there is none.
pub fn kept_authority(
    path: &Path,
    make: impl FnOnce() -> Result<CertificateAuthority, CertificateError>,
) -> Result<CertificateAuthority, LocalError> {
    match fs::read_to_string(path) {
        Ok(text) => CertificateAuthority::from_pem(&text, &text).map_err(LocalError::Certificate),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let authority = make().map_err(LocalError::Certificate)?;
            let text = format!("{}{}", authority.certificate_pem(), authority.key_pem());
            let written = write(path, text.as_bytes());
            written.map_err(|source| LocalError::State(failed("write", path, source)))?;
            Ok(authority)
        }
        Err(source) => Err(LocalError::State(failed("read", path, source))),
    }
}

/// The port that was listened on the last time.
pub(crate) fn last_port(folder: &Path) -> u16 {
    fs::read_to_string(folder.join("port")).ok().and_then(|text| text.trim().parse().ok()).unwrap_or_default()
}

/// The port to listen on the next time, if it is free then.
pub(crate) fn keep_port(folder: &Path, port: u16) -> Result<(), StateError> {
    let path = folder.join("port");
    write(&path, port.to_string().as_bytes()).map_err(|source| failed("write", &path, source))
}

/// Writes a file that nobody else reads: all of it, or nothing.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let part = path.with_added_extension("part");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(part, path)
}
