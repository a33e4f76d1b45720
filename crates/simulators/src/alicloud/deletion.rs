//! Deletions: refused, slow, and with what goes along.

use super::{
    account::{Resource, Slow, State},
    answers::{Outcome, Refused, not_found, refuse},
    parameters::Parameters,
    specs::{self, Spec},
};
use serde_json::{Value, json};

/// Kinds whose deletion takes time.
const SLOW: &[&str] = &[
    "Instance",
    "NatGateway",
    "NetworkLoadBalancer",
    "Stack",
    "VpnGateway",
    "AutoProvisioningGroup",
    "SnatEntry",
];

/// What keeps an item: its kind, the kind of the other, where that names it, and the code.
const HOLD: &[(&str, &str, &str, &str)] = &[
    ("Vpc", "VSwitch", "VpcId", "DependencyViolation.VSwitch"),
    ("Vpc", "SecurityGroup", "VpcId", "DependencyViolation.SecurityGroup"),
    ("Vpc", "NatGateway", "VpcId", "DependencyViolation.NatGateway"),
    ("Vpc", "RouteEntry", "VpcId", "DependencyViolation.RouteEntry"),
    ("Vpc", "Ipv6Gateway", "VpcId", "DependencyViolation.Ipv6Gateway"),
    ("Vpc", "Ipv4Gateway", "VpcId", "DependencyViolation.Ipv4Gateway"),
    ("Vpc", "NetworkAcl", "VpcId", "DependencyViolation.NetworkAcl"),
    ("Vpc", "GatewayEndpoint", "VpcId", "DependencyViolation.GatewayEndpoint"),
    ("VSwitch", "NetworkInterface", "VSwitchId", "DependencyViolation.NetworkInterface"),
    ("VSwitch", "NatGateway", "NatGatewayPrivateInfo/VswitchId", "DependencyViolation.EnhancedNatgw"),
    ("VSwitch", "SnatEntry", "SourceVSwitchId", "DependencyViolation.SnatEntry"),
    ("VSwitch", "LoadBalancer", "VSwitchId", "DependencyViolation.SLB"),
    ("VSwitch", "HaVip", "VSwitchId", "DependencyViolation.HaVip"),
    ("VSwitch", "NetworkAcl", "Resources/Resource/ResourceId", "DependencyViolation.NetworkAcl"),
    ("VSwitch", "RouteTable", "VSwitchIds/VSwitchId", "DependencyViolation.RouteTable"),
    ("SecurityGroup", "NetworkInterface", "SecurityGroupIds/SecurityGroupId", "DependencyViolation"),
    ("Instance", "RouteEntry", "NextHopId", "DependencyViolation.RouteEntry"),
    ("NatGateway", "RouteEntry", "NextHopId", "DependencyViolation.RouteEntry"),
    ("Ipv6Gateway", "RouteEntry", "NextHopId", "DependencyViolation.RouteEntry"),
    ("HaVip", "RouteEntry", "NextHopId", "DependencyViolation.RouteEntry"),
    ("Snapshot", "Image", "SnapshotId", "SnapshotCreatedImage"),
    ("ServerGroup", "ServerGroup", "RelatedLoadBalancerIds", "ResourceInUse.serverGroup"),
    ("KeyPair", "Instance", "KeyPairName", "DependencyViolation.KeyPair"),
    ("DeploymentSet", "Instance", "DeploymentSetId", "DependencyViolation.Instance"),
    ("VpnGateway", "VpnConnection", "VpnGatewayId", "DependencyViolation.VpnConnection"),
    ("VpnGateway", "SslVpnServer", "VpnGatewayId", "DependencyViolation.SslVpnServer"),
    ("VpnGateway", "IpsecServer", "VpnGatewayId", "DependencyViolation.IpsecServer"),
    ("CustomerGateway", "VpnConnection", "CustomerGatewayId", "DependencyViolation.VpnConnection"),
    ("TrafficMirrorFilter", "TrafficMirrorSession", "TrafficMirrorFilterId", "DependencyViolation.Session"),
    ("DhcpOptionsSet", "Vpc", "DhcpOptionsSetId", "DependencyViolation.Vpc"),
];

