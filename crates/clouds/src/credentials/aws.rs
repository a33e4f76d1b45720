//! AWS.

use super::{CredentialsError, Key, SecretData, WorkloadToken, workload::WorkloadConfig};
use crate::aws::Partition;
use secrecy::SecretString;
use serde_json::Value;
use std::{fmt, sync::Arc};

const CONFIG: &str = "aws.provider.extensions.gardener.cloud/v1alpha1";

/// Credentials of AWS.
#[derive(Clone, Debug)]
pub enum AwsCredentials {
    /// Keys, mostly those of a user.
    Keys {
        /// The keys.
        keys: AwsKeys,
        /// The region that the Secret names; it tells the partition.
        region: Option<String>,
    },
    /// A role, for the tokens of a workload identity.
    Role(AwsRole),
}

/// Keys to sign with.
#[derive(Clone, Debug)]
pub struct AwsKeys {
    /// The access key.
    pub access_key_id: SecretString,
    /// Its secret.
    pub secret_access_key: SecretString,
    /// For temporary keys.
    pub session_token: Option<SecretString>,
}

/// A role that a workload identity may assume.
#[derive(Clone)]
pub struct AwsRole {
    pub(crate) arn: String,
    pub(crate) partition: Partition,
    /// The account of the role.
    pub(crate) account: String,
    pub(crate) token: Arc<dyn WorkloadToken>,
}

impl fmt::Debug for AwsRole {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AwsRole").field("arn", &self.arn).finish_non_exhaustive()
    }
}

impl AwsCredentials {
    /// Reads them from a Secret.
    pub fn read(data: &SecretData) -> Result<Self, CredentialsError> {
        let keys = AwsKeys {
            access_key_id: Key("accessKeyID", "AWS_ACCESS_KEY_ID").required(data)?.into(),
            secret_access_key: Key("secretAccessKey", "AWS_SECRET_ACCESS_KEY").required(data)?.into(),
            session_token: None,
        };
        Ok(Self::Keys { keys, region: Key("region", "AWS_REGION").optional(data)? })
    }

    /// Those of a workload identity, from its `providerConfig` and its tokens.
    pub fn of_workload(config: &Value, token: Arc<dyn WorkloadToken>) -> Result<Self, CredentialsError> {
        let arn = WorkloadConfig::read(config, CONFIG)?.text("roleARN")?.to_owned();
        let (partition, account) = parts(&arn).ok_or(CredentialsError::NotARole)?;
        Ok(Self::Role(AwsRole { arn, partition, account, token }))
    }

    /// The partition: a role names it, the region of a Secret tells it; without one it is the commercial one.
    pub fn partition(&self) -> Partition {
        match self {
            Self::Keys { region, .. } => region.as_deref().map(Partition::of).unwrap_or_default(),
            Self::Role(role) => role.partition,
        }
    }
}

