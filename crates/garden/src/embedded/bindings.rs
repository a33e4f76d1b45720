//! CredentialsBindings and SecretBindings: what binds Shoots to an account.

use super::{
    facts::Facts,
    json::{at, labels, text},
    kinds::{CORE, SECURITY},
    refusals::{dns_subdomain, immutable_struct, invalid, required, unsupported},
};
use allotment_apiserver::{
    auth::Attributes,
    error::{ApiError, FieldError},
    extension::Write,
};
use serde_json::{Value, json};

/// What whoever writes a SecretBinding is told.
pub(super) const DEPRECATED: &str = "SecretBinding is deprecated in favour of CredentialsBinding. For migration instructions, see: https://github.com/gardener/gardener/blob/master/docs/usage/shoot-operations/secretbinding-to-credentialsbinding-migration.md";

const PROVIDER_LABEL: &str = "provider.extensions.gardener.cloud/";

/// Decides about a write to a CredentialsBinding.
pub fn admit_credentials_binding(write: &mut Write<'_>, facts: &dyn Facts) -> Result<(), ApiError> {
    if write.verb == "delete" {
        return Ok(());
    }
    let type_ = text(write.new, "/provider/type").to_owned();
    label(write.new, &[type_]);
    let mut errors = Vec::new();
    if let Some(old) = write.old {
        for field in ["credentialsRef", "quotas", "provider"] {
            errors.extend(immutable_struct(field, write.new.get(field), old.get(field), shown(field)));
        }
    }
    errors.extend(write.metadata_errors());
    errors.extend(credentials_reference(&write.new["credentialsRef"]));
    let provider = text(write.new, "/provider/type");
    if provider.is_empty() {
        errors.push(required("provider.type", "must specify a provider type"));
    }
    if provider.contains(',') {
        errors.push(invalid("provider.type", provider, "multiple providers specified"));
    }
    refuse(write, SECURITY, errors)?;
    match write.old {
        None => refers(write, facts, &write.new["credentialsRef"], "credentialsBindingName"),
        Some(_) => Ok(()),
    }
}

/// Decides about a write to a SecretBinding.
pub fn admit_secret_binding(write: &mut Write<'_>, facts: &dyn Facts) -> Result<(), ApiError> {
    if write.verb == "delete" {
        return Ok(());
    }
    // Unlike a CredentialsBinding, it can be of several providers, or of none.
    let provider = at(write.new, "/provider").map(|provider| text(provider, "/type"));
    let types: Vec<String> =
        provider.into_iter().flat_map(|type_| type_.split(',')).map(str::to_owned).collect();
    label(write.new, &types);
    let mut errors = Vec::new();
    if let Some(old) = write.old {
        for field in ["secretRef", "quotas"] {
            errors.extend(immutable_struct(field, write.new.get(field), old.get(field), shown(field)));
        }
        if old.get("provider").is_some() {
            let (new, old) = (write.new.get("provider"), old.get("provider"));
            errors.extend(immutable_struct("provider", new, old, shown("provider")));
        }
    }
    errors.extend(write.metadata_errors());
    match text(write.new, "/secretRef/name") {
        "" => errors.push(required("secretRef.name", "must provide a name")),
        name => errors.extend(dns_subdomain("secretRef.name", name)),
    }
    if write.old.is_none() {
        match at(write.new, "/provider") {
            None => errors.push(required("provider", "must specify a provider")),
            Some(provider) if text(provider, "/type").is_empty() => {
                errors.push(required("provider.type", "must specify a provider type"));
            }
            Some(_) => {}
        }
    }
    refuse(write, CORE, errors)?;
    match write.old {
        None => refers(write, facts, &write.new["secretRef"], "secretBindingName"),
        Some(_) => Ok(()),
    }
}

/// Labels by which bindings of a provider are found.
fn label(binding: &mut Value, types: &[String]) {
    let labels = labels(binding);
    labels.retain(|name, _| !name.starts_with(PROVIDER_LABEL));
    labels.extend(types.iter().map(|type_| (format!("{PROVIDER_LABEL}{type_}"), json!("true"))));
}

fn refuse(write: &Write<'_>, group: &str, errors: Vec<FieldError>) -> Result<(), ApiError> {
    match errors.is_empty() {
        true => Ok(()),
        false => {
            Err(ApiError::invalid(group, &write.resource.kind, text(write.new, "/metadata/name"), errors))
        }
    }
}

