//! The functions and operators of the language itself.

use super::super::numbers::go_float;
use super::eval::Evaluator;
use super::value::{Failure, Outcome, Val, any_equal};
use super::{authorizer, collections, library, texts, times};
use std::cmp::Ordering;
use std::rc::Rc;

/// Calls a function or operator.
pub(super) fn call<'a>(
    eval: &mut Evaluator<'a, '_>,
    name: &str,
    method: bool,
    args: &[Val<'a>],
) -> Outcome<'a> {
    let ordered = |wanted: fn(Ordering) -> bool| match args {
        [a, b] => a.compare(b).map(|ordering| Val::Bool(wanted(ordering))),
        _ => Err(Failure::no_overload()),
    };
    match (name, args) {
        ("_==_", [a, b]) => {
            eval.spend(weight(a).min(weight(b)))?;
            a.equals(b).map(Val::Bool)
        }
        ("_!=_", [a, b]) => {
            eval.spend(weight(a).min(weight(b)))?;
            a.equals(b).map(|same| Val::Bool(!same))
        }
        ("_<_", _) => ordered(Ordering::is_lt),
        ("_<=_", _) => ordered(Ordering::is_le),
        ("_>_", _) => ordered(Ordering::is_gt),
        ("_>=_", _) => ordered(Ordering::is_ge),
        ("_+_" | "_-_" | "_*_" | "_/_" | "_%_", [a, b]) => arithmetic(eval, name, a, b),
        ("-_", [Val::Int(a)]) => a.checked_neg().map(Val::Int).ok_or_else(overflow),
        ("-_", [Val::Double(a)]) => Ok(Val::Double(-a)),
        ("!_", [Val::Bool(a)]) => Ok(Val::Bool(!a)),
        ("@in", [item, range]) => contains(eval, item, range),
        ("size", [value]) => match value.size() {
            Some(size) => Ok(Val::Int(size as i64)),
            None => Err(Failure::no_overload()),
        },
        ("dyn", [value]) => Ok(value.clone()),
        ("type", [value]) => Ok(Val::Type(value.type_name())),
        ("bool" | "bytes" | "double" | "int" | "uint" | "string", [value]) if !is_library(value) => {
            convert(name, value)
        }
        ("duration" | "timestamp", [value]) => times::convert(name, value),
        ("optional.none", []) => Ok(Val::Optional(None)),
        ("optional.of", [value]) => Ok(Val::Optional(Some(Rc::new(value.clone())))),
        ("optional.ofNonZeroValue", [value]) => {
            Ok(Val::Optional((!is_zero(value)).then(|| Rc::new(value.clone()))))
        }
        ("hasValue", [Val::Optional(inner)]) => Ok(Val::Bool(inner.is_some())),
        ("value", [Val::Optional(inner)]) => match inner {
            Some(inner) => Ok((**inner).clone()),
            None => Err(Failure("optional.none() dereference".to_owned())),
        },
        ("or", [Val::Optional(inner), other]) => {
            Ok(inner.as_ref().map_or_else(|| other.clone(), |inner| Val::Optional(Some(Rc::clone(inner)))))
        }
        ("orValue", [Val::Optional(inner), other]) => {
            Ok(inner.as_ref().map_or_else(|| other.clone(), |inner| (**inner).clone()))
        }
        _ => called_by_type(eval, name, method, args),
    }
}

/// Functions of the same name on different types.
fn called_by_type<'a>(
    eval: &mut Evaluator<'a, '_>,
    name: &str,
    method: bool,
    args: &[Val<'a>],
) -> Outcome<'a> {
    eval.spend(args.iter().map(weight).sum())?;
    let own = match args.first() {
        Some(Val::Text(_)) => texts::call(eval, name, args),
        Some(Val::List(_) | Val::JsonList(..)) => collections::call(name, args),
        Some(Val::Timestamp(_) | Val::Duration(_)) => times::call(name, args),
        Some(Val::Int(count)) if name == "lists.range" => Some(collections::range(eval, *count)),
        Some(Val::Authorization(question)) => Some(authorizer::call(question, name, &args[1..])),
        _ => None,
    };
    own.unwrap_or_else(|| library::call(eval, name, method, args))
}

