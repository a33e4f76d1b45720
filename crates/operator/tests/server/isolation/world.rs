//! A victim, a hostile tenant and the platform, each with a namespace of its own, and the three operators over all of them.

use super::super::{
    desk::{client_of, code},
    stage::until,
};
use super::{
    Done, confined,
    operators::{Operators, operators},
    policies::apply,
    table::{Facts, Known, Who},
};
use allotment_api::{
    gardener::{CredentialsBinding, KubeconfigAccess, Shoot},
    kyma::{Cluster, KubeconfigRequest, Provider, SubscriptionRequest},
    names::label,
};
use allotment_core::{pool::AccountName, tenancy::Tenancy};
use allotment_operator::ledger::{Ledger, Place};
use allotment_testing::{Landscape, Plot, client};
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, PostParams},
    config::{AuthInfo, Kubeconfig},
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The hostile tenant's own Cluster.
pub const OWN: &str = "own";
/// The platform's Cluster.
pub const PLATFORM: &str = "office";
/// The victim's Cluster, and its access to it.
const HOME: &str = "home";

/// Everything that attempts are made on.
pub struct World {
    pub plot: Plot,
    ledger: Ledger,
    tenant: Client,
    wide: Client,
    admin: Client,
    operators: Operators,
}

impl World {
    pub async fn new(landscape: &Landscape) -> Done<Self> {
        landscape.install_crds().await?;
        let plot = landscape.plot().await?;
        let place = Place { garden: "test".to_owned(), project: plot.garden_namespace.clone() };
        let ledger = Ledger::open("sqlite::memory:", place).await?;
        for name in ["a", "b", "c", "d", "e"] {
            plot.add_account(name, Provider::Aws, json!({ "hyperscalerType": "aws" })).await?;
        }
        plot.add_account("s", Provider::Aws, json!({ "hyperscalerType": "aws", "shared": "true" })).await?;
        let admin = confined::administrator(landscape, namespaces(&plot).into_iter().collect()).await?;
        let operators = operators(&plot, &ledger, &admin, tenancy(&plot))?;
        let nobody = landscape.control_plane.clone();
        let mut world = Self { plot, ledger, tenant: nobody.clone(), wide: nobody, admin, operators };
        world.settle().await?;
        world.tenant = user(landscape, &world.hostile(), "tenant").await?;
        world.wide = user(landscape, &world.hostile(), "wide").await?;
        Ok(world)
    }

    /// Ends the operators as a crash would, and starts others.
    pub fn restart(&mut self) -> Done<()> {
        self.operators = operators(&self.plot, &self.ledger, &self.admin, self.tenancy())?;
        Ok(())
    }

    /// The requests of the hostile namespace that count in an account.
    pub async fn counted(&self, account: &str) -> Done<Vec<String>> {
        let row = self.ledger.account(&AccountName::new(account)).await?;
        let all = row.into_iter().flat_map(|row| row.assignments).map(|it| it.request);
        Ok(all.filter(|it| it.namespace == self.hostile()).map(|it| it.to_string()).collect())
    }

    /// Makes the namespaces, and what everybody has by right.
    async fn settle(&self) -> Done<()> {
        for namespace in [self.hostile(), self.victim(), self.platform()] {
            let object =
                json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
            apply(&self.plot, &object).await?;
        }
        for role in self.roles() {
            apply(&self.plot, &role).await?;
        }
        let issuer =
            json!({ "clientID": "c", "issuerURL": "https://issuer.example.com", "usernameClaim": "sub" });
        let victims = [("/metadata/name", json!(HOME)), ("/spec/oidcConfig", issuer)];
        for (namespace, tenant, changes) in [
            (self.victim(), "victim", &victims[..]),
            (self.hostile(), "intruder", &[("/metadata/name", json!(OWN))]),
            (self.platform(), "landlord", &[("/metadata/name", json!(PLATFORM))]),
        ] {
            let selector =
                ("/spec/infrastructure/subscriptionSelector", json!(format!("globalaccount:{tenant}")));
            let cluster = super::table::with(super::table::cluster(changes), &[selector]);
            self.clusters(&namespace)
                .create(&PostParams::default(), &serde_json::from_value(cluster)?)
                .await?;
        }
        for (namespace, name) in [(self.victim(), HOME), (self.hostile(), OWN), (self.platform(), PLATFORM)] {
            self.ready(&namespace, name).await?;
        }
        let access = super::table::access_to(&[
            ("/metadata/name", json!(HOME)),
            ("/spec/cluster", json!(HOME)),
            ("/spec/clusterRole/rules", super::table::harmless()),
        ]);
        self.accesses().create(&PostParams::default(), &serde_json::from_value(access)?).await?;
        until("the victim has access", async || {
            let access = self.accesses().get(HOME).await.map_err(|error| error.to_string())?;
            let status = access.status.clone().unwrap_or_default();
            status.kubeconfig.map(drop).ok_or_else(|| format!("{:?}", access.status))
        })
        .await
    }

