//! `allotment cleanup plan`: everything that is there, and everything that would happen to it.

use super::{desk::Desk, ended, progress, tree::Node};
use crate::{
    args::pool::Place,
    commands::show::counted,
    output::{self, Format, Paint},
};
use allotment_core::{
    cleanup::{Immovable, Item, Kept, KindName, Place as Region, Plan, Planned, UnknownCell, Wave},
    pool::AccountName,
    text::visible,
};
use allotment_operator::cleanup::Listing;
use anyhow::Result;
use serde_json::{Value, json};
use std::{collections::BTreeMap, process::ExitCode};

pub(super) async fn run(account: AccountName, place: &Place, format: Option<Format>) -> Result<ExitCode> {
    let desk = match Desk::open(place, account).await {
        Ok(desk) => desk,
        Err(code) => return Ok(code),
    };
    let listing = match list(&desk).await? {
        Ok(listing) => listing,
        Err(code) => return Ok(code),
    };
    match format {
        Some(format) => output::print_value(&for_machines(&desk, &listing), format)?,
        None => output::print(&for_people(&desk, &listing, Paint::for_standard_output()))?,
    }
    Ok(if can_all_go(&listing) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Lists an account, and plans, while a person watches.
pub(super) async fn list(desk: &Desk) -> Result<Result<Listing, ExitCode>> {
    let operator = desk.operator()?;
    let account = &desk.account;
    let listing = operator.by_hand(async |by_hand| Box::pin(by_hand.plan(account)).await);
    let listing = progress::show(&desk.tally, Box::pin(listing)).await;
    Ok(listing.map_err(|error| ended(account, error)))
}

/// Whether a cleaning could come to its end.
fn can_all_go(Listing { plan, recorded, .. }: &Listing) -> bool {
    recorded.is_some() && plan.immovable.is_empty() && plan.unknown.is_empty()
}

fn for_machines(desk: &Desk, listing: &Listing) -> Value {
    let Listing { inventory, plan, recorded, near_misses } = listing;
    let recorded = recorded.as_ref().map(|recorded| {
        json!({
            "id": recorded.id,
            "at": recorded.recorded_at,
            "by": recorded.recorded_by,
            "baselineItems": recorded.baseline.as_ref().map(|baseline| baseline.items.len()),
            "shootsSince": recorded.shoots_since,
        })
    });
    json!({
        "ok": can_all_go(listing),
        "account": desk.account,
        "state": desk.line.state,
        "cloud": inventory.cloud,
        "cloudAccount": inventory.account,
        "principal": inventory.principal,
        "recorded": recorded,
        "startedAt": inventory.started_at,
        "finishedAt": inventory.finished_at,
        "places": inventory.places,
        "nearMisses": near_misses.iter().map(|(id, item)| json!({ "keep": id, "item": item })).collect::<Vec<_>>(),
        "plan": plan,
    })
}

fn for_people(desk: &Desk, listing: &Listing, paint: Paint) -> String {
    let mut text = heading(desk, listing, paint);
    for node in sections(&listing.plan, paint) {
        text.push_str(&node.draw());
    }
    if listing.plan.is_empty() {
        let empty = "nothing is left to delete: `allotment cleanup verify` proves it";
        text.push_str(&format!("{}\n", paint.green(empty)));
    }
    text
}

/// The account, and whatever keeps it from being cleaned as a whole.
pub(super) fn heading(desk: &Desk, listing: &Listing, paint: Paint) -> String {
    let Listing { inventory, recorded, .. } = listing;
    let (account, state) = (&desk.account, desk.line.state);
    let places = inventory.enabled_places().len();
    let seconds = inventory.finished_at.duration_since(inventory.started_at).as_secs();
    let mut text = format!(
        "{}, {state}: {} account {}, listed in {}, {seconds} s\n",
        paint.bold(account.as_str()),
        inventory.cloud,
        inventory.account,
        counted(places, "place"),
    );
    text.push_str(&match recorded {
        None => format!(
            "{}: it is never cleaned before `allotment cleanup baseline {account} --id-only` has recorded it\n",
            paint.red("its account id is not recorded")
        ),
        Some(recorded) => {
            let baseline = match &recorded.baseline {
                Some(baseline) => format!("with a baseline of {}", counted(baseline.items.len(), "item")),
                None => "without a baseline".to_owned(),
            };
            let at = recorded.recorded_at.strftime("%Y-%m-%d %H:%M:%SZ");
            paint.dim(&format!("recorded {at} by {}, {baseline}", recorded.recorded_by)) + "\n"
        }
    });
    for (id, item) in &listing.near_misses {
        let (id, item) = (visible(id), visible(&item.to_string()));
        text.push_str(&format!(
            "{}: {id} is not in this account; did you mean {item}?\n",
            paint.yellow("cleanup.keep")
        ));
    }
    text
}

/// The plan in numbers.
pub(super) fn summary(plan: &Plan) -> String {
    let numbers = [
        (plan.leaving.len(), "item", "without a call"),
        (plan.immovable.len(), "item", "that cannot go"),
        (plan.kept.len(), "item", "that stay"),
        (plan.unknown.len(), "listing", "that failed"),
    ];
    let others = numbers.into_iter().filter(|(number, ..)| *number > 0);
    let others = others.map(|(number, what, says)| format!("{} {says}", counted(number, what)));
    let deletions = format!("{} to delete", counted(plan.deletions().count(), "item"));
    std::iter::once(deletions).chain(others).collect::<Vec<_>>().join(", ")
}

/// The deletions in short: how many of each kind, in order.
pub(super) fn waves_in_short(plan: &Plan) -> String {
    let mut text = String::new();
    for Wave { number, items } in &plan.waves {
        let mut kinds: BTreeMap<&KindName, usize> = BTreeMap::new();
        for planned in items {
            *kinds.entry(&planned.item.kind).or_default() += 1;
        }
        let kinds: Vec<String> = kinds.into_iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        text.push_str(&format!("  wave {number}: {}\n", kinds.join(", ")));
    }
    text
}

fn sections(plan: &Plan, paint: Paint) -> Vec<Node> {
    let Plan { waves, leaving, immovable, kept, unknown, assumed_absent } = plan;
    let title = |number: usize, what: &str, says: &str| format!("{} {says}", counted(number, what));
    let deletions = plan.deletions().count();
    let all = [
        Node::new(
            paint.bold(&title(deletions, "item", "would be deleted, in this order")),
            waves.iter().map(wave).collect(),
        ),
        Node::new(
            paint.bold(&title(leaving.len(), "item", "would go without a call")),
            by_reason(leaving.iter().map(|Immovable { item, because, .. }| (visible(because), item))),
        ),
        Node::new(
            paint.red(&title(immovable.len(), "item", "cannot go")),
            by_reason(immovable.iter().map(|Immovable { item, because, remedy }| {
                (format!("{} {} {}", visible(because), paint.dim("->"), visible(remedy)), item)
            })),
        ),
        Node::new(
            paint.bold(&title(kept.len(), "item", "would stay")),
            by_reason(kept.iter().map(|Kept { item, because }| (visible(&because.to_string()), item))),
        ),
        Node::new(paint.red(&title(unknown.len(), "listing", "failed")), cells(unknown, paint)),
        Node::new(
            paint.yellow(&title(
                assumed_absent.len(),
                "listing",
                "failed, of kinds that cleanup.assumeAbsent names",
            )),
            cells(assumed_absent, paint),
        ),
    ];
    all.into_iter().filter(Node::has_branches).collect()
}

fn wave(Wave { number, items }: &Wave) -> Node {
    let mut kinds: BTreeMap<(&Region, &KindName), Vec<&Planned>> = BTreeMap::new();
    for planned in items {
        kinds.entry((&planned.item.place, &planned.item.kind)).or_default().push(planned);
    }
    let kind = |((place, kind), items): ((&Region, &KindName), Vec<&Planned>)| {
        let prepare: Vec<String> =
            items.first().into_iter().flat_map(|item| item.prepare).map(ToString::to_string).collect();
        let first =
            if prepare.is_empty() { String::new() } else { format!(" (first: {})", prepare.join(", ")) };
        let items = items.iter().map(|planned| Node::leaf(named(&planned.item))).collect();
        Node::new(format!("{kind} in {place}{first}"), items)
    };
    Node::new(format!("wave {number}"), kinds.into_iter().map(kind).collect())
}

/// Items with the same reason, below it, a line for each kind and place.
fn by_reason<'a>(items: impl Iterator<Item = (String, &'a Item)>) -> Vec<Node> {
    let mut reasons: BTreeMap<String, BTreeMap<(&Region, &KindName), Vec<String>>> = BTreeMap::new();
    for (because, item) in items {
        let kinds = reasons.entry(because).or_default();
        kinds.entry((&item.place, &item.kind)).or_default().push(named(item));
    }
    let kinds = |kinds: BTreeMap<(&Region, &KindName), Vec<String>>| {
        let line = |((place, kind), names): ((&Region, &KindName), Vec<String>)| {
            Node::leaf(format!("{kind} in {place}: {}", names.join(", ")))
        };
        kinds.into_iter().map(line).collect()
    };
    reasons.into_iter().map(|(because, below)| Node::new(because, kinds(below))).collect()
}

/// Tenants choose names, and the ids of some kinds: nothing in them is to look like another line.
fn named(item: &Item) -> String {
    visible(&match &item.name {
        Some(name) if name != item.id.as_str() => format!("{} ({name})", item.id),
        _ => item.id.to_string(),
    })
}

/// Cells with the same reason, below it.
fn cells(cells: &[UnknownCell], paint: Paint) -> Vec<Node> {
    let mut reasons: BTreeMap<String, Vec<Node>> = BTreeMap::new();
    for UnknownCell { place, kind, because, missing } in cells {
        let remedy = missing.as_ref().map(|missing| format!(" {} grant {missing}", paint.dim("->")));
        let cell = kind.as_ref().map_or_else(|| place.to_string(), |kind| format!("{kind} in {place}"));
        let reason = format!("{}{}", visible(because), remedy.unwrap_or_default());
        reasons.entry(reason).or_default().push(Node::leaf(cell));
    }
    reasons.into_iter().map(|(because, below)| Node::new(because, below)).collect()
}
