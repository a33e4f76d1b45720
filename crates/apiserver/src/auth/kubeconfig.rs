//! Kubeconfigs, as JSON, which is YAML too.

use super::certificate::IssuedCertificate;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// A kubeconfig with one cluster, one user and one context. The cluster is called like the host of its address,
/// as `kubectl` does with those it makes itself.
pub(crate) fn kubeconfig(
    server_url: &str,
    ca_pem: &str,
    user: &str,
    credentials: &IssuedCertificate,
) -> Value {
    let host = server_url.split_once("://").map_or(server_url, |(_, host)| host);
    let host = host.split('/').next().unwrap_or(host);
    let context = format!("{user}@{host}");
    let secret = json!({
        "client-certificate-data": STANDARD.encode(credentials.certificate_pem()),
        "client-key-data": STANDARD.encode(credentials.key_pem()),
    });
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
    use crate::auth::certificate::{CertificateAuthority, KeyKind};
    use jiff::{SignedDuration, Timestamp};

    #[test]
    fn a_kubeconfig_names_what_it_points_to() {
        let mut random = |bytes: &mut [u8]| bytes.fill(7);
        let (from, until) = (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH + SignedDuration::from_hours(1));
        let authority =
            CertificateAuthority::generate(KeyKind::P256, "ca", from, until, &mut random).unwrap();
        let issued = authority.issue_client(KeyKind::P256, "admin", &[], from, until, &mut random).unwrap();
        let config = kubeconfig("https://127.0.0.1:6443/garden", "PEM", "admin", &issued);
        assert_eq!(config["current-context"], "admin@127.0.0.1:6443");
        assert_eq!(config["clusters"][0]["cluster"]["server"], "https://127.0.0.1:6443/garden");
        assert_eq!(config["clusters"][0]["cluster"]["certificate-authority-data"], "UEVN");
        assert_eq!(config["users"][0]["user"]["client-key-data"], STANDARD.encode(issued.key_pem()));
    }
}
