//! The second source: the usage of quotas, which the providers of machines and networks count in each location.

use super::{
    Azure,
    call::{Call, encode, incomplete},
    error::{AzureError, is_about_types},
    rows,
};
use crate::Refusal;
use allotment_core::cleanup::{Count, CountName, Place};
use serde_json::Value;
use std::collections::BTreeMap;

/// One call that has several counts.
pub(super) struct Source {
    provider: &'static str,
    version: &'static str,
    pub(super) permission: &'static str,
    pub(super) counts: &'static [(&'static str, Usage)],
}

/// How usages add up to a count. Names are compared without their case.
pub(super) enum Usage {
    /// The usage of this name, which has to be there.
    Of(&'static str),
    /// The first has to be there. The others count some of the same items again, or others, as nobody says: the largest
    /// number is right about whether there are any.
    MostOf(&'static [&'static str]),
    /// All whose names end like this; there has to be one.
    EndingWith(&'static str),
    /// Those of these that are there.
    AnyOf(&'static [&'static str]),
}

use Usage::{AnyOf, EndingWith, MostOf, Of};

pub(super) static SOURCES: &[Source] = &[
    Source {
        provider: "Microsoft.Compute",
        version: rows::COMPUTE,
        permission: "Microsoft.Compute/locations/usages/read",
        counts: &[
            ("compute.virtual-machines", Of("virtualMachines")),
            ("compute.scale-sets", Of("virtualMachineScaleSets")),
            ("compute.availability-sets", Of("availabilitySets")),
            ("compute.disks", EndingWith("DiskCount")),
            ("compute.snapshots", EndingWith("SnapshotCount")),
            ("compute.others", AnyOf(&["Gallery", "GalleryImage", "GalleryImageVersion", "cloudServices"])),
        ],
    },
    Source {
        provider: "Microsoft.Network",
        version: rows::NETWORK,
        permission: "Microsoft.Network/locations/usages/read",
        counts: &[
            ("network.virtual-networks", Of("VirtualNetworks")),
            ("network.security-groups", Of("NetworkSecurityGroups")),
            ("network.route-tables", Of("RouteTables")),
            ("network.interfaces", Of("NetworkInterfaces")),
            (
                "network.public-ip-addresses",
                MostOf(&[
                    "PublicIPAddresses",
                    "StaticPublicIPAddresses",
                    "StandardSkuPublicIpAddresses",
                    "IPv4StandardSkuPublicIpAddresses",
                ]),
            ),
            ("network.load-balancers", MostOf(&["LoadBalancers", "StandardSkuLoadBalancers"])),
            (
                "network.others",
                AnyOf(&[
                    "ApplicationGateways",
                    "ApplicationSecurityGroups",
                    "CustomIpPrefixes",
                    "DdosCustomPolicies",
                    "DdosProtectionPlans",
                    "NatGateways",
                    "NetworkIntentPolicies",
                    "PacketCaptures",
                    "PrivateEndpoints",
                    "PrivateLinkServices",
                    "PublicIpPrefixes",
                    "RouteFilters",
                    "ServiceEndpointPolicies",
                ]),
            ),
        ],
    },
];

/// The usages of a provider in a location.
enum Usages {
    Known(BTreeMap<String, u64>),
    Absent(String),
}

impl Azure {
    pub(super) async fn count(&self, place: &Place) -> BTreeMap<CountName, Count> {
        let mut counts = BTreeMap::new();
        if place.is_global() {
            return counts;
        }
        for source in SOURCES {
            let usages = self.usages(place, source).await;
            for (name, usage) in source.counts {
                counts.insert(CountName::of(name), counted(&usages, usage));
            }
        }
        counts
    }

    async fn usages(&self, place: &Place, source: &Source) -> Result<Usages, Refusal> {
        let Source { provider, version, permission, .. } = source;
        let location = encode(place.as_str());
        let path = format!(
            "{}/providers/{provider}/locations/{location}/usages?api-version={version}",
            self.subscription()
        );
        let listed = match self.read_all(place, Call::get(path, permission)).await {
            Ok(listed) => listed,
            Err(Refusal::Other { code, message }) => {
                return match self.why_uncounted(place, provider, &code).await? {
                    Some(because) => Ok(Usages::Absent(because)),
                    None => Err(Refusal::Other { code, message }),
                };
            }
            Err(refusal) => return Err(refusal),
        };
        let mut usages = BTreeMap::new();
        for usage in &listed {
            let name = usage.pointer("/name/value").and_then(Value::as_str);
            let number = usage.get("currentValue").and_then(Value::as_u64);
            let (Some(name), Some(number)) = (name, number) else { return Err(incomplete("usages")) };
            usages.insert(name.to_lowercase(), number);
        }
        Ok(Usages::Known(usages))
    }

