//! `allotment sim`.

use crate::{
    args::sim::{SimArgs, SimCommand},
    output::{self, Format},
};
use allotment_sim::stage::{Cell, Play, Run, Script, Seeds, enumerate, run_script, run_seed, shrink, sweep};
use anyhow::{Context, Result};
use serde::Serialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::ExitCode,
    time::Instant,
};

/// More failing seeds than this say nothing new.
const MOST_FAILURES: usize = 5;

/// How many runs shrinking may take.
const MOST_SHRINKING: usize = 2000;

/// What is printed for a machine.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    ok: bool,
    runs: u64,
    calls: u64,
    writes: u64,
    faults: u64,
    virtual_seconds: u64,
    seconds: f64,
    failures: Vec<Failure>,
    coverage: Vec<Cell>,
}

#[derive(Serialize)]
struct Failure {
    seed: Option<u64>,
    hash: String,
    violations: Vec<String>,
    script: String,
}

pub(crate) fn run(command: SimCommand) -> Result<ExitCode> {
    let (play, how) = match command {
        SimCommand::Subscription(how) => (Play::Subscription, how),
        SimCommand::Cluster(how) => (Play::Cluster, how),
        SimCommand::Access(how) => (Play::Access, how),
        SimCommand::Hostile(how) => (Play::Hostile, how),
        SimCommand::Openmcp(how) => (Play::Openmcp, how),
        SimCommand::Cleanup(how) => (Play::Cleanup, how),
    };
    let SimArgs { seeds, seed, jobs, enumerate, script, trace, output } = how;
    match (script, enumerate, seed) {
        (Some(path), _, _) => one(&run_script(&read(&path)?, trace)?, output),
        (None, true, _) => every_write(play, output),
        (None, false, Some(seed)) if seeds.unwrap_or(1) == 1 => one(&run_seed(play, seed, trace)?, output),
        (None, false, seed) => {
            let (first, count) = (seed.unwrap_or(1), seeds.unwrap_or(100));
            many(Seeds { play, first, count, most_failures: MOST_FAILURES, jobs, planted: None }, output)
        }
    }
}

fn read(path: &Path) -> Result<Script> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    text.parse().with_context(|| format!("cannot understand {}", path.display()))
}

fn one(run: &Run, format: Option<Format>) -> Result<ExitCode> {
    for line in &run.lines {
        output::print(&format!("{line}\n"))?;
    }
    let failure = failure_of(Some(run.script.options.seed), run);
    let report = Report {
        ok: run.violations.is_empty(),
        runs: 1,
        calls: run.calls,
        writes: run.writes,
        faults: run.script.faults.len() as u64,
        virtual_seconds: run.millis / 1000,
        seconds: 0.0,
        failures: Some(failure).filter(|_| !run.violations.is_empty()).into_iter().collect(),
        coverage: Vec::new(),
    };
    output::note(&format!("trace {:016x}", run.hash));
    say(&report, format)
}

fn many(seeds: Seeds, format: Option<Format>) -> Result<ExitCode> {
    let started = Instant::now();
    let (play, count) = (seeds.play, seeds.count);
    let progress = |done: u64| {
        if done.is_multiple_of(100) {
            output::note(&format!("{done} of {count} seeds"));
        }
    };
    let sum = sweep(seeds, progress)?;
    for (kind, (tried, accepted)) in &sum.coverage.edits {
        output::note(&format!("{accepted} of {tried} changes of a {kind} were accepted"));
    }
    let mut failures = Vec::new();
    if let Some((seed, run)) = sum.failed.first() {
        output::note(&format!("seed {seed} fails; making it small"));
        let shrunk = shrink(run, MOST_SHRINKING)?;
        let (before, after, runs) = (shrunk.before, shrunk.after, shrunk.runs);
        output::note(&format!("{after} actions and faults are left of {before}, after {runs} runs"));
        failures.push(failure_of(Some(*seed), &shrunk.run));
    }
    failures.extend(sum.failed.iter().skip(1).map(|(seed, run)| failure_of(Some(*seed), run)));
    let report = Report {
        ok: failures.is_empty(),
        runs: sum.seeds,
        calls: sum.calls,
        writes: sum.writes,
        faults: sum.faults,
        virtual_seconds: sum.millis / 1000,
        seconds: started.elapsed().as_secs_f64(),
        failures,
        coverage: sum.coverage.cells(play),
    };
    say(&report, format)
}

