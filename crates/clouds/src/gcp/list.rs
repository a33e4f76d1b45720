//! Listings by rows. One aggregated list has the items of all regions: it is read once, and each region gets its share.

use super::{
    Gcp,
    call::{Call, encode, incomplete},
    error::DISABLED,
    read::Reader,
    rows::{self, Listed, Paths},
};
use crate::{Page, PageToken, Refusal};
use allotment_core::cleanup::{Cloud as CloudName, Item, KindName, Place, kinds::table};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use tokio::sync::Mutex;

/// The largest page that Compute Engine gives.
const PAGE: &str = "maxResults=500";

/// A list with more pages than these does not end.
const MOST_PAGES: usize = 10_000;

/// Aggregated lists, by kind.
#[derive(Default)]
pub(super) struct Shares(Mutex<BTreeMap<&'static str, Arc<Mutex<Option<Share>>>>>);

/// One aggregated list. Each region takes its share once: whoever asks again wants to know what is there now.
struct Share {
    regions: Result<BTreeMap<Place, Result<Vec<Item>, Refusal>>, Refusal>,
    taken: BTreeSet<Place>,
}

impl Shares {
    pub(super) async fn clear(&self) {
        self.0.lock().await.clear();
    }

    async fn of(&self, kind: &'static str) -> Arc<Mutex<Option<Share>>> {
        Arc::clone(self.0.lock().await.entry(kind).or_default())
    }
}

impl Share {
    fn take(&mut self, place: &Place) -> Option<Result<Vec<Item>, Refusal>> {
        if !self.taken.insert(place.clone()) {
            return None;
        }
        Some(match &mut self.regions {
            Ok(regions) => regions.remove(place).unwrap_or_else(|| Ok(Vec::new())),
            Err(refusal) => Err(refusal.clone()),
        })
    }
}

pub(super) fn unsupported(kind: &KindName) -> Refusal {
    Refusal::Other { code: "Unsupported".to_owned(), message: format!("there is no row for {kind}") }
}

impl Gcp {
    /// One page of a kind in a place.
    pub(super) async fn list_row(
        &self,
        place: &Place,
        kind: &KindName,
        page: Option<&PageToken>,
    ) -> Result<Page, Refusal> {
        let part = rows::part(kind.as_str());
        let paths =
            rows::paths(part.map_or(kind.as_str(), |part| part.of)).ok_or_else(|| unsupported(kind))?;
        let reader =
            Reader { kind: part.map_or(paths.kind, |part| part.kind), paths, part, auto: BTreeSet::new() };
        let listed = match paths.listed {
            Listed::Aggregated => {
                let items = self.share(place, reader).await;
                return self.or_absent(items.map(|items| Page::Items { items, next: None }));
            }
            Listed::PerRegion | Listed::Global => paths.list.replace("{region}", &encode(place.as_str())),
        };
        let page = self.page(place, &listed, permission(kind), page.map(|page| page.0.as_str())).await;
        let items = page.and_then(|(items, next)| {
            let read: Result<Vec<_>, _> = items.iter().map(|item| reader.read(None, place, item)).collect();
            Ok(Page::Items { items: read?.concat(), next: next.map(PageToken) })
        });
        self.or_absent(items)
    }

    /// A service that the project does not have has nothing in it. That is the project of the service account: only for
    /// its own project does it tell anything.
    pub(super) fn or_absent(&self, page: Result<Page, Refusal>) -> Result<Page, Refusal> {
        match page {
            Err(Refusal::Other { code, message }) if code == DISABLED && self.is_at_home() => {
                Ok(Page::Absent { because: message })
            }
            other => other,
        }
    }

    fn is_at_home(&self) -> bool {
        let home = format!("@{}.iam.gserviceaccount.com", self.credentials.project);
        self.credentials.principal().ends_with(&home)
    }

    async fn share(&self, place: &Place, reader: Reader) -> Result<Vec<Item>, Refusal> {
        let share = self.shares.of(reader.kind).await;
        let mut share = share.lock().await;
        if let Some(taken) = share.as_mut().and_then(|share| share.take(place)) {
            return taken;
        }
        let regions = self.aggregated(reader).await;
        let share = share.insert(Share { regions, taken: BTreeSet::new() });
        share.take(place).unwrap_or_else(|| Err(incomplete("an aggregated list")))
    }

    async fn aggregated(
        &self,
        mut reader: Reader,
    ) -> Result<BTreeMap<Place, Result<Vec<Item>, Refusal>>, Refusal> {
        if reader.kind == "Subnetwork" {
            reader.auto = self.auto_networks().await?;
        }
        let known = self.regions.lock().await.clone();
        let permission = permission(&KindName::of(reader.kind));
        let mut regions: BTreeMap<Place, Result<Vec<Item>, Refusal>> = BTreeMap::new();
        let mut pages = Pages::default();
        loop {
            let path = paged(reader.paths.list, pages.token.as_deref());
            let body = self.call(&Place::GLOBAL, &Call::get(self.compute(&path), permission)).await?;
            check_whole(&body)?;
            let empty = serde_json::Map::new();
            let scopes = match body.get("items") {
                Some(items) => items.as_object().ok_or_else(|| incomplete(reader.paths.list))?,
                None => &empty,
            };
            for (scope, content) in scopes {
                let Some(place) = place_of(scope, reader.paths)? else { continue };
                let read = read_scope(&reader, scope, &place, content);
                // Items in a region that the list of regions did not have would be seen by nobody.
                let is_known = !place.is_global() && (known.is_empty() || known.contains(&place));
                match (&read, is_known) {
                    (_, true) => (),
                    (Ok(items), false) if items.is_empty() => continue,
                    (_, false) => return Err(incomplete("regions.list")),
                }
                add(regions.entry(place).or_insert_with(|| Ok(Vec::new())), read);
            }
            if pages.is_last(&body)? {
                return Ok(regions);
            }
        }
    }

    /// The names of networks that have a subnetwork in each region, which nobody can delete by itself.
    async fn auto_networks(&self) -> Result<BTreeSet<String>, Refusal> {
        let networks = self.all_pages(&Place::GLOBAL, "global/networks", "compute.networks.list").await?;
        let is_auto =
            |network: &&Value| network.get("autoCreateSubnetworks").and_then(Value::as_bool) == Some(true);
        let name = |network: &Value| network.get("name").and_then(Value::as_str).map(str::to_owned);
        Ok(networks.iter().filter(is_auto).filter_map(name).collect())
    }

    /// All items of a list.
    pub(super) async fn all_pages(
        &self,
        place: &Place,
        path: &str,
        permission: &str,
    ) -> Result<Vec<Value>, Refusal> {
        let mut all = Vec::new();
        let mut pages = Pages::default();
        loop {
            let (items, next) = self.page(place, path, permission, pages.token.as_deref()).await?;
            all.extend(items);
            if pages.go_on(next)? {
                return Ok(all);
            }
        }
    }

    async fn page(
        &self,
        place: &Place,
        path: &str,
        permission: &str,
        token: Option<&str>,
    ) -> Result<(Vec<Value>, Option<String>), Refusal> {
        let mut body = self.call(place, &Call::get(self.compute(&paged(path, token)), permission)).await?;
        check_whole(&body)?;
        let items = match body.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => items,
            // An empty list has no items.
            None => Vec::new(),
            Some(_) => return Err(incomplete(path)),
        };
        Ok((items, next_token(&body)))
    }
}

