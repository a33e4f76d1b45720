//! Which addresses are dialled for clusters that tenants bring.
//!
//! A tenant chooses the address that the operators connect to, from the operators' place in the network. So an address is
//! judged after its name was resolved, and the connection goes to the very address that was judged: a name that resolves
//! to something else a moment later gains nothing.

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses of clusters that tenants bring, by range. Private ranges are allowed; loopback, link-local, multicast and metadata
/// addresses are not, nor are our own API servers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Byoc {
    /// Ranges that are allowed whatever else is refused, such as `127.0.0.0/8`.
    #[schemars(with = "Vec<Range>")]
    pub allow: Vec<IpNet>,
    /// Ranges that are refused.
    #[schemars(with = "Vec<Range>")]
    pub deny: Vec<IpNet>,
}

/// How a range is written, for the schema.
#[derive(JsonSchema)]
#[schemars(inline, extend("format" = "cidr"))]
struct Range(#[expect(dead_code, reason = "only its schema is used")] String);

/// Why an address is not dialled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Forbidden {
    /// The machine that the operators run on.
    #[error("loopback address")]
    Loopback,
    /// The network segment that the operators run in; most clouds serve metadata there.
    #[error("link-local address")]
    LinkLocal,
    /// `0.0.0.0/8` and `::`, which lead to this machine, too.
    #[error("unspecified address")]
    Unspecified,
    /// Not one machine.
    #[error("multicast address")]
    Multicast,
    /// Not one machine.
    #[error("broadcast address")]
    Broadcast,
    /// Where a cloud hands credentials to its machines.
    #[error("metadata address of a cloud")]
    Metadata,
    /// The control plane or the garden.
    #[error("address of one of our own API servers")]
    OwnServer,
    /// The configuration says so.
    #[error("in range {0} of byoc.deny")]
    Denied(IpNet),
}

/// Addresses outside the link-local ranges at which clouds hand out metadata and credentials: Alibaba Cloud; Azure's wire
/// server; Oracle Cloud (IPv4 and IPv6); AWS, whose local services are all in one range; Google Cloud.
const METADATA: [IpNet; 6] = [
    v4([100, 100, 100, 200]),
    v4([168, 63, 129, 16]),
    v4([192, 0, 0, 192]),
    v6([0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe], 128),
    v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0], 32),
    v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254], 128),
];

const fn v4([a, b, c, d]: [u8; 4]) -> IpNet {
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), 32))
}

const fn v6([a, b, c, d, e, f, g, h]: [u16; 8], bits: u8) -> IpNet {
    IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, d, e, f, g, h), bits))
}

/// Judges one resolved address. `own` are the addresses of our own API servers.
///
/// ```
/// use allotment_core::access::address::{Byoc, Forbidden, judge};
///
/// let judge = |address: &str| judge(address.parse().unwrap(), &Byoc::default(), &[]);
/// assert_eq!(judge("10.1.2.3"), Ok(()));
/// assert_eq!(judge("::ffff:127.0.0.1"), Err(Forbidden::Loopback));
/// ```
pub fn judge(address: IpAddr, byoc: &Byoc, own: &[IpAddr]) -> Result<(), Forbidden> {
    // An IPv4-mapped address is the IPv4 address for the operating system, so ranges of either spelling mean it.
    let address = address.to_canonical();
    if byoc.allow.iter().any(|range| range.contains(&address)) {
        return Ok(());
    }
    let mut forms = vec![address];
    if let IpAddr::V6(address) = address {
        forms.extend(embedded(address).map(IpAddr::V4));
    }
    for form in forms {
        if own.iter().any(|own| own.to_canonical() == form) {
            return Err(Forbidden::OwnServer);
        }
        if let Some(range) = byoc.deny.iter().find(|range| range.contains(&form)) {
            return Err(Forbidden::Denied(*range));
        }
        by_default(form)?;
    }
    Ok(())
}

/// Whether two host names of addresses mean the same host, as far as their spelling tells.
pub fn is_same_host(one: &str, other: &str) -> bool {
    let bare = |host: &str| {
        host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.').to_ascii_lowercase()
    };
    bare(one) == bare(other)
}