fn every_write(play: Play, format: Option<Format>) -> Result<ExitCode> {
    let started = Instant::now();
    let result = enumerate(play, 1, |number, writes| {
        if number.is_multiple_of(20) {
            output::note(&format!("{number} of {writes} writes"));
        }
    })?;
    output::note(&format!("the scenario has {} writes", result.writes));
    let report = Report {
        ok: result.failed.is_empty(),
        runs: result.runs,
        calls: 0,
        writes: result.writes,
        faults: result.runs.saturating_sub(1),
        virtual_seconds: 0,
        seconds: started.elapsed().as_secs_f64(),
        failures: result.failed.iter().map(|run| failure_of(None, run)).collect(),
        coverage: result.coverage.tried(play),
    };
    say(&report, format)
}

fn failure_of(seed: Option<u64>, run: &Run) -> Failure {
    Failure {
        seed,
        hash: format!("{:016x}", run.hash),
        violations: run.violations.iter().map(|(at, violation)| format!("at {at} ms: {violation}")).collect(),
        script: run.script.to_string(),
    }
}

fn say(report: &Report, format: Option<Format>) -> Result<ExitCode> {
    match format {
        Some(format) => output::print_value(report, format)?,
        None => output::print(&text(report))?,
    }
    Ok(if report.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn text(report: &Report) -> String {
    let mut text = String::new();
    if !report.coverage.is_empty() {
        text.push_str(&table(&report.coverage));
        text.push_str(&legend(&report.coverage));
    }
    for Failure { seed, hash, violations, script } in &report.failures {
        let seed = seed.map_or("the scenario".to_owned(), |seed| format!("seed {seed}"));
        text.push_str(&format!("\n# {seed} fails, trace {hash}\n"));
        for violation in violations {
            text.push_str(&format!("# {violation}\n"));
        }
        text.push_str(script);
    }
    let Report { runs, calls, writes, faults, virtual_seconds, seconds, .. } = report;
    text.push_str(&format!(
        "{runs} runs, {} of them failed: {calls} calls, {writes} writes, {faults} faults, {virtual_seconds} s in there, \
         {seconds:.1} s out here\n",
        report.failures.len()
    ));
    text
}

/// One line for each operation and state, one column for each fault, in the order in which they come.
fn table(cells: &[Cell]) -> String {
    let mut faults: Vec<&str> = Vec::new();
    let mut lines: Vec<(_, BTreeMap<&str, String>)> = Vec::new();
    for Cell { operation, state, fault, count, impossible } in cells {
        if !faults.contains(fault) {
            faults.push(fault);
        }
        if lines.last().is_none_or(|(line, _)| *line != (*operation, *state)) {
            lines.push(((*operation, *state), BTreeMap::new()));
        }
        let shown = if *count == 0 && impossible.is_some() { "-".to_owned() } else { count.to_string() };
        if let Some((_, counts)) = lines.last_mut() {
            counts.insert(fault, shown);
        }
    }
    let mut rows = vec![vec!["operation".to_owned(), "state".to_owned()]];
    rows[0].extend(faults.iter().map(|fault| (*fault).to_owned()));
    for ((operation, state), counts) in lines {
        let mut row = vec![operation.to_owned(), state.to_owned()];
        row.extend(faults.iter().map(|fault| counts.get(fault).cloned().unwrap_or_default()));
        rows.push(row);
    }
    output::columns(&rows)
}

/// Why there is a `-`, and what is missing.
fn legend(cells: &[Cell]) -> String {
    let (mut reasons, mut remarks) = (BTreeMap::<&str, BTreeSet<&str>>::new(), String::new());
    let (mut filled, mut impossible, mut empty) = (0, 0, 0);
    for Cell { operation, state, fault, count, impossible: why } in cells {
        match (count, why) {
            (0, Some(why)) => {
                impossible += 1;
                reasons.entry(why).or_default().insert(fault);
            }
            (0, None) => {
                empty += 1;
                remarks.push_str(&format!("never tried: {operation} ({state}) with {fault}\n"));
            }
            (_, Some(why)) => {
                filled += 1;
                remarks.push_str(&format!("happened, though {why}: {operation} ({state}) with {fault}\n"));
            }
            (_, None) => filled += 1,
        }
    }
    let mut text = format!("\n{filled} cells filled, {empty} empty, {impossible} cannot be (-):\n");
    for (why, faults) in reasons {
        let faults: Vec<&str> = faults.into_iter().collect();
        text.push_str(&format!("  {}: {why}\n", faults.join(", ")));
    }
    text + &remarks
}
