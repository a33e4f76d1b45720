//! Objects that are too large, or have no shape.

use super::{
    Attempt, Facts, access_to, accesses, attempt, cluster, clusters, create, harmless, own, patch, request,
    requests,
};
use serde_json::{Value, json};

pub fn attempts(facts: &Facts) -> Vec<Attempt> {
    let (clusters, requests, accesses) =
        (clusters(&facts.hostile), requests(&facts.hostile), accesses(&facts.hostile));
    let long = || json!("x".repeat(100_000));
    let made = |what, changes: &[(&str, Value)]| attempt(what, create(clusters.clone(), cluster(changes)));
    vec![
        made("a selector of 100 kB", &[("/spec/infrastructure/subscriptionSelector", long())])
            .refused(422, "subscriptionSelector"),
        made("a region of 100 kB", &[("/spec/core/region", long())]).refused(422, "spec.core.region"),
        made("a Shoot's name of 100 kB", &[("/spec/core/shootName", long())]).refused(422, "shootName"),
        made("an administrator of 100 kB", &[("/spec/administrators", json!([long()]))])
            .refused(422, "spec.administrators"),
        made(
            "10,000 administrators",
            &[("/spec/administrators", (0..10_000).map(|number| format!("a{number}@example.com")).collect())],
        )
        .refused(422, "spec.administrators"),
        made("an annotation of 300 kB", &[("/metadata/annotations/a", json!("x".repeat(300_000)))])
            .refused(422, "metadata.annotations"),
        made("a label that is no label", &[("/metadata/labels/globalaccountid", json!("victim\nintruder"))])
            .refused(422, "metadata.labels"),
        made("a Shoot's name that leaves the project", &[("/spec/core/shootName", json!("../victim"))])
            .refused(422, "shootName"),
        attempt(
            "a request's selector of 100 kB",
            create(requests, request(&[("/spec/subscriptionSelector", long())])),
        )
        .refused(422, "subscriptionSelector"),
        attempt(
            "rules with a verb of 100 kB",
            create(
                accesses.clone(),
                access_to(&[(
                    "/spec/clusterRole/rules",
                    json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": [long()] }]),
                )]),
            ),
        )
        .refused(422, "verbs"),
        attempt(
            "1,000 rules",
            create(
                accesses.clone(),
                access_to(&[("/spec/clusterRole/rules", json!(vec![harmless()[0].clone(); 1000]))]),
            ),
        )
        .refused(422, "rules"),
        attempt(
            "access moves to another Cluster",
            patch(own(&accesses), json!({ "spec": { "cluster": facts.cluster.name } })),
        )
        .before(create(accesses.clone(), access_to(&[("/spec/clusterRole/rules", harmless())])))
        .refused(422, "cluster is immutable"),
    ]
}
