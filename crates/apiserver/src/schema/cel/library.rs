//! Functions that `kube-cel` has: quantities, addresses, URLs, versions, formats.
//!
//! Only single functions of it are called, with values that are there already: its parser, its evaluator and its
//! walk over schemas have ways to end the process, and see objects differently than a real server.

use super::eval::Evaluator;
use super::format;
use super::value::{Failure, Outcome, Val};
use kube_cel::KubeCelExt;
use kube_cel::cel::common::ast::{CallExpr, Expr};
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{self, Context, IdedExpr};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

const NAMES: [&str; 4] = ["a0", "a1", "a2", "a3"];

pub(super) fn call<'a>(
    eval: &mut Evaluator<'a, '_>,
    name: &str,
    method: bool,
    args: &[Val<'a>],
) -> Outcome<'a> {
    static FUNCTIONS: LazyLock<Context<'static>> = LazyLock::new(|| Context::default().with_all());
    if name == "format" {
        format::check_precision(args.first().and_then(Val::text).unwrap_or_default()).map_err(Failure)?;
    }
    eval.spend(10)?;
    let mut scope = FUNCTIONS.new_inner_scope();
    let mut names = Vec::with_capacity(args.len());
    for (arg, name) in args.iter().zip(NAMES) {
        scope.add_variable_from_value(name, to_library(arg)?);
        names.push(IdedExpr { id: 0, expr: Expr::Ident(name.to_owned()) });
    }
    let target = method.then(|| Box::new(names.remove(0)));
    let call = Expr::Call(CallExpr { func_name: name.to_owned(), target, args: names });
    let call = IdedExpr { id: 0, expr: call };
    // A panic in there is one expression that failed.
    match catch_unwind(AssertUnwindSafe(|| scope.resolve(&call))) {
        Ok(Ok(value)) if name == "format.named" => Ok(Val::Optional(Some(Rc::new(from_library(value))))),
        Ok(Ok(value)) => Ok(from_library(value)),
        Ok(Err(_)) if name == "format.named" => Ok(Val::Optional(None)),
        Ok(Err(cel::ExecutionError::FunctionError { message, .. })) => {
            let text = args.first().and_then(Val::text);
            Err(Failure(text.and_then(|text| unreadable(name, text)).unwrap_or(message)))
        }
        Ok(Err(cel::ExecutionError::UndeclaredReference(_) | cel::ExecutionError::NoSuchOverload)) => {
            Err(Failure::no_overload())
        }
        Ok(Err(error)) => Err(Failure(error.to_string())),
        Err(_) => Err(Failure(format!("function {name} failed"))),
    }
}

/// What a real server says of a text that cannot be read.
fn unreadable(name: &str, text: &str) -> Option<String> {
    let parsing = "parse error during conversion from string";
    Some(match name {
        "ip" => format!("IP Address {text:?} {parsing}: ParseAddr({text:?}): unable to parse IP"),
        "cidr" => {
            let why = if text.contains('/') { "unable to parse IP" } else { "no '/'" };
            format!(
                "network address {parsing}: network address {parsing}: netip.ParsePrefix({text:?}): {why}"
            )
        }
        "url" => {
            let why =
                if text.starts_with(':') { "missing protocol scheme" } else { "invalid URI for request" };
            format!("URL {parsing}: parse {text:?}: {why}")
        }
        _ => return None,
    })
}

fn to_library(value: &Val<'_>) -> Result<cel::Value, Failure> {
    use cel::Value;
    Ok(match value {
        Val::Null | Val::Undescribed(_) => Value::Null,
        Val::Bool(value) => Value::Bool(*value),
        Val::Int(number) => Value::Int(*number),
        Val::Uint(number) => Value::UInt(*number),
        Val::Double(number) => Value::Float(*number),
        Val::Text(text) => Value::String(Arc::new(text.as_str().to_owned())),
        Val::Bytes(bytes) => Value::Bytes(Arc::new(bytes.to_vec())),
        Val::Opaque(value) => value.clone(),
        Val::Duration(_) | Val::Timestamp(_) | Val::Type(_) => {
            Value::String(Arc::new(super::functions::shown(value)))
        }
        Val::JsonList(..) | Val::List(_) => {
            let items: Result<Vec<Value>, Failure> = value.good_items()?.iter().map(to_library).collect();
            Value::List(Arc::new(items?))
        }
        Val::JsonMap(..) | Val::Map(_) => {
            // The library wants this type; what it prints of a map is sorted by key.
            let mut map = HashMap::new();
            for (key, value) in value.entries().unwrap_or_default() {
                map.insert(Key::from(super::functions::shown(&key)), to_library(&value?)?);
            }
            Value::Map(Map { map: Arc::new(map) })
        }
        Val::Optional(_) | Val::Authorization(_) => return Err(Failure::no_overload()),
    })
}

fn from_library<'a>(value: cel::Value) -> Val<'a> {
    use cel::Value;
    match value {
        Value::Null => Val::Null,
        Value::Bool(value) => Val::Bool(value),
        Value::Int(number) => Val::Int(number),
        Value::UInt(number) => Val::Uint(number),
        Value::Float(number) => Val::Double(number),
        Value::String(text) => Val::from((*text).clone()),
        Value::Bytes(bytes) => Val::Bytes(bytes.as_slice().into()),
        Value::List(items) => Val::List(Rc::new(items.iter().cloned().map(from_library).collect())),
        Value::Map(map) => {
            let mut entries: Vec<(&Key, &Value)> = map.map.iter().collect();
            entries.sort_by(|a, b| a.0.cmp(b.0));
            let entries = entries
                .into_iter()
                .map(|(key, value)| (Val::from(key.to_string()), from_library(value.clone())))
                .collect();
            Val::Map(Rc::new(entries))
        }
        Value::Opaque(opaque) => match opaque.downcast_ref::<cel::objects::OptionalValue>() {
            Some(optional) => {
                Val::Optional(optional.value().cloned().map(|value| Rc::new(from_library(value))))
            }
            None => Val::Opaque(Value::Opaque(opaque)),
        },
        other => Val::Opaque(other),
    }
}
