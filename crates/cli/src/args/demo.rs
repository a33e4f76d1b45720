//! The arguments of `allotment demo`.

use super::kubeconfig::time;
use clap::{Args, ValueEnum, ValueHint};
use std::{path::PathBuf, time::Duration};

/// `allotment demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// The API servers it runs on
    #[arg(long, value_enum, default_value_t = Which::Embedded)]
    pub(crate) landscape: Which,
    /// Walk through the product, step by step; two minutes at a terminal, where it waits for whoever reads
    #[arg(long)]
    pub(crate) tour: bool,
    /// Keep everything in this folder, and go on from there the next time
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) state: Option<PathBuf>,
    /// Kill the operators this often, and start them anew
    #[arg(long, value_name = "TIME", value_parser = often)]
    pub(crate) crash: Option<Duration>,
    /// Start no operators: `allotment run` can be tried on the servers
    #[arg(long, conflicts_with_all = ["tour", "crash"])]
    pub(crate) servers_only: bool,
}

/// Which API servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Which {
    /// In this process: ready at once
    Embedded,
    /// kube-apiserver and gardener-apiserver; needs Go and a checkout
    Real,
}

/// Less than a second, and nothing would ever come to anything.
fn often(text: &str) -> Result<Duration, String> {
    let time = time(text)?;
    if time < Duration::from_secs(1) { Err("expected 1s or more".to_owned()) } else { Ok(time) }
}

#[cfg(test)]
mod tests {
    use super::often;

    #[test]
    fn operators_live_for_a_second_at_least() {
        assert!(often("1s").is_ok() && often("5s").is_ok());
        assert!(often("0s").is_err() && often("500ms").is_err() && often("x").is_err());
    }
}
