//! Servers, volumes, images and shares.

use super::{Pages, Row, Source, row};
use crate::openstack::services::{BLOCK_STORAGE, COMPUTE, IMAGE, SHARED_FILE_SYSTEM};
use allotment_core::cleanup::attribute::{NETWORK, OWNER, SHARED, STATE};

/// The attachment of a volume.
pub(in crate::openstack) const ATTACHMENT: &str = "attachment";
const SERVER: &str = "server";
const VOLUME: &str = "volume";

const STATUS: (&str, Source) = (STATE, Source::At("/status"));

pub(super) static ROWS: &[Row] = &[
    Row {
        attributes: &[
            (OWNER, Source::At("/tenant_id")),
            (STATE, Source::Either("/OS-EXT-STS:task_state", &["deleting"], "/status")),
        ],
        ..row("Server", &COMPUTE, "/servers/detail", "servers", "/servers/$")
    },
    Row {
        pages: Pages::Offset,
        attributes: &[(OWNER, Source::At("/project_id"))],
        ..row("ServerGroup", &COMPUTE, "/os-server-groups", "server_groups", "/os-server-groups/$")
    },
    // People choose the names, and use them again.
    Row {
        within: "keypair",
        id: "/name",
        incarnation: "/fingerprint",
        ..row("KeyPair", &COMPUTE, "/os-keypairs", "keypairs", "/os-keypairs/$")
    },
    Row {
        attributes: &[
            (OWNER, Source::At("/os-extended-snapshot-attributes:project_id")),
            STATUS,
            (VOLUME, Source::At("/volume_id")),
        ],
        ..row("VolumeSnapshot", &BLOCK_STORAGE, "/snapshots/detail", "snapshots", "/snapshots/$")
    },
    Row {
        attributes: &[STATUS, (VOLUME, Source::At("/volume_id"))],
        ..row("VolumeBackup", &BLOCK_STORAGE, "/backups/detail", "backups", "/backups/$")
    },
    // Not with `cascade`: a snapshot of the baseline would go, too.
    Row {
        attributes: &[
            (OWNER, Source::At("/os-vol-tenant-attr:tenant_id")),
            STATUS,
            (SERVER, Source::At("/attachments/0/server_id")),
            (ATTACHMENT, Source::At("/attachments/0/attachment_id")),
        ],
        ..row("Volume", &BLOCK_STORAGE, "/volumes/detail", "volumes", "/volumes/$")
    },
    // Hidden images are in a list of their own, and images for the community are left out unless all are asked for.
    Row {
        queries: &["owner=$&visibility=all&os_hidden=false", "owner=$&visibility=all&os_hidden=true"],
        pages: Pages::Next,
        attributes: &[(OWNER, Source::At("/owner")), STATUS, (SHARED, Source::At("/visibility"))],
        ..row("Image", &IMAGE, "/images", "images", "/images/$")
    },
    Row {
        pages: Pages::Offset,
        attributes: &[
            (OWNER, Source::At("/project_id")),
            STATUS,
            ("shareNetwork", Source::At("/share_network_id")),
        ],
        ..row("Share", &SHARED_FILE_SYSTEM, "/shares/detail", "shares", "/shares/$")
    },
    Row {
        pages: Pages::Offset,
        attributes: &[(OWNER, Source::At("/project_id")), (NETWORK, Source::At("/neutron_net_id"))],
        ..row(
            "ShareNetwork",
            &SHARED_FILE_SYSTEM,
            "/share-networks/detail",
            "share_networks",
            "/share-networks/$",
        )
    },
];
