//! Lists, page by page.

use super::{
    Call, quotas,
    reply::{Answer, refused},
    state::{Key, Project, Resource},
};
use serde_json::{Map, Value, json};

/// Aggregated lists whose field is not named after the collection.
const RESOURCES: &[&str] = &["healthCheckServices", "notificationEndpoints"];

/// The items of a page, and the token of the next one.
type Page<'a> = (Vec<(&'a Key, &'a Resource)>, Option<String>);

fn page<'a>(
    project: &'a Project,
    call: &Call<'_>,
    is_wanted: impl Fn(&Key) -> bool,
) -> Result<Page<'a>, Answer> {
    let asked = call.query("maxResults").map_or(Ok(500), str::parse::<usize>);
    let size = match asked {
        Ok(size) if (1..=500).contains(&size) => size.min(project.controls.page),
        _ => return Err(refused(400, "invalidParameter", "Invalid value for field 'maxResults'")),
    };
    let after = call.query("pageToken").map(str::to_owned);
    let is_hidden = |key: &Key| project.controls.hidden.contains(&(key.collection.clone(), key.name.clone()));
    let found = project
        .resources
        .iter()
        .filter(|(key, _)| is_wanted(key) && !is_hidden(key))
        .filter(|(key, _)| after.as_ref().is_none_or(|after| key.path() > *after));
    let mut items: Vec<_> = found.collect();
    items.sort_by_key(|(key, _)| key.path());
    let more = items.len() > size;
    items.truncate(size);
    let next = items.last().filter(|_| more).map(|(key, _)| key.path());
    Ok((items, next))
}

fn with_token(mut body: Value, next: Option<String>) -> Answer {
    if let Some(next) = next {
        body["nextPageToken"] = json!(next);
    }
    Answer::ok(body)
}

pub(crate) fn of_scope(project: &Project, call: &Call<'_>, scope: &str, collection: &str) -> Answer {
    match page(project, call, |key| key.scope == scope && key.collection == collection) {
        Ok((items, next)) => {
            let mut body = json!({ "kind": "compute#list", "id": collection });
            if !items.is_empty() {
                body["items"] = items.iter().map(|(_, resource)| resource.body.clone()).collect();
            }
            with_token(body, next)
        }
        Err(answer) => answer,
    }
}

pub(crate) fn aggregated(project: &Project, call: &Call<'_>, collection: &str) -> Answer {
    let lost = &project.controls.unreachable;
    let (items, next) =
        match page(project, call, |key| key.collection == collection && !lost.contains(&key.scope)) {
            Ok(page) => page,
            Err(answer) => return answer,
        };
    let field = if RESOURCES.contains(&collection) { "resources" } else { collection };
    let mut scopes = Map::new();
    for scope in project.scopes() {
        let code = if lost.contains(&scope) { "UNREACHABLE" } else { "NO_RESULTS_ON_PAGE" };
        let data = json!([{ "key": "scope", "value": scope }]);
        let warning = json!({ "code": code, "message": "There are no results for the scope on this page.", "data": data });
        scopes.insert(scope, json!({ "warning": warning }));
    }
    for (key, resource) in items {
        let scope = scopes.entry(key.scope.clone()).or_insert_with(|| json!({}));
        let mut shown = scope.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
        shown.push(resource.body.clone());
        *scope = json!({ field: shown });
    }
    with_token(json!({ "kind": "compute#aggregatedList", "id": collection, "items": scopes }), next)
}

pub(crate) fn regions(project: &Project, call: &Call<'_>) -> Answer {
    let start = call.query("pageToken").and_then(|token| token.parse().ok()).unwrap_or(0);
    let size = project.controls.page;
    let names = project.regions.iter().skip(start).take(size);
    let items: Vec<Value> = names.map(|region| quotas::region(project, region).body).collect();
    let next = (start + size < project.regions.len()).then(|| (start + size).to_string());
    with_token(json!({ "kind": "compute#regionList", "items": items }), next)
}
