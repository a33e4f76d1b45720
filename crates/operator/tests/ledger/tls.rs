//! The way to PostgreSQL: TLS, certificates, passwords, on a server that really asks for them.

use crate::bench::{Bench, place};
use allotment_apiserver::auth::certificate::{CertificateAuthority, KeyKind, ServerName};
use allotment_operator::ledger::Ledger;
use allotment_testing::{Postgres, PostgresSetup};
use jiff::{SignedDuration, Timestamp};
use std::{fs, net::Ipv4Addr, path::Path};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

/// An address of this machine that does not look like one: what goes for other machines can be tried with it.
const ELSEWHERE: &str = "0.0.0.0";

/// A server, and the files of a client.
struct Stage {
    postgres: Postgres,
    folder: TempDir,
}

impl Stage {
    fn new() -> Self {
        let now = Timestamp::now();
        let end = now + SignedDuration::from_hours(1);
        let random: &mut (dyn FnMut(&mut [u8]) + Send) = &mut |bytes| getrandom::fill(bytes).unwrap();
        let authority = CertificateAuthority::generate(KeyKind::P256, "ca", now, end, random).unwrap();
        let stranger = CertificateAuthority::generate(KeyKind::P256, "other", now, end, random).unwrap();
        let names = [ServerName::Ip(Ipv4Addr::UNSPECIFIED.into()), ServerName::Dns("db.test".to_owned())];
        let server = authority.issue_serving(KeyKind::P256, &names, now, end, random).unwrap();
        let client = authority.issue_client(KeyKind::P256, "certified", &[], now, end, random).unwrap();
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in [
            ("ca.pem", authority.certificate_pem()),
            ("other.pem", stranger.certificate_pem()),
            ("client.pem", client.certificate_pem()),
            ("client.key", client.key_pem()),
            ("empty.pem", String::new()),
            ("password", "s3cret\n".to_owned()),
            ("wrong", "wrong".to_owned()),
        ] {
            fs::write(folder.path().join(name), content).unwrap();
        }
        let postgres = PostgresSetup::default()
            .on_loopback()
            .setting("ssl=on")
            .setting("ssl_cert_file=server.crt")
            .setting("ssl_key_file=server.key")
            .setting("ssl_ca_file=ca.crt")
            .file("server.crt", &server.certificate_pem())
            .file("server.key", &server.key_pem())
            .file("ca.crt", &authority.certificate_pem())
            .access("hostssl all certified all cert")
            .access("hostssl all scram all scram-sha-256")
            .access("host all plain all scram-sha-256")
            .access("host all clear all password")
            .access("host all free 127.0.0.1/32 trust")
            .start()
            .unwrap();
        for role in ["certified", "scram", "plain", "clear", "free"] {
            let sql =
                format!("CREATE ROLE {role} LOGIN PASSWORD 's3cret'; CREATE DATABASE {role} OWNER {role}");
            postgres.sql(&sql).unwrap();
        }
        Self { postgres, folder }
    }

