//! When an account is proven empty.

use super::*;

fn question<'a>(
    first: &'a Inventory,
    second: &'a Inventory,
    witness: &'a Witness,
    none: &'a (Keep, BTreeSet<KindName>),
) -> Question<'a> {
    let (keep, assume_absent) = none;
    Question { first, second, witness, keep, baseline: None, settle: SETTLE, assume_absent }
}

fn none() -> (Keep, BTreeSet<KindName>) {
    (Keep::default(), BTreeSet::new())
}

fn unknown(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Unknown(cells) => format!("{cells:?}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_untouched_account_is_empty_and_the_proof_says_how() {
    for cloud in Cloud::ALL {
        let (first, second, witness, none) =
            (empty(cloud, at(0)), empty(cloud, at(1000)), zero(cloud, at(1010)), none());
        let Verdict::Empty(proof) = verdict(&question(&first, &second, &witness, &none)) else {
            panic!("{cloud}")
        };
        assert_eq!((proof.cloud, &proof.account), (cloud, &account()));
        assert_eq!(proof.kinds.len(), table(cloud).kinds.len());
        assert_eq!(proof.places.len(), 3);
        assert_eq!((proof.first.started_at, proof.second.started_at), (at(0), at(1000)));
        let json = serde_json::to_string(&proof).unwrap();
        assert_eq!(serde_json::from_str::<Proof>(&json).unwrap(), *proof, "a proof can be read again");
        assert_eq!(serde_json::from_str::<Proof>(&json).unwrap().digest(), proof.digest());
        assert_eq!(proof.digest().len(), 64);
    }
}

#[test]
fn kept_items_are_in_the_proof_and_explain_the_counts() {
    let mut witness = zero(Cloud::Aws, at(1010));
    let seen = Count::Seen { ids: BTreeSet::from(["vpc-d".to_owned()]) };
    witness.counts.get_mut(&Place::of("eu-1")).unwrap().insert(CountName::of("tagged-resources"), seen);
    let Verdict::Empty(proof) = judge(&pristine(), &Keep::default(), None, &witness) else { panic!() };
    assert_eq!(proof.kept.len(), pristine().len());
    let count = proof.witness.iter().find(|count| count.number == Some(1)).unwrap();
    assert_eq!(count.explained, 1);
}

#[test]
fn the_witness_names_what_no_list_shows() {
    let mut witness = zero(Cloud::Aws, at(1010));
    let seen = Count::Seen { ids: BTreeSet::from(["tgw-1".to_owned(), "vpc-d".to_owned()]) };
    witness.counts.get_mut(&Place::of("eu-1")).unwrap().insert(CountName::of("tagged-resources"), seen);
    let Verdict::Left(left) = judge(&pristine(), &Keep::default(), None, &witness) else { panic!() };
    let [Left::Witness { ids, surplus: 1, .. }] = left.as_slice() else { panic!("{left:?}") };
    assert_eq!(ids.iter().collect::<Vec<_>>(), ["tgw-1"]);
    assert!(Stuck::left(&left[0], 0).to_string().contains("(tgw-1)"));
}

#[test]
fn tags_of_a_terminated_instance_do_not_count() {
    let mut witness = zero(Cloud::Aws, at(1010));
    let seen = Count::Seen { ids: BTreeSet::from(["i-1".to_owned()]) };
    witness.counts.get_mut(&Place::of("eu-1")).unwrap().insert(CountName::of("tagged-resources"), seen);
    let gone = [item("Instance", "i-1", "state=terminated")];
    assert!(matches!(judge(&gone, &Keep::default(), None, &witness), Verdict::Empty(_)));
}

#[test]
fn quota_usage_is_compared_with_kept_items_and_hidden_parts_of_the_baseline() {
    let default = item("SecurityGroup", "sg-d", "name=default owner=123456789012");
    let external = item("Network", "ext", "external=true owner=admin");
    let found = [default, external];
    let (first, second) =
        (with(empty(Cloud::OpenStack, at(0)), &found), with(empty(Cloud::OpenStack, at(1000)), &found));
    let counted = |groups, networks| {
        let mut witness = zero(Cloud::OpenStack, at(1010));
        let counts = witness.counts.get_mut(&Place::of("eu-1")).unwrap();
        counts.insert(CountName::of("network.security-groups"), Count::Known { number: groups });
        counts.insert(CountName::of("network.networks"), Count::Known { number: networks });
        witness
    };
    let none = none();
    let judged = |witness: &Witness, baseline: Option<&Baseline>| {
        verdict(&Question { baseline, ..question(&first, &second, witness, &none) })
    };
    assert!(matches!(judged(&counted(1, 0), None), Verdict::Empty(_)));
    assert!(matches!(judged(&counted(2, 0), None), Verdict::Left(_)), "a group that no list shows");
    assert!(matches!(judged(&counted(1, 1), None), Verdict::Left(_)), "a network of others explains nothing");
    let baseline = Baseline::take(&first, Some(&counted(1, 1)));
    assert!(
        matches!(judged(&counted(1, 1), Some(&baseline)), Verdict::Empty(_)),
        "it was hidden before, too"
    );
    assert!(matches!(judged(&counted(1, 2), Some(&baseline)), Verdict::Left(_)));
}

#[test]
fn evidence_that_does_not_belong_together_proves_nothing() {
    let (first, second, none) = (empty(Cloud::Aws, at(0)), empty(Cloud::Aws, at(1000)), none());
    let witness = zero(Cloud::Aws, at(1010));
    let early = empty(Cloud::Aws, at(629));
    assert!(unknown(&verdict(&question(&first, &early, &witness, &none))).contains("less than"));
    let other = Inventory { account: CloudAccountId::of("999"), ..second.clone() };
    assert!(unknown(&verdict(&question(&first, &other, &witness, &none))).contains("different accounts"));
    let old = zero(Cloud::Aws, at(999));
    assert!(unknown(&verdict(&question(&first, &second, &old, &none))).contains("older"));
    let mut baseline = Baseline::take(&first, None);
    baseline.places.insert(Place::of("me-1"));
    let disabled =
        verdict(&Question { baseline: Some(&baseline), ..question(&first, &second, &witness, &none) });
    assert!(unknown(&disabled).contains("it was enabled when the baseline was taken"));
    let mut more = second.clone();
    if let Places::Listed { places } = &mut more.places {
        places.insert(Place::of("me-1"), PlaceState::Enabled);
    }
    let enabled = unknown(&verdict(&question(&first, &more, &witness, &none)));
    assert!(enabled.contains("between the two listings"), "{enabled}");
    let nowhere = Inventory { places: Places::Listed { places: BTreeMap::new() }, ..second };
    assert!(unknown(&verdict(&question(&first, &nowhere, &witness, &none))).contains("named no place"));
}

#[test]
fn only_a_missing_permission_is_assumed_away_and_the_proof_prints_it() {
    let efs = KindName::of("FileSystem");
    let cell = |missing: Option<&str>| Cell::Unknown {
        because: "denied".to_owned(),
        missing: missing.map(str::to_owned),
    };
    let blind = |missing, seconds| {
        let mut inventory = empty(Cloud::Aws, at(seconds));
        for place in inventory.enabled_places() {
            inventory.fill(place, efs.clone(), cell(missing));
        }
        inventory
    };
    let witness = zero(Cloud::Aws, at(1010));
    let assumed = (Keep::default(), BTreeSet::from([efs.clone()]));
    let permission = Some("elasticfilesystem:DescribeFileSystems");
    let (first, second) = (blind(permission, 0), blind(permission, 1000));
    assert!(unknown(&verdict(&question(&first, &second, &witness, &none()))).contains("DescribeFileSystems"));
    let Verdict::Empty(proof) = verdict(&question(&first, &second, &witness, &assumed)) else { panic!() };
    assert_eq!(proof.assumed_absent.len(), 2);
    assert!(!proof.kinds.contains(&efs));
    let (first, second) = (blind(None, 0), blind(None, 1000));
    assert!(matches!(verdict(&question(&first, &second, &witness, &assumed)), Verdict::Unknown(_)));
    assert!(plan(&first, &Keep::default(), None).assuming(&assumed.1).assumed_absent.is_empty());
}

#[test]
fn an_item_of_a_kind_without_a_row_is_left() {
    let found = [item("Lambda", "f", "")];
    let Verdict::Left(left) = judge(&found, &Keep::default(), None, &zero(Cloud::Aws, at(1010))) else {
        panic!()
    };
    assert!(matches!(&left[0], Left::Listing(key) if key.id.as_str() == "f"));
}
