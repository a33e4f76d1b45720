//! When Gardener may work on a Shoot, and what it may update by itself.

use super::{
    problem::{Findings, Problem},
    scene::Scene,
};
use allotment_api::kyma::TimeWindow;
use serde_json::{Value, json};

/// The lengths of a window that Gardener takes, in minutes.
const MINUTES: std::ops::RangeInclusive<i32> = 30..=360;

/// What may be updated is always written, since a half-written pair would be read as no. A window is written only if somebody
/// says one: else Gardener picks one, and it stays.
pub(super) fn render(scene: &Scene<'_>, findings: &mut Findings) -> Value {
    let asked = scene.input.cluster.spec.maintenance.clone().unwrap_or_default();
    let (defaults, update) = (&scene.all.maintenance, asked.auto_update.unwrap_or_default());
    let or = |asked: Option<bool>, default: Option<bool>| asked.or(default).unwrap_or(true);
    let mut maintenance = json!({ "autoUpdate": {
        "kubernetesVersion": or(update.kubernetes_version, defaults.auto_update.kubernetes_version),
        "machineImageVersion": or(update.machine_image_version, defaults.auto_update.machine_image_version),
    } });
    let regional = defaults.regions.get(&scene.core.region);
    let (field, window) = match (&asked.time_window, regional, &defaults.time_window) {
        (Some(window), _, _) => ("spec.maintenance.timeWindow".to_owned(), window),
        (_, Some(window), _) => {
            (format!("clusters.defaults.maintenance.regions.{}", scene.core.region), window)
        }
        (_, _, Some(window)) => ("clusters.defaults.maintenance.timeWindow".to_owned(), window),
        _ => return maintenance,
    };
    findings.take(check(field, window));
    maintenance["timeWindow"] = json!(window);
    maintenance
}

/// Whether Gardener takes a window.
pub(super) fn check(field: impl Into<String>, window: &TimeWindow) -> Result<(), Problem> {
    if length(window).is_some_and(|minutes| MINUTES.contains(&minutes)) {
        return Ok(());
    }
    let what = format!("{} to {} is not a window that Gardener takes", window.begin, window.end);
    Err(Problem::new(field, what).allowed(["30 minutes to 6 hours, as in 220000+0100 to 230000+0100"]))
}

/// The length of a window in minutes. One that ends before it begins ends on the next day.
fn length(window: &TimeWindow) -> Option<i32> {
    let day = 24 * 60;
    Some((minute(&window.end)? - minute(&window.begin)?).rem_euclid(day))
}

/// The minute of the day in UTC of `220000+0100`.
fn minute(text: &str) -> Option<i32> {
    let number = |from: usize, most: i32| {
        let digits =
            text.get(from..from + 2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()))?;
        digits.parse::<i32>().ok().filter(|number| *number <= most)
    };
    let offset = number(7, 14)? * 60 + number(9, 59)?;
    let local = number(0, 23)? * 60 + number(2, 59)?;
    number(4, 59).filter(|_| text.len() == 11)?;
    match text.get(6..7)? {
        "+" => Some(local - offset),
        "-" => Some(local + offset),
        _ => None,
    }
}
