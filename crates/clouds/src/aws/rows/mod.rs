//! The calls for each kind, as data. The tables of `allotment_core::cleanup::kinds` have the order and the rules.

mod compute;
mod network;

pub(in crate::aws) use network::{CIDR, EGRESS, PROTOCOL};

/// A service.
pub(in crate::aws) struct Service {
    /// Its name in hosts, signatures and permissions.
    pub(in crate::aws) name: &'static str,
    /// The version of its API.
    pub(in crate::aws) version: &'static str,
    /// Whether it has one endpoint for the partition.
    pub(in crate::aws) global: bool,
}

const fn service(name: &'static str, version: &'static str) -> Service {
    Service { name, version, global: false }
}

pub(in crate::aws) static EC2: Service = service("ec2", "2016-11-15");
pub(in crate::aws) static ELB: Service = service("elasticloadbalancing", "2012-06-01");
pub(in crate::aws) static ELB_V2: Service = service("elasticloadbalancing", "2015-12-01");
pub(in crate::aws) static AUTO_SCALING: Service = service("autoscaling", "2011-01-01");
pub(in crate::aws) static EFS: Service = service("elasticfilesystem", "2015-02-01");
pub(in crate::aws) static STS: Service = service("sts", "2011-06-15");
pub(in crate::aws) static IAM: Service = Service { global: true, ..service("iam", "2010-05-08") };

/// The calls for one kind.
pub(in crate::aws) struct Row {
    pub(in crate::aws) kind: &'static str,
    pub(in crate::aws) service: &'static Service,
    /// The call that lists.
    pub(in crate::aws) list: &'static str,
    pub(in crate::aws) with: &'static [(&'static str, &'static str)],
    pub(in crate::aws) pages: Pages,
    /// The path to the items in the answer.
    pub(in crate::aws) items: &'static str,
    pub(in crate::aws) id: &'static str,
    pub(in crate::aws) name: &'static str,
    /// The path to a value that tells an item from its successor; empty where ids are never used again.
    pub(in crate::aws) incarnation: &'static str,
    pub(in crate::aws) attributes: &'static [(&'static str, Source)],
    /// Calls before the deletion.
    pub(in crate::aws) prepare: &'static [Deed],
    pub(in crate::aws) delete: &'static [Deed],
    /// Calls if the deletion is refused because of a protection; then it is tried again.
    pub(in crate::aws) unlock: &'static [Deed],
}

/// How a listing goes on.
#[derive(Clone, Copy)]
pub(in crate::aws) struct Pages {
    /// The path to the token in the answer.
    pub(in crate::aws) field: &'static str,
    /// The parameter that takes it.
    pub(in crate::aws) parameter: &'static str,
    /// The largest page.
    pub(in crate::aws) size: Option<(&'static str, &'static str)>,
}

/// The source of an attribute.
pub(in crate::aws) enum Source {
    /// The first text at a path.
    Text(&'static str),
    /// All texts at a path, with commas.
    All(&'static str),
    /// `true` if any text at the path is this one.
    Any(&'static str, &'static str),
    /// `true` if there is an element at the path.
    Exists(&'static str),
}

/// A call that changes something.
pub(in crate::aws) struct Deed {
    pub(in crate::aws) action: &'static str,
    pub(in crate::aws) parameters: &'static [(&'static str, Value)],
    /// Only for items with this attribute and value.
    pub(in crate::aws) only: Option<(&'static str, &'static str)>,
}

/// The value of a parameter.
pub(in crate::aws) enum Value {
    Id,
    Name,
    Text(&'static str),
    /// An attribute; without it the call is left out.
    Attribute(&'static str),
    /// One call for each value of an attribute of [`Source::All`].
    Each(&'static str),
}

const fn deed(action: &'static str, parameters: &'static [(&'static str, Value)]) -> Deed {
    Deed { action, parameters, only: None }
}

const fn pages(size: &'static str) -> Pages {
    Pages { size: Some(("MaxResults", size)), ..UNSIZED }
}

/// For calls that take no size. They come in one page today; a token that came all the same, and was not followed, would
/// hide items.
pub(in crate::aws) const UNSIZED: Pages = Pages { field: "nextToken", parameter: "NextToken", size: None };

/// A kind of EC2 with an id, tags and pages.
const fn ec2(
    kind: &'static str,
    list: &'static str,
    items: &'static str,
    id: &'static str,
    delete: &'static [Deed],
) -> Row {
    Row {
        kind,
        service: &EC2,
        list,
        with: &[],
        pages: pages("1000"),
        items,
        id,
        name: "",
        incarnation: "",
        attributes: &[],
        prepare: &[],
        delete,
        unlock: &[],
    }
}

/// All rows.
pub(in crate::aws) fn rows() -> impl Iterator<Item = &'static Row> {
    compute::ROWS.iter().chain(network::ROWS)
}

/// The row of a kind.
pub(in crate::aws) fn row(kind: &str) -> Option<&'static Row> {
    rows().find(|row| row.kind == kind)
}
