//! The evidence that an account is empty, to keep for an audit.

use super::{
    Baseline, Cloud, CloudAccountId, CountName, ItemKey, KeptBecause, KindName, Place, PlaceState,
    keep::hex_digest,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The evidence. It says nothing about copies of the credentials, and it never holds any.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Proof {
    /// The version of this format.
    pub version: u32,
    /// The cloud.
    pub cloud: Cloud,
    /// The account, as the cloud reported it.
    pub account: CloudAccountId,
    /// The first listing.
    pub first: ListingTimes,
    /// The second one.
    pub second: ListingTimes,
    /// The least time between them.
    pub settle_seconds: i64,
    /// The places, at the time of the second listing.
    pub places: BTreeMap<Place, PlaceState>,
    /// The kinds that were listed.
    pub kinds: Vec<KindName>,
    /// Kinds that the account cannot have.
    pub absent: Vec<Absent>,
    /// Kinds that nobody could list, and that the configuration declares absent.
    pub assumed_absent: Vec<AssumedAbsent>,
    /// Items that stay.
    pub kept: Vec<KeptReference>,
    /// The baseline; none if only the never-delete rules applied.
    pub baseline: Option<BaselineReference>,
    /// When the counts were taken.
    pub witnessed_at: Timestamp,
    /// The counts.
    pub witness: Vec<WitnessedCount>,
}

/// When a listing began and ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListingTimes {
    /// Before the first call.
    pub started_at: Timestamp,
    /// After the last one.
    pub finished_at: Timestamp,
}

/// A kind that the account cannot have in a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Absent {
    /// Where.
    pub place: Place,
    /// The kind.
    pub kind: KindName,
    /// Why.
    pub because: String,
}

/// A kind that nobody could list, and that the configuration declares absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AssumedAbsent {
    /// Where.
    pub place: Place,
    /// The kind.
    pub kind: KindName,
    /// The permission that is missing.
    pub missing: String,
}

/// An item that stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptReference {
    /// The item.
    #[serde(flatten)]
    pub key: ItemKey,
    /// Why.
    pub kept: KeptBecause,
}

/// The baseline that was used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BaselineReference {
    /// The time of its listing.
    pub taken_at: Timestamp,
    /// The number of its items.
    pub items: usize,
    /// Its SHA-256.
    pub digest: String,
}

/// One count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WitnessedCount {
    /// Where.
    pub place: Place,
    /// Its name.
    pub count: CountName,
    /// The number; none if the account does not have the service.
    pub number: Option<u64>,
    /// The number that kept items explain.
    pub explained: u64,
}

impl BaselineReference {
    /// Refers to a baseline.
    pub fn to(baseline: &Baseline) -> Self {
        Self { taken_at: baseline.taken_at, items: baseline.items.len(), digest: baseline.digest() }
    }
}

impl Proof {
    /// A SHA-256 of it, in hexadecimal: the ledger keeps this, an audit the whole.
    pub fn digest(&self) -> String {
        hex_digest(&serde_json::to_vec(self).unwrap_or_default())
    }
}
