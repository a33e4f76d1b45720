//! Finds where two recordings differ, and says so to a person.

use crate::{
    run::Recording,
    script::{Case, Step, short},
};
use serde_json::Value;
use std::fmt::Write;

/// Why a case fails, or nothing.
pub fn compare(case: &Case, real: &Recording, embedded: &Recording) -> Option<String> {
    let mut report = String::new();
    for (number, step) in case.steps.iter().enumerate() {
        let (Some(left), Some(right)) = (real.steps.get(number), embedded.steps.get(number)) else {
            continue;
        };
        let mut found = Vec::new();
        differences("", left, right, &mut found);
        let excused = |place: &str| step.differences.iter().any(|known| place.starts_with(&known.place));
        let lines: Vec<&Found> = found.iter().filter(|found| !excused(&found.place)).collect();
        if !lines.is_empty() {
            let _ = writeln!(report, "step {}: {step}", number + 1);
        }
        for Found { place, real, embedded } in lines {
            let _ = writeln!(report, "  {place}\n    real     {real}\n    embedded {embedded}");
        }
        for known in &step.differences {
            if !found.iter().any(|found| found.place.starts_with(&known.place)) {
                let _ = writeln!(
                    report,
                    "step {}: {step}\n  {} is said to differ and does not: {}",
                    number + 1,
                    known.place,
                    known.why
                );
            }
        }
    }
    (!report.is_empty()).then_some(report)
}

/// Where the real server does not do what the script says, so that a script that fails everywhere does not pass.
pub fn check_script(case: &Case, real: &Recording) -> Option<String> {
    let mut report = String::new();
    for (number, (step, seen)) in case.steps.iter().zip(&real.steps).enumerate() {
        if let Some(trouble) = unexpected(step, seen) {
            let _ = writeln!(report, "step {}: {step}\n  {trouble}", number + 1);
        }
    }
    (!report.is_empty()).then_some(report)
}

fn unexpected(step: &Step, seen: &Value) -> Option<String> {
    if let crate::script::Action::Collect(_, count) = step.action {
        let seen = seen["events"].as_array().map_or(0, Vec::len);
        return (seen != count)
            .then(|| format!("the script expects {count} events, the real server sent {seen}"));
    }
    let code = seen["code"].as_u64().unwrap_or_default();
    let fine = match step.code {
        Some(wanted) => code == u64::from(wanted),
        None => (200..300).contains(&code),
    };
    let wanted = step.code.map_or("success".to_owned(), |code| code.to_string());
    (!fine).then(|| {
        format!(
            "the script expects {wanted}, the real server said {code}: {}",
            short(&seen["body"].to_string())
        )
    })
}

struct Found {
    place: String,
    real: String,
    embedded: String,
}

fn differences(place: &str, real: &Value, embedded: &Value, found: &mut Vec<Found>) {
    match (real, embedded) {
        (Value::Object(left), Value::Object(right)) => {
            let mut keys: Vec<&String> = left.keys().chain(right.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                let place = format!("{place}/{}", key.replace('~', "~0").replace('/', "~1"));
                match (left.get(key), right.get(key)) {
                    (Some(left), Some(right)) => differences(&place, left, right, found),
                    (left, right) => found.push(one(place, left, right)),
                }
            }
        }
        (Value::Array(left), Value::Array(right)) => {
            for index in 0..left.len().max(right.len()) {
                let place = format!("{place}/{index}");
                match (left.get(index), right.get(index)) {
                    (Some(left), Some(right)) => differences(&place, left, right, found),
                    (left, right) => found.push(one(place, left, right)),
                }
            }
        }
        (left, right) if left != right => found.push(one(place.to_owned(), Some(left), Some(right))),
        _ => {}
    }
}

fn one(place: String, real: Option<&Value>, embedded: Option<&Value>) -> Found {
    let text =
        |value: Option<&Value>| value.map_or("(nothing)".to_owned(), |value| short(&value.to_string()));
    Found { place, real: text(real), embedded: text(embedded) }
}