/// Answers a deletion.
pub(super) fn delete(state: &mut State, spec: &'static Spec, parameters: &Parameters) -> Outcome {
    let named = parameters.get(spec.by).unwrap_or_default();
    let ids: Vec<String> = serde_json::from_str(named).unwrap_or_else(|_| vec![named.to_owned()]);
    for id in ids {
        let Some(resource) = state.find(spec.kind, &id) else { return Err(not_found(spec.kind)) };
        if resource.due.is_some() {
            continue;
        }
        is_free(resource, parameters)?;
        is_not_held(state, resource)?;
        let is_slow = SLOW.contains(&spec.kind) && !matches!(state.slow, Slow::Calls(0));
        if !is_slow {
            end(state, spec.kind, &id);
            continue;
        }
        let due = state.due();
        if let Some(resource) = state.find_mut(spec.kind, &id) {
            let before = resource.text(spec.state).to_owned();
            resource.set("Before", before);
            resource.set(spec.state, deleting(spec.kind));
            resource.due = Some(due);
        }
    }
    Ok(json!({ "JobId": "job-1" }))
}

fn deleting(kind: &str) -> &'static str {
    match kind {
        "Instance" => "Stopping",
        "Stack" => "DELETE_IN_PROGRESS",
        _ => "Deleting",
    }
}

/// Protections, prices and states.
fn is_free(resource: &Resource, parameters: &Parameters) -> Result<(), Refused> {
    let protected = resource.is("DeletionProtection")
        || resource.text("DeleteProtection") == "on"
        || resource.text("DeletionProtection") == "Enabled"
        || resource.fields.pointer("/DeletionProtectionConfig/Enabled") == Some(&json!(true));
    if protected {
        let message = "The operation is not allowed due to deletion protection.";
        return Err(refuse(403, "InvalidOperation.DeletionProtection", message));
    }
    let charges =
        ["InstanceChargeType", "ChargeType", "DiskChargeType", "PayType"].map(|field| resource.text(field));
    if charges.iter().any(|charge| ["PrePaid", "PrePay", "PREPAY"].contains(charge)) {
        let message = "The operation is not permitted due to charge type of the instance.";
        return Err(refuse(403, "ChargeTypeViolation", message));
    }
    let has = |path: &str| !resource.texts(path).is_empty();
    let state = |code: &str| {
        Err(refuse(400, code, "The current status of the resource does not support this operation."))
    };
    match resource.kind {
        "Instance" if resource.text("Status") == "Running" && !parameters.is("Force") => {
            state("IncorrectInstanceStatus")
        }
        "Disk" if resource.text("Status") == "In_use" => state("IncorrectDiskStatus"),
        "NetworkInterface" if resource.text("Status") == "InUse" => state("IncorrectEniStatus"),
        "ElasticIp" if !resource.text("InstanceId").is_empty() => state("IncorrectEipStatus"),
        "ElasticIp" if !resource.text("BandwidthPackageId").is_empty() => state("IncorrectEipStatus"),
        "RouterInterface" if resource.text("Status") == "Active" => state("IncorrectStatus.RouterInterface"),
        "RouteTable" if resource.text("RouteTableType") == "System" => {
            state("OperationDenied.SystemRouteTable")
        }
        "RouteTable" if has("VSwitchIds/VSwitchId") => state("DependencyViolation.VSwitch"),
        "NetworkAcl" if has("Resources/Resource/ResourceId") => state("DependencyViolation.VSwitch"),
        "GatewayEndpoint" if has("AssociatedRouteTables") => state("DependencyViolation.RouteTable"),
        _ => Ok(()),
    }
}

fn is_not_held(state: &State, resource: &Resource) -> Result<(), Refused> {
    let id = resource.id.as_str();
    for (_, other, path, code) in HOLD.iter().filter(|(kind, ..)| *kind == resource.kind) {
        let holds = |candidate: &&Resource| candidate.texts(path).contains(&id);
        // A server group names those that use it; everything else is named by them.
        let holder = if resource.kind == *other {
            (!resource.texts(path).is_empty()).then_some(resource)
        } else {
            state.of(other).find(holds)
        };
        if let Some(holder) = holder {
            let message = format!("The specified resource has dependent resources: {}", holder.id);
            return Err(refuse(400, code, &message));
        }
    }
    let is_custom_table =
        |table: &&Resource| table.text("RouteTableType") == "Custom" && table.text("VpcId") == id;
    if resource.kind == "Vpc" && state.of("RouteTable").any(|table| is_custom_table(&table)) {
        return Err(refuse(400, "DependencyViolation.RouteTable", "The VPC has custom route tables."));
    }
    let refers = |rule: &&Resource| {
        rule.text("SecurityGroupId") != id
            && [rule.text("SourceGroupId"), rule.text("DestGroupId")].contains(&id)
    };
    if resource.kind == "SecurityGroup" && state.of("SecurityGroupRule").any(|rule| refers(&rule)) {
        return Err(refuse(403, "DependencyViolation", "The security group is referenced by another one."));
    }
    Ok(())
}

