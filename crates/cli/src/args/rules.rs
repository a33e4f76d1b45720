//! What users type after `allotment rules`.

use crate::output::Format;
use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum RulesCommand {
    /// Check a rule file, and say all that is wrong with it
    #[command(after_help = "Exit codes: 0 the rules are good, 1 there are errors, 2 wrong usage.\n\n\
        Examples:\n  \
        allotment rules check values.yaml\n  \
        allotment rules check --strict --enabled-plans aws,gcp rules.yaml\n  \
        helm show values charts/allotment | allotment rules check - -o json | jq '.findings[].message'")]
    Check {
        #[command(flatten)]
        file: RuleFile,
        /// Take warnings for errors
        #[arg(long)]
        strict: bool,
        /// Print the findings in this format
        #[arg(long, short, value_enum)]
        output: Option<Format>,
    },
    /// Say which rule decides about a request, which pool it leads to, and why the other rules do not decide
    #[command(
        after_help = "Exit codes: 0 a rule decides, 1 none does or the rules are bad, 2 wrong usage.\n\n\
        Examples:\n  \
        allotment rules explain values.yaml --plan aws --platform-region cf-eu11\n  \
        allotment rules explain values.yaml --plan trial --provider azure -o json | jq -r .selector"
    )]
    Explain {
        #[command(flatten)]
        file: RuleFile,
        /// The plan of the request
        #[arg(long)]
        plan: String,
        /// Its cloud; only for plans that can be in several
        #[arg(long)]
        provider: Option<String>,
        /// Its platform region: PR
        #[arg(long, value_name = "REGION")]
        platform_region: Option<String>,
        /// Its hyperscaler region: HR
        #[arg(long, value_name = "REGION")]
        hyperscaler_region: Option<String>,
        /// Print the answer in this format
        #[arg(long, short, value_enum)]
        output: Option<Format>,
    },
    /// Say which requests go to another pool under new rules
    #[command(
        after_help = "Exit codes: 0 the answer is there, 1 one of the files is bad, 2 wrong usage.\n\n\
        Example:\n  git show HEAD:rules.yaml | allotment rules diff - rules.yaml"
    )]
    Diff {
        /// The rules that are in force; - is standard input
        #[arg(value_hint = ValueHint::FilePath)]
        old: PathBuf,
        /// The rules that shall be; - is standard input
        #[arg(value_hint = ValueHint::FilePath)]
        new: PathBuf,
        /// The plans that need a rule, whatever the files say
        #[arg(long, value_delimiter = ',', value_name = "PLANS")]
        enabled_plans: Option<Vec<String>>,
        /// Print the answer in this format
        #[arg(long, short, value_enum)]
        output: Option<Format>,
    },
    /// Spell every rule of a file alike, and leave the rest of the file as it is
    #[command(after_help = "Exit codes: 0 done, 1 the rules cannot be read, 2 wrong usage.\n\n\
        Examples:\n  allotment rules fmt rules.yaml | diff rules.yaml -\n  allotment rules fmt --write rules.yaml")]
    Fmt {
        /// The file; - is standard input
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// Write it back instead of printing it
        #[arg(long)]
        write: bool,
    },
}

/// The rules that a command is about.
#[derive(Args, Debug)]
pub(crate) struct RuleFile {
    /// The chart's values, their `hap:` block, or what is below it; - is standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// The plans that need a rule, whatever the file says
    #[arg(long, value_delimiter = ',', value_name = "PLANS")]
    pub(crate) enabled_plans: Option<Vec<String>>,
}
