//! Every CEL rule of every kind: one good object and one bad, and the message that the bad one gets.
//!
//! The table must be complete: a rule in a CRD that has no row here fails the test, and so does a row without a rule.

mod allotment;
mod bounds;
mod kyma;
mod openmcp;

use allotment_api::crds;
use allotment_testing::{Landscape, Outcome};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, PostParams},
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A rule, and objects that keep it or break it. `good` and `bad` are merge patches over `base`.
pub(crate) struct Row {
    /// The CRD: `clusters.operator.kyma-project.io`.
    pub(crate) crd: &'static str,
    /// Where the rule stands: `spec.core.region`; `[]` for the items of a list.
    pub(crate) at: &'static str,
    /// What it says.
    pub(crate) message: &'static str,
    /// A valid object, without metadata.
    pub(crate) base: Value,
    /// What makes another valid one of it.
    pub(crate) good: Value,
    /// What breaks the rule.
    pub(crate) bad: Value,
    /// Whether `base` has to be there first: rules about changes.
    pub(crate) change: bool,
}

pub(crate) async fn hold_for_good_and_refuse_bad(landscape: Landscape) -> Outcome {
    landscape.install_crds().await?;
    let plot = landscape.plot().await?;
    let rows: Vec<Row> = kyma::rows().into_iter().chain(allotment::rows()).chain(openmcp::rows()).collect();
    assert_complete(&rows);
    for (n, row) in rows.iter().enumerate() {
        let kind = Kind::of(row.crd, &landscape.control_plane, &plot.namespace);
        let name = format!("row-{n}-{}", plot.namespace);
        let what = format!("{} {}: {}", row.crd, row.at, row.message);
        let (good, bad) =
            if row.change { kind.change(&name, row).await? } else { kind.create(&name, row).await? };
        assert_eq!(good, Ok(()), "{what}");
        let refusal = bad.expect_err(&what);
        assert!(refusal.contains(row.message), "{what}: {refusal}");
    }
    Ok(())
}

/// What schemas refuse without a rule: one bad object each, and a word that the refusal has.
pub(crate) async fn bounds_and_enums_refuse_bad(landscape: Landscape) -> Outcome {
    landscape.install_crds().await?;
    let plot = landscape.plot().await?;
    for (n, (crd, base, bad, word)) in bounds::rows().into_iter().enumerate() {
        let kind = Kind::of(crd, &landscape.control_plane, &plot.namespace);
        let name = format!("bound-{n}-{}", plot.namespace);
        assert_eq!(kind.try_create(&name, &base, true).await?, Ok(()), "{crd} {base}");
        let refusal =
            kind.try_create(&name, &merged(&base, &bad), true).await?.expect_err(&format!("{crd} {bad}"));
        assert!(refusal.contains(word), "{crd} {bad}: {refusal}");
    }
    Ok(())
}

/// One kind on a server, by its CRD.
struct Kind {
    api: Api<DynamicObject>,
    resource: ApiResource,
}

type Verdict = Result<(), String>;

impl Kind {
    fn of(name: &str, client: &Client, namespace: &str) -> Self {
        let crd = definition(name);
        let resource = ApiResource {
            group: crd.spec.group.clone(),
            version: "v1alpha1".to_owned(),
            api_version: format!("{}/v1alpha1", crd.spec.group),
            kind: crd.spec.names.kind.clone(),
            plural: crd.spec.names.plural.clone(),
        };
        let api = if crd.spec.scope == "Namespaced" {
            Api::namespaced_with(client.clone(), namespace, &resource)
        } else {
            Api::all_with(client.clone(), &resource)
        };
        Self { api, resource }
    }

    async fn create(&self, name: &str, row: &Row) -> Result<(Verdict, Verdict), kube::Error> {
        Ok((
            self.try_create(name, &merged(&row.base, &row.good), true).await?,
            self.try_create(name, &merged(&row.base, &row.bad), true).await?,
        ))
    }

