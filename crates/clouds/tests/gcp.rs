//! Whole cleanings of projects of Google Cloud, on the simulator: it is filled, and looked at afterwards, through Google's own Python
//! packages alone.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

#[path = "gcp/audit.rs"]
mod audit;
#[path = "gcp/cleaning.rs"]
mod cleaning;
#[path = "gcp/project.rs"]
mod project;
#[path = "gcp/refused.rs"]
mod refused;

use futures::future::BoxFuture;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use project::Project;
use std::process::ExitCode;

/// Each case has a project of its own.
type Case = (&'static str, fn(&Project) -> BoxFuture<'_, ()>);

const CASES: &[Case] = &[
    ("a_filled_project_is_cleaned_and_proven_empty", |project| Box::pin(cleaning::filled(project))),
    ("a_new_project_is_empty_as_it_is", |project| Box::pin(cleaning::untouched(project))),
    ("a_project_without_the_iam_api_has_no_service_accounts", |project| {
        Box::pin(cleaning::without_iam(project))
    }),
    ("a_workload_identity_logs_in", |project| Box::pin(cleaning::workload(project))),
    ("an_existing_network_stays_and_what_gardener_made_in_it_goes", |project| {
        Box::pin(cleaning::existing_network(project))
    }),
    ("a_kind_without_permission_is_unknown", |project| Box::pin(refused::denied_list(project))),
    ("a_deletion_without_permission_is_named", |project| Box::pin(refused::denied_deletion(project))),
    ("a_protection_that_cannot_be_lifted_is_named", |project| Box::pin(refused::protected(project))),
    ("a_throttled_region_is_unknown", |project| Box::pin(refused::throttled(project))),
    ("an_operation_that_fails_late_is_a_refusal", |project| Box::pin(refused::late(project))),
    ("an_item_that_appears_between_the_listings_is_left", |project| Box::pin(refused::appearing(project))),
    ("an_item_that_no_list_shows_is_left", |project| Box::pin(refused::hidden(project))),
    ("what_cannot_be_reached_or_counted_is_unknown", |project| Box::pin(refused::unreachable(project))),
    ("credentials_that_are_refused_are_never_repeated", |project| Box::pin(refused::revoked(project))),
    ("rows_follow_the_discovery_document", |_| Box::pin(audit::rows())),
    ("every_kind_that_can_be_deleted_is_in_the_table_or_left_out_for_a_reason", |_| Box::pin(audit::kinds())),
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = CASES.iter().map(|(name, run)| {
        Trial::ignorable_test(*name, move || {
            if let Err(why) = project::packages() {
                return Ok(Completion::ignored_with(why));
            }
            let runtime = tokio::runtime::Runtime::new().map_err(|error| Failed::from(error.to_string()))?;
            runtime.block_on(run(&Project::new()));
            Ok(Completion::Completed)
        })
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}
