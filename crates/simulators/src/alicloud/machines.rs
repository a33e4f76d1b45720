//! Instances, associations, protections and rules.

use super::{
    access::Call,
    account::{Resource, State},
    answers::{Outcome, Refused, not_found, refuse},
    creation::put,
    parameters::Parameters,
};
use serde_json::{Value, json};

/// Every call that neither makes, lists nor deletes.
pub(super) fn other(state: &mut State, call: &Call, made: &mut u64) -> Outcome {
    let parameters = &call.parameters;
    match call.action.as_str() {
        "RunInstances" => run(state, parameters, made),
        "AllocateDedicatedHosts" => host(state, parameters, made),
        "AuthorizeSecurityGroup" => rule(state, parameters, "ingress", made),
        "AuthorizeSecurityGroupEgress" => rule(state, parameters, "egress", made),
        "RevokeSecurityGroup" => revoke(state, parameters, "ingress"),
        "RevokeSecurityGroupEgress" => revoke(state, parameters, "egress"),
        "AttachDisk" => attach(state, parameters, "DiskId", "In_use"),
        "AttachNetworkInterface" => attach(state, parameters, "NetworkInterfaceId", "InUse"),
        "AssociateEipAddress" => associate_address(state, parameters),
        "UnassociateEipAddress" => unassociate_address(state, parameters),
        "AssociateRouteTable" => members(state, parameters, "RouteTableId", "VSwitchId", true),
        "UnassociateRouteTable" => members(state, parameters, "RouteTableId", "VSwitchId", false),
        "AssociateNetworkAcl" => members(state, parameters, "NetworkAclId", "Resource.1.ResourceId", true),
        "UnassociateNetworkAcl" => members(state, parameters, "NetworkAclId", "Resource.1.ResourceId", false),
        "AssociateRouteTablesWithVpcGatewayEndpoint" => {
            members(state, parameters, "EndpointId", "RouteTableIds.1", true)
        }
        "DissociateRouteTablesFromVpcGatewayEndpoint" => {
            members(state, parameters, "EndpointId", "RouteTableIds.1", false)
        }
        "AddServersToServerGroup" | "GetJobStatus" => Ok(json!({ "Status": "Succeeded" })),
        _ => change(state, call),
    }
}

/// Calls that change one field.
fn change(state: &mut State, call: &Call) -> Outcome {
    let parameters = &call.parameters;
    let named = |name: &str| parameters.get(name).unwrap_or_default().to_owned();
    let (id, field, value): (String, &str, Value) = match call.action.as_str() {
        "ModifyInstanceAttribute" => {
            (named("InstanceId"), "DeletionProtection", json!(parameters.is("DeletionProtection")))
        }
        "DeletionProtection" => {
            (named("InstanceId"), "DeletionProtection", json!(parameters.is("ProtectionEnable")))
        }
        "SetLoadBalancerDeleteProtection" => {
            (named("LoadBalancerId"), "DeleteProtection", json!(named("DeleteProtection")))
        }
        "SetLoadBalancerModificationProtection" => {
            let status = named("ModificationProtectionStatus");
            (named("LoadBalancerId"), "ModificationProtectionStatus", json!(status))
        }
        "UpdateLoadBalancerProtection" if parameters.get("DeletionProtectionEnabled").is_some() => {
            let enabled = parameters.is("DeletionProtectionEnabled");
            (named("LoadBalancerId"), "DeletionProtectionConfig", json!({ "Enabled": enabled }))
        }
        "UpdateLoadBalancerProtection" => {
            let status = named("ModificationProtectionStatus");
            (named("LoadBalancerId"), "ModificationProtectionConfig", json!({ "Status": status }))
        }
        "SetDeletionProtection" => {
            (named("StackId"), "DeletionProtection", json!(named("DeletionProtection")))
        }
        "DeactivateRouterInterface" => (named("RouterInterfaceId"), "Status", json!("Inactive")),
        "AttachDhcpOptionsSetToVpc" => (named("VpcId"), "DhcpOptionsSetId", json!(named("DhcpOptionsSetId"))),
        "AddCommonBandwidthPackageIp" => {
            (named("IpInstanceId"), "BandwidthPackageId", json!(named("BandwidthPackageId")))
        }
        "RemoveCommonBandwidthPackageIp" => (named("IpInstanceId"), "BandwidthPackageId", json!("")),
        action => {
            let message = format!("Specified api is not found: {action}");
            return Err(refuse(404, "InvalidAction.NotFound", &message));
        }
    };
    let resource = state.any(&id).ok_or_else(|| not_found("Resource"))?;
    resource.set(field, value);
    Ok(json!({}))
}

