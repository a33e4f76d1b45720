//! The second source: the usage of quotas, of the project and of each region.

use super::{
    Gcp,
    call::{Call, encode, incomplete},
};
use crate::Refusal;
use allotment_core::cleanup::{
    Cloud as CloudName, Count, CountName, Place, Scope,
    kinds::{CountKind, table},
};
use serde_json::Value;
use std::collections::BTreeMap;

impl Gcp {
    pub(super) async fn count(&self, place: &Place) -> BTreeMap<CountName, Count> {
        let usage = if place.is_global() { self.project().await } else { self.region(place).await };
        let usage = usage.and_then(|body| read(&body));
        let is_here = |count: &&CountKind| matches!(count.scope, Scope::Regional) != place.is_global();
        let counts = table(CloudName::Gcp).counts.iter().filter(is_here);
        counts.map(|count| (count.name(), counted(&usage, count))).collect()
    }

    async fn region(&self, place: &Place) -> Result<Value, Refusal> {
        let path = format!("regions/{}", encode(place.as_str()));
        self.call(place, &Call::get(self.compute(&path), "compute.regions.get")).await
    }
}

/// The usage of all quotas. An answer with a warning, or without quotas, has no numbers that count.
fn read(body: &Value) -> Result<BTreeMap<String, u64>, Refusal> {
    let what = "the usage of quotas";
    if body.get("quotaStatusWarning").is_some_and(|warning| !warning.is_null()) {
        return Err(Refusal::Transient { why: "the usage of quotas is not known now".to_owned() });
    }
    let quotas = body.get("quotas").and_then(Value::as_array).filter(|quotas| !quotas.is_empty());
    let mut usage = BTreeMap::new();
    for quota in quotas.ok_or_else(|| incomplete(what))? {
        let metric = quota.get("metric").and_then(Value::as_str);
        let number = quota.get("usage").and_then(Value::as_f64).and_then(whole);
        let (Some(metric), Some(number)) = (metric, number) else { return Err(incomplete(what)) };
        usage.insert(metric.to_owned(), number);
    }
    Ok(usage)
}

/// Numbers come as floating point. A part of one is one: something is there.
fn whole(number: f64) -> Option<u64> {
    const MOST: f64 = 1e15;
    (number.is_finite() && (0.0..MOST).contains(&number)).then(|| number.ceil() as u64)
}

/// A count that was refused, or is not in the answer, is never zero.
fn counted(usage: &Result<BTreeMap<String, u64>, Refusal>, count: &CountKind) -> Count {
    let refused = |refusal: &Refusal| Count::Refused {
        because: refusal.to_string(),
        missing: refusal.missing().map(str::to_owned),
    };
    let usage = match usage {
        Ok(usage) => usage,
        Err(refusal) => return refused(refusal),
    };
    let (_, metric) = count.name.split_once('.').unwrap_or(("", count.name));
    match usage.get(metric) {
        Some(number) => Count::Known { number: *number },
        None if count.optional => Count::Absent { because: "no such quota is reported".to_owned() },
        None => refused(&incomplete("the usage of quotas")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn count(name: &str) -> &'static CountKind {
        table(CloudName::Gcp).counts.iter().find(|count| count.name == name).unwrap()
    }

    #[test]
    fn what_is_not_counted_is_refused_and_never_zero() {
        let quotas = json!([{ "metric": "NETWORKS", "limit": 5.0, "usage": 1.0 }]);
        let known = read(&json!({ "quotas": quotas }));
        assert_eq!(counted(&known, count("project.NETWORKS")), Count::Known { number: 1 });
        assert!(matches!(counted(&known, count("project.FIREWALLS")), Count::Refused { .. }));
        assert!(matches!(counted(&known, count("project.VPN_GATEWAYS")), Count::Absent { .. }));
        let warning = json!({ "quotas": quotas, "quotaStatusWarning": { "code": "QUOTA_INFO_UNAVAILABLE" } });
        for hides in [
            json!({}),
            json!({ "quotas": [] }),
            json!({ "quotas": [{ "metric": "NETWORKS" }] }),
            json!({ "quotas": [{ "metric": "NETWORKS", "usage": -1.0 }] }),
            warning,
        ] {
            let usage = read(&hides);
            for name in ["project.NETWORKS", "project.VPN_GATEWAYS"] {
                assert!(matches!(counted(&usage, count(name)), Count::Refused { .. }), "{hides}");
            }
        }
        assert_eq!(whole(0.5), Some(1));
    }
}
