//! A crash right before and right after every write of one scenario.

use super::{
    coverage::Coverage,
    run::{Run, run_script},
    script::{Action, Harm, Options, Script, Spot, Want},
    world::SimError,
};
use std::collections::BTreeMap;

/// What came of it.
#[derive(Clone, Debug)]
pub struct Enumerated {
    /// How many writes the scenario has when nothing goes wrong.
    pub writes: u64,
    /// How many runs there were.
    pub runs: u64,
    /// The runs that failed.
    pub failed: Vec<Run>,
    /// What was tried.
    pub coverage: Coverage,
}

/// Runs the scenario once without faults, then once for each write with a crash before it and once with a crash after it.
pub fn enumerate(mut progress: impl FnMut(u64, u64)) -> Result<Enumerated, SimError> {
    let calm = run_script(&scenario(), false)?;
    let writes = calm.writes;
    let mut coverage = calm.coverage.clone();
    let mut failed: Vec<Run> = Some(calm).filter(|run| !run.violations.is_empty()).into_iter().collect();
    let mut runs = 1;
    for number in 1..=writes {
        for harm in [Harm::CrashBefore, Harm::CrashAfter] {
            let spot = Spot { replica: 2, operation: "write".to_owned(), number };
            let faults = BTreeMap::from([(spot, harm)]);
            let script = Script { faults, ..scenario() };
            let run = run_script(&script, false)?;
            coverage.merge(&run.coverage);
            runs += 1;
            if !run.violations.is_empty() {
                failed.push(Run { script, ..run });
            }
        }
        progress(number, writes);
    }
    Ok(Enumerated { writes, runs, failed, coverage })
}

/// Claim, a second request, the limit, the queue, release, dirty, clean, reuse, shared.
pub fn scenario() -> Script {
    let options = Options {
        seed: 1,
        tenants: 2,
        dedicated: 2,
        eu: 0,
        shared: 1,
        limit: 2,
        several: 1,
        cap: 0,
        workers: 2,
        latency: 5,
        clean: 5000,
        same_name: false,
        calm: 90_000,
    };
    let ask = |request: &str, tenant: &str, want| Action::Ask {
        request: request.to_owned(),
        tenant: tenant.to_owned(),
        want,
    };
    let delete = |request: &str| Action::Delete { request: request.to_owned() };
    let actions = vec![
        // A first claim, a second request into the same account, and one over the limit of two.
        (4_000, ask("first", "t1", Want::Own)),
        (8_000, ask("second", "t1", Want::Plan)),
        (12_000, ask("third", "t1", Want::Own)),
        // Nothing is left for the other tenant, who waits; what no rule grants is denied.
        (16_000, ask("waits", "t2", Want::Own)),
        (18_000, ask("denied", "t2", Want::Nothing)),
        (20_000, ask("shared", "t2", Want::Trial)),
        // The last one out of the second account: it drains, is dirty, is cleaned, and goes to the one who waits.
        (26_000, delete("third")),
        (50_000, delete("shared")),
        (56_000, delete("waits")),
        (58_000, Action::Remove { request: "denied".to_owned() }),
    ];
    Script { options, actions, faults: BTreeMap::new() }
}
