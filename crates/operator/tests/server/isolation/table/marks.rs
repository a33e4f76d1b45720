//! Finalizers and owners, which make operators and garbage collectors act.

use super::{
    Answer, Attempt, Facts, access_to, accesses, attempt, cluster, clusters, create, denies, harmless, own,
    patch, request, requests, until,
};
use serde_json::{Value, json};

const FINALIZERS: &str = "/metadata/finalizers";
const OWNERS: &str = "/metadata/ownerReferences";
const RULES: &str = "/spec/clusterRole/rules";
const NOT_YOURS: &str = "finalizers of allotment.dev are the operator's";
const HOLDS: &str = "finalizers of allotment.dev hold the account and the Shoot";
const NO_OWNERS: &str = "ownerReferences to Clusters and KubeconfigRequests are the operator's";

pub fn attempts(facts: &Facts) -> Vec<Attempt> {
    let mut all = forged(facts);
    all.extend(removed(facts));
    all
}

fn forged(facts: &Facts) -> Vec<Attempt> {
    let (clusters, requests, accesses) =
        (clusters(&facts.hostile), requests(&facts.hostile), accesses(&facts.hostile));
    let owner = |kind: &str, name: &str, uid: &str| json!([{ "apiVersion": "operator.kyma-project.io/v1alpha1", "kind": kind, "name": name, "uid": uid }]);
    let victim = owner("Cluster", &facts.cluster.name, &facts.cluster.uid);
    let controlled = json!([{
        "apiVersion": "operator.kyma-project.io/v1alpha1", "kind": "Cluster", "name": facts.cluster.name,
        "uid": facts.cluster.uid, "controller": true, "blockOwnerDeletion": true,
    }]);
    let asks = |changes: &[(&str, Value)]| create(requests.clone(), request(changes));
    let nothing = ("/spec/infrastructure/machineType", json!("m5.unheard-of"));
    vec![
        attempt("a request is owned by the victim's Cluster", asks(&[(OWNERS, victim.clone())]))
            .denied_or_told(NO_OWNERS),
        attempt(
            "a request is owned by the victim's Cluster, and held by our finalizer",
            asks(&[(OWNERS, victim.clone()), (FINALIZERS, json!(["allotment.dev/cluster"]))]),
        )
        .denied_or_told(NOT_YOURS),
        attempt(
            "a request is controlled by the victim's Cluster, under the name of the victim's request",
            asks(&[
                ("/metadata/name", json!(facts.request.name)),
                (OWNERS, controlled),
                (FINALIZERS, json!(["allotment.dev/cluster", "allotment.dev/subscription"])),
            ]),
        )
        .answers(
            denies(NOT_YOURS),
            // The finalizer may be off again before anybody tells of it: the operator that it names has no use for it.
            Answer::Told {
                path: format!("{requests}/{}", facts.request.name),
                words: NO_OWNERS.to_owned(),
                then: None,
            },
        ),
        attempt(
            "a request gets the victim's Cluster as its owner later",
            patch(own(&requests), json!({ "metadata": { "ownerReferences": victim } })),
        )
        .before(create(requests.clone(), request(&[("/spec/subscriptionSelector", json!("shared"))])))
        .denied_or_told(NO_OWNERS),
        attempt(
            "a Cluster comes with our finalizer",
            create(clusters, cluster(&[nothing, (FINALIZERS, json!(["allotment.dev/cluster"]))])),
        )
        .denied_or(NOT_YOURS, "m5.unheard-of"),
        attempt(
            "access comes with our finalizer",
            create(
                accesses.clone(),
                access_to(&[
                    ("/spec/cluster", json!("nowhere")),
                    (RULES, harmless()),
                    (FINALIZERS, json!(["allotment.dev/kubeconfig"])),
                ]),
            ),
        )
        .denied_or(NOT_YOURS, "there is no Cluster nowhere"),
        attempt(
            "access is owned by the victim's request for access",
            create(
                accesses,
                access_to(&[
                    ("/spec/cluster", json!("nowhere")),
                    (RULES, harmless()),
                    (OWNERS, owner("KubeconfigRequest", &facts.access.name, &facts.access.uid)),
                ]),
            ),
        )
        .denied_or_told(NO_OWNERS),
    ]
}

fn removed(facts: &Facts) -> Vec<Attempt> {
    let none = json!({ "metadata": { "finalizers": null } });
    let held = "/metadata/finalizers/0";
    let removes = |what, collection: String, object: Value| {
        attempt(what, patch(own(&collection), none.clone()))
            .before(create(collection.clone(), object))
            .before(until(own(&collection), held))
            .denied_or_told_and(
                HOLDS,
                HOLDS,
                Answer::Corrected { path: own(&collection), pointer: held, value: Value::Null },
            )
    };
    let nothing = ("/spec/infrastructure/machineType", json!("m5.unheard-of"));
    vec![
        removes("a Cluster loses our finalizer", clusters(&facts.hostile), cluster(&[nothing])),
        removes(
            "access loses our finalizer",
            accesses(&facts.hostile),
            access_to(&[("/spec/cluster", json!("nowhere")), (RULES, harmless())]),
        ),
    ]
}
