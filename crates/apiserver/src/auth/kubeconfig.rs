//! Kubeconfigs, as JSON, which is YAML too.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// With what somebody shows who they are. It prints without its secret.
#[derive(Clone, PartialEq, Eq)]
pub enum Credentials {
    /// A client certificate and its key, as PEM.
    Certificate {
        /// The certificate.
        certificate_pem: String,
        /// The key.
        key_pem: String,
    },
    /// A token.
    Token(String),
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Certificate { certificate_pem, key_pem: _ } => f
                .debug_struct("Certificate")
                .field("certificate_pem", certificate_pem)
                .field("key_pem", &"[redacted]")
                .finish(),
            Self::Token(_) => f.write_str("Token([redacted])"),
        }
    }
}

/// A kubeconfig with one cluster, one user and one context. The cluster is called like the host of its address,
/// as `kubectl` does with those it makes itself.
pub fn kubeconfig(server_url: &str, ca_pem: &str, user: &str, credentials: &Credentials) -> Value {
    let host = server_url.split_once("://").map_or(server_url, |(_, host)| host);
    let host = host.split('/').next().unwrap_or(host);
    let context = format!("{user}@{host}");
    let secret = match credentials {
        Credentials::Certificate { certificate_pem, key_pem } => json!({
            "client-certificate-data": STANDARD.encode(certificate_pem),
            "client-key-data": STANDARD.encode(key_pem),
        }),
        Credentials::Token(token) => json!({ "token": token }),
    };
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": host,
            "cluster": { "server": server_url, "certificate-authority-data": STANDARD.encode(ca_pem) },
        }],
        "users": [{ "name": user, "user": secret }],
        "contexts": [{ "name": context, "context": { "cluster": host, "user": user } }],
        "current-context": context,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubeconfig_names_what_it_points_to() {
        let credentials = Credentials::Token("abc".to_owned());
        let config = kubeconfig("https://127.0.0.1:6443/garden", "PEM", "admin", &credentials);
        assert_eq!(config["current-context"], "admin@127.0.0.1:6443");
        assert_eq!(config["clusters"][0]["cluster"]["server"], "https://127.0.0.1:6443/garden");
        assert_eq!(config["clusters"][0]["cluster"]["certificate-authority-data"], "UEVN");
        assert_eq!(config["users"][0]["user"], json!({ "token": "abc" }));
        assert_eq!(format!("{credentials:?}"), "Token([redacted])");
    }
}