    async fn change(&self, name: &str, row: &Row) -> Result<(Verdict, Verdict), kube::Error> {
        assert_eq!(self.try_create(name, &row.base, false).await?, Ok(()), "{} {}", row.crd, row.base);
        // The rules of a status are about writes to the status.
        let of_status = row.at.starts_with("status");
        if of_status {
            let verdict = self.try_change(name, &row.base, true, false).await?;
            assert_eq!(verdict, Ok(()), "{} {}", row.crd, row.base);
        }
        Ok((
            self.try_change(name, &merged(&row.base, &row.good), of_status, true).await?,
            self.try_change(name, &merged(&row.base, &row.bad), of_status, true).await?,
        ))
    }

    async fn try_create(&self, name: &str, object: &Value, dry_run: bool) -> Result<Verdict, kube::Error> {
        let parameters = PostParams { dry_run, ..PostParams::default() };
        verdict(self.api.create(&parameters, &self.object(name, None, object)).await)
    }

    async fn try_change(
        &self,
        name: &str,
        object: &Value,
        status: bool,
        dry_run: bool,
    ) -> Result<Verdict, kube::Error> {
        let version = self.api.get(name).await?.metadata.resource_version;
        let object = self.object(name, version, object);
        let parameters = PostParams { dry_run, ..PostParams::default() };
        verdict(if status {
            self.api.replace_status(name, &parameters, &object).await
        } else {
            self.api.replace(name, &parameters, &object).await
        })
    }

    fn object(&self, name: &str, version: Option<String>, object: &Value) -> DynamicObject {
        let mut whole = DynamicObject::new(name, &self.resource).data(object.clone());
        whole.metadata.resource_version = version;
        whole
    }
}

/// A refusal for what the object says is a verdict; everything else is an error of the test.
fn verdict<T>(answer: Result<T, kube::Error>) -> Result<Verdict, kube::Error> {
    match answer {
        Ok(_) => Ok(Ok(())),
        Err(kube::Error::Api(status)) if status.code == 422 || status.code == 400 => {
            Ok(Err(status.message.clone()))
        }
        Err(error) => Err(error),
    }
}

fn definition(name: &str) -> CustomResourceDefinition {
    let found = crds::all().into_iter().find(|crd| crd.metadata.name.as_deref() == Some(name));
    found.unwrap_or_else(|| panic!("there is no CRD {name}"))
}

/// RFC 7386.
fn merged(base: &Value, patch: &Value) -> Value {
    match (base, patch) {
        (Value::Object(base), Value::Object(patch)) => {
            let mut result = base.clone();
            for (key, change) in patch {
                match change {
                    Value::Null => drop(result.remove(key)),
                    change => {
                        let old = result.get(key).cloned().unwrap_or(json!({}));
                        result.insert(key.clone(), merged(&old, change));
                    }
                }
            }
            Value::Object(result)
        }
        (_, patch) => patch.clone(),
    }
}

fn assert_complete(rows: &[Row]) {
    let mut rules = BTreeSet::new();
    for crd in crds::all() {
        let schema = serde_json::to_value(&crd.spec.versions[0].schema).unwrap();
        collect(&schema["openAPIV3Schema"], String::new(), &mut |at, message| {
            rules.insert((crd.metadata.name.clone().unwrap_or_default(), at, message));
        });
    }
    let covered: BTreeSet<_> =
        rows.iter().map(|row| (row.crd.to_owned(), row.at.to_owned(), row.message.to_owned())).collect();
    let missing: Vec<_> = rules.difference(&covered).collect();
    let stale: Vec<_> = covered.difference(&rules).collect();
    assert!(
        missing.is_empty() && stale.is_empty(),
        "rules without a row: {missing:#?}\nrows without a rule: {stale:#?}"
    );
}

fn collect(schema: &Value, at: String, found: &mut impl FnMut(String, String)) {
    for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
        found(at.clone(), rule["message"].as_str().unwrap_or_default().to_owned());
    }
    for (name, child) in schema["properties"].as_object().into_iter().flatten() {
        let path = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
        collect(child, path, found);
    }
    if schema["items"].is_object() {
        collect(&schema["items"], format!("{at}[]"), found);
    }
}
