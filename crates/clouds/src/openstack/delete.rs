//! Deletions by rows, and what has to go before them.

use super::{
    OpenStack,
    call::{Call, JSON, encode, incomplete},
    list::unsupported,
    rows::{self, ATTACHMENT, ROUTER, Row, SUBNET},
    services::NETWORK,
};
use crate::Refusal;
use allotment_core::cleanup::{Cloud as CloudName, Item, attribute::STATE, clean_message, kinds::table};
use http::Method;
use serde_json::{Value, json};
use std::net::IpAddr;

/// The format in which glance takes changes.
const IMAGE_PATCH: &str = "application/openstack-images-v2.1-json-patch";

/// So many ports in the way are named.
const MOST_PORTS: usize = 5;

/// A call that changes something.
struct Deed {
    method: Method,
    path: String,
    body: Value,
    content_type: &'static str,
    permission: &'static str,
}

impl Deed {
    fn new(method: Method, path: String, body: Value, permission: &'static str) -> Self {
        Self { method, path, body, content_type: JSON, permission }
    }
}

impl OpenStack {
    pub(super) async fn delete_row(&self, item: &Item) -> Result<(), Refusal> {
        let row = rows::find(item.kind.as_str()).ok_or_else(|| unsupported(&item.kind))?;
        if item.id.as_str().is_empty() {
            return Err(incomplete(row.list));
        }
        let refused = match self.act(row, item, deletion(row, item)?).await {
            Ok(()) | Err(Refusal::Gone) => return Ok(()),
            Err(refusal) => refusal,
        };
        if !self.has_made_way(row, item, &refused).await? {
            return Err(self.with_ports(named(refused, item), item).await);
        }
        match self.act(row, item, deletion(row, item)?).await {
            Ok(()) | Err(Refusal::Gone) => Ok(()),
            Err(refusal) => Err(self.with_ports(named(refusal, item), item).await),
        }
    }

    /// Neutron names the ports that are in the way of a network, and says only that there are some for other kinds. They may
    /// be another project's, which no listing of ours shows.
    async fn with_ports(&self, refusal: Refusal, item: &Item) -> Refusal {
        let Refusal::Blocked { code, by } = refusal else { return refusal };
        let id = encode(item.id.as_str());
        let filter = match item.kind.as_str() {
            "Subnet" => format!("fixed_ips=subnet_id%3D{id}"),
            "SecurityGroup" => format!("security_groups={id}"),
            "Router" => format!("device_id={id}"),
            _ => return Refusal::Blocked { code, by },
        };
        let path = format!("/ports?fields=id&fields=project_id&limit={MOST_PORTS}&{filter}");
        // Without an answer the refusal is as good as it came.
        let found = self.call_present(&NETWORK, &item.place, &Call::get(path, "get_port")).await;
        let (Ok(body), Ok(session)) = (found, self.session().await) else {
            return Refusal::Blocked { code, by };
        };
        Refusal::Blocked { code, by: ports(&body, &session.project).unwrap_or(by) }
    }

    /// Removes what is in the way of a deletion, if that is ours to remove. Returns whether the deletion is worth another
    /// call.
    ///
    /// Only after a refusal: the item was listed before the servers were deleted, and most of it resolved itself since.
    async fn has_made_way(&self, row: &Row, item: &Item, refused: &Refusal) -> Result<bool, Refusal> {
        if let ("RouterInterface", "RouterInterfaceInUseByRoute") = (row.kind, refused.code()) {
            return self.clear_routes(row, item).await;
        }
        let Some(deed) = remedy(item, refused) else { return Ok(false) };
        match (self.act(row, item, deed).await, row.kind) {
            (Ok(()) | Err(Refusal::Gone), _) => Ok(true),
            // nova lets nobody else undo the lock of an administrator.
            (Err(Refusal::Denied { code, .. }), "Server") => Err(Refusal::Locked {
                code,
                by: "an administrator of the cloud locked the server".to_owned(),
            }),
            (Err(refusal), _) => Err(named(refusal, item)),
        }
    }

