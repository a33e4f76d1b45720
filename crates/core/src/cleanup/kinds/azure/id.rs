//! Ids of Azure, and where Gardener's infrastructureConfig names some.

use serde_json::Value;

/// The form in which an id of Azure is compared: in lower case and without the subscription, since Azure ignores the case
/// and an infrastructureConfig names no subscription. None for anything that is no id of Azure.
///
/// ```
/// use allotment_core::cleanup::kinds::azure_id;
///
/// assert_eq!(azure_id("/subscriptions/1/resourceGroups/My-Net").as_deref(), Some("resourcegroups/my-net"));
/// assert_eq!(azure_id("vpc-1"), None);
/// ```
pub fn canonical_id(id: &str) -> Option<String> {
    let lower = id.trim_matches('/').to_lowercase();
    let relative = match lower.strip_prefix("subscriptions/") {
        Some(rest) => rest.split_once('/').map(|(_, relative)| relative.to_owned())?,
        None => lower,
    };
    (relative.starts_with("resourcegroups/") || relative.starts_with("providers/")).then_some(relative)
}

/// The holders of an id, from the resource group inwards: the group of a resource, the network of a subnet.
pub(in crate::cleanup) fn holders(canonical: &str) -> Vec<String> {
    let segments: Vec<&str> = canonical.split('/').collect();
    let ["resourcegroups", group, "providers", namespace, path @ ..] = segments.as_slice() else {
        return Vec::new();
    };
    let group = format!("resourcegroups/{group}");
    // Types and names take turns; the last pair is the item itself.
    let parents = (2..path.len().saturating_sub(1)).step_by(2);
    let parents = parents.map(|end| format!("{group}/providers/{namespace}/{}", path[..end].join("/")));
    std::iter::once(group.clone()).chain(parents).collect()
}

/// The ids that an infrastructureConfig names by a name and a resource group.
pub(in crate::cleanup) fn existing(config: &Value) -> Vec<String> {
    let text = |value: &Value, pointer: &str| {
        value.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let named = |value: &Value, kind: &str| {
        let (name, group) = (text(value, "/name")?, text(value, "/resourceGroup")?);
        Some(format!("resourcegroups/{group}/providers/{kind}/{name}"))
    };
    let at = |value: &Value, pointer: &str, kind: &str| value.pointer(pointer).and_then(|it| named(it, kind));
    let addresses = |value: &Value| -> Vec<String> {
        let list = value.pointer("/natGateway/ipAddresses").and_then(Value::as_array);
        list.into_iter()
            .flatten()
            .filter_map(|address| named(address, "microsoft.network/publicipaddresses"))
            .collect()
    };
    let mut ids = Vec::new();
    ids.extend(text(config, "/resourceGroup/name").map(|group| format!("resourcegroups/{group}")));
    ids.extend(at(config, "/identity", "microsoft.managedidentity/userassignedidentities"));
    if let Some(network) = at(config, "/networks/vnet", "microsoft.network/virtualnetworks") {
        ids.extend(text(config, "/networks/subnet/name").map(|name| format!("{network}/subnets/{name}")));
        ids.push(network);
    }
    let networks = config.pointer("/networks").into_iter();
    let zones = config.pointer("/networks/zones").and_then(Value::as_array).into_iter().flatten();
    ids.extend(networks.chain(zones).flat_map(addresses));
    ids
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ids_are_compared_without_case_and_subscription() {
        let full = "/subscriptions/A-1/resourceGroups/My-Net/providers/Microsoft.Network/virtualNetworks/V";
        let canonical = "resourcegroups/my-net/providers/microsoft.network/virtualnetworks/v";
        assert_eq!(canonical_id(full).as_deref(), Some(canonical));
        assert_eq!(canonical_id(canonical).as_deref(), Some(canonical));
        let lock = "/subscriptions/a/providers/Microsoft.Authorization/locks/L";
        assert_eq!(canonical_id(lock).as_deref(), Some("providers/microsoft.authorization/locks/l"));
        for other in
            ["vpc-1", "arn:aws:elasticloadbalancing:eu-1:1:loadbalancer/app/a/b", "", "/subscriptions/a"]
        {
            assert_eq!(canonical_id(other), None, "{other}");
        }
    }

    #[test]
    fn an_item_is_in_its_group_and_in_its_parents() {
        let subnet = "resourcegroups/g/providers/microsoft.network/virtualnetworks/v/subnets/s";
        let network = "resourcegroups/g/providers/microsoft.network/virtualnetworks/v";
        assert_eq!(holders(subnet), ["resourcegroups/g", network]);
        assert_eq!(holders(network), ["resourcegroups/g"]);
        assert_eq!(holders("resourcegroups/g"), [] as [&str; 0]);
        assert_eq!(holders("providers/microsoft.authorization/locks/l"), [] as [&str; 0]);
    }

    #[test]
    fn everything_that_a_shoot_found_is_named() {
        let config = json!({
            "resourceGroup": { "name": "old" },
            "identity": { "name": "i", "resourceGroup": "ids" },
            "networks": {
                "vnet": { "name": "V", "resourceGroup": "Net" },
                "subnet": { "name": "nodes" },
                "natGateway": { "ipAddresses": [{ "name": "a", "resourceGroup": "ips" }] },
                "zones": [{ "natGateway": { "ipAddresses": [{ "name": "b", "resourceGroup": "ips" }] } }],
            },
        });
        let network = "resourcegroups/Net/providers/microsoft.network/virtualnetworks/V";
        assert_eq!(
            existing(&config),
            [
                "resourcegroups/old".to_owned(),
                "resourcegroups/ids/providers/microsoft.managedidentity/userassignedidentities/i".to_owned(),
                format!("{network}/subnets/nodes"),
                network.to_owned(),
                "resourcegroups/ips/providers/microsoft.network/publicipaddresses/a".to_owned(),
                "resourcegroups/ips/providers/microsoft.network/publicipaddresses/b".to_owned(),
            ]
        );
        let own = json!({ "networks": { "vnet": { "cidr": "10.0.0.0/8" }, "workers": "10.0.0.0/16" } });
        assert_eq!(existing(&own), [] as [&str; 0]);
    }
}
