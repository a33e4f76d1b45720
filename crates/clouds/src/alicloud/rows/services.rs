//! Load balancers of both generations, and stacks.

use super::{
    Deed, MODIFICATION_PROTECTED, NLB, PROTECTED, Pages, ROS, Row, SLB, Source, TOKEN, Value, deed,
    network::modifiable, row, unprotect,
};
use allotment_core::cleanup::attribute::{CHARGE, MANAGED, NETWORK, STATE};

const fn slb(
    kind: &'static str,
    list: &'static str,
    items: &'static str,
    id: &'static str,
    delete: &'static [Deed],
) -> Row {
    row(&SLB, kind, list, items, id, delete)
}

const fn nlb(
    kind: &'static str,
    list: &'static str,
    items: &'static str,
    id: &'static str,
    delete: &'static [Deed],
) -> Row {
    Row { pages: TOKEN, ..row(&NLB, kind, list, items, id, delete) }
}

pub(super) static ROWS: &[Row] = &[
    Row {
        pages: Pages::Numbered("100"),
        name: "LoadBalancerName",
        attributes: &[
            (STATE, Source::Text("LoadBalancerStatus")),
            (NETWORK, Source::Text("VpcId")),
            (CHARGE, Source::Text("PayType")),
            (PROTECTED, Source::Marks(&[("DeleteProtection", "on")], "true")),
            (
                MODIFICATION_PROTECTED,
                Source::Marks(&[("ModificationProtectionStatus", "ConsoleProtection")], "true"),
            ),
        ],
        prepare: &[
            unprotect(
                "SetLoadBalancerDeleteProtection",
                &[("LoadBalancerId", Value::Id), ("DeleteProtection", Value::Text("off"))],
            ),
            modifiable(
                "SetLoadBalancerModificationProtection",
                &[
                    ("LoadBalancerId", Value::Id),
                    ("ModificationProtectionStatus", Value::Text("NonProtection")),
                ],
            ),
        ],
        ..slb(
            "LoadBalancer",
            "DescribeLoadBalancers",
            "LoadBalancers/LoadBalancer",
            "LoadBalancerId",
            &[deed("DeleteLoadBalancer", &[("LoadBalancerId", Value::Id)])],
        )
    },
    Row {
        name: "AclName",
        ..slb(
            "AccessControlList",
            "DescribeAccessControlLists",
            "Acls/Acl",
            "AclId",
            &[deed("DeleteAccessControlList", &[("AclId", Value::Id)])],
        )
    },
    Row {
        pages: Pages::Whole,
        name: "ServerCertificateName",
        ..slb(
            "ServerCertificate",
            "DescribeServerCertificates",
            "ServerCertificates/ServerCertificate",
            "ServerCertificateId",
            &[deed("DeleteServerCertificate", &[("ServerCertificateId", Value::Id)])],
        )
    },
    Row {
        pages: Pages::Whole,
        name: "CACertificateName",
        ..slb(
            "CaCertificate",
            "DescribeCACertificates",
            "CACertificates/CACertificate",
            "CACertificateId",
            &[deed("DeleteCACertificate", &[("CACertificateId", Value::Id)])],
        )
    },
    Row {
        pages: Pages::Token("MaxItems", "100"),
        name: "Name",
        attributes: &[(STATE, Source::Text("Status"))],
        ..slb(
            "TlsCipherPolicy",
            "ListTLSCipherPolicies",
            "TLSCipherPolicies",
            "InstanceId",
            &[deed("DeleteTLSCipherPolicy", &[("TLSCipherPolicyId", Value::Id)])],
        )
    },
    Row {
        name: "LoadBalancerName",
        attributes: &[
            (STATE, Source::Text("LoadBalancerStatus")),
            (NETWORK, Source::Text("VpcId")),
            (CHARGE, Source::Text("LoadBalancerBillingConfig/PayType")),
            (PROTECTED, Source::Marks(&[("DeletionProtectionConfig/Enabled", "true")], "true")),
            (
                MODIFICATION_PROTECTED,
                Source::Marks(&[("ModificationProtectionConfig/Status", "ConsoleProtection")], "true"),
            ),
        ],
        prepare: &[
            unprotect(
                "UpdateLoadBalancerProtection",
                &[("LoadBalancerId", Value::Id), ("DeletionProtectionEnabled", Value::Text("false"))],
            ),
            modifiable(
                "UpdateLoadBalancerProtection",
                &[
                    ("LoadBalancerId", Value::Id),
                    ("ModificationProtectionStatus", Value::Text("NonProtection")),
                ],
            ),
        ],
        ..nlb(
            "NetworkLoadBalancer",
            "ListLoadBalancers",
            "LoadBalancers",
            "LoadBalancerId",
            &[deed("DeleteLoadBalancer", &[("LoadBalancerId", Value::Id)])],
        )
    },
    Row {
        name: "ServerGroupName",
        attributes: &[(STATE, Source::Text("ServerGroupStatus")), (NETWORK, Source::Text("VpcId"))],
        ..nlb(
            "ServerGroup",
            "ListServerGroups",
            "ServerGroups",
            "ServerGroupId",
            &[deed("DeleteServerGroup", &[("ServerGroupId", Value::Id)])],
        )
    },
    Row {
        name: "SecurityPolicyName",
        attributes: &[(STATE, Source::Text("SecurityPolicyStatus"))],
        ..nlb(
            "SecurityPolicy",
            "ListSecurityPolicy",
            "SecurityPolicies",
            "SecurityPolicyId",
            &[deed("DeleteSecurityPolicy", &[("SecurityPolicyId", Value::Id)])],
        )
    },
    Row {
        name: "StackName",
        attributes: &[
            (STATE, Source::Text("Status")),
            (MANAGED, Source::Marks(&[("ServiceManaged", "true")], "true")),
            (PROTECTED, Source::Marks(&[("DeletionProtection", "Enabled")], "true")),
        ],
        prepare: &[unprotect(
            "SetDeletionProtection",
            &[("StackId", Value::Id), ("DeletionProtection", Value::Text("Disabled"))],
        )],
        ..row(
            &ROS,
            "Stack",
            "ListStacks",
            "Stacks",
            "StackId",
            &[deed("DeleteStack", &[("StackId", Value::Id)])],
        )
    },
];
