//! How findings look to people.

use super::input;
use crate::output::Paint;
use allotment_core::rules::{Finding, RuleSet, Severity};
use std::path::Path;

/// Every finding with its line and a caret.
pub(crate) fn findings(path: &Path, findings: &[Finding], paint: Paint) -> String {
    let mut text = String::new();
    for finding in findings {
        let Finding { severity, code, line, column, message, source_line, .. } = finding;
        let head = format!("{severity}[{code}]");
        let colour = |text: &str| match severity {
            Severity::Error => paint.red(text),
            Severity::Warning => paint.yellow(text),
        };
        let margin = " ".repeat(line.to_string().len());
        let (arrow, bar, number) = (paint.dim("-->"), paint.dim("|"), paint.dim(&line.to_string()));
        text.push_str(&format!("{}: {message}\n", colour(&head)));
        text.push_str(&format!("{margin}{arrow} {}:{line}:{column}\n", name(path)));
        text.push_str(&format!("{number} {bar} {source_line}\n"));
        text.push_str(&format!("{margin} {bar} {}\n\n", colour(&finding.caret())));
    }
    text
}

/// The last line: how it stands.
pub(crate) fn verdict(path: &Path, rules: Option<&RuleSet>, findings: &[Finding], paint: Paint) -> String {
    let rules = rules.map(|rules| counted(rules.rules().len(), "rule"));
    verdict_on(path, rules.as_deref(), findings, paint)
}

/// The same about any file, where `good` says what is in it, if it can be used.
pub(crate) fn verdict_on(path: &Path, good: Option<&str>, findings: &[Finding], paint: Paint) -> String {
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    let warnings = findings.len() - errors;
    let found = match (errors, warnings) {
        (0, 0) => String::new(),
        (0, warnings) => counted(warnings, "warning"),
        (errors, 0) => counted(errors, "error"),
        (errors, warnings) => format!("{}, {}", counted(errors, "error"), counted(warnings, "warning")),
    };
    match good {
        Some(good) if found.is_empty() => format!("{}: {good}, {}\n", name(path), paint.green("all good")),
        Some(_) => format!("{}: {}\n", name(path), paint.yellow(&found)),
        None => format!("{}: {}\n", name(path), paint.red(&found)),
    }
}

/// What a file is called.
pub(crate) fn name(path: &Path) -> String {
    if input::is_standard_input(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// "1 rule", "2 rules".
pub(crate) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
