//! Access to clusters.

use super::{
    Answer, Attempt, Draft, Facts, Who, access_to, accesses, attempt, clusters, create, denies, harmless,
    own, patch, paused, secrets, until,
};
use serde_json::{Value, json};

const RULES: &str = "/spec/clusterRole/rules";
const ROLE: &str = "/spec/role";
const TAKES_OVER: &str = "can take over the cluster";
const NO_TENANT: &str = "there is none, or it is not its tenant's";
const WRITES: &str = "only the operator writes it";
const TOKENS: &str = "the status named tokens that this request never had";
const LEADS: &str = "a Role there leads to cluster-admin";

pub fn attempts(facts: &Facts) -> Vec<Attempt> {
    let mut all = in_system_namespaces(facts);
    all.extend(dangerous(facts));
    all.extend(to_others(facts));
    all.extend(forged(facts));
    all
}

fn asks(what: &'static str, facts: &Facts, changes: &[(&str, Value)]) -> Draft {
    attempt(what, create(accesses(&facts.hostile), access_to(changes)))
}

fn in_system_namespaces(facts: &Facts) -> Vec<Attempt> {
    let role = |namespace: &str| json!({ "namespace": namespace, "rules": harmless() });
    let asks = |what, role: Value| asks(what, facts, &[(ROLE, role)]);
    let collection = accesses(&facts.hostile);
    vec![
        asks("a Role in kube-system", role("kube-system")).denied_or(TAKES_OVER, LEADS),
        asks("a Role in kube-public", role("kube-public")).denied_or(TAKES_OVER, LEADS),
        asks("a Role beside the tokens of others", role("allotment-access")).denied_or(TAKES_OVER, LEADS),
        asks(
            "a Role in a system namespace that is to be made",
            json!({ "namespace": "kube-new", "createNamespace": true, "rules": harmless() }),
        )
        .denied_or(TAKES_OVER, LEADS),
        attempt(
            "a Role moves to kube-system",
            patch(own(&collection), json!({ "spec": { "role": { "namespace": "kube-system" } } })),
        )
        .before(create(collection.clone(), access_to(&[(ROLE, role("default"))])))
        .denied_or(TAKES_OVER, LEADS),
        attempt(
            "a Role in kube-system comes later",
            patch(own(&collection), json!({ "spec": { "role": role("kube-system") } })),
        )
        .before(create(collection, access_to(&[(RULES, harmless())])))
        .denied_or(TAKES_OVER, LEADS),
    ]
}

/// Rules that lead to cluster-admin: what, group, resource, verb.
const DANGEROUS: [(&str, &str, &str, &str); 16] = [
    ("escalating", "rbac.authorization.k8s.io", "clusterroles", "escalate"),
    ("binding", "rbac.authorization.k8s.io", "clusterroles", "bind"),
    ("writing bindings", "rbac.authorization.k8s.io", "clusterrolebindings", "create"),
    ("impersonating", "", "users", "impersonate"),
    ("everything", "*", "*", "*"),
    ("Secrets everywhere", "", "secrets", "get"),
    ("exec everywhere", "", "pods/exec", "create"),
    ("ephemeral containers", "", "pods/ephemeralcontainers", "patch"),
    ("workloads everywhere", "apps", "deployments", "create"),
    ("tokens of ServiceAccounts", "", "serviceaccounts/token", "create"),
    ("PersistentVolumes", "", "persistentvolumes", "create"),
    ("kubelets", "", "nodes/proxy", "get"),
    ("webhooks", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "create"),
    ("certificates", "certificates.k8s.io", "certificatesigningrequests/approval", "update"),
    ("definitions", "apiextensions.k8s.io", "customresourcedefinitions", "patch"),
    ("API services", "apiregistration.k8s.io", "apiservices", "create"),
];

fn dangerous(facts: &Facts) -> Vec<Attempt> {
    let mut all: Vec<Attempt> = DANGEROUS
        .iter()
        .map(|(what, group, resource, verb)| {
            let rules = json!([{ "apiGroups": [group], "resources": [resource], "verbs": [verb] }]);
            asks(what, facts, &[(RULES, rules)]).reported("spec.clusterRole.rules[0]")
        })
        .collect();
    let collection = accesses(&facts.hostile);
    let secrets = json!([{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["get"] }]);
    all.push(
        attempt(
            "rules grow after they were granted",
            patch(own(&collection), json!({ "spec": { "clusterRole": { "rules": secrets } } })),
        )
        .before(create(collection, access_to(&[(RULES, harmless())])))
        .reported("spec.clusterRole.rules[0]"),
    );
    all.push(
        asks(
            "the API server's memory",
            facts,
            &[(RULES, json!([{ "nonResourceURLs": ["/debug/*"], "verbs": ["get"] }]))],
        )
        .reported("spec.clusterRole.rules[0]"),
    );
    all.push(
        asks("access for years", facts, &[(RULES, harmless()), ("/spec/expiration", json!(100_000_000))])
            .reported("access.maxExpiration"),
    );
    all
}

