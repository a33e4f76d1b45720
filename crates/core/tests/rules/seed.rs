//! Every example of the document that the language comes from, with its selector.

use allotment_core::{
    pool::LabelKeys,
    rules::{Options, Request, RuleSet, load},
};

/// A request and the selector that it leads to.
type Case = (Request<'static>, &'static str);

const fn plan(plan: &'static str) -> Request<'static> {
    Request { plan, provider: None, platform_region: None, hyperscaler_region: None }
}

const fn platform(name: &'static str, region: &'static str) -> Request<'static> {
    Request { platform_region: Some(region), ..plan(name) }
}

const fn hyperscaler(name: &'static str, region: &'static str) -> Request<'static> {
    Request { hyperscaler_region: Some(region), ..plan(name) }
}

const fn provider(name: &'static str, provider: &'static str) -> Request<'static> {
    Request { provider: Some(provider), ..plan(name) }
}

fn rules(lines: &[&str], enabled: &[&str]) -> RuleSet {
    let text: String = ["hap:\n  rule:\n".to_owned()]
        .into_iter()
        .chain(lines.iter().map(|l| format!("    - {l}\n")))
        .collect();
    let enabled = enabled.iter().map(|&plan| plan.to_owned()).collect();
    let loaded = load(&text, &Options { enabled_plans: Some(enabled), strict: false });
    loaded.rules.unwrap_or_else(|| panic!("{:#?}", loaded.findings))
}

fn verify(rules: &RuleSet, cases: &[Case]) {
    for (request, selector) in cases {
        let pool = rules.find(request).unwrap().pool_key().unwrap();
        assert_eq!(pool.selector(&LabelKeys::default()), *selector, "{request:?}");
        assert_eq!(rules.explain(request).outcome.unwrap().selector, *selector, "{request:?}");
    }
}

#[test]
fn simple_rules() {
    verify(
        &rules(&["gcp", "aws(PR=cf-eu11) -> EU", "gcp(PR=cf-eu30) -> EU,S"], &["aws", "gcp"]),
        &[
            (plan("gcp"), "hyperscalerType=gcp,!dirty,!internal,shared!=true,euAccess!=true"),
            (platform("aws", "cf-eu11"), "hyperscalerType=aws,!dirty,!internal,shared!=true,euAccess=true"),
            (platform("gcp", "cf-eu30"), "hyperscalerType=gcp,shared=true,!internal,euAccess=true"),
        ],
    );
}

#[test]
fn a_platform_region_is_part_of_the_type_only_after_the_arrow() {
    verify(
        &rules(&["gcp(PR=cf-sa30) -> PR"], &["gcp"]),
        &[(
            platform("gcp", "cf-sa30"),
            "hyperscalerType=gcp_cf-sa30,!dirty,!internal,shared!=true,euAccess!=true",
        )],
    );
    verify(
        &rules(&["gcp(PR=cf-sa30)"], &["gcp"]),
        &[(platform("gcp", "cf-sa30"), "hyperscalerType=gcp,!dirty,!internal,shared!=true,euAccess!=true")],
    );
}

#[test]
fn a_hyperscaler_region() {
    verify(
        &rules(&["gcp(HR=us-central1) -> HR"], &["gcp"]),
        &[(
            hyperscaler("gcp", "us-central1"),
            "hyperscalerType=gcp_us-central1,!dirty,!internal,shared!=true,euAccess!=true",
        )],
    );
}

#[test]
fn shared_and_eu_access() {
    verify(
        &rules(&["gcp -> S", "azure(PR=cf-ch20) -> EU, PR"], &["gcp", "azure"]),
        &[
            (plan("gcp"), "hyperscalerType=gcp,shared=true,!internal,euAccess!=true"),
            (
                platform("azure", "cf-ch20"),
                "hyperscalerType=azure_cf-ch20,!dirty,!internal,shared!=true,euAccess=true",
            ),
        ],
    );
}

#[test]
fn the_most_specific_rule_decides() {
    let lines = ["aws -> S", "aws(PR=cf-eu11) -> EU, PR", "aws(PR=cf-eu11, HR=westeu) -> EU, S, PR, HR"];
    let cases = [
        (plan("aws"), "hyperscalerType=aws,shared=true,!internal,euAccess!=true"),
        (hyperscaler("aws", "westeu"), "hyperscalerType=aws,shared=true,!internal,euAccess!=true"),
        (
            Request { hyperscaler_region: Some("eastus"), ..platform("aws", "cf-eu11") },
            "hyperscalerType=aws_cf-eu11,!dirty,!internal,shared!=true,euAccess=true",
        ),
        (
            Request { hyperscaler_region: Some("westeu"), ..platform("aws", "cf-eu11") },
            "hyperscalerType=aws_cf-eu11_westeu,shared=true,!internal,euAccess=true",
        ),
    ];
    verify(&rules(&lines, &["aws"]), &cases);
    // The order of the file plays no part.
    let [one, two, three] = lines;
    verify(&rules(&[three, one, two], &["aws"]), &cases);
}

