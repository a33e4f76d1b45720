//! The number of calls that the client makes, by its rows, for whoever counts them without making them.

use super::{delete, efs, iam, rows};
use allotment_core::cleanup::Item;

/// The kind whose items are named one by one to list this one.
pub(crate) fn holders(kind: &str) -> Option<&'static str> {
    (kind == efs::MOUNT_TARGET).then_some(efs::FILE_SYSTEM)
}

/// The calls of a deletion that nothing refuses: those before it, and itself.
pub(crate) fn of_deletion(item: &Item) -> usize {
    match item.kind.as_str() {
        // Each role is taken out.
        iam::INSTANCE_PROFILE => 1 + item.attribute(iam::ROLES).map_or(0, |roles| roles.split(',').count()),
        // Policies of both sorts are listed. Whoever has none of them has nothing to detach.
        iam::ROLE => 3,
        kind => rows::row(kind).map_or(1, |row| {
            let deeds = row.prepare.iter().chain(row.delete);
            deeds.map(|deed| delete::calls(deed, item).len()).sum()
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use allotment_core::cleanup::{ItemId, KindName, Place};

    #[test]
    fn preparations_count_for_items_that_need_them() {
        let item = |kind| Item::new(KindName::of(kind), Place::of("eu-1"), ItemId::of("x"));
        assert_eq!(of_deletion(&item("Volume")), 1);
        assert_eq!(of_deletion(&item("InternetGateway").with("network", "vpc-1")), 2);
        assert_eq!(of_deletion(&item("InstanceProfile").with(iam::ROLES, "a,b")), 3);
        assert_eq!(of_deletion(&item("MountTarget")), 1);
    }
}
