//! Versions of Kubernetes and of machine images.

use super::super::json::{at, items, text};
use jiff::Timestamp;
use serde_json::Value;

/// A version with three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version {
    pub(super) major: u64,
    pub(super) minor: u64,
    pub(super) patch: u64,
}

impl Version {
    /// Reads a version. What follows a hyphen or a plus is left out, as Gardener does when it compares.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim_start_matches('v');
        let text = text.split(['-', '+']).next().unwrap_or_default();
        let mut parts = text.split('.');
        let mut next = || parts.next().unwrap_or("0").parse().ok();
        let version = Self { major: next()?, minor: next()?, patch: next()? };
        parts.next().is_none().then_some(version)
    }

    /// Whether a text is a version of at least this minor version.
    pub(super) fn at_least(text: &str, major: u64, minor: u64) -> bool {
        Self::parse(text).is_some_and(|version| (version.major, version.minor) >= (major, minor))
    }
}

/// What a CloudProfile says of a version at this moment: `preview`, `supported`, `deprecated`, `expired`, …
pub(super) fn classification(version: &Value, now: Timestamp) -> &str {
    let has_begun = |since: &str| since.parse::<Timestamp>().is_ok_and(|since| since <= now);
    let stages = items(version, "/lifecycle");
    if stages.is_empty() {
        return match text(version, "/expirationDate") {
            date if has_begun(date) => "expired",
            _ => at(version, "/classification").and_then(Value::as_str).unwrap_or("supported"),
        };
    }
    let begun = |stage: &&Value| at(stage, "/startTime").is_none() || has_begun(text(stage, "/startTime"));
    stages.iter().rfind(begun).map_or("unavailable", |stage| text(stage, "/classification"))
}

/// Whether a new Shoot may have a version.
pub(super) fn is_active(version: &Value, now: Timestamp) -> bool {
    !matches!(classification(version, now), "expired" | "unavailable")
}

/// Whether a version is past its time.
pub(in super::super) fn is_expired(version: &Value, now: Timestamp) -> bool {
    classification(version, now) == "expired"
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        let version = |text| Version::parse(text).unwrap();
        assert!(version("1.9.0") < version("1.10.0"));
        assert_eq!(version("v1.35.4-rc.1"), version("1.35.4"));
        for wrong in ["", "newest", "1.2.3.4", "a.b.c"] {
            assert_eq!(Version::parse(wrong), None, "{wrong}");
        }
        assert!(Version::at_least("1.34.0", 1, 34) && !Version::at_least("1.33.11", 1, 34));
    }

    #[test]
    fn a_version_goes_through_its_stages() {
        let now: Timestamp = "2026-06-01T00:00:00Z".parse().unwrap();
        for (version, expected) in [
            (json!({}), "supported"),
            (json!({ "classification": "preview" }), "preview"),
            (json!({ "classification": "deprecated", "expirationDate": "2026-05-31T00:00:00Z" }), "expired"),
            (
                json!({ "classification": "deprecated", "expirationDate": "2026-06-02T00:00:00Z" }),
                "deprecated",
            ),
            (
                json!({ "lifecycle": [{ "classification": "preview", "startTime": "2027-01-01T00:00:00Z" }] }),
                "unavailable",
            ),
            (
                json!({ "lifecycle": [{ "classification": "preview" }, { "classification": "supported", "startTime": "2026-01-01T00:00:00Z" }] }),
                "supported",
            ),
        ] {
            assert_eq!(classification(&version, now), expected, "{version}");
        }
    }
}
