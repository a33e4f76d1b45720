//! Listings by rows.

use super::{
    Alicloud,
    call::{Parameters, incomplete},
    json,
    rows::{self, Pages, Row, Source, Under},
};
use crate::{Page, PageToken, Refusal, http::Access};
use allotment_core::cleanup::{
    Item, ItemId, KindName, Place,
    attribute::{CLUSTER, NETWORK},
};
use serde_json::Value;
use std::collections::BTreeSet;

/// How tags begin that Gardener sets.
const CLUSTER_TAG: &str = "kubernetes.io/cluster/";
/// Tags that the cloud controller of a cluster sets on load balancers.
const CONTROLLER_TAGS: [&str; 2] = ["ack.aliyun.com", "kubernetes.do.not.delete"];
/// How names begin that Gardener gives.
const NAME_OF_CLUSTER: &str = "shoot--";

/// The pages of a listing that are numbered: those that came, and the number of items that all have.
#[derive(Debug, PartialEq, Eq)]
struct Numbered {
    page: u64,
    seen: u64,
    total: u64,
}

impl Numbered {
    fn read(token: &PageToken) -> Option<Self> {
        let mut parts = token.0.split(',').map(|part| part.parse().ok());
        let (page, seen, total) = (parts.next()??, parts.next()??, parts.next()??);
        parts.next().is_none().then_some(Self { page, seen, total })
    }

    fn token(&self) -> PageToken {
        PageToken(format!("{},{},{}", self.page, self.seen, self.total))
    }
}

/// One page of one call.
struct Fetched {
    items: Vec<Item>,
    next: Option<PageToken>,
}

impl Alicloud {
    pub(super) async fn list_row(
        &self,
        place: &Place,
        kind: &KindName,
        page: Option<&PageToken>,
    ) -> Result<Page, Refusal> {
        let row = rows::find(kind.as_str()).ok_or_else(|| unsupported(kind))?;
        if !self.is_in(row.service, place).await? {
            let because = format!("the service {} is not in this region", row.service.name);
            return Ok(Page::Absent { because });
        }
        let Fetched { items, next } = match &row.under {
            Some(under) => self.fetch_under(row, under, place, page).await?,
            None => self.fetch(row, place, &[], page).await?,
        };
        Ok(Page::Items { items, next })
    }

    /// All items of a row, with more parameters.
    pub(super) async fn every(
        &self,
        row: &Row,
        place: &Place,
        with: &[(&str, &str)],
    ) -> Result<Vec<Item>, Refusal> {
        let (mut items, mut tokens) = (Vec::new(), BTreeSet::new());
        let mut token = None;
        loop {
            let fetched = self.fetch(row, place, with, token.as_ref()).await?;
            items.extend(fetched.items);
            let Some(next) = fetched.next else { return Ok(items) };
            if !tokens.insert(next.clone()) {
                return Err(incomplete(row.list));
            }
            token = Some(next);
        }
    }

    /// The items of one page of holders. A holder that is deleted meanwhile is a refusal: what it held is not known.
    async fn fetch_under(
        &self,
        row: &Row,
        under: &Under,
        place: &Place,
        page: Option<&PageToken>,
    ) -> Result<Fetched, Refusal> {
        let holders = rows::find(under.kind).ok_or_else(|| unsupported(&KindName::of(under.kind)))?;
        let Fetched { items: holders, next } = self.fetch(holders, place, &[], page).await?;
        let mut items = Vec::new();
        for holder in holders {
            if under.only.is_some_and(|attribute| holder.attribute(attribute).is_none()) {
                continue;
            }
            let held = self.every(row, place, &[(under.parameter, holder.id.as_str())]).await?;
            let network = holder.attribute(NETWORK).unwrap_or_default();
            let held = held.into_iter().map(|item| item.with(under.attribute, holder.id.as_str()));
            items.extend(held.map(|item| if row.is_entry() { item } else { item.with(NETWORK, network) }));
        }
        Ok(Fetched { items, next })
    }

