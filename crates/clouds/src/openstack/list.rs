//! Listings by rows.

use super::{
    OpenStack,
    call::{Call, Reached, encode, incomplete},
    rows::{self, PAGE, Pages, Row, Source},
    services::NETWORK,
};
use crate::{Page, PageToken, Refusal};
use allotment_core::cleanup::{
    Cloud as CloudName, Item, ItemId, KindName, Place,
    attribute::{CLUSTER, GROUP, OWNER, PRISTINE, REFERENCED_GROUP},
    kinds::table,
};
use serde_json::Value;

/// How names begin that Gardener and the controllers in a cluster give.
const NAMES_OF_CLUSTERS: &[&str] = &["shoot--", "kube_service_shoot--"];

/// A place in a listing: the query, and the marker or offset in it.
#[derive(Debug, PartialEq, Eq)]
struct Position {
    query: usize,
    after: String,
}

impl OpenStack {
    pub(super) async fn list_row(
        &self,
        place: &Place,
        kind: &KindName,
        page: Option<&PageToken>,
    ) -> Result<Page, Refusal> {
        let row = rows::find(kind.as_str()).ok_or_else(|| unsupported(kind))?;
        let position = Position::read(page)?;
        let permission = permission(kind.as_str());
        let session = self.session().await?;
        let call = Call::get(path(row, &position, &session.project)?, permission);
        let body = match self.call(row.service, place, &call).await {
            Ok(Reached::Here(body)) => body,
            Ok(Reached::Absent(because)) => return Ok(Page::Absent { because }),
            Err(Refusal::Gone) => return self.without_extension(row, place).await,
            Err(refusal) => return Err(refusal),
        };
        let found = body.get(row.items).and_then(Value::as_array).ok_or_else(|| incomplete(row.list))?;
        let mut items = Vec::new();
        for value in found {
            items.push(read(row, place, value)?);
        }
        if let Some((name, starts)) = row.except {
            let is_other = |item: &Item| {
                item.attribute(name).is_some_and(|value| starts.iter().any(|start| value.starts_with(start)))
            };
            items.retain(|item| !is_other(item));
        }
        if row.kind == "KeyPair" && !found.is_empty() && self.has_other_projects().await? {
            items = items.into_iter().map(|item| item.with(OWNER, session.user.clone())).collect();
        }
        let next = position.next(row, &body, found.len())?;
        Ok(Page::Items { items, next })
    }

    /// A list that is not found: neutron without an extension does not have the kind. Everything else is unknown.
    async fn without_extension(&self, row: &Row, place: &Place) -> Result<Page, Refusal> {
        let not_found =
            || Refusal::Other { code: "HTTP404".to_owned(), message: format!("{} was not found", row.list) };
        if row.extension.is_empty() {
            return Err(not_found());
        }
        let call = Call::get("/extensions".to_owned(), "get_extension");
        let body = self.call_present(&NETWORK, place, &call).await?;
        let extensions = body.get("extensions").and_then(Value::as_array);
        let extensions = extensions.filter(|all| !all.is_empty()).ok_or_else(|| incomplete("/extensions"))?;
        let is_there = extensions
            .iter()
            .any(|extension| extension.get("alias").and_then(Value::as_str) == Some(row.extension));
        if is_there {
            return Err(not_found());
        }
        Ok(Page::Absent { because: format!("neutron in {place} has no extension {}", row.extension) })
    }

    /// Key pairs are the user's, and no field tells for which project one was made. Those of a user with other projects
    /// may be in use there.
    async fn has_other_projects(&self) -> Result<bool, Refusal> {
        let body = self.identity("/auth/projects").await?;
        let projects = body.get("projects").and_then(Value::as_array);
        let projects = projects.ok_or_else(|| incomplete("/auth/projects"))?;
        let own = self.session().await?;
        let is_other =
            |project: &Value| project.get("id").and_then(Value::as_str) != Some(own.project.as_str());
        Ok(projects.iter().any(is_other))
    }
}

impl Position {
    /// From a token of ours.
    fn read(page: Option<&PageToken>) -> Result<Self, Refusal> {
        let Some(PageToken(token)) = page else { return Ok(Self { query: 0, after: String::new() }) };
        let (query, after) = token.split_once(':').ok_or_else(|| incomplete("a page"))?;
        let query = query.parse().map_err(|_| incomplete("a page"))?;
        Ok(Self { query, after: after.to_owned() })
    }