    /// Deletes the routes of the router that lead through the subnet of this interface, and no others: the router may stay.
    async fn clear_routes(&self, row: &Row, item: &Item) -> Result<bool, Refusal> {
        let (Some(router), Some(subnet)) = (item.attribute(ROUTER), item.attribute(SUBNET)) else {
            return Ok(false);
        };
        let (router, subnet) =
            (format!("/routers/{}", encode(router)), format!("/subnets/{}", encode(subnet)));
        let get = |path: &str, permission| Call::get(path.to_owned(), permission);
        let body = self.call_present(&NETWORK, &item.place, &get(&router, "get_router")).await?;
        let routes = body.pointer("/router/routes").and_then(Value::as_array);
        let routes = routes.ok_or_else(|| incomplete("GET router"))?;
        let body = self.call_present(&NETWORK, &item.place, &get(&subnet, "get_subnet")).await?;
        let cidr = body.pointer("/subnet/cidr").and_then(Value::as_str);
        let cidr = cidr.ok_or_else(|| incomplete("GET subnet"))?;
        let leads_elsewhere = |route: &&Value| {
            let hop = route.get("nexthop").and_then(Value::as_str);
            !hop.is_some_and(|hop| contains(cidr, hop))
        };
        let others: Vec<&Value> = routes.iter().filter(leads_elsewhere).collect();
        let body = json!({ "router": { "routes": others } });
        self.act(row, item, Deed::new(Method::PUT, router, body, "update_router")).await?;
        Ok(true)
    }

    async fn act(&self, row: &Row, item: &Item, deed: Deed) -> Result<(), Refusal> {
        let Deed { method, path, body, content_type, permission } = deed;
        let call = Call { method, path, body, content_type, permission, item: item.id.as_str() };
        self.call_present(row.service, &item.place, &call).await.map(|_| ())
    }
}

/// The ports in an answer, and whose those of other projects are.
fn ports(body: &Value, own_project: &str) -> Option<String> {
    let text = |port: &Value, field: &str| port.get(field).and_then(Value::as_str).map(clean_message);
    let name = |port: &Value| {
        let id = text(port, "id")?;
        Some(match text(port, "project_id").filter(|project| project != own_project) {
            Some(project) if !project.is_empty() => format!("{id} of another project, {project}"),
            _ => id,
        })
    };
    let ports = body.get("ports")?.as_array()?;
    let named: Vec<String> = ports.iter().take(MOST_PORTS).filter_map(name).collect();
    (!named.is_empty()).then(|| format!("ports {}", named.join(", ")))
}

/// The call that removes what is in the way.
fn remedy(item: &Item, refused: &Refusal) -> Option<Deed> {
    let id = encode(item.id.as_str());
    match (item.kind.as_str(), refused) {
        ("Server", Refusal::Locked { .. }) => {
            let permission = "os_compute_api:os-lock-server:unlock";
            let path = format!("/servers/{id}/action");
            Some(Deed::new(Method::POST, path, json!({ "unlock": null }), permission))
        }
        // Dissolves an attachment that outlived its server; cinder refuses if the server is there.
        ("Volume", Refusal::Blocked { .. }) => item.attribute(ATTACHMENT).map(|attachment| {
            let body = json!({ "os-detach": { "attachment_id": attachment } });
            let permission = "volume_extension:volume_actions:detach";
            Deed::new(Method::POST, format!("/volumes/{id}/action"), body, permission)
        }),
        ("Image", Refusal::Locked { .. }) => {
            let body = json!([{ "op": "replace", "path": "/protected", "value": false }]);
            let change = Deed::new(Method::PATCH, format!("/images/{id}"), body, "modify_image");
            Some(Deed { content_type: IMAGE_PATCH, ..change })
        }
        _ => None,
    }
}

fn deletion(row: &Row, item: &Item) -> Result<Deed, Refusal> {
    let kind = table(CloudName::OpenStack).kind(row.kind);
    let permission = kind.and_then(|kind| kind.delete.first()).copied().unwrap_or_default();
    let id = item.id.as_str();
    if row.kind == "RouterInterface" {
        let router = item.attribute(ROUTER).ok_or_else(|| incomplete(row.list))?;
        let path = format!("/routers/{}/remove_router_interface", encode(router));
        return Ok(Deed::new(Method::PUT, path, json!({ "port_id": id }), permission));
    }
    Ok(Deed::new(Method::DELETE, row.delete.replace('$', &encode(id)), Value::Null, permission))
}