/// An instance with its system disk, data disks and primary interface.
struct Wanted<'a> {
    region: &'a str,
    vswitch: &'a str,
    group: &'a str,
    fields: Value,
    /// For each data disk, whether it goes with the instance.
    disks: Vec<bool>,
}

fn launch(state: &mut State, wanted: Wanted<'_>, made: &mut u64) -> String {
    let Wanted { region, vswitch, group, fields, disks } = wanted;
    let vpc = state.find("VSwitch", vswitch).map(|found| found.text("VpcId").to_owned());
    let mut fields = fields;
    fields["Status"] = json!("Running");
    fields["VpcAttributes"] = json!({ "VpcId": vpc, "VSwitchId": vswitch });
    let id = put(state, "Instance", region, fields, made);
    let disk = |kind: &str, goes: bool| {
        json!({ "Status": "In_use", "Type": kind, "DiskChargeType": "PostPaid", "InstanceId": id, "DeleteWithInstance": goes,
            "Tags": { "Tag": [] } })
    };
    put(state, "Disk", region, disk("system", true), made);
    for goes in disks {
        put(state, "Disk", region, disk("data", goes), made);
    }
    let interface = json!({ "Status": "InUse", "Type": "Primary", "InstanceId": id, "VSwitchId": vswitch, "VpcId": vpc,
        "ServiceManaged": false, "SecurityGroupIds": { "SecurityGroupId": [group] }, "Tags": { "Tag": [] } });
    put(state, "NetworkInterface", region, interface, made);
    id
}

fn run(state: &mut State, parameters: &Parameters, made: &mut u64) -> Outcome {
    let named = |name: &str| parameters.get(name).unwrap_or_default();
    if state.find("VSwitch", named("VSwitchId")).is_none() {
        return Err(not_found("VSwitch"));
    }
    let disks: Vec<bool> = (1..)
        .map_while(|number| parameters.get(&format!("DataDisk.{number}.DeleteWithInstance")))
        .map(|goes| goes.eq_ignore_ascii_case("true"))
        .collect();
    let tags: Vec<Value> =
        parameters.tags().iter().map(|(key, value)| json!({ "TagKey": key, "TagValue": value })).collect();
    let mut ids = Vec::new();
    for _ in 0..parameters.number("Amount").unwrap_or(1) {
        let fields = json!({
            "InstanceName": named("InstanceName"),
            "KeyPairName": named("KeyPairName"),
            "DeploymentSetId": named("DeploymentSetId"),
            "InstanceChargeType": parameters.get("InstanceChargeType").unwrap_or("PostPaid"),
            "DeletionProtection": parameters.is("DeletionProtection"),
            "Tags": { "Tag": tags },
        });
        let (region, vswitch, group) = (named("RegionId"), named("VSwitchId"), named("SecurityGroupId"));
        ids.push(launch(state, Wanted { region, vswitch, group, fields, disks: disks.clone() }, made));
    }
    Ok(json!({ "InstanceIdSets": { "InstanceIdSet": ids } }))
}

/// The instance that a group starts.
pub(super) fn launch_for_group(
    state: &mut State,
    group: &str,
    region: &str,
    parameters: &Parameters,
    made: &mut u64,
) {
    let named = |name: &str| parameters.get(name).unwrap_or_default();
    let fields = json!({ "InstanceChargeType": "PostPaid", "AutoProvisioningGroupId": group, "DeletionProtection": false,
        "InstanceName": "of-group", "Tags": { "Tag": [] } });
    let (vswitch, security_group) =
        (named("LaunchTemplateConfig.1.VSwitchId"), named("LaunchConfiguration.SecurityGroupId"));
    launch(state, Wanted { region, vswitch, group: security_group, fields, disks: Vec::new() }, made);
}

fn host(state: &mut State, parameters: &Parameters, made: &mut u64) -> Outcome {
    let fields = json!({ "Status": "Available", "DedicatedHostName": parameters.get("DedicatedHostName"), "DedicatedHostOwnerId": state.id,
        "ChargeType": parameters.get("ChargeType").unwrap_or("PostPaid"), "Tags": { "Tag": [] } });
    let region = parameters.region().unwrap_or_default().to_owned();
    let id = put(state, "DedicatedHost", &region, fields, made);
    Ok(json!({ "DedicatedHostIdSets": { "DedicatedHostId": [id] } }))
}

