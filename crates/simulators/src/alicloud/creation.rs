//! How things come into being.

use super::{
    account::{Resource, State},
    answers::{Outcome, Refused, not_found, refuse},
    machines,
    parameters::Parameters,
    specs::{self, Spec, Tags},
};
use serde_json::{Map, Value, json};

/// The items that every region begins with.
pub(super) fn default_vpc(state: &mut State, region: &str, made: &mut u64) {
    let given = |mut fields: Value| {
        fields["Given"] = json!(true);
        fields
    };
    let owner = state.id.clone();
    let fields = given(
        json!({ "Status": "Available", "IsDefault": true, "OwnerId": owner, "VRouterId": "vrt-default" }),
    );
    let vpc = put(state, "Vpc", region, fields, made);
    let fields = json!({ "Status": "Available", "IsDefault": true, "VpcId": vpc, "OwnerId": owner });
    put(state, "VSwitch", region, given(fields), made);
    let fields = json!({ "Status": "Available", "RouteTableType": "System", "VpcId": vpc, "VSwitchIds": { "VSwitchId": [] } });
    put(state, "RouteTable", region, given(fields), made);
}

/// Adds an item with a new id.
pub(super) fn put(
    state: &mut State,
    kind: &'static str,
    region: &str,
    mut fields: Value,
    made: &mut u64,
) -> String {
    *made += 1;
    let spec = specs::of(kind);
    let id = format!("{}{:08x}{made:04}", spec.map_or("x-", |spec| spec.prefix), 0xa1b2_c3d4_u32);
    let field = spec.map_or("Id", |spec| spec.id);
    if fields.get(field).is_none() {
        fields[field] = json!(id);
    }
    let id = fields[field].as_str().unwrap_or_default().to_owned();
    fields["RegionId"] = json!(region);
    state.resources.push(Resource { kind, region: region.to_owned(), id: id.clone(), fields, due: None });
    id
}

/// Answers a creation.
pub(super) fn create(
    state: &mut State,
    spec: &'static Spec,
    parameters: &Parameters,
    made: &mut u64,
) -> Outcome {
    let Some(region) = region_of(state, parameters) else {
        return Err(refuse(
            400,
            "MissingParameter",
            "The input parameter RegionId is mandatory for this request.",
        ));
    };
    let mut fields = fields(spec, parameters);
    let mut answer = json!({});
    before(state, spec.kind, parameters, &mut fields)?;
    let id = put(state, spec.kind, &region, fields, made);
    answer[spec.answer] = json!(id);
    after(state, spec.kind, &id, &region, parameters, &mut answer, made);
    Ok(answer)
}

/// The region of the call, else that of something that it names.
fn region_of(state: &State, parameters: &Parameters) -> Option<String> {
    let named =
        || parameters.0.values().find_map(|id| state.resources.iter().find(|resource| resource.id == *id));
    parameters.region().map(str::to_owned).or_else(|| named().map(|resource| resource.region.clone()))
}

fn fields(spec: &Spec, parameters: &Parameters) -> Value {
    let mut fields = Map::new();
    for (name, value) in spec.fixed {
        fields.insert((*name).to_owned(), json!(value));
    }
    for copied in spec.copy {
        let (from, to) = copied.split_once('=').unwrap_or((copied, copied));
        if let Some(value) = parameters.value(from) {
            fields.insert(to.to_owned(), value);
        }
    }
    let tags = parameters.tags();
    let pairs = |key: &str, value: &str| -> Vec<Value> {
        tags.iter().map(|(name, text)| json!({ key: name, value: text })).collect()
    };
    let shown = match spec.tags {
        Tags::Long => Some(json!({ "Tag": pairs("TagKey", "TagValue") })),
        Tags::Short => Some(json!({ "Tag": pairs("Key", "Value") })),
        Tags::Plain => Some(json!(pairs("Key", "Value"))),
        Tags::None => None,
    };
    fields.extend(shown.map(|shown| ("Tags".to_owned(), shown)));
    Value::Object(fields)
}

