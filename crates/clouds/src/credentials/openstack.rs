//! OpenStack.

use super::{CredentialsError, Key, SecretData};
use http::Uri;
use secrecy::SecretString;
use std::net::IpAddr;

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
        let auth_url = Key("authURL", "OS_AUTH_URL").optional(data)?;
        if auth_url.as_deref().is_some_and(is_plain_text) {
            let because = "it is http, which would send the password in plain text: expected https";
            return Err(CredentialsError::Unusable("authURL", because));
        }
        Ok(Self {
            domain: Key("domainName", "OS_DOMAIN_NAME").required(data)?,
            project: Key("tenantName", "OS_PROJECT_NAME").required(data)?,
            login: login(data)?,
            auth_url,
            ca_cert,
            insecure: insecure.is_some_and(|value| value.eq_ignore_ascii_case("true")),
        })
    }
}

/// Whether a URL is not encrypted, and leads off this machine.
fn is_plain_text(url: &str) -> bool {
    let Ok(uri) = url.parse::<Uri>() else { return false };
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let is_loopback =
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    uri.scheme_str() != Some("https") && !is_loopback
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
    use super::{super::tests::data, *};

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
