use super::*;

/// The configuration that the chart renders by default, but for the garden's kubeconfig.
fn from_the_chart() -> String {
    let values = include_str!("../../../../charts/allotment/values.yaml");
    let end = values.find("# How the operators run").unwrap();
    let without = |line: &&str| {
        let of_a_secret = ["ecretRef", "    name: ", "    key: ", "    files: "];
        !of_a_secret.iter().any(|part| line.contains(part))
    };
    values[..end].lines().filter(without).map(|line| format!("{line}\n")).collect()
}

/// A configuration that says of tenancy what most tests do not care about.
fn load_trusted(text: &str) -> Loaded {
    load(&format!("{text}tenancy: {{mode: trusted}}\n"))
}

fn findings(text: &str) -> Vec<String> {
    load(text).findings.iter().map(ToString::to_string).collect()
}

#[test]
fn the_charts_values_are_a_configuration() {
    let untold = load(&from_the_chart()).findings;
    assert_eq!(
        untold.len(),
        1,
        "whoever installs the chart has to say which tenants a namespace has: {untold:?}"
    );
    assert!(untold[0].to_string().contains("namespaceLabel"), "{untold:?}");
    let loaded = load(&from_the_chart().replace("tenancy: {}", "tenancy: {platform: [default]}"));
    assert_eq!(loaded.findings, []);
    let settled = loaded.settled.unwrap();
    assert_eq!(settled.config.gardener.namespace, "garden-kyma");
    assert_eq!(settled.config.controllers, Controllers::default());
    assert_eq!(settled.config.clusters.providers[&Provider::Azure].cloud_profile, "az");
    let policy = settled.policy().unwrap();
    assert_eq!((policy.rules.rules().len(), policy.cap), (11, None));
    assert_eq!(policy.multi_account.limits["aws"].0, 180);
}

#[test]
fn little_is_needed() {
    let settled =
        load("hap: {rule: [aws], enabledPlans: [aws]}\ntenancy: {mode: trusted}\n").settled.unwrap();
    assert_eq!(settled.config.server, Server::default());
    assert_eq!(settled.config.server.address, "127.0.0.1:8080");
    assert!(settled.config.ledger.read().is_err());
    // Without the operator that needs rules, there need not be any.
    assert!(load("controllers: [cluster]\ntenancy: {mode: trusted}\n").settled.unwrap().policy().is_none());
}

#[test]
fn all_faults_come_at_once_with_their_places() {
    let text = "\
hap:
  rule: [aws, 'aws(XX=1)', gcp]
  enabledPlans: [aws, gcp]
  multiHyperscalerAccount: {limits: {default: 0, ibm: 3}}
  maxAccountsPerTenant: -1
  bindingKind: Binding
gardner: {}
gardener: {namespace: 7, requestsPerSecond: 0}
ledger: {url: 'mysql://x', urlFile: /f}
access: {maxExpiration: ten}
controllers: [subscription, clusters]
server: {adress: x, address: localhost, perObjectMetrics: 1}
clusters: {providers: {aws: {cloudProfile: 3}, azur: {}}}
image: {}
tenancy: {mode: lax}
";
    let expected = [
        "2:20: error[unknown-attribute]: `XX` is not an input attribute: expected `PR` or `HR`",
        "4:38: error[invalid-value]: multiHyperscalerAccount.limits.default: must be at least 1; leave it out for the default",
        "4:50: error[invalid-value]: multiHyperscalerAccount.limits.ibm: no such provider; there are alicloud, aws, azure, gcp, gdch, openstack, and default",
        "5:25: error[invalid-value]: `maxAccountsPerTenant` is -1: expected at least 0",
        "6:16: error[invalid-value]: `bindingKind` is `Binding`: expected `CredentialsBinding`, `SecretBinding` or `Secret`",
        "7:1: error[syntax]: unknown key `gardner`; did you mean `gardener`?",
        "8:23: error[invalid-value]: `namespace` is `7`: expected a text",
        "8:45: error[invalid-value]: `requestsPerSecond` is 0: expected at least 1",
        "9:1: error[invalid-value]: `ledger` has both `url` and `urlFile`: expected one of them",
        "10:25: error[invalid-value]: `maxExpiration` is `ten`: expected a whole number",
        "11:29: error[invalid-value]: `controllers` is `clusters`: expected `subscription`, `cluster`, `kubeconfig` or `cleanup`; did you mean `cluster`?",
        "12:10: error[syntax]: unknown key `adress`; did you mean `address`?",
        "12:21: error[invalid-value]: `address` is `localhost`: expected an IP address and a port, as in 127.0.0.1:8080",
        "12:59: error[invalid-value]: `perObjectMetrics` is `1`: expected true or false",
        "13:44: error[invalid-value]: `cloudProfile` is `3`: expected a text",
        "13:48: error[syntax]: unknown key `azur`; did you mean `azure`?",
        "14:1: error[syntax]: unknown key `image`: expected `access`, `byoc`, `cleanup`, `clusters`, `controllers`, `gardener`, `hap`, `ledger`, `metrics`, `openmcp`, `quotas`, `server` or `tenancy`",
        "15:17: error[invalid-value]: `mode` is `lax`: expected `enforced` or `trusted`",
    ];
    let found = findings(text);
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), expected.len(), "{found:#?}");
}

