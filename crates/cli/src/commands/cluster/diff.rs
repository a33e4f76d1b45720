//! `allotment cluster diff`.

use super::{Opened, not_there};
use crate::{
    commands::show::counted,
    output::{self, Format, Paint},
};
use allotment_core::cluster::{Difference, flow};
use allotment_operator::cluster::{ClusterName, Forecast, Found};
use anyhow::Result;
use kube::ResourceExt;
use serde_json::{Value, json};
use std::process::ExitCode;

/// What would become of a Cluster.
struct Line {
    name: ClusterName,
    shoot: Option<String>,
    is_paused: bool,
    forecast: Forecast,
}

pub(super) async fn run(
    opened: &Opened,
    names: &[String],
    namespace: Option<&str>,
    format: Option<Format>,
) -> Result<ExitCode> {
    let mut lines = Vec::new();
    let (inspector, mut listed) = (&opened.inspector, Vec::new());
    if names.is_empty() {
        listed = inspector.list(namespace).await?;
    }
    for name in names {
        let name = ClusterName { namespace: namespace.unwrap_or_default().to_owned(), name: name.clone() };
        let Some(found) = inspector.find(&name).await? else { return Ok(not_there(&name)) };
        lines.push(line(opened, found).await?);
    }
    let all = listed.len();
    for (number, cluster) in listed.into_iter().enumerate() {
        output::progress(&format!("{}/{all} {}", number + 1, cluster.name_any()));
        lines.push(line(opened, inspector.gather(cluster, None).await?).await?);
    }
    let otherwise = lines.iter().filter(|line| line.is_otherwise()).count();
    match format {
        Some(format) => {
            let clusters: Vec<Value> = lines.iter().map(Line::for_machines).collect();
            output::print_value(&json!({ "ok": otherwise == 0, "clusters": clusters }), format)?;
        }
        None => {
            let paint = Paint::for_standard_output();
            let mut text: String = lines.iter().map(|line| line.for_people(paint)).collect();
            text.push_str(&summary(&lines, names.is_empty().then_some(namespace).flatten()));
            output::print(&text)?;
        }
    }
    Ok(if otherwise == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The last line. Where a namespace was looked through it is named: one without Clusters may be mistyped.
fn summary(lines: &[Line], namespace: Option<&str>) -> String {
    let stopped = lines.iter().filter(|line| matches!(line.forecast, Forecast::Stopped(_))).count();
    let changed = lines.iter().filter(|line| line.is_otherwise()).count() - stopped;
    let place = namespace.map(|namespace| format!(" in namespace {namespace}")).unwrap_or_default();
    let refused = if stopped == 0 { String::new() } else { format!(", {stopped} would be refused") };
    format!("{}{place}, {changed} would change{refused}\n", counted(lines.len(), "Cluster"))
}

async fn line(opened: &Opened, found: Found) -> Result<Line> {
    let forecast = opened.inspector.forecast(&found).await?;
    let Found { cluster, shoot, .. } = found;
    let name = ClusterName { namespace: cluster.namespace().unwrap_or_default(), name: cluster.name_any() };
    let shoot = shoot.map(|shoot| shoot.name_any());
    Ok(Line { name, shoot, is_paused: flow::is_paused(&cluster), forecast })
}

impl Line {
    fn is_otherwise(&self) -> bool {
        match &self.forecast {
            Forecast::Brought | Forecast::NotMade | Forecast::Leaving => false,
            Forecast::Stopped(_) => true,
            Forecast::Changes(changes) => !changes.is_empty(),
        }
    }

    fn for_machines(&self) -> Value {
        let (changes, stopped): (&[Difference], _) = match &self.forecast {
            Forecast::Changes(changes) => (changes, None),
            Forecast::Stopped(why) => (&[], Some(why)),
            Forecast::Brought | Forecast::NotMade | Forecast::Leaving => (&[], None),
        };
        json!({
            "namespace": self.name.namespace,
            "name": self.name.name,
            "shoot": self.shoot,
            "paused": self.is_paused,
            "changes": changes,
            "stopped": stopped,
        })
    }

    fn for_people(&self, paint: Paint) -> String {
        let Self { name, shoot, is_paused, forecast } = self;
        let shoot = shoot.as_ref().map_or_else(String::new, |shoot| format!(" (Shoot {shoot})"));
        let pause = if *is_paused { ", once it is no longer paused" } else { "" };
        match forecast {
            Forecast::Brought => paint.dim(&format!("{name}: the tenant brought it")) + "\n",
            Forecast::NotMade => paint.dim(&format!("{name}: it has no Shoot yet")) + "\n",
            Forecast::Leaving => paint.dim(&format!("{name}{shoot}: it is being deleted")) + "\n",
            Forecast::Stopped(why) => {
                paint.red(&format!("{name}{shoot}: it would not be rolled out: {why}")) + "\n"
            }
            Forecast::Changes(none) if none.is_empty() => {
                paint.dim(&format!("{name}{shoot}: nothing would change")) + "\n"
            }
            Forecast::Changes(changes) => {
                let head = paint.bold(&format!("{name}{shoot}{pause}"));
                format!("{head}\n{}", shown(changes, paint))
            }
        }
    }
}

/// Every change in a line.
pub(super) fn shown(changes: &[Difference], paint: Paint) -> String {
    let line = |change: &Difference| {
        let text = change.to_string();
        match (&change.before, &change.after) {
            (None, Some(_)) => format!("  {}\n", paint.green(&text)),
            (Some(_), None) => format!("  {}\n", paint.red(&text)),
            _ => format!("  {}\n", paint.yellow(&text)),
        }
    };
    changes.iter().map(line).collect()
}
