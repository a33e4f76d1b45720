//! `allotment rules diff`.

use crate::commands::show;
use crate::output::{self, Format, Paint};
use allotment_core::rules::{Change, Class, Input, Outcome, RuleSet};
use anyhow::Result;
use serde_json::{Value, json};
use std::{path::PathBuf, process::ExitCode};

pub(super) fn run(
    old: PathBuf,
    new: PathBuf,
    enabled_plans: Option<Vec<String>>,
    format: Option<Format>,
) -> Result<ExitCode> {
    let mut sets = Vec::new();
    let mut bad = None;
    for path in [old, new] {
        match super::load(&path, enabled_plans.as_deref(), format)? {
            Ok(rules) => sets.push(rules),
            // A machine wants one answer; people are told what is wrong with either file in one go.
            Err(code) if format.is_some() => return Ok(code),
            Err(code) => bad = Some(code),
        }
    }
    let (None, [old, new]) = (bad, sets.as_slice()) else { return Ok(bad.unwrap_or(ExitCode::FAILURE)) };
    let changes = RuleSet::diff(old, new);
    match format {
        Some(format) => {
            let changes: Vec<Value> = changes.iter().map(for_machines).collect();
            output::print_value(&json!({ "changes": changes }), format)?;
        }
        None => output::print(&for_people(&changes))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A region is `null` for any, and `<other>`, which no region can be called, for those that no rule of the plan names.
fn for_machines(Change { plan, provider, several_providers: _, inputs, old, new }: &Change) -> Value {
    let region = |input: Input| match &inputs[input.index()] {
        Class::Any => Value::Null,
        Class::Is(value) => json!(value),
        Class::Other => json!("<other>"),
    };
    json!({
        "plan": plan,
        "provider": provider,
        "platformRegion": region(Input::PlatformRegion),
        "hyperscalerRegion": region(Input::HyperscalerRegion),
        "old": outcome(old),
        "new": outcome(new),
    })
}

fn outcome(outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Pool { hyperscaler_type, shared, eu_access } => {
            json!({ "hyperscalerType": hyperscaler_type, "shared": shared, "euAccess": eu_access })
        }
        Outcome::Refused(why) => json!({ "refused": why }),
    }
}

fn for_people(changes: &[Change]) -> String {
    if changes.is_empty() {
        return "every request goes to the pool that it went to\n".to_owned();
    }
    let paint = Paint::for_standard_output();
    let mut rows = vec![["PLAN", "PROVIDER", "PR", "HR", "OLD", "NEW"].map(str::to_owned)];
    for Change { plan, provider, several_providers, inputs, old, new } in changes {
        let region = |input: Input| match &inputs[input.index()] {
            Class::Any => "any".to_owned(),
            Class::Is(value) => value.clone(),
            Class::Other => "any other".to_owned(),
        };
        let provider = if *several_providers { provider.clone() } else { String::new() };
        let [platform, hyperscaler] = Input::ALL.map(region);
        rows.push([plan.clone(), provider, platform, hyperscaler, old.to_string(), new.to_string()]);
    }
    let table = output::table(&rows);
    let (head, rest) = table.split_once('\n').unwrap_or((&table, ""));
    format!("{}\n{rest}{} of requests go elsewhere\n", paint.bold(head), show::counted(changes.len(), "kind"))
}