#[test]
fn what_is_no_configuration_is_refused() {
    assert_eq!(
        findings("tenancy: {mode: trusted}"),
        ["1:1: error[invalid-value]: the key `hap` is missing: expected the rules below it"]
    );
    assert_eq!(findings("rule: [aws]\ntenancy: {mode: trusted}\n").len(), 1);
    assert_eq!(findings("a: [").len(), 1);
    assert_eq!(findings("hap: {rule: []}\ntenancy: {mode: trusted}\n").len(), 1);
    assert!(load("- 1\n").settled.is_none());
}

#[test]
fn an_address_of_a_ledger_that_no_start_would_take_is_a_finding() {
    let found = |url: &str| {
        findings(&format!("controllers: [cluster]\nledger: {{url: '{url}'}}\ntenancy: {{mode: trusted}}\n"))
    };
    for (url, said) in [
        ("mysql://x", "it must begin with sqlite:///"),
        ("postgres://u:s3cret@h/d?sslmode=prefer", "use verify-full"),
        ("postgres://u:s3cret@h/d?ssl=on", "ssl"),
        ("postgres://u:s3cret@h:port/d", "expected postgres://"),
    ] {
        let found = found(url);
        let words = found.join("\n");
        assert!(
            found.len() == 1 && words.starts_with("2:10: error[invalid-value]: ledger.url"),
            "{url}: {words}"
        );
        assert!(words.contains(said) && !words.contains("s3cret"), "{url}: {words}");
    }
    // The files that it names need not be here.
    assert!(found("postgres://u@h/d?passwordfile=/no/such/file&sslrootcert=/no/such/file").is_empty());
}

#[test]
fn no_password_is_printed() {
    let settled =
        load_trusted("hap: {rule: [aws], enabledPlans: [aws]}\nledger: {url: 'postgres://u:secret@h/d'}\n")
            .settled;
    assert!(!format!("{:?}", settled.unwrap()).contains("secret"));
}

#[test]
fn the_project_follows_from_its_namespace() {
    let of = |gardener: &str| {
        let text = format!("controllers: [cluster]\ngardener: {gardener}\n");
        load_trusted(&text).settled.unwrap().config.gardener.project().to_owned()
    };
    assert_eq!(of("{}"), "kyma");
    assert_eq!(of("{namespace: garden-eu}"), "eu");
    assert_eq!(of("{namespace: own-name}"), "own-name");
    assert_eq!(of("{namespace: own-name, project: eu}"), "eu");
}

#[test]
fn what_needs_a_restart_is_named() {
    let of = |text: &str| load_trusted(text).settled.unwrap().config;
    let old = of("hap: {rule: [aws], enabledPlans: [aws]}\n");
    let new = of(
        "hap: {rule: [gcp], enabledPlans: [gcp], maxAccountsPerTenant: 3}\nserver: {address: '0.0.0.0:1'}\n",
    );
    assert_eq!(old.needs_restart(&new), ["server"]);
    let clusters = |kind: &str| {
        of(&format!(
            "controllers: [cluster]\nclusters: {{providers: {{aws: {{cloudProfile: a, cloudProfileKind: {kind}}}}}}}\n"
        ))
    };
    let (plain, namespaced) = (clusters("CloudProfile"), clusters("NamespacedCloudProfile"));
    assert_eq!(plain.needs_restart(&namespaced), ["clusters.providers.*.cloudProfileKind"]);
    assert!(namespaced.needs_restart(&plain).is_empty());
    assert!(old.needs_restart(&old.clone()).is_empty());
}

