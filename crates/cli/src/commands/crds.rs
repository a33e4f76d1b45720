//! `allotment crds`.

use crate::output::{self, Format};
use allotment_api::crds;
use anyhow::Result;

pub(crate) fn run(groups: &[String], format: Format) -> Result<()> {
    let chosen: Vec<_> =
        crds::all().into_iter().filter(|crd| groups.is_empty() || groups.contains(&crd.spec.group)).collect();
    output::print_objects(&chosen, format)
}
