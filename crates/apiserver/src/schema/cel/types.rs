//! The types of expressions.

use super::super::{Schema, Type as SchemaType};
use super::admission;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

#[derive(Clone, Debug)]
pub(super) enum Type<'s> {
    /// Of something that was complained about already.
    Unknown,
    Dyn,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Duration,
    Timestamp,
    List(Box<Type<'s>>),
    Map(Box<Type<'s>>, Box<Type<'s>>),
    Optional(Box<Type<'s>>),
    /// The type of a type.
    Meta(Box<Type<'s>>),
    /// An object with fields; of a resource only the name is known of its metadata.
    Object(&'s Schema, bool),
    /// A type of a library: `kubernetes.Quantity`, `net.IP`.
    Opaque(&'static str),
    /// The variables that an admission policy declares.
    Variables(Arc<BTreeMap<String, Type<'s>>>),
    /// Any type, the same one wherever the letter occurs in a signature.
    Param(u8),
}

/// What an expression sees of the metadata of a resource.
static METADATA: LazyLock<Schema> = LazyLock::new(|| {
    let text = Schema { type_: Some(SchemaType::String), ..Schema::default() };
    Schema {
        type_: Some(SchemaType::Object),
        properties: [("name".to_owned(), text.clone()), ("generateName".to_owned(), text)].into(),
        ..Schema::default()
    }
});

static TEXT: LazyLock<Schema> =
    LazyLock::new(|| Schema { type_: Some(SchemaType::String), ..Schema::default() });

/// The schema of a field, as an expression sees it.
pub(super) fn property<'s>(schema: &'s Schema, resource: bool, name: &str) -> Option<&'s Schema> {
    match name {
        "apiVersion" | "kind" if resource => Some(&TEXT),
        "metadata" if resource => Some(&METADATA),
        name => schema.properties.get(name),
    }
}

/// The type of values of a schema; nothing where expressions cannot look inside.
pub(super) fn declared(schema: &Schema, resource: bool) -> Option<Type<'_>> {
    if schema.int_or_string {
        return Some(Type::Dyn);
    }
    Some(match schema.type_? {
        SchemaType::Boolean => Type::Bool,
        SchemaType::Integer => Type::Int,
        SchemaType::Number => Type::Double,
        SchemaType::String => match schema.bounds.format.as_deref() {
            Some("byte") => Type::Bytes,
            Some("duration") => Type::Duration,
            Some("date" | "date-time") => Type::Timestamp,
            _ => Type::String,
        },
        SchemaType::Array => {
            let items = schema.items.as_deref()?;
            Type::List(Box::new(declared(items, items.embedded_resource)?))
        }
        SchemaType::Object => match schema.additional_properties.as_deref() {
            Some(values) => {
                let values = declared(values, values.embedded_resource)?;
                Type::Map(Box::new(Type::String), Box::new(values))
            }
            None => Type::Object(schema, resource),
        },
    })
}

impl<'s> Type<'s> {
    /// Whether a value of the other type can stand where this one is wanted; learns what the letters stand for.
    pub(super) fn accepts(&self, other: &Type<'s>, letters: &mut [Option<Type<'s>>; 3]) -> bool {
        use Type::{
            Duration, Dyn, List, Map, Meta, Null, Object, Opaque, Optional, Param, Timestamp, Unknown,
        };
        match (self, other) {
            (Param(letter), _) => {
                let letter = usize::from(*letter).min(2);
                match letters[letter].clone() {
                    None => {
                        letters[letter] = Some(other.clone());
                        true
                    }
                    Some(known) if known.accepts(other, &mut [None, None, None]) => {
                        // The more telling of the two.
                        if known.is_vague() {
                            letters[letter] = Some(other.clone());
                        }
                        true
                    }
                    Some(_) => false,
                }
            }
            (Dyn | Unknown, _) | (_, Dyn | Unknown) => true,
            (List(a), List(b)) | (Optional(a), Optional(b)) => a.accepts(b, letters),
            (Meta(_), Meta(_)) => true,
            (Map(ak, av), Map(bk, bv)) => ak.accepts(bk, letters) && av.accepts(bv, letters),
            (Object(a, _), Object(b, _)) => std::ptr::eq(*a, *b),
            (Opaque(a), Opaque(b)) => a == b,
            (Null, Object(..) | Duration | Timestamp | Opaque(_))
            | (Object(..) | Duration | Timestamp | Opaque(_), Null) => true,
            (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b) && a.is_simple(),
        }
    }

    fn is_simple(&self) -> bool {
        !matches!(
            self,
            Self::List(_) | Self::Map(..) | Self::Optional(_) | Self::Object(..) | Self::Opaque(_)
        )
    }

    /// Whether more could be said of it.
    fn is_vague(&self) -> bool {
        match self {
            Self::Dyn | Self::Unknown | Self::Null => true,
            Self::List(item) | Self::Optional(item) => item.is_vague(),
            Self::Map(key, value) => key.is_vague() || value.is_vague(),
            _ => false,
        }
    }

    /// The type with its letters replaced.
    pub(super) fn with(&self, letters: &[Option<Type<'s>>; 3]) -> Type<'s> {
        match self {
            Self::Param(letter) => letters[usize::from(*letter).min(2)].clone().unwrap_or(Self::Dyn),
            Self::List(item) => Self::List(Box::new(item.with(letters))),
            Self::Optional(item) => Self::Optional(Box::new(item.with(letters))),
            Self::Meta(item) => Self::Meta(Box::new(item.with(letters))),
            Self::Map(key, value) => Self::Map(Box::new(key.with(letters)), Box::new(value.with(letters))),
            other => other.clone(),
        }
    }

    pub(super) fn is_same(&self, other: &Type<'s>) -> bool {
        self.to_string() == other.to_string()
    }
}

impl fmt::Display for Type<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "!error!",
            Self::Dyn => "dyn",
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Duration => "duration",
            Self::Timestamp => "timestamp",
            Self::Object(schema, _) => admission::type_name(schema).unwrap_or("object"),
            Self::Variables(_) => "kubernetes.variables",
            Self::Opaque(name) => name,
            Self::Param(letter) => ["A", "B", "C"][usize::from(*letter).min(2)],
            Self::List(item) => return write!(f, "list({item})"),
            Self::Optional(item) => return write!(f, "optional_type({item})"),
            Self::Meta(item) => return write!(f, "type({item})"),
            Self::Map(key, value) => return write!(f, "map({key}, {value})"),
        })
    }
}
