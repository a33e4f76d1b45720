//! The rows against the table of the core, and the client without a cloud.

use super::{OpenStack, OpenStackConfig, OpenStackConfigError, rows, witness};
use crate::{
    credentials::{OpenStackCredentials, OpenStackLogin},
    http::{RateLimiter, Rates},
};
use allotment_core::cleanup::{Cloud as CloudName, kinds::table};
use std::{collections::BTreeSet, sync::Arc};

fn config(change: impl FnOnce(&mut OpenStackCredentials)) -> OpenStackConfig {
    let login = OpenStackLogin::Password { username: "u".to_owned(), password: "hush".into() };
    let mut credentials = OpenStackCredentials {
        domain: "d".to_owned(),
        project: "p".to_owned(),
        login,
        auth_url: None,
        ca_cert: None,
        insecure: false,
    };
    change(&mut credentials);
    let limiter = Arc::new(RateLimiter::new(Rates::default()));
    OpenStackConfig { credentials, auth_url: None, limiter, name: "a".to_owned() }
}

#[test]
fn the_client_has_a_row_for_every_kind_of_the_table_and_no_other() {
    let mine: Vec<&str> = rows::rows().map(|row| row.kind).collect();
    let theirs: BTreeSet<&str> = table(CloudName::OpenStack).kinds.iter().map(|kind| kind.name).collect();
    assert_eq!(mine.iter().copied().collect::<BTreeSet<_>>(), theirs);
    assert_eq!(mine.len(), theirs.len(), "a kind has two rows");
}

#[test]
fn the_client_counts_what_the_table_expects_and_nothing_else() {
    let counts = witness::SOURCES.iter().flat_map(|source| source.counts).map(|(name, _)| *name);
    let theirs: BTreeSet<&str> = table(CloudName::OpenStack).counts.iter().map(|count| count.name).collect();
    assert_eq!(counts.collect::<BTreeSet<_>>(), theirs);
}

#[test]
fn every_row_can_be_deleted_and_tells_the_owner_where_a_list_can() {
    for row in rows::rows() {
        assert!(row.delete.contains('$') || row.kind == "RouterInterface", "{}", row.kind);
        let has_owner = row.attributes.iter().any(|(name, _)| *name == "owner");
        let without = ["KeyPair", "VolumeBackup"];
        assert_eq!(has_owner, !without.contains(&row.kind), "{}", row.kind);
    }
}

#[test]
fn a_client_that_would_trust_anybody_or_knows_no_keystone_is_refused() {
    let refused = |config| OpenStack::new(config).err().unwrap();
    let insecure = refused(config(|credentials| credentials.insecure = true));
    assert!(matches!(insecure, OpenStackConfigError::Insecure));
    assert!(insecure.to_string().contains("put the certificates of the cloud's CA into caCert"));
    assert!(matches!(refused(config(|_| ())), OpenStackConfigError::NoAuthUrl));
    let not_pem = config(|credentials| {
        credentials.auth_url = Some("https://k".to_owned());
        credentials.ca_cert = Some("no certificate".to_owned());
    });
    assert_eq!(refused(not_pem).to_string(), "caCert: the CA certificates are not PEM");
    let both = OpenStackConfig {
        auth_url: Some("https://profile".to_owned()),
        ..config(|credentials| credentials.auth_url = Some("https://secret:5000".to_owned()))
    };
    let printed = format!("{:?}", OpenStack::new(both).unwrap());
    assert!(printed.contains("https://secret:5000/v3") && !printed.contains("hush"), "{printed}");
}
