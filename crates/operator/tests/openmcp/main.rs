//! What the controllers of the ClusterProvider do on API servers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

mod generic;
mod platform;
mod scheduler;

use allotment_testing::{case, run};
use std::process::ExitCode;

fn main() -> ExitCode {
    run(vec![
        case!(generic::o9_what_is_missing_is_told_and_what_comes_is_noticed_at_once),
        case!(generic::o8_labels_that_were_there_are_verified),
        case!(generic::a_request_is_deleted_when_its_time_is_over),
        case!(generic::g20_a_profile_whose_name_is_too_long_for_a_label_is_handed_over),
        case!(generic::annotations_are_obeyed_and_a_denial_of_the_provider_stays),
        case!(scheduler::an_exclusive_cluster_comes_and_goes_with_its_request),
        case!(scheduler::o1_o2_what_a_request_brings_reaches_its_cluster_and_no_other),
        case!(scheduler::o3_a_name_that_is_taken_is_waited_for),
        case!(scheduler::o4_shared_clusters_are_filled_up_to_their_limit),
        case!(scheduler::o5_a_request_waits_for_the_deletion_of_its_cluster),
        case!(scheduler::o9_an_unknown_purpose_is_denied),
        case!(scheduler::x1_finalizers_of_others_are_never_lost),
        case!(scheduler::a_cluster_that_is_gone_is_made_anew),
    ])
}
