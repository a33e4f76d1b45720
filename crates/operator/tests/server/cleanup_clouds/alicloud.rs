//! Alibaba Cloud.

use super::{
    Simulated,
    pool::{Cleaned, Entry, Pool},
};
use crate::stage::Fault;
use allotment_api::kyma::Provider;
use allotment_core::cleanup::Cloud;
use allotment_simulators::{
    alicloud::{Account, Alicloud, Appearing, Credentials, Slow},
    server::Server,
};
use allotment_testing::{Landscape, Outcome};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

const REGION: &str = "eu-central-1";
const DISKS: &str = "ecs:DescribeDisks";
const UNPROTECT: &str = "ecs:ModifyInstanceAttribute";
const NETWORKS: &str = "vpc:DescribeVpcs";

pub fn simulated() -> Result<Simulated<(Arc<Alicloud>, Server)>, Fault> {
    let (cloud, server) = Alicloud::start()?;
    let (credentials, endpoint) = (cloud.account(&[REGION]), server.endpoint());
    Ok(Simulated {
        provider: Provider::Alicloud,
        cloud: Cloud::Alicloud,
        keys: keys(&credentials),
        environment: environment(&credentials, &endpoint),
        endpoint,
        fill: vec!["--region", REGION],
        secret: credentials.access_key_secret,
        _simulator: (cloud, server),
    })
}

fn keys(credentials: &Credentials) -> Value {
    json!({ "accessKeyID": credentials.access_key_id, "accessKeySecret": credentials.access_key_secret })
}

fn environment(credentials: &Credentials, endpoint: &str) -> Vec<(&'static str, String)> {
    vec![
        ("ALICLOUD_ENDPOINT", endpoint.to_owned()),
        ("ALICLOUD_ACCESS_KEY_ID", credentials.admin_key_id.clone()),
        ("ALICLOUD_ACCESS_KEY_SECRET", credentials.admin_key_secret.clone()),
    ]
}

/// The accounts of a case, and what the SDK put into them.
struct Refused {
    cloud: Arc<Alicloud>,
    accounts: [Credentials; 6],
}

const NAMES: [&str; 6] = ["permission", "prepaid", "protected", "throttled", "late", "appears"];

impl Refused {
    fn with(&self, name: &str, act: impl FnOnce(&mut Account<'_>)) {
        let (_, credentials) = NAMES.iter().zip(&self.accounts).find(|(known, _)| **known == name).unwrap();
        self.cloud.of(credentials, act).unwrap();
    }

    fn left(&self, name: &str) -> Vec<String> {
        let mut left = Vec::new();
        self.with(name, |account| left = account.left());
        left
    }

    fn refuse(&self, balancer: &str) {
        self.with("permission", |account| account.deny(DISKS));
        self.with("protected", |account| account.deny(UNPROTECT));
        self.with("throttled", |account| account.throttle(REGION, NETWORKS));
        self.with("late", |account| {
            account.slow(Slow::Real(Duration::from_millis(20)));
            account.fail_late(balancer, u32::MAX);
        });
        // The first listing finds nothing; it appears before the second.
        self.with("appears", |account| {
            let fields = json!({ "Status": "Available", "Type": "data", "DiskChargeType": "PostPaid", "Tags": { "Tag": [] } });
            let call = account.calls().get(DISKS).copied().unwrap_or(0) + 2;
            let (before, region) = (DISKS.to_owned(), REGION.to_owned());
            account.appear(Appearing { before, call, kind: "Disk", region, fields });
        });
    }

    fn lift(&self, balancer: &str, prepaid: &str) {
        self.with("permission", |account| account.allow(DISKS));
        self.with("prepaid", |account| account.change(prepaid, "InstanceChargeType", "PostPaid"));
        self.with("protected", |account| account.allow(UNPROTECT));
        self.with("throttled", |account| account.unthrottle(REGION, NETWORKS));
        self.with("late", |account| account.fail_late(balancer, 0));
    }
}

pub async fn refused_accounts_of_alibaba_are_stuck_until_the_refusal_is_lifted(
    landscape: Landscape,
) -> Outcome {
    let (cloud, server) = Alicloud::start()?;
    let endpoint = server.endpoint();
    let refused = Refused { accounts: NAMES.map(|_| cloud.account(&[REGION])), cloud };
    let entry = |(name, credentials): (&'static str, &Credentials)| {
        let option = match name {
            "prepaid" => vec!["--prepaid"],
            "protected" => vec!["--protect"],
            _ => vec![],
        };
        let is_filled = !["throttled", "appears"].contains(&name);
        let fill = is_filled.then(|| [vec!["--region", REGION, "--disks", "2"], option].concat());
        Entry { name, keys: keys(credentials), environment: environment(credentials, &endpoint), fill }
    };
    let entries = NAMES.into_iter().zip(&refused.accounts).map(entry).collect();
    let mut secrets = vec!["ACS3-HMAC-SHA256".to_owned()];
    secrets.extend(refused.accounts.iter().map(|account| account.access_key_secret.clone()));
    let cleaned =
        Cleaned { provider: Provider::Alicloud, cloud: Cloud::Alicloud, endpoint: endpoint.clone(), secrets };
    let pool = Pool::in_use(&landscape, cleaned, entries).await?;
    let made = pool.fill()?;
    let first = |number: usize, kind: &str| made[number][REGION][kind][0].as_str().unwrap().to_owned();
    let (prepaid, machine, balancer) =
        (first(1, "prepaid"), first(2, "instance"), first(3, "network-load-balancer"));
    refused.refuse(&balancer);
    pool.give_back().await?;
    pool.are_stuck(&[
        ("permission", &["Disk in eu-central-1 is unknown", "denied", &format!("grant {DISKS}")]),
        ("prepaid", &[&prepaid, "paid in advance", "pay-as-you-go"]),
        ("protected", &[&machine, "denied", &format!("grant {UNPROTECT}")]),
        ("throttled", &["Vpc in eu-central-1 is unknown", "throttled", "it is listed again later"]),
        ("late", &[&balancer, "the deletion was accepted, and it is still there"]),
    ])
    .await?;
    pool.only_is_handed_on("appears").await?;
    assert_eq!(refused.left("appears"), [] as [&str; 0], "it was seen, and deleted");
    refused.lift(&balancer, &prepaid);
    pool.others_are_handed_on("appears").await?;
    for name in NAMES {
        assert_eq!(refused.left(name), [] as [&str; 0], "{name}");
    }
    let log = pool.end().await?;
    assert!(log.has(&["not empty", "appears", "Disk"]), "the second listing found it");
    drop(server);
    Ok(())
}
