//! The same requests to the embedded API server and to the real kube-apiserver, and to the embedded garden and the real
//! one (`garden::`), and the answers compared.
//!
//! `cargo test -p allotment-garden --test conformance` runs it; filters and `--list` work as with any test. Besides:
//! `--coverage` prints what was covered even if only some cases ran, `--differences` prints the table of differences,
//! `--open` lets open cases fail, to see why they are open,
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
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use stage::{Mode, Stage};
use std::{process::ExitCode, sync::Arc};

/// Cases in which the servers do not agree yet: words, but also what is accepted and what is refused. A case that
/// is not in this list and fails is a fault.
const OPEN: &str = include_str!("open.txt");

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
    let with_open = take("--open");
    let (print_coverage, print_differences) = (take("--coverage"), take("--differences"));
    if print_differences {
        print!("{}", differences::table(&cases::all()));
        return ExitCode::SUCCESS;
    }
    let mut arguments = Arguments::from_iter(words);
    arguments.test_threads.get_or_insert(CASES_AT_A_TIME);
    let whole = arguments.filter.is_none() && arguments.skip.is_empty() && !arguments.list;
    let stage = Arc::new(Stage::new(mode));
    let conclusion = libtest_mimic::run(&arguments, trials(&stage, with_open));
    let coverage = stage.leave();
    // Without a real server nothing ran, and nothing can be said.
    let complete = !whole || coverage.is_empty() || is_covered(&coverage);
    if print_coverage || (whole && !coverage.is_empty()) {
        println!("{}", coverage.table());
    }
    if complete { conclusion.exit_code() } else { ExitCode::FAILURE }
}

fn trials(stage: &Arc<Stage>, with_open: bool) -> Vec<Trial> {
    let mut trials = vec![Trial::test("differences_are_those_of_the_readme", differences::check)];
    for (number, case) in cases::all().into_iter().enumerate() {
        let stage = stage.clone();
        if !with_open && OPEN.lines().any(|name| name == case.name) {
            let name = format!("open::{}", case.name);
            trials.push(Trial::ignorable_test(name, move || {
                still_open(stage.try_case(&case, number), &case.name)
            }));
        } else {
            trials.push(Trial::ignorable_test(case.name.clone(), move || stage.try_case(&case, number)));
        }
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

/// A case in which the servers are known to disagree runs like any other, and is counted as ignored, not as passed: the
/// number of cases that pass is the number on which the servers agree.
fn still_open(outcome: Result<Completion, Failed>, name: &str) -> Result<Completion, Failed> {
    match outcome {
        Ok(Completion::Completed) => {
            eprintln!("{name}: the servers agree; it can come off open.txt");
            Ok(Completion::Completed)
        }
        Ok(ignored) => Ok(ignored),
        Err(_) => Ok(Completion::ignored_with("open: the servers do not agree yet")),
    }
}

fn is_covered(coverage: &Coverage) -> bool {
    let missing = coverage.missing();
    if !missing.is_empty() {
        eprintln!("operators do this, and no case tries it:\n  {}", missing.join("\n  "));
    }
    missing.is_empty()
}