    async fn fetch(
        &self,
        row: &Row,
        place: &Place,
        with: &[(&str, &str)],
        page: Option<&PageToken>,
    ) -> Result<Fetched, Refusal> {
        let mut parameters: Parameters = Vec::new();
        let mut add = |name: &str, value: &str| parameters.push((name.to_owned(), value.to_owned()));
        row.with.iter().chain(with).for_each(|(name, value)| add(name, value));
        let before = match (row.pages, page) {
            (Pages::Numbered(_), Some(token)) => Numbered::read(token).ok_or_else(|| incomplete(row.list))?,
            _ => Numbered { page: 1, seen: 0, total: 0 },
        };
        match row.pages {
            Pages::Numbered(size) => {
                add("PageSize", size);
                add("PageNumber", &before.page.to_string());
            }
            Pages::Token(parameter, size) => {
                add(parameter, size);
                page.iter().for_each(|token| add("NextToken", &token.0));
            }
            Pages::Whole => (),
        }
        let answer = self.call(row.service, place, row.list, parameters, Access::Read).await?;
        let items = read_items(row, place, &answer)?;
        let next = match row.pages {
            Pages::Numbered(_) => following(row, &before, items.len(), &answer)?,
            Pages::Token(..) => json::text(&answer, "NextToken").map(PageToken),
            Pages::Whole => None,
        };
        Ok(Fetched { items, next })
    }
}

impl Row {
    /// Entries of a gateway are judged by the gateway, not by its network.
    fn is_entry(&self) -> bool {
        self.under.as_ref().is_some_and(|under| under.kind == "NatGateway")
    }
}

/// The next numbered page. Pages move if items come or go while they are read, and one may slip through between two pages: a number
/// that changes, or pages that end too early, make the listing incomplete.
fn following(
    row: &Row,
    before: &Numbered,
    items: usize,
    answer: &Value,
) -> Result<Option<PageToken>, Refusal> {
    let total = json::number(answer, "TotalCount").ok_or_else(|| incomplete(row.list))?;
    let items = u64::try_from(items).unwrap_or(u64::MAX);
    let seen = before.seen.saturating_add(items);
    if before.page > 1 && total != before.total {
        return Err(Refusal::Transient { why: format!("items changed while {} listed them", row.list) });
    }
    if seen >= total {
        return Ok(None);
    }
    if items == 0 {
        return Err(incomplete(row.list));
    }
    Ok(Some(Numbered { page: before.page + 1, seen, total }.token()))
}

/// A kind without a row.
pub(super) fn unsupported(kind: &KindName) -> Refusal {
    Refusal::Other { code: "UnknownKind".to_owned(), message: format!("the client has no row for {kind}") }
}

/// Some services leave a list out if there is nothing in it, and then say that there is nothing.
fn read_items(row: &Row, place: &Place, answer: &Value) -> Result<Vec<Item>, Refusal> {
    let says_nothing = json::number(answer, "TotalCount") == Some(0);
    let found = json::find(answer, row.items).or_else(|| says_nothing.then(Vec::new));
    let found = found.ok_or_else(|| incomplete(row.list))?;
    found.into_iter().map(|value| read(row, place, value)).collect()
}

/// An item without an id cannot be told from others: the listing is not complete.
fn read(row: &Row, place: &Place, value: &Value) -> Result<Item, Refusal> {
    let id = json::text(value, row.id).ok_or_else(|| incomplete(row.list))?;
    let mut item = Item::new(KindName::of(row.kind), place.clone(), ItemId::new(id));
    let optional = |path: &str| if path.is_empty() { None } else { json::text(value, path) };
    item.incarnation = optional(row.incarnation);
    item.name = optional(row.name);
    for (name, source) in row.attributes {
        let found = match source {
            Source::Text(path) => json::text(value, path).unwrap_or_default(),
            Source::All(path) => json::texts(value, path).join(","),
            Source::Marks(marks, mark) => {
                let is = |(path, text): &(&str, &str)| json::text(value, path).as_deref() == Some(*text);
                if marks.iter().any(is) { (*mark).to_owned() } else { String::new() }
            }
        };
        item = item.with(name, found);
    }
    let cluster = cluster(value, item.name.as_deref());
    Ok(item.with(CLUSTER, cluster.unwrap_or_default()))
}

