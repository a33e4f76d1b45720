//! The same requests to the embedded API server and to the real kube-apiserver, and to the embedded garden and the real
//! one (`garden::`), and the answers compared.
//!
//! `cargo test -p allotment-garden --test conformance` runs it; filters and `--list` work as with any test. Besides:
//! `--coverage` prints what was covered even if only some cases ran, `--differences` prints the table of differences,
//! `--real-only` sees whether scripts are right, `--show` prints what was seen.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "these are tests"
)]

mod cases;
mod compare;
mod coverage;
mod differences;
mod normal;
mod planted;
mod plots;
mod run;
mod script;
mod sequence;
mod servers;
mod stage;

use allotment_apiserver::planted::Planted;
use coverage::Coverage;
use libtest_mimic::{Arguments, Trial};
use stage::{Mode, Stage};
use std::{process::ExitCode, sync::Arc};

/// Cases mostly wait for a server, so there are more of them at a time than there are processors.
const CASES_AT_A_TIME: usize = 8;

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args().collect();
    let mut take = |word: &str| {
        let before = words.len();
        words.retain(|other| other != word);
        words.len() < before
    };
    let mode = Mode { real_only: take("--real-only"), show: take("--show") };
    let (print_coverage, print_differences) = (take("--coverage"), take("--differences"));
    if print_differences {
        print!("{}", differences::table(&cases::all()));
        return ExitCode::SUCCESS;
    }
    let mut arguments = Arguments::from_iter(words);
    arguments.test_threads.get_or_insert(CASES_AT_A_TIME);
    let whole = arguments.filter.is_none() && arguments.skip.is_empty() && !arguments.list;
    let stage = Arc::new(Stage::new(mode));
    let conclusion = libtest_mimic::run(&arguments, trials(&stage));
    let coverage = stage.leave();
    // Without a real server nothing ran, and nothing can be said.
    let complete = !whole || coverage.is_empty() || is_covered(&coverage);
    if print_coverage || (whole && !coverage.is_empty()) {
        println!("{}", coverage.table());
    }
    if complete { conclusion.exit_code() } else { ExitCode::FAILURE }
}

fn trials(stage: &Arc<Stage>) -> Vec<Trial> {
    let mut trials = vec![Trial::test("differences_are_those_of_the_readme", differences::check)];
    for (number, case) in cases::all().into_iter().enumerate() {
        let stage = stage.clone();
        trials.push(Trial::ignorable_test(case.name.clone(), move || stage.try_case(&case, number)));
    }
    for seed in sequence::seeds() {
        let stage = stage.clone();
        trials.push(Trial::ignorable_test(format!("sequence::seed_{seed:03}"), move || {
            stage.try_sequence(seed)
        }));
    }
    for fault in Planted::ALL {
        let stage = stage.clone();
        trials.push(Trial::ignorable_test(format!("planted::{fault:?}"), move || stage.try_fault(fault)));
    }
    trials
}

fn is_covered(coverage: &Coverage) -> bool {
    let missing = coverage.missing();
    if !missing.is_empty() {
        eprintln!("operators do this, and no case tries it:\n  {}", missing.join("\n  "));
    }
    missing.is_empty()
}
