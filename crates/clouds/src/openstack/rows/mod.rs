//! The calls for each kind, as data. The tables of `allotment_core::cleanup::kinds` have the order and the rules.

mod compute;
mod network;

pub(in crate::openstack) use compute::ATTACHMENT;
pub(in crate::openstack) use network::{ROUTER, SUBNET};

use super::services::Service;

/// The calls for one kind.
pub(in crate::openstack) struct Row {
    pub(in crate::openstack) kind: &'static str,
    pub(in crate::openstack) service: &'static Service,
    /// The path that lists.
    pub(in crate::openstack) list: &'static str,
    /// The queries that together show all items; `$` is the project. Most kinds need one.
    pub(in crate::openstack) queries: &'static [&'static str],
    pub(in crate::openstack) pages: Pages,
    /// The field with the items.
    pub(in crate::openstack) items: &'static str,
    /// The field within an item that holds it; empty for almost all kinds.
    pub(in crate::openstack) within: &'static str,
    /// JSON pointers.
    pub(in crate::openstack) id: &'static str,
    pub(in crate::openstack) name: &'static str,
    /// A value that tells an item from its successor; empty where ids are never used again.
    pub(in crate::openstack) incarnation: &'static str,
    pub(in crate::openstack) attributes: &'static [(&'static str, Source)],
    /// Items that are another row's: an attribute, and how its value begins.
    pub(in crate::openstack) except: Option<(&'static str, &'static [&'static str])>,
    /// The extension of neutron without which there is no such kind.
    pub(in crate::openstack) extension: &'static str,
    /// The path that deletes; `$` is the id.
    pub(in crate::openstack) delete: &'static str,
}

/// How a listing goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::openstack) enum Pages {
    /// A link with the marker of the next page, in the field `…_links`.
    Links,
    /// The same in the field `next`.
    Next,
    /// An offset: no link tells the last page, so an empty one has to.
    Offset,
}

/// The source of an attribute.
pub(in crate::openstack) enum Source {
    /// The text, number or truth at a pointer.
    At(&'static str),
    /// The text at the first pointer if it is one of these, else the text at the second.
    Either(&'static str, &'static [&'static str], &'static str),
}

/// The most items on a page that every service accepts.
pub(in crate::openstack) const PAGE: usize = 500;

/// A kind with ids and pages as most have them.
const fn row(
    kind: &'static str,
    service: &'static Service,
    list: &'static str,
    items: &'static str,
    delete: &'static str,
) -> Row {
    Row {
        kind,
        service,
        list,
        queries: &[""],
        pages: Pages::Links,
        items,
        within: "",
        id: "/id",
        name: "/name",
        incarnation: "",
        attributes: &[],
        except: None,
        extension: "",
        delete,
    }
}

/// All rows.
pub(in crate::openstack) fn rows() -> impl Iterator<Item = &'static Row> {
    compute::ROWS.iter().chain(network::ROWS)
}

/// The row of a kind.
pub(in crate::openstack) fn find(kind: &str) -> Option<&'static Row> {
    rows().find(|row| row.kind == kind)
}
