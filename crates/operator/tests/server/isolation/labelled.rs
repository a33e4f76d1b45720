//! Tenants that are known from a label of the Namespace.

use super::{
    super::{
        desk::{client_of, code},
        stage::until,
    },
    Done, confined,
    operators::{Operators, operators},
    policies,
    table::{access_to, cluster, harmless, request, with},
    world::user,
};
use allotment_api::{
    allotment::{ListedReference, NamespacePair},
    kyma::{KubeconfigRequestStatus, Provider},
};
use allotment_core::{
    pool::{AccountName, Holding},
    tenancy::Tenancy,
};
use allotment_operator::ledger::{Ledger, Place};
use allotment_testing::{Landscape, Outcome, Plot};
use http::Request;
use kube::{Client, api::ListParams};
use serde_json::{Value, json};

const SELECTOR: &str = "/spec/infrastructure/subscriptionSelector";
const REQUEST_SELECTOR: &str = "/spec/subscriptionSelector";
const NO_TENANT: &str = "belongs to no tenant";
const NEEDS_VERB: &str = "setting it needs the verb assign-tenant on namespaces";

/// Namespaces `one` and `two` with the label, and `bare` without; `clerk` may change Namespaces, `keeper` may also assign tenants.
struct Street {
    plot: Plot,
    ledger: Ledger,
    /// Nobody else has this label: API servers are shared.
    label: String,
    clerk: Client,
    keeper: Client,
    _operators: Operators,
}

pub async fn a_label_of_the_namespace_says_which_tenant_it_has(landscape: Landscape) -> Outcome {
    let street = Street::new(&landscape).await?;
    let done = street.walk().await;
    policies::clear_away(&street.plot).await?;
    done
}

