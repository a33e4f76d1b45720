//! Objects that the tenant has no rights on, and objects that mean nothing where the tenant may write them.

use super::{
    Answer, Attempt, Call, Facts, Who, accesses, attempt, cluster, clusters, create, delete, denies, get,
    own, patch, paused, request, requests, secrets,
};
use serde_json::{Value, json};

const DOES_NOTHING: &str = "does nothing: only those in the operators' namespace count";

pub fn attempts(facts: &Facts) -> Vec<Attempt> {
    let mut all = of_others(facts);
    all.extend(of_the_platform(facts));
    all.extend(as_others(facts));
    all.extend(without_meaning(facts));
    all
}

fn forbidden(what: &'static str, call: Call) -> Attempt {
    attempt(what, call).forbidden()
}

fn of_others(facts: &Facts) -> Vec<Attempt> {
    let (victims, hostile) = (&facts.victim, &facts.hostile);
    let theirs = format!("{}/{}", clusters(victims), facts.cluster.name);
    let mark = |key: &str| json!({ "metadata": { "annotations": { key: "true" } } });
    let status = |path: String, status: Value| patch(format!("{path}/status"), json!({ "status": status }));
    vec![
        forbidden("reading the victim's Cluster", get(theirs.clone())),
        forbidden("listing the victim's Clusters", get(clusters(victims))),
        forbidden(
            "listing Clusters of all namespaces",
            get("/apis/operator.kyma-project.io/v1alpha1/clusters".to_owned()),
        ),
        forbidden(
            "watching requests of all namespaces",
            get("/apis/control-plane.kyma-project.io/v1alpha1/subscriptionrequests?watch=true".to_owned()),
        ),
        forbidden(
            "reading the victim's request",
            get(format!("{}/{}", requests(victims), facts.request.name)),
        ),
        forbidden("reading the victim's access", get(format!("{}/{}", accesses(victims), facts.access.name))),
        forbidden("reading the victim's Secrets", get(secrets(victims))),
        forbidden(
            "revoking the victim's access",
            patch(
                format!("{}/{}", accesses(victims), facts.access.name),
                mark("operator.kyma-project.io/revoke"),
            ),
        ),
        forbidden("changing the victim's Cluster", patch(theirs.clone(), mark("allotment.dev/pause"))),
        forbidden("deleting the victim's Cluster", delete(theirs.clone())),
        forbidden("deleting all of the victim's requests", delete(requests(victims))),
        forbidden("writing the victim's status", status(theirs, json!({ "phase": "Failed" })).by(Who::Wide)),
        forbidden("making a Cluster in the victim's namespace", create(clusters(victims), cluster(&[]))),
        forbidden(
            "making a request in the platform's namespace",
            create(requests(&facts.platform), request(&[])),
        ),
        forbidden(
            "making a Cluster in the operators' namespace",
            create(clusters(&facts.operators), cluster(&[])),
        ),
        attempt(
            "writing the status of its own Cluster",
            status(own(&clusters(hostile)), json!({ "phase": "Ready" })),
        )
        .before(create(clusters(hostile), paused(&[])))
        .forbidden(),
        forbidden(
            "writing the status of its own request",
            status(own(&requests(hostile)), json!({ "phase": "Bound" })),
        ),
    ]
}

