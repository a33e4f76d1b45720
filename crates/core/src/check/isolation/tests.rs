use super::*;
use crate::{
    check::{Held, Seat},
    pool::{Holding, PoolKey},
};

const OWNERS: [(&str, &str); 5] =
    [("k", "good"), ("r", "good"), ("a", "good"), ("bad-k", "bad"), ("bad-r", "bad")];

fn isolation() -> Isolation {
    let tenant = |name: &str| BTreeSet::from([Tenant::new(name)]);
    let text = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    let shoots = BTreeMap::from([
        ("s".to_owned(), shoot("s-uid", "k", "a1")),
        ("bad-s".to_owned(), shoot("bad-s-uid", "bad-k", "a2")),
    ]);
    Isolation {
        tenants: BTreeMap::from([("good".to_owned(), tenant("t")), ("bad".to_owned(), tenant("m"))]),
        namespaces: OWNERS.into_iter().map(text).collect(),
        claims: BTreeMap::from([(RequestUid::new("bad-r"), Tenant::new("t"))]),
        belongings: [("secret", "good"), ("mallory", "bad"), ("ann", "good")].into_iter().map(text).collect(),
        shoots,
    }
}

fn shoot(uid: &str, cluster: &str, account: &str) -> OwnedShoot {
    OwnedShoot {
        uid: uid.to_owned(),
        cluster: Some(cluster.to_owned()),
        account: Some(AccountName::new(account)),
        ..OwnedShoot::default()
    }
}

fn books() -> Books {
    let held = |account: &str, tenant: &str| Held {
        account: AccountName::new(account),
        pool: PoolKey { hyperscaler_type: "aws".to_owned(), shared: false, eu_access: false },
        holding: Holding::Claimed(Tenant::new(tenant)),
    };
    Books { accounts: vec![held("a1", "t"), held("a2", "m")], ..Books::default() }
}

fn words(found: impl IntoIterator<Item = IsolationViolation>) -> String {
    found.into_iter().map(|one| one.to_string()).collect::<Vec<_>>().join("; ")
}

#[test]
fn accounts_and_queues_are_of_the_tenants_of_the_namespace() {
    let seated = |request: &str, tenant: &str| {
        let (request, tenant) = (RequestUid::new(request), Some(Tenant::new(tenant)));
        let seat = Seat { request, tenant, account: AccountName::new("a1") };
        words(isolation().ledger(&Books { seats: vec![seat], ..books() }))
    };
    assert_eq!(seated("r", "t"), "");
    assert_eq!(seated("bad-r", "m"), "");
    assert_eq!(seated("bad-r", "t"), "request bad-r of namespace bad has an account of tenant t");
    let waiting = |request: &str| {
        words(isolation().ledger(&Books { waiting: vec![RequestUid::new(request)], ..books() }))
    };
    assert_eq!(waiting("r"), "");
    assert_eq!(waiting("bad-r"), "request bad-r of namespace bad is in the queue of tenant t");
}

#[test]
fn a_shoot_stays_with_its_namespace() {
    let written = |name: &str, after: &OwnedShoot| words(isolation().shoot_write(name, after, &books()));
    assert_eq!(written("s", &shoot("s-uid", "k", "a1")), "");
    assert_eq!(written("bad-s", &shoot("bad-s-uid", "bad-k", "a2")), "");
    assert_eq!(written("s", &shoot("another", "bad-k", "a2")), "", "another Shoot of the same name");
    assert!(written("s", &shoot("s-uid", "bad-k", "a2")).contains("was given to namespace bad"));
    assert!(written("bad-s", &shoot("bad-s-uid", "bad-k", "a1")).contains("which tenant t holds"));
    let refers = |cluster: &str| {
        let references = BTreeSet::from(["secret".to_owned(), "nobody's".to_owned()]);
        written("new", &OwnedShoot { references, ..shoot("new", cluster, "a9") })
    };
    assert_eq!(refers("k"), "");
    assert!(refers("bad-k").contains("refers to secret"));
}

#[test]
fn grants_and_administrators_stay_in_the_shoots_of_their_namespace() {
    let granted =
        |shoot: &str, request: &str, role: Option<&str>| words(isolation().grant(shoot, request, role));
    assert_eq!(granted("s-uid", "a", Some("team")), "");
    assert_eq!(granted("bad-s-uid", "bad-r", None), "");
    assert!(granted("s-uid", "bad-r", None).contains("of a request of namespace bad"));
    for namespace in ["kube-system", "allotment-access"] {
        assert!(granted("s-uid", "a", Some(namespace)).contains("has a Role in namespace"), "{namespace}");
    }
    assert_eq!(words(isolation().administrator("s-uid", "ann")), "");
    assert!(words(isolation().administrator("s-uid", "mallory")).contains("mallory is an administrator"));
}

#[test]
fn a_map_is_not_deleted_while_a_shoot_refers_to_it() {
    let mut isolation = isolation();
    assert_eq!(words(isolation.map_deleted("map")), "");
    isolation.shoots.entry("s".to_owned()).or_default().references.insert("map".to_owned());
    assert_eq!(words(isolation.map_deleted("map")), "ConfigMap map was deleted, and Shoot s refers to it");
}
