//! What a schema means to merging: where objects and lists are taken apart, and by what.

use super::element::PathElement;
use super::go;
use super::metadata;
use crate::schema::{ListType, Schema, Type};
use serde_json::Value;

/// A place in a schema.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Node<'a> {
    /// The schema says what is here.
    Known {
        schema: &'a Schema,
        /// Fields that no schema describes are kept, here and below.
        preserve: bool,
        /// This is an object with `apiVersion`, `kind` and `metadata` of its own.
        resource: bool,
    },
    /// Nothing is known: objects are taken apart, lists are not.
    Deduced,
    /// Nothing is known, and nothing is taken apart.
    Untyped,
    /// A string that every resource has.
    Text,
}

/// What a value is taken as.
pub(crate) enum Shape<'a> {
    Map(MapShape<'a>),
    Scalar(ScalarShape),
    List(ListShape<'a>),
}

/// An object.
#[derive(Clone, Copy)]
pub(crate) struct MapShape<'a> {
    /// The schema that declares fields.
    declares: Option<(&'a Schema, bool)>,
    resource: bool,
    /// What other fields hold; without it there may be none.
    pub element: Option<Node<'a>>,
    /// It is one value.
    pub atomic: bool,
}

/// A list.
#[derive(Clone, Copy)]
pub(crate) struct ListShape<'a> {
    pub item: Node<'a>,
    /// Nothing if the list is one value, no keys if it is a set.
    keys: Option<&'a [String]>,
}

/// A single value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScalarShape {
    Numeric,
    Text,
    Boolean,
    Any,
}

impl<'a> Node<'a> {
    /// The place of a whole object.
    pub(crate) fn root(schema: &'a Schema) -> Self {
        Self::Known { schema, preserve: false, resource: true }
    }

    fn below(schema: &'a Schema, preserve: bool) -> Self {
        Self::Known { schema, preserve, resource: schema.embedded_resource }
    }

    /// What a value is taken as here. One that does not fit is taken as what is allowed first, and refused later.
    pub(crate) fn shape(self, value: Option<&Value>) -> Shape<'a> {
        let map = self.map().map(Shape::Map);
        let scalar = self.scalar().map(Shape::Scalar);
        let list = self.list().map(Shape::List);
        let fallback = Shape::Scalar(ScalarShape::Any);
        match value {
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) => scalar.or(map).or(list),
            Some(Value::Array(_)) => list.or(map).or(scalar),
            Some(Value::Object(_)) => map.or(scalar).or(list),
            Some(Value::Null) | None => map.or(scalar).or(list),
        }
        .unwrap_or(fallback)
    }

    /// How this is taken apart if it is an object.
    pub(crate) fn map(self) -> Option<MapShape<'a>> {
        match self {
            Self::Known { schema, preserve, resource } => {
                if !matches!(schema.type_, None | Some(Type::Object)) {
                    return None;
                }
                let preserve = preserve || schema.preserve_unknown_fields;
                let element = match &schema.additional_properties {
                    Some(element) => Some(Self::below(element, preserve)),
                    None if preserve || schema.properties.is_empty() => Some(Self::Deduced),
                    None => None,
                };
                Some(MapShape {
                    declares: Some((schema, preserve)),
                    resource,
                    element,
                    atomic: schema.atomic_map,
                })
            }
            Self::Deduced => Some(MapShape {
                declares: None,
                resource: false,
                element: Some(Self::Deduced),
                atomic: false,
            }),
            Self::Untyped => {
                Some(MapShape { declares: None, resource: false, element: Some(Self::Untyped), atomic: true })
            }
            Self::Text => None,
        }
    }

    /// How this is taken apart if it is a list.
    pub(crate) fn list(self) -> Option<ListShape<'a>> {
        match self {
            Self::Known { schema, preserve, .. } => {
                if !matches!(schema.type_, None | Some(Type::Array)) {
                    return None;
                }
                let preserve = preserve || schema.preserve_unknown_fields;
                let item =
                    schema.items.as_deref().map_or(Self::Untyped, |items| Self::below(items, preserve));
                let keys = match &schema.list_type {
                    ListType::Atomic => None,
                    ListType::Set => Some(&[] as &[String]),
                    ListType::Map(keys) => Some(keys.as_slice()),
                };
                Some(ListShape { item, keys })
            }
            Self::Deduced | Self::Untyped => Some(ListShape { item: Self::Untyped, keys: None }),
            Self::Text => None,
        }
    }

    fn scalar(self) -> Option<ScalarShape> {
        match self {
            Self::Known { schema, .. } => match schema.type_ {
                None => Some(ScalarShape::Any),
                Some(Type::Integer | Type::Number) => Some(ScalarShape::Numeric),
                Some(Type::String) if schema.bounds.format.as_deref() == Some("int-or-string") => {
                    Some(ScalarShape::Any)
                }
                Some(Type::String) => Some(ScalarShape::Text),
                Some(Type::Boolean) => Some(ScalarShape::Boolean),
                Some(Type::Object | Type::Array) => None,
            },
            Self::Deduced | Self::Untyped => Some(ScalarShape::Any),
            Self::Text => Some(ScalarShape::Text),
        }
    }

    /// Values of more than one kind may be here.
    fn many_kinds(self) -> bool {
        match self {
            Self::Known { schema, .. } => schema.type_.is_none(),
            Self::Deduced | Self::Untyped => true,
            Self::Text => false,
        }
    }

    /// Whether two values are taken as the same kind of thing here.
    pub(crate) fn same_kind(self, left: &Value, right: &Value) -> bool {
        let kind = |value: &Value| match value {
            Value::Null => 0,
            Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
            Value::Array(_) => 2,
            Value::Object(_) => 3,
        };
        !self.many_kinds() || kind(left) == kind(right)
    }
}

