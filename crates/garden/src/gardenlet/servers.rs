//! The API servers that Shoots lead to.

use super::ShootKey;
use futures::future::BoxFuture;
use secrecy::SecretString;
use std::error::Error;

/// An API server for a Shoot, and what a garden must know to issue kubeconfigs for it.
#[derive(Clone, Debug)]
pub struct ShootServer {
    /// `https://…`.
    pub url: String,
    /// The certificate of the CA whose clients the server believes, in PEM.
    pub client_ca_certificate: String,
    /// Its key: RSA in PKCS#1 PEM, the only form that Gardener reads.
    pub client_ca_key: SecretString,
    /// The certificate of the CA that the server's own certificate comes from, in PEM.
    pub serving_ca_certificate: String,
}

/// Where the API servers of Shoots come from.
pub trait ShootServers: Send + Sync {
    /// The API server of a Shoot; the same one each time.
    fn server<'a>(
        &'a self,
        shoot: &'a ShootKey,
    ) -> BoxFuture<'a, Result<ShootServer, Box<dyn Error + Send + Sync>>>;
}

/// A few API servers that all Shoots share.
#[derive(Clone, Debug)]
pub struct SharedServers(Vec<ShootServer>);

impl SharedServers {
    /// Shares these servers.
    pub fn new(servers: Vec<ShootServer>) -> Self {
        Self(servers)
    }
}

impl ShootServers for SharedServers {
    fn server<'a>(
        &'a self,
        shoot: &'a ShootKey,
    ) -> BoxFuture<'a, Result<ShootServer, Box<dyn Error + Send + Sync>>> {
        Box::pin(async move {
            // Any spread will do, as long as a Shoot comes to the same server again.
            let sum: usize = shoot.name.bytes().map(usize::from).sum();
            let place = sum.checked_rem(self.0.len()).ok_or("there are no API servers for Shoots")?;
            Ok(self.0[place].clone())
        })
    }
}