/// The refusal with what the item itself says about the blocker.
fn named(refusal: Refusal, item: &Item) -> Refusal {
    let Refusal::Blocked { code, by } = refusal else { return refusal };
    let (code, by) = match (item.kind.as_str(), item.attribute(STATE)) {
        ("LoadBalancer", Some(state)) if state.starts_with("PENDING_") => {
            let by = format!(
                "its provisioning status {state}, which only its provider, or the cloud's operator, can change"
            );
            ("LoadBalancerPending".to_owned(), by)
        }
        ("Volume", _) => match item.attribute("server") {
            Some(server) => (code, format!("server {server}")),
            None => (code, by),
        },
        _ => (code, by),
    };
    Refusal::Blocked { code, by }
}

/// Whether an address is in a network. What cannot be read is in none.
fn contains(cidr: &str, address: &str) -> bool {
    let Some((network, length)) = cidr.split_once('/') else { return false };
    let (Ok(network), Ok(address), Ok(length)) =
        (network.parse::<IpAddr>(), address.parse::<IpAddr>(), length.parse::<u32>())
    else {
        return false;
    };
    let (network, address, size) = match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => {
            (u128::from(network.to_bits()), u128::from(address.to_bits()), 32)
        }
        (IpAddr::V6(network), IpAddr::V6(address)) => (network.to_bits(), address.to_bits(), 128),
        _ => return false,
    };
    length <= size && (network ^ address).checked_shr(size - length).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use allotment_core::cleanup::{ItemId, KindName, Place};

    fn item(kind: &'static str) -> Item {
        Item::new(KindName::of(kind), Place::of("R1"), ItemId::new("x"))
    }

    #[test]
    fn only_routes_through_the_subnet_are_in_it() {
        assert!(contains("10.250.0.0/16", "10.250.0.10"));
        assert!(!contains("10.250.0.0/16", "10.251.0.10"));
        assert!(contains("0.0.0.0/0", "10.251.0.10"));
        assert!(contains("fd00::/8", "fd00::1") && !contains("fd00::/8", "fe80::1"));
        assert!(contains("::/0", "fe80::1"));
        assert!(!contains("10.0.0.0/8", "fd00::1") && !contains("x", "10.0.0.1"));
    }

    #[test]
    fn a_blocked_item_says_what_it_knows_of_its_blocker() {
        let blocked = || Refusal::Blocked { code: "HTTP409".to_owned(), by: "immutable".to_owned() };
        let balancer = named(blocked(), &item("LoadBalancer").with(STATE, "PENDING_CREATE"));
        assert_eq!(balancer.code(), "LoadBalancerPending");
        assert!(balancer.blocked_by().unwrap().contains("PENDING_CREATE"));
        let volume = named(blocked(), &item("Volume").with("server", "s-1"));
        assert_eq!(volume.blocked_by(), Some("server s-1"));
        assert_eq!(named(blocked(), &item("Network")), blocked());
    }

    #[test]
    fn a_port_of_another_project_is_named_as_such() {
        let body =
            json!({ "ports": [{ "id": "a", "project_id": "own" }, { "id": "b", "project_id": "theirs" }] });
        assert_eq!(ports(&body, "own").unwrap(), "ports a, b of another project, theirs");
        assert_eq!(ports(&json!({ "ports": [] }), "own"), None);
    }

    #[test]
    fn what_is_in_the_way_is_removed_with_a_permission_of_the_table() {
        let blocked = Refusal::Blocked { code: "badRequest".to_owned(), by: String::new() };
        let locked = Refusal::Locked { code: "forbidden".to_owned(), by: String::new() };
        assert!(remedy(&item("Volume"), &blocked).is_none(), "a snapshot, or nothing that we know");
        assert!(remedy(&item("Network"), &blocked).is_none());
        let cases = [
            (item("Volume").with(ATTACHMENT, "a"), &blocked),
            (item("Image"), &locked),
            (item("Server"), &locked),
        ];
        for (item, refused) in cases {
            let deed = remedy(&item, refused).unwrap();
            let kind = table(CloudName::OpenStack).kind(item.kind.as_str()).unwrap();
            assert!(kind.delete.contains(&deed.permission), "{}: {}", kind.name, deed.permission);
        }
        assert!(deletion(rows::find("RouterInterface").unwrap(), &item("RouterInterface")).is_err());
    }

    #[test]
    fn a_volume_is_deleted_without_its_snapshots() {
        let path = deletion(rows::find("Volume").unwrap(), &item("Volume")).unwrap().path;
        assert_eq!(path, "/volumes/x", "a snapshot that stays would go with it");
    }
}
