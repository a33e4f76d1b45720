//! An operator that starts heals its ledger by what is there, and a tenant may have forged what is there.

use super::{
    Done, Tried,
    table::{Facts, Who, create, own, patch, request, requests},
    world::World,
};
use serde_json::json;

/// A request in the victim's name says that it is bound to the victim's account, while the operators start.
pub async fn a_forged_status_counts_nowhere(world: &mut World, facts: &Facts) -> Done<()> {
    let collection = requests(&facts.hostile);
    let ask = |name: &str, tenant: &str| {
        let asked = [("/metadata/name", json!(name)), ("/spec/subscriptionSelector", json!(tenant))];
        create(collection.clone(), request(&asked))
    };
    let bound = json!({ "status": {
        "phase": "Bound", "gardenerSecretName": facts.account, "bindingKind": "CredentialsBinding",
        "tenantName": "victim",
    }});
    let denied = |object: &serde_json::Value| object["status"]["phase"] == "Denied";
    let made = {
        let tried = Tried::named(world, "forged");
        tried.send(&ask("forged", "victim")).await.map_err(|error| format!("{error:?}"))?;
        tried.becomes(&own(&collection), "is denied", denied).await?;
        let forge = patch(format!("{}/status", own(&collection)), bound).by(Who::Wide);
        tried.send(&forge).await.map_err(|error| format!("{error:?}"))?;
        tried.made.into_inner()
    };
    world.restart()?;
    let tried = Tried::named(world, "probe");
    tried.made.borrow_mut().extend(made);
    // The operator judges requests once its ledger is healed.
    tried.send(&ask("probe", "invented")).await.map_err(|error| format!("{error:?}"))?;
    tried.becomes(&own(&collection), "is denied", denied).await?;
    let counted = world.counted(&facts.account).await?;
    tried.remove().await?;
    if counted.is_empty() { Ok(()) } else { Err(format!("{counted:?} count in the victim's account").into()) }
}
