//! PostgreSQL over TLS: before the server stands one that speaks TLS, as PostgreSQL asks for it, and passes on.

use crate::bench::{Bench, place};
use allotment_apiserver::auth::certificate::{CertificateAuthority, IssuedCertificate, KeyKind, ServerName};
use allotment_operator::ledger::Ledger;
use jiff::{SignedDuration, Timestamp};
use rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer};
use std::{net::Ipv4Addr, path::PathBuf, sync::Arc};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, UnixStream},
};
use tokio_rustls::TlsAcceptor;

/// The message by which a client asks for TLS: its length, and a number that is no version.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

pub async fn certificates_are_checked(bench: Bench) {
    let (authority, certificate) = certificates();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, authority.certificate_pem()).unwrap();

    let address = bench.url.strip_prefix("postgres://allotment@").unwrap();
    let (socket, database) = address.split_once('/').unwrap();
    let port = before(PathBuf::from(socket.replace("%2F", "/")).join(".s.PGSQL.5432"), &certificate).await;
    let url = |host: &str, query: &str| format!("postgres://allotment@{host}:{port}/{database}?{query}");
    let trusted = format!("sslrootcert={}", file.display());

    for mode in ["sslmode=require", "sslmode=verify-full", "sslmode=prefer"] {
        let url = url("127.0.0.1", &format!("{mode}&{trusted}"));
        let ledger = Ledger::open(&url, place()).await.unwrap();
        ledger.identity().await.unwrap();
    }
    // Nobody vouches for it, or for another name; `prefer` does not make do with that.
    let strangers = [
        url("127.0.0.1", "sslmode=require"),
        url("127.0.0.1", "sslmode=prefer"),
        url("localhost", &format!("sslmode=require&{trusted}")),
    ];
    for url in strangers {
        let error = Ledger::open(&url, place()).await.unwrap_err();
        assert_eq!(error.category(), "unavailable", "{url}: {error}");
        assert!(error.to_string().contains("sslrootcert=<file>"), "{url}: {error}");
    }
}

fn certificates() -> (CertificateAuthority, IssuedCertificate) {
    let now = Timestamp::now();
    let end = now + SignedDuration::from_hours(1);
    let random: &mut (dyn FnMut(&mut [u8]) + Send) = &mut |bytes| getrandom::fill(bytes).unwrap();
    let authority = CertificateAuthority::generate(KeyKind::P256, "ca", now, end, random).unwrap();
    let names = [ServerName::Ip(Ipv4Addr::LOCALHOST.into())];
    let certificate = authority.issue_serving(KeyKind::P256, &names, now, end, random).unwrap();
    (authority, certificate)
}

/// Listens before a server's socket, and returns the port.
async fn before(socket: PathBuf, certificate: &IssuedCertificate) -> u16 {
    let key: PrivateKeyDer<'static> = certificate.key_der();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.certificate_der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (mut client, _) = listener.accept().await.unwrap();
            let mut request = [0; 8];
            client.read_exact(&mut request).await.unwrap();
            assert_eq!(request, SSL_REQUEST);
            client.write_all(b"S").await.unwrap();
            let (acceptor, socket) = (acceptor.clone(), socket.clone());
            tokio::spawn(async move {
                // A client that does not like the certificate goes away here.
                if let Ok(mut client) = acceptor.accept(client).await {
                    let mut server = UnixStream::connect(socket).await.unwrap();
                    let _ = copy_bidirectional(&mut client, &mut server).await;
                }
            });
        }
    });
    port
}