impl<'a> MapShape<'a> {
    /// Nothing is known about what it holds.
    pub(crate) fn is_free_form(&self) -> bool {
        let declares_none =
            !self.resource && self.declares.is_none_or(|(schema, _)| schema.properties.is_empty());
        let free = match self.element {
            Some(Node::Deduced) => true,
            Some(node @ Node::Known { .. }) => node.scalar() == Some(ScalarShape::Any),
            Some(Node::Untyped | Node::Text) | None => false,
        };
        declares_none && free
    }

    /// The field of that name, if it is declared.
    pub(crate) fn declared(&self, name: &str) -> Option<Node<'a>> {
        let (schema, preserve) = self.declares?;
        let own = schema.properties.get(name);
        if self.resource {
            match name {
                // A CRD says at most that there is metadata, not what it is.
                "metadata" if own.is_none_or(|own| own.properties.is_empty()) => {
                    return Some(Node::below(metadata::schema(), false));
                }
                "apiVersion" | "kind" if own.is_none() => return Some(Node::Text),
                _ => {}
            }
        }
        own.map(|own| Node::below(own, preserve))
    }

    /// What a field of that name holds.
    pub(crate) fn field(&self, name: &str) -> Option<Node<'a>> {
        self.declared(name).or(self.element)
    }
}

impl ListShape<'_> {
    /// The list is one value.
    pub(crate) fn atomic(&self) -> bool {
        self.keys.is_none()
    }

    /// The step from the list to an item.
    pub(crate) fn step_to(&self, item: &Value) -> Result<PathElement, String> {
        match self.keys {
            None => Err("invalid indexing of non-associative list".to_owned()),
            Some([]) => match item {
                Value::Object(_) => {
                    Err("associative list without keys has an element that's a map type".to_owned())
                }
                Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
                Value::Null => {
                    Err("associative list without keys has an element that's an explicit null".to_owned())
                }
                value => Ok(PathElement::Value(value.clone())),
            },
            Some(keys) => self.step_by(keys, item),
        }
    }

    fn step_by(&self, keys: &[String], item: &Value) -> Result<PathElement, String> {
        let fields = match item {
            Value::Object(fields) => fields,
            Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
            _ => return Err("associative list with keys may not have non-map elements".to_owned()),
        };
        let present: Vec<(String, Value)> = keys
            .iter()
            .filter_map(|key| {
                let value = fields.get(key).or_else(|| self.default_of(key))?;
                Some((key.clone(), value.clone()))
            })
            .collect();
        if present.is_empty() {
            let keys: Vec<String> = keys.iter().map(|key| go::quote(key)).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
                keys.join(" ")
            ));
        }
        Ok(PathElement::key(present))
    }

    /// What a key is where an item leaves it out.
    fn default_of(&self, key: &str) -> Option<&Value> {
        match &self.item {
            Node::Known { schema, .. } => schema.properties.get(key)?.default.as_ref(),
            Node::Deduced | Node::Untyped | Node::Text => None,
        }
    }
}
