//! `allotment crds`.

use crate::output::{self, Format};
use allotment_api::{crds, openmcp};
use anyhow::Result;
use std::collections::BTreeSet;

pub(crate) fn run(groups: &[String], of_openmcp: bool, format: Format) -> Result<()> {
    let foreign: BTreeSet<String> = openmcp::crds().into_iter().map(|crd| crd.spec.group).collect();
    let is_wanted = |group: &String| match groups {
        [] => foreign.contains(group) == of_openmcp,
        groups => groups.contains(group),
    };
    let chosen: Vec<_> = crds::all().into_iter().filter(|crd| is_wanted(&crd.spec.group)).collect();
    output::print_objects(&chosen, format)
}