    async fn ready(&self, namespace: &str, name: &str) -> Done<()> {
        let api = self.clusters(namespace);
        until(&format!("Cluster {name} is ready"), async || {
            let cluster = json!(api.get(name).await.map_err(|error| error.to_string())?);
            if cluster["status"]["phase"] == "Ready" { Ok(()) } else { Err(cluster["status"].to_string()) }
        })
        .await
    }

    /// The chart's role for tenants, with Secrets; and one with everything of our groups, as it is often handed out.
    fn roles(&self) -> Vec<Value> {
        let (namespace, prefix) = (self.hostile(), &self.plot.namespace);
        let verbs = ["get", "list", "watch", "create", "patch", "delete"];
        let groups = ["operator.kyma-project.io", "control-plane.kyma-project.io", "allotment.dev"];
        let secrets = json!({ "apiGroups": [""], "resources": ["secrets"], "verbs": verbs });
        let events =
            json!({ "apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["get", "list"] });
        let edit = json!([
            { "apiGroups": [groups[0]], "resources": ["clusters", "kubeconfigrequests"], "verbs": verbs },
            { "apiGroups": [groups[1]], "resources": ["subscriptionrequests"], "verbs": verbs },
            secrets, events,
        ]);
        let wide = json!([{ "apiGroups": groups, "resources": ["*"], "verbs": ["*"] }, secrets, events]);
        let rbac = "rbac.authorization.k8s.io";
        let of = |user: &str, rules: Value| {
            let name = format!("{prefix}.{user}");
            [
                json!({
                    "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                    "metadata": { "name": name }, "rules": rules,
                }),
                json!({
                    "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
                    "metadata": { "name": user, "namespace": namespace },
                    "roleRef": { "apiGroup": rbac, "kind": "ClusterRole", "name": name },
                    "subjects": [{ "kind": "ServiceAccount", "name": user, "namespace": namespace }],
                }),
                json!({
                    "apiVersion": "v1", "kind": "ServiceAccount",
                    "metadata": { "name": user, "namespace": namespace },
                }),
            ]
        };
        of("tenant", edit).into_iter().chain(of("wide", wide)).collect()
    }

    pub fn client(&self, who: Who) -> &Client {
        match who {
            Who::Tenant => &self.tenant,
            Who::Wide => &self.wide,
            Who::Platform => &self.plot.landscape.control_plane,
        }
    }

    pub fn hostile(&self) -> String {
        format!("{}-hostile", self.plot.namespace)
    }

    fn victim(&self) -> String {
        format!("{}-victim", self.plot.namespace)
    }

    fn platform(&self) -> String {
        format!("{}-platform", self.plot.namespace)
    }

    pub fn namespaces(&self) -> Vec<String> {
        namespaces(&self.plot)
    }

    pub fn tenancy(&self) -> Tenancy {
        tenancy(&self.plot)
    }

    fn clusters(&self, namespace: &str) -> Api<Cluster> {
        Api::namespaced(self.plot.landscape.control_plane.clone(), namespace)
    }

    fn requests(&self, namespace: &str) -> Api<SubscriptionRequest> {
        Api::namespaced(self.plot.landscape.control_plane.clone(), namespace)
    }

    fn accesses(&self) -> Api<KubeconfigRequest> {
        Api::namespaced(self.plot.landscape.control_plane.clone(), &self.victim())
    }

    pub async fn facts(&self) -> Done<Facts> {
        let cluster = self.clusters(&self.victim()).get(HOME).await?;
        let status = cluster.status.clone().unwrap_or_default();
        let subscription = status.subscription.ok_or("the victim has no account")?;
        let request = self.requests(&self.victim()).get(&subscription.name).await?;
        let access = self.accesses().get(HOME).await?;
        let tokens = access.status.clone().unwrap_or_default().tokens;
        let shoot = self.plot.shoots().get(&status.shoot_name.unwrap_or_default()).await?;
        Ok(Facts {
            hostile: self.hostile(),
            victim: self.victim(),
            platform: self.platform(),
            operators: self.plot.namespace.clone(),
            cluster: known(&cluster),
            request: known(&request),
            access: known(&access),
            shoot: known(&shoot),
            account: subscription.binding_name.ok_or("the victim has no account")?,
            token: tokens.first().ok_or("the victim has no token")?.secret.clone(),
        })
    }

    /// Waits until nothing of the attempts is left, and has everything reconciled once more.
    pub async fn settled(&self) -> Done<()> {
        let namespace = self.hostile();
        let (clusters, requests) = (self.clusters(&namespace), self.requests(&namespace));
        until("the attempts are gone", async || {
            let all = ListParams::default();
            let clusters = clusters.list_metadata(&all).await.map_err(|error| error.to_string())?;
            let requests = requests.list_metadata(&all).await.map_err(|error| error.to_string())?;
            let names = clusters.iter().map(ResourceExt::name_any);
            let names = names.chain(requests.iter().map(ResourceExt::name_any));
            let left: Vec<String> = names.filter(|name| !name.starts_with(OWN)).collect();
            if left.is_empty() { Ok(()) } else { Err(left.join(" ")) }
        })
        .await?;
        self.operators.cluster.resync();
        self.operators.kubeconfig.resync();
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        for (namespace, name) in [(self.victim(), HOME), (self.platform(), PLATFORM)] {
            self.ready(&namespace, name).await?;
        }
        Ok(())
    }

    /// Everything of others that an attempt could have changed.
    pub async fn others(&self) -> Done<Value> {
        let mut clusters = BTreeMap::new();
        let mut owners = BTreeSet::new();
        let mut accounts = BTreeMap::new();
        for (namespace, name) in [(self.victim(), HOME), (self.platform(), PLATFORM)] {
            let cluster = self.clusters(&namespace).get(name).await?;
            let status = cluster.status.clone().unwrap_or_default();
            let shoot = self.plot.shoots().get(&status.shoot_name.clone().unwrap_or_default()).await?;
            owners.extend(cluster.uid());
            let account = status.subscription.clone().and_then(|it| it.binding_name).unwrap_or_default();
            accounts.insert(account.clone(), self.account(&account).await?);
            let shown = json!({
                "uid": cluster.uid(), "spec": cluster.spec, "phase": status.phase, "shootUID": status.shoot_uid,
                "subscription": status.subscription, "shoot": shown(&shoot), "deleted": cluster.metadata.deletion_timestamp,
            });
            clusters.insert(name, shown);
        }
        let access = self.accesses().get(HOME).await?;
        let status = access.status.clone().unwrap_or_default();
        let code = code(&client_of(&status).await?).await;
        Ok(json!({
            "clusters": clusters, "accounts": accounts, "issuers": self.issuers(&owners).await?,
            "access": { "uid": access.uid(), "phase": status.phase, "tokens": status.tokens, "code": code },
            "holders": self.holders().await?, "intruders": self.intruders().await?,
        }))
    }

    /// An account: labels, rows of the ledger, and the Shoots in it.
    async fn account(&self, name: &str) -> Done<Value> {
        let binding = self.bindings().get(name).await?;
        let row = self.ledger.account(&AccountName::new(name)).await?;
        let row = row.map(|row| (format!("{:?}", row.holding), format!("{:?}", row.assignments)));
        let shoots = self.plot.shoots().list(&ListParams::default()).await?;
        let inside =
            shoots.iter().filter(|shoot| shoot.spec.credentials_binding_name.as_deref() == Some(name));
        let inside: Vec<String> = inside.map(ResourceExt::name_any).collect();
        Ok(
            json!({ "labels": binding.labels(), "annotations": binding.annotations(), "ledger": row, "shoots": inside }),
        )
    }

    fn bindings(&self) -> Api<CredentialsBinding> {
        Api::namespaced(self.plot.landscape.garden.clone(), &self.plot.garden_namespace)
    }

    /// Tenants that have an account.
    async fn holders(&self) -> Done<BTreeSet<String>> {
        let bindings = self.bindings().list(&ListParams::default()).await?;
        Ok(bindings.iter().filter_map(|binding| binding.labels().get("tenantName").cloned()).collect())
    }

    /// The ConfigMaps with issuers.
    async fn issuers(&self, owners: &BTreeSet<String>) -> Done<Value> {
        let maps: Api<ConfigMap> =
            Api::namespaced(self.plot.landscape.garden.clone(), &self.plot.garden_namespace);
        let maps = maps.list(&ListParams::default().labels(label::CLUSTER_UID)).await?;
        let theirs = maps
            .iter()
            .filter(|map| map.labels().get(label::CLUSTER_UID).is_some_and(|uid| owners.contains(uid)));
        let shown = theirs.map(|map| (map.name_any(), json!([map.uid(), map.labels(), map.data])));
        Ok(json!(shown.collect::<BTreeMap<_, _>>()))
    }

    /// What requests of the hostile namespace have in the victim's cluster. Shoots may have one API server in common; then this says
    /// nothing.
    async fn intruders(&self) -> Done<Vec<String>> {
        let victim = self.inside(&self.victim(), HOME).await?;
        let own = self.inside(&self.hostile(), OWN).await?;
        if server(&victim) == server(&own) {
            return Ok(Vec::new());
        }
        let accounts: Api<ServiceAccount> = Api::all(client(victim).await?);
        let granted = accounts.list(&ListParams::default().labels(label::KUBECONFIG_REQUEST)).await?;
        let hostile = self.hostile();
        let is_theirs = |account: &&ServiceAccount| {
            account.annotations().values().any(|value| value.starts_with(&hostile))
        };
        Ok(granted.iter().filter(is_theirs).map(ResourceExt::name_any).collect())
    }

    async fn inside(&self, namespace: &str, name: &str) -> Done<Kubeconfig> {
        let status = self.clusters(namespace).get(name).await?.status.unwrap_or_default();
        Ok(self.plot.kubeconfig(&status.shoot_name.unwrap_or_default(), KubeconfigAccess::Admin).await?)
    }
}

/// A client with the token of a ServiceAccount.
pub async fn user(landscape: &Landscape, namespace: &str, name: &str) -> Done<Client> {
    let accounts: Api<ServiceAccount> = Api::namespaced(landscape.control_plane.clone(), namespace);
    let asked = serde_json::from_value(json!({ "metadata": {}, "spec": { "audiences": [] } }))?;
    let answer = accounts.create_token_request(name, &PostParams::default(), &asked).await?;
    let token = answer.status.and_then(|status| status.token).ok_or("there is no token")?;
    let mut kubeconfig = Kubeconfig::read_from(&landscape.control_plane_kubeconfig)?;
    for user in &mut kubeconfig.auth_infos {
        user.auth_info = Some(AuthInfo { token: Some(token.clone().into()), ..AuthInfo::default() });
    }
    Ok(client(kubeconfig).await?)
}

fn server(kubeconfig: &Kubeconfig) -> Option<String> {
    kubeconfig.clusters.first()?.cluster.as_ref()?.server.clone()
}

fn known(object: &impl ResourceExt) -> Known {
    Known { name: object.name_any(), uid: object.uid().unwrap_or_default() }
}

fn shown(shoot: &Shoot) -> Value {
    let metadata = &shoot.metadata;
    json!({
        "uid": metadata.uid, "labels": metadata.labels, "annotations": metadata.annotations,
        "deleted": metadata.deletion_timestamp, "spec": shoot.spec,
    })
}

fn namespaces(plot: &Plot) -> Vec<String> {
    let of = |suffix: &str| format!("{}{suffix}", plot.namespace);
    vec![of(""), of("-hostile"), of("-victim"), of("-platform")]
}

pub fn tenancy(plot: &Plot) -> Tenancy {
    let of = |suffix: &str| format!("{}-{suffix}", plot.namespace);
    Tenancy {
        namespaces: BTreeMap::from([
            (of("hostile"), vec!["intruder".to_owned()]),
            (of("victim"), vec!["victim".to_owned()]),
        ]),
        platform: vec![of("platform")],
        ..Tenancy::default()
    }
}
