//! Listings by rows.

use super::{
    Aws,
    call::incomplete,
    rows::{self, Row, Source},
    xml,
};
use crate::{Page, PageToken, Refusal, http::Access};
use allotment_core::cleanup::{Item, ItemId, KindName, Place, attribute};
use roxmltree::Node;

/// How tags begin that Gardener and the controllers in a cluster set.
const CLUSTER_TAG: &str = "kubernetes.io/cluster/";

impl Aws {
    pub(super) async fn list_row(
        &self,
        place: &Place,
        kind: &KindName,
        page: Option<&PageToken>,
    ) -> Result<Page, Refusal> {
        let row = rows::row(kind.as_str()).ok_or_else(|| unsupported(kind))?;
        let owned = |pair: &(&str, &str)| (pair.0.to_owned(), pair.1.to_owned());
        let mut parameters: Vec<_> = row.with.iter().map(owned).collect();
        parameters.extend(row.pages.size.as_ref().map(owned));
        parameters.extend(page.map(|token| (row.pages.parameter.to_owned(), token.0.clone())));
        let answer = self.query(row.service, place, row.list, parameters, Access::Read).await?;
        let document = xml::parse(&answer)?;
        let root = document.root_element();
        let mut items = Vec::new();
        for node in xml::find(root, row.items) {
            items.push(read(row, place, node)?);
        }
        let next = xml::text(root, row.pages.field).map(PageToken);
        Ok(Page::Items { items, next })
    }
}

/// A kind without a row.
pub(super) fn unsupported(kind: &KindName) -> Refusal {
    Refusal::Other { code: "UnknownKind".to_owned(), message: format!("the client has no row for {kind}") }
}

/// An item without an id cannot be told from others: the listing is not complete.
fn read(row: &Row, place: &Place, node: Node<'_, '_>) -> Result<Item, Refusal> {
    let id = xml::text(node, row.id).ok_or_else(|| incomplete(row.list))?;
    let mut item = Item::new(KindName::of(row.kind), place.clone(), ItemId::new(id));
    let optional = |path: &str| if path.is_empty() { None } else { xml::text(node, path) };
    item.incarnation = optional(row.incarnation);
    item.name = optional(row.name);
    for (name, source) in row.attributes {
        let value = match source {
            Source::Text(path) => xml::text(node, path).unwrap_or_default(),
            Source::All(path) => xml::texts(node, path).join(","),
            Source::Any(path, text) => {
                yes(xml::texts(node, path).iter().any(|found| found == text)).to_owned()
            }
            Source::Exists(path) => yes(xml::text(node, path).is_some()).to_owned(),
        };
        item = item.with(name, value);
    }
    for tag in xml::find(node, "tagSet/item") {
        let key = xml::text(tag, "key").unwrap_or_default();
        if let Some(cluster) = key.strip_prefix(CLUSTER_TAG) {
            item = item.with(attribute::CLUSTER, cluster);
        } else if key == "Name" && item.name.is_none() {
            item.name = xml::text(tag, "value");
        }
    }
    Ok(if row.kind == "SecurityGroupRule" { with_pristine(item) } else { item })
}

fn yes(is: bool) -> &'static str {
    if is { "true" } else { "" }
}

/// The rules that every new security group of AWS has: everything may leave, and, for a default group, its members may
/// talk to each other. Ids differ, so only the content tells.
fn with_pristine(item: Item) -> Item {
    let value = |name: &str| item.attribute(name).unwrap_or_default().to_owned();
    let any_protocol = value(rows::PROTOCOL) == "-1";
    let leaves = value(rows::EGRESS) == "true" && ["0.0.0.0/0", "::/0"].contains(&value(rows::CIDR).as_str());
    let among_members = value(rows::EGRESS) == "false"
        && !value(attribute::GROUP).is_empty()
        && value(attribute::REFERENCED_GROUP) == value(attribute::GROUP);
    item.with(attribute::PRISTINE, yes(any_protocol && (leaves || among_members)))
}
