//! The metadata that every object has, as merging sees it, and what of it is never tracked.

use super::fieldset::FieldSet;
use crate::schema::Schema;
use std::sync::LazyLock;

/// The schema of `metadata`.
pub(crate) fn schema() -> &'static Schema {
    crate::schema::object_meta()
}

/// What is never in a set: it is the server's, or says which object this is.
pub(crate) fn untracked() -> &'static FieldSet {
    static UNTRACKED: LazyLock<FieldSet> = LazyLock::new(|| {
        FieldSet::of_fields(&[
            &["apiVersion"],
            &["kind"],
            &["metadata"],
            &["metadata", "name"],
            &["metadata", "namespace"],
            &["metadata", "creationTimestamp"],
            &["metadata", "selfLink"],
            &["metadata", "uid"],
            &["metadata", "clusterName"],
            &["metadata", "generation"],
            &["metadata", "managedFields"],
            &["metadata", "resourceVersion"],
        ])
    });
    &UNTRACKED
}