/// Partition and account of the ARN of a role: `arn:aws:iam::123456789012:role/path/name`.
fn parts(arn: &str) -> Option<(Partition, String)> {
    let mut fields = arn.splitn(6, ':');
    let (Some("arn"), Some(partition), Some("iam"), Some("")) =
        (fields.next(), fields.next(), fields.next(), fields.next())
    else {
        return None;
    };
    let (account, role) = (fields.next()?, fields.next()?.strip_prefix("role/")?);
    let is_account = account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit());
    let is_role =
        !role.is_empty() && !role.ends_with('/') && role.bytes().all(|byte| byte.is_ascii_graphic());
    let partition = Partition::named(partition).filter(|_| is_account && is_role)?;
    Some((partition, account.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{super::tests::data, *};
    use crate::Answer;
    use futures::FutureExt;
    use secrecy::ExposeSecret;
    use serde_json::json;

    #[test]
    fn both_spellings_of_aws_are_read_and_never_printed() {
        let first = [("accessKeyID", "AKIAX"), ("secretAccessKey", "hush")];
        let second =
            [("AWS_ACCESS_KEY_ID", "AKIAX"), ("AWS_SECRET_ACCESS_KEY", "hush"), ("AWS_REGION", "cn-north-1")];
        for (pairs, partition) in [(&first[..], Partition::Aws), (&second[..], Partition::China)] {
            let credentials = AwsCredentials::read(&data(pairs)).unwrap();
            assert_eq!(credentials.partition(), partition);
            let printed = format!("{credentials:?}");
            assert!(!printed.contains("hush") && !printed.contains("AKIAX"), "{printed}");
            let AwsCredentials::Keys { keys, .. } = credentials else { panic!("{printed}") };
            assert_eq!(keys.secret_access_key.expose_secret(), "hush");
        }
    }

    #[test]
    fn faults_name_keys_and_no_values() {
        let aws = |pairs: &[(&str, &str)]| AwsCredentials::read(&data(pairs)).unwrap_err();
        let both = aws(&[("accessKeyID", "a"), ("AWS_ACCESS_KEY_ID", "b"), ("secretAccessKey", "c")]);
        assert_eq!(
            both.to_string(),
            "keys accessKeyID and AWS_ACCESS_KEY_ID are both there; remove one of them"
        );
        assert_eq!(aws(&[("accessKeyID", "a")]), CredentialsError::Missing("secretAccessKey"));
        assert_eq!(
            aws(&[("accessKeyID", ""), ("secretAccessKey", "c")]),
            CredentialsError::Missing("accessKeyID")
        );
        let lines = aws(&[("accessKeyID", "a\nb"), ("secretAccessKey", "c")]);
        assert_eq!(lines.to_string(), "the value of key accessKeyID is not one line of text");
    }

    struct Token;

    impl WorkloadToken for Token {
        fn token(&self) -> Answer<'_, SecretString> {
            async { Ok(SecretString::from("eyJ.hush.hush")) }.boxed()
        }
    }

    fn role(config: &Value) -> Result<AwsCredentials, CredentialsError> {
        AwsCredentials::of_workload(config, Arc::new(Token))
    }

    fn config(arn: &str) -> Value {
        json!({ "apiVersion": CONFIG, "kind": "WorkloadIdentityConfig", "roleARN": arn })
    }

    #[test]
    fn a_role_tells_its_partition_and_its_account() {
        for (arn, partition) in [
            ("arn:aws:iam::123456789012:role/gardener", Partition::Aws),
            ("arn:aws-cn:iam::123456789012:role/some/path/gardener", Partition::China),
            ("arn:aws-us-gov:iam::123456789012:role/gardener", Partition::UsGov),
        ] {
            let credentials = role(&config(arn)).unwrap();
            assert_eq!(credentials.partition(), partition);
            let AwsCredentials::Role(role) = &credentials else { panic!("{credentials:?}") };
            assert_eq!(role.account, "123456789012");
        }
    }

    #[test]
    fn a_config_without_a_role_is_refused() {
        for arn in [
            "gardener",
            "arn:aws:iam::123456789012:user/gardener",
            "arn:aws:iam::12345:role/gardener",
            "arn:aws:iam::123456789012:role/",
            "arn:aws:sts::123456789012:assumed-role/gardener/x",
            "arn:aws-iso:iam::123456789012:role/gardener",
            "arn:aws:iam::123456789012:role/a b",
        ] {
            assert_eq!(role(&config(arn)).unwrap_err(), CredentialsError::NotARole, "{arn}");
        }
        assert_eq!(role(&config("")).unwrap_err(), CredentialsError::Missing("roleARN"));
        let mut number = config("");
        number["roleARN"] = json!(7);
        assert_eq!(role(&number).unwrap_err(), CredentialsError::NotText("roleARN"));
        let azure = "azure.provider.extensions.gardener.cloud/v1alpha1";
        let other = json!({ "apiVersion": azure, "kind": "WorkloadIdentityConfig" });
        for config in [other, json!(null), json!({ "roleARN": "arn:aws:iam::123456789012:role/gardener" })] {
            assert_eq!(role(&config).unwrap_err(), CredentialsError::OtherConfig(CONFIG));
        }
    }
}
