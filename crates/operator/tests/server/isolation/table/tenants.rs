//! In the name of another tenant.

use super::{Attempt, Facts, attempt, cluster, clusters, create, patch, paused, request, requests};
use serde_json::{Value, json};

const SELECTOR: &str = "/spec/infrastructure/subscriptionSelector";
const REQUEST_SELECTOR: &str = "/spec/subscriptionSelector";
const LABEL: &str = "/metadata/labels/globalaccountid";

const OF_VICTIM: &str = "does not belong to tenant victim; use one of its own: intruder";
const DIFFER: &str = "set both to the same tenant";

pub fn attempts(facts: &Facts) -> Vec<Attempt> {
    let mut all = of_clusters(&clusters(&facts.hostile));
    all.extend(of_requests(&requests(&facts.hostile)));
    all
}

fn of_clusters(clusters: &str) -> Vec<Attempt> {
    let made = |what, changes: &[(&str, Value)]| attempt(what, create(clusters.to_owned(), cluster(changes)));
    let later = |what, changes: Value| {
        let own = format!("{clusters}/{{id}}");
        attempt(what, patch(own, changes)).before(create(clusters.to_owned(), paused(&[])))
    };
    vec![
        made("a Cluster selects the victim", &[(SELECTOR, json!("victim"))]).denied(OF_VICTIM),
        made("a Cluster selects globalaccount:victim", &[(SELECTOR, json!("globalaccount:victim"))])
            .denied(OF_VICTIM),
        made(
            "a Cluster selects the victim twice over",
            &[(SELECTOR, json!("globalaccount:globalaccount:victim"))],
        )
        .refused(422, "subscriptionSelector in body should match"),
        made("a Cluster selects a list of tenants", &[(SELECTOR, json!("intruder,victim"))])
            .refused(422, "subscriptionSelector in body should match"),
        made("a Cluster selects the victim in other letters", &[(SELECTOR, json!("VICTIM"))])
            .denied("does not belong to tenant VICTIM"),
        made("a Cluster selects the victim after a space", &[(SELECTOR, json!("globalaccount: victim"))])
            .refused(422, "subscriptionSelector in body should match"),
        made("a Cluster selects a tenant that nobody has", &[(SELECTOR, json!("invented"))])
            .denied("does not belong to tenant invented"),
        made(
            "a Cluster shares in the victim's name",
            &[(SELECTOR, json!("shared")), (LABEL, json!("victim"))],
        )
        .denied(OF_VICTIM),
        made("a Cluster is labelled for the victim", &[(LABEL, json!("victim"))]).denied(DIFFER),
        made(
            "a Cluster selects the victim, and is labelled for its own tenant",
            &[(SELECTOR, json!("victim")), (LABEL, json!("intruder"))],
        )
        .denied(DIFFER),
        made(
            "a Cluster whose name the server makes selects the victim",
            &[
                (SELECTOR, json!("victim")),
                ("/metadata/name", Value::Null),
                ("/metadata/generateName", json!("{id}-")),
            ],
        )
        .denied(OF_VICTIM),
        later(
            "a Cluster is labelled for the victim later",
            json!({ "metadata": {
                "labels": { "globalaccountid": "victim" }, "annotations": { "allotment.dev/pause": null },
            }}),
        )
        .denied(DIFFER),
        later(
            "a Cluster selects the victim later",
            json!({
                "metadata": { "annotations": { "allotment.dev/pause": null } },
                "spec": { "infrastructure": { "subscriptionSelector": "victim" } },
            }),
        )
        .denied(OF_VICTIM),
        later(
            "a Cluster shares in the victim's name later",
            json!({
                "metadata": {
                    "labels": { "globalaccountid": "victim" }, "annotations": { "allotment.dev/pause": null },
                },
                "spec": { "infrastructure": { "subscriptionSelector": "shared" } },
            }),
        )
        .denied(OF_VICTIM),
    ]
}

fn of_requests(requests: &str) -> Vec<Attempt> {
    let made = |what, changes: &[(&str, Value)]| attempt(what, create(requests.to_owned(), request(changes)));
    let later = |what, labels: Value| {
        let own = format!("{requests}/{{id}}");
        let shared = request(&[(REQUEST_SELECTOR, json!("shared"))]);
        attempt(what, patch(own, json!({ "metadata": { "labels": labels } })))
            .before(create(requests.to_owned(), shared))
    };
    vec![
        made("a request selects the victim", &[(REQUEST_SELECTOR, json!("victim"))]).denied(OF_VICTIM),
        made("a request selects globalaccount:victim", &[(REQUEST_SELECTOR, json!("globalaccount:victim"))])
            .denied(OF_VICTIM),
        made(
            "a request shares in the victim's name",
            &[(REQUEST_SELECTOR, json!("shared")), (LABEL, json!("victim"))],
        )
        .denied(OF_VICTIM),
        made("a request is labelled for the victim", &[(LABEL, json!("victim"))]).denied(DIFFER),
        made("a request selects a tenant that nobody has", &[(REQUEST_SELECTOR, json!("invented"))])
            .denied("does not belong to tenant invented"),
        made(
            "a request refers to the victim's Cluster, in the victim's name",
            &[
                (REQUEST_SELECTOR, json!("victim")),
                (
                    "/spec/clusterRef",
                    json!({
                        "apiVersion": "operator.kyma-project.io/v1alpha1", "kind": "Cluster", "namespace": "victim", "name": "home",
                    }),
                ),
            ],
        )
        .denied(OF_VICTIM),
        later("a request is labelled for the victim later", json!({ "globalaccountid": "victim" }))
            .denied_beside(OF_VICTIM),
        attempt(
            "a request selects the victim later",
            patch(format!("{requests}/{{id}}"), json!({ "spec": { "subscriptionSelector": "victim" } })),
        )
        .before(create(requests.to_owned(), request(&[(REQUEST_SELECTOR, json!("shared"))])))
        .refused(422, "subscriptionSelector is immutable"),
    ]
}