fn to_others(facts: &Facts) -> Vec<Attempt> {
    let collection = accesses(&facts.hostile);
    let into = |namespace: &str, name: &str| {
        [(RULES, harmless()), ("/spec/cluster", json!(name)), ("/spec/clusterNamespace", json!(namespace))]
    };
    vec![
        asks("access to the victim's Cluster", facts, &into(&facts.victim, &facts.cluster.name))
            .reported(NO_TENANT),
        asks("access to a Cluster of the platform", facts, &into(&facts.platform, super::super::world::PLATFORM))
            .reported(NO_TENANT),
        asks(
            "access to the victim's Cluster by a path",
            facts,
            &[
                (RULES, harmless()),
                ("/spec/cluster", json!(format!("../{}/clusters/{}", facts.victim, facts.cluster.name))),
            ],
        )
        .reported("there is no Cluster"),
        attempt(
            "access moves to the victim's namespace",
            patch(own(&collection), json!({ "spec": { "clusterNamespace": facts.victim } })),
        )
        .before(create(collection.clone(), access_to(&[(RULES, harmless())])))
        .refused(422, "clusterNamespace is immutable"),
        asks(
            "a kubeconfig goes into a Secret that is there",
            facts,
            &[(RULES, harmless()), ("/spec/secretRef", json!({ "name": "{id}" }))],
        )
        .before(create(
            secrets(&facts.hostile),
            json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "{id}" }, "stringData": { "k": "v" } }),
        ))
        .reported("Secret {id}"),
    ]
}

fn forged(facts: &Facts) -> Vec<Attempt> {
    let collection = accesses(&facts.hostile);
    let status = |status: Value| {
        patch(format!("{}/status", own(&collection)), json!({ "status": status })).by(Who::Wide)
    };
    let elsewhere = access_to(&[(RULES, harmless()), ("/spec/cluster", json!("nowhere"))]);
    let shoot = json!({ "name": facts.shoot.name, "uid": facts.shoot.uid });
    let revoke = |value: &str| {
        let marks = json!({ "operator.kyma-project.io/revoke": value });
        patch(own(&collection), json!({ "metadata": { "annotations": marks } }))
    };
    let lock = json!({
        "apiVersion": "allotment.dev/v1alpha1", "kind": "AccessLock", "metadata": { "name": "{id}" },
        "spec": { "namespace": facts.hostile, "request": "{id}" },
    });
    let into_theirs = access_to(&[
        (RULES, harmless()),
        ("/spec/cluster", json!(facts.cluster.name)),
        ("/spec/clusterNamespace", json!(facts.victim)),
    ]);
    let not_issued =
        || Answer::Corrected { path: own(&collection), pointer: "/status/phase", value: json!("Issued") };
    let denied = |words: &str| Answer::Reported {
        path: own(&collection),
        words: words.to_owned(),
        may_be_granted: false,
    };
    let end = "2099-01-01T00:00:00Z";
    let ending = json!([
        { "secret": "other", "state": "Published", "expirationTimestamp": end },
        { "secret": facts.token, "state": "Ending", "expirationTimestamp": end },
    ]);
    let forged = json!({ "status": {
        "phase": "Ready", "apiServer": "https://api.example.com", "shootName": facts.shoot.name, "shootUID": facts.shoot.uid,
    }});
    let forged = patch(format!("{}/status", own(&clusters(&facts.hostile))), forged).by(Who::Wide);
    let locks = format!("/apis/allotment.dev/v1alpha1/namespaces/{}/accesslocks", facts.operators);
    vec![
        attempt(
            "a status says that access to the victim's Shoot was granted",
            status(json!({ "phase": "Issued", "shoot": shoot, "tokens": [{ "secret": "token", "state": "Published" }] })),
        )
        .before(create(collection.clone(), elsewhere))
        .after(revoke("true"))
        .denied_or_told_and(WRITES, TOKENS, not_issued()),
        attempt(
            "a status says that the victim's token is to be ended",
            status(json!({ "phase": "Issued", "shoot": shoot, "tokens": ending })),
        )
        .before(create(collection.clone(), into_theirs))
        .after(until(own(&collection), "/status/conditions/0"))
        .denied_or_told_and(WRITES, TOKENS, denied(NO_TENANT)),
        attempt("a Cluster's status leads into the victim's Shoot", forged)
            .before(create(clusters(&facts.hostile), paused(&[])))
            .after(create(collection.clone(), access_to(&[(RULES, harmless()), ("/spec/cluster", json!("{id}"))])))
            .answers(
                denies(WRITES),
                Answer::Reported {
                    path: own(&collection),
                    words: "another one has its name".to_owned(),
                    may_be_granted: false,
                },
            ),
        attempt("access that is locked is granted anew", revoke("false"))
            .before(create(collection.clone(), access_to(&[(RULES, harmless())])))
            .before(create(locks, lock).by(Who::Platform))
            .before(revoke("true"))
            .reported("access is locked by the platform"),
    ]
}
