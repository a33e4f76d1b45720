//! Items from what a list shows.

use super::{
    call::incomplete,
    rows::{ASSOCIATIONS, NAT, PEERING, PROTECTED, Part, Paths},
};
use crate::Refusal;
use allotment_core::cleanup::{
    Item, ItemId, KindName, Place,
    attribute::{CLUSTER, DEFAULT, MANAGED, NETWORK, PRISTINE, ROUTER, STATE},
};
use ring::digest;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Reads the items of one kind.
pub(super) struct Reader {
    pub(super) kind: &'static str,
    pub(super) paths: &'static Paths,
    /// Of items that are parts of those in the list.
    pub(super) part: Option<&'static Part>,
    /// Networks that make their subnetworks by themselves; for subnetworks only.
    pub(super) auto: BTreeSet<String>,
}

/// Gardener's name of everything that it makes for a Shoot.
const SHOOT: &str = "shoot--";

/// A firewall rule of a new default network: name, sources, protocols with their ports.
type DefaultRule = (&'static str, &'static str, &'static [(&'static str, &'static [&'static str])]);

const DEFAULT_RULES: &[DefaultRule] = &[
    ("default-allow-icmp", "0.0.0.0/0", &[("icmp", &[])]),
    (
        "default-allow-internal",
        "10.128.0.0/9",
        &[("icmp", &[]), ("tcp", &["0-65535"]), ("udp", &["0-65535"])],
    ),
    ("default-allow-rdp", "0.0.0.0/0", &[("tcp", &["3389"])]),
    ("default-allow-ssh", "0.0.0.0/0", &[("tcp", &["22"])]),
];

/// Whatever decides which packets a rule lets through: a rule of the baseline that was changed is another one.
const RULE_FIELDS: &[&str] = &[
    "allowed",
    "denied",
    "destinationRanges",
    "direction",
    "disabled",
    "network",
    "priority",
    "sourceRanges",
    "sourceServiceAccounts",
    "sourceTags",
    "targetServiceAccounts",
    "targetTags",
];

impl Reader {
    /// The items that one entry of a list stands for: itself, its parts, or none.
    pub(super) fn read(
        &self,
        zone: Option<&str>,
        place: &Place,
        value: &Value,
    ) -> Result<Vec<Item>, Refusal> {
        let name = text(value, "name").ok_or_else(|| incomplete(self.paths.list))?;
        let collection = self.paths.collection();
        let path = match zone {
            Some(zone) => format!("{zone}/{collection}/{name}"),
            None => format!("{collection}/{name}"),
        };
        let Some(part) = self.part else {
            if self.kind == "Route" && is_derived(value) {
                return Ok(Vec::new());
            }
            return Ok(vec![self.item(place, path, name, value)]);
        };
        let parts = match value.get(part.field) {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(parts) => parts.as_array().ok_or_else(|| incomplete(self.paths.list))?,
        };
        let parts = parts.iter().map(|value| {
            let name = text(value, "name").ok_or_else(|| incomplete(self.paths.list))?;
            Ok(self.part_of(place, &path, part, name, value))
        });
        parts.collect()
    }

