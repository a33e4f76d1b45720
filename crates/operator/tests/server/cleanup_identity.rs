//! Returned accounts whose credentials are no Secret: a WorkloadIdentity, for which the garden signs tokens, or an InternalSecret.

use super::{
    cleanup::{PATIENCE, REGION, new_account},
    overheard::{Overheard, OwnClient, shows_no_secret},
    returned::{
        account, cleaner, free, give_back, is_free, policy, start_cleaner, stuck_with, taken_in, until,
        use_account,
    },
    stage::{Fault, Stage},
};
use allotment_api::{gardener::InternalSecret, kyma::Provider};
use allotment_clouds::http::Rates;
use allotment_core::cleanup::{Cloud as CloudName, Mode, ShootHistory};
use allotment_operator::{
    cleanup::{Clouds, GardenClouds, OpenAccount},
    subscription::{CredentialsKind, CredentialsName},
};
use allotment_testing::{AwsAccount, Landscape, Outcome, Search, client};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::{Api, Client, api::PostParams, config::Kubeconfig};
use serde_json::{Value, json};
use std::sync::Arc;

const AUDIENCE: &str = "allotment-test";
const ROLE: &str = "gardener-identity";

/// How every token of the garden begins, keys of a session, and session tokens of the test cloud.
const SECRETS: [&str; 3] = ["eyJhbGciOi", "ASIA", "FQoGZXIvYXdz"];

/// A pool of one account, whose WorkloadIdentity may assume a role in the test cloud.
struct Identified {
    stage: Stage,
    cloud: AwsAccount,
}

fn clouds(garden: Client, cloud: &AwsAccount) -> GardenClouds {
    let rates = Rates { reads: 500.0, writes: 500.0 };
    GardenClouds::new(garden, rates).with_endpoint(CloudName::Aws, Some(cloud.endpoint.clone()))
}

impl Identified {
    async fn new(landscape: &Landscape) -> Result<Self, Fault> {
        let cloud = new_account()?;
        let stage = Stage::new(landscape).await?;
        let spec = json!({
            "audiences": [AUDIENCE],
            "targetSystem": { "type": "aws", "providerConfig": {
                "apiVersion": "aws.provider.extensions.gardener.cloud/v1alpha1", "kind": "WorkloadIdentityConfig",
                "roleARN": format!("arn:aws:iam::{}:role/{ROLE}", cloud.id()),
            } },
        });
        let labels = json!({ "hyperscalerType": "aws" });
        let identity = stage.plot.add_account_of_identity("a", Provider::Aws, labels, spec).await?;
        let issuer = landscape.issuer.as_ref().ok_or("the landscape has no issuer of tokens")?;
        cloud.control(
            "roles",
            &json!({
                "name": ROLE, "issuer": issuer.url, "audience": AUDIENCE, "jwks": issuer.jwks,
                "subject": identity.status.unwrap_or_default().sub,
            }),
        )?;
        Ok(Self { stage, cloud })
    }

    async fn used_and_given_back(&self) -> Result<Value, Fault> {
        use_account(&self.stage).await?;
        let made = self.cloud.script("fill", &["--region", REGION])?;
        give_back(&self.stage).await?;
        Ok(made)
    }

    fn is_empty(&self) -> Result<bool, Fault> {
        Ok(self.cloud.script("left", &[])?["empty"] == true)
    }
}

pub async fn an_account_of_a_workload_identity_is_emptied_and_claimed_by_another_tenant(
    landscape: Landscape,
) -> Outcome {
    let identified = Identified::new(&landscape).await?;
    let (stage, cloud) = (&identified.stage, &identified.cloud);
    let _subscriptions = stage.start();
    let clouds = Arc::new(clouds(landscape.garden.clone(), cloud));
    let _cleaner = start_cleaner(stage, "cleaner", policy(Mode::Delete), PATIENCE, clouds);
    assert_eq!(taken_in(stage).await?.as_str(), cloud.id());
    identified.used_and_given_back().await?;
    // Keys last an hour, and a large account longer.
    cloud.control_delete("sessions")?;
    free(stage).await?;
    assert!(identified.is_empty()?, "boto3 sees it empty");
    let proof = stage.ledger.proof(&account()).await?.unwrap();
    assert_eq!(proof.proof.account.as_str(), cloud.id());
    assert_eq!(Search::of(SECRETS).in_text(&serde_json::to_string(&proof.proof)?), None);
    stage.ask("second", "ga-2").await?;
    assert_eq!(stage.bound("second").await?, "a");
    Ok(())
}

pub async fn a_workload_identity_whose_role_is_gone_frees_nothing_and_shows_no_token(
    landscape: Landscape,
) -> Outcome {
    let identified = Identified::new(&landscape).await?;
    let (stage, cloud) = (&identified.stage, &identified.cloud);
    let _subscriptions = stage.start();
    let of = cloud.clone();
    let clouds = OwnClient::new(&landscape, move |garden| clouds(garden, &of))?;
    let overheard =
        Overheard::start(cleaner(stage, "cleaner", policy(Mode::Delete), PATIENCE, Arc::new(clouds)));
    assert_eq!(taken_in(stage).await?.as_str(), cloud.id());
    identified.used_and_given_back().await?;
    cloud.control_delete("roles")?;
    stuck_with(stage, "AccessDenied").await?;
    stuck_with(stage, "trust policy").await?;
    assert!(!identified.is_empty()?, "nobody may say that it is clean");
    assert!(is_free(stage).await.is_err());
    stage.ask("second", "ga-2").await?;
    let request = stage.request_that("second", "waits", |request| request.status.is_some()).await?;
    assert_eq!(request.status.unwrap().gardener_secret_name, None);
    let record = format!("{:?}", stage.ledger.cleaning(&account()).await?);
    assert!(record.contains("AccessDenied"), "{record}");
    shows_no_secret(stage, &overheard.stop(), &[account()], &SECRETS.map(str::to_owned)).await
}

