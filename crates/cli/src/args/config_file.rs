//! Where the operators' configuration file is.

use clap::{Args, ValueHint};
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct ConfigFile {
    /// The operators' configuration file [env: ALLOTMENT_CONFIG] [default: ./allotment.yaml, then /etc/allotment/config.yaml]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
}
