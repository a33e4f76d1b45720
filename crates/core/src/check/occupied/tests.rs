//! Each oracle is shown a state that it must find, and the state beside it that is fine.

use super::*;
use crate::{
    check::{Asked, change},
    pool::{LabelKeys, Limit},
};
use allotment_api::kyma::SubscriptionPhase;
use jiff::Timestamp;

fn account(name: &str) -> AccountName {
    AccountName::new(name)
}

fn pool(shared: bool, eu_access: bool) -> PoolKey {
    PoolKey { hyperscaler_type: "aws".to_owned(), shared, eu_access }
}

fn entry(labels: &str) -> Entry {
    let pairs = labels.split_whitespace().filter_map(|pair| pair.split_once('='));
    let mut labels: BTreeMap<_, _> = pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    labels.entry("hyperscalerType".to_owned()).or_insert("aws".to_owned());
    Entry::read(&labels, None, &LabelKeys::default())
}

fn asked(tenant: Option<&str>, phase: SubscriptionPhase) -> Asked {
    Asked {
        pool: Some(pool(tenant.is_none(), false)),
        tenant: tenant.map(Tenant::new),
        phase: Some(phase),
        account: None,
        published_tenant: None,
        deleting: false,
        held: false,
    }
}

/// A scene, to be added to.
#[derive(Clone, Default)]
struct Stage(Scene);

impl Stage {
    /// An account with its labels, and its tenant if the ledger has one.
    fn account(mut self, name: &str, labels: &str) -> Self {
        let entry = entry(labels);
        let pool = entry.pool.clone().unwrap();
        let holding = entry.tenant.clone().map_or(Holding::Free, Holding::Claimed);
        self.0.entries.insert(account(name), entry);
        self.0.books.accounts.push(Held { account: account(name), pool, holding });
        self
    }

    fn claiming(mut self, name: &str, tenant: &str) -> Self {
        let row = self.0.books.accounts.iter_mut().find(|row| row.account == account(name)).unwrap();
        row.holding = Holding::Claiming(Tenant::new(tenant));
        self
    }

    fn request(mut self, uid: &str, tenant: Option<&str>, phase: SubscriptionPhase) -> Self {
        self.0.requests.insert(RequestUid::new(uid), asked(tenant, phase));
        self
    }

    fn waits(mut self, uid: &str, tenant: &str) -> Self {
        self.0.books.waiting.push(RequestUid::new(uid));
        self.request(uid, Some(tenant), SubscriptionPhase::Waiting)
    }

    fn seat(mut self, uid: &str, tenant: Option<&str>, name: &str) -> Self {
        let (request, tenant) = (RequestUid::new(uid), tenant.map(Tenant::new));
        self.0.books.seats.push(Seat { request, tenant, account: account(name) });
        self.0.books.waiting.retain(|waiting| waiting.as_str() != uid);
        self
    }

    fn shoot(mut self, shoot: &str, name: &str, request: Option<&str>) -> Self {
        let request = request.map(RequestUid::new);
        self.0.shoots.insert(shoot.to_owned(), Grown { account: account(name), request });
        self
    }

    fn same_credentials(mut self, names: &[&str]) -> Self {
        self.0.credentials.extend(names.iter().map(|name| (account(name), "one".to_owned())));
        self
    }

    fn cap(mut self, cap: u32) -> Self {
        self.0.cap = Some(cap);
        self
    }

    fn limit(mut self, tenant: &str, limit: u32) -> Self {
        self.0.limits.insert(Tenant::new(tenant), Limit(limit));
        self
    }

    fn with<T>(mut self, change: impl FnOnce(&mut Scene) -> T) -> Self {
        change(&mut self.0);
        self
    }

    fn now(&self) -> String {
        sentences(&self.0.violations())
    }

    fn at_rest(&self) -> String {
        sentences(&self.0.at_rest())
    }

    fn then(&self, after: &Self) -> String {
        sentences(&change(&self.0, &after.0))
    }
}

