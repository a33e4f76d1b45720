//! The section about returned accounts.

use crate::cleanup::Policy;
use allotment_clouds::http::Rates;
use allotment_core::cleanup::{Cloud, GuardLimits, KindName, Mode, Timing, kinds::table};
use http::Uri;
use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, net::IpAddr};

/// How returned accounts are cleaned; only with the controller `cleanup`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Cleanup {
    /// `off`: nothing is read. `plan`: everything is listed, nothing is deleted, and no account becomes free. `delete`: everything is
    /// deleted that may go, and a proven account becomes free.
    pub mode: Mode,
    /// The least time between the two listings of a proof, in seconds.
    #[schemars(range(min = 1))]
    pub settle_seconds: u32,
    /// Ids of items that are never deleted, in any account.
    pub keep: Vec<String>,
    /// Kinds that the credentials can neither list nor create, by cloud: they count as absent, and every proof says so.
    pub assume_absent: BTreeMap<String, Vec<String>>,
    /// Whether accounts that were never used are listed once, to keep what is in them.
    pub baselines: bool,
    /// So many accounts that are stuck for the same reason stop the cleaning of all.
    #[schemars(range(min = 1))]
    pub same_refusal: u32,
    /// More than this share of a pool that became dirty within an hour stops the cleaning, in percent.
    #[schemars(range(min = 1, max = 100))]
    pub dirty_percent: u32,
    /// So many accounts are worked on at once.
    #[schemars(range(min = 1, max = 64))]
    pub accounts_at_once: u32,
    /// Reading calls for each account and region, in a second.
    #[schemars(range(min = 1, max = 100))]
    pub reads_per_second: u32,
    /// Changing calls for each account and region, in a second.
    #[schemars(range(min = 1, max = 100))]
    pub writes_per_second: u32,
    /// One server for all services and regions of AWS, for test clouds; "" means AWS.
    pub aws_endpoint: String,
    /// One server for everything of Azure, for test clouds; "" means Azure.
    pub azure_endpoint: String,
    /// One server for all services of Google Cloud, for test clouds; "" means Google Cloud.
    pub gcp_endpoint: String,
    /// One server for all services and regions of Alibaba Cloud, for test clouds; "" means Alibaba Cloud.
    pub alicloud_endpoint: String,
    /// Keystone, for Secrets without `authURL`.
    pub openstack_auth_url: String,
}

impl Default for Cleanup {
    fn default() -> Self {
        let (limits, rates) = (GuardLimits::default(), Rates::default());
        Self {
            mode: Mode::default(),
            settle_seconds: 600,
            keep: Vec::new(),
            assume_absent: BTreeMap::new(),
            baselines: true,
            same_refusal: u32::try_from(limits.same_refusal).unwrap_or(u32::MAX),
            dirty_percent: limits.dirty_percent,
            accounts_at_once: 8,
            reads_per_second: rates.reads as u32,
            writes_per_second: rates.writes as u32,
            aws_endpoint: String::new(),
            azure_endpoint: String::new(),
            gcp_endpoint: String::new(),
            alicloud_endpoint: String::new(),
            openstack_auth_url: String::new(),
        }
    }
}

impl Cleanup {
    /// The part that a running operator takes over.
    pub fn policy(&self) -> Policy {
        let kinds = |kinds: &Vec<String>| kinds.iter().map(KindName::new).collect();
        let absent = self.assume_absent.iter().map(|(cloud, absent)| (cloud.clone(), kinds(absent)));
        let (timing, settle) = (Timing::default(), SignedDuration::from_secs(self.settle_seconds.into()));
        Policy {
            mode: self.mode,
            timing: Timing {
                settle,
                // A settle time that is shorter is for a cloud that is faster.
                pause: timing.pause.min(settle),
                ..timing
            },
            limits: GuardLimits {
                same_refusal: usize::try_from(self.same_refusal).unwrap_or(usize::MAX),
                dirty_percent: self.dirty_percent,
            },
            keep: self.keep.iter().cloned().collect(),
            assume_absent: absent.collect(),
            baselines: self.baselines,
        }
    }