fn of_the_platform(facts: &Facts) -> Vec<Attempt> {
    let (hostile, operators) = (&facts.hostile, &facts.operators);
    let ours = |namespace: &str, plural: &str| {
        format!("/apis/allotment.dev/v1alpha1/namespaces/{namespace}/{plural}")
    };
    let rbac = |plural: &str| format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{hostile}/{plural}");
    let policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
    let openmcp =
        |plural: &str| format!("/apis/clusters.openmcp.cloud/v1alpha1/namespaces/{hostile}/{plural}");
    vec![
        forbidden("labelling its own Namespace", patch(format!("/api/v1/namespaces/{hostile}"), json!({ "metadata": { "labels": { "allotment.dev/tenant": "victim" } } }))),
        forbidden("making a Namespace", create("/api/v1/namespaces".to_owned(), json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "{id}" } }))),
        forbidden("an adoption in its own namespace", create(ours(hostile, "shootadoptions"), adoption(facts))),
        forbidden("an adoption in the operators' namespace", create(ours(operators, "shootadoptions"), adoption(facts)).by(Who::Wide)),
        forbidden("a lock in its own namespace", create(ours(hostile, "accesslocks"), lock(facts))),
        forbidden("a lock in the operators' namespace", create(ours(operators, "accesslocks"), lock(facts)).by(Who::Wide)),
        forbidden("lifting all locks", delete(ours(operators, "accesslocks")).by(Who::Wide)),
        forbidden("the parameter of the policies", patch(format!("{}/{operators}.isolation", ours(operators, "admissionparameters")), json!({ "spec": { "platform": [hostile] } })).by(Who::Wide)),
        forbidden("the policies", delete(format!("{policies}/{operators}.isolation.tenants")).by(Who::Wide)),
        forbidden("a Lease of the operators", patch(format!("/apis/coordination.k8s.io/v1/namespaces/{operators}/leases/cluster-operator"), json!({ "spec": { "holderIdentity": "me" } }))),
        forbidden("a wider role", create(rbac("rolebindings"), json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": { "name": "{id}" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
            "subjects": [{ "kind": "ServiceAccount", "name": "tenant", "namespace": hostile }],
        })).by(Who::Wide)),
        forbidden("a role of its own", create(rbac("roles"), json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": { "name": "{id}" },
            "rules": [{ "apiGroups": ["allotment.dev"], "resources": ["isolation"], "verbs": ["bypass"] }],
        })).by(Who::Wide)),
        forbidden("a token of another ServiceAccount", create(format!("/api/v1/namespaces/{operators}/serviceaccounts/default/token"), json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": { "audiences": [] },
        }))),
        forbidden("the definition of Clusters", patch("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/clusters.operator.kyma-project.io".to_owned(), json!({ "metadata": { "labels": { "a": "b" } } }))),
        forbidden("an AccessRequest of openMCP", create(openmcp("accessrequests"), json!({
            "apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "AccessRequest", "metadata": { "name": "{id}" },
            "spec": { "requestRef": { "name": "victim", "namespace": facts.victim } },
        }))),
        forbidden("a Cluster of openMCP", create(openmcp("clusters"), json!({
            "apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "Cluster", "metadata": { "name": "{id}" }, "spec": {},
        })).by(Who::Wide)),
    ]
}

/// With the headers of impersonation.
fn as_others(facts: &Facts) -> Vec<Attempt> {
    let list = || get(clusters(&facts.victim));
    let account = format!("system:serviceaccount:{}:tenant", facts.victim);
    vec![
        forbidden("acting as the victim", list().header("impersonate-user", &account)),
        forbidden(
            "acting as an administrator",
            list()
                .header("impersonate-user", "kubernetes-admin")
                .header("impersonate-group", "system:masters"),
        ),
        forbidden(
            "acting as a controller",
            list()
                .header("impersonate-user", "system:serviceaccount:kube-system:generic-garbage-collector")
                .by(Who::Wide),
        ),
        forbidden(
            "acting as itself in a group of administrators",
            list()
                .header("impersonate-user", &format!("system:serviceaccount:{}:tenant", facts.hostile))
                .header("impersonate-group", "system:masters"),
        ),
    ]
}

fn adoption(facts: &Facts) -> Value {
    json!({
        "apiVersion": "allotment.dev/v1alpha1", "kind": "ShootAdoption", "metadata": { "name": "{id}" },
        "spec": {
            "clusterNamespace": facts.hostile, "clusterName": super::super::world::OWN,
            "shootName": facts.shoot.name, "shootUID": facts.shoot.uid,
        },
    })
}

fn lock(facts: &Facts) -> Value {
    json!({
        "apiVersion": "allotment.dev/v1alpha1", "kind": "AccessLock", "metadata": { "name": "{id}" },
        "spec": { "namespace": facts.victim },
    })
}

/// Where a role hands out even these kinds, only those in the operators' namespace count.
fn without_meaning(facts: &Facts) -> Vec<Attempt> {
    let of = |what, plural: &str, name: &str, object: Value| {
        let path = format!("/apis/allotment.dev/v1alpha1/namespaces/{}/{plural}", facts.hostile);
        let object = super::with(object, &[("/metadata/name", json!(name))]);
        let told =
            Answer::Told { path: format!("{path}/{name}"), words: DOES_NOTHING.to_owned(), then: None };
        attempt(what, create(path, object).by(Who::Wide)).answers(denies(DOES_NOTHING), told)
    };
    let parameter = format!("{}.isolation", facts.operators);
    let parameters = json!({
        "apiVersion": "allotment.dev/v1alpha1", "kind": "AdmissionParameters", "metadata": {},
        "spec": {
            "operator": format!("system:serviceaccount:{}:tenant", facts.hostile), "platform": [facts.hostile],
            "controllers": [], "namespaceLabel": "", "namespaces": {}, "deletionProtection": false, "systemNamespaces": [],
        },
    });
    vec![
        of("an adoption by a wider role", "shootadoptions", "{id}", adoption(facts)),
        of("a parameter of the policies by a wider role", "admissionparameters", &parameter, parameters),
        of("a lock by a wider role", "accesslocks", "{id}", lock(facts)),
    ]
}
