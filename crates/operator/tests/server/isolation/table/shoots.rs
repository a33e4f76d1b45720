//! The Shoot and the account of the victim.

use super::{
    Answer, Attempt, Call, Draft, Facts, Who, attempt, cluster, clusters, create, denies, own, patch, paused,
    request, requests, unpause, until,
};
use serde_json::{Value, json};

const SHOOT_NAME: &str = "/spec/core/shootName";
const ADOPT: &str = "/metadata/annotations/allotment.dev~1adopt-shoot";
const EXISTS: &str = "a Shoot of that name exists";
const STATUS: &str = "only the operator writes it";

pub fn attempts(facts: &Facts) -> Vec<Attempt> {
    let mut all = named(facts);
    all.extend(forged(facts));
    all.extend(on_foreign_accounts(facts));
    all
}

fn named(facts: &Facts) -> Vec<Attempt> {
    let collection = clusters(&facts.hostile);
    let (name, uid) = (json!(facts.shoot.name), json!(facts.shoot.uid));
    let made = |what, changes: &[(&str, Value)]| attempt(what, create(collection.clone(), cluster(changes)));
    let later = |what, changes: Value| {
        attempt(what, patch(own(&collection), changes)).before(create(collection.clone(), paused(&[])))
    };
    let mark = |key: &str, value: &Value| json!({ "metadata": { "annotations": { key: value, "allotment.dev/pause": null } } });
    vec![
        made("a Cluster has the name of the victim's Shoot", &[(SHOOT_NAME, name.clone())]).reported(EXISTS),
        made("the annotation adopts the victim's Shoot", &[(SHOOT_NAME, name.clone()), (ADOPT, uid.clone())])
            .denied_or("adopts nothing", "adopt-shoot does nothing"),
        made(
            "recreating takes the victim's Shoot",
            &[
                (SHOOT_NAME, name.clone()),
                ("/metadata/annotations/allotment.dev~1recreate-shoot", json!("true")),
            ],
        )
        .reported(EXISTS),
        attempt(
            "the annotation adopts the victim's Shoot later",
            patch(own(&collection), mark("allotment.dev/adopt-shoot", &uid)),
        )
        .before(create(collection.clone(), paused(&[(SHOOT_NAME, name.clone())])))
        .denied_or("adopts nothing", "adopt-shoot does nothing"),
        later(
            "a Cluster gets the name of the victim's Shoot later",
            json!({
                "metadata": { "annotations": { "allotment.dev/pause": null } },
                "spec": { "core": { "shootName": name } },
            }),
        )
        .reported(EXISTS),
        attempt(
            "a Cluster releases the victim's Shoot",
            patch(own(&collection), mark("allotment.dev/release-shoot", &uid)),
        )
        .before(create(collection.clone(), paused(&[(SHOOT_NAME, name)])))
        .reported(EXISTS),
    ]
}

/// Writes a status as whoever has a role with `resources: ["*"]`.
fn forges(what: &'static str, facts: &Facts, spec: &[(&str, Value)], status: Value) -> Draft {
    let collection = clusters(&facts.hostile);
    let write = patch(format!("{}/status", own(&collection)), json!({ "status": status })).by(Who::Wide);
    attempt(what, write).before(create(collection, paused(spec))).after(unpause(&facts.hostile))
}

fn forged(facts: &Facts) -> Vec<Attempt> {
    let (name, uid) = (json!(facts.shoot.name), json!(facts.shoot.uid));
    let both = json!({ "phase": "Ready", "shootName": name, "shootUID": uid });
    let account = json!({ "phase": "Bound", "name": facts.request.name, "bindingName": facts.account });
    let collection = clusters(&facts.hostile);
    vec![
        forges("a status names the victim's Shoot", facts, &[], both.clone())
            .denied_or(STATUS, "is left alone"),
        forges(
            "a status names the victim's Shoot, and so does the spec",
            facts,
            &[(SHOOT_NAME, name.clone())],
            both.clone(),
        )
        .denied_or(STATUS, "is left alone"),
        forges(
            "a status names the victim's Shoot by its UID",
            facts,
            &[(SHOOT_NAME, name)],
            json!({ "shootUID": uid }),
        )
        .denied_or(STATUS, "is left alone"),
        forges("a status names the victim's Shoot, and the Cluster is to be made anew", facts, &[], both)
            .after(patch(
                own(&collection),
                json!({ "metadata": { "annotations": { "allotment.dev/recreate-shoot": "true" } } }),
            ))
            .denied_or(STATUS, "is left alone"),
        forges(
            "a status names the victim's request and account",
            facts,
            &[("/spec/infrastructure/machineType", json!("m5.unheard-of"))],
            json!({ "subscription": account }),
        )
        .denied_or(STATUS, "m5.unheard-of"),
    ]
}