fn by_default(address: IpAddr) -> Result<(), Forbidden> {
    let is_metadata = METADATA.iter().any(|range| range.contains(&address));
    let (is_unspecified, is_link_local, is_broadcast) = match address {
        // Linux routes all of 0.0.0.0/8 to nowhere but 0.0.0.0, which is this machine; none of it is a server's.
        IpAddr::V4(address) => {
            (address.octets()[0] == 0, address.is_link_local(), address == Ipv4Addr::BROADCAST)
        }
        IpAddr::V6(address) => (address.is_unspecified(), address.is_unicast_link_local(), false),
    };
    match address {
        _ if is_metadata => Err(Forbidden::Metadata),
        _ if address.is_loopback() => Err(Forbidden::Loopback),
        _ if is_link_local => Err(Forbidden::LinkLocal),
        _ if is_unspecified => Err(Forbidden::Unspecified),
        _ if address.is_multicast() => Err(Forbidden::Multicast),
        _ if is_broadcast => Err(Forbidden::Broadcast),
        _ => Ok(()),
    }
}

/// The IPv4 addresses that a gateway or tunnel may take an IPv6 address for.
fn embedded(address: Ipv6Addr) -> impl Iterator<Item = Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let of = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    let low = of(g, h);
    let forms = match [a, b, c, d, e, f] {
        // `::` and `::1` have names of their own, and are no IPv4-compatible addresses.
        [0, 0, 0, 0, 0, 0] if g != 0 || h > 1 => [Some(low), None],
        // IPv4-translated (RFC 2765).
        [0, 0, 0, 0, 0xffff, 0] => [Some(low), None],
        // NAT64 (RFC 6052).
        [0x64, 0xff9b, 0, 0, 0, 0] => [Some(low), None],
        // Local-use NAT64 (RFC 8215): behind a prefix of 48 bits the address is on both sides of bits 64 to 71.
        [0x64, 0xff9b, 1, ..] => {
            let behind_48 = of(d, ((e & 0xff) << 8) | (f >> 8));
            // The form that is not meant is zero.
            [low, behind_48].map(|form| Some(form).filter(|form| !form.is_unspecified()))
        }
        // 6to4 (RFC 3056).
        [0x2002, high, low, ..] => [Some(of(high, low)), None],
        // Teredo (RFC 4380): the server, and the client with its bits turned round.
        [0x2001, 0, high, low, ..] => [Some(of(high, low)), Some(of(!g, !h))],
        // ISATAP (RFC 5214), in any network.
        [_, _, _, _, 0 | 0x200, 0x5efe] => [Some(low), None],
        _ => [None, None],
    };
    forms.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(ranges: &[&str]) -> Vec<IpNet> {
        ranges.iter().map(|range| range.parse().unwrap()).collect()
    }

    #[test]
    fn addresses_that_lead_inside_are_refused() {
        use Forbidden::*;
        for (address, expected) in [
            ("127.0.0.1", Err(Loopback)),
            ("127.255.255.254", Err(Loopback)),
            ("::1", Err(Loopback)),
            ("169.254.0.1", Err(LinkLocal)),
            ("169.254.169.254", Err(LinkLocal)),
            ("fe80::1", Err(LinkLocal)),
            ("febf::1", Err(LinkLocal)),
            ("0.0.0.0", Err(Unspecified)),
            ("0.1.2.3", Err(Unspecified)),
            ("::", Err(Unspecified)),
            ("224.0.0.1", Err(Multicast)),
            ("239.255.255.255", Err(Multicast)),
            ("ff02::1", Err(Multicast)),
            ("255.255.255.255", Err(Broadcast)),
            ("100.100.100.200", Err(Metadata)),
            ("168.63.129.16", Err(Metadata)),
            ("192.0.0.192", Err(Metadata)),
            ("fd00:ec2::254", Err(Metadata)),
            ("fd00:ec2::23", Err(Metadata)),
            ("fd20:ce::254", Err(Metadata)),
            ("fd00:c1::a9fe:a9fe", Err(Metadata)),
            // Other spellings of the same.
            ("::ffff:127.0.0.1", Err(Loopback)),
            ("::ffff:169.254.169.254", Err(LinkLocal)),
            ("::ffff:100.100.100.200", Err(Metadata)),
            ("::ffff:0.0.0.0", Err(Unspecified)),
            ("::127.0.0.1", Err(Loopback)),
            ("::169.254.169.254", Err(LinkLocal)),
            ("::ffff:0:127.0.0.1", Err(Loopback)),
            ("64:ff9b::127.0.0.1", Err(Loopback)),
            ("64:ff9b::a9fe:a9fe", Err(LinkLocal)),
            ("64:ff9b:1::a9fe:a9fe", Err(LinkLocal)),
            ("64:ff9b:1:a9fe:a9:fe00::", Err(LinkLocal)),
            ("2002:7f00:1::", Err(Loopback)),
            ("2002:a9fe:a9fe::1", Err(LinkLocal)),
            ("2002:6464:64c8::1", Err(Metadata)),
            ("2001:0:a9fe:a9fe::", Err(LinkLocal)),
            ("2001:0:808:808::80ff:fffe", Err(Loopback)),
            ("2001:db8::5efe:127.0.0.1", Err(Loopback)),
            ("2001:db8::200:5efe:a9fe:a9fe", Err(LinkLocal)),
            // Private and public ones are dialled.
            ("10.0.0.1", Ok(())),
            ("172.16.0.1", Ok(())),
            ("192.168.1.1", Ok(())),
            ("100.64.0.1", Ok(())),
            ("100.100.100.201", Ok(())),
            ("168.63.129.17", Ok(())),
            ("169.253.255.255", Ok(())),
            ("1.0.0.1", Ok(())),
            ("128.0.0.1", Ok(())),
            ("198.51.100.7", Ok(())),
            ("fd00::1", Ok(())),
            ("fd00:ec3::254", Ok(())),
            ("2001:db8::1", Ok(())),
            ("64:ff9b::10.0.0.1", Ok(())),
            ("64:ff9b:1::10.0.0.1", Ok(())),
            ("2002:a00:1::1", Ok(())),
            ("::ffff:10.0.0.1", Ok(())),
        ] {
            assert_eq!(judge(address.parse().unwrap(), &Byoc::default(), &[]), expected, "{address}");
        }
    }

    #[test]
    fn denied_ranges_are_refused_in_every_spelling() {
        let byoc = Byoc { deny: ranges(&["10.96.0.0/12", "fd12::/16"]), allow: Vec::new() };
        for (address, is_denied) in [
            ("10.96.0.1", true),
            ("10.111.255.255", true),
            ("::ffff:10.96.0.1", true),
            ("64:ff9b::10.96.0.1", true),
            ("2002:a60:1::", true),
            ("fd12::1", true),
            ("10.95.255.255", false),
            ("fd13::1", false),
        ] {
            let judged = judge(address.parse().unwrap(), &byoc, &[]);
            assert_eq!(matches!(judged, Err(Forbidden::Denied(_))), is_denied, "{address}: {judged:?}");
        }
    }

    #[test]
    fn our_own_servers_are_refused_in_every_spelling() {
        let own: Vec<IpAddr> = ["10.0.0.1", "2001:db8::1"].map(|own| own.parse().unwrap()).to_vec();
        for (address, expected) in [
            ("10.0.0.1", Err(Forbidden::OwnServer)),
            ("::ffff:10.0.0.1", Err(Forbidden::OwnServer)),
            ("64:ff9b::10.0.0.1", Err(Forbidden::OwnServer)),
            ("2001:db8::1", Err(Forbidden::OwnServer)),
            ("10.0.0.2", Ok(())),
        ] {
            assert_eq!(judge(address.parse().unwrap(), &Byoc::default(), &own), expected, "{address}");
        }
    }

    #[test]
    fn allowed_ranges_take_precedence_over_everything() {
        let byoc = Byoc { allow: ranges(&["127.0.0.0/8", "10.0.0.1/32"]), deny: ranges(&["0.0.0.0/0"]) };
        let own = ["10.0.0.1".parse().unwrap()];
        for (address, expected) in [
            ("127.0.0.1", Ok(())),
            ("::ffff:127.0.0.1", Ok(())),
            ("10.0.0.1", Ok(())),
            ("::1", Err(Forbidden::Loopback)),
            ("10.0.0.2", Err(Forbidden::Denied("0.0.0.0/0".parse().unwrap()))),
            // A gateway is another way than the one that was allowed.
            ("64:ff9b::127.0.0.1", Err(Forbidden::Denied("0.0.0.0/0".parse().unwrap()))),
        ] {
            assert_eq!(judge(address.parse().unwrap(), &byoc, &own), expected, "{address}");
        }
    }

    #[test]
    fn hosts_are_compared_as_names_are() {
        for (one, other, is_same) in [
            ("api.example.com", "API.example.com.", true),
            ("[::1]", "::1", true),
            ("api.example.com", "api2.example.com", false),
        ] {
            assert_eq!(is_same_host(one, other), is_same, "{one} {other}");
        }
    }
}
