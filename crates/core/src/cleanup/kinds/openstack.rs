//! OpenStack. Security groups go last: ports hold them.

use super::{CountKind, Kind, Prepare, Scope, Table, Treatment, When};
use crate::cleanup::attribute::{
    DEVICE_OWNER, EXTERNAL, GROUP, LOCKED_BY, NETWORK as IN_NETWORK, OWNER, PRISTINE, REFERENCED_GROUP,
    SHARED, STATE,
};

const LOAD_BALANCER: &str = "LoadBalancer";
const SERVER: &str = "Server";
const SERVER_GROUP: &str = "ServerGroup";
const KEY_PAIR: &str = "KeyPair";
const FLOATING_IP: &str = "FloatingIp";
const SNAPSHOT: &str = "VolumeSnapshot";
const BACKUP: &str = "VolumeBackup";
const VOLUME: &str = "Volume";
const IMAGE: &str = "Image";
const ROUTER_INTERFACE: &str = "RouterInterface";
const ROUTER: &str = "Router";
const TRUNK: &str = "Trunk";
const PORT: &str = "Port";
const SUBNET: &str = "Subnet";
const NETWORK: &str = "Network";
const SHARE: &str = "Share";
const SHARE_NETWORK: &str = "ShareNetwork";
const GROUP_RULE: &str = "SecurityGroupRule";
const SECURITY_GROUP: &str = "SecurityGroup";

/// Lists of neutron and glance show items that other projects share.
const FOREIGN: (When, Treatment) = (When::Foreign(OWNER), Treatment::Keep("it belongs to another project"));
const PART_OF_STAYING: (When, Treatment) =
    (When::InStaying(IN_NETWORK, NETWORK), Treatment::Keep("it is part of a network that stays"));
const LOCKED: (When, Treatment) = (
    When::Is(LOCKED_BY, &["admin", "owner"]),
    Treatment::Immovable {
        because: "it is locked",
        remedy: "unlock it, or have the cloud's operator unlock it",
    },
);

const fn kind(
    name: &'static str,
    wave: u8,
    list: &'static [&'static str],
    delete: &'static [&'static str],
) -> Kind {
    Kind { name, scope: Scope::Regional, wave, after: &[], list, delete, rules: &[FOREIGN], prepare: &[] }
}

pub(super) static TABLE: Table = Table { kinds: KINDS, counts: COUNTS };

