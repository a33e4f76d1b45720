//! What API servers make of our kinds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

mod crds;
mod examples;
mod rules;

use allotment_testing::{case, run};
use std::process::ExitCode;

fn main() -> ExitCode {
    run(vec![
        case!(crds::are_taken_one_by_one_without_a_warning),
        case!(crds::are_taken_as_one_list).only_on_real("kubectl checks a List with OpenAPI v2"),
        case!(crds::explain_their_fields),
        case!(crds::show_their_columns),
        case!(examples::are_accepted_as_they_are),
        case!(examples::may_select_shared),
        case!(examples::survive_a_strict_server_unchanged),
        case!(rules::hold_for_good_and_refuse_bad),
        case!(rules::bounds_and_enums_refuse_bad),
    ])
}
