//! Finds the first seed that each planted fault fails on, as the tables in docs/simulation.md have them. It takes minutes:
//!
//!     cargo run --release -p allotment-sim --example planted [fault…] [--seeds-only]
//!
//! With `--seeds-only` it makes nothing small.
#![allow(clippy::print_stdout, reason = "it is there to be read")]

use allotment_operator::planted::Planted;
use allotment_sim::stage::{Play, Seeds, shrink, sweep};
use std::error::Error;

/// A fault that is not found by then is not found.
const SEEDS: u64 = 500;

/// How many runs shrinking may take.
const SHRINKING: usize = 2000;

fn main() -> Result<(), Box<dyn Error>> {
    let of_accounts = Planted::ALL.iter().map(|fault| (Play::Subscription, *fault));
    let of_clusters = Planted::OF_CLUSTERS.iter().map(|fault| (Play::Cluster, *fault));
    let of_access = Planted::OF_ACCESS.iter().map(|fault| (Play::Access, *fault));
    let of_hostile = Planted::OF_HOSTILE.iter().map(|fault| (Play::Hostile, *fault));
    let of_cleanup = Planted::OF_CLEANUP.iter().map(|fault| (Play::Cleanup, *fault));
    let of_openmcp = Planted::OF_OPENMCP.iter().map(|fault| (Play::Openmcp, *fault));
    let all =
        of_accounts.chain(of_clusters).chain(of_access).chain(of_openmcp).chain(of_hostile).chain(of_cleanup);
    let (options, named): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let is_meant = |fault: &Planted| named.is_empty() || named.contains(&format!("{fault:?}"));
    for (play, fault) in all.filter(|(_, fault)| is_meant(fault)) {
        let seeds =
            Seeds { play, first: 1, count: SEEDS, most_failures: 1, jobs: None, planted: Some(fault) };
        let sum = sweep(seeds, |_| ())?;
        let Some((seed, run)) = sum.failed.first() else {
            println!("{fault:?} is not found");
            continue;
        };
        if !options.is_empty() {
            println!("{fault:?}: seed {seed}: {:?}", run.violations.first().map(|(_, it)| it.to_string()));
            continue;
        }
        let shrunk = shrink(run, SHRINKING)?;
        let (before, after) = (shrunk.before, shrunk.after);
        if let Some((at, violation)) = shrunk.run.violations.first() {
            println!("{fault:?}: seed {seed}, {before} to {after}, at {at} ms: {violation}");
        }
        println!("{}", shrunk.run.script);
    }
    Ok(())
}