const KINDS: &[Kind] = &[
    Kind {
        rules: &[
            FOREIGN,
            (When::Is(STATE, &["DELETED"]), Treatment::Gone),
            (When::Is(STATE, &["PENDING_DELETE"]), Treatment::Leaving("it is being deleted")),
        ],
        ..kind(
            LOAD_BALANCER,
            0,
            &["os_load-balancer_api:loadbalancer:get_all"],
            &["os_load-balancer_api:loadbalancer:delete"],
        )
    },
    Kind {
        rules: &[
            FOREIGN,
            LOCKED,
            (When::Is(STATE, &["DELETED", "SOFT_DELETED"]), Treatment::Gone),
            (When::Is(STATE, &["deleting"]), Treatment::Leaving("it is being deleted")),
        ],
        ..kind(
            SERVER,
            0,
            &["os_compute_api:servers:detail"],
            &["os_compute_api:servers:delete", "os_compute_api:os-lock-server:unlock"],
        )
    },
    Kind {
        after: &[SERVER],
        ..kind(
            SERVER_GROUP,
            1,
            &["os_compute_api:os-server-groups:index"],
            &["os_compute_api:os-server-groups:delete"],
        )
    },
    kind(KEY_PAIR, 1, &["os_compute_api:os-keypairs:index"], &["os_compute_api:os-keypairs:delete"]),
    Kind { after: &[LOAD_BALANCER], ..kind(FLOATING_IP, 1, &["get_floatingip"], &["delete_floatingip"]) },
    Kind {
        after: &[SERVER],
        rules: &[FOREIGN, (When::Is(STATE, &["deleting"]), Treatment::Leaving("it is being deleted"))],
        ..kind(SNAPSHOT, 1, &["volume:get_all_snapshots"], &["volume:delete_snapshot"])
    },
    Kind {
        rules: &[FOREIGN, (When::Is(STATE, &["deleting"]), Treatment::Leaving("it is being deleted"))],
        ..kind(BACKUP, 1, &["backup:get_all"], &["backup:delete"])
    },
    Kind {
        after: &[SERVER, SNAPSHOT, BACKUP],
        rules: &[FOREIGN, (When::Is(STATE, &["deleting"]), Treatment::Leaving("it is being deleted"))],
        prepare: &[Prepare::Detach],
        ..kind(VOLUME, 2, &["volume:get_all"], &["volume:delete", "volume_extension:volume_actions:detach"])
    },
    Kind {
        // A server may boot from it, a volume may be made of it; neither is left here.
        after: &[SERVER, VOLUME],
        rules: &[
            FOREIGN,
            // Only an administrator makes an image public; anybody offers one to the community.
            (When::Is(SHARED, &["public"]), Treatment::Keep("it is public: others may use it")),
            (When::Is(STATE, &["deleted", "pending_delete"]), Treatment::Gone),
        ],
        prepare: &[Prepare::DisableProtection],
        ..kind(IMAGE, 3, &["get_images"], &["delete_image", "modify_image"])
    },
    Kind {
        // A floating IP needs the interface.
        after: &[FLOATING_IP],
        rules: &[FOREIGN, PART_OF_STAYING],
        prepare: &[Prepare::ClearRoutes],
        ..kind(ROUTER_INTERFACE, 2, &["get_port"], &["remove_router_interface", "update_router"])
    },
    Kind { after: &[ROUTER_INTERFACE, FLOATING_IP], ..kind(ROUTER, 3, &["get_router"], &["delete_router"]) },
    Kind { after: &[SERVER], ..kind(TRUNK, 2, &["get_trunk"], &["delete_trunk"]) },
    Kind {
        after: &[TRUNK, SERVER, LOAD_BALANCER],
        rules: &[
            FOREIGN,
            (
                When::All(&[
                    When::StartsWith(DEVICE_OWNER, &["network:"]),
                    When::InStaying(IN_NETWORK, NETWORK),
                ]),
                Treatment::Keep("it is part of a network that stays"),
            ),
            (
                When::StartsWith(DEVICE_OWNER, &["network:", "compute:", "Octavia", "manila:"]),
                Treatment::Leaving("a router, server or load balancer holds it"),
            ),
        ],
        ..kind(PORT, 3, &["get_port"], &["delete_port"])
    },
    Kind {
        rules: &[FOREIGN, (When::Is(STATE, &["deleting"]), Treatment::Leaving("it is being deleted"))],
        ..kind(SHARE, 1, &["share:get_all"], &["share:delete"])
    },
    Kind { after: &[SHARE], ..kind(SHARE_NETWORK, 2, &["share_network:index"], &["share_network:delete"]) },
    Kind {
        after: &[PORT, ROUTER_INTERFACE, SHARE_NETWORK],
        rules: &[FOREIGN, PART_OF_STAYING],
        ..kind(SUBNET, 4, &["get_subnet"], &["delete_subnet"])
    },
    Kind {
        after: &[SUBNET, PORT, SHARE_NETWORK],
        rules: &[FOREIGN, (When::Is(EXTERNAL, &["true"]), Treatment::Keep("it is an external network"))],
        ..kind(NETWORK, 5, &["get_network"], &["delete_network"])
    },
    Kind {
        rules: &[
            FOREIGN,
            (
                When::All(&[When::Is(PRISTINE, &["true"]), When::InStaying(GROUP, SECURITY_GROUP)]),
                Treatment::Keep("every new default security group has it"),
            ),
            // Tenants add rules to the default group.
            (When::InStayingUnnamed(GROUP, SECURITY_GROUP), Treatment::Delete),
            (
                When::InStaying(GROUP, SECURITY_GROUP),
                Treatment::Keep("it belongs to a security group that stays"),
            ),
            (When::Differ(GROUP, REFERENCED_GROUP), Treatment::Delete),
            (When::Always, Treatment::GoesWith { attribute: GROUP, kind: SECURITY_GROUP }),
        ],
        ..kind(GROUP_RULE, 5, &["get_security_group_rule"], &["delete_security_group_rule"])
    },
    Kind {
        after: &[PORT, SERVER, LOAD_BALANCER, GROUP_RULE],
        rules: &[FOREIGN, (When::Named(&["default"]), Treatment::Keep("every project has one"))],
        ..kind(SECURITY_GROUP, 6, &["get_security_group"], &["delete_security_group"])
    },
];

const fn used(name: &'static str, permission: &'static str, of: &'static [&'static str]) -> CountKind {
    let scope = Scope::Regional;
    CountKind { name, scope, permission, of, optional: false }
}

/// Quota usage. Octavia reports limits only, and key pairs are the user's, in no quota: these two are listed twice, that
/// is all.
const COUNTS: &[CountKind] = &[
    used("compute.instances", "os_compute_api:limits", &[SERVER]),
    used("compute.server-groups", "os_compute_api:limits", &[SERVER_GROUP]),
    CountKind { optional: true, ..used("volume.volumes", "limits_extension:used_limits", &[VOLUME]) },
    CountKind { optional: true, ..used("volume.snapshots", "limits_extension:used_limits", &[SNAPSHOT]) },
    CountKind { optional: true, ..used("volume.backups", "limits_extension:used_limits", &[BACKUP]) },
    used("network.networks", "get_quota", &[NETWORK]),
    used("network.subnets", "get_quota", &[SUBNET]),
    used("network.ports", "get_quota", &[PORT, ROUTER_INTERFACE]),
    used("network.routers", "get_quota", &[ROUTER]),
    used("network.floating-ips", "get_quota", &[FLOATING_IP]),
    used("network.security-groups", "get_quota", &[SECURITY_GROUP]),
    used("network.security-group-rules", "get_quota", &[GROUP_RULE]),
];
