//! The URL of a PostgreSQL database: its parameters, and whether the way there is encrypted.

use super::LedgerError;
use percent_encoding::percent_decode_str;
use std::{collections::BTreeMap, fs, io, net::IpAddr, path::PathBuf, time::Duration};
use tokio_postgres::{
    Config,
    config::{ChannelBinding, Host, SslMode, SslNegotiation, TargetSessionAttrs},
};

/// Until a server that does not answer counts as gone.
const CONNECT: Duration = Duration::from_secs(10);

const FORM: &str = "expected postgres://user:password@host:port/database?sslrootcert=<file>; write special characters of the \
     password as %XX";

const KNOWN: &str = "application_name, channel_binding, connect_timeout, host, passwordfile, port, sslcert, sslkey, sslmode, \
     sslrootcert, target_session_attrs";

/// A database, and how to get there.
pub(super) struct Address {
    /// Everything that the driver has to know, but for the password if that is in a file.
    pub(super) config: Config,
    pub(super) encryption: Encryption,
    password_file: Option<PathBuf>,
}

/// How the connection is protected.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Encryption {
    /// A socket, or an address of this machine: nobody can listen.
    Local,
    /// To another machine, and the URL says `sslmode=disable`.
    Off,
    /// TLS, or no connection.
    Tls(TlsFiles),
}

/// What TLS is made from.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TlsFiles {
    /// The certificate authorities; none means those of the system.
    pub(super) root: Option<PathBuf>,
    /// Our own certificate, and its key.
    pub(super) identity: Option<(PathBuf, PathBuf)>,
    /// The certificate need not have the server's name in it.
    pub(super) any_name: bool,
}

/// Whether a URL can be used, as far as can be told without the files that it names.
pub(in crate::ledger) fn check(url: &str) -> Result<(), LedgerError> {
    Address::read(url).map(drop)
}

impl Address {
    pub(super) fn parse(url: &str) -> Result<Self, LedgerError> {
        let address = Self::read(url)?;
        address.password().map_err(|error| refuse(&error.to_string()))?;
        Ok(address)
    }

    fn read(url: &str) -> Result<Self, LedgerError> {
        let (base, query) = url.rsplit_once('?').unwrap_or((url, ""));
        let mut parameters = Parameters::parse(query)?;
        // The parser's own complaint could quote a piece of the password.
        let mut config: Config = base.parse().map_err(|_| refuse(FORM))?;
        parameters.connection(&mut config)?;
        if config.get_hosts().is_empty() {
            return Err(refuse("it names no host"));
        }
        let encryption = parameters.encryption(&config)?;
        match encryption {
            Encryption::Local => config.ssl_mode(SslMode::Disable),
            Encryption::Tls(_) => config.ssl_mode(SslMode::Require),
            // The driver hands the bare connection to its TLS connector, which is then ours: it reads along and encrypts nothing.
            Encryption::Off => config.ssl_mode(SslMode::Require).ssl_negotiation(SslNegotiation::Direct),
        };
        let password_file = parameters.take("passwordfile").map(PathBuf::from);
        parameters.nothing_left()?;
        Ok(Self { config, encryption, password_file })
    }

    /// Its hosts and ports, or sockets, as people write them.
    pub(super) fn servers(&self) -> String {
        let (hosts, ports) = (self.config.get_hosts(), self.config.get_ports());
        let port_of = |place: usize| ports.get(place).or(ports.first()).copied().unwrap_or(5432);
        let servers = hosts.iter().enumerate().map(|(place, host)| match host {
            Host::Tcp(name) => format!("{name}:{}", port_of(place)),
            Host::Unix(path) => path.display().to_string(),
        });
        servers.collect::<Vec<_>>().join(", ")
    }

    /// The password in the file, read anew for each connection: it may have been changed.
    pub(super) fn password(&self) -> io::Result<Option<Vec<u8>>> {
        let Some(path) = &self.password_file else { return Ok(None) };
        let mut password = fs::read(path).map_err(|error| {
            io::Error::new(error.kind(), format!("passwordfile: cannot read {}: {error}", path.display()))
        })?;
        while password.last().is_some_and(|byte| b"\r\n".contains(byte)) {
            password.pop();
        }
        Ok(Some(password))
    }
}

/// The parameters of the URL that nobody has asked for yet.
struct Parameters(BTreeMap<String, String>);

