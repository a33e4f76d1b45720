//! Finds the first seed that each planted fault fails on, as the tables in docs/simulation.md have them. It takes minutes:
//!
//!     cargo run --release -p allotment-sim --example planted [fault]
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
    let of_openmcp = Planted::OF_OPENMCP.iter().map(|fault| (Play::Openmcp, *fault));
    let all = of_accounts.chain(of_clusters).chain(of_access).chain(of_openmcp).chain(of_hostile);
    // One of them, if somebody names it.
    let named = std::env::args().nth(1);
    let is_meant = |fault: &Planted| named.as_ref().is_none_or(|name| *name == format!("{fault:?}"));
    for (play, fault) in all.filter(|(_, fault)| is_meant(fault)) {
        let seeds =
            Seeds { play, first: 1, count: SEEDS, most_failures: 1, jobs: None, planted: Some(fault) };
        let sum = sweep(seeds, |_| ())?;
        let (seed, run) = sum.failed.first().ok_or_else(|| format!("{fault:?} is not found"))?;
        let shrunk = shrink(run, SHRINKING)?;
        let (before, after) = (shrunk.before, shrunk.after);
        if let Some((at, violation)) = shrunk.run.violations.first() {
            println!("{fault:?}: seed {seed}, {before} to {after}, at {at} ms: {violation}");
        }
        println!("{}", shrunk.run.script);
    }
    Ok(())
}