/// The one that the chart and the document start with.
const INITIAL: &str = "
hap:
 rule:                                  # label selector:
  - aws                                 # hyperscalerType=aws, !dirty
  - aws(PR=cf-eu11) -> EU               # hyperscalerType=aws, euAccess=true, !dirty
  - azure                               # hyperscalerType=azure, !dirty
  - azure(PR=cf-ch20) -> EU             # hyperscalerType=azure, euAccess=true, !dirty
  - gcp                                 # hyperscalerType=gcp, !dirty
  - gcp(PR=cf-sa30) -> PR               # hyperscalerType=gcp_cf-sa30, !dirty
  - trial -> S                          # hyperscalerType=azure, shared=true
                                        # hyperscalerType=aws, shared=true
  - sap-converged-cloud -> HR, S        # hyperscalerType=openstack_<HYPERSCALER_REGION>, shared=true
  - azure_lite                          # hyperscalerType=azure, !dirty
  - preview                             # hyperscalerType=aws, !dirty
  - free                                # hyperscalerType=aws, !dirty
                                        # hyperscalerType=azure, !dirty
";

#[test]
fn the_initial_configuration() {
    let loaded = load(INITIAL, &Options { strict: true, ..Options::default() });
    assert_eq!(loaded.findings, []);
    let rules = loaded.rules.unwrap();
    assert_eq!(rules.rules().len(), 11);
    const AWS: &str = "hyperscalerType=aws,!dirty,!internal,shared!=true,euAccess!=true";
    const AZURE: &str = "hyperscalerType=azure,!dirty,!internal,shared!=true,euAccess!=true";
    verify(
        &rules,
        &[
            (plan("aws"), AWS),
            (platform("aws", "cf-eu10"), AWS),
            (platform("aws", "cf-eu11"), "hyperscalerType=aws,!dirty,!internal,shared!=true,euAccess=true"),
            (plan("azure"), AZURE),
            (
                platform("azure", "cf-ch20"),
                "hyperscalerType=azure,!dirty,!internal,shared!=true,euAccess=true",
            ),
            (plan("gcp"), "hyperscalerType=gcp,!dirty,!internal,shared!=true,euAccess!=true"),
            (
                platform("gcp", "cf-sa30"),
                "hyperscalerType=gcp_cf-sa30,!dirty,!internal,shared!=true,euAccess!=true",
            ),
            (provider("trial", "azure"), "hyperscalerType=azure,shared=true,!internal,euAccess!=true"),
            (provider("trial", "aws"), "hyperscalerType=aws,shared=true,!internal,euAccess!=true"),
            (
                hyperscaler("sap-converged-cloud", "eu-de-1"),
                "hyperscalerType=openstack_eu-de-1,shared=true,!internal,euAccess!=true",
            ),
            (plan("azure_lite"), AZURE),
            (plan("preview"), AWS),
            (provider("free", "aws"), AWS),
            (provider("free", "azure"), AZURE),
        ],
    );
}

#[test]
fn what_leads_nowhere_says_why() {
    let text = INITIAL.to_owned() + "  - alicloud -> PR\n";
    let rules = load(&text, &Options::default()).rules.unwrap();
    let long = "r".repeat(60);
    let no_plan = |plan: &str| {
        format!(
            "there is no plan `{plan}`: expected `alicloud`, `aws`, `azure`, `azure_lite`, `free`, `gcp`, `preview`, \
             `sap-converged-cloud` or `trial`"
        )
    };
    for (request, why) in [
        (
            plan("alicloud"),
            "rule 12 (`alicloud -> PR`) makes the platform region part of the type, and the request has no platform region",
        ),
        (
            platform("alicloud", ""),
            "rule 12 (`alicloud -> PR`) makes the platform region part of the type, and the request has no platform region",
        ),
        (
            platform("alicloud", "a b"),
            "rule 12 (`alicloud -> PR`) leads to hyperscalerType `alicloud_a b`, which cannot be the value of a label: ' ' is not allowed: a label value is made of letters, digits, `-`, `_` and `.`",
        ),
        (
            platform("alicloud", String::leak(long)),
            "rule 12 (`alicloud -> PR`) leads to hyperscalerType `alicloud_rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr`, which cannot be the value of a label: it is 69 characters long, and a label value has at most 63",
        ),
        (plan("gdch"), "no rule matches plan `gdch`, no platform region, no hyperscaler region"),
        (plan("oracle"), &no_plan("oracle")),
        (plan("cf-eu11"), &no_plan("cf-eu11")),
        (plan(""), &no_plan("")),
        (plan("trial"), "plan `trial` needs a provider: `aws` or `azure`"),
        (provider("trial", "gcp"), "plan `trial` cannot be in provider `gcp`: expected `aws` or `azure`"),
        (provider("aws", "azure"), "plan `aws` cannot be in provider `azure`: expected `aws`"),
    ] {
        assert_eq!(rules.explain(&request).outcome.unwrap_err(), why);
    }
}