impl Parameters {
    fn parse(query: &str) -> Result<Self, LedgerError> {
        let mut parameters = BTreeMap::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            // What follows a question mark in a password is no parameter, and must not be printed.
            let is_name = |key: &str| key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
            let (key, value) =
                pair.split_once('=').filter(|(key, _)| is_name(key)).ok_or_else(|| refuse(FORM))?;
            let value = percent_decode_str(value).decode_utf8();
            let value = value.map_err(|_| refuse(&format!("parameter {key} is not UTF-8")))?;
            if parameters.insert(key.to_owned(), value.into_owned()).is_some() {
                return Err(refuse(&format!("parameter {key} is there twice")));
            }
        }
        Ok(Self(parameters))
    }

    fn take(&mut self, key: &str) -> Option<String> {
        self.0.remove(key)
    }

    /// What is about the connection itself.
    fn connection(&mut self, config: &mut Config) -> Result<(), LedgerError> {
        for host in self.take("host").iter().flat_map(|hosts| hosts.split(',')) {
            config.host(host);
        }
        for port in self.take("port").iter().flat_map(|ports| ports.split(',')) {
            config.port(port.parse().map_err(|_| refuse("port must be a number"))?);
        }
        let name = self.take("application_name");
        config.application_name(name.as_deref().unwrap_or("allotment"));
        let timeout = match self.take("connect_timeout") {
            Some(seconds) => Duration::from_secs(
                seconds.parse().map_err(|_| refuse("connect_timeout must be a number of seconds"))?,
            ),
            None => CONNECT,
        };
        config.connect_timeout(timeout);
        let attributes = match self.take("target_session_attrs").as_deref() {
            Some("any") => TargetSessionAttrs::Any,
            Some("read-write" | "primary") => TargetSessionAttrs::ReadWrite,
            Some(_) => return Err(refuse("target_session_attrs must be any, read-write or primary")),
            // Of several servers one takes writes, and it is the one that is meant.
            None if config.get_hosts().len() > 1 => TargetSessionAttrs::ReadWrite,
            None => TargetSessionAttrs::Any,
        };
        config.target_session_attrs(attributes);
        config.channel_binding(match self.take("channel_binding").as_deref() {
            None | Some("prefer") => ChannelBinding::Prefer,
            Some("require") => ChannelBinding::Require,
            Some("disable") => ChannelBinding::Disable,
            Some(_) => return Err(refuse("channel_binding must be require, prefer or disable")),
        });
        Ok(())
    }

    fn encryption(&mut self, config: &Config) -> Result<Encryption, LedgerError> {
        let is_local = config.get_hosts().iter().all(is_local);
        let is_socket = config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_)));
        let root = self.take("sslrootcert").filter(|file| file != "system").map(PathBuf::from);
        let identity = match (self.take("sslcert"), self.take("sslkey")) {
            (Some(certificate), Some(key)) => Some((certificate.into(), key.into())),
            (None, None) => None,
            _ => return Err(refuse("sslcert and sslkey go together: a certificate, and its private key")),
        };
        let must_bind = config.get_channel_binding() == ChannelBinding::Require;
        let asked = root.is_some() || identity.is_some() || must_bind;
        let any_name = match self.take("sslmode").as_deref() {
            None if is_local && !asked => return Ok(Encryption::Local),
            Some("disable") if asked => {
                return Err(refuse(
                    "sslmode=disable contradicts sslrootcert, sslcert and channel_binding=require",
                ));
            }
            Some("disable") => return Ok(if is_local { Encryption::Local } else { Encryption::Off }),
            None | Some("require" | "verify-full") => false,
            Some("verify-ca") if root.is_some() => true,
            Some("verify-ca") => {
                return Err(refuse(
                    "sslmode=verify-ca needs sslrootcert=<file>: anybody can have a certificate of the system's authorities",
                ));
            }
            Some("prefer" | "allow") => {
                return Err(refuse(
                    "sslmode=prefer and sslmode=allow fall back to plain text: use verify-full",
                ));
            }
            Some(_) => return Err(refuse("sslmode must be verify-full, verify-ca, require or disable")),
        };
        if is_socket {
            return Ok(Encryption::Local);
        }
        Ok(Encryption::Tls(TlsFiles { root, identity, any_name }))
    }

    fn nothing_left(self) -> Result<(), LedgerError> {
        match self.0.into_keys().next().as_deref() {
            None => Ok(()),
            Some("options") => Err(refuse(
                "parameter options is not supported, since poolers drop it: use ALTER ROLE … SET on the server",
            )),
            Some("passfile") => Err(refuse(
                "parameter passfile is not supported: use passwordfile=<file>, a file with nothing but the password in it",
            )),
            Some(key) => Err(refuse(&format!("parameter {key} is not known; known are {KNOWN}"))),
        }
    }
}

/// Whether nobody else can listen on the way there.
fn is_local(host: &Host) -> bool {
    match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
        }
    }
}

fn refuse(because: &str) -> LedgerError {
    LedgerError::Address(because.to_owned())
}

#[cfg(test)]
mod tests;
