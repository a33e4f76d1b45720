//! The networks of a Shoot.

use super::super::{
    json::{at, text, texts},
    refusals::{duplicate, forbidden, invalid, is_label_name, required, unsupported},
};
use super::{form::WORKERLESS, workers};
use allotment_apiserver::error::FieldError;
use serde_json::Value;
use std::net::IpAddr;

const PATH: &str = "spec.networking";
const FAMILIES: [&str; 2] = ["IPv4", "IPv6"];

/// Checks that there are networks, and that they look like some (422).
pub(super) fn check(shoot: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let below = |field: &str| at(shoot, &format!("/spec/networking/{field}"));
    if workers(shoot).is_empty() {
        for field in ["type", "providerConfig", "pods", "nodes"] {
            if below(field).is_some() {
                errors.push(forbidden(format!("{PATH}.{field}"), WORKERLESS));
            }
        }
    } else {
        match text(shoot, "/spec/networking/type") {
            "" => errors.push(required(format!("{PATH}.type"), "networking type must be provided")),
            kind if !is_label_name(kind) => {
                errors.push(invalid(format!("{PATH}.type"), kind, "type must be a valid label name"));
            }
            _ => {}
        }
    }
    let families = texts(shoot, "/spec/networking/ipFamilies");
    let before = errors.len();
    for (n, family) in families.iter().enumerate() {
        let field = format!("{PATH}.ipFamilies[{n}]");
        if !FAMILIES.contains(family) {
            errors.push(unsupported(field.as_str(), *family, &FAMILIES));
        }
        if families[..n].contains(family) {
            errors.push(duplicate(field, *family));
        }
    }
    if errors.len() > before {
        return errors;
    }
    let family = (families.len() < 2).then(|| families.first().copied().unwrap_or("IPv4"));
    for field in ["nodes", "pods", "services"] {
        if let Some(cidr) = below(field).and_then(Value::as_str) {
            errors.extend(look_at(&format!("{PATH}.{field}"), cidr, family));
        }
    }
    errors
}

fn look_at(field: &str, cidr: &str, family: Option<&str>) -> Vec<FieldError> {
    let Some(network) = Network::parse(cidr) else {
        return vec![invalid(field, cidr, format!("invalid CIDR address: {cidr}"))];
    };
    let mut errors = Vec::new();
    if let Some(family) = family.filter(|family| (*family == "IPv4") != network.first.is_ipv4()) {
        errors.push(invalid(field, network.first.to_string(), format!("must be a valid {family} address")));
    }
    if !network.canonical {
        errors.push(invalid(field, cidr, "must be valid canonical CIDR"));
    }
    errors
}

/// Checks that the networks do not overlap (403).
pub(super) fn disjoint(shoot: &Value) -> Vec<FieldError> {
    if !texts(shoot, "/spec/networking/ipFamilies").contains(&"IPv4") {
        return Vec::new();
    }
    let network = |field: &str| {
        let cidr = at(shoot, &format!("/spec/networking/{field}"))?.as_str()?;
        Some((cidr, Network::parse(cidr)?))
    };
    let mut errors = Vec::new();
    for (field, other, detail) in [
        ("services", "pods", "shoot pod network intersects with shoot service network"),
        ("pods", "nodes", "shoot pod network intersects with shoot node network"),
        ("services", "nodes", "shoot service network intersects with shoot node network"),
    ] {
        if let (Some((cidr, network)), Some((_, other))) = (network(field), network(other))
            && network.overlaps(&other)
        {
            errors.push(invalid(format!("{PATH}.{field}"), cidr, detail));
        }
    }
    errors
}

/// A network, by its first address and the length of its prefix.
struct Network {
    first: IpAddr,
    prefix_bits: u32,
    /// Whether it was written with its first address.
    canonical: bool,
}

impl Network {
    fn parse(cidr: &str) -> Option<Self> {
        let (address, prefix) = cidr.split_once('/')?;
        let address: IpAddr = address.parse().ok()?;
        let prefix_bits: u32 = prefix.parse().ok().filter(|_| !prefix.starts_with('+'))?;
        let first = match address {
            IpAddr::V4(v4) if prefix_bits <= 32 => {
                IpAddr::V4((v4.to_bits() & u32::MAX.checked_shl(32 - prefix_bits).unwrap_or_default()).into())
            }
            IpAddr::V6(v6) if prefix_bits <= 128 => IpAddr::V6(
                (v6.to_bits() & u128::MAX.checked_shl(128 - prefix_bits).unwrap_or_default()).into(),
            ),
            _ => return None,
        };
        Some(Self { first, prefix_bits, canonical: first == address })
    }

    fn overlaps(&self, other: &Self) -> bool {
        let bits = self.prefix_bits.min(other.prefix_bits);
        let cut = |network: &Self| Self::parse(&format!("{}/{bits}", network.first)).map(|cut| cut.first);
        self.first.is_ipv4() == other.first.is_ipv4() && cut(self) == cut(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_overlap_if_one_is_in_the_other() {
        for (a, b, overlap) in [
            ("10.0.0.0/8", "10.250.0.0/16", true),
            ("10.250.0.0/16", "10.251.0.0/16", false),
            ("0.0.0.0/0", "1.2.3.4/32", true),
            ("2001:db8::/32", "2001:db8:1::/64", true),
            ("::/0", "10.0.0.0/8", false),
        ] {
            let (a, b) = (Network::parse(a).unwrap(), Network::parse(b).unwrap());
            assert_eq!((a.overlaps(&b), b.overlaps(&a)), (overlap, overlap));
        }
        for wrong in ["10.0.0.0", "10.0.0.0/33", "::/129", "ten/8", "10.0.0.0/+8", ""] {
            assert!(Network::parse(wrong).is_none(), "{wrong}");
        }
    }
}
