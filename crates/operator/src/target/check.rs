//! What a cluster is, and who we are in it.

use super::{Reached, TargetTrouble};
use allotment_core::text::one_line;
use k8s_openapi::api::{
    authentication::v1::SelfSubjectReview,
    authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec},
};
use kube::{Api, api::PostParams};

/// The longest version that is kept. `1.36.0-gke.1234567+0123456789abcdef` has 37 characters; `status.kubernetesVersion` has
/// room for the dots that stand for the rest.
const LONGEST_VERSION: usize = 64;

/// The longest name of a user that is kept, for the sentence that it is not cluster-admin. The longest that Gardener makes
/// have about 100 characters.
const LONGEST_USER: usize = 256;

/// What a cluster is, and who we are in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Of Kubernetes, as in `1.36.0`: Gardener writes them so, too.
    pub version: String,
    /// Who we are there. Servers older than 1.28 do not tell.
    pub user: Option<String>,
    /// Whether we may do everything.
    pub is_admin: bool,
}

/// Finds out whether a cluster answers, who we are in it, and whether we may do everything.
pub async fn check(reached: &Reached) -> Result<Standing, TargetTrouble> {
    let target = &reached.key;
    let version =
        reached.call(|| format!("read the version of {target}"), reached.client.apiserver_version()).await?;
    let who = Api::<SelfSubjectReview>::all(reached.client.clone());
    let what = || format!("ask {target} who we are");
    let question = SelfSubjectReview::default();
    let user = match reached.call(what, who.create(&PostParams::default(), &question)).await {
        Ok(answer) => answer.status.and_then(|status| status.user_info?.username),
        Err(TargetTrouble::Call(error)) if error.is_not_found() => None,
        Err(trouble) => return Err(trouble),
    };
    let may = Api::<SelfSubjectAccessReview>::all(reached.client.clone());
    let what = || format!("ask {target} what we may do");
    let answer = reached.call(what, may.create(&PostParams::default(), &everything())).await?;
    let is_admin = answer.status.is_some_and(|status| status.allowed);
    // A server that a tenant brought may say anything.
    let version = one_line(version.git_version.trim_start_matches('v'), LONGEST_VERSION);
    let user = user.map(|user| one_line(&user, LONGEST_USER));
    Ok(Standing { version, user, is_admin })
}

/// May we do everything to everything?
fn everything() -> SelfSubjectAccessReview {
    let all = || Some("*".to_owned());
    let resource_attributes =
        ResourceAttributes { verb: all(), group: all(), resource: all(), ..ResourceAttributes::default() };
    let spec = SelfSubjectAccessReviewSpec {
        resource_attributes: Some(resource_attributes),
        ..SelfSubjectAccessReviewSpec::default()
    };
    SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() }
}
