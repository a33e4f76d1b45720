//! Reading the rules, and asking them: with 11, 100 and 1,000 rules, asking has to cost the same.
//!
//! The baselines are those of the system in production today, for orientation: the least processor time of seven runs, on
//! another machine. The rules are made as they were for it: the 11 that the chart starts with, and then, in turns, one
//! with a platform region and one with both regions, spread over the plans or all on one.

use super::{Measure, Outcome};
use allotment_core::rules::{Options, Request, Rule, RuleSet, load};
use std::{hint::black_box, time::Instant};

/// What the chart starts with.
const INITIAL: [&str; 11] = [
    "aws",
    "aws(PR=cf-eu11) -> EU",
    "azure",
    "azure(PR=cf-ch20) -> EU",
    "gcp",
    "gcp(PR=cf-sa30) -> PR",
    "trial -> S",
    "sap-converged-cloud -> HR, S",
    "azure_lite",
    "preview",
    "free",
];

const PLANS: [&str; 8] =
    ["aws", "azure", "azure_lite", "free", "gcp", "preview", "sap-converged-cloud", "trial"];

const AWS: Request<'static> = Request {
    plan: "aws",
    provider: None,
    platform_region: Some("cf-eu11"),
    hyperscaler_region: Some("eu-central-1"),
};

pub(super) fn measure() -> Outcome<Vec<Measure>> {
    let mut measures = Vec::new();
    for (count, nanoseconds, allocations) in
        [(11, 16_545.0, 104.0), (100, 160_960.0, 1_270.0), (1000, 1_881_969.0, 13_083.0)]
    {
        let rules = rules(count, &PLANS);
        let parse = || rules.iter().filter_map(|text| Rule::parse(1, text).ok()).count();
        measures.extend(costs(
            &format!("rules, parse {count}"),
            1_000 / count,
            nanoseconds,
            allocations,
            parse,
        ));
    }
    for (count, nanoseconds, allocations) in
        [(11, 24_826.0, 170.0), (100, 264_135.0, 2_155.0), (1000, 2_914_016.0, 22_100.0)]
    {
        let text = file(&rules(count, &PLANS));
        let name = format!("rules, load and check {count}, YAML and all");
        measures.extend(costs(&name, 1_000 / count, nanoseconds, allocations, || {
            load(&text, &Options::default())
        }));
    }
    measures.extend(ambiguous());
    let free = Request { plan: "free", provider: Some("aws"), ..AWS };
    let shared = Request { plan: "sap-converged-cloud", ..AWS };
    for (name, rules, request, nanoseconds, allocations) in [
        ("aws, 11 rules", rules(11, &PLANS), AWS, 224.0, 2.0),
        ("free, 11 rules", rules(11, &PLANS), free, 110.0, 1.0),
        ("sap-converged-cloud, 11 rules", rules(11, &PLANS), shared, 146.0, 2.0),
        ("aws, 100 rules", rules(100, &PLANS), AWS, 2_114.0, 5.0),
        ("aws, 1000 rules", rules(1000, &PLANS), AWS, 17_633.0, 8.0),
        ("aws, 100 rules on one plan", rules(100, &["aws"]), AWS, 26_737.0, 8.0),
        ("aws, 1000 rules on one plan", rules(1000, &["aws"]), AWS, 322_023.0, 12.0),
    ] {
        let set = set(&rules)?;
        let ask = || set.find(black_box(&request)).is_ok();
        measures.extend(costs(&format!("rules, match {name}"), 5_000, nanoseconds, allocations, ask));
    }
    Ok(measures)
}

/// A file of about 60 kB in which 2,250,000 pairs of rules are ambiguous: it has to be refused at the price of its size. The
/// baselines are bounds: the memory of a pod is 512 MB.
fn ambiguous() -> Vec<Measure> {
    const EACH: usize = 1_500;
    let rules =
        ["PR", "HR"].into_iter().flat_map(|input| (0..EACH).map(move |n| format!("aws({input}=cf-{n})")));
    let text = file(&rules.collect::<Vec<_>>());
    let refuse = || load(&text, &Options::default()).findings.len();
    let started = Instant::now();
    black_box(refuse());
    let name = "rules, refuse 1,500 PR and 1,500 HR";
    let time = started.elapsed().as_secs_f64() * 1e3;
    let mut measures = vec![Measure::new(format!("{name}, time"), time, "ms").against(1_000.0)];
    if let Some((allocations, bytes)) = allocated(refuse) {
        measures.push(
            Measure::new(format!("{name}, allocations"), allocations, "allocations").against(100_000.0),
        );
        measures.push(Measure::new(format!("{name}, memory"), bytes / 1e6, "MB").against(10.0));
    }
    measures
}

/// Allocations, and the most bytes at once.
#[cfg(feature = "count-allocations")]
pub(super) fn allocated<T>(act: impl FnOnce() -> T) -> Option<(f64, f64)> {
    let counted = allocation_counter::measure(|| drop(black_box(act())));
    let number = |value: u64| u32::try_from(value).map_or(f64::INFINITY, f64::from);
    Some((number(counted.count_total), number(counted.bytes_max)))
}

#[cfg(not(feature = "count-allocations"))]
pub(super) fn allocated<T>(_: impl FnOnce() -> T) -> Option<(f64, f64)> {
    None
}

fn rules(count: u32, plans: &[&str]) -> Vec<String> {
    let more = (0..count).zip(plans.iter().cycle()).map(|(n, plan)| {
        if n % 2 == 0 {
            format!("{plan}(PR=cf-{n}) -> EU")
        } else {
            format!("{plan}(PR=cf-{n}, HR=eu-{n}) -> PR, HR")
        }
    });
    INITIAL.iter().map(|&rule| rule.to_owned()).chain(more).take(count as usize).collect()
}

fn file(rules: &[String]) -> String {
    let lines: String = rules.iter().map(|rule| format!("    - {rule}\n")).collect();
    format!("hap:\n  rule:\n{lines}")
}

fn set(rules: &[String]) -> Outcome<RuleSet> {
    let loaded = load(&file(rules), &Options::default());
    let why = || loaded.findings.first().map(ToString::to_string).unwrap_or_default();
    loaded.rules.ok_or_else(|| why().into())
}

/// The least time of many short runs, since everything else that a machine does can only add to it, and the allocations.
fn costs<T>(
    name: &str,
    times: u32,
    nanoseconds: f64,
    allocations: f64,
    mut act: impl FnMut() -> T,
) -> Vec<Measure> {
    const RUNS: usize = 100;
    let least = (0..RUNS)
        .map(|_| {
            let started = Instant::now();
            for _ in 0..times {
                black_box(act());
            }
            started.elapsed().as_secs_f64() * 1e9 / f64::from(times)
        })
        .fold(f64::INFINITY, f64::min);
    let mut measures = vec![Measure::new(format!("{name}, time"), least, "ns").against(nanoseconds)];
    if let Some(counted) = count_allocations(&mut act) {
        let measure = Measure::new(format!("{name}, allocations"), counted, "allocations");
        measures.push(measure.against(allocations));
    }
    measures
}

#[cfg(feature = "count-allocations")]
fn count_allocations<T>(act: &mut impl FnMut() -> T) -> Option<f64> {
    let counted = allocation_counter::measure(|| drop(black_box(act())));
    u32::try_from(counted.count_total).ok().map(f64::from)
}

/// It takes another allocator, which the product does not have.
#[cfg(not(feature = "count-allocations"))]
fn count_allocations<T>(_: &mut impl FnMut() -> T) -> Option<f64> {
    None
}
