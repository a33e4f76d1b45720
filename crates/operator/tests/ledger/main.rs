//! The ledger, each case on every database there is.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

mod bench;
mod cleanings;
mod contract;
mod counting;
mod crash;
mod deeds;
mod draw;
mod failover;
mod months;
mod pooler;
mod reading;
mod schema;
mod states;
mod tls;
mod together;
mod turns;
mod twin;

use bench::{Bench, Kind};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::{pin::Pin, process::ExitCode, sync::Arc};

/// A case under way.
type Running = Pin<Box<dyn Future<Output = ()>>>;

/// What a case does, and on which databases.
struct Case {
    name: &'static str,
    run: fn(Bench) -> Running,
    kinds: &'static [Kind],
}

/// Cases of a module, on every database or on those named.
macro_rules! cases {
    ($module:ident on $kinds:expr; $($name:ident),* $(,)?) => {
        vec![$(Case {
            name: concat!(stringify!($module), "::", stringify!($name)),
            run: |bench| Box::pin($module::$name(bench)),
            kinds: $kinds,
        }),*]
    };
}

fn cases() -> Vec<Case> {
    let mut cases = cases![contract on Kind::ALL;
        identity_and_epoch,
        nobody_leads_after_an_epoch_that_is_over,
        a_stale_leader_writes_nothing,
        reserve_claims_once_and_keeps,
        a_limit_of_three_and_ten_requests,
        one_account_takes_everything,
        a_cap_counts_accounts_of_all_pools,
        what_the_ledger_knows_is_not_free,
        confirm_is_idempotent_and_strict,
        a_lost_claim_gives_back_its_requests,
        release_empties_keeps_and_leaves,
        learning_compares_versions,
        learning_respects_assignments,
        learning_quarantine_and_pools,
        healing_assigns_what_is_proven,
        clear_keeps_history_and_identity,
        places_do_not_mix,
        history_tells_who_did_what_and_why,
    ];
    cases.extend(cases![counting on Kind::ALL;
        foreign_clusters_count,
        a_shoot_and_its_assignment_count_once,
        the_fullest_account_below_the_limit_is_used_however_it_was_filled,
        entries_with_the_same_credentials_count_together,
    ]);
    cases.extend(cases![cleanings on Kind::ALL;
        a_cloud_account_is_read_as_it_was_recorded,
        an_operator_overwrites_nothing_that_is_recorded,
        a_record_is_written_once_by_each_version,
        a_proof_ends_the_history_of_earlier_shoots,
        a_rebuild_keeps_what_cleaning_needs,
        the_ledger_remembers_whom_it_serves,
        an_abandoned_claim_drains_after_a_rebuild,
    ]);
    cases.extend(cases![months on Kind::ALL; what_may_be_needed_stays, many_entries_are_counted_in_batches]);
    cases.extend(cases![months on &[Kind::File]; invented_tenants_leave_no_lock_rows]);
    cases.extend(cases![turns on Kind::ALL;
        queues_are_served_by_turns,
        nobody_is_overtaken,
        a_request_that_changes_pool_changes_queue,
        shared_pools_use_the_least_used,
        a_tenant_that_was_served_goes_to_the_end_of_the_round,
        the_place_of_a_request_that_leaves_is_its_tenants,
        who_may_not_queue_gets_what_is_there_and_no_place,
    ]);
    cases.extend(
        cases![turns on &[Kind::Memory, Kind::Postgres]; a_long_queue_costs_no_more_than_a_short_one],
    );
    cases.extend(
        cases![crash on Kind::ALL; repeating_ends_where_it_would_have_ended, a_dropped_call_is_rolled_back],
    );
    cases.extend(cases![crash on &[Kind::Memory]; a_hanging_call_holds_nothing]);
    cases.extend(cases![schema on &[Kind::File, Kind::Postgres];
        opening_twice_changes_nothing,
        opening_at_once_makes_one_ledger,
        version_1_is_what_it_was,
        a_newer_schema_is_refused,
        a_schema_that_changes_under_a_running_operator_stops_its_writes,
    ]);
    cases.extend(cases![schema on &[Kind::Memory]; bad_addresses_say_what_to_do_and_no_secret]);
    cases.extend(cases![together on &[Kind::File, Kind::Postgres];
        fifty_first_requests_share_one_account,
        ten_requests_fill_one_account_and_take_three,
    ]);
    cases.extend(cases![together on &[Kind::Postgres];
        a_cut_connection_is_made_again,
        pairs_while_fresh,
        pairs_while_claiming,
        pairs_while_claimed,
        pairs_while_empty,
    ]);
    cases.extend(cases![reading on &[Kind::File, Kind::Postgres];
        reading_makes_no_ledger,
        reading_does_not_migrate,
        reading_beside_a_writer,
    ]);
    cases.extend(cases![reading on &[Kind::File]; a_ledger_in_use_is_copied, a_file_that_is_gone_is_noticed]);
    cases.extend(on_postgres());
    cases.extend(cases![twin on &[Kind::Memory]; agrees_with_the_ledger]);
    cases
}

/// Cases that start servers of their own, most of them.
fn on_postgres() -> Vec<Case> {
    let mut cases = cases![tls on &[Kind::Postgres];
        certificates_are_checked,
        clients_show_certificates,
        passwords_come_from_files_and_are_bound_to_the_channel,
        without_tls_nothing_secret_is_sent,
        a_server_without_tls_is_refused,
        a_changed_password_is_read_again,
    ];
    cases.extend(cases![pooler on &[Kind::Postgres];
        every_operation_works_through_a_pooler,
        errors_and_cut_connections_leave_nothing_behind,
    ]);
    cases.extend(cases![states on &[Kind::Postgres];
        a_standby_is_no_dead_server,
        read_only_starting_and_gone_are_told_apart,
        a_full_disk_is_said,
        the_documented_rights_are_enough,
        commits_wait_for_the_disk_whatever_the_server_says,
    ]);
    cases.extend(cases![failover on &[Kind::Postgres];
        nothing_acknowledged_is_lost_by_a_synchronous_pair,
        commits_that_an_asynchronous_pair_loses_are_noticed,
    ]);
    cases.extend(cases![reading on &[Kind::Postgres]; postgres_is_copied_by_its_own_tools]);
    cases
}

fn main() -> ExitCode {
    let databases = Arc::new(bench::Databases::default());
    let mut trials = Vec::new();
    for case in cases() {
        for kind in case.kinds {
            let databases = databases.clone();
            let name = format!("{kind}::{}", case.name);
            trials.push(Trial::ignorable_test(name, move || run(&databases, *kind, case.run)));
        }
    }
    let conclusion = libtest_mimic::run(&Arguments::from_args(), trials);
    drop(databases);
    conclusion.exit_code()
}

fn run(databases: &bench::Databases, kind: Kind, case: fn(Bench) -> Running) -> Result<Completion, Failed> {
    let bench = match databases.bench(kind) {
        Ok(bench) => bench,
        Err(missing) if missing.is::<allotment_testing::NoPostgres>() => {
            return Ok(Completion::ignored_with(missing));
        }
        Err(error) => return Err(Failed::from(error.to_string())),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(case(bench));
    Ok(Completion::Completed)
}
