//! What a garden does with Shoots, and our stand-in with a garden.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

mod shoots;

use allotment_testing::{case, run};
use std::process::ExitCode;

fn main() -> ExitCode {
    run(vec![
        case!(shoots::of_aws_live_and_die),
        case!(shoots::of_gcp_live_and_die),
        case!(shoots::of_azure_live_and_die),
        case!(shoots::of_openstack_live_and_die),
        case!(shoots::of_alicloud_live_and_die),
        case!(shoots::can_be_told_to_fail_and_be_retried),
        case!(shoots::are_not_deleted_without_confirmation),
        case!(shoots::give_viewers_less),
    ])
}
