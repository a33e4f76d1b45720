//! Structural schemas: what a kind looks like, where its lists are maps, and what its values must be.
//!
//! The order in which a request uses them is that of a real server: [`prune`], [`default`], then [`validate`] and
//! [`CompiledRules::check`] (together: [`refusals`]). All of it is plain, synchronous and the same every time.

mod builtin;
mod cel;
mod correlate;
mod defaults;
mod embedded;
mod formats;
mod lists;
mod numbers;
mod parse;
mod path;
mod pattern;
mod pruning;
mod registration;
mod structural;
#[cfg(test)]
mod tests;
mod validation;

pub(crate) use builtin::{builtin, object_meta};
pub(crate) use cel::{
    Budget, CompiledRules, Environment, Inputs, OutOfBudget, Program, Programs, ResourceCheck, Session,
    Wanted,
};
pub(crate) use defaults::default;
pub(crate) use defaults::fill;
pub(crate) use formats::unrecognized_formats;
pub(crate) use numbers::write_whole;
pub(crate) use pattern::Pattern;
pub(crate) use pruning::prune;
pub(crate) use validation::{blocks_rules, rules_not_checked, validate, validate_at};

use serde_json::{Number, Value};
use std::collections::BTreeMap;

/// A structural schema, as `openAPIV3Schema` of a CRD has it; kinds that are built in have one too.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Schema {
    /// The type; nothing where any is allowed.
    pub type_: Option<Type>,
    /// The fields of an object.
    pub properties: BTreeMap<String, Schema>,
    /// The values of a map.
    pub additional_properties: Option<Box<Schema>>,
    /// `additionalProperties` as a boolean: keys that are not among the properties are kept, but what is below them
    /// is not described, so it is pruned.
    pub additional_allowed: Option<bool>,
    /// The items of a list.
    pub items: Option<Box<Schema>>,
    /// Fields that must be there, in the order in which refusals name them.
    pub required: Vec<String>,
    /// What stands for a missing value.
    pub default: Option<Value>,
    /// `null` is a value.
    pub nullable: bool,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub preserve_unknown_fields: bool,
    /// `x-kubernetes-embedded-resource`.
    pub embedded_resource: bool,
    /// `x-kubernetes-int-or-string`.
    pub int_or_string: bool,
    /// `x-kubernetes-list-type`, with `x-kubernetes-list-map-keys`.
    pub list_type: ListType,
    /// `x-kubernetes-map-type: atomic`.
    pub atomic_map: bool,
    /// What values must be.
    pub bounds: Bounds,
    /// `x-kubernetes-validations`.
    pub rules: Vec<Rule>,
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// `object`.
    Object,
    /// `array`.
    Array,
    /// `string`.
    String,
    /// `integer`.
    Integer,
    /// `number`.
    Number,
    /// `boolean`.
    Boolean,
}

/// How a list is merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ListType {
    /// As one value.
    #[default]
    Atomic,
    /// By its items.
    Set,
    /// By these keys of its items.
    Map(Vec<String>),
}

/// What values must be.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Bounds {
    /// One of these.
    pub enum_: Vec<Value>,
    /// At least.
    pub minimum: Option<Number>,
    /// Above, not at, the minimum.
    pub exclusive_minimum: bool,
    /// At most.
    pub maximum: Option<Number>,
    /// Below, not at, the maximum.
    pub exclusive_maximum: bool,
    /// A multiple of.
    pub multiple_of: Option<Number>,
    /// Characters, at least.
    pub min_length: Option<u64>,
    /// Characters, at most.
    pub max_length: Option<u64>,
    /// A regular expression that some part matches.
    pub pattern: Option<Pattern>,
    /// `date-time`, `int32`, …
    pub format: Option<String>,
    /// Items, at least.
    pub min_items: Option<u64>,
    /// Items, at most.
    pub max_items: Option<u64>,
    /// No item twice.
    pub unique_items: bool,
    /// Fields, at least.
    pub min_properties: Option<u64>,
    /// Fields, at most.
    pub max_properties: Option<u64>,
    /// All of these, values only.
    pub all_of: Vec<Schema>,
    /// One of these or more, values only.
    pub any_of: Vec<Schema>,
    /// Exactly one of these, values only.
    pub one_of: Vec<Schema>,
    /// Not this one, values only.
    pub not: Option<Box<Schema>>,
}

/// A rule in CEL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rule {
    /// The expression.
    pub rule: String,
    /// What to say when it does not hold.
    pub message: Option<String>,
    /// An expression for what to say.
    pub message_expression: Option<String>,
    /// `FieldValueInvalid` where it is not set.
    pub reason: Option<String>,
    /// The field to blame, relative to where the rule stands.
    pub field_path: Option<String>,
    /// Whether a rule about a change is looked at when there is no old value; `oldSelf` is an optional then.
    pub optional_old_self: Option<bool>,
}

impl Type {
    /// The word for it in a schema.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        [Self::Object, Self::Array, Self::String, Self::Integer, Self::Number, Self::Boolean]
            .into_iter()
            .find(|type_| type_.name() == name)
    }
}

impl Schema {
    /// The schema of a field, or of the values of a map.
    pub(crate) fn field(&self, name: &str) -> Option<&Schema> {
        self.properties.get(name).or(self.additional_properties.as_deref())
    }

    /// Whether fields that are not among the properties are described at all.
    fn has_additional(&self) -> bool {
        self.additional_properties.is_some() || self.additional_allowed.is_some()
    }

    fn type_name(&self) -> &'static str {
        self.type_.map_or("", Type::name)
    }
}