fn credentials_reference(reference: &Value) -> Vec<FieldError> {
    let path = "credentialsRef";
    let mut errors = Vec::new();
    for (field, detail) in [("apiVersion", "must provide an apiVersion"), ("kind", "must provide a kind")] {
        if text(reference, &format!("/{field}")).is_empty() {
            errors.push(required(format!("{path}.{field}"), detail));
        }
    }
    for field in ["name", "namespace"] {
        let value = text(reference, &format!("/{field}"));
        if value.is_empty() {
            errors.push(required(format!("{path}.{field}"), &format!("must provide a {field}")));
        }
        errors.extend(dns_subdomain(&format!("{path}.{field}"), value));
    }
    let [version, kind, name, namespace] =
        ["apiVersion", "kind", "name", "namespace"].map(|field| text(reference, &format!("/{field}")));
    let known = matches!(
        (version, kind),
        ("v1", "Secret")
            | ("core.gardener.cloud/v1beta1", "InternalSecret")
            | ("security.gardener.cloud/v1alpha1", "WorkloadIdentity")
    );
    if !known {
        let shown = format!(
            "&ObjectReference{{Kind:{kind},Namespace:{namespace},Name:{name},UID:,APIVersion:{version},ResourceVersion:,FieldPath:,}}"
        );
        let kinds = [
            "/v1, Kind=Secret",
            "core.gardener.cloud/v1beta1, Kind=InternalSecret",
            "security.gardener.cloud/v1alpha1, Kind=WorkloadIdentity",
        ];
        errors.push(unsupported(path, shown, &kinds));
    }
    errors
}

/// Checks that the credentials are there, that whoever binds them may read them, and that Shoots which wait for the
/// binding are of its provider.
fn refers(write: &Write<'_>, facts: &dyn Facts, reference: &Value, field: &str) -> Result<(), ApiError> {
    let name = text(write.new, "/metadata/name");
    let own_namespace = text(write.new, "/metadata/namespace");
    let forbid = |why: String| Err(ApiError::forbidden(write.resource.group_resource(), name, why));
    let providers: Vec<&str> = text(write.new, "/provider/type").split(',').collect();
    for shoot in facts.list(CORE, "shoots", Some(own_namespace)) {
        let type_ = text(&shoot, "/spec/provider/type");
        if text(&shoot, &format!("/spec/{field}")) == name && !providers.contains(&type_) {
            return forbid(format!(
                "{} is referenced by shoot {:?}, but provider types ([{}]) do not match with the shoot provider type {type_:?}",
                write.resource.kind,
                text(&shoot, "/metadata/name"),
                providers.join(" ")
            ));
        }
    }
    let (group, plural, shown) = match text(reference, "/kind") {
        "InternalSecret" => (CORE, "internalsecrets", "internalsecrets.core.gardener.cloud"),
        "WorkloadIdentity" => (SECURITY, "workloadidentities", "workloadidentities.security.gardener.cloud"),
        _ => ("", "secrets", "secrets"),
    };
    let (namespace, credentials) = (text(reference, "/namespace"), text(reference, "/name"));
    let attributes = Attributes {
        verb: "get",
        group,
        resource: plural,
        namespace,
        name: credentials,
        ..Attributes::default()
    };
    if !facts.allowed(write.user, &attributes) {
        // The real one leaves out the kind of the binding, and keeps the space before it.
        let kind = if group.is_empty() { "Secret" } else { text(reference, "/kind") };
        return forbid(format!(" cannot reference a {kind} you are not allowed to read"));
    }
    if namespace.is_empty() {
        return forbid("the server could not find the requested resource".to_owned());
    }
    match facts.get(group, plural, namespace, credentials) {
        Some(_) => Ok(()),
        None => forbid(format!("{shown} {credentials:?} not found")),
    }
}

/// How Go shows the fields that may not change: in its own order, and a provider by its own name.
fn shown(field: &str) -> impl Fn(&Value) -> String + use<> {
    let order: &[(&str, &str)] = match field {
        "provider" => &[("type", "Type")],
        "secretRef" => &[("name", "name"), ("namespace", "namespace")],
        _ => &[("kind", "kind"), ("namespace", "namespace"), ("name", "name"), ("apiVersion", "apiVersion")],
    };
    let one = move |value: &Value| {
        let fields =
            order.iter().filter_map(|(field, shown)| Some(format!("{shown:?}:{}", value.get(field)?)));
        format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
    };
    move |value| match value {
        Value::Array(list) => format!("[{}]", list.iter().map(one).collect::<Vec<_>>().join(",")),
        value => one(value),
    }
}
