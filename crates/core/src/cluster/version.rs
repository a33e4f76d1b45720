//! Which Kubernetes version a Shoot gets: the one asked for, never one below that of the live Shoot.

use super::{
    facts::Stage,
    problem::{Findings, Problem},
    scene::Scene,
};
use allotment_api::kyma::ClusterCondition;
use std::{cmp::Ordering, fmt};

const FIELD: &str = "spec.core.kubernetesVersion";

/// `1.35.4`, or `1.35` for any patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    major: u32,
    minor: u32,
    patch: Option<u32>,
}

impl Version {
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.').map(|part| part.parse().ok());
        let version = Self { major: parts.next()??, minor: parts.next()??, patch: None };
        match (parts.next(), parts.next()) {
            (None, _) => Some(version),
            (Some(patch), None) => Some(Self { patch: Some(patch?), ..version }),
            (Some(_), Some(_)) => None,
        }
    }

    fn line(self) -> (u32, u32) {
        (self.major, self.minor)
    }

    /// Whether a version is this one, or one of this line.
    fn covers(self, other: Self) -> bool {
        self.line() == other.line() && self.patch.is_none_or(|patch| other.patch == Some(patch))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        self.patch.map_or(Ok(()), |patch| write!(f, ".{patch}"))
    }
}

/// Which of two versions is older; what is no version is older than all.
pub fn version_order(one: &str, other: &str) -> Ordering {
    Version::parse(one).cmp(&Version::parse(other)).then_with(|| one.cmp(other))
}

/// The version. It is always written: left out on a live Shoot, Gardener would take the newest there is.
pub(super) fn kubernetes(scene: &Scene<'_>, findings: &mut Findings) -> Option<String> {
    let live = scene.live.and_then(|live| live.kubernetes.version.clone());
    let asked = scene.core.kubernetes_version.as_deref();
    let offered: Vec<(Version, Stage)> =
        scene.facts.versions().filter_map(|(text, stage)| Some((Version::parse(text)?, stage))).collect();
    let Some(text) = live else {
        let asked = match asked {
            Some(asked) => Some((FIELD, asked)),
            None => scene
                .all
                .kubernetes_version
                .as_deref()
                .map(|asked| ("clusters.defaults.kubernetesVersion", asked)),
        };
        return findings.take(fresh(asked, &offered)).map(|version| version.to_string());
    };
    let Some(asked) = asked else { return Some(text) };
    match findings.take(changed(FIELD, asked, &text, &offered))? {
        Change::None => Some(text),
        Change::Below(what) => {
            findings.note(ClusterCondition::ClusterProvisioned, FIELD, what);
            Some(text)
        }
        Change::To(version) => Some(version.to_string()),
    }
}

/// What asking for a version does to a cluster that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing.
    None,
    /// Nothing, and whoever asked for an older line is told so.
    Below(String),
    /// It gets this one.
    To(Version),
}

/// What asking for a version does to a cluster that runs with this one.
pub(crate) fn changed(
    field: &str,
    asked: &str,
    live: &str,
    offered: &[(Version, Stage)],
) -> Result<Change, Problem> {
    let Some(live) = Version::parse(live) else { return Ok(Change::None) };
    let asked = parse(field, asked)?;
    if asked.line() < live.line() {
        let what = format!("{live} runs, and a cluster is never taken down to {asked}");
        return Ok(Change::Below(what));
    }
    // Patches are Gardener's to bring, in the maintenance window, unless one is asked for by its number.
    if asked.line() == live.line() && asked.patch <= live.patch {
        let is_below = asked.patch.is_some() && asked.patch < live.patch;
        let what = || format!("{live} runs, and a cluster is never taken down to {asked}");
        return Ok(if is_below { Change::Below(what()) } else { Change::None });
    }
    if asked.major != live.major || asked.minor > live.minor + 1 {
        let what = format!("from {live} to {asked} would skip a minor version");
        let next = offered.iter().filter(|(version, stage)| {
            *stage != Stage::Unavailable && version.line() == (live.major, live.minor + 1)
        });
        return Err(Problem::new(field, what).allowed(next.map(|(version, _)| version)));
    }
    choose(field, asked, offered).map(Change::To)
}

/// The version of a cluster that is new: field and value of what is asked for, or the best there is.
pub(crate) fn fresh(asked: Option<(&str, &str)>, offered: &[(Version, Stage)]) -> Result<Version, Problem> {
    if let Some((field, asked)) = asked {
        return choose(field, parse(field, asked)?, offered);
    }
    let best = best(offered.iter().copied());
    best.ok_or_else(|| Problem::new(FIELD, "the CloudProfile has no Kubernetes version to take"))
}

fn parse(field: &str, text: &str) -> Result<Version, Problem> {
    Version::parse(text)
        .ok_or_else(|| Problem::new(field, format!("{text:?} is not a version such as 1.35 or 1.35.4")))
}

/// The version that is asked for. A preview is to be had by its full number only.
fn choose(field: &str, asked: Version, offered: &[(Version, Stage)]) -> Result<Version, Problem> {
    let fitting = offered.iter().copied().filter(|(version, _)| asked.covers(*version));
    let chosen = match asked.patch {
        Some(_) => {
            fitting.filter(|(_, stage)| *stage != Stage::Unavailable).map(|(version, _)| version).next()
        }
        None => best(fitting),
    };
    chosen.ok_or_else(|| {
        let mut all: Vec<Version> = offered
            .iter()
            .filter(|(_, stage)| *stage != Stage::Unavailable)
            .map(|(version, _)| *version)
            .collect();
        all.sort_unstable();
        Problem::new(field, format!("Kubernetes {asked} is not offered, or has expired")).allowed(all)
    })
}

/// The newest supported one, else the newest that is still to be had.
fn best(versions: impl Iterator<Item = (Version, Stage)>) -> Option<Version> {
    versions
        .filter(|(_, stage)| *stage >= Stage::Deprecated)
        .max_by_key(|(version, stage)| (*stage, *version))
        .map(|(version, _)| version)
}

/// The newest version of an image that may be taken.
pub(super) fn newest_image<'a>(offered: &[(&'a str, Stage)]) -> Option<&'a str> {
    let usable = offered.iter().filter(|(_, stage)| *stage >= Stage::Deprecated);
    usable.max_by_key(|(version, stage)| (*stage, image_order(version))).map(|(version, _)| *version)
}

/// The newer of two versions of an image.
pub(crate) fn newer_image<'a>(one: &'a str, other: &'a str) -> &'a str {
    if image_order(one) >= image_order(other) { one } else { other }
}

/// Versions of images have numbers between dots, as many as they like.
fn image_order(version: &str) -> Vec<u64> {
    version.split(['.', '-', '+']).map(|part| part.parse().unwrap_or_default()).collect()
}