    /// Why there is nothing to count, if that is what a refusal says: the subscription is not registered, or the provider does
    /// not count in this location, as it says itself.
    async fn why_uncounted(
        &self,
        place: &Place,
        provider: &str,
        code: &str,
    ) -> Result<Option<String>, Refusal> {
        if let Some(because) = AzureError::absence(code) {
            return Ok(Some(because.to_owned()));
        }
        if !is_about_types(code) {
            return Ok(None);
        }
        let offer = self.offer(provider, "locations/usages").await?;
        Ok(offer.filter(|offer| !is_in(offer, place)).map(|_| format!("{provider} is not in {place}")))
    }
}

/// Whether a provider offers a type in a location. Where it names none, nobody knows.
fn is_in(offer: &Value, place: &Place) -> bool {
    let locations =
        offer.get("locations").and_then(Value::as_array).filter(|locations| !locations.is_empty());
    let is_it = |location: &Value| {
        location.as_str().is_none_or(|name| name.to_lowercase().replace(' ', "") == place.as_str())
    };
    locations.is_none_or(|locations| locations.iter().any(is_it))
}

/// A count that was refused, or is not in the answer, is never zero.
fn counted(usages: &Result<Usages, Refusal>, usage: &Usage) -> Count {
    let refused = |refusal: &Refusal| Count::Refused {
        because: refusal.to_string(),
        missing: refusal.missing().map(str::to_owned),
    };
    let usages = match usages {
        Ok(Usages::Known(usages)) => usages,
        Ok(Usages::Absent(because)) => return Count::Absent { because: because.clone() },
        Err(refusal) => return refused(refusal),
    };
    let named = |name: &&str| usages.get(&name.to_lowercase()).copied();
    let sum = |numbers: Vec<u64>| numbers.iter().fold(0_u64, |sum, number| sum.saturating_add(*number));
    let number = match usage {
        Of(name) => named(name),
        MostOf(names) => names.first().and_then(named).and_then(|_| names.iter().filter_map(named).max()),
        EndingWith(end) => {
            let end = end.to_lowercase();
            let found = usages.iter().filter(|(name, _)| name.ends_with(&end)).map(|(_, number)| *number);
            let found: Vec<u64> = found.collect();
            (!found.is_empty()).then(|| sum(found))
        }
        AnyOf(names) => Some(sum(names.iter().filter_map(named).collect())),
    };
    number.map_or_else(|| refused(&incomplete("usages")), |number| Count::Known { number })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn known(pairs: &[(&str, u64)]) -> Result<Usages, Refusal> {
        Ok(Usages::Known(pairs.iter().map(|(name, number)| (name.to_lowercase(), *number)).collect()))
    }

    #[test]
    fn what_is_not_counted_is_refused_and_never_zero() {
        let usages = known(&[("StandardDiskCount", 1), ("PremiumDiskCount", 2), ("virtualMachines", 0)]);
        assert_eq!(counted(&usages, &EndingWith("DiskCount")), Count::Known { number: 3 });
        assert_eq!(counted(&usages, &Of("VirtualMachines")), Count::Known { number: 0 });
        assert_eq!(counted(&usages, &AnyOf(&["Gallery"])), Count::Known { number: 0 });
        for missing in
            [Of("availabilitySets"), EndingWith("SnapshotCount"), MostOf(&["x", "virtualMachines"])]
        {
            assert!(matches!(counted(&usages, &missing), Count::Refused { .. }));
        }
        let denied = Refusal::Denied { code: "AuthorizationFailed".to_owned(), action: "a/read".to_owned() };
        let refused = counted(&Err(denied), &Of("x"));
        assert!(matches!(refused, Count::Refused { missing: Some(missing), .. } if missing == "a/read"));
    }

    #[test]
    fn items_that_two_usages_count_are_counted_once() {
        let usages = known(&[("LoadBalancers", 1), ("StandardSkuLoadBalancers", 1)]);
        let most = MostOf(&["LoadBalancers", "StandardSkuLoadBalancers"]);
        assert_eq!(counted(&usages, &most), Count::Known { number: 1 });
        let standard = known(&[("LoadBalancers", 0), ("StandardSkuLoadBalancers", 2)]);
        assert_eq!(counted(&standard, &most), Count::Known { number: 2 });
    }

    #[test]
    fn a_provider_is_absent_only_where_it_says_so() {
        let is_in = |offer: Value| is_in(&offer, &Place::of("westeurope"));
        assert!(is_in(json!({ "locations": ["East US", "West Europe"] })));
        assert!(!is_in(json!({ "locations": ["East US"] })));
        assert!(is_in(json!({ "locations": [] })) && is_in(json!({})) && is_in(json!({ "locations": [1] })));
    }
}
