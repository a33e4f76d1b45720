//! One thing in an account.

use super::{ItemId, KindName, Place};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt};

/// The attributes that rules of the tables read. A client fills those that its cloud knows.
pub mod attribute {
    /// The state, in the cloud's words.
    pub const STATE: &str = "state";
    /// The network that it is part of: a VPC on AWS, a network on OpenStack.
    pub const NETWORK: &str = "network";
    /// `true` if the cloud made it with the account (a default VPC, a default subnet) or with its network.
    pub const DEFAULT: &str = "default";
    /// The account that owns it.
    pub const OWNER: &str = "owner";
    /// The security group that a rule belongs to.
    pub const GROUP: &str = "group";
    /// The other security group that a rule refers to.
    pub const REFERENCED_GROUP: &str = "referencedGroup";
    /// `true` for a rule that every new default security group has.
    pub const PRISTINE: &str = "pristine";
    /// `true` if a service of the cloud made it and deletes it.
    pub const MANAGED: &str = "managed";
    /// The set of DHCP options of a VPC.
    pub const DHCP_OPTIONS: &str = "dhcpOptions";
    /// The technical id in a tag `kubernetes.io/cluster/…`.
    pub const CLUSTER: &str = "cluster";
    /// The principal of an item of IAM, to compare with our own.
    pub const PRINCIPAL: &str = "principal";
    /// What uses a port: `network:router_interface`, `compute:nova`.
    pub const DEVICE_OWNER: &str = "deviceOwner";
    /// `true` if others can see it, too.
    pub const SHARED: &str = "shared";
    /// `true` for a network that leads out of the cloud.
    pub const EXTERNAL: &str = "external";
    /// The router that a NAT is part of.
    pub const ROUTER: &str = "router";
    /// The variety of its kind, in the cloud's words: a system disk, a primary interface, a system route table.
    pub const VARIETY: &str = "variety";
    /// How it is paid for, in the cloud's words.
    pub const CHARGE: &str = "charge";
    /// The item that holds it, and without which it would be free or gone: the instance of a disk, the gateway of an entry.
    pub const HOLDER: &str = "holder";
    /// Why nobody but the cloud's operator can remove it.
    pub const LOCKED_BY: &str = "lockedBy";
    /// The place whose counts it is part of, for an item of [`Place::GLOBAL`](super::Place::GLOBAL) that lives in one.
    pub const LOCATION: &str = "location";
    /// The resource group that it is in, or that it is about.
    pub const RESOURCE_GROUP: &str = "resourceGroup";
    /// The scope: `above` the account, the `account` itself, or something `below`.
    pub const SCOPE: &str = "scope";
    /// The principal that made it.
    pub const CREATOR: &str = "creator";
    /// The cloud's own type of it, for a kind of many types.
    pub const TYPE: &str = "type";
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// Its kind.
    pub kind: KindName,
    /// Where it is.
    pub place: Place,
    /// Its id.
    pub id: ItemId,
    /// The name that people gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A value that changes if the item is replaced by another one with the same id: a fingerprint, a creation time. Ids
    /// that people choose (a key pair's name) return; without this a baseline would protect the successor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<String>,
    /// What rules and the deletion need to know; see [`attribute`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
}

impl Item {
    /// An item of which nothing else is known.
    pub fn new(kind: KindName, place: Place, id: ItemId) -> Self {
        Self { kind, place, id, name: None, incarnation: None, attributes: BTreeMap::new() }
    }

    /// The same with an attribute; an empty value is none.
    #[must_use]
    pub fn with(mut self, attribute: &str, value: impl Into<String>) -> Self {
        let value = value.into();
        if !value.is_empty() {
            self.attributes.insert(attribute.to_owned(), value);
        }
        self
    }

    /// An attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.get(name).map(String::as_str)
    }

    /// Its identity in the account.
    pub fn key(&self) -> ItemKey {
        ItemKey { place: self.place.clone(), kind: self.kind.clone(), id: self.id.clone() }
    }
}

/// The identity of an item in its account.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ItemKey {
    /// Where it is.
    pub place: Place,
    /// Its kind.
    pub kind: KindName,
    /// Its id.
    pub id: ItemId,
}

impl fmt::Display for ItemKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {} in {}", self.kind, self.id, self.place)
    }
}