    /// Opens the ledger of a role, whose database has the same name.
    async fn open(&self, role: &str, host: &str, query: &str) -> Result<(), String> {
        let mut query = query.to_owned();
        for name in ["ca.pem", "other.pem", "client.pem", "client.key", "empty.pem", "password", "wrong"] {
            query = query.replace(&format!("<{name}>"), &self.path(name).display().to_string());
        }
        let port = self.postgres.port();
        let url = format!("postgres://{role}@{host}:{port}/{role}?{query}");
        match Ledger::open(&url, place()).await {
            Ok(ledger) => ledger.identity().await.map(|_| ()).map_err(|error| error.to_string()),
            Err(error) => Err(format!("{}: {error}", error.category())),
        }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    async fn refused(&self, role: &str, host: &str, query: &str, expected: &[&str]) {
        let error = self.open(role, host, query).await.expect_err(query);
        for expected in expected {
            assert!(error.contains(expected), "{role} {query}: {error}");
        }
        assert!(
            !error.contains("s3cret") && !error.contains("connect without TLS"),
            "{role} {query}: {error}"
        );
    }
}

pub async fn certificates_are_checked(_: Bench) {
    let stage = Stage::new();
    let trusted = "sslrootcert=<ca.pem>&passwordfile=<password>";
    for mode in ["", "&sslmode=require", "&sslmode=verify-full", "&sslmode=verify-ca"] {
        stage.open("scram", ELSEWHERE, &format!("{trusted}{mode}")).await.unwrap();
    }
    // An authority that nobody knows, another one, another name.
    let remedy = "sslrootcert=<file>";
    let password = "passwordfile=<password>";
    stage.refused("scram", ELSEWHERE, password, &["tls-refused", remedy]).await;
    stage
        .refused("scram", ELSEWHERE, &format!("{password}&sslrootcert=<other.pem>"), &["tls-refused", remedy])
        .await;
    stage.refused("scram", "127.0.0.1", trusted, &["tls-refused", "a name that is in its certificate"]).await;
    // Only verify-ca makes do with another name.
    stage.open("scram", "127.0.0.1", &format!("{trusted}&sslmode=verify-ca")).await.unwrap();
    let other = format!("{password}&sslmode=verify-ca&sslrootcert=<other.pem>");
    stage.refused("scram", "127.0.0.1", &other, &["tls-refused"]).await;
    stage.refused("scram", ELSEWHERE, "sslmode=verify-ca", &["address", "needs sslrootcert"]).await;
    stage
        .refused("scram", ELSEWHERE, "sslrootcert=<empty.pem>", &["address", "has no certificate in it"])
        .await;
}

pub async fn clients_show_certificates(_: Bench) {
    let stage = Stage::new();
    let own = "sslrootcert=<ca.pem>&sslcert=<client.pem>&sslkey=<client.key>";
    stage.open("certified", ELSEWHERE, own).await.unwrap();
    stage.refused("certified", ELSEWHERE, "sslrootcert=<ca.pem>", &["login-refused", "certificate"]).await;
    stage.refused("certified", ELSEWHERE, "sslcert=<client.pem>", &["address", "sslcert and sslkey"]).await;
    stage
        .refused(
            "certified",
            ELSEWHERE,
            &own.replace("<client.key>", "/no/such/key"),
            &["address", "/no/such/key"],
        )
        .await;
    // Files are read for each connection: a certificate that was renewed is used, one that was lost is missed.
    fs::write(stage.path("client.key"), "").unwrap();
    stage.refused("certified", ELSEWHERE, own, &["address", "sslkey"]).await;
}

pub async fn passwords_come_from_files_and_are_bound_to_the_channel(_: Bench) {
    let stage = Stage::new();
    let trusted = "sslrootcert=<ca.pem>&passwordfile=<password>";
    for binding in ["require", "prefer", "disable"] {
        stage.open("scram", ELSEWHERE, &format!("{trusted}&channel_binding={binding}")).await.unwrap();
    }
    let wrong = "sslrootcert=<ca.pem>&passwordfile=<wrong>";
    stage.refused("scram", ELSEWHERE, wrong, &["login-refused", "28P01", "pg_hba.conf"]).await;
    stage.refused("scram", ELSEWHERE, "sslrootcert=<ca.pem>", &["login-refused", "password missing"]).await;
    stage.refused("scram", ELSEWHERE, "passwordfile=/no/such/file", &["address", "/no/such/file"]).await;
    // Who gives no proof of the channel gets nothing that a password is asked for.
    let bound = format!("{trusted}&channel_binding=require");
    stage.refused("clear", ELSEWHERE, &bound, &["login-refused", "channel binding"]).await;
    stage
        .refused("scram", "127.0.0.1", "sslmode=disable&channel_binding=require", &["address", "contradicts"])
        .await;
    // Inside TLS a password may be in clear text.
    stage.open("clear", ELSEWHERE, trusted).await.unwrap();
}

pub async fn without_tls_nothing_secret_is_sent(_: Bench) {
    let stage = Stage::new();
    // To this machine, or because the URL says so.
    stage.open("free", "127.0.0.1", "").await.unwrap();
    stage.open("plain", "127.0.0.1", "passwordfile=<password>").await.unwrap();
    stage.open("plain", ELSEWHERE, "passwordfile=<password>&sslmode=disable").await.unwrap();
    stage.open("clear", "127.0.0.1", "passwordfile=<password>").await.unwrap();
    let clear = "passwordfile=<password>&sslmode=disable";
    stage
        .refused("clear", ELSEWHERE, clear, &["clear-password", "in clear text", "take sslmode=disable out"])
        .await;
    stage.refused("scram", ELSEWHERE, clear, &["login-refused", "no encryption"]).await;
    for weak in ["prefer", "allow"] {
        let query = format!("passwordfile=<password>&sslmode={weak}");
        stage.refused("plain", ELSEWHERE, &query, &["address", "use verify-full"]).await;
    }
}

/// Whoever answers "no TLS" learns nothing but that somebody wanted it.
pub async fn a_server_without_tls_is_refused(_: Bench) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.unwrap();
        let mut request = [0; 8];
        client.read_exact(&mut request).await.unwrap();
        client.write_all(b"N").await.unwrap();
        let mut rest = Vec::new();
        let _ = client.read_to_end(&mut rest).await;
        (request, rest)
    });
    let url = format!("postgres://user:s3cret@{ELSEWHERE}:{port}/db");
    let error = Ledger::open(&url, place()).await.unwrap_err();
    assert_eq!(error.category(), "tls-refused", "{error}");
    assert!(error.to_string().contains("see that the server has TLS on"), "{error}");
    let (request, rest) = heard.await.unwrap();
    assert_eq!(request, [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f], "asks for TLS");
    assert!(rest.is_empty(), "{rest:?}");
}

/// The files of a running ledger may be replaced.
pub async fn a_changed_password_is_read_again(_: Bench) {
    let stage = Stage::new();
    let path = stage.path("password");
    let (path, port): (&Path, u16) = (&path, stage.postgres.port());
    let url = format!("postgres://plain@127.0.0.1:{port}/plain?passwordfile={}", path.display());
    let ledger = Ledger::open(&url, place()).await.unwrap();
    stage.postgres.sql("ALTER ROLE plain PASSWORD 'an0ther'").unwrap();
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'plain'";
    stage.postgres.sql(cut).unwrap();
    let error = ledger.epoch().await.unwrap_err();
    assert_eq!(error.category(), "login-refused", "{error}");
    fs::write(path, "an0ther").unwrap();
    ledger.epoch().await.unwrap();
    fs::remove_file(path).unwrap();
    stage.postgres.sql(cut).unwrap();
    let error = ledger.epoch().await.unwrap_err();
    assert!(error.to_string().contains("passwordfile: cannot read"), "{error}");
}
