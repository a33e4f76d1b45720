//! Google Cloud.

use super::{CredentialsError, SecretData, WorkloadToken, workload::WorkloadConfig};
use secrecy::SecretString;
use serde_json::Value;
use std::{fmt, sync::Arc};

/// The key of a Secret; Gardener knows no other spelling.
const KEY: &str = "serviceaccount.json";

const CONFIG: &str = "gcp.provider.extensions.gardener.cloud/v1alpha1";

/// The part of a workload identity's configuration that is Google's own format.
const CREDENTIALS_CONFIG: &str = "credentialsConfig";

/// Google's own token endpoint.
const TOKEN_URI: &str = "https://oauth2.googleapis.com/token";

/// Credentials of Google Cloud.
#[derive(Clone, Debug)]
pub struct GcpCredentials {
    /// The project.
    pub project: String,
    /// How to log in.
    pub login: GcpLogin,
}

/// How to log in to Google Cloud.
#[derive(Clone, Debug)]
pub enum GcpLogin {
    /// With the key of a service account.
    Key(GcpKey),
    /// With tokens of a workload identity.
    Workload(GcpWorkload),
}

/// The key of a service account.
#[derive(Clone, Debug)]
pub struct GcpKey {
    /// The service account.
    pub client_email: String,
    /// The id of the key.
    pub private_key_id: Option<String>,
    /// The key, in PEM.
    pub private_key: SecretString,
    /// The server that exchanges a signed assertion for a token. A Secret could name any server here: the client accepts Google's only.
    pub token_uri: String,
}

/// A workload identity that Google Cloud trusts.
#[derive(Clone)]
pub struct GcpWorkload {
    /// The source of its tokens.
    pub token: Arc<dyn WorkloadToken>,
    /// The provider of the pool of identities.
    pub audience: String,
    /// The type of its tokens.
    pub subject_token_type: String,
    /// The server that exchanges its token for one of Google; the client accepts Google's only.
    pub token_url: String,
    /// The server that exchanges that for a token of a service account; the client accepts Google's only.
    pub impersonation_url: Option<String>,
}

impl fmt::Debug for GcpWorkload {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("GcpWorkload").field("audience", &self.audience).finish_non_exhaustive()
    }
}

impl GcpWorkload {
    /// The service account that it acts as.
    pub fn service_account(&self) -> Option<&str> {
        let (_, rest) = self.impersonation_url.as_deref()?.split_once("/serviceAccounts/")?;
        rest.strip_suffix(":generateAccessToken")
    }
}

impl GcpCredentials {
    /// Reads them from a Secret.
    pub fn read(data: &SecretData) -> Result<Self, CredentialsError> {
        let bytes = data.get(KEY).filter(|bytes| !bytes.is_empty()).ok_or(CredentialsError::Missing(KEY))?;
        // The reason would quote what it read.
        let json: Value = serde_json::from_slice(bytes)
            .map_err(|_| CredentialsError::Unusable(KEY, "it is not the JSON of a service account key"))?;
        let field = |name: &'static str| text(&json, name).ok_or(CredentialsError::Missing(name));
        only_googleapis(&json)?;
        if text(&json, "type").is_some_and(|kind| kind != "service_account") {
            return Err(CredentialsError::Unusable("type", "it is not service_account"));
        }
        let key = GcpKey {
            client_email: field("client_email")?,
            private_key_id: text(&json, "private_key_id"),
            private_key: key(&json)?,
            token_uri: text(&json, "token_uri").unwrap_or_else(|| TOKEN_URI.to_owned()),
        };
        Ok(Self { project: project(field("project_id")?)?, login: GcpLogin::Key(key) })
    }

    /// Reads them from the providerConfig of a workload identity, which Gardener's extension defines.
    pub fn of_workload(
        provider_config: &Value,
        token: Arc<dyn WorkloadToken>,
    ) -> Result<Self, CredentialsError> {
        let project_id = WorkloadConfig::read(provider_config, CONFIG)?.text("projectID")?.to_owned();
        let config = provider_config.get(CREDENTIALS_CONFIG);
        let config = config.ok_or(CredentialsError::Missing(CREDENTIALS_CONFIG))?;
        let field = |name: &'static str| text(config, name).ok_or(CredentialsError::Missing(name));
        only_googleapis(config)?;
        if field("type")? != "external_account" {
            return Err(CredentialsError::Unusable("type", "it is not external_account"));
        }
        let workload = GcpWorkload {
            token,
            audience: field("audience")?,
            subject_token_type: field("subject_token_type")?,
            token_url: field("token_url")?,
            impersonation_url: text(config, "service_account_impersonation_url"),
        };
        Ok(Self { project: project(project_id)?, login: GcpLogin::Workload(workload) })
    }

