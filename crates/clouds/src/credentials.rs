//! Credentials from the data of a Secret, in both spellings that Gardener accepts.

use secrecy::SecretString;
use std::collections::BTreeMap;

/// The data of a Secret.
pub type SecretData = BTreeMap<String, Vec<u8>>;

/// Why a Secret holds no credentials. Names keys, never values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialsError {
    /// A key is missing.
    #[error("key {0} is missing")]
    Missing(&'static str),
    /// Both spellings of a key are there.
    #[error("keys {0} and {1} are both there; remove one of them")]
    BothSpellings(&'static str, &'static str),
    /// A value cannot be sent.
    #[error("the value of key {0} is not one line of text")]
    NotText(&'static str),
    /// Neither a user nor an application credential.
    #[error("username and password, or applicationCredentialID and applicationCredentialSecret, are needed")]
    NoLogin,
    /// Both a password and an application credential.
    #[error("password and applicationCredentialSecret are both there; remove one of them")]
    TwoLogins,
}

/// One key in both spellings.
#[derive(Clone, Copy)]
struct Key(&'static str, &'static str);

impl Key {
    fn optional(self, data: &SecretData) -> Result<Option<String>, CredentialsError> {
        let Self(name, alias) = self;
        let value = match (data.get(name), data.get(alias)) {
            (Some(_), Some(_)) => return Err(CredentialsError::BothSpellings(name, alias)),
            (Some(value), None) | (None, Some(value)) => value,
            (None, None) => return Ok(None),
        };
        let text = std::str::from_utf8(value).map_err(|_| CredentialsError::NotText(name))?;
        // A header or a line of a log is forged with less.
        if text.chars().any(char::is_control) {
            return Err(CredentialsError::NotText(name));
        }
        Ok((!text.is_empty()).then(|| text.to_owned()))
    }

    fn required(self, data: &SecretData) -> Result<String, CredentialsError> {
        self.optional(data)?.ok_or(CredentialsError::Missing(self.0))
    }
}

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

/// Credentials of OpenStack.
#[derive(Clone, Debug)]
pub struct OpenStackCredentials {
    /// The domain.
    pub domain: String,
    /// The project.
    pub project: String,
    /// How to log in.
    pub login: OpenStackLogin,
    /// Keystone; else it is in the CloudProfile.
    pub auth_url: Option<String>,
    /// Certificates to trust, in PEM.
    pub ca_cert: Option<String>,
    /// Whether certificates are not to be checked. A client has to refuse that, or say it.
    pub insecure: bool,
}

/// How to log in to OpenStack.
#[derive(Clone, Debug)]
pub enum OpenStackLogin {
    /// With a password.
    Password {
        /// The user.
        username: String,
        /// The password.
        password: SecretString,
    },
    /// With an application credential, by its id.
    ApplicationCredentialId {
        /// The id.
        id: String,
        /// The secret.
        secret: SecretString,
    },
    /// With an application credential, by its name, which is the user's.
    ApplicationCredentialName {
        /// The name.
        name: String,
        /// The user.
        username: String,
        /// The secret.
        secret: SecretString,
    },
}

impl OpenStackLogin {
    /// The password, or the secret of the application credential.
    pub fn secret(&self) -> &SecretString {
        match self {
            Self::Password { password: secret, .. }
            | Self::ApplicationCredentialId { secret, .. }
            | Self::ApplicationCredentialName { secret, .. } => secret,
        }
    }
}

impl OpenStackCredentials {
    /// Reads them from a Secret.
    pub fn read(data: &SecretData) -> Result<Self, CredentialsError> {
        let ca_cert = pem(data)?;
        let insecure = Key("insecure", "OS_INSECURE").optional(data)?;
        Ok(Self {
            domain: Key("domainName", "OS_DOMAIN_NAME").required(data)?,
            project: Key("tenantName", "OS_PROJECT_NAME").required(data)?,
            login: login(data)?,
            auth_url: Key("authURL", "OS_AUTH_URL").optional(data)?,
            ca_cert,
            insecure: insecure.is_some_and(|value| value.eq_ignore_ascii_case("true")),
        })
    }
}

fn login(data: &SecretData) -> Result<OpenStackLogin, CredentialsError> {
    let username = Key("username", "OS_USERNAME").optional(data)?;
    let password = Key("password", "OS_PASSWORD").optional(data)?;
    let id = Key("applicationCredentialID", "OS_APPLICATION_CREDENTIAL_ID").optional(data)?;
    let name = Key("applicationCredentialName", "OS_APPLICATION_CREDENTIAL_NAME").optional(data)?;
    let secret = Key("applicationCredentialSecret", "OS_APPLICATION_CREDENTIAL_SECRET").optional(data)?;
    match (username, password, id, name, secret) {
        (_, Some(_), _, _, Some(_)) => Err(CredentialsError::TwoLogins),
        (Some(username), Some(password), _, _, None) => {
            Ok(OpenStackLogin::Password { username, password: password.into() })
        }
        (_, None, Some(id), _, Some(secret)) => {
            Ok(OpenStackLogin::ApplicationCredentialId { id, secret: secret.into() })
        }
        (Some(username), None, None, Some(name), Some(secret)) => {
            Ok(OpenStackLogin::ApplicationCredentialName { name, username, secret: secret.into() })
        }
        _ => Err(CredentialsError::NoLogin),
    }
}

/// Certificates have several lines.
fn pem(data: &SecretData) -> Result<Option<String>, CredentialsError> {
    let (name, alias) = ("caCert", "OS_CACERT");
    let value = match (data.get(name), data.get(alias)) {
        (Some(_), Some(_)) => return Err(CredentialsError::BothSpellings(name, alias)),
        (value, None) | (None, value) => value,
    };
    let text = value.map(|value| std::str::from_utf8(value).map(str::to_owned)).transpose();
    Ok(text.map_err(|_| CredentialsError::NotText(name))?.filter(|text| !text.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret;

    fn data(pairs: &[(&str, &str)]) -> SecretData {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect()
    }

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

    #[test]
    fn openstack_logs_in_by_password_or_application_credential() {
        let base = [("domainName", "d"), ("OS_PROJECT_NAME", "p")];
        let read = |more: &[(&str, &str)]| OpenStackCredentials::read(&data(&[&base[..], more].concat()));
        let password =
            read(&[("username", "u"), ("password", "hush"), ("caCert", "a\nb"), ("insecure", "true")])
                .unwrap();
        assert!(matches!(&password.login, OpenStackLogin::Password { username, .. } if username == "u"));
        assert!(password.insecure && password.ca_cert.is_some());
        assert!(!format!("{password:?}").contains("hush"));
        let by_id =
            read(&[("applicationCredentialID", "i"), ("OS_APPLICATION_CREDENTIAL_SECRET", "s")]).unwrap();
        assert!(matches!(by_id.login, OpenStackLogin::ApplicationCredentialId { .. }));
        let by_name = read(&[
            ("OS_USERNAME", "u"),
            ("applicationCredentialName", "n"),
            ("applicationCredentialSecret", "s"),
        ]);
        assert!(matches!(by_name.unwrap().login, OpenStackLogin::ApplicationCredentialName { .. }));
        assert_eq!(read(&[("username", "u")]).unwrap_err(), CredentialsError::NoLogin);
        let both = read(&[("password", "x"), ("username", "u"), ("applicationCredentialSecret", "s")]);
        assert_eq!(both.unwrap_err(), CredentialsError::TwoLogins);
        let twice = OpenStackCredentials::read(&data(&[("domainName", "d"), ("OS_DOMAIN_NAME", "d")]));
        assert_eq!(twice.unwrap_err(), CredentialsError::BothSpellings("domainName", "OS_DOMAIN_NAME"));
    }
}