    /// The page after this one, which had so many items.
    fn next(&self, row: &Row, body: &Value, found: usize) -> Result<Option<PageToken>, Refusal> {
        let after = match row.pages {
            Pages::Links => linked(body, &format!("{}_links", row.items))?,
            Pages::Next => body.get("next").and_then(Value::as_str).map(marker).transpose()?,
            Pages::Offset if found == 0 => None,
            Pages::Offset => {
                let offset = self.after.parse::<usize>().unwrap_or(0).saturating_add(found);
                Some(offset.to_string())
            }
        };
        match after {
            Some(after) if after == self.after => Err(Refusal::Other {
                code: "SamePageAgain".to_owned(),
                message: format!("{} goes on at the page that was read", row.list),
            }),
            Some(after) => Ok(Some(PageToken(format!("{}:{after}", self.query)))),
            None if self.query + 1 < row.queries.len() => Ok(Some(PageToken(format!("{}:", self.query + 1)))),
            None => Ok(None),
        }
    }
}

/// The path of a page.
fn path(row: &Row, position: &Position, project: &str) -> Result<String, Refusal> {
    let query = row.queries.get(position.query).ok_or_else(|| incomplete("a page"))?;
    let mut parameters = vec![format!("limit={PAGE}")];
    if !query.is_empty() {
        parameters.push(query.replace('$', &encode(project)));
    }
    if !position.after.is_empty() {
        let name = if row.pages == Pages::Offset { "offset" } else { "marker" };
        parameters.push(format!("{name}={}", encode(&position.after)));
    }
    Ok(format!("{}?{}", row.list, parameters.join("&")))
}

fn linked(body: &Value, field: &str) -> Result<Option<String>, Refusal> {
    let links = body.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let next = links.iter().find(|link| link.get("rel").and_then(Value::as_str) == Some("next"));
    next.map(|link| marker(link.get("href").and_then(Value::as_str).unwrap_or_default())).transpose()
}

/// The marker in a link. The rest of it is not followed: behind a proxy, services name hosts that nobody else reaches.
fn marker(link: &str) -> Result<String, Refusal> {
    let query = link.split_once('?').map_or("", |(_, query)| query);
    let marker = query.split('&').find_map(|pair| pair.strip_prefix("marker="));
    let marker = marker.filter(|marker| !marker.is_empty()).and_then(decode);
    // A page that cannot be read is no last page.
    marker.ok_or_else(|| incomplete("a page with a link without a marker"))
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            b'+' => b' ',
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// The permission that a listing needs.
fn permission(kind: &str) -> &'static str {
    let row = table(CloudName::OpenStack).kind(kind);
    row.and_then(|row| row.list.first()).copied().unwrap_or_default()
}

/// A kind without a row.
pub(super) fn unsupported(kind: &KindName) -> Refusal {
    Refusal::Other { code: "UnknownKind".to_owned(), message: format!("the client has no row for {kind}") }
}

/// An item without an id cannot be told from others: the listing is not complete.
fn read(row: &Row, place: &Place, value: &Value) -> Result<Item, Refusal> {
    let value = if row.within.is_empty() { Some(value) } else { value.get(row.within) };
    let value = value.ok_or_else(|| incomplete(row.list))?;
    let id = text(value, row.id).ok_or_else(|| incomplete(row.list))?;
    let mut item = Item::new(KindName::of(row.kind), place.clone(), ItemId::new(id));
    item.name = text(value, row.name);
    item.incarnation = if row.incarnation.is_empty() { None } else { text(value, row.incarnation) };
    for (name, source) in row.attributes {
        let found = match source {
            Source::At(pointer) => text(value, pointer),
            Source::Either(first, values, second) => text(value, first)
                .filter(|found| values.contains(&found.as_str()))
                .or_else(|| text(value, second)),
        };
        item = item.with(name, found.unwrap_or_default());
    }
    let is_of_cluster = |name: &&String| NAMES_OF_CLUSTERS.iter().any(|start| name.starts_with(start));
    if let Some(name) = item.name.as_ref().filter(is_of_cluster).cloned() {
        item = item.with(CLUSTER, name);
    }
    Ok(if row.kind == "SecurityGroupRule" { with_pristine(item, value) } else { item })
}

