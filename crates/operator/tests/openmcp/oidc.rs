//! AccessRequests by OpenID Connect. Gardener's extension brings a kind to a Shoot, and a webhook that believes it; here there
//! is the kind alone, so what is seen is what the webhook would read.

use super::{
    desk::{Desk, PROVIDER},
    platform::{delete, gone, until},
};
use allotment_core::openmcp::names::hash8;
use allotment_testing::{Landscape, Outcome};
use k8s_openapi::{
    api::{
        authorization::v1::SubjectAccessReview,
        rbac::v1::{ClusterRole, ClusterRoleBinding},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client,
    api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, PostParams},
};
use serde_json::{Value, json};

const CRD: &str = "openidconnects.authentication.gardener.cloud";

fn issuers(client: &Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("authentication.gardener.cloud", "v1alpha1", "OpenIDConnect");
    Api::all_with(client.clone(), &ApiResource::from_gvk(&kind))
}

/// As much of the kind as is written here.
fn crd() -> Value {
    let text = json!({ "type": "string" });
    let spec = json!({
        "type": "object",
        "required": ["issuerURL"],
        "properties": {
            "issuerURL": text, "audiences": { "type": "array", "items": text }, "usernameClaim": text, "usernamePrefix": text,
            "groupsClaim": text, "groupsPrefix": text,
        },
    });
    let version = json!({
        "name": "v1alpha1", "served": true, "storage": true,
        "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } },
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": CRD },
        "spec": {
            "group": "authentication.gardener.cloud",
            "names": { "kind": "OpenIDConnect", "listKind": "OpenIDConnectList", "plural": "openidconnects", "singular": "openidconnect" },
            "scope": "Cluster",
            "versions": [version],
        },
    })
}

/// Waits until the kind is served, or is not.
async fn is_served(admin: &Client, expected: bool) -> Outcome {
    until(&format!("OpenIDConnects are served: {expected}"), async || {
        match issuers(admin).list(&ListParams::default()).await {
            Ok(_) if expected => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 && !expected => Ok(()),
            other => Err(format!("{:?}", other.map(|list| list.items.len()))),
        }
    })
    .await
}

/// Whether somebody may list namespaces.
async fn may(admin: &Client, user: &str, groups: &[&str]) -> Result<bool, kube::Error> {
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": { "user": user, "groups": groups, "resourceAttributes": { "verb": "list", "resource": "namespaces" } },
    });
    let review: SubjectAccessReview = serde_json::from_value(review).unwrap();
    let answer = Api::all(admin.clone()).create(&PostParams::default(), &review).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

pub async fn a_login_is_denied_where_the_cluster_cannot_do_it_and_granted_where_it_can(
    landscape: Landscape,
) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    let (admin, own) = (desk.admin().await?, desk.platform.plot.namespace.clone());
    let crds = Api::<CustomResourceDefinition>::all(admin.clone());
    crds.delete(CRD, &DeleteParams::default()).await.ok();
    is_served(&admin, false).await?;
    let role = format!("lister-{own}");
    desk.ask(
        "a",
        json!({ "oidc": {
            "name": "idp", "issuer": "https://issuer.example.com", "clientID": "client", "extraScopes": ["offline_access"],
            "groupsPrefix": format!("{own}-g"),
            "usernamePrefix": format!("{own}-u:"),
            "roleBindings": [{
                "subjects": [{ "kind": "User", "name": "ann" }, { "kind": "Group", "name": "devs" }],
                "roleRefs": [{ "kind": "ClusterRole", "name": role }],
            }],
            "roles": [{ "name": role, "rules": [{ "apiGroups": [""], "resources": ["namespaces"], "verbs": ["list"] }] }],
        } }),
    )
    .await?;
    let why = desk.because("a", "Denied", "SecretExistsAndIsValid", "OidcNotSupported").await?;
    assert!(why.contains("shoot-oidc-service"), "{why}");
    let roles = Api::<ClusterRole>::all(admin.clone());
    assert!(roles.get_opt(&role).await?.is_none(), "nothing of it is left");

    // The extension comes, and somebody says so.
    crds.create(&PostParams::default(), &serde_json::from_value(crd())?).await?;
    is_served(&admin, true).await?;
    desk.change("a", json!({ "metadata": { "annotations": { "openmcp.cloud/operation": "reconcile" } } }))
        .await?;
    desk.granted("a").await?;
    let hash = hash8(&[&own, PROVIDER, &own, "a"]);
    let issuer = issuers(&admin).get(&hash).await?;
    assert_eq!(
        issuer.data["spec"],
        json!({
            "issuerURL": "https://issuer.example.com", "audiences": ["client"], "usernameClaim": "sub",
            "usernamePrefix": format!("{own}-u:"), "groupsClaim": "groups", "groupsPrefix": format!("{own}-g:"),
        })
    );
    // Whom the webhook lets in with these prefixes may do what was asked for.
    for (user, groups, expected) in [
        (format!("{own}-u:ann"), vec![], true),
        (format!("{own}-u:bob"), vec![format!("{own}-g:devs")], true),
        ("ann".to_owned(), vec!["devs".to_owned()], false),
    ] {
        let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
        until(&format!("{user} {groups:?} may: {expected}"), async || {
            match may(&admin, &user, &groups).await {
                Ok(found) if found == expected => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await?;
    }
    Api::<ClusterRoleBinding>::all(admin.clone()).get(&format!("openmcp:{hash}:0:0")).await?;
    // The kubeconfig holds no secret.
    assert_eq!(desk.secret("a").await?.data.unwrap().len(), 1);
    let login: Value = serde_json::from_str(&desk.kubeconfig("a").await?)?;
    assert_eq!(login["current-context"], format!("{own}--c--idp"));
    let user = &login["users"][0]["user"];
    assert_eq!((&user["exec"]["command"], user.get("token")), (&json!("kubectl"), None));
    let arguments = user["exec"]["args"].as_array().unwrap();
    assert!(arguments.contains(&json!("--oidc-extra-scope=offline_access")), "{arguments:?}");
    assert!(arguments.contains(&json!("--oidc-client-id=client")), "{arguments:?}");

    delete(&desk.platform.access_requests(), "a").await?;
    gone(&desk.platform.access_requests(), "a").await?;
    assert!(issuers(&admin).get_opt(&hash).await?.is_none() && roles.get_opt(&role).await?.is_none());
    Ok(())
}