/// How much work it is to go through a value once.
pub(super) fn weight(value: &Val<'_>) -> usize {
    match value {
        Val::Text(text) => text.as_str().len() / 10,
        Val::Bytes(bytes) => bytes.len() / 10,
        other => other.size().unwrap_or(0),
    }
}

fn is_library(value: &Val<'_>) -> bool {
    matches!(value, Val::Opaque(_))
}

pub(super) fn overflow() -> Failure {
    Failure("integer overflow".to_owned())
}

fn arithmetic<'a>(eval: &mut Evaluator<'a, '_>, name: &str, a: &Val<'a>, b: &Val<'a>) -> Outcome<'a> {
    let zero = |what: &str| Failure(format!("{what} by zero"));
    let checked_int = |value: Option<i64>| value.map(Val::Int).ok_or_else(overflow);
    let checked_uint = |value: Option<u64>| {
        value.map(Val::Uint).ok_or_else(|| Failure("unsigned integer overflow".to_owned()))
    };
    match (name, a, b) {
        ("_+_", Val::Int(a), Val::Int(b)) => checked_int(a.checked_add(*b)),
        ("_-_", Val::Int(a), Val::Int(b)) => checked_int(a.checked_sub(*b)),
        ("_*_", Val::Int(a), Val::Int(b)) => checked_int(a.checked_mul(*b)),
        ("_/_", Val::Int(_), Val::Int(0)) | ("_/_", Val::Uint(_), Val::Uint(0)) => Err(zero("division")),
        ("_%_", Val::Int(_), Val::Int(0)) | ("_%_", Val::Uint(_), Val::Uint(0)) => Err(zero("modulus")),
        ("_/_", Val::Int(a), Val::Int(b)) => checked_int(a.checked_div(*b)),
        ("_%_", Val::Int(a), Val::Int(b)) => checked_int(a.checked_rem(*b)),
        ("_+_", Val::Uint(a), Val::Uint(b)) => checked_uint(a.checked_add(*b)),
        ("_-_", Val::Uint(a), Val::Uint(b)) => checked_uint(a.checked_sub(*b)),
        ("_*_", Val::Uint(a), Val::Uint(b)) => checked_uint(a.checked_mul(*b)),
        ("_/_", Val::Uint(a), Val::Uint(b)) => Ok(Val::Uint(a / b)),
        ("_%_", Val::Uint(a), Val::Uint(b)) => Ok(Val::Uint(a % b)),
        ("_+_", Val::Double(a), Val::Double(b)) => Ok(Val::Double(a + b)),
        ("_-_", Val::Double(a), Val::Double(b)) => Ok(Val::Double(a - b)),
        ("_*_", Val::Double(a), Val::Double(b)) => Ok(Val::Double(a * b)),
        ("_/_", Val::Double(a), Val::Double(b)) => Ok(Val::Double(a / b)),
        ("_+_", Val::Text(a), Val::Text(b)) => {
            eval.spend((a.as_str().len() + b.as_str().len()) / 10)?;
            Ok(Val::from(format!("{}{}", a.as_str(), b.as_str())))
        }
        ("_+_", Val::Bytes(a), Val::Bytes(b)) => {
            eval.spend((a.len() + b.len()) / 10)?;
            Ok(Val::Bytes([&**a, &**b].concat().into()))
        }
        ("_+_", Val::JsonList(..) | Val::List(_), Val::JsonList(..) | Val::List(_)) => {
            eval.spend(weight(a) + weight(b))?;
            collections::concat(a, b)
        }
        _ => times::arithmetic(name, a, b),
    }
}

