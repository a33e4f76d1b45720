//! The name of a Shoot.

use super::problem::Problem;
use allotment_api::kyma::Cluster;
use sha2::{Digest, Sha256};

/// How long the names of a project and a Shoot may be together: Gardener makes names of other things of them.
const LONGEST: usize = 21;

/// The name of a Cluster's Shoot in a project: the one it has, else the one it asks for, else one that follows from its UID.
///
/// # Errors
///
/// The names of project and Shoot are too long together.
pub fn shoot_name(cluster: &Cluster, project: &str) -> Result<String, Problem> {
    let known = cluster.status.as_ref().and_then(|status| status.shoot_name.clone());
    // A tenant may have written it, and it becomes part of a path.
    if let Some(name) = known.filter(|name| is_label(name)) {
        return Ok(name);
    }
    let room = LONGEST.saturating_sub(project.len());
    let Some(name) = cluster.spec.core.as_ref().and_then(|core| core.shoot_name.clone()) else {
        return Ok(derived(cluster));
    };
    if name.len() <= room {
        return Ok(name);
    }
    let what = format!("{name} is too long in project {project}");
    Err(Problem::new("spec.core.shootName", what).allowed([format!("at most {room} characters")]))
}

/// Whether a name can be that of a namespace or a Shoot.
pub(super) fn is_label(name: &str) -> bool {
    let is_allowed = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'-';
    !name.is_empty() && name.len() <= 63 && name.bytes().all(is_allowed)
}

/// `c-` and seven hexadecimal digits: long enough not to meet by chance, and short enough for a project with 12 letters.
fn derived(cluster: &Cluster) -> String {
    let metadata = &cluster.metadata;
    let part = |part: &Option<String>| part.clone().unwrap_or_default();
    let whose =
        metadata.uid.clone().unwrap_or_else(|| part(&metadata.namespace) + "/" + &part(&metadata.name));
    let digits: String = Sha256::digest(whose).iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("c-{}", &digits[..7])
}