/// A text, number or truth; an empty text is none.
fn text(value: &Value, pointer: &str) -> Option<String> {
    match value.pointer(pointer)? {
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        Value::Bool(is) => Some(is.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The rules that every new default security group of neutron has: everything may leave, and its members may talk to each
/// other. Ids differ, so only the content tells.
fn with_pristine(item: Item, value: &Value) -> Item {
    let narrows =
        ["/protocol", "/port_range_min", "/port_range_max", "/remote_ip_prefix", "/remote_address_group_id"];
    let is_wide = narrows.iter().all(|pointer| text(value, pointer).is_none());
    let referenced = item.attribute(REFERENCED_GROUP);
    let is_usual = match text(value, "/direction").as_deref() {
        Some("egress") => referenced.is_none(),
        Some("ingress") => referenced.is_some() && referenced == item.attribute(GROUP),
        _ => false,
    };
    if is_wide && is_usual { item.with(PRISTINE, "true") } else { item }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn position(after: &str) -> Position {
        Position { query: 0, after: after.to_owned() }
    }

    #[test]
    fn a_listing_goes_on_by_marker_and_ends_at_a_marker_that_repeats() {
        let row = rows::find("Port").unwrap();
        let body = |link: &str| json!({ "ports": [], "ports_links": [{ "rel": "next", "href": link }] });
        let next = position("").next(row, &body("http://inner/v2.0/ports?limit=1&marker=a%2Db"), 1).unwrap();
        assert_eq!(next, Some(PageToken("0:a-b".to_owned())));
        let again = position("a").next(row, &body("http://x/ports?marker=a"), 1).unwrap_err();
        assert_eq!(again.code(), "SamePageAgain");
        assert!(position("a").next(row, &body("http://x/ports?limit=1"), 1).is_err(), "no marker is no end");
        let previous = json!({ "ports_links": [{ "rel": "previous", "href": "http://x/ports?marker=z" }] });
        assert_eq!(position("a").next(row, &previous, 1).unwrap(), None);
        let read = Position::read(Some(&PageToken("1:m:n".to_owned()))).unwrap();
        assert_eq!(read, Position { query: 1, after: "m:n".to_owned() });
    }

    #[test]
    fn offsets_end_with_an_empty_page_and_hidden_images_are_listed_too() {
        let groups = rows::find("ServerGroup").unwrap();
        let next = position("3").next(groups, &json!({}), 2).unwrap();
        assert_eq!(next, Some(PageToken("0:5".to_owned())), "a server may give less than it was asked for");
        assert_eq!(position("5").next(groups, &json!({}), 0).unwrap(), None);
        let images = rows::find("Image").unwrap();
        let next = position("").next(images, &json!({}), 0).unwrap().unwrap();
        let position = Position::read(Some(&next)).unwrap();
        assert!(path(images, &position, "p1").unwrap().contains("owner=p1&visibility=all&os_hidden=true"));
        assert_eq!(position.next(images, &json!({ "next": null }), 3).unwrap(), None);
    }

    fn rule(direction: &str, remote: Option<&str>, protocol: Option<&str>) -> Item {
        let value = json!({
            "id": "r", "direction": direction, "security_group_id": "g", "remote_group_id": remote,
            "protocol": protocol, "port_range_min": null, "remote_ip_prefix": null, "project_id": "p",
        });
        read(rows::find("SecurityGroupRule").unwrap(), &Place::of("R1"), &value).unwrap()
    }

    #[test]
    fn only_the_rules_of_a_new_default_group_are_pristine() {
        let is_pristine = |item: Item| item.attribute(PRISTINE).is_some();
        assert!(is_pristine(rule("egress", None, None)));
        assert!(is_pristine(rule("ingress", Some("g"), None)));
        assert!(!is_pristine(rule("ingress", None, None)), "the whole world may enter");
        assert!(!is_pristine(rule("ingress", Some("other"), None)));
        assert!(!is_pristine(rule("egress", None, Some("tcp"))));
    }

    #[test]
    fn items_are_read_with_what_the_rules_need() {
        let read = |kind: &str, value: Value| read(rows::find(kind).unwrap(), &Place::of("R1"), &value);
        let server = json!({ "id": "s", "status": "ACTIVE", "OS-EXT-STS:task_state": "deleting", "name": "shoot--p--c-x" });
        let server = read("Server", server).unwrap();
        assert_eq!(server.attribute("state"), Some("deleting"));
        assert_eq!(server.attribute(CLUSTER), Some("shoot--p--c-x"));
        let pair = read("KeyPair", json!({ "keypair": { "name": "k", "fingerprint": "f" } })).unwrap();
        assert_eq!((pair.id.as_str(), pair.incarnation.as_deref()), ("k", Some("f")));
        let external =
            read("Network", json!({ "id": "n", "router:external": true, "project_id": "q" })).unwrap();
        assert_eq!(external.attribute("external"), Some("true"));
        assert!(read("Network", json!({ "name": "no id" })).is_err());
    }
}