/// A request under the name that a Cluster's own has, made before the operator makes it.
fn on_foreign_accounts(facts: &Facts) -> Vec<Attempt> {
    let (collection, requests) = (clusters(&facts.hostile), requests(&facts.hostile));
    let path = format!("{requests}/{{id}}-{{uid8}}");
    let early_with = |changes: &[(&str, Value)]| -> Call {
        let reference = json!({
            "apiVersion": "operator.kyma-project.io/v1alpha1", "kind": "Cluster", "namespace": facts.hostile, "name": "{id}",
        });
        let named = [("/metadata/name", json!("{id}-{uid8}")), ("/spec/clusterRef", reference)];
        create(requests.clone(), request(&[&named, changes].concat()))
    };
    let early = |selector: &str, region: &str| {
        early_with(&[
            ("/spec/subscriptionSelector", json!(selector)),
            ("/spec/hyperscalerRegion", json!(region)),
        ])
    };
    let denied = early_with(&[
        ("/spec/subscriptionSelector", json!("shared")),
        ("/spec/hyperscalerRegion", json!("eu-central-1")),
        ("/spec/plan", json!("unheard-of")),
    ]);
    let bind_shared = patch(
        format!("{path}/status"),
        json!({ "status": { "phase": "Bound", "gardenerSecretName": "s", "bindingKind": "CredentialsBinding" } }),
    );
    let bound = json!({ "status": {
        "phase": "Bound", "gardenerSecretName": facts.account, "bindingKind": "CredentialsBinding",
    }});
    let bind = patch(format!("{path}/status"), bound.clone()).by(Who::Wide);
    let said = |words: &str| Answer::Reported {
        path: own(&collection),
        words: words.to_owned(),
        may_be_granted: false,
    };
    let told = || Answer::Told {
        path: path.clone(),
        words: "only the operator writes it".to_owned(),
        then: Some(Box::new(Answer::Corrected {
            path: path.clone(),
            pointer: "/status/gardenerSecretName",
            value: json!(facts.account),
        })),
    };
    let forged = |what, changes: &[(&str, Value)], after: Answer| {
        let bind = patch(format!("{}/status", own(&requests)), bound.clone()).by(Who::Wide);
        let draft = attempt(what, bind).before(create(requests.clone(), request(changes)));
        draft.before(until(own(&requests), "/status/phase")).denied_or_told_and(
            STATUS,
            "only the operator writes it",
            after,
        )
    };
    let place = |what, call| attempt(what, call).before(create(collection.clone(), paused(&[])));
    vec![
        forged(
            "a request that is denied is bound to the victim's account by hand",
            &[("/spec/plan", json!("unheard-of"))],
            Answer::Reported { path: own(&requests), words: "unheard-of".to_owned(), may_be_granted: false },
        ),
        forged(
            "a request that has an account is bound to the victim's by hand",
            &[("/spec/subscriptionSelector", json!("shared"))],
            Answer::Corrected {
                path: own(&requests),
                pointer: "/status/gardenerSecretName",
                value: json!(facts.account),
            },
        ),
        place("a request in the victim's name is bound by hand", early("victim", "eu-central-1"))
            .after(bind.clone())
            .after(unpause(&facts.hostile))
            .answers(denies("does not belong to tenant victim"), said("does not belong to tenant victim")),
        place("a request of its own is bound to the victim's account by hand", bind.clone())
            .before(early("intruder", "eu-central-1"))
            .after(unpause(&facts.hostile))
            .answers(denies(STATUS), told()),
        place("a shared request is bound to the victim's account by hand", bind)
            .before(early("shared", "eu-central-1"))
            .after(unpause(&facts.hostile))
            .answers(denies(STATUS), told()),
        place("a request that is denied is bound to a shared account by hand", bind_shared.by(Who::Wide))
            .before(denied)
            .after(unpause(&facts.hostile))
            .answers(denies(STATUS), said("unheard-of")),
        place("a request for something else has the name of a Cluster's own", unpause(&facts.hostile))
            .before(early("intruder", "us-east-1"))
            .reported("belongs to somebody else"),
    ]
}