fn contains<'a>(eval: &mut Evaluator<'a, '_>, item: &Val<'a>, range: &Val<'a>) -> Outcome<'a> {
    match range {
        Val::JsonList(..) | Val::List(_) => {
            eval.spend(weight(range))?;
            any_equal(&range.good_items()?, item).map(Val::Bool)
        }
        _ => range.get(item).map(|found| Val::Bool(found.is_some())),
    }
}

fn is_zero(value: &Val<'_>) -> bool {
    match value {
        Val::Null
        | Val::Bool(false)
        | Val::Int(0)
        | Val::Uint(0)
        | Val::Duration(0)
        | Val::Optional(None) => true,
        Val::Double(value) => *value == 0.0,
        other => other.size() == Some(0),
    }
}

fn convert<'a>(name: &str, value: &Val<'a>) -> Outcome<'a> {
    let failed = || Failure(format!("type conversion error from '{}' to '{name}'", value.type_name()));
    let range = |what: &str| Failure(what.to_owned());
    match (name, value) {
        ("bool", Val::Bool(_)) | ("bytes", Val::Bytes(_)) | ("double", Val::Double(_)) => Ok(value.clone()),
        ("int", Val::Int(_)) | ("uint", Val::Uint(_)) | ("string", Val::Text(_)) => Ok(value.clone()),
        ("bool", Val::Text(text)) => match text.as_str() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Val::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Val::Bool(false)),
            _ => Err(failed()),
        },
        ("bytes", Val::Text(text)) => Ok(Val::Bytes(text.as_str().as_bytes().into())),
        ("double", Val::Int(number)) => Ok(Val::Double(*number as f64)),
        ("double", Val::Uint(number)) => Ok(Val::Double(*number as f64)),
        ("double", Val::Text(text)) => text.as_str().parse().map(Val::Double).map_err(|_| failed()),
        ("int", Val::Uint(number)) => i64::try_from(*number).map(Val::Int).map_err(|_| overflow()),
        ("int", Val::Double(number)) => {
            match number.is_finite() && number.abs() < 9_223_372_036_854_775_807.0 {
                true => Ok(Val::Int(*number as i64)),
                false => Err(range("integer overflow")),
            }
        }
        ("int", Val::Text(text)) => text.as_str().parse().map(Val::Int).map_err(|_| failed()),
        ("int", Val::Timestamp(time)) => Ok(Val::Int(time.as_second())),
        ("int", Val::Duration(nanos)) => Ok(Val::Int(*nanos)),
        ("uint", Val::Int(number)) => {
            u64::try_from(*number).map(Val::Uint).map_err(|_| range("unsigned integer overflow"))
        }
        ("uint", Val::Double(number)) => match (0.0..18_446_744_073_709_551_615.0).contains(number) {
            true => Ok(Val::Uint(*number as u64)),
            false => Err(range("unsigned integer overflow")),
        },
        ("uint", Val::Text(text)) => text.as_str().parse().map(Val::Uint).map_err(|_| failed()),
        ("string", Val::Bytes(bytes)) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Val::from(text.to_owned())),
            Err(_) => Err(range("invalid UTF-8 in bytes, cannot convert to string")),
        },
        ("string", Val::Bool(_) | Val::Int(_) | Val::Uint(_) | Val::Double(_)) => Ok(Val::from(shown(value))),
        ("string", Val::Duration(_) | Val::Timestamp(_)) => Ok(Val::from(shown(value))),
        _ => Err(Failure::no_overload()),
    }
}

/// A value as messages show it.
pub(super) fn shown(value: &Val<'_>) -> String {
    match value {
        Val::Null => "null".to_owned(),
        Val::Bool(value) => value.to_string(),
        Val::Int(number) => number.to_string(),
        Val::Uint(number) => number.to_string(),
        Val::Double(number) => go_float(*number),
        Val::Text(text) => text.as_str().to_owned(),
        Val::Duration(nanos) => times::show_duration(*nanos),
        Val::Timestamp(time) => time.to_string(),
        Val::Type(name) => (*name).to_owned(),
        other => other.type_name().to_owned(),
    }
}