    fn item(&self, place: &Place, path: String, name: &str, value: &Value) -> Item {
        let mut item = Item::new(KindName::of(self.kind), place.clone(), ItemId::new(path));
        item.name = Some(name.to_owned());
        item.incarnation = text(value, "id").map(str::to_owned);
        let network =
            text(value, "network").or_else(|| value.pointer("/networkInterfaces/0/network")?.as_str());
        let item = item
            .with(STATE, text(value, "status").unwrap_or_default())
            .with(NETWORK, network.map(network_id).unwrap_or_default())
            .with(CLUSTER, cluster(name, value).unwrap_or_default());
        let flag = |is: bool| if is { "true" } else { "" };
        match self.kind {
            "Network" => {
                item.with(DEFAULT, flag(name == "default" && is_true(value, "autoCreateSubnetworks")))
            }
            "Subnetwork" => {
                let is_auto =
                    network.is_some_and(|network| last(network) == name && self.auto.contains(name));
                item.with(DEFAULT, flag(is_auto))
            }
            "Firewall" => {
                let id = text(value, "id").unwrap_or_default();
                let incarnation = Some(format!("{id}/{}", digest_of(value)));
                Item { incarnation, ..item.with(PRISTINE, flag(is_pristine(name, value))) }
            }
            "Route" => item.with(DEFAULT, flag(is_default_route(value))),
            "Address" => {
                let is_managed = text(value, "purpose") == Some("NAT_AUTO");
                item.with(MANAGED, flag(is_managed)).with(ROUTER, router_of(value).unwrap_or_default())
            }
            // Only a manager makes a group of a region, and nobody else can delete it.
            "InstanceGroup" => item.with(MANAGED, flag(value.get("region").is_some())),
            "Instance" => item.with(PROTECTED, flag(is_true(value, "deletionProtection"))),
            "NetworkFirewallPolicy" | "RegionNetworkFirewallPolicy" => {
                item.with(ASSOCIATIONS, associations(value))
            }
            _ => item,
        }
    }

    fn part_of(&self, place: &Place, whole: &str, part: &Part, name: &str, value: &Value) -> Item {
        let id = ItemId::new(format!("{whole}/{}/{name}", part.field));
        let mut item = Item::new(KindName::of(self.kind), place.clone(), id);
        item.name = Some(name.to_owned());
        // A part has no id of its own: one that leads elsewhere is another one.
        item.incarnation = match self.kind {
            PEERING => text(value, "network").map(str::to_owned),
            _ => None,
        };
        let whole = if self.kind == NAT { (ROUTER, whole) } else { (NETWORK, whole) };
        item.with(whole.0, whole.1).with(CLUSTER, cluster(name, value).unwrap_or_default())
    }
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str().filter(|text| !text.is_empty())
}

fn is_true(value: &Value, name: &str) -> bool {
    value.get(name).and_then(Value::as_bool) == Some(true)
}

fn last(url: &str) -> &str {
    url.rsplit('/').next().unwrap_or(url)
}

/// `https://…/projects/p/global/networks/n` is `networks/n`. A network of another project is one that no list of ours shows;
/// only items that need none of the rules about networks can be in it.
fn network_id(url: &str) -> String {
    format!("networks/{}", last(url))
}

/// The router that uses an address.
fn router_of(address: &Value) -> Option<String> {
    let users = address.get("users")?.as_array()?.iter().filter_map(Value::as_str);
    users.filter(|user| user.contains("/routers/")).map(|user| format!("routers/{}", last(user))).next()
}

/// Gardener names what it makes after the Shoot, or tags it; the controllers in a Shoot describe what they make.
fn cluster(name: &str, value: &Value) -> Option<String> {
    if name.starts_with(SHOOT) {
        return Some(name.to_owned());
    }
    let tags = ["/tags/items", "/targetTags", "/tags"].iter();
    let tags = tags.filter_map(|pointer| value.pointer(pointer)?.as_array()).flatten();
    if let Some(tag) = tags.filter_map(Value::as_str).find(|tag| tag.starts_with(SHOOT)) {
        return Some(tag.to_owned());
    }
    let is_described =
        text(value, "description").is_some_and(|text| text.contains("kubernetes.io/service-name"));
    is_described.then(|| "kubernetes".to_owned())
}

/// A route of a subnetwork or a peering, or one that a router learned: it is there as long as that is.
fn is_derived(route: &Value) -> bool {
    let has = |name: &str| text(route, name).is_some();
    has("nextHopNetwork")
        || has("nextHopPeering")
        || has("nextHopHub")
        || matches!(text(route, "routeType"), Some("SUBNET" | "BGP" | "TRANSIT"))
}

