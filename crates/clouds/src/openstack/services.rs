//! The services that have kinds.

/// A service.
#[derive(Debug)]
pub(super) struct Service {
    /// Its name for people.
    pub(super) name: &'static str,
    /// Its types in the catalog, the preferred one first.
    pub(super) types: &'static [&'static str],
    /// The version of its API, as a path.
    pub(super) version: &'static str,
    /// Whether the project is part of the path.
    pub(super) project_in_path: bool,
    /// The header with the microversion. Each service is sent its own and no other: cinder answers 400 to nova's.
    pub(super) microversion: Option<(&'static str, &'static str)>,
}

/// Key pairs have pages since 2.35; 2.60 is of 2018, the oldest release that Gardener supports.
pub(super) static COMPUTE: Service = Service {
    name: "nova",
    types: &["compute"],
    version: "v2.1",
    project_in_path: false,
    microversion: Some(("openstack-api-version", "compute 2.60")),
};

pub(super) static NETWORK: Service = Service {
    name: "neutron",
    types: &["network"],
    version: "v2.0",
    project_in_path: false,
    microversion: None,
};

pub(super) static BLOCK_STORAGE: Service = Service {
    name: "cinder",
    types: &["block-storage", "volumev3", "block-store"],
    version: "v3",
    project_in_path: true,
    microversion: None,
};

pub(super) static LOAD_BALANCER: Service = Service {
    name: "octavia",
    types: &["load-balancer"],
    version: "v2.0",
    project_in_path: false,
    microversion: None,
};

pub(super) static IMAGE: Service =
    Service { name: "glance", types: &["image"], version: "v2", project_in_path: false, microversion: None };

/// Without a version manila answers with its oldest one; 2.40 is of 2018.
pub(super) static SHARED_FILE_SYSTEM: Service = Service {
    name: "manila",
    types: &["shared-file-system", "sharev2"],
    version: "v2",
    project_in_path: true,
    microversion: Some(("x-openstack-manila-api-version", "2.40")),
};

/// All of them.
pub(super) static SERVICES: &[&Service] =
    &[&COMPUTE, &NETWORK, &BLOCK_STORAGE, &LOAD_BALANCER, &IMAGE, &SHARED_FILE_SYSTEM];
