//! What the cloud makes with an item, and removes with it.

use super::state::{Key, Project};
use serde_json::{Value, json};

impl Project {
    pub(crate) fn add_default_network(&mut self) {
        let network = Key::new("global", "networks", "default");
        self.put(network.clone(), json!({ "autoCreateSubnetworks": true }), None);
        self.make_with(&network);
        let url = self.url(&network.path());
        let tcp = |port: &str| json!([{ "IPProtocol": "tcp", "ports": [port] }]);
        let internal = json!([
            { "IPProtocol": "tcp", "ports": ["0-65535"] },
            { "IPProtocol": "udp", "ports": ["0-65535"] },
            { "IPProtocol": "icmp" },
        ]);
        let rules = [
            ("default-allow-icmp", "0.0.0.0/0", json!([{ "IPProtocol": "icmp" }])),
            ("default-allow-internal", "10.128.0.0/9", internal),
            ("default-allow-rdp", "0.0.0.0/0", tcp("3389")),
            ("default-allow-ssh", "0.0.0.0/0", tcp("22")),
        ];
        for (name, sources, allowed) in rules {
            let rule = json!({
                "network": url, "direction": "INGRESS", "priority": 65534, "disabled": false,
                "sourceRanges": [sources], "allowed": allowed, "logConfig": { "enable": false },
            });
            self.put(Key::new("global", "firewalls", name), rule, None);
        }
    }

    /// What comes with a new item.
    pub(crate) fn make_with(&mut self, key: &Key) {
        let Some(body) = self.resources.get(key).map(|resource| resource.body.clone()) else { return };
        match key.collection.as_str() {
            "networks" => self.make_with_network(key, &body),
            "subnetworks" => self.make_subnet_route(key, &body),
            "instances" => self.make_disks(key, &body),
            "instanceGroupManagers" => self.make_group(key, &body),
            "routers" => self.make_nat_addresses(key, &body),
            _ => (),
        }
    }

    fn make_with_network(&mut self, key: &Key, body: &Value) {
        let url = self.url(&key.path());
        let gateway = self.url("global/gateways/default-internet-gateway");
        let route = json!({ "network": url, "destRange": "0.0.0.0/0", "nextHopGateway": gateway, "routeType": "STATIC" });
        let name = format!("default-route-{}", self.next());
        // Anybody can delete it; it goes with the network all the same.
        self.put(Key::new("global", "routes", &name), route, Some(key.clone()));
        if body.get("autoCreateSubnetworks") != Some(&json!(true)) {
            return;
        }
        for (number, region) in self.regions.clone().into_iter().enumerate() {
            let subnet = Key::new(&format!("regions/{region}"), "subnetworks", &key.name);
            let cidr = format!("10.{}.0.0/20", 128 + number);
            self.put(subnet.clone(), json!({ "network": url, "ipCidrRange": cidr }), Some(key.clone()));
            self.make_with(&subnet);
        }
    }

    fn make_subnet_route(&mut self, key: &Key, body: &Value) {
        let route = json!({
            "network": body["network"], "destRange": body["ipCidrRange"], "nextHopNetwork": body["network"],
            "routeType": "SUBNET",
        });
        let name = format!("default-route-r-{}", self.next());
        self.put(Key::new("global", "routes", &name), route, Some(key.clone()));
    }

    fn make_disks(&mut self, key: &Key, body: &Value) {
        let mut disks = body.get("disks").and_then(Value::as_array).cloned().unwrap_or_default();
        for (number, disk) in disks.iter_mut().enumerate() {
            if disk.get("source").is_some() {
                continue;
            }
            let name = if number == 0 { key.name.clone() } else { format!("{}-{number}", key.name) };
            let made = Key::new(&key.scope, "disks", &name);
            let size = disk.pointer("/initializeParams/diskSizeGb").cloned().unwrap_or_else(|| json!("10"));
            let kind = self.url(&format!("{}/diskTypes/pd-ssd", key.scope));
            self.put(made.clone(), json!({ "sizeGb": size, "type": kind }), None);
            disk["source"] = json!(self.url(&made.path()));
        }
        if let Some(resource) = self.resources.get_mut(key) {
            resource.body["disks"] = json!(disks);
        }
    }

    /// The group of a manager, and its machines.
    fn make_group(&mut self, key: &Key, body: &Value) {
        let group = Key::new(&key.scope, "instanceGroups", &key.name);
        let size = body.get("targetSize").and_then(Value::as_u64).unwrap_or_default();
        self.put(group, json!({ "size": size }), Some(key.clone()));
        let zone = match key.scope.split_once('/') {
            Some(("regions", region)) => format!("zones/{region}-b"),
            _ => key.scope.clone(),
        };
        let template = body.get("instanceTemplate").and_then(Value::as_str).unwrap_or_default().to_owned();
        let properties = self
            .resources
            .values()
            .find(|resource| resource.body["selfLink"] == json!(template))
            .map(|resource| resource.body["properties"].clone());
        for number in 0..size {
            let machine = Key::new(&zone, "instances", &format!("{}-{number}", key.name));
            let interfaces = properties.as_ref().map(|found| found["networkInterfaces"].clone());
            let disks = json!([{ "boot": true, "autoDelete": true }]);
            self.put(machine.clone(), json!({ "networkInterfaces": interfaces, "disks": disks }), None);
            self.make_with(&machine);
        }
    }

    fn make_nat_addresses(&mut self, key: &Key, body: &Value) {
        let nats = body.get("nats").and_then(Value::as_array).cloned().unwrap_or_default();
        for nat in nats.iter().filter(|nat| nat["natIpAllocateOption"] == json!("AUTO_ONLY")) {
            let name = format!("nat-auto-ip-{}-{}", self.next(), nat["name"].as_str().unwrap_or_default());
            let users = [self.url(&key.path())];
            let address = json!({
                "purpose": "NAT_AUTO", "status": "IN_USE", "addressType": "EXTERNAL", "users": users,
            });
            self.put(Key::new(&key.scope, "addresses", &name), address, Some(key.clone()));
        }
    }

    /// Removes an item, and everything that goes with it.
    pub(crate) fn remove(&mut self, key: &Key) {
        let Some(resource) = self.resources.remove(key) else { return };
        if key.collection == "instances" {
            let disks = resource.body.get("disks").and_then(Value::as_array).cloned().unwrap_or_default();
            let auto = disks.iter().filter(|disk| disk["autoDelete"] == json!(true));
            let urls: Vec<Value> = auto.map(|disk| disk["source"].clone()).collect();
            self.resources.retain(|_, resource| !urls.contains(&resource.body["selfLink"]));
        }
        if key.collection == "instanceGroupManagers" {
            let prefix = format!("{}-", key.name);
            let machines = self
                .resources
                .keys()
                .filter(|other| other.collection == "instances" && other.name.starts_with(&prefix));
            for machine in machines.cloned().collect::<Vec<_>>() {
                self.remove(&machine);
            }
        }
        let parts = self.resources.iter().filter(|(_, resource)| resource.part_of.as_ref() == Some(key));
        for part in parts.map(|(part, _)| part.clone()).collect::<Vec<_>>() {
            self.remove(&part);
        }
    }
}
