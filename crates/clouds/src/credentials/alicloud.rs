//! Alibaba Cloud.

use super::{CredentialsError, Key, SecretData};
use secrecy::SecretString;

/// Credentials of Alibaba Cloud: the access key of a RAM user.
#[derive(Clone, Debug)]
pub struct AlicloudCredentials {
    /// The access key.
    pub access_key_id: SecretString,
    /// Its secret.
    pub access_key_secret: SecretString,
}

impl AlicloudCredentials {
    /// Reads them from a Secret.
    pub fn read(data: &SecretData) -> Result<Self, CredentialsError> {
        Ok(Self {
            access_key_id: Key("accessKeyID", "ACCESS_KEY_ID").required(data)?.into(),
            access_key_secret: Key("accessKeySecret", "ACCESS_KEY_SECRET").required(data)?.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::data, *};
    use secrecy::ExposeSecret;

    #[test]
    fn both_spellings_are_read_and_never_printed() {
        let first = [("accessKeyID", "LTAIX"), ("accessKeySecret", "hush")];
        let second = [("ACCESS_KEY_ID", "LTAIX"), ("ACCESS_KEY_SECRET", "hush")];
        for pairs in [first, second] {
            let credentials = AlicloudCredentials::read(&data(&pairs)).unwrap();
            assert_eq!(credentials.access_key_secret.expose_secret(), "hush");
            let printed = format!("{credentials:?}");
            assert!(!printed.contains("hush") && !printed.contains("LTAIX"), "{printed}");
        }
    }

    #[test]
    fn faults_name_keys_and_no_values() {
        let read = |pairs: &[(&str, &str)]| AlicloudCredentials::read(&data(pairs)).unwrap_err().to_string();
        assert_eq!(read(&[("accessKeyID", "hush")]), "key accessKeySecret is missing");
        let both = read(&[("accessKeyID", "a"), ("ACCESS_KEY_ID", "b"), ("accessKeySecret", "hush")]);
        assert_eq!(both, "keys accessKeyID and ACCESS_KEY_ID are both there; remove one of them");
        let lines = read(&[("accessKeyID", "a"), ("accessKeySecret", "hush\nhush")]);
        assert_eq!(lines, "the value of key accessKeySecret is not one line of text");
    }
}
