//! What the cluster operator does, and the states that matter to it.

use crate::stage::coverage::{ANY, Operation, Sort, operation};

/// How far Gardener is with the Shoot.
const STAGE: &[&str] = &["working", "done", "given up"];

pub(crate) const OPERATIONS: [Operation; 45] = [
    operation("report failure", Sort::Write, ANY),
    operation("hold", Sort::Write, ANY),
    operation("ask", Sort::Write, ANY),
    operation("map", Sort::Write, ANY),
    // Once for a Cluster, and again where somebody said so.
    operation("create shoot", Sort::Write, &["first", "again"]),
    operation("update shoot", Sort::Write, STAGE),
    operation("retry", Sort::Write, ANY),
    operation(
        "cluster status",
        Sort::Write,
        &[
            "Pending",
            "Waiting",
            "Creating",
            "Ready",
            "Updating",
            "Unhealthy",
            "Invalid",
            "Blocked",
            "Failed",
            "Deleting",
        ],
    ),
    operation("cluster event", Sort::Write, ANY),
    operation("unmark", Sort::Write, ANY),
    operation("grant", Sort::Write, ANY),
    operation("revoke", Sort::Write, ANY),
    operation("confirm deletion", Sort::Write, STAGE),
    operation("delete shoot", Sort::Write, STAGE),
    operation("release shoot", Sort::Unplayed("nobody releases a Shoot"), ANY),
    operation("adoption status", Sort::Unplayed("nobody has a Shoot adopted"), ANY),
    operation("remove map", Sort::Write, ANY),
    operation("give back", Sort::Write, ANY),
    operation("let request go", Sort::Write, ANY),
    operation("let go", Sort::Write, ANY),
    operation("cluster lease", Sort::Write, ANY),
    operation("admin kubeconfig", Sort::Read, ANY),
    operation("look for grants", Sort::Read, ANY),
    // Only where a grant of our name has no label of ours.
    operation("read grant", Sort::Unplayed("nobody takes labels off what is inside a Shoot"), ANY),
    // How far Gardener is plays no part.
    operation("read shoot", Sort::Read, &["none", "there"]),
    operation("read account", Sort::Read, ANY),
    operation("read own request", Sort::Read, ANY),
    operation("read cluster", Sort::Read, ANY),
    operation("look for own shoot", Sort::Read, ANY),
    operation("look for maps", Sort::Read, ANY),
    operation("read map", Sort::Unplayed("it is due after half an hour"), ANY),
    operation("read cluster lease", Sort::Read, ANY),
    operation("read version", Sort::Read, ANY),
    operation("list clusters", Sort::List, ANY),
    operation("list own requests", Sort::List, ANY),
    operation("list own shoots", Sort::List, ANY),
    operation("list profiles", Sort::List, ANY),
    operation("list cluster locks", Sort::List, ANY),
    operation("watch clusters", Sort::Watch, ANY),
    operation("watch own requests", Sort::Watch, ANY),
    operation("watch own shoots", Sort::Watch, ANY),
    operation("watch cluster locks", Sort::Watch, ANY),
    operation("watch profiles", Sort::Watch, ANY),
    operation("list adoptions", Sort::List, ANY),
    operation("watch adoptions", Sort::Watch, ANY),
];
