//! Kubeconfigs that others gave us.
//!
//! A kubeconfig can name a program to run and files to read, on the machine of whoever uses it. That machine is ours, so
//! such a kubeconfig is refused as a whole, also if the entry is not the one in use: another reader could use it.

use base64::{Engine, prelude::BASE64_STANDARD};
use http::Uri;
use secrecy::{ExposeSecret, SecretString, zeroize::Zeroizing};
use serde::{Deserialize, de::IgnoredAny};

/// The longest address of an API server that is taken. It is written to `status.apiServer`, whose schema has the same bound;
/// host names have 253 characters at most, and paths of proxies some more.
pub const LONGEST_SERVER_BYTES: usize = 1024;

/// The longest name in a certificate that is taken: names in DNS are no longer.
const LONGEST_NAME_BYTES: usize = 253;

/// The longest CA bundle that is taken. It is part of every kubeconfig that is handed out, where base64 makes two thirds more
/// of it, twice; a bundle of all public CAs has about 220 KiB.
const LONGEST_CA_BYTES: usize = 256 << 10;

/// The longest text that is read as a kubeconfig. A Secret has 1 MiB at most, so this refuses what did not come from one.
const LONGEST_TEXT_BYTES: usize = 2 << 20;

/// What is used of a kubeconfig. It prints without its secret.
#[derive(Debug)]
pub struct Given {
    /// Where the API server is: an address as in `https://host:port/path`.
    pub server: String,
    /// The name in the server's certificate, where it is not that of the address.
    pub tls_server_name: Option<String>,
    /// Who signed the server's certificate, in PEM; where there is none, it is one that everybody trusts.
    pub ca: Option<String>,
    /// Who we are there.
    pub credentials: Credentials,
}

/// Who somebody is.
#[derive(Debug)]
pub enum Credentials {
    /// A bearer token.
    Token(SecretString),
    /// A certificate and its key, in PEM.
    Certificate {
        /// It is public.
        certificate: String,
        /// It is not.
        key: SecretString,
    },
}

/// Why a kubeconfig is not taken: which field, what about it, and what to do. It never holds what the field says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} {fault}")]
pub struct Refusal {
    /// As in `users[0].user.exec`.
    pub field: String,
    /// What about it.
    pub fault: Fault,
}

