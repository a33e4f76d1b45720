//! Asking the rules does not allocate, whatever the number of rules and whatever the answer. In a test binary of its own,
//! because counting takes another allocator.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

use allotment_core::rules::{MOST_LISTED, Options, Request, load};
use std::hint::black_box;

#[test]
fn finding_a_rule_does_not_allocate() {
    for count in [11, 1000] {
        let mut text = "rule:\n- aws\n- free\n- sap-converged-cloud -> HR, S\n".to_owned();
        for n in 0..count {
            text.push_str(&format!("- aws(PR=cf-{n}) -> EU\n- aws(PR=cf-{n}, HR=eu-{n}) -> PR, HR\n"));
        }
        let options = Options { enabled_plans: Some(Vec::new()), strict: false };
        let rules = load(&text, &options).rules.unwrap();
        let requests = [
            ("aws", None, Some("cf-7"), Some("eu-7"), true),
            ("aws", None, Some("cf-7"), Some("elsewhere"), true),
            ("aws", Some("aws"), None, None, true),
            ("free", Some("azure"), Some("cf-7"), None, true),
            ("free", None, None, None, false),
            ("aws", Some("gcp"), None, None, false),
            ("gcp", None, Some("cf-7"), None, false),
            ("oracle", None, None, None, false),
        ];
        let counted = allocation_counter::measure(|| {
            for (plan, provider, platform_region, hyperscaler_region, found) in requests {
                let request = Request { plan, provider, platform_region, hyperscaler_region };
                assert_eq!(black_box(rules.find(black_box(&request))).is_ok(), found);
            }
        });
        assert_eq!(counted.count_total, 0, "{count} rules");
    }
}

/// 1,500 rules with a platform region and 1,500 with a hyperscaler region: 2,250,000 pairs are ambiguous. The memory is that of
/// the file, times some, and not that of the pairs.
#[test]
fn checking_rules_takes_memory_by_the_size_of_the_file() {
    let mut text = "rule:\n- aws\n".to_owned();
    for input in ["PR", "HR"] {
        (0..1_500).for_each(|n| text.push_str(&format!("- aws({input}=cf-{n})\n")));
    }
    let options = Options { enabled_plans: Some(Vec::new()), strict: false };
    let mut listed = 0;
    let counted = allocation_counter::measure(|| {
        listed = black_box(load(&text, &options)).findings.len();
    });
    assert_eq!(listed, MOST_LISTED + 1);
    assert!(counted.bytes_max < 5_000_000, "{} bytes at once", counted.bytes_max);
    assert!(counted.count_total < 100_000, "{} allocations", counted.count_total);
}

/// Else the tests above could not fail.
#[test]
fn allocations_are_counted() {
    assert_eq!(allocation_counter::measure(|| drop(black_box(vec![1_u8]))).count_total, 1);
}
