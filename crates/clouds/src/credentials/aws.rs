//! AWS.

use super::{CredentialsError, Key, SecretData};
use secrecy::SecretString;

/// Credentials of AWS.
#[derive(Clone, Debug)]
pub struct AwsCredentials {
    /// The access key.
    pub access_key_id: SecretString,
    /// Its secret.
    pub secret_access_key: SecretString,
    /// For temporary credentials.
    pub session_token: Option<SecretString>,
    /// The region that the Secret names; it tells the partition.
    pub region: Option<String>,
}

impl AwsCredentials {
    /// Reads them from a Secret.
    pub fn read(data: &SecretData) -> Result<Self, CredentialsError> {
        Ok(Self {
            access_key_id: Key("accessKeyID", "AWS_ACCESS_KEY_ID").required(data)?.into(),
            secret_access_key: Key("secretAccessKey", "AWS_SECRET_ACCESS_KEY").required(data)?.into(),
            session_token: None,
            region: Key("region", "AWS_REGION").optional(data)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::data, *};
    use secrecy::ExposeSecret;

    #[test]
    fn both_spellings_of_aws_are_read_and_never_printed() {
        let first = [("accessKeyID", "AKIAX"), ("secretAccessKey", "hush")];
        let second =
            [("AWS_ACCESS_KEY_ID", "AKIAX"), ("AWS_SECRET_ACCESS_KEY", "hush"), ("AWS_REGION", "cn-north-1")];
        for pairs in [&first[..], &second[..]] {
            let credentials = AwsCredentials::read(&data(pairs)).unwrap();
            assert_eq!(credentials.secret_access_key.expose_secret(), "hush");
            let printed = format!("{credentials:?}");
            assert!(!printed.contains("hush") && !printed.contains("AKIAX"), "{printed}");
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
}
