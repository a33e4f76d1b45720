//! Functions on lists.

use super::super::ListType;
use super::escape::escape;
use super::eval::Evaluator;
use super::functions::{overflow, shown};
use super::value::{Failure, Outcome, Val, any_equal};
use std::cmp::Ordering;
use std::rc::Rc;

/// A function whose first argument is a list; nothing if there is none of that name here.
pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    let items = match args.first()?.good_items() {
        Ok(items) => items,
        Err(failure) => return Some(Err(failure)),
    };
    let list = |items: Vec<Val<'a>>| Some(Ok(Val::List(Rc::new(items))));
    let optional = |item: Option<&Val<'a>>| Some(Ok(Val::Optional(item.cloned().map(Rc::new))));
    match (name, &args[1..]) {
        ("isSorted", []) => Some(is_sorted(&items)),
        ("min", []) => Some(extreme(name, &items, Ordering::Less)),
        ("max", []) => Some(extreme(name, &items, Ordering::Greater)),
        ("sum", []) => Some(sum(&items)),
        ("indexOf", [wanted]) => Some(position(items.iter(), wanted)),
        ("lastIndexOf", [wanted]) => Some(position(items.iter().rev(), wanted).map(|found| match found {
            Val::Int(at) if at >= 0 => Val::Int(items.len() as i64 - 1 - at),
            other => other,
        })),
        ("join", []) => Some(join(&items, "")),
        ("join", [Val::Text(separator)]) => Some(join(&items, separator.as_str())),
        ("first", []) => optional(items.first()),
        ("last", []) => optional(items.last()),
        ("reverse", []) => list(items.into_iter().rev().collect()),
        ("slice", [Val::Int(from), Val::Int(to)]) => Some(slice(&items, *from, *to)),
        ("distinct", []) => Some(distinct(items)),
        ("sort", []) => Some(sort(items)),
        ("flatten", []) => Some(flatten(items, 1).map(|items| Val::List(Rc::new(items)))),
        ("flatten", [Val::Int(depth)]) => Some(flatten(items, *depth).map(|items| Val::List(Rc::new(items)))),
        ("sets.contains" | "sets.equivalent" | "sets.intersects", [other]) => Some(sets(name, &items, other)),
        _ => None,
    }
}

pub(super) fn range<'a>(eval: &mut Evaluator<'a, '_>, count: i64) -> Outcome<'a> {
    let count = usize::try_from(count).unwrap_or(0);
    eval.spend(count)?;
    Ok(Val::List(Rc::new((0..count).map(|item| Val::Int(item as i64)).collect())))
}

/// One list after another; in sets and maps every item is there once.
pub(super) fn concat<'a>(a: &Val<'a>, b: &Val<'a>) -> Outcome<'a> {
    let mut items = a.good_items()?;
    let added = b.good_items()?;
    let list_type = match a {
        Val::JsonList(_, schema) => &schema.list_type,
        _ => &ListType::Atomic,
    };
    match list_type {
        ListType::Atomic => items.extend(added),
        ListType::Set => {
            for item in added {
                if !any_equal(&items, &item)? {
                    items.push(item);
                }
            }
        }
        ListType::Map(keys) => {
            for item in added {
                let mut place = None;
                for (at, known) in items.iter().enumerate() {
                    if same_keys(keys, known, &item)? {
                        place = Some(at);
                    }
                }
                match place {
                    Some(at) => items[at] = item,
                    None => items.push(item),
                }
            }
        }
    }
    Ok(Val::List(Rc::new(items)))
}

fn same_keys<'a>(keys: &[String], a: &Val<'a>, b: &Val<'a>) -> Result<bool, Failure> {
    for key in keys {
        let key = Val::from(escape(key).unwrap_or_else(|| key.clone()));
        let same = match (a.get(&key)?, b.get(&key)?) {
            (Some(a), Some(b)) => a.equals(&b)?,
            (a, b) => a.is_none() && b.is_none(),
        };
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_sorted<'a>(items: &[Val<'a>]) -> Outcome<'a> {
    for pair in items.windows(2) {
        if pair[0].compare(&pair[1])? == Ordering::Greater {
            return Ok(Val::Bool(false));
        }
    }
    Ok(Val::Bool(true))
}

