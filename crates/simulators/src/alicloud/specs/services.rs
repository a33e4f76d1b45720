//! Load balancers of both generations, and stacks.

use super::{NUMBERED, Paging, Spec, TOKEN, Tags, spec};

pub(super) static SPECS: &[Spec] = &[
    spec(
        "slb",
        "LoadBalancer",
        ["lb-", "LoadBalancerId"],
        "CreateLoadBalancer",
        ["DescribeLoadBalancers", "LoadBalancers/LoadBalancer"],
        NUMBERED,
        "DeleteLoadBalancer",
    )
    .copy(&["LoadBalancerName", "VpcId", "VSwitchId", "DeleteProtection", "ModificationProtectionStatus"])
    .fixed(&[("LoadBalancerStatus", "active"), ("PayType", "PayOnDemand")])
    .state("LoadBalancerStatus"),
    spec(
        "slb",
        "AccessControlList",
        ["acl-", "AclId"],
        "CreateAccessControlList",
        ["DescribeAccessControlLists", "Acls/Acl"],
        NUMBERED,
        "DeleteAccessControlList",
    )
    .copy(&["AclName"]),
    spec(
        "slb",
        "ServerCertificate",
        ["cert-", "ServerCertificateId"],
        "UploadServerCertificate",
        ["DescribeServerCertificates", "ServerCertificates/ServerCertificate"],
        Paging::Whole,
        "DeleteServerCertificate",
    )
    .copy(&["ServerCertificateName"]),
    spec(
        "slb",
        "CaCertificate",
        ["ca-", "CACertificateId"],
        "UploadCACertificate",
        ["DescribeCACertificates", "CACertificates/CACertificate"],
        Paging::Whole,
        "DeleteCACertificate",
    )
    .copy(&["CACertificateName"]),
    spec(
        "slb",
        "TlsCipherPolicy",
        ["tls-", "InstanceId"],
        "CreateTLSCipherPolicy",
        ["ListTLSCipherPolicies", "TLSCipherPolicies"],
        Paging::Token("MaxItems"),
        "DeleteTLSCipherPolicy",
    )
    .copy(&["Name"])
    .answer("TLSCipherPolicyId")
    .by("TLSCipherPolicyId")
    .tags(Tags::None),
    spec(
        "nlb",
        "NetworkLoadBalancer",
        ["nlb-", "LoadBalancerId"],
        "CreateLoadBalancer",
        ["ListLoadBalancers", "LoadBalancers"],
        TOKEN,
        "DeleteLoadBalancer",
    )
    .copy(&["LoadBalancerName", "VpcId"])
    .fixed(&[("LoadBalancerStatus", "Active")])
    .state("LoadBalancerStatus")
    .answer("LoadbalancerId")
    .tags(Tags::Plain),
    spec(
        "nlb",
        "ServerGroup",
        ["sgp-", "ServerGroupId"],
        "CreateServerGroup",
        ["ListServerGroups", "ServerGroups"],
        TOKEN,
        "DeleteServerGroup",
    )
    .copy(&["ServerGroupName", "VpcId"])
    .fixed(&[("ServerGroupStatus", "Available")])
    .state("ServerGroupStatus")
    .tags(Tags::Plain),
    spec(
        "nlb",
        "SecurityPolicy",
        ["tlspolicy-", "SecurityPolicyId"],
        "CreateSecurityPolicy",
        ["ListSecurityPolicy", "SecurityPolicies"],
        TOKEN,
        "DeleteSecurityPolicy",
    )
    .copy(&["SecurityPolicyName"])
    .fixed(&[("SecurityPolicyStatus", "Available")])
    .state("SecurityPolicyStatus")
    .tags(Tags::Plain),
    spec(
        "ros",
        "Stack",
        ["stack-", "StackId"],
        "CreateStack",
        ["ListStacks", "Stacks"],
        NUMBERED,
        "DeleteStack",
    )
    .copy(&["StackName", "DeletionProtection"])
    .fixed(&[("Status", "CREATE_COMPLETE")])
    .tags(Tags::Plain),
];