/// The end of a deletion: it fails late, or the item is gone with what belongs to it.
pub(super) fn end(state: &mut State, kind: &'static str, id: &str) {
    let fails = state.faults.fails_late(id);
    if let Some(resource) = state.find_mut(kind, id).filter(|_| fails) {
        let before = resource.text("Before").to_owned();
        let field = specs::of(kind).map_or("Status", |spec| spec.state);
        if !before.is_empty() {
            resource.set(field, before);
        }
        resource.due = None;
        return;
    }
    along(state, kind, id);
    state.remove(|resource| resource.kind == kind && resource.id == id);
}

/// What goes with an item, and what becomes free.
fn along(state: &mut State, kind: &str, id: &str) {
    let part = |of: &'static str, field: &'static str| {
        let id = id.to_owned();
        move |resource: &Resource| resource.kind == of && resource.text(field) == id
    };
    match kind {
        "Instance" => {
            state.remove(|resource| {
                let is_part = resource.text("Type") == "system"
                    || resource.is("DeleteWithInstance")
                    || resource.is("DeleteOnRelease");
                let primary = resource.text("Type") == "Primary";
                ["Disk", "NetworkInterface"].contains(&resource.kind)
                    && resource.text("InstanceId") == id
                    && (is_part || primary)
            });
            release(state, id);
        }
        "NatGateway" => {
            for of in ["SnatEntry", "ForwardEntry", "FullNatEntry"] {
                state.remove(part(of, "NatGatewayId"));
            }
            state.remove(part("NetworkInterface", "InstanceId"));
            release(state, id);
        }
        "NetworkLoadBalancer" | "VpnGateway" => {
            state.remove(part("NetworkInterface", "InstanceId"));
            for group in state.resources.iter_mut().filter(|resource| resource.kind == "ServerGroup") {
                if group.texts("RelatedLoadBalancerIds").contains(&id) {
                    group.set("RelatedLoadBalancerIds", Value::Array(Vec::new()));
                }
            }
            release(state, id);
        }
        "Vpc" => state.remove(part("RouteTable", "VpcId")),
        "RouteTable" => state.remove(part("RouteEntry", "RouteTableId")),
        "SecurityGroup" => state.remove(part("SecurityGroupRule", "SecurityGroupId")),
        "SnapshotGroup" => state.remove(part("Snapshot", "SnapshotGroupId")),
        "Stack" => state.remove(part("Image", "StackId")),
        "BandwidthPackage" => {
            for eip in state.resources.iter_mut().filter(|resource| resource.text("BandwidthPackageId") == id)
            {
                if eip.kind == "ElasticIp" {
                    eip.set("BandwidthPackageId", "");
                }
            }
        }
        "AutoProvisioningGroup" => {
            let of_group = part("Instance", "AutoProvisioningGroupId");
            let instances: Vec<String> = state
                .resources
                .iter()
                .filter(|resource| of_group(resource))
                .map(|resource| resource.id.clone())
                .collect();
            for instance in instances {
                end(state, "Instance", &instance);
            }
        }
        _ => (),
    }
}

/// Addresses, disks and interfaces that a holder had are free.
fn release(state: &mut State, holder: &str) {
    let held = state
        .resources
        .iter_mut()
        .filter(|resource| resource.text("InstanceId") == holder && resource.id != holder);
    for resource in held.filter(|resource| ["Disk", "NetworkInterface", "ElasticIp"].contains(&resource.kind))
    {
        resource.set("InstanceId", "");
        resource.set("Status", "Available");
    }
}
