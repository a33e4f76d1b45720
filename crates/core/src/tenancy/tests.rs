use super::*;

fn table() -> Tenancy {
    Tenancy {
        namespaces: BTreeMap::from([
            ("team-a".to_owned(), vec!["a".to_owned()]),
            ("team-b".to_owned(), vec!["b1".to_owned(), "b2".to_owned()]),
        ]),
        platform: vec!["ops".to_owned()],
        ..Tenancy::default()
    }
}

fn of(namespace: &str, selector: Option<&str>, label: Option<&str>) -> Result<Option<String>, &'static str> {
    let role = table().role_of(namespace, None);
    judge(&role, namespace, &Claim { selector, label })
        .map(|judged| judged.tenant.map(|tenant| tenant.to_string()))
        .map_err(|denial| denial.reason)
}

#[test]
fn a_namespace_names_its_own_tenants_only() {
    let tenant = |name: &str| Ok(Some(name.to_owned()));
    assert_eq!(of("team-a", Some("a"), None), tenant("a"));
    assert_eq!(of("team-a", Some("globalaccount:a"), Some("a")), tenant("a"));
    assert_eq!(of("team-a", Some("b1"), None), Err("OtherTenant"));
    assert_eq!(of("team-a", Some("globalaccount:b1"), None), Err("OtherTenant"));
    assert_eq!(of("team-a", Some("a"), Some("b1")), Err("TenantsDiffer"));
    assert_eq!(of("team-b", Some("b2"), None), tenant("b2"));
    assert_eq!(of("nobody", Some("a"), None), Err("NoTenant"));
}

#[test]
fn a_shared_account_is_asked_for_in_the_name_of_the_label() {
    assert_eq!(of("team-a", Some("shared"), None), Ok(Some("a".to_owned())));
    assert_eq!(of("team-a", Some("shared"), Some("a")), Ok(Some("a".to_owned())));
    assert_eq!(of("team-a", Some("shared"), Some("b1")), Err("OtherTenant"));
    assert_eq!(of("team-b", Some("shared"), None), Err("TenantMissing"));
    assert_eq!(of("team-b", Some("shared"), Some("b2")), Ok(Some("b2".to_owned())));
    assert_eq!(of("nobody", Some("shared"), None), Err("NoTenant"));
}

#[test]
fn the_platform_names_any_tenant_and_is_told_of_differences() {
    assert_eq!(of("ops", Some("anybody"), None), Ok(Some("anybody".to_owned())));
    assert_eq!(of("ops", Some("shared"), None), Ok(None));
    let judged = judge(&NamespaceRole::Platform, "ops", &Claim { selector: Some("a"), label: Some("b1") });
    let judged = judged.unwrap();
    assert_eq!(judged.tenant, Some(Tenant::new("a")));
    assert!(judged.note.unwrap().contains("names b1"));
}

#[test]
fn a_label_counts_only_where_the_configuration_names_it() {
    let tenants =
        |names: &[&str]| NamespaceRole::Tenants(names.iter().map(|name| Tenant::new(*name)).collect());
    assert_eq!(table().role_of("team-a", Some("b1")), tenants(&["a"]), "a table leaves no room for labels");
    let labelled = Tenancy { namespace_label: Some("allotment.dev/tenant".to_owned()), ..Tenancy::default() };
    assert_eq!(labelled.role_of("x", Some("t")), tenants(&["t"]));
    assert_eq!(labelled.role_of("x", Some("")), tenants(&[]));
    assert_eq!(labelled.role_of("x", None), tenants(&[]));
    assert_eq!(Tenancy::trusted().role_of("x", None), NamespaceRole::Trusted);
}

#[test]
fn a_configuration_that_says_nothing_or_two_things_is_refused() {
    let faults = |tenancy: Tenancy| tenancy.faults().into_iter().map(|(key, _)| key).collect::<Vec<_>>();
    assert!(faults(table()).is_empty());
    assert!(faults(Tenancy::trusted()).is_empty());
    assert_eq!(faults(Tenancy::default()), [""]);
    let label = Some("allotment.dev/tenant".to_owned());
    assert_eq!(faults(Tenancy { namespace_label: label.clone(), ..table() }), ["namespaces"]);
    assert_eq!(
        faults(Tenancy { mode: Mode::Trusted, namespace_label: label, ..Tenancy::default() }),
        ["mode"]
    );
    let twice = Tenancy { platform: vec!["team-a".to_owned()], ..table() };
    assert_eq!(faults(twice), ["platform"]);
}

#[test]
fn nobody_counts_for_a_tenant_of_others() {
    let of = |tenants: &[&str]| NamespaceRole::Tenants(tenants.iter().copied().map(Tenant::new).collect());
    for (role, claimed, expected) in [
        (of(&["a"]), Some("a"), Some("a")),
        (of(&["a"]), None, Some("a")),
        (of(&["a"]), Some("b"), Some("a")),
        (of(&["a", "b"]), Some("b"), Some("b")),
        (of(&["a", "b"]), Some("c"), None),
        (of(&["a", "b"]), None, None),
        (of(&[]), Some("a"), None),
        (NamespaceRole::Platform, Some("b"), Some("b")),
        (NamespaceRole::Platform, None, None),
    ] {
        assert_eq!(role.counts_for(claimed).as_deref(), expected, "{role:?} {claimed:?}");
    }
}
