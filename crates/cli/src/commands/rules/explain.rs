//! `allotment rules explain`.

use crate::{
    args::rules::RuleFile,
    commands::show,
    output::{self, Format, Paint},
};
use allotment_core::rules::{Explanation, Request, Won};
use anyhow::Result;
use serde_json::json;
use std::process::ExitCode;

pub(super) fn run(file: &RuleFile, request: &Request<'_>, format: Option<Format>) -> Result<ExitCode> {
    let rules = match super::load_plan(&file.file, file.enabled_plans.as_deref(), request.plan, format)? {
        Ok(rules) => rules,
        Err(code) => return Ok(code),
    };
    let explanation = rules.explain(request);
    match (format, &explanation.outcome) {
        (Some(format), Ok(won)) => output::print_value(&for_machines(won), format)?,
        (Some(format), Err(why)) => output::print_value(&json!({ "error": why }), format)?,
        (None, _) => output::print(&for_people(&explanation))?,
    }
    Ok(if explanation.outcome.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn for_machines(Won { number, rule, pool, selector }: &Won) -> serde_json::Value {
    json!({
        "rule": rule,
        "number": number,
        "hyperscalerType": pool.hyperscaler_type,
        "shared": pool.shared,
        "euAccess": pool.eu_access,
        "selector": selector,
    })
}

fn for_people(Explanation { outcome, lost, others }: &Explanation) -> String {
    let paint = Paint::for_standard_output();
    let mut text = match outcome {
        Ok(Won { number, rule, pool, selector }) => format!(
            "{}\n",
            output::table(&[
                [format!("rule {number}"), rule.clone()],
                ["pool".to_owned(), pool.to_string()],
                ["selector".to_owned(), selector.clone()],
            ])
        ),
        Err(why) => format!("{} {why}\n\n", paint.red("no pool:")),
    };
    if !lost.is_empty() {
        let rows: Vec<[String; 3]> = lost
            .iter()
            .map(|lost| [format!("rule {}", lost.number), lost.rule.clone(), lost.because.clone()])
            .collect();
        text.push_str(&format!("{}\n{}", paint.bold("Other rules of the plan"), output::table(&rows)));
    }
    let are = if *others == 1 { "is" } else { "are" };
    text.push_str(&paint.dim(&format!("{} {are} for other plans", show::counted(*others, "rule"))));
    text.push('\n');
    text
}
