use super::*;

fn uid(text: &str) -> RequestUid {
    RequestUid::new(text)
}

/// A Cluster with its request and its Shoot, as they should be.
fn good() -> Fleet {
    let mut fleet = Fleet::default();
    let pools = BTreeMap::from([("one".to_owned(), ("m".to_owned(), 1, 2))]);
    let features = Features { pools, ..Features::default() };
    let wish = Wish {
        uid: "k-uid".to_owned(),
        generation: 2,
        held: true,
        shoot_name: "s".to_owned(),
        shoot_uid: Some("s-uid".to_owned()),
        phase: Some(ClusterPhase::Ready),
        observed: Some(2),
        asks: features.clone(),
        is_valid: true,
        ..Wish::default()
    };
    let stand = Stand {
        uid: "s-uid".to_owned(),
        request: Some(uid("r")),
        account: Some(AccountName::new("a")),
        version: vec![1, 35, 4],
        stage: Stage::Done,
        healthy: true,
        has: features,
        ..Stand::default()
    };
    let owned = Owned {
        name: "k-1".to_owned(),
        owner: "k-uid".to_owned(),
        phase: Some(SubscriptionPhase::Bound),
        account: Some(AccountName::new("a")),
        ..Owned::default()
    };
    fleet.clusters.insert("k".to_owned(), wish);
    fleet.shoots.insert("s".to_owned(), stand);
    fleet.requests.insert(uid("r"), owned);
    fleet.maps.insert("m".to_owned(), "k-uid".to_owned());
    fleet.remember();
    fleet
}

fn wish(fleet: &mut Fleet) -> &mut Wish {
    fleet.clusters.get_mut("k").unwrap()
}

fn stand(fleet: &mut Fleet) -> &mut Stand {
    fleet.shoots.get_mut("s").unwrap()
}