fn sentences(violations: &[Violation]) -> String {
    violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

const WAITING: SubscriptionPhase = SubscriptionPhase::Waiting;
const BOUND: SubscriptionPhase = SubscriptionPhase::Bound;

#[test]
fn a_tenant_above_its_cap_is_found() {
    let two = Stage::default().account("a", "tenantName=t").account("b", "tenantName=t");
    let two = two.limit("t", 3);
    assert_eq!(two.clone().cap(2).now(), "");
    assert_eq!(two.clone().cap(1).now(), "tenant t holds 2 accounts, 1 are allowed");
    let given = two.clone().cap(1).with(|scene| scene.tampered.insert(account("b")));
    assert_eq!(given.now(), "", "somebody else gave it the second");
    assert_eq!(two.cap(1).same_credentials(&["a", "b"]).now(), "", "it is one account");
    // Whoever gave it the others: we give it none on top.
    let before = Stage::default().account("a", "tenantName=t").account("b", "").cap(1).limit("t", 3);
    let before = before.with(|scene| scene.tampered.insert(account("a")));
    assert_eq!(before.then(&before.clone().claiming("b", "t")), "tenant t holds 2 accounts, 1 are allowed");
}

#[test]
fn a_request_in_an_account_of_another_pool_is_found() {
    for labels in ["euAccess=true", "hyperscalerType=gcp", "hyperscalerType=aws_cf-eu11"] {
        let labels = format!("tenantName=t {labels}");
        let stage = Stage::default().account("a", &labels).request("r", Some("t"), WAITING);
        let found = stage.seat("r", Some("t"), "a").now();
        assert_eq!(found, "request r is for pool aws, and is in account a of another", "{labels}");
    }
    let right = Stage::default().account("a", "tenantName=t").request("r", Some("t"), WAITING);
    assert_eq!(right.seat("r", Some("t"), "a").now(), "");
    let shared = Stage::default().account("s", "shared=true").request("r", None, WAITING);
    assert_eq!(shared.clone().seat("r", None, "s").now(), "");
    let dedicated = shared.with(|scene| {
        scene.requests.values_mut().for_each(|asked| asked.pool = Some(pool(false, false)));
    });
    assert!(dedicated.seat("r", None, "s").now().contains("is for pool aws, and is in account s of another"));
}

#[test]
fn a_limit_counts_all_shoots() {
    let before = Stage::default().account("a", "tenantName=t").limit("t", 2);
    let before = before.request("r", Some("t"), WAITING).request("s", Some("t"), BOUND);
    let before = before.with(|scene| {
        let asked = scene.requests.get_mut(&RequestUid::new("s")).unwrap();
        (asked.account, asked.published_tenant) = (Some(account("a")), Some(Tenant::new("t")));
    });
    let before = before.seat("s", Some("t"), "a").shoot("of-s", "a", Some("s"));
    let next = |before: &Stage| before.then(&before.clone().seat("r", Some("t"), "a"));
    assert_eq!(next(&before), "", "a Shoot and its assignment count once");
    let over = "account a has 3 clusters, 2 are allowed";
    assert_eq!(next(&before.clone().shoot("foreign", "a", None)), over);
    assert_eq!(next(&before.clone().shoot("gone", "a", Some("nobody"))), over);
    let stray = before.clone().request("w", Some("t"), WAITING).shoot("stray", "a", Some("w"));
    assert_eq!(next(&stray), over, "of a request that has no seat there");
    assert_eq!(next(&before.clone().shoot("second", "a", Some("s"))), over, "an assignment stands for one");
    let twin = before.clone().account("b", "").same_credentials(&["a", "b"]).shoot("twin", "b", None);
    assert_eq!(next(&twin), over, "the same credentials are the same account");
    let young = before.shoot("foreign", "a", None).with(|scene| scene.young.insert("foreign".to_owned()));
    assert_eq!(next(&young), "", "nobody need have seen it");
}

#[test]
fn an_occupied_account_must_not_be_handed_out_and_need_not_be() {
    let stage = Stage::default().account("a", "").waits("r", "t");
    assert!(stage.at_rest().contains("could have account a"));
    let occupied = stage.clone().shoot("older", "a", None);
    assert_eq!(occupied.at_rest(), "");
    let found = occupied.0.labelling(&account("a"), &Tenant::new("t")).unwrap().to_string();
    assert_eq!(found, "account a was labelled for t, and Shoots were in it: older");
    assert_eq!(stage.0.labelling(&account("a"), &Tenant::new("t")), None);
    let twin = stage.account("b", "").same_credentials(&["a", "b"]).shoot("older", "b", None);
    assert!(twin.0.labelling(&account("a"), &Tenant::new("t")).is_some());
}

#[test]
fn one_account_of_two_tenants_is_found() {
    let stage = Stage::default().account("a", "tenantName=t").account("b", "tenantName=u");
    assert_eq!(stage.now(), "");
    let one = stage.same_credentials(&["a", "b"]);
    assert_eq!(one.now(), "accounts a and b have the same credentials, and are held by t and u");
    let given = one.with(|scene| scene.meddled.insert(account("b")));
    assert_eq!(given.now(), "", "somebody else gave it away");
}

#[test]
fn of_entries_with_the_same_credentials_one_is_to_be_had() {
    let stage = Stage::default().account("a", "").account("b", "").same_credentials(&["a", "b"]);
    let stage = stage.waits("r", "t").with(|scene| {
        scene.made.insert(account("a"), Timestamp::from_second(2).unwrap());
        scene.made.insert(account("b"), Timestamp::from_second(1).unwrap());
    });
    assert!(stage.at_rest().contains("could have account b"), "{}", stage.at_rest());
    let taken = stage.claiming("a", "u");
    assert!(!taken.at_rest().contains("could have"), "{}", taken.at_rest());
}

#[test]
fn a_shared_account_that_is_not_the_least_used_is_found() {
    let stage = Stage::default().account("s", "shared=true").account("u", "shared=true");
    let stage = stage.request("r", None, WAITING);
    let stage = stage.seat("1", None, "s").seat("2", None, "s").seat("3", None, "u");
    assert_eq!(
        stage.then(&stage.clone().seat("r", None, "s")),
        "request r was put into account s, and u had fewer clusters"
    );
    assert_eq!(stage.then(&stage.clone().seat("r", None, "u")), "");
    let crowded = stage.shoot("f", "u", None);
    assert_eq!(crowded.then(&crowded.clone().seat("r", None, "s")), "", "Shoots are counted from a cache");
}

#[test]
fn whoever_is_served_out_of_turn_is_found() {
    let stage = Stage::default().account("a", "").waits("1", "t").waits("2", "u");
    assert_eq!(
        stage.then(&stage.clone().claiming("a", "u").seat("2", Some("u"), "a")),
        "request 2 was given account a, and it was the turn of 1"
    );
    assert_eq!(stage.then(&stage.clone().claiming("a", "t").seat("1", Some("t"), "a")), "");
    let enough = stage.account("b", "");
    assert_eq!(enough.then(&enough.clone().claiming("a", "u").seat("2", Some("u"), "a")), "", "one is left");
    let newcomer = Stage::default().account("a", "").waits("1", "t").request("3", Some("v"), WAITING);
    assert!(
        newcomer.then(&newcomer.clone().claiming("a", "v").seat("3", Some("v"), "a")).contains("turn of 1")
    );
}

#[test]
fn bound_without_a_seat_is_found() {
    let stage = Stage::default().request("r", Some("t"), BOUND);
    assert_eq!(stage.now(), "the status of request r says that it is bound, and names no account");
    let named = stage.with(|scene| {
        scene.requests.get_mut(&RequestUid::new("r")).unwrap().account = Some(account("a"));
    });
    assert_eq!(named.now(), "the status of request r names account a, the ledger none");
}
