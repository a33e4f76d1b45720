//! The second source: the usage of quotas.

use super::{
    OpenStack,
    call::{Call, Reached, encode, incomplete},
    services::{BLOCK_STORAGE, COMPUTE, NETWORK, Service},
};
use crate::Refusal;
use allotment_core::cleanup::{Count, CountName, Place};
use serde_json::Value;
use std::collections::BTreeMap;

/// One call that has several counts.
pub(super) struct Source {
    service: &'static Service,
    /// `$` is the project.
    path: &'static str,
    permission: &'static str,
    /// Counts, and the JSON pointers whose numbers add up to them.
    pub(super) counts: &'static [(&'static str, &'static [&'static str])],
}

pub(super) static SOURCES: &[Source] = &[
    Source {
        service: &COMPUTE,
        path: "/limits",
        permission: "os_compute_api:limits",
        counts: &[
            ("compute.instances", &["/limits/absolute/totalInstancesUsed"]),
            ("compute.server-groups", &["/limits/absolute/totalServerGroupsUsed"]),
        ],
    },
    Source {
        service: &BLOCK_STORAGE,
        path: "/limits",
        permission: "limits_extension:used_limits",
        counts: &[
            ("volume.volumes", &["/limits/absolute/totalVolumesUsed"]),
            ("volume.snapshots", &["/limits/absolute/totalSnapshotsUsed"]),
            ("volume.backups", &["/limits/absolute/totalBackupsUsed"]),
        ],
    },
    // Reserved is being made.
    Source {
        service: &NETWORK,
        path: "/quotas/$/details.json",
        permission: "get_quota",
        counts: &[
            ("network.networks", &["/quota/network/used", "/quota/network/reserved"]),
            ("network.subnets", &["/quota/subnet/used", "/quota/subnet/reserved"]),
            ("network.ports", &["/quota/port/used", "/quota/port/reserved"]),
            ("network.routers", &["/quota/router/used", "/quota/router/reserved"]),
            ("network.floating-ips", &["/quota/floatingip/used", "/quota/floatingip/reserved"]),
            ("network.security-groups", &["/quota/security_group/used", "/quota/security_group/reserved"]),
            (
                "network.security-group-rules",
                &["/quota/security_group_rule/used", "/quota/security_group_rule/reserved"],
            ),
        ],
    },
];

impl OpenStack {
    pub(super) async fn count(&self, place: &Place) -> BTreeMap<CountName, Count> {
        let mut counts = BTreeMap::new();
        if place.is_global() {
            return counts;
        }
        for source in SOURCES {
            let answer = self.usage(place, source).await;
            for (name, pointers) in source.counts {
                counts.insert(CountName::of(name), counted(&answer, pointers));
            }
        }
        counts
    }

    async fn usage(&self, place: &Place, source: &Source) -> Result<Reached<Value>, Refusal> {
        let project = encode(&self.session().await?.project);
        let call = Call::get(source.path.replace('$', &project), source.permission);
        self.call(source.service, place, &call).await
    }
}

/// A count that was refused, or is not in the answer, is never zero.
fn counted(answer: &Result<Reached<Value>, Refusal>, pointers: &[&str]) -> Count {
    let refused = |refusal: &Refusal| Count::Refused {
        because: refusal.to_string(),
        missing: refusal.missing().map(str::to_owned),
    };
    let body = match answer {
        Ok(Reached::Here(body)) => body,
        Ok(Reached::Absent(because)) => return Count::Absent { because: because.clone() },
        Err(refusal) => return refused(refusal),
    };
    let numbers: Option<Vec<u64>> =
        pointers.iter().map(|pointer| body.pointer(pointer).and_then(Value::as_u64)).collect();
    match numbers {
        Some(numbers) => {
            Count::Known { number: numbers.iter().fold(0, |sum, number| sum.saturating_add(*number)) }
        }
        None => refused(&incomplete("the usage of a quota")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_not_counted_is_refused_and_never_zero() {
        let pointers = &["/quota/port/used", "/quota/port/reserved"];
        let here = |body| Ok(Reached::Here(body));
        let count = |answer| counted(&answer, pointers);
        let known = count(here(json!({ "quota": { "port": { "used": 2, "reserved": 1 } } })));
        assert_eq!(known, Count::Known { number: 3 });
        for body in [json!({}), json!({ "quota": { "port": { "used": -1, "reserved": 0 } } }), Value::Null] {
            assert!(matches!(count(here(body)), Count::Refused { .. }));
        }
        let denied = Refusal::Denied { code: "forbidden".to_owned(), action: "get_quota".to_owned() };
        let refused = count(Err(denied));
        assert!(matches!(refused, Count::Refused { missing: Some(missing), .. } if missing == "get_quota"));
        assert!(matches!(count(Ok(Reached::Absent("x".to_owned()))), Count::Absent { .. }));
    }
}