fn is_default_route(route: &Value) -> bool {
    let leads_out = text(route, "nextHopGateway").is_some_and(|hop| last(hop) == "default-internet-gateway");
    let is_everything = matches!(text(route, "destRange"), Some("0.0.0.0/0" | "::/0"));
    let is_tagged = route.get("tags").and_then(Value::as_array).is_some_and(|tags| !tags.is_empty());
    leads_out && is_everything && !is_tagged
}

fn is_pristine(name: &str, rule: &Value) -> bool {
    let Some((_, sources, allowed)) = DEFAULT_RULES.iter().find(|(known, ..)| *known == name) else {
        return false;
    };
    let is_empty = |field: &&str| {
        rule.get(*field).is_none_or(|value| value.is_null() || value.as_array().is_some_and(Vec::is_empty))
    };
    let others = [
        "denied",
        "destinationRanges",
        "sourceServiceAccounts",
        "sourceTags",
        "targetServiceAccounts",
        "targetTags",
    ];
    let theirs: BTreeSet<String> = rule
        .get("allowed")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|allowed| {
            let ports = allowed.get("ports").cloned().unwrap_or_else(|| json!([]));
            format!("{} {ports}", text(allowed, "IPProtocol").unwrap_or_default())
        })
        .collect();
    let known: BTreeSet<String> =
        allowed.iter().map(|(protocol, ports)| format!("{protocol} {}", json!(ports))).collect();
    others.iter().all(is_empty)
        && rule.get("sourceRanges") == Some(&json!([sources]))
        && theirs == known
        && rule.get("priority").and_then(Value::as_u64) == Some(65534)
        && text(rule, "direction") == Some("INGRESS")
        && !is_true(rule, "disabled")
        && text(rule, "network").is_some_and(|network| last(network) == "default")
}

/// A short digest of what a rule does.
fn digest_of(rule: &Value) -> String {
    let fields: Vec<&Value> =
        RULE_FIELDS.iter().map(|name| rule.get(*name).unwrap_or(&Value::Null)).collect();
    short_digest(json!(fields).to_string().as_bytes())
}

