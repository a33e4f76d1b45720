//! The ClusterProfiles that ProviderConfigs make.

use super::names::profile_name;
use crate::cluster::{Stage, stage_of, version_order};
use allotment_api::{
    gardener::CloudProfileSpec,
    openmcp::{ClusterProfileSpec, LocalObjectReference, SupportedVersion},
};
use jiff::Timestamp;

/// What a ProviderConfig offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The name of the ClusterProfile.
    pub name: String,
    /// The ClusterProfile.
    pub spec: ClusterProfileSpec,
    /// When it is another one, since a version comes into another stage of its life.
    pub changes_at: Option<Timestamp>,
}

/// What a ProviderConfig of this name offers now, by the lifecycle rules of Gardener itself.
pub fn offer(
    environment: &str,
    provider: &str,
    config: &str,
    profile: &CloudProfileSpec,
    now: Timestamp,
) -> Offer {
    let reference = |name: &str| LocalObjectReference { name: name.to_owned() };
    let mut versions: Vec<(&str, bool)> = profile
        .kubernetes
        .versions
        .iter()
        .filter_map(|version| match stage_of(version, now) {
            Stage::Supported => Some((version.version.as_str(), false)),
            Stage::Deprecated => Some((version.version.as_str(), true)),
            Stage::Preview | Stage::Unavailable => None,
        })
        .collect();
    // The newest first. What is no version at all is last, and not a reason to fall over.
    versions.sort_by(|one, other| version_order(other.0, one.0));
    let supported_versions = versions
        .into_iter()
        .map(|(version, deprecated)| SupportedVersion { version: version.to_owned(), deprecated })
        .collect();
    Offer {
        name: profile_name(environment, provider, config),
        spec: ClusterProfileSpec {
            provider_ref: reference(provider),
            provider_config_ref: reference(config),
            supported_versions,
        },
        changes_at: changes_at(profile, now),
    }
}

/// The next moment at which some version is in another stage.
fn changes_at(profile: &CloudProfileSpec, now: Timestamp) -> Option<Timestamp> {
    let versions = profile.kubernetes.versions.iter();
    let moments = versions.flat_map(|version| {
        let stages = version.lifecycle.iter().filter_map(|stage| stage.start_time.as_ref());
        stages.chain(version.expiration_date.as_ref()).map(|time| time.0)
    });
    moments.filter(|moment| *moment > now).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn profile(versions: serde_json::Value) -> CloudProfileSpec {
        serde_json::from_value(json!({"type": "aws", "kubernetes": {"versions": versions}})).unwrap()
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn g15_versions_are_supported_by_gardeners_own_rules() {
        let profile = profile(json!([
            {"version": "1.33.2", "classification": "deprecated"},
            {"version": "1.34.10"},
            {"version": "1.34.9", "classification": "supported"},
            {"version": "1.36.0", "classification": "preview"},
            {"version": "1.32.1", "classification": "supported", "expirationDate": "2026-01-01T00:00:00Z"},
            {"version": "1.35.0", "lifecycle": [{"classification": "supported", "startTime": "2026-07-01T00:00:00Z"}]},
        ]));
        let versions = |now: &str| -> Vec<(String, bool)> {
            let offer = offer("e", "p", "c", &profile, at(now));
            offer.spec.supported_versions.into_iter().map(|it| (it.version, it.deprecated)).collect()
        };
        let expected = |list: &[(&str, bool)]| -> Vec<(String, bool)> {
            list.iter().map(|(version, deprecated)| ((*version).to_owned(), *deprecated)).collect()
        };
        let before = [("1.34.10", false), ("1.34.9", false), ("1.33.2", true)];
        assert_eq!(versions("2026-06-01T00:00:00Z"), expected(&before));
        let after = [("1.35.0", false), ("1.34.10", false), ("1.34.9", false), ("1.33.2", true)];
        assert_eq!(versions("2026-07-01T00:00:00Z"), expected(&after));
        let offer = offer("e", "p", "c", &profile, at("2026-06-01T00:00:00Z"));
        assert_eq!(offer.changes_at, Some(at("2026-07-01T00:00:00Z")));
        assert_eq!(offer.name, "e.p.c");
    }

    #[test]
    fn g24_what_is_no_version_does_not_break_anything() {
        let profile = profile(json!([{"version": "latest"}, {"version": "1.34.1"}]));
        let offer = offer("e", "p", "c", &profile, at("2026-06-01T00:00:00Z"));
        assert_eq!(offer.spec.supported_versions[0].version, "1.34.1");
    }
}