/// The cluster that tags or the name say made an item.
fn cluster(value: &Value, name: Option<&str>) -> Option<String> {
    let lists = ["Tags/Tag", "Tags/Tags", "Tag/Tag", "Tags"];
    let tags = lists.iter().find_map(|path| json::find(value, path)).unwrap_or_default();
    let pair = |tag: &Value| {
        let key = json::text(tag, "TagKey").or_else(|| json::text(tag, "Key"))?;
        let value = json::text(tag, "TagValue").or_else(|| json::text(tag, "Value"));
        Some((key, value.unwrap_or_default()))
    };
    let pairs: Vec<(String, String)> = tags.into_iter().filter_map(pair).collect();
    let of_gardener = pairs.iter().find_map(|(key, _)| key.strip_prefix(CLUSTER_TAG).map(str::to_owned));
    let of_controller = || {
        let is = |(key, _): &&(String, String)| CONTROLLER_TAGS.contains(&key.as_str());
        pairs.iter().find(is).map(|(_, value)| value.clone())
    };
    let by_name = || name.filter(|name| name.starts_with(NAME_OF_CLUSTER)).map(str::to_owned);
    of_gardener.or_else(of_controller).or_else(by_name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const EU: Place = Place::of("eu-1");

    fn row(kind: &str) -> &'static Row {
        rows::find(kind).unwrap()
    }

    #[test]
    fn an_item_has_the_attributes_that_the_rules_read() {
        let one = |kind: &str, answer: Value| read_items(row(kind), &EU, &answer).unwrap().remove(0);
        let disk = json!({ "DiskId": "d-1", "Type": "data", "DeleteWithInstance": true, "InstanceId": "i-1", "DiskChargeType": "PostPaid",
            "Tags": { "Tag": [{ "TagKey": "kubernetes.io/cluster/shoot--p--c", "TagValue": "1" }] } });
        let disk = one("Disk", json!({ "Disks": { "Disk": [disk] } }));
        assert_eq!(
            (disk.attribute("variety"), disk.attribute("holder")),
            (Some("withInstance"), Some("i-1"))
        );
        assert_eq!(disk.attribute("cluster"), Some("shoot--p--c"));
        let eip = json!({ "AllocationId": "eip-1", "ServiceManaged": 1, "Tags": { "Tag": [] } });
        let eip = one("ElasticIp", json!({ "EipAddresses": { "EipAddress": [eip] } }));
        assert_eq!(eip.attribute("managed"), Some("true"));
        let balancer = json!({ "LoadBalancerId": "nlb-1", "DeletionProtectionConfig": { "Enabled": true },
            "Tags": [{ "Key": "ack.aliyun.com", "Value": "c1" }] });
        let balancer = one("NetworkLoadBalancer", json!({ "LoadBalancers": [balancer] }));
        assert_eq!(
            (balancer.attribute("protected"), balancer.attribute("cluster")),
            (Some("true"), Some("c1"))
        );
        let entry =
            json!({ "SnatEntryId": "snat-1", "SnatTableId": "stb-1", "SnatEntryName": "shoot--p--c-a" });
        let entry = one("SnatEntry", json!({ "SnatTableEntries": { "SnatTableEntry": [entry] } }));
        assert_eq!(entry.attribute("cluster"), Some("shoot--p--c-a"));
    }

    #[test]
    fn an_answer_without_its_list_is_empty_only_if_it_says_so() {
        let listed = |answer: Value| read_items(row("NetworkLoadBalancer"), &EU, &answer);
        assert!(listed(json!({ "RequestId": "r" })).is_err());
        assert!(listed(json!({ "TotalCount": 2 })).is_err());
        assert_eq!(listed(json!({ "TotalCount": 0 })), Ok(Vec::new()));
        assert!(listed(json!({ "LoadBalancers": [{ "LoadBalancerName": "no id" }] })).is_err());
    }

    #[test]
    fn numbered_pages_that_move_or_end_early_are_incomplete() {
        let first = Numbered { page: 1, seen: 0, total: 0 };
        let next = |before: &Numbered, items, total: Value| {
            following(row("Vpc"), before, items, &json!({ "TotalCount": total }))
        };
        assert_eq!(next(&first, 3, json!(3)), Ok(None));
        let second = next(&first, 2, json!(3)).unwrap().unwrap();
        assert_eq!(Numbered::read(&second), Some(Numbered { page: 2, seen: 2, total: 3 }));
        let second = Numbered::read(&second).unwrap();
        assert_eq!(next(&second, 1, json!(3)), Ok(None));
        assert!(
            next(&second, 1, json!(2)).is_err(),
            "one went, and another may have moved to the first page"
        );
        assert!(next(&second, 0, json!(3)).is_err(), "there should be one more");
        assert!(next(&first, 0, Value::Null).is_err(), "nobody says how many there are");
    }
}
