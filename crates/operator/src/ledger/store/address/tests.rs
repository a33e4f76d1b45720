//! Which URLs are encrypted.

use super::{Address, ChannelBinding, Encryption, SslMode, TargetSessionAttrs};

fn parse(url: &str) -> Address {
    Address::parse(url).unwrap()
}

#[test]
fn tls_is_required_but_on_this_machine() {
    for (url, expected) in [
        ("postgres://u@db.example.com/ledger", "tls"),
        ("postgres://u@10.0.0.1/ledger", "tls"),
        ("postgres://u@0.0.0.0/ledger", "tls"),
        ("postgres://u@localhost.example.com/ledger", "tls"),
        ("postgres://u@localhost,db.example.com/ledger", "tls"),
        ("postgres://u@db.example.com/ledger?sslmode=disable", "off"),
        ("postgres://u@localhost,db.example.com/ledger?sslmode=disable", "off"),
        ("postgres://u@localhost/ledger", "local"),
        ("postgres://u@127.3.2.1/ledger?sslmode=disable", "local"),
        ("postgres://u@[::1]/ledger", "local"),
        ("postgres://u@%2Frun%2Fpostgresql/ledger", "local"),
        ("postgres://u@%2Frun%2Fpostgresql/ledger?sslmode=verify-full", "local"),
        ("postgres:///ledger?host=/run/postgresql&port=5433", "local"),
        ("postgres://u@localhost/ledger?sslmode=require", "tls"),
        ("postgres://u@localhost/ledger?sslrootcert=/ca.pem", "tls"),
        ("postgres://u@localhost/ledger?channel_binding=require", "tls"),
    ] {
        let address = parse(url);
        let (found, mode) = match address.encryption {
            Encryption::Tls(_) => ("tls", SslMode::Require),
            Encryption::Off => ("off", SslMode::Require),
            Encryption::Local => ("local", SslMode::Disable),
        };
        assert_eq!(found, expected, "{url}");
        assert_eq!(address.config.get_ssl_mode(), mode, "{url}");
    }
}

#[test]
fn names_are_compared_unless_the_url_says_otherwise() {
    for (mode, any_name) in [("verify-full", false), ("require", false), ("verify-ca", true)] {
        let address = parse(&format!("postgres://u@db/ledger?sslrootcert=%2Fca.pem&sslmode={mode}"));
        let Encryption::Tls(files) = address.encryption else { panic!("{mode} is not encrypted") };
        assert_eq!((files.any_name, files.root), (any_name, Some("/ca.pem".into())), "{mode}");
    }
    let Encryption::Tls(files) = parse("postgres://u@db/ledger?sslrootcert=system").encryption else {
        panic!("not encrypted")
    };
    assert_eq!(files.root, None);
}

#[test]
fn of_several_servers_the_one_that_takes_writes_is_meant() {
    for (url, expected) in [
        ("postgres://u@a,b/ledger", TargetSessionAttrs::ReadWrite),
        ("postgres://u@a,b/ledger?target_session_attrs=any", TargetSessionAttrs::Any),
        ("postgres://u@a/ledger", TargetSessionAttrs::Any),
        ("postgres://u@a/ledger?target_session_attrs=primary", TargetSessionAttrs::ReadWrite),
    ] {
        assert_eq!(parse(url).config.get_target_session_attrs(), expected, "{url}");
    }
    let address = parse("postgres://u@a/ledger?channel_binding=disable");
    assert_eq!(address.config.get_channel_binding(), ChannelBinding::Disable);
    assert_eq!(address.config.get_application_name(), Some("allotment"));
}
