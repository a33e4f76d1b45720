use super::*;
use rustls::pki_types::ServerName as TlsName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConnection};

/// The same bytes for the same seed, and good enough to find primes.
fn random(mut seed: u64) -> impl FnMut(&mut [u8]) {
    move |bytes| {
        for chunk in bytes.chunks_mut(8) {
            // SplitMix64.
            seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = seed;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            chunk.copy_from_slice(&(z ^ (z >> 31)).to_le_bytes()[..chunk.len()]);
        }
    }
}

fn now() -> Timestamp {
    "2026-11-15T10:00:00Z".parse().unwrap()
}

fn after(seconds: i64) -> Timestamp {
    now() + SignedDuration::from_secs(seconds)
}

fn authority(kind: KeyKind, seed: u64) -> CertificateAuthority {
    CertificateAuthority::generate(kind, "clients", now(), after(86_400), &mut random(seed)).unwrap()
}

fn groups() -> Vec<String> {
    vec!["system:masters".to_owned(), "ünïcode & team".to_owned()]
}

#[test]
fn a_client_certificate_says_who_somebody_is() {
    let authority = authority(KeyKind::P256, 1);
    let issued = authority
        .issue_client(
            KeyKind::P256,
            "gardener.cloud:admin:alice",
            &groups(),
            now(),
            after(600),
            &mut random(2),
        )
        .unwrap();
    let user = authority.user_from_certificate(issued.certificate_der(), now()).unwrap();
    assert_eq!(user.name, "gardener.cloud:admin:alice");
    assert_eq!(user.groups, ["system:masters", "ünïcode & team", "system:authenticated"]);
    let [id] = user.extra[CREDENTIAL_ID].as_slice() else { panic!("{user:?}") };
    assert!(id.starts_with("X509SHA256=") && id.len() == 11 + 64, "{id}");
}

#[test]
fn a_certificate_is_good_from_a_minute_before_until_its_end() {
    let authority = authority(KeyKind::P256, 1);
    let issued =
        authority.issue_client(KeyKind::P256, "alice", &[], now(), after(600), &mut random(2)).unwrap();
    let cases = [(-61, false), (-60, true), (0, true), (600, true), (601, false)];
    for (seconds, expected) in cases {
        let user = authority.user_from_certificate(issued.certificate_der(), after(seconds));
        assert_eq!(user.is_some(), expected, "{seconds}");
    }
}

#[test]
fn nobody_is_made_of_what_another_authority_signed_or_of_what_is_no_client_certificate() {
    let ours = authority(KeyKind::P256, 1);
    // It even has the same name.
    let theirs = authority(KeyKind::P256, 3);
    let issued = theirs.issue_client(KeyKind::P256, "alice", &[], now(), after(600), &mut random(2)).unwrap();
    assert_eq!(ours.user_from_certificate(issued.certificate_der(), now()), None);
    let names = [ServerName::Dns("localhost".to_owned())];
    let serving = ours.issue_serving(KeyKind::P256, &names, now(), after(600), &mut random(4)).unwrap();
    assert_eq!(ours.user_from_certificate(serving.certificate_der(), now()), None);
    let nameless =
        ours.issue_client(KeyKind::P256, "", &groups(), now(), after(600), &mut random(5)).unwrap();
    assert_eq!(ours.user_from_certificate(nameless.certificate_der(), now()), None);

    let good = ours.issue_client(KeyKind::P256, "alice", &[], now(), after(600), &mut random(6)).unwrap();
    let der = good.certificate_der().to_vec();
    for cut in 0..der.len() {
        assert_eq!(ours.user_from_certificate(&der[..cut], now()), None, "{cut}");
        let mut changed = der.clone();
        changed[cut] ^= 0x01;
        assert_eq!(ours.user_from_certificate(&changed, now()), None, "{cut}");
    }
}