#[test]
fn what_clusters_begin_with_is_checked() {
    let about = |clusters: &str| {
        findings(&format!(
            "hap: {{rule: [aws], enabledPlans: [aws]}}\nclusters: {clusters}\ntenancy: {{mode: trusted}}\n"
        ))
        .join("\n")
    };
    assert_eq!(about("{providers: {aws: {cloudProfile: aws}}, defaults: {sshAccess: true}}"), "");
    for (clusters, finding) in [
        (
            "{providers: {aws: {cloudProfile: aws, node: 10.250.0.0/16}}}",
            "2:49: error[syntax]: unknown key `node`; did you mean `nodes`?",
        ),
        (
            "{providers: {aws: {cloudProfile: aws, nodes: 10.250.0/16}}}",
            "2:56: error[invalid-value]: `nodes` is `10.250.0/16`: expected a range such as 10.250.0.0/16",
        ),
        (
            "{providers: {aws: {nodes: 10.250.0.0/16}}}",
            "2:29: error[invalid-value]: `aws` lacks the key `cloudProfile`",
        ),
        (
            "{defaults: {sshAcces: true}}",
            "2:23: error[syntax]: unknown key `sshAcces`; did you mean `sshAccess`?",
        ),
    ] {
        assert_eq!(about(clusters), finding);
    }
}

#[test]
fn whose_namespaces_are_has_to_be_said() {
    let about = |tenancy: &str| {
        let found = findings(&format!("hap: {{rule: [aws], enabledPlans: [aws]}}\n{tenancy}\n"));
        found.first().cloned().unwrap_or_default()
    };
    for missing in ["", "tenancy:", "tenancy: {}"] {
        let found = about(missing);
        for way in
            ["namespaceLabel: allotment.dev/tenant", "namespaces: {team-a: [tenant-1]}", "mode: trusted"]
        {
            assert!(found.contains(way), "{missing:?}: {found}");
        }
    }
    assert_eq!(about("tenancy: {namespaceLabel: allotment.dev/tenant, platform: [default]}"), "");
    assert_eq!(about("tenancy: {namespaces: {team-a: [t-1, t-2]}}"), "");
    let both = about("tenancy: {namespaceLabel: a, namespaces: {team-a: [t-1]}}");
    assert!(both.starts_with("2:30: error[invalid-value]: `tenancy` has both"), "{both}");
}

#[test]
fn clouds_are_known_servers_and_kept_ids_are_whole() {
    let of = |cleanup: &str| {
        findings(&format!("controllers: [cluster]\ntenancy: {{mode: trusted}}\ncleanup: {cleanup}\n"))
    };
    let good = "{keep: [vpc-1, /subscriptions/s/resourceGroups/r], awsEndpoint: 'http://127.0.0.1:5000'}";
    assert_eq!(of(good), Vec::<String>::new());
    assert_eq!(of("{openstackAuthUrl: 'https://keystone.example.org:5000/v3'}"), Vec::<String>::new());
    let cases = [
        ("{keep: ['*']}", "there are no patterns"),
        ("{keep: ['']}", "there are no patterns"),
        ("{awsEndpoint: 'http://cloud.example.org'}", "is not encrypted"),
        ("{awsEndpoint: 'https://me:hush@cloud.example.org'}", "names a user"),
        ("{openstackAuthUrl: keystone}", "is no URL"),
    ];
    for (cleanup, says) in cases {
        let found = of(cleanup);
        assert!(found.len() == 1 && found[0].contains(says), "{cleanup}: {found:?}");
        assert!(!found[0].contains("hush"), "{found:?}");
    }
}

#[test]
fn values_that_no_shoot_can_have_are_found_before_any_cluster_fails_of_them() {
    let text = "\
hap: {rule: [aws], enabledPlans: [aws]}
clusters:
  namespace: Clusters
  providers:
    aws: {cloudProfile: aws, networking: flannel, floatingPool: ext, nodes: 10.96.0.0/16}
    gcp: {cloudProfile: gcp, volume: {size: big}}
  defaults:
    maintenance:
      timeWindow: {begin: \"25\", end: 230000+0100}
      autoUpdate: {kubernetes: true}
";
    let found: Vec<String> = load_trusted(text).findings.iter().map(ToString::to_string).collect();
    let expected = [
        "3:3: error[invalid-value]: clusters.namespace: ",
        "5:30: error[invalid-value]: clusters.providers.aws.networking: ",
        "5:51: error[invalid-value]: clusters.providers.aws.floatingPool: ",
        "6:39: error[invalid-value]: clusters.providers.gcp.volume.size: ",
        "9:7: error[invalid-value]: clusters.defaults.maintenance.timeWindow: ",
        "10:20: error[syntax]: unknown key `kubernetes`",
    ];
    for expected in expected {
        assert!(found.iter().any(|found| found.starts_with(expected)), "{expected} is not in {found:#?}");
    }
    // The range of the pods is a default, so the provider is named.
    assert!(found.iter().any(|found| found.contains("10.96.0.0/13 overlaps 10.96.0.0/16")), "{found:#?}");
    assert_eq!(found.len(), expected.len() + 1, "{found:#?}");
}
