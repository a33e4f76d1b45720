//! Arguments of `allotment cleanup`.

use super::pool::Place;
use crate::output::Format;
use allotment_core::cleanup::Cloud;
use clap::{Subcommand, builder::PossibleValuesParser};
use std::collections::BTreeSet;

#[derive(Debug, Subcommand)]
pub(crate) enum CleanupCommand {
    /// List an account, and show everything that a cleaning would do, in order; deletes nothing
    ///
    /// The mode of the configuration does not matter, and neither does the state of the account.
    #[command(
        after_help = "Exit codes: 0 everything that is there can go, 1 something cannot go or is unknown or the account cannot be cleaned, \
        2 wrong usage, 3 something could not be read.\n\n\
        Examples:\n  \
        allotment cleanup plan aws-01 --config config.yaml\n  \
        allotment cleanup plan aws-01 --config config.yaml -o json | jq -r '.plan.waves[].items[].item | .kind + \" \" + .id'\n  \
        allotment cleanup plan aws-01 --config config.yaml -o json | jq -r '.plan.unknown[].missing' | sort -u    # missing permissions"
    )]
    Plan {
        /// The account: the name of its binding
        account: String,
        #[command(flatten)]
        place: Place,
        /// Print the plan in this format
        #[arg(long, short, value_enum)]
        output: Option<Format>,
    },
    /// Delete everything in a dirty account that may go, prove it empty, and return it to the pool
    ///
    /// It does what the operator does with mode delete, whatever mode the configuration has, and ends when the account is free, or
    /// when a person has to act. The account must be dirty. Interrupted, it can be run again: everything is listed anew.
    #[command(
        after_help = "Exit codes: 0 the account is empty and free, 1 it is stuck or may not be cleaned, or it was not confirmed, \
        2 wrong usage, 3 something could not be read.\n\n\
        Examples:\n  \
        allotment cleanup run aws-01 --config config.yaml\n  \
        allotment cleanup run aws-01 --config config.yaml --yes -o json | jq -r .digest"
    )]
    Run {
        /// The account: the name of its binding
        account: String,
        #[command(flatten)]
        place: Place,
        /// Yes, delete; needed without a terminal
        #[arg(long)]
        yes: bool,
        /// Print the result in this format
        #[arg(long, short, value_enum)]
        output: Option<Format>,
    },
    /// Prove that an account is empty; deletes nothing, and frees nothing
    ///
    /// Lists everything twice, the settle time apart, and compares the listings with independent counts of the cloud. The digest is
    /// the SHA-256 of the proof as compact JSON.
    #[command(
        after_help = "Exit codes: 0 it is empty, 1 something is left or unknown or the account cannot be verified, 2 wrong usage, \
        3 something could not be read.\n\n\
        Examples:\n  \
        allotment cleanup verify aws-01 --config config.yaml\n  \
        allotment cleanup verify aws-01 --config config.yaml --settle-seconds 60\n  \
        allotment cleanup verify aws-01 --config config.yaml -o json > aws-01.json    # to keep for an audit\n  \
        jq -jc .proof aws-01.json | sha256sum                                         # is .digest"
    )]
    Verify {
        /// The account: the name of its binding
        account: String,
        #[command(flatten)]
        place: Place,
        /// The least time between the two listings [default: the configuration's cleanup.settleSeconds]
        #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
        settle_seconds: Option<u32>,
        /// Print the proof in this format
        #[arg(long, short, value_enum)]
        output: Option<Format>,
    },
    /// Record which accounts of the cloud entries lead to, and everything in them that is to stay
    ///
    /// The operator does this by itself for accounts that are free and of which the ledger knows that they were never used: not for those of
    /// a pool that was in use before, or whose ledger was rebuilt. An account without a recorded id is never cleaned. Items of the baseline are never deleted, so an account in use gets none: --id-only records only its id.
    #[command(
        after_help = "Exit codes: 0 it is recorded, 1 it was refused, 2 wrong usage, 3 something could not be read.\n\n\
        Examples:\n  \
        allotment cleanup baseline aws-01 --config config.yaml --id-only --shoots none    # first; or with their names:\n  \
        allotment cleanup baseline aws-01 --config config.yaml --id-only --shoots c-1a2b,c-3c4d\n  \
        allotment cleanup baseline aws-01 --config config.yaml                            # then, unless it is in use\n  \
        allotment cleanup baseline aws-02 aws-03 aws-04 --config config.yaml              # several that were never used"
    )]
    Baseline {
        /// The accounts: the names of their bindings
        #[arg(required = true, value_name = "ACCOUNT")]
        accounts: Vec<String>,
        #[command(flatten)]
        place: Place,
        /// Only the account id: the content may be a tenant's
        #[arg(long)]
        id_only: bool,
        /// The account id that is recorded now, if the credentials lead to another one on purpose: its baseline is forgotten
        #[arg(long, value_name = "OLD-ID")]
        replace: Option<String>,
        /// The names of all Shoots that were ever in the account, or none: AWS roles can be found only by these names
        #[arg(long, value_name = "NAME,NAME|none", value_parser = shoots)]
        shoots: Option<Shoots>,
        /// Print what was recorded in this format
        #[arg(long, short, value_enum)]
        output: Option<Format>,
    },
    /// Say how far the cleaning of each account is, and what keeps it
    #[command(
        after_help = "Exit codes: 0 the answer is there, 2 wrong usage, 3 something could not be read.\n\n\
        Examples:\n  \
        allotment cleanup status --config config.yaml\n  \
        allotment cleanup status --config config.yaml -o json | jq -r '.cleanings[] | select(.stuck) | .account + \" \" + .stuck.remedy'"
    )]
    Status {
        #[command(flatten)]
        place: Place,
        /// The namespace of the operators, where their Leases are [default: $POD_NAMESPACE, else default]
        #[arg(long, value_name = "NAME")]
        operator_namespace: Option<String>,
        /// Print the answer in this format
        #[arg(long, short, value_enum)]
        output: Option<Format>,
    },
    /// Print the kinds of items that cleaning knows, with the permissions it needs; needs no cluster
    #[command(after_help = "Exit codes: 0 printed, 2 wrong usage.\n\n\
        Examples:\n  \
        allotment cleanup kinds aws\n  \
        allotment cleanup kinds aws -o json | jq -r '.[].kinds[] | .list[], .delete[]' | sort -u    # for a policy")]
    Kinds {
        /// The cloud [default: all]
        #[arg(value_parser = PossibleValuesParser::new(Cloud::ALL.map(Cloud::as_str)))]
        cloud: Option<String>,
        /// Print them in this format
        #[arg(long, short, value_enum)]
        output: Option<Format>,
    },
}

/// Names of Shoots; empty for `none`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shoots(pub(crate) BTreeSet<String>);

fn shoots(text: &str) -> Result<Shoots, String> {
    if text == "none" {
        return Ok(Shoots(BTreeSet::new()));
    }
    let names: BTreeSet<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
    // Technical ids are made of these: a name that no Shoot can have would hide a mistake.
    let is_name = |name: &String| {
        let known = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
        !name.is_empty() && name != "none" && name.chars().all(known)
    };
    match names.iter().find(|name| !is_name(name)) {
        Some(name) => Err(format!("{name:?} is no name of a Shoot: expected names with commas, or none")),
        None => Ok(Shoots(names)),
    }
}

#[cfg(test)]
mod tests {
    use super::shoots;

    #[test]
    fn names_of_shoots_are_read() {
        let read = |text| shoots(text).map(|shoots| shoots.0.into_iter().collect::<Vec<_>>().join(" "));
        assert_eq!(read("none"), Ok(String::new()));
        assert_eq!(read("b,a-1"), Ok("a-1 b".to_owned()));
        assert!(read("none,foo").is_err(), "there are none, or there is one");
        assert!(read("").is_err() && read("a,").is_err() && read("shoot--p--C").is_err());
    }
}
