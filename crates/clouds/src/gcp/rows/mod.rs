//! The calls for each kind, as data. The tables of `allotment_core::cleanup::kinds` have the order and the rules.

mod generated;

pub(in crate::gcp) use generated::PATHS;

/// How the items of a kind are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gcp) enum Listed {
    /// One list for all regions and zones.
    Aggregated,
    /// A list for each region.
    PerRegion,
    /// One list of what is in no region.
    Global,
}

/// The paths of one kind, behind the project.
#[derive(Debug)]
pub(in crate::gcp) struct Paths {
    pub(in crate::gcp) kind: &'static str,
    pub(in crate::gcp) listed: Listed,
    pub(in crate::gcp) list: &'static str,
    /// The field with the items: of a scope in an aggregated list, else of the list.
    pub(in crate::gcp) items: &'static str,
    /// One for each scope that items can be deleted in.
    pub(in crate::gcp) delete: &'static [&'static str],
}

impl Paths {
    /// The last part of the path of a list.
    pub(in crate::gcp) fn collection(&self) -> &'static str {
        self.list.rsplit('/').next().unwrap_or(self.list)
    }
}

/// A kind whose items are parts of others.
pub(in crate::gcp) struct Part {
    pub(in crate::gcp) kind: &'static str,
    /// The kind that they are part of.
    pub(in crate::gcp) of: &'static str,
    /// The field with the parts.
    pub(in crate::gcp) field: &'static str,
}

pub(in crate::gcp) const NAT: &str = "RouterNat";
pub(in crate::gcp) const PEERING: &str = "NetworkPeering";

pub(in crate::gcp) static PARTS: &[Part] = &[
    Part { kind: NAT, of: "Router", field: "nats" },
    Part { kind: PEERING, of: "Network", field: "peerings" },
];

/// Neither has a list of Compute Engine.
pub(in crate::gcp) const METADATA: &str = "ProjectMetadata";
pub(in crate::gcp) const SERVICE_ACCOUNT: &str = "ServiceAccount";

/// Attributes that only the deletion reads.
pub(in crate::gcp) const PROTECTED: &str = "protected";
pub(in crate::gcp) const ASSOCIATIONS: &str = "associations";

/// A call before the deletion, or instead of one.
pub(in crate::gcp) struct Deed {
    pub(in crate::gcp) kind: &'static str,
    pub(in crate::gcp) permission: &'static str,
}

pub(in crate::gcp) static UNPROTECT: Deed =
    Deed { kind: "Instance", permission: "compute.instances.setDeletionProtection" };
pub(in crate::gcp) static REMOVE_PEERING: Deed =
    Deed { kind: PEERING, permission: "compute.networks.removePeering" };
pub(in crate::gcp) static CHANGE_ROUTER: Deed = Deed { kind: NAT, permission: "compute.routers.update" };
pub(in crate::gcp) static READ_ROUTER: Deed = Deed { kind: NAT, permission: "compute.routers.get" };
pub(in crate::gcp) static SET_METADATA: Deed =
    Deed { kind: METADATA, permission: "compute.projects.setCommonInstanceMetadata" };
pub(in crate::gcp) static DISSOCIATE: Deed =
    Deed { kind: "NetworkFirewallPolicy", permission: "compute.firewallPolicies.update" };
pub(in crate::gcp) static DISSOCIATE_IN_REGION: Deed =
    Deed { kind: "RegionNetworkFirewallPolicy", permission: "compute.regionFirewallPolicies.update" };
pub(in crate::gcp) static DELETE_ACCOUNT: Deed =
    Deed { kind: SERVICE_ACCOUNT, permission: "iam.serviceAccounts.delete" };

#[cfg(test)]
pub(in crate::gcp) static DEEDS: &[&Deed] = &[
    &UNPROTECT,
    &REMOVE_PEERING,
    &CHANGE_ROUTER,
    &READ_ROUTER,
    &SET_METADATA,
    &DISSOCIATE,
    &DISSOCIATE_IN_REGION,
    &DELETE_ACCOUNT,
];

/// The paths of a kind.
pub(in crate::gcp) fn paths(kind: &str) -> Option<&'static Paths> {
    PATHS.iter().find(|paths| paths.kind == kind)
}

/// The kind that an item is a part of.
pub(in crate::gcp) fn part(kind: &str) -> Option<&'static Part> {
    PARTS.iter().find(|part| part.kind == kind)
}

/// Whether an aggregated list shows items that another kind lists, in no region.
pub(in crate::gcp) fn has_global_twin(paths: &Paths) -> bool {
    let is_twin = |other: &&Paths| other.listed == Listed::Global && other.collection() == paths.collection();
    PATHS.iter().any(|other| is_twin(&other))
}

/// All kinds.
pub(in crate::gcp) fn kinds() -> impl Iterator<Item = &'static str> {
    let others = PARTS.iter().map(|part| part.kind).chain([METADATA, SERVICE_ACCOUNT]);
    PATHS.iter().map(|paths| paths.kind).chain(others)
}