    /// The principal, as the cloud names it.
    pub fn principal(&self) -> &str {
        match &self.login {
            GcpLogin::Key(key) => &key.client_email,
            GcpLogin::Workload(workload) => workload.service_account().unwrap_or(&workload.audience),
        }
    }
}

/// One line of text; a header or a line of a log is forged with less.
fn text(json: &Value, name: &str) -> Option<String> {
    let text = json.get(name)?.as_str()?;
    (!text.is_empty() && !text.chars().any(char::is_control)).then(|| text.to_owned())
}

fn key(json: &Value) -> Result<SecretString, CredentialsError> {
    let key = json.get("private_key").and_then(Value::as_str).filter(|key| !key.is_empty());
    key.map(SecretString::from).ok_or(CredentialsError::Missing("private_key"))
}

/// The project is part of every path.
fn project(id: String) -> Result<String, CredentialsError> {
    let is_allowed = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || "-.:".contains(char);
    if id.chars().all(is_allowed) && !id.contains("..") {
        Ok(id)
    } else {
        Err(CredentialsError::Unusable("project_id", "it has characters that no project id has"))
    }
}

fn only_googleapis(json: &Value) -> Result<(), CredentialsError> {
    match text(json, "universe_domain") {
        Some(universe) if universe != "googleapis.com" => {
            Err(CredentialsError::Unusable("universe_domain", "only googleapis.com is supported"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::data, *};
    use crate::Answer;
    use futures::FutureExt;
    use serde_json::json;

    struct NoToken;

    impl WorkloadToken for NoToken {
        fn token(&self) -> Answer<'_, SecretString> {
            async { Ok(SecretString::from("hush")) }.boxed()
        }
    }

    fn key() -> Value {
        json!({
            "type": "service_account", "project_id": "pool-17", "client_email": "g@pool-17.iam.gserviceaccount.com",
            "private_key_id": "k1", "private_key": "-----BEGIN PRIVATE KEY-----\nhush\n-----END PRIVATE KEY-----\n",
        })
    }

    fn read(json: &Value) -> Result<GcpCredentials, CredentialsError> {
        GcpCredentials::read(&data(&[(KEY, &json.to_string())]))
    }

    #[test]
    fn a_key_is_read_and_never_printed() {
        let credentials = read(&key()).unwrap();
        assert_eq!(credentials.project, "pool-17");
        assert_eq!(credentials.principal(), "g@pool-17.iam.gserviceaccount.com");
        let GcpLogin::Key(found) = &credentials.login else { panic!("a key") };
        assert_eq!(found.token_uri, TOKEN_URI);
        let printed = format!("{credentials:?}");
        assert!(!printed.contains("hush"), "{printed}");
    }

    #[test]
    fn faults_name_keys_and_no_values() {
        let without = |name: &str| {
            let mut json = key();
            json.as_object_mut().unwrap().remove(name);
            read(&json).unwrap_err()
        };
        for name in ["project_id", "client_email", "private_key"] {
            assert_eq!(without(name).to_string(), format!("key {name} is missing"));
        }
        assert_eq!(GcpCredentials::read(&data(&[])).unwrap_err(), CredentialsError::Missing(KEY));
        let not_json = GcpCredentials::read(&data(&[(KEY, "hush")])).unwrap_err().to_string();
        assert_eq!(
            not_json,
            "serviceaccount.json cannot be used: it is not the JSON of a service account key"
        );
        let other = json!({ "project_id": "../x", "client_email": "e", "private_key": "hush" });
        assert!(read(&other).unwrap_err().to_string().starts_with("project_id cannot be used"));
        let mut elsewhere = key();
        elsewhere["universe_domain"] = json!("example.com");
        assert!(matches!(read(&elsewhere), Err(CredentialsError::Unusable("universe_domain", _))));
    }

    #[test]
    fn a_workload_identity_is_read_as_gardener_defines_it() {
        let config = json!({
            "apiVersion": CONFIG, "kind": "WorkloadIdentityConfig", "projectID": "pool-17",
            "credentialsConfig": {
                "universe_domain": "googleapis.com", "type": "external_account",
                "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/g",
                "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
                "token_url": "https://sts.googleapis.com/v1/token",
                "service_account_impersonation_url":
                    "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/g@p.iam.gserviceaccount.com:generateAccessToken",
            },
        });
        let credentials = GcpCredentials::of_workload(&config, Arc::new(NoToken)).unwrap();
        assert_eq!(credentials.principal(), "g@p.iam.gserviceaccount.com");
        let with = |key: &str, value: Value| {
            let mut config = config.clone();
            config[key] = value;
            GcpCredentials::of_workload(&config, Arc::new(NoToken)).unwrap_err()
        };
        let without = with(CREDENTIALS_CONFIG, json!({ "type": "external_account" }));
        assert_eq!(without, CredentialsError::Missing("audience"));
        assert_eq!(with("kind", json!("CloudProfileConfig")), CredentialsError::OtherConfig(CONFIG));
    }
}