fn rule(state: &mut State, parameters: &Parameters, direction: &str, made: &mut u64) -> Outcome {
    let group = parameters.get("SecurityGroupId").unwrap_or_default().to_owned();
    let region =
        state.find("SecurityGroup", &group).ok_or_else(|| not_found("SecurityGroup"))?.region.clone();
    let named = |name: &str| parameters.get(&format!("Permissions.1.{name}")).unwrap_or_default();
    let fields = json!({
        "Direction": direction,
        "SecurityGroupId": group,
        "IpProtocol": named("IpProtocol"),
        "PortRange": named("PortRange"),
        "SourceGroupId": named("SourceGroupId"),
        "DestGroupId": named("DestGroupId"),
        "SourceCidrIp": named("SourceCidrIp"),
        "Policy": "Accept",
    });
    put(state, "SecurityGroupRule", &region, fields, made);
    Ok(json!({}))
}

fn revoke(state: &mut State, parameters: &Parameters, direction: &str) -> Outcome {
    let ids = parameters.numbered("SecurityGroupRuleId");
    let group = parameters.get("SecurityGroupId").unwrap_or_default();
    let is_named = |rule: &Resource| {
        rule.kind == "SecurityGroupRule"
            && ids.contains(&rule.id)
            && rule.text("Direction") == direction
            && rule.text("SecurityGroupId") == group
    };
    if !state.resources.iter().any(is_named) {
        return Err(refuse(404, "InvalidSecurityGroupRuleId.NotFound", "The rule does not exist."));
    }
    state.remove(is_named);
    Ok(json!({}))
}

fn attach(state: &mut State, parameters: &Parameters, name: &str, status: &str) -> Outcome {
    let instance = parameters.get("InstanceId").unwrap_or_default().to_owned();
    state.find("Instance", &instance).ok_or_else(|| not_found("Instance"))?;
    let part = state.any(parameters.get(name).unwrap_or_default()).ok_or_else(|| not_found("Part"))?;
    part.set("InstanceId", instance);
    part.set("Status", status);
    Ok(json!({}))
}

fn associate_address(state: &mut State, parameters: &Parameters) -> Outcome {
    let address = address(state, parameters)?;
    address.set("InstanceId", parameters.get("InstanceId").unwrap_or_default());
    address.set("InstanceType", parameters.get("InstanceType").unwrap_or_default());
    address.set("Status", "InUse");
    Ok(json!({}))
}

/// Refused while an entry of a gateway uses the address, unless it is forced.
fn unassociate_address(state: &mut State, parameters: &Parameters) -> Outcome {
    let ip = address(state, parameters)?.text("IpAddress").to_owned();
    let uses = |entry: &&Resource| [entry.text("SnatIp"), entry.text("ExternalIp")].contains(&ip.as_str());
    let is_used = state.resources.iter().any(|entry| uses(&entry));
    if is_used && !parameters.is("Force") {
        return Err(refuse(
            400,
            "DependencyViolation.SnatEntry",
            "The address is used by entries of a NAT gateway.",
        ));
    }
    let address = address(state, parameters)?;
    for field in ["InstanceId", "InstanceType"] {
        address.set(field, "");
    }
    address.set("Status", "Available");
    Ok(json!({}))
}

fn address<'a>(state: &'a mut State, parameters: &Parameters) -> Result<&'a mut Resource, Refused> {
    let id = parameters.get("AllocationId").unwrap_or_default().to_owned();
    state.find_mut("ElasticIp", &id).ok_or_else(|| not_found("Allocation"))
}

/// Adds or removes what is associated with a route table, a network ACL or an endpoint.
fn members(state: &mut State, parameters: &Parameters, holder: &str, member: &str, adds: bool) -> Outcome {
    let id = parameters.get(holder).unwrap_or_default().to_owned();
    let member = parameters.get(member).unwrap_or_default().to_owned();
    let resource = state.any(&id).ok_or_else(|| not_found("Holder"))?;
    let (field, path) = match resource.kind {
        "RouteTable" => ("VSwitchIds", "VSwitchIds/VSwitchId"),
        "NetworkAcl" => ("Resources", "Resources/Resource/ResourceId"),
        _ => ("AssociatedRouteTables", "AssociatedRouteTables"),
    };
    let mut members: Vec<String> = resource.texts(path).into_iter().map(str::to_owned).collect();
    members.retain(|known| *known != member);
    if adds {
        members.push(member);
    }
    let shown = match field {
        "VSwitchIds" => json!({ "VSwitchId": members }),
        "Resources" => {
            let resources: Vec<Value> =
                members.iter().map(|id| json!({ "ResourceId": id, "ResourceType": "VSwitch" })).collect();
            json!({ "Resource": resources })
        }
        _ => json!(members),
    };
    resource.set(field, shown);
    Ok(json!({}))
}
