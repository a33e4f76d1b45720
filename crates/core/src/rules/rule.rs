//! One rule, and how it is written.

use super::{
    attribute::{Input, Inputs, Output, Outputs},
    parse,
};
use std::fmt;

/// A plan and the inputs it is for, and what that says about the pool.
///
/// `Display` is the canonical spelling: `aws(PR=cf-eu11, HR=westeu) -> PR, HR, S, EU`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its place in the list, from 1.
    pub number: usize,
    /// As it is written in the file.
    pub text: String,
    /// The plan it is for.
    pub plan: String,
    /// The values it is for.
    pub inputs: Inputs,
    /// What it says about the pool.
    pub outputs: Outputs,
}

impl Rule {
    /// Reads one rule; what is wrong with it comes in the order of the text.
    ///
    /// ```
    /// use allotment_core::rules::Rule;
    ///
    /// let rule = Rule::parse(1, "aws( HR = westeu,PR=cf-eu11 )->EU,PR").map_err(|faults| format!("{faults:?}"))?;
    /// assert_eq!(rule.to_string(), "aws(PR=cf-eu11, HR=westeu) -> PR, EU");
    /// # Ok::<(), String>(())
    /// ```
    pub fn parse(number: usize, text: &str) -> Result<Self, Vec<parse::Fault>> {
        let parse::Draft { plan, inputs, outputs, faults } = parse::parse(text);
        match plan {
            Some(plan) if faults.is_empty() => {
                Ok(Self { number, text: text.trim().to_owned(), plan: plan.name, inputs, outputs })
            }
            _ => Err(faults),
        }
    }

    /// The value that it wants of an input; `None` for any.
    pub fn input(&self, input: Input) -> Option<&str> {
        self.inputs[input.index()].as_deref()
    }

    /// How many inputs it wants. Of the rules that match, the one with most wins.
    pub fn specificity(&self) -> usize {
        self.inputs.iter().flatten().count()
    }

    /// Whether it says this about the pool.
    pub fn has(&self, output: Output) -> bool {
        self.outputs.has(output)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        spell(f, &self.plan, &self.inputs, self.outputs)
    }
}

/// A rule that somebody should write.
pub(super) struct Spelled<'a>(pub &'a str, pub &'a Inputs, pub Outputs);

impl fmt::Display for Spelled<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        spell(f, self.0, self.1, self.2)
    }
}

fn spell(f: &mut fmt::Formatter<'_>, plan: &str, inputs: &Inputs, outputs: Outputs) -> fmt::Result {
    f.write_str(plan)?;
    let mut before = "(";
    for input in Input::ALL {
        if let Some(value) = &inputs[input.index()] {
            write!(f, "{before}{input}={value}")?;
            before = ", ";
        }
    }
    if before != "(" {
        f.write_str(")")?;
    }
    let mut before = " -> ";
    for output in outputs.iter() {
        write!(f, "{before}{output}")?;
        before = ", ";
    }
    Ok(())
}
