//! `allotment cleanup kinds`: the tables that cleaning follows.

use crate::output::{self, Format, Paint};
use allotment_core::cleanup::{
    Cloud, Prepare,
    kinds::{CountKind, Kind, Scope, Treatment, table},
};
use anyhow::Result;
use serde::Serialize;
use std::process::ExitCode;

/// The table of a cloud, to print.
#[derive(Serialize)]
struct Table {
    cloud: Cloud,
    kinds: Vec<Row>,
    counts: Vec<CountRow>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    kind: &'static str,
    wave: u8,
    scope: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    suffix: Option<&'static str>,
    after: &'static [&'static str],
    list: &'static [&'static str],
    delete: &'static [&'static str],
    prepare: &'static [Prepare],
    stays: Vec<&'static str>,
    goes_with: Option<&'static str>,
    cannot_go: Vec<CannotGo>,
}

#[derive(Serialize)]
struct CannotGo {
    because: &'static str,
    remedy: &'static str,
}

#[derive(Serialize)]
struct CountRow {
    count: &'static str,
    scope: &'static str,
    permission: &'static str,
    of: &'static [&'static str],
    optional: bool,
}

pub(super) fn run(cloud: Option<&str>, format: Option<Format>) -> Result<ExitCode> {
    let wanted = |one: &Cloud| cloud.is_none_or(|cloud| cloud == one.as_str());
    let tables: Vec<Table> = Cloud::ALL.into_iter().filter(wanted).map(Table::of).collect();
    match format {
        Some(format) => output::print_value(&tables, format)?,
        None => {
            let texts: Vec<String> = tables.iter().map(Table::for_people).collect();
            output::print(&texts.join("\n"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

impl Table {
    fn of(cloud: Cloud) -> Self {
        let table = table(cloud);
        let mut kinds: Vec<Row> = table.kinds.iter().map(Row::of).collect();
        kinds.sort_by_key(|row| row.wave);
        Self { cloud, kinds, counts: table.counts.iter().map(CountRow::of).collect() }
    }

    fn for_people(&self) -> String {
        let paint = Paint::for_standard_output();
        let heading = ["KIND", "WAVE", "SCOPE", "STAYS", "PERMISSIONS"].map(str::to_owned);
        let kinds = std::iter::once(heading).chain(self.kinds.iter().map(Row::cells)).collect::<Vec<_>>();
        let heading = ["COUNT", "SCOPE", "COUNTS", "PERMISSION"].map(str::to_owned);
        let counts =
            std::iter::once(heading).chain(self.counts.iter().map(CountRow::cells)).collect::<Vec<_>>();
        format!(
            "{}\n{}\n{}",
            paint.bold(&format!("{}: lower waves are deleted first", self.cloud)),
            super::headed(&output::table(&kinds), paint),
            super::headed(&output::table(&counts), paint)
        )
    }
}

impl Row {
    fn of(kind: &'static Kind) -> Self {
        let (mut stays, mut cannot_go, mut goes_with) = (Vec::new(), Vec::new(), None);
        for (_, treatment) in kind.rules {
            match treatment {
                Treatment::Keep(because) => stays.push(*because),
                Treatment::Immovable { because, remedy } => cannot_go.push(CannotGo { because, remedy }),
                Treatment::GoesWith { kind, .. } => goes_with = Some(*kind),
                Treatment::Delete | Treatment::Gone | Treatment::Leaving(_) => (),
            }
        }
        let suffix = match kind.scope {
            Scope::ByName { suffix } => Some(suffix),
            Scope::Regional | Scope::Global => None,
        };
        Self {
            kind: kind.name,
            wave: kind.wave,
            scope: scope(kind.scope),
            suffix,
            after: kind.after,
            list: kind.list,
            delete: kind.delete,
            prepare: kind.prepare,
            stays,
            goes_with,
            cannot_go,
        }
    }

    fn cells(&self) -> [String; 5] {
        let scope =
            self.suffix.map_or_else(|| self.scope.to_owned(), |suffix| format!("by name, SHOOT{suffix}"));
        let goes_with = self.goes_with.map(|kind| format!("default or part of a {kind}: goes with it"));
        let cannot_go = self.cannot_go.iter().map(|CannotGo { because, .. }| format!("cannot go: {because}"));
        let stays = self.stays.iter().map(|because| (*because).to_owned());
        let stays: Vec<String> = stays.chain(goes_with).chain(cannot_go).collect();
        let mut permissions: Vec<&str> = self.list.iter().chain(self.delete).copied().collect();
        permissions.dedup();
        [self.kind.to_owned(), self.wave.to_string(), scope, stays.join("; "), permissions.join(", ")]
    }
}

impl CountRow {
    fn of(count: &'static CountKind) -> Self {
        let CountKind { name, scope: found, permission, of, optional } = count;
        Self { count: name, scope: scope(*found), permission, of, optional: *optional }
    }

    fn cells(&self) -> [String; 4] {
        let counted = if self.of.is_empty() { "any kind".to_owned() } else { self.of.join(", ") };
        [self.count.to_owned(), self.scope.to_owned(), counted, self.permission.to_owned()]
    }
}

const fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Regional => "regional",
        Scope::Global => "global",
        Scope::ByName { .. } => "byName",
    }
}