/// Fields that depend on others, and what has to be there.
fn before(state: &State, kind: &str, parameters: &Parameters, fields: &mut Value) -> Result<(), Refused> {
    let vpc_of = |vswitch: &str| state.find("VSwitch", vswitch).map(|found| found.text("VpcId").to_owned());
    for (parameter, needed) in
        [("VpcId", "Vpc"), ("VSwitchId", "VSwitch"), ("DiskId", "Disk"), ("VpnGatewayId", "VpnGateway")]
    {
        if parameters.get(parameter).is_some_and(|id| state.find(needed, id).is_none()) {
            return Err(not_found(needed));
        }
    }
    if let Some(vpc) = parameters.get("VSwitchId").and_then(vpc_of) {
        fields["VpcId"] = json!(vpc);
    }
    belongs(state, kind, parameters, fields)?;
    let mut set = |name: &str, value: Value| fields[name] = value;
    match kind {
        "Vpc" | "VSwitch" => {
            set("IsDefault", json!(false));
            set("OwnerId", json!(state.id));
            set("VRouterId", json!("vrt-of-vpc"));
        }
        "RouteTable" => set("VSwitchIds", json!({ "VSwitchId": [] })),
        "NetworkAcl" => set("Resources", json!({ "Resource": [] })),
        "GatewayEndpoint" => set("AssociatedRouteTables", json!([])),
        "ElasticIp" => {
            set("IpAddress", json!(format!("47.254.{}.1", state.of("ElasticIp").count())));
            set("ServiceManaged", json!(0));
            set("DeletionProtection", json!(false));
            if let Some(charge) = parameters.get("InstanceChargeType") {
                set("ChargeType", json!(charge));
            }
        }
        "BandwidthPackage" => set("DeletionProtection", json!(false)),
        "Image" => set("ImageOwnerId", json!(state.id)),
        "Disk" => set("DeleteWithInstance", json!(false)),
        "NetworkInterface" => {
            set("ServiceManaged", json!(false));
            set("SecurityGroupIds", json!({ "SecurityGroupId": [parameters.get("SecurityGroupId")] }));
        }
        "LoadBalancer" => {
            set("DeleteProtection", json!(parameters.get("DeleteProtection").unwrap_or("off")));
            let status = parameters.get("ModificationProtectionStatus").unwrap_or("NonProtection");
            set("ModificationProtectionStatus", json!(status));
        }
        "NetworkLoadBalancer" => {
            set(
                "DeletionProtectionConfig",
                json!({ "Enabled": parameters.is("DeletionProtectionConfig.Enabled") }),
            );
            let status = parameters.get("ModificationProtectionConfig.Status").unwrap_or("NonProtection");
            set("ModificationProtectionConfig", json!({ "Status": status }));
            set("LoadBalancerBillingConfig", json!({ "PayType": "PostPay" }));
        }
        "ServerGroup" => set("RelatedLoadBalancerIds", json!([])),
        _ => (),
    }
    Ok(())
}

/// The table of a route, and the gateway of an entry.
fn belongs(state: &State, kind: &str, parameters: &Parameters, fields: &mut Value) -> Result<(), Refused> {
    let mut set = |name: &str, value: Value| fields[name] = value;
    match kind {
        "RouteEntry" => {
            let table = state.find("RouteTable", parameters.get("RouteTableId").unwrap_or_default());
            let table = table.ok_or_else(|| not_found("RouteTable"))?;
            set("VpcId", json!(table.text("VpcId")));
            let hop = json!({ "NextHopId": parameters.get("NextHopId"), "NextHopType": parameters.get("NextHopType") });
            set("NextHops", json!({ "NextHop": [hop] }));
        }
        "SnatEntry" | "ForwardEntry" | "FullNatEntry" => {
            let table = ["SnatTableId", "ForwardTableId", "FullNatTableId"]
                .iter()
                .find_map(|name| parameters.get(name));
            let tables = [
                "SnatTableIds/SnatTableId",
                "ForwardTableIds/ForwardTableId",
                "FullNatTableIds/FullNatTableId",
            ];
            let holds = |nat: &&Resource| {
                tables.iter().any(|path| nat.texts(path).contains(&table.unwrap_or_default()))
            };
            let nat = state.of("NatGateway").find(holds).ok_or_else(|| not_found("SnatTable"))?;
            set("NatGatewayId", json!(nat.id));
        }
        _ => (),
    }
    Ok(())
}