fn words(found: Vec<Wrong>) -> String {
    found.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[test]
fn what_is_good_is_good() {
    assert_eq!(words(good().at_rest()), "");
}

#[test]
fn at_rest_what_a_status_says_is_so() {
    type Case = (fn(&mut Fleet), &'static str);
    let cases: [Case; 12] = [
        (|fleet| wish(fleet).deleting = true, "Cluster k was deleted and does not go"),
        (|fleet| wish(fleet).observed = Some(1), "Cluster k says Ready (), and that is not so"),
        (|fleet| stand(fleet).healthy = false, "Cluster k says Ready (), and that is not so"),
        (|fleet| stand(fleet).has.pools.clear(), "Cluster k says Ready (), and that is not so"),
        (
            |fleet| stand(fleet).has.administrators = BTreeSet::from(["ann".to_owned()]),
            "Cluster k says Ready (), and that is not so",
        ),
        (|fleet| fails(fleet, "ShootMissing"), "Cluster k says Failed (ShootMissing), and that is not so"),
        (|fleet| fails(fleet, "Refused"), "Cluster k says Failed (Refused), and that is not so"),
        (
            |fleet| {
                fails(fleet, "ShootFailed");
                stand(fleet).stage = Stage::GivenUp;
            },
            "",
        ),
        (
            |fleet| {
                fails(fleet, "ShootMissing");
                fleet.shoots.clear();
            },
            "",
        ),
        (
            |fleet| {
                fails(fleet, "OtherAccount");
                stand(fleet).account = Some(AccountName::new("b"));
            },
            "",
        ),
        (
            |fleet| {
                fails(fleet, "Invalid");
                wish(fleet).is_valid = false;
            },
            "",
        ),
        (
            |fleet| fleet.clusters.clear(),
            "request k-1 is left behind, its Cluster is gone; Shoot s is left behind, its Cluster is gone; ConfigMap m is \
             left behind, its Cluster is gone",
        ),
    ];
    for (change, expected) in cases {
        let mut fleet = good();
        change(&mut fleet);
        assert_eq!(words(fleet.at_rest()), expected);
    }
}

fn fails(fleet: &mut Fleet, reason: &str) {
    let phase = if reason == "Invalid" { ClusterPhase::Invalid } else { ClusterPhase::Failed };
    wish(fleet).phase = Some(phase);
    wish(fleet).reason = reason.to_owned();
}

#[test]
fn a_write_to_a_shoot_does_what_it_may() {
    type Case = (fn(&mut Fleet, &mut Stand), &'static str);
    let cases: [Case; 14] = [
        (|_, _| (), ""),
        (
            |_, after| after.account = Some(AccountName::new("b")),
            "Shoot s was moved from account a into account b",
        ),
        (|_, after| after.version = vec![1, 34, 9], "the version of Shoot s was taken down"),
        (|_, after| after.deleting = true, "Shoot s was deleted, and Cluster k is not"),
        (
            |fleet, after| {
                wish(fleet).deleting = true;
                after.deleting = true;
            },
            "",
        ),
        (
            |fleet, after| {
                (wish(fleet).deleting, wish(fleet).protected) = (true, true);
                after.deleting = true;
            },
            "Shoot s was deleted, and Cluster k is protected",
        ),
        (
            |fleet, _| wish(fleet).shoot_uid = Some("another".to_owned()),
            "Shoot s was written, but the one with UID s-uid is not ours",
        ),
        (
            |fleet, _| {
                wish(fleet).shoot_uid = Some("another".to_owned());
                wish(fleet).may_recreate = true;
            },
            "",
        ),
        (
            |fleet, _| {
                wish(fleet).shoot_uid = None;
                fleet.requests.clear();
            },
            "",
        ),
        (
            |fleet, _| {
                wish(fleet).shoot_uid = None;
                stand(fleet).forged = true;
            },
            "Shoot s was written, but the one with UID s-uid is not ours",
        ),
        (
            |fleet, _| {
                wish(fleet).shoot_uid = None;
                fleet.owners.clear();
            },
            "Shoot s was written, but the one with UID s-uid is not ours",
        ),
        // The status names it, and the Shoot is another Cluster's.
        (
            |fleet, _| stand(fleet).cluster = Some("another".to_owned()),
            "Shoot s was written, but the one with UID s-uid is not ours",
        ),
        (
            |fleet, _| {
                stand(fleet).cluster = Some("k-uid".to_owned());
                fleet.owners.clear();
            },
            "",
        ),
        (
            |fleet, _| {
                wish(fleet).shoot_uid = None;
                wish(fleet).may_adopt = Some("s-uid".to_owned());
            },
            "",
        ),
    ];
    for (change, expected) in cases {
        let mut fleet = good();
        let mut after = stand(&mut fleet).clone();
        change(&mut fleet, &mut after);
        let before = fleet.shoots.get("s");
        assert_eq!(words(fleet.shoot_write("s", before, Some(&after))), expected);
    }
}

#[test]
fn a_shoot_is_made_once() {
    let mut fleet = good();
    let made = fleet.shoots.remove("s").unwrap();
    let again = "Shoot s was made again for Cluster k, and nobody said so";
    assert_eq!(words(fleet.shoot_write("s", None, Some(&made))), again);
    wish(&mut fleet).may_recreate = true;
    assert_eq!(words(fleet.shoot_write("s", None, Some(&made))), "");
    fleet.clusters.clear();
    assert_eq!(words(fleet.shoot_write("s", None, Some(&made))), "", "its request keeps the account");
    fleet.requests.clear();
    let nobody = "Shoot s was made, and no Cluster asks for it";
    assert_eq!(words(fleet.shoot_write("s", None, Some(&made))), nobody);
}

#[test]
fn a_request_has_one_shoot() {
    let mut fleet = good();
    let other = Stand { uid: "other".to_owned(), ..stand(&mut fleet).clone() };
    fleet.shoots.insert("t".to_owned(), other);
    assert_eq!(words(fleet.violations()), "Shoots s and t are both for request r");
    fleet.shoots.get_mut("t").unwrap().forged = true;
    assert_eq!(words(fleet.violations()), "");
}

#[test]
fn a_cluster_goes_last_and_is_ready_only_if_its_shoot_was() {
    let mut fleet = good();
    let before = wish(&mut fleet).clone();
    let left = "Cluster k was let go, and its Shoot s is still there; Cluster k was let go, and its request r is still there";
    assert_eq!(words(fleet.cluster_write("k", &before, None)), left);
    let ready = Wish { generation: 3, observed: Some(3), ..before.clone() };
    let early = "Cluster k is said to be ready, and its Shoot never was";
    assert_eq!(words(fleet.cluster_write("k", &before, Some(&ready))), early);
    // Gardener is at work again: what asks for the same is as good as before, and what asks for something else is not.
    fleet.remember();
    stand(&mut fleet).stage = Stage::Working;
    *wish(&mut fleet) = ready.clone();
    fleet.remember();
    assert_eq!(words(fleet.cluster_write("k", &before, Some(&ready))), "");
    let mut other = Wish { generation: 4, observed: Some(4), ..ready };
    other.asks.clients.insert("c".to_owned());
    *wish(&mut fleet) = other.clone();
    fleet.remember();
    assert_eq!(words(fleet.cluster_write("k", &before, Some(&other))), early);
    fleet.shoots.clear();
    fleet.requests.clear();
    assert_eq!(words(fleet.cluster_write("k", &before, None)), "");
}