impl Street {
    async fn new(landscape: &Landscape) -> Done<Self> {
        landscape.install_crds().await?;
        let plot = landscape.plot().await?;
        let place = Place { garden: "test".to_owned(), project: plot.garden_namespace.clone() };
        let ledger = Ledger::open("sqlite::memory:", place).await?;
        for name in ["a", "b", "c"] {
            plot.add_account(name, Provider::Aws, json!({ "hyperscalerType": "aws" })).await?;
        }
        let label = format!("{}.example.com/tenant", plot.namespace);
        for (namespace, tenant) in [("one", Some("t-1")), ("two", Some("t-2")), ("bare", None)] {
            let labels = tenant.map(|tenant| json!({ &label: tenant }));
            policies::apply(
                &plot,
                &json!({
                    "apiVersion": "v1", "kind": "Namespace",
                    "metadata": { "name": format!("{}-{namespace}", plot.namespace), "labels": labels },
                }),
            )
            .await?;
        }
        let clerk = json!([
            { "apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "create", "patch"] },
            { "apiGroups": ["operator.kyma-project.io"], "resources": ["clusters"], "verbs": ["create"] },
            { "apiGroups": ["clusters.openmcp.cloud"], "resources": ["accessrequests"], "verbs": ["create"] },
        ]);
        let keeper = json!([
            { "apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "create", "patch", "assign-tenant"] },
        ]);
        for (name, rules) in [("clerk", clerk), ("keeper", keeper)] {
            for object in official(&plot, name, &rules) {
                policies::apply(&plot, &object).await?;
            }
        }
        let (clerk, keeper) = (
            user(landscape, &plot.namespace, "clerk").await?,
            user(landscape, &plot.namespace, "keeper").await?,
        );
        let namespaces = ["", "-one", "-two", "-bare"].map(|suffix| format!("{}{suffix}", plot.namespace));
        let admin = confined::administrator(landscape, namespaces.into_iter().collect()).await?;
        let tenancy = Tenancy { namespace_label: Some(label.clone()), ..Tenancy::default() };
        let operators = operators(&plot, &ledger, &admin, tenancy)?;
        Ok(Self { plot, ledger, label, clerk, keeper, _operators: operators })
    }

    async fn walk(&self) -> Outcome {
        self.a_namespace_has_the_tenant_of_its_label().await?;
        self.only_holders_of_the_verb_assign_tenants().await?;
        self.a_lost_label_takes_nothing_away().await
    }

    async fn a_namespace_has_the_tenant_of_its_label(&self) -> Outcome {
        let home = |tenant: &str| cluster(&[("/metadata/name", json!("home")), (SELECTOR, json!(tenant))]);
        self.admin("POST", &self.clusters("one", ""), home("t-1")).await?;
        let ready =
            self.becomes(&self.clusters("one", "/home"), |it| it["status"]["phase"] == "Ready").await?;
        let account = ready["status"]["subscription"]["bindingName"].as_str().unwrap_or_default();
        assert_eq!(self.holder(account).await?.as_deref(), Some("t-1"));
        let access = access_to(&[
            ("/metadata/name", json!("home")),
            ("/spec/cluster", json!("home")),
            ("/spec/clusterRole/rules", harmless()),
        ]);
        self.admin("POST", &self.accesses("one", ""), access).await?;
        self.becomes(&self.accesses("one", "/home"), |it| it["status"]["phase"] == "Issued").await?;
        // Neither the name of another tenant, nor one's own in a namespace that has no tenant.
        let other = with(home("t-2"), &[("/metadata/name", json!("other"))]);
        self.admin("POST", &self.clusters("one", ""), other).await?;
        self.says(&self.clusters("one", "/other"), "does not belong to tenant t-2; use one of its own: t-1")
            .await?;
        for (namespace, tenant, words) in
            [("one", "t-2", "does not belong to tenant t-2"), ("bare", "t-3", NO_TENANT)]
        {
            self.ask(namespace, "early", tenant).await?;
            let denied = self.becomes(&self.requests(namespace, "/early"), is_in("Denied")).await?;
            assert!(denied["status"].to_string().contains(words), "{denied}");
        }
        assert_eq!(self.holders().await?, ["t-1"]);
        Ok(())
    }

    async fn only_holders_of_the_verb_assign_tenants(&self) -> Outcome {
        let tenancy = Tenancy { namespace_label: Some(self.label.clone()), ..Tenancy::default() };
        let namespaces =
            ["-one", "-two", "-bare", "-new"].map(|suffix| format!("{}{suffix}", self.plot.namespace));
        let name = |name: &str| format!("{}-{name}", self.plot.namespace);
        policies::install(&self.plot, &tenancy, &namespaces, |parameter| {
            parameter.cross_namespace = [("two", "*-one"), ("bare", "*")]
                .map(|(from, to)| NamespacePair { from: name(from), to: to.to_owned() })
                .to_vec();
            parameter.references = [("Secret", "dns"), ("Extension", "shoot-*")]
                .map(|(kind, name)| ListedReference { kind: kind.to_owned(), name: name.to_owned() })
                .to_vec();
        })
        .await?;
        let labelled = |tenant: Value| json!({ "metadata": { "labels": { &self.label: tenant } } });
        let patch = "application/merge-patch+json";
        // The server learns of policies by watching. Probes are dry runs.
        until("a policy guards the label", async || {
            let probe = format!("{}?dryRun=All", self.namespace("one"));
            match send(&self.clerk, "PATCH", &probe, patch, labelled(json!("t-2"))).await {
                Err((422, message)) if message.contains(NEEDS_VERB) => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await?;
        for (namespace, tenant) in [("one", json!("t-2")), ("two", Value::Null), ("bare", json!("t-3"))] {
            let refused =
                send(&self.clerk, "PATCH", &self.namespace(namespace), patch, labelled(tenant)).await;
            assert!(matches!(&refused, Err((422, message)) if message.contains(NEEDS_VERB)), "{refused:?}");
        }
        let new = with(
            labelled(json!("t-2")),
            &[("/metadata/name", json!(format!("{}-new", self.plot.namespace)))],
        );
        let refused = send(&self.clerk, "POST", "/api/v1/namespaces", "application/json", new).await;
        assert!(matches!(&refused, Err((422, message)) if message.contains(NEEDS_VERB)), "{refused:?}");
        let harmless = json!({ "metadata": { "labels": { "team": "blue" } } });
        sent(send(&self.clerk, "PATCH", &self.namespace("one"), patch, harmless).await)?;
        // The policies read the same label.
        let other = cluster(&[("/metadata/name", json!("refused")), (SELECTOR, json!("t-2"))]);
        let (path, words) =
            (self.clusters("one", "?dryRun=All"), "does not belong to tenant t-2; use one of its own: t-1");
        // Each policy comes into force by itself.
        until("a policy reads the label", async || {
            match send(&self.clerk, "POST", &path, "application/json", other.clone()).await {
                Err((422, message)) if message.contains(words) => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await?;
        self.references_stay_in_their_namespace().await?;
        self.templates_that_are_allowed_pass().await?;
        // Whoever holds the verb assigns, and whoever waited for it is served.
        sent(send(&self.keeper, "PATCH", &self.namespace("bare"), patch, labelled(json!("t-3"))).await)?;
        self.becomes(&self.requests("bare", "/early"), is_in("Bound")).await?;
        assert_eq!(self.holders().await?, ["t-1", "t-3"]);
        Ok(())
    }

    /// Also those of another shape than a Shoot has: the operator tells about them.
    async fn templates_that_are_allowed_pass(&self) -> Outcome {
        let path = self.clusters("one", "?dryRun=All");
        let of = |secret: &str, extension: &str| {
            json!({
                "dns": { "providers": [{ "type": "aws-route53", "secretName": secret }] },
                "extensions": [{ "type": extension }],
            })
        };
        let pool = json!({ "name": "cpu-worker-0", "maximum": 5, "machine": { "image": { "name": "gardenlinux" } } });
        for (spec, refused) in [
            (json!({ "purpose": "testing", "kubernetes": { "kubeProxy": { "mode": "IPVS" } } }), None),
            (json!({ "provider": { "type": "aws", "workers": [pool] } }), None),
            (json!({ "dns": null, "kubernetes": [], "extensions": { "a": "b" }, "resources": ["x"] }), None),
            (json!("nothing"), None),
            (of("dns", "shoot-dns-service"), None),
            (of("others", "shoot-dns-service"), Some("spec.dns.providers[].secretName: it names an object")),
            (of("dns", "other"), Some("spec.extensions[].type: it names an object")),
            (
                json!({ "provider": { "workers": [{ "machine": { "image": { "providerConfig": {} } } }] } }),
                Some("spec.provider.workers[].machine.image.providerConfig: only the platform may set it"),
            ),
        ] {
            let changes = [
                ("/metadata/name", json!("templated")),
                (SELECTOR, json!("t-1")),
                ("/spec/shootTemplate/spec", spec.clone()),
            ];
            until("a template is judged", async || {
                let answer = send(&self.clerk, "POST", &path, "application/json", cluster(&changes)).await;
                match (refused, &answer) {
                    (None, Ok(_)) => Ok(()),
                    (Some(words), Err((422, message)))
                        if message.contains(&format!("spec.shootTemplate.{words}")) =>
                    {
                        Ok(())
                    }
                    _ => Err(format!("{spec}: {answer:?}")),
                }
            })
            .await?;
        }
        Ok(())
    }

    async fn references_stay_in_their_namespace(&self) -> Outcome {
        let space = |name: &str| format!("{}-{name}", self.plot.namespace);
        let path = |namespace: &str| {
            format!(
                "/apis/clusters.openmcp.cloud/v1alpha1/namespaces/{}/accessrequests?dryRun=All",
                space(namespace)
            )
        };
        for (field, from, to, is_allowed) in [
            ("requestRef", "one", "two", false),
            ("clusterRef", "one", "two", false),
            ("requestRef", "one", "one", true),
            ("clusterRef", "two", "one", true),
            ("requestRef", "bare", "two", true),
        ] {
            let asked = json!({
                "apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "AccessRequest", "metadata": { "name": "x" },
                "spec": { "token": {}, field: { "name": "y", "namespace": space(to) } },
            });
            let words =
                format!("spec.{field}: namespace {} may not refer to namespace {}", space(from), space(to));
            until("a reference is judged", async || {
                let answer = send(&self.clerk, "POST", &path(from), "application/json", asked.clone()).await;
                let is_refused = matches!(&answer, Err((422, message)) if message.contains(&words));
                if is_refused != is_allowed && answer.is_ok() == is_allowed {
                    return Ok(());
                }
                Err(format!("{field} {from} {to}: {answer:?}"))
            })
            .await?;
        }
        Ok(())
    }

    async fn a_lost_label_takes_nothing_away(&self) -> Outcome {
        let before = self.everything_of_one().await?;
        let patch = "application/merge-patch+json";
        let lost = json!({ "metadata": { "labels": { &self.label: null } } });
        sent(send(&self.keeper, "PATCH", &self.namespace("one"), patch, lost).await)?;
        let home = self.clusters("one", "/home");
        let told = self.becomes(&home, |it| allowed(it) == Some("False")).await?;
        assert!(told["status"]["conditions"].to_string().contains(NO_TENANT), "{told}");
        let own = before["request"].as_str().unwrap_or_default();
        self.becomes(&self.requests("one", &format!("/{own}")), |it| allowed(it) == Some("False")).await?;
        self.says(&self.accesses("one", "/home"), "it is not renewed").await?;
        // Nothing new.
        self.ask("one", "late", "t-1").await?;
        let denied = self.becomes(&self.requests("one", "/late"), is_in("Denied")).await?;
        assert!(denied["status"].to_string().contains(NO_TENANT), "{denied}");
        let access = access_to(&[
            ("/metadata/name", json!("late")),
            ("/spec/cluster", json!("home")),
            ("/spec/clusterRole/rules", harmless()),
        ]);
        self.admin("POST", &self.accesses("one", ""), access).await?;
        let denied = self.becomes(&self.accesses("one", "/late"), is_in("Denied")).await?;
        assert!(denied["status"].to_string().contains(NO_TENANT), "{denied}");
        // And nothing less.
        assert_eq!(self.everything_of_one().await?, before);
        let found = json!({ "metadata": { "labels": { &self.label: "t-1" } } });
        sent(send(&self.keeper, "PATCH", &self.namespace("one"), patch, found).await)?;
        self.becomes(&home, |it| allowed(it).is_none()).await?;
        self.becomes(&self.requests("one", "/late"), is_in("Bound")).await?;
        Ok(())
    }

    /// The Cluster with its Shoot, its account and its access.
    async fn everything_of_one(&self) -> Done<Value> {
        let cluster = sent(self.read(&self.clusters("one", "/home")).await)?;
        let status = &cluster["status"];
        let shoot = self.plot.shoots().get(status["shootName"].as_str().unwrap_or_default()).await?;
        let account = status["subscription"]["bindingName"].as_str().unwrap_or_default();
        let row = self.ledger.account(&AccountName::new(account)).await?.ok_or("the ledger has no row")?;
        let assigned: Vec<String> = row.assignments.iter().map(|it| it.request.uid.to_string()).collect();
        let access = sent(self.read(&self.accesses("one", "/home")).await)?;
        let granted: KubeconfigRequestStatus = serde_json::from_value(access["status"].clone())?;
        Ok(json!({
            "phase": status["phase"], "shoot": shoot.metadata.uid, "deleted": shoot.metadata.deletion_timestamp,
            "request": status["subscription"]["name"], "account": account, "holder": self.holder(account).await?,
            "is_claimed": matches!(row.holding, Holding::Claimed(_)), "assigned": assigned,
            "access": granted.phase, "tokens": granted.tokens, "code": code(&client_of(&granted).await?).await,
        }))
    }

    async fn ask(&self, namespace: &str, name: &str, tenant: &str) -> Done<()> {
        let asked = request(&[("/metadata/name", json!(name)), (REQUEST_SELECTOR, json!(tenant))]);
        self.admin("POST", &self.requests(namespace, ""), asked).await
    }

    /// Tenants that have an account.
    async fn holders(&self) -> Done<Vec<String>> {
        let all = self.bindings().list(&ListParams::default()).await?;
        let holders =
            all.iter().filter_map(|binding| binding.metadata.labels.as_ref()?.get("tenantName").cloned());
        let mut holders: Vec<String> = holders.collect();
        holders.sort();
        Ok(holders)
    }

    async fn holder(&self, account: &str) -> Done<Option<String>> {
        let binding = self.bindings().get(account).await?;
        Ok(binding.metadata.labels.and_then(|labels| labels.get("tenantName").cloned()))
    }

    fn bindings(&self) -> kube::Api<allotment_api::gardener::CredentialsBinding> {
        kube::Api::namespaced(self.plot.landscape.garden.clone(), &self.plot.garden_namespace)
    }

    fn namespace(&self, name: &str) -> String {
        format!("/api/v1/namespaces/{}-{name}", self.plot.namespace)
    }

    fn clusters(&self, namespace: &str, rest: &str) -> String {
        super::table::clusters(&format!("{}-{namespace}", self.plot.namespace)) + rest
    }

    fn requests(&self, namespace: &str, rest: &str) -> String {
        super::table::requests(&format!("{}-{namespace}", self.plot.namespace)) + rest
    }

    fn accesses(&self, namespace: &str, rest: &str) -> String {
        super::table::accesses(&format!("{}-{namespace}", self.plot.namespace)) + rest
    }

    async fn admin(&self, method: &str, path: &str, body: Value) -> Done<()> {
        let client = &self.plot.landscape.control_plane;
        sent(send(client, method, path, "application/json", body).await).map(drop)
    }

    async fn read(&self, path: &str) -> Result<Value, (u16, String)> {
        send(&self.plot.landscape.control_plane, "GET", path, "application/json", Value::Null).await
    }

    async fn says(&self, path: &str, words: &str) -> Done<Value> {
        self.becomes(path, |object| object["status"]["conditions"].to_string().contains(words)).await
    }

    async fn becomes(&self, path: &str, is: impl Fn(&Value) -> bool) -> Done<Value> {
        until(path, async || match self.read(path).await {
            Ok(object) if is(&object) => Ok(object),
            Ok(object) => Err(object["status"].to_string()),
            Err((code, message)) => Err(format!("{code} {message}")),
        })
        .await
    }
}

/// A ServiceAccount with these rights everywhere.
fn official(plot: &Plot, name: &str, rules: &Value) -> [Value; 3] {
    let (namespace, full) = (&plot.namespace, format!("{}.{name}", plot.namespace));
    let rbac = "rbac.authorization.k8s.io";
    [
        json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": name, "namespace": namespace },
        }),
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": { "name": full }, "rules": rules,
        }),
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": { "name": full },
            "roleRef": { "apiGroup": rbac, "kind": "ClusterRole", "name": full },
            "subjects": [{ "kind": "ServiceAccount", "name": name, "namespace": namespace }],
        }),
    ]
}

async fn send(
    client: &Client,
    method: &str,
    path: &str,
    kind: &str,
    body: Value,
) -> Result<Value, (u16, String)> {
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request = Request::builder().method(method).uri(path).header("content-type", kind).body(body);
    let request = request.map_err(|error| (0, error.to_string()))?;
    client.request(request).await.map_err(|error| match error {
        kube::Error::Api(status) => (status.code, status.message.clone()),
        error => (0, error.to_string()),
    })
}

fn sent(answer: Result<Value, (u16, String)>) -> Done<Value> {
    answer.map_err(|(code, message)| format!("{code} {message}").into())
}

fn is_in(phase: &'static str) -> impl Fn(&Value) -> bool {
    move |object| object["status"]["phase"] == phase
}

/// What the condition about the tenant says, where there is one.
fn allowed(object: &Value) -> Option<&str> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions.iter().find(|it| it["type"] == "TenantAllowed")?["status"].as_str()
}
