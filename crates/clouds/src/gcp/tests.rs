//! The rows against the table of the core, and the client without a cloud.

use super::{Gcp, GcpConfig, GcpConfigError, rows};
use crate::{
    credentials::{GcpCredentials, GcpKey, GcpLogin},
    http::{Http, RateLimiter, Rates},
};
use allotment_core::cleanup::{Cloud as CloudName, Scope, kinds::table};
use jiff::Timestamp;
use rows::Listed;
use std::{collections::BTreeSet, sync::Arc};

#[test]
fn the_client_has_a_row_for_every_kind_of_the_table_and_no_other() {
    let mine: Vec<&str> = rows::kinds().collect();
    let theirs: BTreeSet<&str> = table(CloudName::Gcp).kinds.iter().map(|kind| kind.name).collect();
    assert_eq!(mine.iter().copied().collect::<BTreeSet<_>>(), theirs);
    assert_eq!(mine.len(), theirs.len(), "a kind has two rows");
}

#[test]
fn every_kind_is_listed_where_the_table_says_and_can_be_deleted() {
    for paths in rows::PATHS {
        let kind = table(CloudName::Gcp).kind(paths.kind).unwrap();
        let is_global = paths.listed == Listed::Global;
        assert_eq!(matches!(kind.scope, Scope::Global), is_global, "{}", paths.kind);
        assert!(!paths.delete.is_empty(), "{}", paths.kind);
        let is_in_scope = |path: &&str| path.starts_with("global/") == is_global;
        assert!(paths.delete.iter().all(is_in_scope), "{}", paths.kind);
    }
}

#[test]
fn the_table_names_the_permission_of_every_call() {
    let row = |kind: &str| table(CloudName::Gcp).kind(kind).unwrap();
    for deed in rows::DEEDS {
        assert!(row(deed.kind).delete.contains(&deed.permission), "{}: {}", deed.kind, deed.permission);
    }
    // The names of resources in permissions differ from those in paths by the scope only.
    let short = |name: &str| {
        let name = name.trim_start_matches("global").trim_start_matches("region").to_ascii_lowercase();
        name.trim_start_matches("network").to_owned()
    };
    for paths in rows::PATHS {
        let kind = row(paths.kind);
        for permission in [kind.list[0], kind.delete[0]] {
            let parts: Vec<&str> = permission.split('.').collect();
            assert_eq!(short(parts[1]), short(paths.collection()), "{permission}");
        }
        assert!(kind.list[0].ends_with(".list") && kind.delete[0].ends_with(".delete"), "{}", paths.kind);
    }
}

#[test]
fn a_client_that_would_send_its_key_elsewhere_is_refused() {
    let key = GcpKey {
        client_email: "g@p.iam.gserviceaccount.com".to_owned(),
        private_key_id: None,
        private_key: "hush".into(),
        token_uri: "https://example.com/token".to_owned(),
    };
    let config = GcpConfig {
        credentials: GcpCredentials { project: "p".to_owned(), login: GcpLogin::Key(key) },
        http: Http::new(None).unwrap(),
        limiter: Arc::new(RateLimiter::new(Rates::default())),
        name: "a".to_owned(),
        endpoint: None,
        now: Arc::new(Timestamp::now),
    };
    let refused = Gcp::new(config).err().unwrap();
    assert_eq!(refused, GcpConfigError::ForeignAddress("token_uri"));
    assert!(!refused.to_string().contains("example.com"));
}
