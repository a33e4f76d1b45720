//! The calls for each kind, as data. The tables of `allotment_core::cleanup::kinds` have the order and the rules.

mod compute;
mod gateways;
mod network;
mod services;

/// A service.
pub(in crate::alicloud) struct Service {
    /// Its name in hosts and permissions.
    pub(in crate::alicloud) name: &'static str,
    /// The version of its API.
    pub(in crate::alicloud) version: &'static str,
    /// Whether one host answers for all regions.
    pub(in crate::alicloud) global: bool,
    /// Whether it is in every region that ECS lists.
    pub(in crate::alicloud) everywhere: bool,
    /// Whether calls that change something take a form.
    pub(in crate::alicloud) form: bool,
    /// The path to the regions in its answer to `DescribeRegions`.
    pub(in crate::alicloud) regions: &'static str,
}

const fn service(name: &'static str, version: &'static str) -> Service {
    Service { name, version, global: false, everywhere: true, form: false, regions: "Regions/Region" }
}

pub(in crate::alicloud) static ECS: Service = service("ecs", "2014-05-26");
/// A network is needed for everything else, so it is wherever ECS is.
pub(in crate::alicloud) static VPC: Service = service("vpc", "2016-04-28");
pub(in crate::alicloud) static SLB: Service = Service { everywhere: false, ..service("slb", "2014-05-15") };
pub(in crate::alicloud) static NLB: Service =
    Service { everywhere: false, form: true, regions: "Regions", ..service("nlb", "2022-04-30") };
pub(in crate::alicloud) static ROS: Service =
    Service { everywhere: false, global: true, regions: "Regions", ..service("ros", "2019-09-10") };
pub(in crate::alicloud) static STS: Service = Service { global: true, ..service("sts", "2015-04-01") };

/// The calls for one kind.
pub(in crate::alicloud) struct Row {
    pub(in crate::alicloud) kind: &'static str,
    pub(in crate::alicloud) service: &'static Service,
    /// The call that lists.
    pub(in crate::alicloud) list: &'static str,
    pub(in crate::alicloud) with: &'static [(&'static str, &'static str)],
    pub(in crate::alicloud) pages: Pages,
    /// The kind whose items have to be named one by one to list this one.
    pub(in crate::alicloud) under: Option<Under>,
    /// The path to the items in the answer.
    pub(in crate::alicloud) items: &'static str,
    pub(in crate::alicloud) id: &'static str,
    pub(in crate::alicloud) name: &'static str,
    /// The path to a value that tells an item from its successor; empty where ids are never used again.
    pub(in crate::alicloud) incarnation: &'static str,
    pub(in crate::alicloud) attributes: &'static [(&'static str, Source)],
    /// Calls before the deletion.
    pub(in crate::alicloud) prepare: &'static [Deed],
    pub(in crate::alicloud) delete: &'static [Deed],
}

/// How a listing goes on.
#[derive(Clone, Copy)]
pub(in crate::alicloud) enum Pages {
    /// By number, until as many items came as the answer says that there are. The largest page.
    Numbered(&'static str),
    /// By token: the parameter for the size, and the largest page.
    Token(&'static str, &'static str),
    /// The service has no pages.
    Whole,
}

/// The kind whose items hold those of another one.
pub(in crate::alicloud) struct Under {
    pub(in crate::alicloud) kind: &'static str,
    /// The parameter that takes the id of the holder.
    pub(in crate::alicloud) parameter: &'static str,
    /// The attribute that gets the id of the holder.
    pub(in crate::alicloud) attribute: &'static str,
    /// Only holders with this attribute have any.
    pub(in crate::alicloud) only: Option<&'static str>,
}

/// The source of an attribute.
pub(in crate::alicloud) enum Source {
    /// The first text at a path.
    Text(&'static str),
    /// All texts at a path, with commas.
    All(&'static str),
    /// The second value if the text at any of these paths is the one beside it.
    Marks(&'static [(&'static str, &'static str)], &'static str),
}

/// A call that changes something.
pub(in crate::alicloud) struct Deed {
    pub(in crate::alicloud) action: &'static str,
    pub(in crate::alicloud) parameters: &'static [(&'static str, Value)],
    /// Only for items with this attribute and value.
    pub(in crate::alicloud) only: Option<(&'static str, &'static str)>,
}

/// The value of a parameter.
pub(in crate::alicloud) enum Value {
    Id,
    /// The id in a list of JSON.
    IdInList,
    /// The region of the item.
    Region,
    Text(&'static str),
    /// An attribute; without it the call is left out.
    Attribute(&'static str),
    /// One call for each value of an attribute of [`Source::All`].
    Each(&'static str),
}

/// Protections that have to be switched off.
const PROTECTED: &str = "protected";
const MODIFICATION_PROTECTED: &str = "modificationProtected";
/// The resources to dissolve associations with.
const ASSOCIATIONS: &str = "associations";

const fn deed(action: &'static str, parameters: &'static [(&'static str, Value)]) -> Deed {
    Deed { action, parameters, only: None }
}

/// A deed for items with a protection.
const fn unprotect(action: &'static str, parameters: &'static [(&'static str, Value)]) -> Deed {
    Deed { only: Some((PROTECTED, "true")), ..deed(action, parameters) }
}

const fn row(
    service: &'static Service,
    kind: &'static str,
    list: &'static str,
    items: &'static str,
    id: &'static str,
    delete: &'static [Deed],
) -> Row {
    Row {
        kind,
        service,
        list,
        with: &[],
        pages: Pages::Numbered("50"),
        under: None,
        items,
        id,
        name: "",
        incarnation: "",
        attributes: &[],
        prepare: &[],
        delete,
    }
}

const TOKEN: Pages = Pages::Token("MaxResults", "100");

/// All rows.
pub(in crate::alicloud) fn rows() -> impl Iterator<Item = &'static Row> {
    compute::ROWS.iter().chain(network::ROWS).chain(gateways::ROWS).chain(services::ROWS)
}

/// The row of a kind.
pub(in crate::alicloud) fn find(kind: &str) -> Option<&'static Row> {
    rows().find(|row| row.kind == kind)
}