/// What is wrong with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Not even text.
    #[error("is not text: put a kubeconfig there as it is in a file")]
    NotText,
    /// Not YAML, or not a kubeconfig.
    #[error(
        "cannot be read as YAML of a kubeconfig (line {line}, column {column}): see whether `kubectl --kubeconfig` reads it"
    )]
    NotYaml {
        /// Where.
        line: u64,
        /// Where.
        column: u64,
    },
    /// It would run a program, here.
    #[error("names a program to run, which is not done here: give a token or a client certificate instead")]
    Program,
    /// It names a file, here.
    #[error("names a file, and files are not read here: put the content into {0} instead")]
    File(&'static str),
    /// It switches off what keeps others from posing as the server.
    #[error(
        "is true, and servers are not trusted unseen: put their CA into certificate-authority-data instead"
    )]
    Insecure,
    /// It leads over a proxy.
    #[error("names a proxy, and none is used: remove it, and see that the server is reached without one")]
    Proxy,
    /// It asks to be somebody else.
    #[error("asks to act as somebody else: remove it, and give the credentials of whom is meant")]
    Impersonation,
    /// Credentials that no API server takes.
    #[error(
        "is for basic authentication, which Kubernetes has not had since 1.19: give a token or a client certificate instead"
    )]
    Basic,
    /// It is not there.
    #[error("is missing: {0}")]
    Missing(&'static str),
    /// It names what is not there.
    #[error("names nothing that is in {0}: `kubectl config view` shows what is")]
    Unknown(&'static str),
    /// It names what is there more than once.
    #[error("names more than one of {0}: keep one of them")]
    Ambiguous(&'static str),
    /// Not an address.
    #[error("is not an address as https://host:port")]
    NotAnAddress,
    /// An address with more in it.
    #[error("has a user, a query or a fragment in the address: remove it")]
    BusyAddress,
    /// Everybody on the way could read it.
    #[error("does not begin with https://: give the https address of the server")]
    PlainHttp,
    /// More than is kept.
    #[error("is longer than {0} bytes")]
    TooLong(usize),
    /// Not what it should be.
    #[error("is not {0} in base64: `kubectl config view --flatten --minify` prints one that is")]
    NotPem(&'static str),
    /// A token that cannot be sent.
    #[error("has characters that no token has, as line breaks and spaces: remove them")]
    NotAToken,
    /// Two ways to be somebody.
    #[error("is there beside a client certificate, and they may be two users: keep the one that is meant")]
    TwoCredentials,
}

/// Reads a kubeconfig.
///
/// ```
/// use allotment_core::access::kubeconfig;
///
/// let text = b"
/// current-context: c
/// contexts: [{name: c, context: {cluster: a, user: b}}]
/// clusters: [{name: a, cluster: {server: 'https://a.example.com'}}]
/// users: [{name: b, user: {exec: {command: rm}}}]
/// ";
/// let refusal = kubeconfig::read(text).unwrap_err().to_string();
/// assert!(refusal.starts_with("users[0].user.exec names a program to run"));
/// ```
pub fn read(text: &[u8]) -> Result<Given, Refusal> {
    if text.len() > LONGEST_TEXT_BYTES {
        return Err(refuse("the kubeconfig", Fault::TooLong(LONGEST_TEXT_BYTES)));
    }
    let text = std::str::from_utf8(text).map_err(|_| refuse("the kubeconfig", Fault::NotText))?;
    let file: File = serde_saphyr::from_str(text).map_err(|error| {
        // Its own words may quote the text.
        let place = error.location();
        let (line, column) = place.map_or((0, 0), |place| (place.line(), place.column()));
        refuse("the kubeconfig", Fault::NotYaml { line, column })
    })?;
    for (number, entry) in file.clusters.iter().enumerate() {
        harmless_cluster(&entry.cluster)
            .map_err(|(field, fault)| refuse(&format!("clusters[{number}].cluster.{field}"), fault))?;
    }
    for (number, entry) in file.users.iter().enumerate() {
        harmless_user(&entry.user)
            .map_err(|(field, fault)| refuse(&format!("users[{number}].user.{field}"), fault))?;
    }
    choose(file)
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct File {
    current_context: Option<String>,
    #[serde(default)]
    contexts: Vec<NamedContext>,
    #[serde(default)]
    clusters: Vec<NamedCluster>,
    #[serde(default)]
    users: Vec<NamedUser>,
}

#[derive(Deserialize)]
struct NamedContext {
    name: String,
    #[serde(default)]
    context: Context,
}

#[derive(Default, Deserialize)]
struct Context {
    cluster: Option<String>,
    user: Option<String>,
}

#[derive(Deserialize)]
struct NamedCluster {
    name: String,
    #[serde(default)]
    cluster: Cluster,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Cluster {
    server: Option<String>,
    tls_server_name: Option<String>,
    insecure_skip_tls_verify: Option<bool>,
    certificate_authority: Option<String>,
    certificate_authority_data: Option<String>,
    proxy_url: Option<String>,
}

#[derive(Deserialize)]
struct NamedUser {
    name: String,
    #[serde(default)]
    user: User,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct User {
    token: Option<SecretString>,
    #[serde(rename = "tokenFile")]
    token_file: Option<IgnoredAny>,
    client_certificate: Option<IgnoredAny>,
    client_certificate_data: Option<String>,
    client_key: Option<IgnoredAny>,
    client_key_data: Option<SecretString>,
    username: Option<IgnoredAny>,
    password: Option<IgnoredAny>,
    exec: Option<IgnoredAny>,
    auth_provider: Option<IgnoredAny>,
    #[serde(rename = "as")]
    impersonate: Option<IgnoredAny>,
    as_uid: Option<IgnoredAny>,
    as_groups: Option<IgnoredAny>,
    as_user_extra: Option<IgnoredAny>,
}

type Found = (&'static str, Fault);

fn harmless_cluster(cluster: &Cluster) -> Result<(), Found> {
    let Cluster {
        server: _,
        tls_server_name: _,
        insecure_skip_tls_verify,
        certificate_authority,
        certificate_authority_data: _,
        proxy_url,
    } = cluster;
    if said(certificate_authority).is_some() {
        return Err(("certificate-authority", Fault::File("certificate-authority-data")));
    }
    if *insecure_skip_tls_verify == Some(true) {
        return Err(("insecure-skip-tls-verify", Fault::Insecure));
    }
    if said(proxy_url).is_some() {
        return Err(("proxy-url", Fault::Proxy));
    }
    Ok(())
}

fn harmless_user(user: &User) -> Result<(), Found> {
    let User {
        token: _,
        token_file,
        client_certificate,
        client_certificate_data: _,
        client_key,
        client_key_data: _,
        username,
        password,
        exec,
        auth_provider,
        impersonate,
        as_uid,
        as_groups,
        as_user_extra,
    } = user;
    let table = [
        ("exec", exec, Fault::Program),
        ("auth-provider", auth_provider, Fault::Program),
        ("tokenFile", token_file, Fault::File("token")),
        ("client-certificate", client_certificate, Fault::File("client-certificate-data")),
        ("client-key", client_key, Fault::File("client-key-data")),
        ("username", username, Fault::Basic),
        ("password", password, Fault::Basic),
        ("as", impersonate, Fault::Impersonation),
        ("as-uid", as_uid, Fault::Impersonation),
        ("as-groups", as_groups, Fault::Impersonation),
        ("as-user-extra", as_user_extra, Fault::Impersonation),
    ];
    match table.into_iter().find(|(_, value, _)| value.is_some()) {
        Some((field, _, fault)) => Err((field, fault)),
        None => Ok(()),
    }
}

/// What the current context says.
fn choose(file: File) -> Result<Given, Refusal> {
    let File { current_context, contexts, clusters, users } = file;
    let current = current_context
        .filter(|name| !name.is_empty())
        .ok_or_else(|| refuse("current-context", Fault::Missing("say which of the contexts is meant")))?;
    let (number, context) = one("current-context", "contexts", &current, contexts, |entry| &entry.name)?;
    let place = |field: &str| format!("contexts[{number}].context.{field}");
    let Context { cluster, user } = context.context;
    let cluster = cluster.unwrap_or_default();
    let (cluster_number, cluster) =
        one(&place("cluster"), "clusters", &cluster, clusters, |entry| &entry.name)?;
    let user = user.unwrap_or_default();
    let (user_number, user) = one(&place("user"), "users", &user, users, |entry| &entry.name)?;
    let Cluster { server, tls_server_name, certificate_authority_data, .. } = cluster.cluster;
    let in_cluster =
        |(field, fault): Found| refuse(&format!("clusters[{cluster_number}].cluster.{field}"), fault);
    let server = address(server).map_err(|fault| in_cluster(("server", fault)))?;
    let ca = match said(&certificate_authority_data) {
        Some(text) => Some(
            certificates(text)
                .ok_or_else(|| in_cluster(("certificate-authority-data", Fault::NotPem("a certificate"))))?,
        ),
        None => None,
    };
    if ca.as_ref().is_some_and(|ca| ca.len() > LONGEST_CA_BYTES) {
        return Err(in_cluster(("certificate-authority-data", Fault::TooLong(LONGEST_CA_BYTES))));
    }
    let credentials = credentials(user.user)
        .map_err(|(field, fault)| refuse(&format!("users[{user_number}].user{field}"), fault))?;
    let tls_server_name = tls_server_name.filter(|name| !name.is_empty());
    if tls_server_name.as_ref().is_some_and(|name| name.len() > LONGEST_NAME_BYTES) {
        return Err(in_cluster(("tls-server-name", Fault::TooLong(LONGEST_NAME_BYTES))));
    }
    Ok(Given { server, tls_server_name, ca, credentials })
}

/// The one entry that has this name.
fn one<T>(
    field: &str,
    list: &'static str,
    name: &str,
    entries: Vec<T>,
    name_of: impl Fn(&T) -> &str,
) -> Result<(usize, T), Refusal> {
    let mut named = entries.into_iter().enumerate().filter(|(_, entry)| name_of(entry) == name);
    let found = named.next().ok_or_else(|| refuse(field, Fault::Unknown(list)))?;
    match named.next() {
        None => Ok(found),
        Some(_) => Err(refuse(field, Fault::Ambiguous(list))),
    }
}

fn address(server: Option<String>) -> Result<String, Fault> {
    let server = server
        .filter(|server| !server.is_empty())
        .ok_or(Fault::Missing("say where the API server is, as https://host:port"))?;
    if server.len() > LONGEST_SERVER_BYTES {
        return Err(Fault::TooLong(LONGEST_SERVER_BYTES));
    }
    let uri: Uri = server.parse().map_err(|_| Fault::NotAnAddress)?;
    let authority = uri.authority().ok_or(Fault::NotAnAddress)?;
    if authority.as_str().contains('@') || server.contains(['?', '#']) {
        return Err(Fault::BusyAddress);
    }
    match uri.scheme_str() {
        _ if authority.host().is_empty() => Err(Fault::NotAnAddress),
        Some("https") => Ok(server),
        Some("http") => Err(Fault::PlainHttp),
        _ => Err(Fault::NotAnAddress),
    }
}

/// Field names begin with a dot: a fault may be about the user as a whole.
fn credentials(user: User) -> Result<Credentials, Found> {
    let User { token, client_certificate_data, client_key_data, .. } = user;
    let token = token.filter(|token| !token.expose_secret().is_empty());
    let key = client_key_data.filter(|key| !key.expose_secret().is_empty());
    match (token, said(&client_certificate_data), key) {
        (None, None, None) => {
            Err(("", Fault::Missing("it has no credentials: give a token or a client certificate")))
        }
        (Some(_), Some(_), _) | (Some(_), _, Some(_)) => Err((".token", Fault::TwoCredentials)),
        (Some(token), None, None) => {
            if token.expose_secret().bytes().all(|byte| byte.is_ascii_graphic()) {
                Ok(Credentials::Token(token))
            } else {
                Err((".token", Fault::NotAToken))
            }
        }
        (None, Some(_), None) => {
            Err((".client-key-data", Fault::Missing("a client certificate is of no use without its key")))
        }
        (None, None, Some(_)) => Err((
            ".client-certificate-data",
            Fault::Missing("a client key is of no use without its certificate"),
        )),
        (None, Some(certificate), Some(key)) => {
            let certificate = certificates(certificate)
                .ok_or((".client-certificate-data", Fault::NotPem("a certificate")))?;
            let key = private_key(&key).ok_or((".client-key-data", Fault::NotPem("a private key")))?;
            Ok(Credentials::Certificate { certificate, key })
        }
    }
}

/// PEM in base64.
fn certificates(encoded: &str) -> Option<String> {
    let text = String::from_utf8(BASE64_STANDARD.decode(encoded.trim()).ok()?).ok()?;
    text.contains("-----BEGIN CERTIFICATE-----").then_some(text)
}

fn private_key(encoded: &SecretString) -> Option<SecretString> {
    let bytes = Zeroizing::new(BASE64_STANDARD.decode(encoded.expose_secret().trim()).ok()?);
    let text = std::str::from_utf8(&bytes).ok()?;
    if !text.contains("PRIVATE KEY-----") {
        return None;
    }
    Some(SecretString::from(text))
}

/// An empty text is none.
fn said(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}

fn refuse(field: &str, fault: Fault) -> Refusal {
    Refusal { field: field.to_owned(), fault }
}

#[cfg(test)]
mod tests;
