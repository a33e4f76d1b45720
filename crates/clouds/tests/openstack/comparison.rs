//! The same leftovers in two projects: one is cleaned by `openstack project cleanup`, one by us. Calls are counted by one proxy, and
//! openstacksdk says of both what is left.

use super::cleaner::{Cleaned, clean, client};
use allotment_core::cleanup::{Stuck, Verdict};
use allotment_testing::{CallCounter, OpenStackProject};
use serde_json::Value;
use std::time::Instant;

/// The table, as it is in docs/cleanup.md.
#[derive(Default)]
pub struct Comparison {
    rows: Vec<String>,
    versions: String,
}

impl Comparison {
    /// The cloud's own client cleans a project. Nothing is expected of it.
    pub fn peer(&mut self, what: &str, project: &OpenStackProject, counter: &CallCounter) {
        counter.take().unwrap();
        let peer = project.script("peer", &["--auth-url", counter.auth_url()]).unwrap();
        let calls = counter.take().unwrap();
        println!("openstack project cleanup: {}", peer["said"]);
        self.versions = peer["version"].as_str().unwrap().to_owned();
        let verdict = format!("exit code {}", peer["exitCode"]);
        self.row(
            what,
            "`openstack project cleanup`",
            &verdict,
            project,
            peer["seconds"].as_f64().unwrap(),
            calls,
        );
    }

    /// We do, with the keys of a Secret.
    pub async fn own(
        &mut self,
        what: &str,
        project: &OpenStackProject,
        keys: &Value,
        counter: &CallCounter,
    ) -> Cleaned {
        counter.take().unwrap();
        let (began, client) = (Instant::now(), client(counter.auth_url(), keys));
        let cleaned = clean(&client).await;
        let seconds = began.elapsed().as_secs_f64();
        let calls = counter.take().unwrap();
        let verdict = match (&cleaned.verdict, Stuck::by_plan(&cleaned.plan, &cleaned.refused)) {
            (Verdict::Empty(_), _) => "proven empty".to_owned(),
            (_, Some(stuck)) => format!("stuck: {}", stuck.code),
            (other, None) => format!("{other:?}"),
        };
        self.row(what, "Allotment", &verdict, project, seconds, calls);
        cleaned
    }

    fn row(
        &mut self,
        what: &str,
        who: &str,
        verdict: &str,
        project: &OpenStackProject,
        seconds: f64,
        calls: u64,
    ) {
        let left = project.script("left", &[]).unwrap();
        let kinds = left["left"].as_object().unwrap().iter();
        let kinds: Vec<String> =
            kinds.map(|(kind, ids)| format!("{} {kind}", ids.as_array().map_or(0, Vec::len))).collect();
        let left = if left["empty"] == true { "nothing".to_owned() } else { kinds.join(", ") };
        self.rows.push(format!("| {what} | {who} | {verdict} | {left} | {seconds:.0} | {calls} |"));
    }

    pub fn print(&self) {
        println!("\n| leftovers | who | result | left | seconds | calls |\n|---|---|---|---|---|---|");
        self.rows.iter().for_each(|row| println!("{row}"));
        println!("\n{}\n", self.versions);
    }
}