fn extreme<'a>(name: &str, items: &[Val<'a>], wanted: Ordering) -> Outcome<'a> {
    let (first, rest) = items.split_first().ok_or_else(|| Failure(format!("{name} called on empty list")))?;
    let mut best = first;
    for item in rest {
        if item.compare(best)? == wanted {
            best = item;
        }
    }
    Ok(best.clone())
}

fn sum<'a>(items: &[Val<'a>]) -> Outcome<'a> {
    let (first, rest) = match items.split_first() {
        Some(split) => split,
        None => return Ok(Val::Int(0)),
    };
    rest.iter().try_fold(first.clone(), |sum, item| match (&sum, item) {
        (Val::Int(a), Val::Int(b)) => a.checked_add(*b).map(Val::Int).ok_or_else(overflow),
        (Val::Uint(a), Val::Uint(b)) => a.checked_add(*b).map(Val::Uint).ok_or_else(overflow),
        (Val::Double(a), Val::Double(b)) => Ok(Val::Double(a + b)),
        (Val::Duration(a), Val::Duration(b)) => a.checked_add(*b).map(Val::Duration).ok_or_else(overflow),
        _ => Err(Failure::no_overload()),
    })
}

fn position<'v, 'a: 'v>(items: impl Iterator<Item = &'v Val<'a>>, wanted: &Val<'a>) -> Outcome<'a> {
    for (at, item) in items.enumerate() {
        if item.equals(wanted)? {
            return Ok(Val::Int(at as i64));
        }
    }
    Ok(Val::Int(-1))
}

fn join<'a>(items: &[Val<'a>], separator: &str) -> Outcome<'a> {
    let texts: Option<Vec<&str>> = items.iter().map(Val::text).collect();
    texts.map(|texts| Val::from(texts.join(separator))).ok_or_else(Failure::no_overload)
}

fn slice<'a>(items: &[Val<'a>], from: i64, to: i64) -> Outcome<'a> {
    let words = match (from, to) {
        (from, to) if from < 0 || to < 0 => {
            format!("cannot slice({from}, {to}), negative indexes not supported")
        }
        (from, to) if from > to => {
            format!("cannot slice({from}, {to}), start index must be less than or equal to end index")
        }
        (from, to) if to > items.len() as i64 => {
            format!("cannot slice({from}, {to}), list is length {}", items.len())
        }
        _ => return Ok(Val::List(Rc::new(items[from as usize..to as usize].to_vec()))),
    };
    Err(Failure(words))
}

fn distinct<'a>(items: Vec<Val<'a>>) -> Outcome<'a> {
    let mut kept: Vec<Val<'a>> = Vec::new();
    for item in items {
        if !any_equal(&kept, &item)? {
            kept.push(item);
        }
    }
    Ok(Val::List(Rc::new(kept)))
}

fn sort<'a>(mut items: Vec<Val<'a>>) -> Outcome<'a> {
    let mut failed = None;
    items.sort_by(|a, b| {
        a.compare(b).unwrap_or_else(|_| {
            failed = Some(Failure(format!("list elements must be comparable, got {}", shown(a))));
            Ordering::Equal
        })
    });
    failed.map_or_else(|| Ok(Val::List(Rc::new(items))), Err)
}

fn flatten<'a>(items: Vec<Val<'a>>, depth: i64) -> Result<Vec<Val<'a>>, Failure> {
    if depth < 0 {
        return Err(Failure("level must be non-negative".to_owned()));
    }
    let mut flat = Vec::new();
    for item in items {
        match item.good_items() {
            Ok(inner) if depth > 0 => flat.extend(flatten(inner, depth - 1)?),
            _ => flat.push(item),
        }
    }
    Ok(flat)
}

fn sets<'a>(name: &str, items: &[Val<'a>], other: &Val<'a>) -> Outcome<'a> {
    let others = other.good_items()?;
    let all_in = |wanted: &[Val<'a>], known: &[Val<'a>]| -> Result<bool, Failure> {
        for item in wanted {
            if !any_equal(known, item)? {
                return Ok(false);
            }
        }
        Ok(true)
    };
    Ok(Val::Bool(match name {
        "sets.contains" => all_in(&others, items)?,
        "sets.equivalent" => all_in(&others, items)? && all_in(items, &others)?,
        _ => {
            let mut found = false;
            for item in items {
                found = found || any_equal(&others, item)?;
            }
            found
        }
    }))
}
