//! Which verb was tried on which kind with which outcome, and what is missing.

use crate::{
    run::Recording,
    script::{APPLY_PATCH, Call, Case, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    sync::Mutex,
};

/// Verb, kind and code, as the real server answered.
type Cell = (&'static str, String, u16);

#[derive(Debug, Default)]
pub struct Coverage(Mutex<BTreeSet<Cell>>);

const VERBS: [&str; 12] = [
    "create",
    "get",
    "list",
    "watch",
    "update",
    "apply",
    "merge",
    "json",
    "strategic",
    "delete",
    "deletecollection",
    "other",
];

/// The kinds that operators write and read.
const KINDS: [&str; 12] = [
    "configmaps",
    "secrets",
    "namespaces",
    "serviceaccounts",
    "events",
    "leases",
    "roles",
    "rolebindings",
    "clusterroles",
    "clusterrolebindings",
    "customresourcedefinitions",
    "widgets",
];

/// What operators see of each verb.
const NEEDED: [(&str, &[u16]); 10] = [
    ("create", &[201, 403, 409, 422]),
    ("get", &[200, 403, 404]),
    ("list", &[200, 403]),
    ("watch", &[200, 403]),
    ("update", &[200, 403, 404, 409, 422]),
    ("apply", &[200, 201, 403, 409, 422]),
    ("merge", &[200, 403, 404, 409, 422]),
    ("json", &[200, 403, 404, 422]),
    ("delete", &[200, 403, 404, 409]),
    ("deletecollection", &[200, 403]),
];

/// Cells that no server has, and why.
fn impossible(verb: &str, kind: &str, code: u16) -> bool {
    match (verb, kind, code) {
        // All namespaces at once cannot be deleted: 405.
        ("deletecollection", "namespaces", 200) => true,
        // An update creates these.
        (
            "update",
            "leases" | "roles" | "rolebindings" | "clusterroles" | "clusterrolebindings" | "events",
            404,
        ) => true,
        _ => false,
    }
}

impl Coverage {
    pub fn add(&self, case: &Case, real: &Recording) {
        let mut cells = self.0.lock().unwrap();
        for (step, seen) in case.steps.iter().zip(&real.steps) {
            let code = seen["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or_default();
            if let Some((verb, kind)) = step.call().and_then(place) {
                cells.insert((verb, kind, code));
            }
        }
    }

    /// Whether nothing was tried at all.
    pub fn is_empty(&self) -> bool {
        self.0.lock().unwrap().is_empty()
    }

    /// What should be covered and is not.
    pub fn missing(&self) -> Vec<String> {
        let cells = self.0.lock().unwrap();
        let mut missing = Vec::new();
        for (verb, codes) in NEEDED {
            for kind in KINDS {
                for code in codes {
                    let covered = cells.contains(&(verb, kind.to_owned(), *code));
                    if !covered && !impossible(verb, kind, *code) {
                        missing.push(format!("{verb} {kind} {code}"));
                    }
                }
            }
        }
        missing
    }

    /// One line per kind, one column per verb.
    pub fn table(&self) -> String {
        let cells = self.0.lock().unwrap();
        let mut rows: BTreeMap<&str, BTreeMap<&str, BTreeSet<u16>>> = BTreeMap::new();
        for (verb, kind, code) in cells.iter() {
            rows.entry(kind).or_default().entry(verb).or_default().insert(*code);
        }
        let mut text = format!(
            "what the real server was asked, and the codes of its answers ({} cells):\n",
            cells.len()
        );
        for (kind, verbs) in rows {
            let _ = writeln!(text, "{kind}");
            for verb in VERBS {
                if let Some(codes) = verbs.get(verb) {
                    let codes: Vec<String> = codes.iter().map(u16::to_string).collect();
                    let _ = writeln!(text, "  {verb:<17}{}", codes.join(" "));
                }
            }
        }
        text
    }
}

/// The verb and the kind of a request about objects.
fn place(call: &Call) -> Option<(&'static str, String)> {
    let (path, query) = call.path.split_once('?').unwrap_or((&call.path, ""));
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let parts = match parts.first() {
        Some(&"api") => parts.get(2..)?,
        Some(&"apis") => parts.get(3..)?,
        _ => return None,
    };
    let parts = match parts {
        ["namespaces", _, rest @ ..] if !rest.is_empty() && !matches!(rest[0], "status" | "finalize") => rest,
        parts => parts,
    };
    let (kind, named) = (parts.first()?, parts.len() > 1);
    let verb = match (call.method, named) {
        ("GET", _) if query.contains("watch=true") => "watch",
        ("GET", true) => "get",
        ("GET", false) => "list",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("DELETE", true) => "delete",
        ("DELETE", false) => "deletecollection",
        ("PATCH", _) => match call.content_type {
            APPLY_PATCH => "apply",
            MERGE_PATCH => "merge",
            JSON_PATCH => "json",
            STRATEGIC_PATCH => "strategic",
            _ => "other",
        },
        _ => "other",
    };
    let kind = parts.get(2).map_or((*kind).to_owned(), |subresource| format!("{kind}/{subresource}"));
    Some((verb, kind))
}
