//! Alibaba Cloud: ECS, VPC, both generations of load balancers, and stacks, behind one endpoint.
//!
//! A service is told by its version, a region by `RegionId`. Signatures, times and nonces are checked; deletions are refused with the cloud's
//! codes while something depends on the item, take their time, and may fail late. Every account has settings, faults and counts of its own,
//! so tests share a server and do not see each other.

mod access;
mod account;
mod answers;
mod creation;
mod deletion;
mod faults;
mod machines;
mod parameters;
mod specs;

pub use account::{Account, Slow};
pub use faults::Appearing;

use crate::server::{Reply, Server, Simulator};
use account::State;
use answers::{Outcome, refuse};
use bytes::Bytes;
use http::Request;
use parameters::Parameters;
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The credentials of an account.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// The account.
    pub account: String,
    /// The access key of the RAM user that Shoots use.
    pub access_key_id: String,
    /// Its secret.
    pub access_key_secret: String,
    /// The access key of an administrator, for the test itself: no fault touches it.
    pub admin_key_id: String,
    /// Its secret.
    pub admin_key_secret: String,
}

/// The simulator.
#[derive(Debug, Default)]
pub struct Alicloud {
    cloud: Mutex<Cloud>,
}

#[derive(Debug, Default)]
struct Cloud {
    accounts: BTreeMap<String, State>,
    nonces: BTreeSet<String>,
    /// Numbers ids.
    made: u64,
}

impl Alicloud {
    /// A simulator without accounts, and a server in front of it.
    pub fn start() -> io::Result<(Arc<Self>, Server)> {
        let simulator = Arc::new(Self::default());
        let server = Server::start(Arc::<Self>::clone(&simulator))?;
        Ok((simulator, server))
    }

    /// A new account with these regions, each with a default VPC.
    pub fn account(&self, regions: &[&str]) -> Credentials {
        let mut cloud = self.lock();
        let id = format!("1{:015}", 5_000_000 + cloud.accounts.len());
        let credentials = Credentials {
            account: id.clone(),
            access_key_id: format!("LTAI5tUser{id}"),
            access_key_secret: format!("UserSecret{id}xYz"),
            admin_key_id: format!("LTAI5tAdmin{id}"),
            admin_key_secret: format!("AdminSecret{id}xYz"),
        };
        let mut state = State::new(&credentials, regions);
        for region in regions {
            creation::default_vpc(&mut state, region, &mut cloud.made);
        }
        cloud.accounts.insert(id, state);
        credentials
    }

    /// The settings and faults of an account.
    pub fn of<T>(&self, credentials: &Credentials, act: impl FnOnce(&mut Account<'_>) -> T) -> Option<T> {
        let mut cloud = self.lock();
        cloud.accounts.get_mut(&credentials.account).map(|state| act(&mut Account::new(state)))
    }

    fn lock(&self) -> MutexGuard<'_, Cloud> {
        self.cloud.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Simulator for Alicloud {
    fn handle(&self, request: Request<Bytes>) -> Reply {
        let mut cloud = self.lock();
        let cloud = &mut *cloud;
        answers::reply(cloud.answer(&request))
    }
}

impl Cloud {
    fn answer(&mut self, request: &Request<Bytes>) -> Outcome {
        let call = access::read(request)?;
        let caller = access::authenticate(&self.accounts, &call, request, &self.nonces)?;
        self.nonces.insert(call.nonce.clone());
        let Some(state) = self.accounts.get_mut(&caller.account) else {
            return Err(refuse(404, "InvalidAccessKeyId.NotFound", "no such account"));
        };
        if !caller.is_admin {
            faults::check(state, &call, &mut self.made)?;
        }
        state.pass_time();
        dispatch(state, &call, &mut self.made)
    }
}

fn dispatch(state: &mut State, call: &access::Call, made: &mut u64) -> Outcome {
    let parameters = &call.parameters;
    match (call.service, call.action.as_str()) {
        ("sts", "GetCallerIdentity") => Ok(answers::identity(&state.id)),
        (service, "DescribeRegions") => Ok(answers::regions(state, service)),
        _ => {
            check_region(state, parameters)?;
            if let Some(spec) = specs::listed_by(call.service, &call.action) {
                return answers::list(state, spec, parameters);
            }
            if let Some(spec) = specs::created_by(call.service, &call.action) {
                return creation::create(state, spec, parameters, made);
            }
            if let Some(spec) = specs::deleted_by(call.service, &call.action) {
                return deletion::delete(state, spec, parameters);
            }
            machines::other(state, call, made)
        }
    }
}

fn check_region(state: &State, parameters: &Parameters) -> Result<(), answers::Refused> {
    match parameters.region() {
        Some(region) if !state.regions.contains(region) => {
            Err(refuse(404, "InvalidRegionId.NotFound", "The specified RegionId does not exist."))
        }
        _ => Ok(()),
    }
}