/// The tokens of a listing. One that comes twice would go on for ever, and what it hides is unknown.
#[derive(Default)]
struct Pages {
    token: Option<String>,
    seen: BTreeSet<String>,
}

impl Pages {
    fn is_last(&mut self, body: &Value) -> Result<bool, Refusal> {
        self.go_on(next_token(body))
    }

    fn go_on(&mut self, next: Option<String>) -> Result<bool, Refusal> {
        let Some(next) = next else { return Ok(true) };
        if !self.seen.insert(next.clone()) || self.seen.len() > MOST_PAGES {
            return Err(incomplete("a list without an end"));
        }
        self.token = Some(next);
        Ok(false)
    }
}

fn next_token(body: &Value) -> Option<String> {
    body.get("nextPageToken")?.as_str().filter(|token| !token.is_empty()).map(str::to_owned)
}

fn paged(path: &str, token: Option<&str>) -> String {
    let token = token.map(|token| format!("&pageToken={}", encode(token))).unwrap_or_default();
    format!("{path}?{PAGE}{token}")
}

/// The permission that the table names.
pub(super) fn permission(kind: &KindName) -> &'static str {
    let row = table(CloudName::Gcp).kind(kind.as_str());
    row.and_then(|row| row.list.first().copied()).unwrap_or_default()
}