/// What the chart grants is needed, and is enough; the texts name the right that is missing.
pub async fn the_rights_that_a_workload_identity_needs_are_those_of_the_chart(
    landscape: Landscape,
) -> Outcome {
    let Identified { stage, cloud } = Identified::new(&landscape).await?;
    let open = |garden: Client, cloud_name: CloudName, identity: &str| {
        let credentials = CredentialsName {
            kind: CredentialsKind::WorkloadIdentity,
            namespace: stage.plot.garden_namespace.clone(),
            name: identity.to_owned(),
        };
        let history = ShootHistory::Incomplete;
        let account =
            OpenAccount { name: account(), cloud: cloud_name, credentials: Some(credentials), history };
        let clouds = clouds(garden, &cloud);
        async move {
            let client = clouds.open(account).await.map_err(|error| error.to_string())?;
            client
                .whoami()
                .await
                .map(|caller| caller.account.to_string())
                .map_err(|refusal| refusal.to_string())
        }
    };
    let rule = |resource: &str, verb: &str| json!({ "apiGroups": ["security.gardener.cloud"], "resources": [resource], "verbs": [verb] });
    let (read, token) = (rule("workloadidentities", "get"), rule("workloadidentities/token", "create"));
    for (rules, expected) in [
        (json!([]), Err("grant get on workloadidentities in the garden")),
        (json!([read]), Err("grant create on workloadidentities/token in the garden")),
        (json!([read, token]), Ok(cloud.id())),
    ] {
        let garden = with_rights(&stage, &rules).await?;
        // Refusals are cached for ten seconds.
        until(&format!("{rules} leads to {expected:?}"), async || {
            match (open(garden.clone(), CloudName::Aws, "a").await, expected) {
                (Ok(id), Ok(expected)) if id == expected => Ok(()),
                (Err(because), Err(expected)) if because.contains(expected) => Ok(()),
                (other, _) => Err(format!("{other:?}")),
            }
        })
        .await?;
    }
    let garden = &landscape.garden;
    let other = open(garden.clone(), CloudName::OpenStack, "a").await.unwrap_err();
    assert!(other.ends_with("is for aws, and the account is one of openstack"), "{other}");
    let gone = open(garden.clone(), CloudName::Aws, "gone").await.unwrap_err();
    assert!(gone.ends_with("/gone is not there"), "{gone}");
    let spec = json!({ "audiences": [AUDIENCE], "targetSystem": { "type": "openstack" } });
    let labels = json!({ "hyperscalerType": "openstack" });
    stage.plot.add_account_of_identity("o", Provider::Openstack, labels, spec).await?;
    let none = open(garden.clone(), CloudName::OpenStack, "o").await.unwrap_err();
    assert!(none.ends_with("openstack has no workload identities; use a Secret"), "{none}");
    Ok(())
}

/// The garden for somebody who has only these rights in the plot.
async fn with_rights(stage: &Stage, rules: &Value) -> Result<Client, Fault> {
    let (landscape, namespace) = (&stage.plot.landscape, &stage.plot.garden_namespace);
    let user = format!("{}-cleaner-{}", stage.plot.project, rules.as_array().map_or(0, Vec::len));
    let role = serde_json::from_value(json!({ "metadata": { "name": user }, "rules": rules }))?;
    let binding = serde_json::from_value(json!({
        "metadata": { "name": user },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": user },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user }],
    }))?;
    let params = PostParams::default();
    Api::<Role>::namespaced(landscape.garden.clone(), namespace).create(&params, &role).await?;
    Api::<RoleBinding>::namespaced(landscape.garden.clone(), namespace).create(&params, &binding).await?;
    let mut kubeconfig = Kubeconfig::read_from(&landscape.garden_kubeconfig)?;
    for info in kubeconfig.auth_infos.iter_mut().filter_map(|named| named.auth_info.as_mut()) {
        info.impersonate = Some(user.clone());
    }
    Ok(client(kubeconfig).await?)
}

pub async fn an_account_of_an_internal_secret_is_emptied(landscape: Landscape) -> Outcome {
    let (stage, cloud) = (Stage::new(&landscape).await?, new_account()?);
    let namespace = &stage.plot.garden_namespace;
    let secret = serde_json::from_value(json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "InternalSecret", "metadata": { "name": "a" },
        "data": {
            "accessKeyID": k8s_openapi::ByteString(cloud.access_key_id().as_bytes().to_vec()),
            "secretAccessKey": k8s_openapi::ByteString(cloud.secret_access_key().as_bytes().to_vec()),
        },
    }))?;
    let secrets = Api::<InternalSecret>::namespaced(landscape.garden.clone(), namespace);
    secrets.create(&PostParams::default(), &secret).await?;
    let reference = json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "InternalSecret", "name": "a", "namespace": namespace,
    });
    stage.plot.bind("a", Provider::Aws, json!({ "hyperscalerType": "aws" }), reference).await?;
    let _subscriptions = stage.start();
    let clouds = Arc::new(clouds(landscape.garden.clone(), &cloud));
    let _cleaner = start_cleaner(&stage, "cleaner", policy(Mode::Delete), PATIENCE, clouds);
    assert_eq!(taken_in(&stage).await?.as_str(), cloud.id());
    use_account(&stage).await?;
    cloud.script("fill", &["--region", REGION])?;
    give_back(&stage).await?;
    free(&stage).await?;
    assert_eq!(cloud.script("left", &[])?["empty"], true);
    Ok(())
}
