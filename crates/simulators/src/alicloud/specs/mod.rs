//! The kinds, as data: how they are made, listed and deleted.

mod ecs;
mod services;
mod vpc;

/// How a kind is made, listed and deleted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spec {
    pub(super) service: &'static str,
    pub(super) kind: &'static str,
    pub(super) prefix: &'static str,
    /// The field with the id.
    pub(super) id: &'static str,
    pub(super) create: &'static str,
    /// The field of the answer to the creation.
    pub(super) answer: &'static str,
    pub(super) list: &'static str,
    pub(super) path: &'static str,
    pub(super) pages: Paging,
    pub(super) delete: &'static str,
    /// The parameter of the deletion.
    pub(super) by: &'static str,
    /// Parameters of the creation that become fields; the same name unless another one follows `=`.
    pub(super) copy: &'static [&'static str],
    pub(super) fixed: &'static [(&'static str, &'static str)],
    pub(super) tags: Tags,
    /// A parameter that a listing needs, and the field that it is compared with.
    pub(super) needs: Option<&'static str>,
    /// The field with the state.
    pub(super) state: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Paging {
    Numbered,
    /// The parameter for the size.
    Token(&'static str),
    Whole,
}

/// How tags are shown.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tags {
    /// `{"Tag": [{"TagKey": …, "TagValue": …}]}`
    Long,
    /// `{"Tag": [{"Key": …, "Value": …}]}`
    Short,
    /// `[{"Key": …, "Value": …}]`
    Plain,
    None,
}

impl Spec {
    const fn copy(self, copy: &'static [&'static str]) -> Self {
        Self { copy, ..self }
    }

    const fn fixed(self, fixed: &'static [(&'static str, &'static str)]) -> Self {
        Self { fixed, ..self }
    }

    const fn tags(self, tags: Tags) -> Self {
        Self { tags, ..self }
    }

    const fn state(self, state: &'static str) -> Self {
        Self { state, ..self }
    }

    const fn by(self, by: &'static str) -> Self {
        Self { by, ..self }
    }

    const fn answer(self, answer: &'static str) -> Self {
        Self { answer, ..self }
    }

    const fn needs(self, needs: &'static str) -> Self {
        Self { needs: Some(needs), ..self }
    }
}

const fn spec(
    service: &'static str,
    kind: &'static str,
    [prefix, id]: [&'static str; 2],
    create: &'static str,
    [list, path]: [&'static str; 2],
    pages: Paging,
    delete: &'static str,
) -> Spec {
    Spec {
        service,
        kind,
        prefix,
        id,
        create,
        answer: id,
        list,
        path,
        pages,
        delete,
        by: id,
        copy: &[],
        fixed: &[],
        tags: Tags::Long,
        needs: None,
        state: "Status",
    }
}

const NUMBERED: Paging = Paging::Numbered;
const TOKEN: Paging = Paging::Token("MaxResults");

fn all() -> impl Iterator<Item = &'static Spec> {
    ecs::SPECS.iter().chain(vpc::SPECS).chain(services::SPECS)
}

pub(super) fn of(kind: &str) -> Option<&'static Spec> {
    all().find(|spec| spec.kind == kind)
}

pub(super) fn listed_by(service: &str, action: &str) -> Option<&'static Spec> {
    all().find(|spec| spec.service == service && spec.list == action)
}

pub(super) fn created_by(service: &str, action: &str) -> Option<&'static Spec> {
    all().find(|spec| spec.service == service && spec.create == action)
}

pub(super) fn deleted_by(service: &str, action: &str) -> Option<&'static Spec> {
    all().find(|spec| spec.service == service && spec.delete == action)
}
