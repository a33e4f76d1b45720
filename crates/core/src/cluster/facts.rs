//! What a CloudProfile offers.

use allotment_api::gardener::{CloudProfileSpec, ExpirableVersion, MachineType, Region, VolumeType, Zone};
use jiff::Timestamp;
use serde_json::Value;

/// A CloudProfile, to be asked at a moment: versions have a life.
#[derive(Clone, Copy)]
pub(super) struct Facts<'a> {
    pub profile: &'a CloudProfileSpec,
    pub now: Timestamp,
}

/// How far a version is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Not to be had, any more or yet.
    Unavailable,
    /// To be had by who asks for it.
    Preview,
    /// Still to be had.
    Deprecated,
    /// What is taken where nobody asks.
    Supported,
}

impl<'a> Facts<'a> {
    pub fn region(&self, name: &str) -> Option<&'a Region> {
        self.profile.regions.iter().find(|region| region.name == name)
    }

    pub fn regions(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.profile.regions.iter().map(|region| region.name.as_str())
    }

    /// A machine type that may be used.
    pub fn machine(&self, name: &str) -> Option<&'a MachineType> {
        self.machines().find(|machine| machine.name == name)
    }

    /// The machine types that may be used.
    pub fn machines(&self) -> impl Iterator<Item = &'a MachineType> + use<'a> {
        self.profile.machine_types.iter().filter(|machine| machine.usable != Some(false))
    }

    /// The machine types that may be used and that every one of these zones has.
    pub fn machines_in(&self, zones: &[&Zone]) -> Vec<&'a str> {
        let everywhere = |machine: &&MachineType| zones.iter().all(|zone| has_machine(zone, &machine.name));
        self.machines().filter(everywhere).map(|machine| machine.name.as_str()).collect()
    }

    /// The volume types that may be used.
    pub fn volumes(&self) -> impl Iterator<Item = &'a VolumeType> + use<'a> {
        self.profile.volume_types.iter().filter(|volume| volume.usable != Some(false))
    }

    /// The Kubernetes versions, with how far they are.
    pub fn versions(&self) -> impl Iterator<Item = (&'a str, Stage)> + use<'a> {
        let now = self.now;
        self.profile
            .kubernetes
            .versions
            .iter()
            .map(move |version| (version.version.as_str(), stage_of(version, now)))
    }

    /// The versions of an image for an architecture, with how far they are.
    pub fn images(&self, name: &str, architecture: &str) -> Vec<(&'a str, Stage)> {
        let image = self.profile.machine_images.iter().find(|image| image.name == name);
        let fits = |architectures: &[String]| {
            architectures.is_empty() || architectures.iter().any(|one| one == architecture)
        };
        image
            .into_iter()
            .flat_map(|image| &image.versions)
            .filter(|version| fits(&version.architectures))
            .map(|version| (version.version.version.as_str(), stage_of(&version.version, self.now)))
            .collect()
    }

    /// The image that Gardener takes where nobody names one: the first that there is for an architecture.
    pub fn first_image(&self, architecture: &str) -> Option<&'a str> {
        let mut names = self.profile.machine_images.iter().map(|image| image.name.as_str());
        names.find(|name| !self.images(name, architecture).is_empty())
    }

    /// The first of OpenStack's constraints of this kind that holds in a region, by its name.
    pub fn constraint(&self, kind: &str, region: &str) -> Option<&'a str> {
        let all =
            self.profile.provider_config.as_ref()?.pointer(&format!("/constraints/{kind}"))?.as_array()?;
        let here = |entry: &&Value| entry["region"].as_str().is_none_or(|name| name == region);
        all.iter().find(here)?["name"].as_str()
    }
}

/// CPU architecture of a machine type.
pub(super) fn architecture(machine: &MachineType) -> &str {
    let capability = machine.capabilities.get("architecture").and_then(|all| all.first());
    machine.architecture.as_deref().or(capability.map(String::as_str)).unwrap_or("amd64")
}

pub(super) fn has_machine(zone: &Zone, machine: &str) -> bool {
    !zone.unavailable_machine_types.iter().any(|name| name == machine)
}

pub(super) fn has_volume(zone: &Zone, volume: Option<&str>) -> bool {
    volume.is_none_or(|volume| !zone.unavailable_volume_types.iter().any(|name| name == volume))
}

/// How far a version is in its life, by the rules of Gardener itself.
pub fn stage_of(version: &ExpirableVersion, now: Timestamp) -> Stage {
    if version.lifecycle.is_empty() {
        return match &version.expiration_date {
            Some(end) if end.0 <= now => Stage::Unavailable,
            _ => named(version.classification.as_deref()),
        };
    }
    let begun =
        version.lifecycle.iter().filter(|stage| stage.start_time.as_ref().is_none_or(|time| time.0 <= now));
    // The stage that began last; one without a time began before all others.
    let latest = begun.max_by_key(|stage| stage.start_time.as_ref().map(|time| time.0));
    latest.map_or(Stage::Unavailable, |stage| named(Some(&stage.classification)))
}

fn named(classification: Option<&str>) -> Stage {
    match classification {
        None | Some("supported") => Stage::Supported,
        Some("preview") => Stage::Preview,
        Some("deprecated") => Stage::Deprecated,
        Some(_) => Stage::Unavailable,
    }
}