#[test]
fn an_authority_is_the_same_after_it_was_written_and_read() {
    for kind in [KeyKind::Rsa2048, KeyKind::P256] {
        let made = authority(kind, 11);
        let key = made.key_pem();
        let label = if kind == KeyKind::Rsa2048 { "RSA PRIVATE KEY" } else { "PRIVATE KEY" };
        assert!(key.starts_with(&format!("-----BEGIN {label}-----\n")), "{kind:?}");
        let read = CertificateAuthority::from_pem(&made.certificate_pem(), &key).unwrap();
        assert_eq!((read.certificate_pem(), read.key_pem()), (made.certificate_pem(), key));
        let issued =
            read.issue_client(KeyKind::P256, "alice", &[], now(), after(600), &mut random(2)).unwrap();
        assert!(made.user_from_certificate(issued.certificate_der(), now()).is_some(), "{kind:?}");
        // The same random bytes, the same authority.
        assert_eq!(authority(kind, 11).certificate_pem(), made.certificate_pem());
    }
    let rsa = authority(KeyKind::Rsa2048, 11);
    let pkcs8 = pem("PRIVATE KEY", &pkcs8_of(&rsa));
    assert!(CertificateAuthority::from_pem(&rsa.certificate_pem(), &pkcs8).is_ok());
    let error =
        CertificateAuthority::from_pem(&rsa.certificate_pem(), &authority(KeyKind::P256, 1).key_pem());
    assert_eq!(error.unwrap_err().to_string(), "reading a certificate: the key is that of another");
    assert!(CertificateAuthority::from_pem("", "").is_err());
}

fn pkcs8_of(authority: &CertificateAuthority) -> Vec<u8> {
    let PrivateKeyDer::Pkcs1(key) = authority.key.to_rustls() else { panic!("it is RSA") };
    let algorithm = der::sequence(&[der::object_identifier(oid::RSA_ENCRYPTION), der::null()]);
    let key = der::value(der::OCTET_STRING, key.secret_pkcs1_der());
    der::sequence(&[der::unsigned(&[0]), algorithm, key])
}

/// What the client sees of the server, and the server of the client, over a real handshake.
#[test]
fn a_handshake_brings_the_certificate_of_the_client() {
    let clients = authority(KeyKind::Rsa2048, 11);
    // rustls looks at the clock.
    let today = Timestamp::now();
    let tomorrow = today + SignedDuration::from_hours(24);
    let servers =
        CertificateAuthority::generate(KeyKind::P256, "servers", today, tomorrow, &mut random(12)).unwrap();
    let names = [ServerName::Dns("localhost".to_owned()), ServerName::Ip([127, 0, 0, 1].into())];
    let serving = servers.issue_serving(KeyKind::P256, &names, today, tomorrow, &mut random(13)).unwrap();
    let config = server_config(&serving, &clients).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(servers.certificate.clone()).unwrap();

    let alice =
        clients.issue_client(KeyKind::Rsa2048, "alice", &[], today, tomorrow, &mut random(14)).unwrap();
    let stranger = servers.issue_client(KeyKind::P256, "bob", &[], today, tomorrow, &mut random(15)).unwrap();
    // Who is a stranger hears so in an answer.
    for (shown, name) in [(Some(&alice), "localhost"), (None, "127.0.0.1"), (Some(&stranger), "localhost")] {
        let name = TlsName::try_from(name);
        let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots.clone());
        let client = match shown {
            Some(shown) => {
                builder.with_client_auth_cert(vec![shown.certificate_der().clone()], shown.key_der()).unwrap()
            }
            None => builder.with_no_client_auth(),
        };
        let mut client = ClientConnection::new(Arc::new(client), name.unwrap()).unwrap();
        let mut server = ServerConnection::new(config.clone()).unwrap();
        while client.is_handshaking() || server.is_handshaking() {
            let mut wire = Vec::new();
            client.write_tls(&mut wire).unwrap();
            server.read_tls(&mut wire.as_slice()).unwrap();
            server.process_new_packets().unwrap();
            wire.clear();
            server.write_tls(&mut wire).unwrap();
            client.read_tls(&mut wire.as_slice()).unwrap();
            client.process_new_packets().unwrap();
        }
        let seen = server.peer_certificates().and_then(|chain| chain.first());
        assert_eq!(seen, shown.map(IssuedCertificate::certificate_der));
    }
}

#[test]
fn times_are_written_as_their_year_wants() {
    let time = |text: &str| String::from_utf8(der::time(text.parse().unwrap())[2..].to_vec()).unwrap();
    assert_eq!(time("2049-12-31T23:59:59Z"), "491231235959Z");
    assert_eq!(time("2050-01-01T00:00:00Z"), "20500101000000Z");
}

#[test]
fn nothing_prints_a_key() {
    let authority = authority(KeyKind::P256, 1);
    let issued = authority.issue_client(KeyKind::P256, "a", &[], now(), after(600), &mut random(2)).unwrap();
    for shown in [format!("{authority:?}"), format!("{issued:?}")] {
        assert!(shown.contains("[redacted]"), "{shown}");
    }
}
