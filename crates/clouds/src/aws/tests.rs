//! The rows against the table of the core.

use super::{efs, iam, rows};
use allotment_core::cleanup::{Cloud as CloudName, kinds::table};
use std::collections::BTreeSet;

#[test]
fn the_client_has_a_row_for_every_kind_of_the_table_and_no_other() {
    let others = [efs::MOUNT_TARGET, efs::FILE_SYSTEM, iam::INSTANCE_PROFILE, iam::ROLE];
    let mine: Vec<&str> = rows::rows().map(|row| row.kind).chain(others).collect();
    let theirs: BTreeSet<&str> = table(CloudName::Aws).kinds.iter().map(|kind| kind.name).collect();
    assert_eq!(mine.iter().copied().collect::<BTreeSet<_>>(), theirs);
    assert_eq!(mine.len(), theirs.len(), "a kind has two rows");
}

#[test]
fn the_table_names_the_permission_of_every_call() {
    for row in rows::rows() {
        let kind = table(CloudName::Aws).kind(row.kind).unwrap();
        let permission = |action: &str| format!("{}:{action}", row.service.name);
        assert!(kind.list.contains(&permission(row.list).as_str()), "{}: {}", row.kind, row.list);
        for deed in row.prepare.iter().chain(row.delete).chain(row.unlock) {
            assert!(kind.delete.contains(&permission(deed.action).as_str()), "{}: {}", row.kind, deed.action);
        }
    }
}