    /// The rates for each account and region.
    pub fn rates(&self) -> Rates {
        Rates { reads: self.reads_per_second.into(), writes: self.writes_per_second.into() }
    }

    /// The servers of test clouds, each with its key; "" means the cloud itself.
    pub fn endpoints(&self) -> [(Cloud, &'static str, &String); 4] {
        [
            (Cloud::Aws, "awsEndpoint", &self.aws_endpoint),
            (Cloud::Azure, "azureEndpoint", &self.azure_endpoint),
            (Cloud::Gcp, "gcpEndpoint", &self.gcp_endpoint),
            (Cloud::Alicloud, "alicloudEndpoint", &self.alicloud_endpoint),
        ]
    }

    /// Whether a running operator cannot take over the difference.
    pub(super) fn needs_restart(&self, other: &Self) -> bool {
        let fixed = |it: &Self| {
            let rates = (it.reads_per_second, it.writes_per_second);
            let endpoints = it.endpoints().map(|(_, _, endpoint)| endpoint.to_owned());
            (it.accounts_at_once, rates, endpoints, it.openstack_auth_url.clone())
        };
        fixed(self) != fixed(other)
    }

    /// Faults that the schema cannot express, each with the path of its key.
    pub(super) fn faults(&self) -> Vec<(Vec<&str>, String)> {
        let mut faults = self.unknown_kinds();
        let globs = self.keep.iter().filter(|id| id.is_empty() || id.contains(['*', '?', ' ']));
        faults.extend(globs.map(|id| {
            let message = format!(
                "`keep` has `{id}`: expected ids of items, each of them whole; there are no patterns"
            );
            (vec!["keep"], message)
        }));
        let endpoints = self.endpoints().into_iter().map(|(_, key, url)| (key, url));
        let urls = endpoints.chain([("openstackAuthUrl", &self.openstack_auth_url)]);
        for (key, url) in urls.filter(|(_, url)| !url.is_empty()) {
            // The text is not repeated: somebody may have written a password into it.
            faults.extend(why_unusable(url).map(|why| (vec![key], format!("`{key}` {why}"))));
        }
        faults
    }

    fn unknown_kinds(&self) -> Vec<(Vec<&str>, String)> {
        let mut faults = Vec::new();
        for (cloud, kinds) in &self.assume_absent {
            let path = vec!["assumeAbsent", cloud.as_str()];
            let Ok(known) = cloud.parse::<Cloud>() else {
                let clouds: Vec<&str> = Cloud::ALL.iter().map(|cloud| cloud.as_str()).collect();
                faults.push((
                    path,
                    format!("`{cloud}` has no table of kinds: expected {}", clouds.join(" or ")),
                ));
                continue;
            };
            let unknown = kinds.iter().filter(|kind| table(known).kind(kind).is_none());
            faults.extend(unknown.map(|kind| {
                let message =
                    format!("`{kind}` is no kind of {cloud}: see `allotment cleanup kinds {cloud}`");
                (path.clone(), message)
            }));
        }
        faults
    }
}

/// Credentials go to this server: it is known, and the way to it is encrypted unless it is this machine.
fn why_unusable(url: &str) -> Option<&'static str> {
    let Ok(uri) = url.parse::<Uri>() else {
        return Some("is no URL: expected one like https://cloud.example.org");
    };
    let authority = uri.authority().map(|authority| authority.as_str()).unwrap_or_default();
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let is_loopback =
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    match uri.scheme_str() {
        _ if authority.contains('@') => {
            Some("names a user: leave that out; credentials come from the Secrets of the pool")
        }
        Some("https") => None,
        Some("http") if is_loopback => None,
        Some("http") => Some("is not encrypted: expected https; http is for a test cloud on 127.0.0.1"),
        _ => Some("is no URL: expected one like https://cloud.example.org"),
    }
}
