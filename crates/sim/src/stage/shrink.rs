//! Makes a failing run smaller: what it fails without is left out (delta debugging, after Zeller's ddmin).

use super::{
    run::{Run, run_like},
    script::{Action, Harm, Script, Spot},
    world::SimError,
};
use allotment_core::check::Violation;

/// Something that can be left out.
#[derive(Clone, Debug)]
enum Item {
    Action(u64, Action),
    Fault(Spot, Harm),
}

/// A failing run, as small as was found.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// What is left.
    pub run: Run,
    /// Actions and faults before.
    pub before: usize,
    /// Actions and faults now.
    pub after: usize,
    /// How many runs it took.
    pub runs: usize,
}

/// Shrinks a failing run, with at most so many runs. Whatever fails in the same way will do.
pub fn shrink(run: &Run, most_runs: usize) -> Result<Shrunk, SimError> {
    let mut items: Vec<Item> =
        run.script.actions.iter().map(|(at, action)| Item::Action(*at, action.clone())).collect();
    items.extend(run.script.faults.iter().map(|(spot, harm)| Item::Fault(spot.clone(), *harm)));
    let before = items.len();
    let mut best = run.clone();
    let (mut parts, mut runs) = (2, 0);
    while !items.is_empty() && runs < most_runs {
        let size = items.len().div_ceil(parts);
        let mut smaller = None;
        for start in (0..items.len()).step_by(size.max(1)) {
            let end = (start + size).min(items.len());
            let rest: Vec<Item> = items[..start].iter().chain(&items[end..]).cloned().collect();
            runs += 1;
            let tried = run_like(run, &script_of(&run.script, &rest), false)?;
            if fails_alike(&tried.violations, &run.violations) {
                smaller = Some((rest, tried));
                break;
            }
            if runs >= most_runs {
                break;
            }
        }
        match smaller {
            Some((rest, tried)) => {
                best = Run { script: script_of(&run.script, &rest), ..tried };
                items = rest;
                parts = (parts - 1).max(2);
            }
            None if size <= 1 => break,
            None => parts = (parts * 2).min(items.len()),
        }
    }
    // Once more, to be read.
    let read = run_like(run, &best.script, true)?;
    Ok(Shrunk { run: Run { script: best.script, ..read }, before, after: items.len(), runs })
}

fn fails_alike(one: &[(u64, Violation)], other: &[(u64, Violation)]) -> bool {
    match (one.first(), other.first()) {
        (Some((_, one)), Some((_, other))) => one.is_like(other),
        _ => false,
    }
}

fn script_of(whole: &Script, items: &[Item]) -> Script {
    let mut script =
        Script { options: whole.options.clone(), actions: Vec::new(), faults: Default::default() };
    for item in items {
        match item {
            Item::Action(at, action) => script.actions.push((*at, action.clone())),
            Item::Fault(spot, harm) => {
                script.faults.insert(spot.clone(), *harm);
            }
        }
    }
    script
}
