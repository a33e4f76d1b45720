//! The cleanup operator on a real OpenStack.
//!
//! No part of `make test`; `make test-openstack` starts the OpenStack. The cases share their stage with `tests/server`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

mod cases;
#[path = "../server/returned.rs"]
#[expect(dead_code, reason = "the cases of tests/server need the rest")]
mod returned;
#[path = "../server/stage.rs"]
#[expect(dead_code, reason = "the cases of tests/server need the rest")]
mod stage;

use allotment_testing::{case, run};
use std::process::ExitCode;

fn main() -> ExitCode {
    run(vec![
        case!(cases::a_returned_project_is_emptied_and_claimed_by_another_tenant),
        case!(cases::a_cleaner_that_is_killed_while_it_deletes_is_replaced_by_another),
        case!(cases::a_load_balancer_that_cannot_be_deleted_is_named),
        case!(cases::a_port_of_another_project_is_named_and_left_alone),
    ])
}