/// What comes with it.
fn after(
    state: &mut State,
    kind: &str,
    id: &str,
    region: &str,
    parameters: &Parameters,
    answer: &mut Value,
    made: &mut u64,
) {
    match kind {
        "Vpc" => {
            let fields = json!({ "Status": "Available", "RouteTableType": "System", "VpcId": id, "VSwitchIds": { "VSwitchId": [] } });
            answer["RouteTableId"] = json!(put(state, "RouteTable", region, fields, made));
            answer["VRouterId"] = json!("vrt-of-vpc");
        }
        "NatGateway" => nat_gateway(state, id, region, parameters, answer, made),
        "VpnGateway" => {
            let vswitch = parameters.get("VSwitchId").unwrap_or_default().to_owned();
            managed_interface(state, region, id, &vswitch, made);
        }
        "NetworkLoadBalancer" => {
            let zones: Vec<String> = (1..)
                .map_while(|number| {
                    parameters.get(&format!("ZoneMappings.{number}.VSwitchId")).map(str::to_owned)
                })
                .collect();
            for vswitch in zones {
                managed_interface(state, region, id, &vswitch, made);
            }
        }
        "ElasticIp" => {
            answer["EipAddress"] =
                json!(state.find("ElasticIp", id).map(|eip| eip.text("IpAddress").to_owned()));
        }
        "SnapshotGroup" => {
            let instance = parameters.get("InstanceId").unwrap_or_default().to_owned();
            let disks: Vec<String> = state
                .of("Disk")
                .filter(|disk| disk.text("InstanceId") == instance)
                .map(|disk| disk.id.clone())
                .collect();
            for disk in disks {
                let fields = json!({ "Status": "accomplished", "SourceDiskId": disk, "SnapshotGroupId": id, "Tags": { "Tag": [] } });
                put(state, "Snapshot", region, fields, made);
            }
        }
        "Stack" => {
            let fields = json!({ "Status": "Available", "ImageName": "encrypted", "ImageOwnerAlias": "self", "StackId": id,
                "ImageOwnerId": state.id, "Tags": { "Tag": [] } });
            put(state, "Image", region, fields, made);
        }
        "AutoProvisioningGroup" => machines::launch_for_group(state, id, region, parameters, made),
        _ => (),
    }
}

/// The tables and the interface of a NAT gateway.
fn nat_gateway(
    state: &mut State,
    id: &str,
    region: &str,
    parameters: &Parameters,
    answer: &mut Value,
    made: &mut u64,
) {
    let is_private = parameters.get("NetworkType") == Some("intranet");
    let vswitch = parameters.get("VSwitchId").unwrap_or_default().to_owned();
    managed_interface(state, region, id, &vswitch, made);
    let tables =
        [("SnatTable", "stb", true), ("ForwardTable", "ftb", true), ("FullNatTable", "fulltb", is_private)];
    let Some(nat) = state.find_mut("NatGateway", id) else { return };
    for (table, prefix, has) in tables {
        let ids: Vec<String> = has.then(|| format!("{prefix}-{id}")).into_iter().collect();
        let shown = json!({ format!("{table}Id"): ids });
        answer[format!("{table}Ids")] = shown.clone();
        nat.set(&format!("{table}Ids"), shown);
    }
    nat.set("NatGatewayPrivateInfo", json!({ "VswitchId": vswitch }));
    nat.set("DeletionProtection", false);
}

/// An interface that a service of the cloud holds in a vSwitch.
fn managed_interface(state: &mut State, region: &str, holder: &str, vswitch: &str, made: &mut u64) {
    let vpc = state.find("VSwitch", vswitch).map(|found| found.text("VpcId").to_owned());
    let fields = json!({ "Status": "InUse", "Type": "Secondary", "ServiceManaged": true, "InstanceId": holder, "VSwitchId": vswitch,
        "VpcId": vpc, "SecurityGroupIds": { "SecurityGroupId": [] }, "Tags": { "Tag": [] } });
    put(state, "NetworkInterface", region, fields, made);
}