/// Whether an answer has everything. `NO_RESULTS_ON_PAGE` is what an empty scope says; any other warning is about
/// something that is not shown.
fn check_whole(body: &Value) -> Result<(), Refusal> {
    let partial = |what: &str| {
        let code: String = what.chars().filter(|char| char.is_ascii_alphanumeric() || *char == '_').collect();
        Refusal::Transient { why: format!("the list is not complete: {code}") }
    };
    if let Some(warning) = body.get("warning").filter(|warning| !warning.is_null()) {
        let code = warning.get("code").and_then(Value::as_str).unwrap_or("UNKNOWN");
        if code != "NO_RESULTS_ON_PAGE" {
            return Err(partial(code));
        }
    }
    for field in ["unreachables", "unreachable"] {
        if body.get(field).and_then(Value::as_array).is_some_and(|scopes| !scopes.is_empty()) {
            return Err(partial("UNREACHABLE"));
        }
    }
    Ok(())
}

/// The region of a scope; none if another kind lists it.
fn place_of(scope: &str, paths: &Paths) -> Result<Option<Place>, Refusal> {
    match scope.split_once('/') {
        Some(("regions", region)) => Ok(Some(Place::new(region))),
        Some(("zones", zone)) => {
            let (region, _) = zone.rsplit_once('-').ok_or_else(|| incomplete(paths.list))?;
            Ok(Some(Place::new(region)))
        }
        None if scope == "global" && rows::has_global_twin(paths) => Ok(None),
        // Not one that is known: its items may be anywhere. An empty one says nothing.
        _ => Ok(Some(Place::GLOBAL)),
    }
}

fn read_scope(reader: &Reader, scope: &str, place: &Place, content: &Value) -> Result<Vec<Item>, Refusal> {
    check_whole(content)?;
    let zone = scope.strip_prefix("zones/");
    let items = match content.get(reader.paths.items) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(items) => items.as_array().ok_or_else(|| incomplete(reader.paths.list))?,
    };
    let read: Result<Vec<_>, _> = items.iter().map(|item| reader.read(zone, place, item)).collect();
    Ok(read?.concat())
}

fn add(known: &mut Result<Vec<Item>, Refusal>, more: Result<Vec<Item>, Refusal>) {
    match (known, more) {
        (Ok(known), Ok(more)) => known.extend(more),
        (known @ Ok(_), Err(refusal)) => *known = Err(refusal),
        (Err(_), _) => (),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_that_hides_something_is_refused() {
        assert!(check_whole(&json!({ "warning": { "code": "NO_RESULTS_ON_PAGE" } })).is_ok());
        assert!(check_whole(&json!({ "warning": null, "unreachables": [] })).is_ok());
        for hides in [
            json!({ "warning": { "code": "UNREACHABLE" } }),
            json!({ "warning": { "code": "PARTIAL_SUCCESS" } }),
            json!({ "warning": {} }),
            json!({ "unreachables": ["zones/us-east1-b"] }),
        ] {
            let refusal = check_whole(&hides).unwrap_err();
            assert!(refusal.to_string().contains("not complete"), "{refusal}");
        }
    }

    #[test]
    fn scopes_are_regions_and_what_is_in_none_belongs_to_another_kind() {
        let disks = rows::paths("Disk").unwrap();
        let services = rows::paths("RegionBackendService").unwrap();
        let place = |scope: &str| place_of(scope, disks).unwrap().unwrap();
        assert_eq!(place("zones/europe-west1-b").as_str(), "europe-west1");
        assert_eq!(place("regions/europe-west1").as_str(), "europe-west1");
        assert_eq!(place_of("global", services).unwrap(), None);
        assert!(place("global").is_global(), "disks are in no global list, so these would be lost");
    }
}
