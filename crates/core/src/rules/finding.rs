//! What is wrong with a rule file, and where.

use serde::Serialize;
use std::fmt;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The rules are refused.
    Error,
    /// The rules can be used, but somebody should look.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

/// What kind of fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// The file or a rule is not written as it should be.
    Syntax,
    /// An attribute that does not exist, or not on this side of the arrow.
    UnknownAttribute,
    /// An attribute twice on one side of the arrow.
    DuplicateAttribute,
    /// Something that cannot be the value of a label, or makes a type that cannot.
    InvalidValue,
    /// A plan that is not in the table of plans.
    UnknownPlan,
    /// Two rules with the same plan and inputs.
    DuplicateRule,
    /// Two rules that match one request, and neither is more specific.
    Ambiguous,
    /// An enabled plan without a rule.
    UncoveredPlan,
    /// A plan with rules for some inputs only.
    PartialPlan,
    /// Different regions that lead to the same type.
    TypeCollision,
    /// A rule that no request reaches.
    Unreachable,
    /// There are more findings than are listed.
    Truncated,
}

impl Code {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Syntax,
        Self::UnknownAttribute,
        Self::DuplicateAttribute,
        Self::InvalidValue,
        Self::UnknownPlan,
        Self::DuplicateRule,
        Self::Ambiguous,
        Self::UncoveredPlan,
        Self::PartialPlan,
        Self::TypeCollision,
        Self::Unreachable,
        Self::Truncated,
    ];

    /// How bad it is, unless warnings are errors.
    pub const fn severity(self) -> Severity {
        match self {
            Self::PartialPlan | Self::TypeCollision | Self::Unreachable | Self::Truncated => {
                Severity::Warning
            }
            _ => Severity::Error,
        }
    }

    /// The word in JSON and on the terminal.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::UnknownAttribute => "unknown-attribute",
            Self::DuplicateAttribute => "duplicate-attribute",
            Self::InvalidValue => "invalid-value",
            Self::UnknownPlan => "unknown-plan",
            Self::DuplicateRule => "duplicate-rule",
            Self::Ambiguous => "ambiguous",
            Self::UncoveredPlan => "uncovered-plan",
            Self::PartialPlan => "partial-plan",
            Self::TypeCollision => "type-collision",
            Self::Unreachable => "unreachable",
            Self::Truncated => "truncated",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One thing that is wrong with a rule file.
///
/// `Display` is one line; [`source_line`](Self::source_line) and [`caret`](Self::caret) show the place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What kind of fault it is.
    pub code: Code,
    /// The number of the rule, from 1; 0 where it is about the file.
    pub rule: usize,
    /// The line in the file, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
    /// What is wrong, and what to do.
    pub message: String,
    /// The number of the other rule, where two do not go together.
    pub related: Option<usize>,
    /// A rule that mends it when it is added to the file. It changes the pool of no request that has one.
    pub fix: Option<String>,
    /// The line itself, or the part of a long one that the finding is about.
    #[serde(skip)]
    pub source_line: String,
    /// The character in `source_line`, from 1.
    #[serde(skip)]
    pub source_column: usize,
    /// How many characters of the line it is about.
    #[serde(skip)]
    pub width: usize,
}

impl Finding {
    /// What goes under the line: blanks, then a `^` for each character that the finding is about.
    pub fn caret(&self) -> String {
        let mut text: String = self
            .source_line
            .chars()
            .chain(std::iter::repeat(' '))
            .take(self.source_column.saturating_sub(1))
            // A tab must be as wide below as it is above.
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        text.extend(std::iter::repeat_n('^', self.width.max(1)));
        text
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { severity, code, line, column, message, .. } = self;
        write!(f, "{line}:{column}: {severity}[{code}]: {message}")
    }
}