/// The first half of a SHA-256: enough to tell two values apart, and nothing of either.
pub(super) fn short_digest(bytes: &[u8]) -> String {
    let digest = digest::digest(&digest::SHA256, bytes);
    digest.as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

fn associations(policy: &Value) -> String {
    let all = policy.get("associations").and_then(Value::as_array);
    let names: Vec<&str> = all.into_iter().flatten().filter_map(|one| text(one, "name")).collect();
    names.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcp::rows;

    const PLACE: Place = Place::of("europe-west1");

    fn read_all(kind: &'static str, zone: Option<&str>, value: &Value) -> Vec<Item> {
        let part = rows::part(kind);
        let paths = rows::paths(part.map_or(kind, |part| part.of)).unwrap();
        let auto = BTreeSet::from(["default".to_owned()]);
        Reader { kind, paths, part, auto }.read(zone, &PLACE, value).unwrap()
    }

    fn read(kind: &'static str, value: &Value) -> Item {
        read_all(kind, None, value).remove(0)
    }

    fn default_rule() -> Value {
        json!({
            "name": "default-allow-ssh", "id": "7", "direction": "INGRESS", "priority": 65534, "disabled": false,
            "network": "https://www.googleapis.com/compute/v1/projects/p/global/networks/default",
            "sourceRanges": ["0.0.0.0/0"], "allowed": [{ "IPProtocol": "tcp", "ports": ["22"] }],
        })
    }

    #[test]
    fn ids_are_paths_that_tell_kinds_and_zones_apart() {
        let disk = json!({ "name": "d", "id": "1", "status": "READY" });
        assert_eq!(read_all("Disk", Some("europe-west1-b"), &disk)[0].id.as_str(), "europe-west1-b/disks/d");
        let disk = read("Disk", &disk);
        assert_eq!((disk.id.as_str(), disk.incarnation.as_deref()), ("disks/d", Some("1")));
        let network =
            json!({ "name": "n", "peerings": [{ "name": "x", "network": "projects/q/global/networks/m" }] });
        let peering = read(PEERING, &network);
        assert_eq!(peering.id.as_str(), "networks/n/peerings/x");
        assert_eq!(peering.attribute(NETWORK), Some("networks/n"));
        let router = json!({ "name": "r", "nats": [{ "name": "shoot--p--c-cloud-nat" }] });
        let nat = read(NAT, &router);
        assert_eq!(nat.attribute(ROUTER), Some("routers/r"));
        assert!(nat.attribute(CLUSTER).is_some());
    }

    #[test]
    fn a_default_rule_is_pristine_until_somebody_changes_it() {
        let rule = read("Firewall", &default_rule());
        assert_eq!(rule.attribute(PRISTINE), Some("true"));
        let changes: [(&str, Value); 6] = [
            ("allowed", json!([{ "IPProtocol": "tcp" }])),
            ("sourceRanges", json!(["10.0.0.0/8", "0.0.0.0/0"])),
            ("priority", json!(1)),
            ("disabled", json!(true)),
            ("targetTags", json!(["x"])),
            ("network", json!("projects/p/global/networks/other")),
        ];
        for (field, value) in changes {
            let mut changed = default_rule();
            changed[field] = value;
            let changed = read("Firewall", &changed);
            assert_eq!(changed.attribute(PRISTINE), None, "{field}");
            assert_ne!(changed.incarnation, rule.incarnation, "{field}");
        }
        let mut described = default_rule();
        described["description"] = json!("x");
        assert_eq!(read("Firewall", &described).incarnation, rule.incarnation);
    }

    #[test]
    fn routes_of_subnetworks_and_peerings_are_parts_of_those() {
        let derived = [
            json!({ "name": "a", "nextHopNetwork": "n" }),
            json!({ "name": "a", "nextHopPeering": "p" }),
            json!({ "name": "a", "routeType": "SUBNET" }),
        ];
        assert!(derived.iter().all(|route| read_all("Route", None, route).is_empty()));
        let gateway =
            "https://www.googleapis.com/compute/v1/projects/p/global/gateways/default-internet-gateway";
        let out = json!({ "name": "a", "destRange": "0.0.0.0/0", "nextHopGateway": gateway, "routeType": "STATIC" });
        assert_eq!(read("Route", &out).attribute(DEFAULT), Some("true"));
        let some = json!({ "name": "a", "destRange": "10.0.0.0/8", "nextHopGateway": gateway });
        assert_eq!(read("Route", &some).attribute(DEFAULT), None);
    }

    #[test]
    fn an_address_that_cloud_nat_took_names_its_router() {
        let router = "https://www.googleapis.com/compute/v1/projects/p/regions/europe-west1/routers/r";
        let address = json!({ "name": "nat-auto-ip-1", "purpose": "NAT_AUTO", "users": [router] });
        let address = read("Address", &address);
        assert_eq!(
            (address.attribute(MANAGED), address.attribute(ROUTER)),
            (Some("true"), Some("routers/r"))
        );
        assert_eq!(
            read("Address", &json!({ "name": "a", "purpose": "GCE_ENDPOINT" })).attribute(MANAGED),
            None
        );
    }

    #[test]
    fn only_subnetworks_that_a_network_made_are_its_own() {
        let subnetwork = |name: &str, network: &str| {
            read(
                "Subnetwork",
                &json!({ "name": name, "network": format!("projects/p/global/networks/{network}") }),
            )
        };
        assert_eq!(subnetwork("default", "default").attribute(DEFAULT), Some("true"));
        assert_eq!(subnetwork("added", "default").attribute(DEFAULT), None);
        assert_eq!(subnetwork("own", "own").attribute(DEFAULT), None, "that network makes none");
    }
}
