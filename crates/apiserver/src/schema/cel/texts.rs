//! Functions on strings.

use super::eval::Evaluator;
use super::value::{Failure, Outcome, Val};
use std::rc::Rc;

/// A function whose first argument is a string; nothing if there is none of that name here.
pub(super) fn call<'a>(eval: &mut Evaluator<'a, '_>, name: &str, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    let text = args.first()?.text()?;
    let truth = |value: bool| Some(Ok(Val::Bool(value)));
    let own = |text: String| Some(Ok(Val::from(text)));
    match (name, &args[1..]) {
        ("contains", [Val::Text(part)]) => truth(text.contains(part.as_str())),
        ("startsWith", [Val::Text(part)]) => truth(text.starts_with(part.as_str())),
        ("endsWith", [Val::Text(part)]) => truth(text.ends_with(part.as_str())),
        ("matches", [Val::Text(pattern)]) => {
            Some(eval.pattern(pattern.as_str()).map(|pattern| Val::Bool(pattern.matches(text))))
        }
        ("find", [Val::Text(pattern)]) => Some(
            eval.pattern(pattern.as_str())
                .map(|pattern| Val::from(pattern.find_all(text).next().unwrap_or_default().to_owned())),
        ),
        ("findAll", [Val::Text(pattern)]) => Some(find_all(eval, text, pattern.as_str(), -1)),
        ("findAll", [Val::Text(pattern), Val::Int(most)]) => {
            Some(find_all(eval, text, pattern.as_str(), *most))
        }
        ("lowerAscii", []) => own(text.to_ascii_lowercase()),
        ("upperAscii", []) => own(text.to_ascii_uppercase()),
        ("trim", []) => own(text.trim().to_owned()),
        ("charAt", [Val::Int(index)]) => Some(char_at(text, *index)),
        ("indexOf", [Val::Text(part)]) => Some(index_of(text, part.as_str(), 0)),
        ("indexOf", [Val::Text(part), Val::Int(from)]) => Some(index_of(text, part.as_str(), *from)),
        ("lastIndexOf", [Val::Text(part)]) => Some(last_index_of(text, part.as_str(), None)),
        ("lastIndexOf", [Val::Text(part), Val::Int(to)]) => {
            Some(last_index_of(text, part.as_str(), Some(*to)))
        }
        ("replace", [Val::Text(old), Val::Text(new)]) => {
            Some(replace(eval, text, old.as_str(), new.as_str(), -1))
        }
        ("replace", [Val::Text(old), Val::Text(new), Val::Int(most)]) => {
            Some(replace(eval, text, old.as_str(), new.as_str(), *most))
        }
        ("split", [Val::Text(separator)]) => Some(Ok(split(text, separator.as_str(), -1))),
        ("split", [Val::Text(separator), Val::Int(most)]) => Some(Ok(split(text, separator.as_str(), *most))),
        ("substring", [Val::Int(from)]) => Some(substring(text, *from, None)),
        ("substring", [Val::Int(from), Val::Int(to)]) => Some(substring(text, *from, Some(*to))),
        _ => None,
    }
}

fn list<'a>(items: impl Iterator<Item = String>) -> Val<'a> {
    Val::List(Rc::new(items.map(Val::from).collect()))
}

fn out_of_range(index: i64) -> Failure {
    Failure(format!("index out of range: {index}"))
}

fn find_all<'a>(eval: &Evaluator<'a, '_>, text: &str, pattern: &str, most: i64) -> Outcome<'a> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let pattern = eval.pattern(pattern)?;
    Ok(list(pattern.find_all(text).take(most).map(ToOwned::to_owned)))
}

fn char_at<'a>(text: &str, index: i64) -> Outcome<'a> {
    let index_ = usize::try_from(index).map_err(|_| out_of_range(index))?;
    match text.chars().nth(index_) {
        Some(c) => Ok(Val::from(c.to_string())),
        // One behind the last is nothing, further is wrong.
        None if text.chars().count() == index_ => Ok(Val::from(String::new())),
        None => Err(out_of_range(index)),
    }
}

fn index_of<'a>(text: &str, part: &str, from: i64) -> Outcome<'a> {
    if part.is_empty() {
        return Ok(Val::Int(from));
    }
    let chars: Vec<char> = text.chars().collect();
    let part: Vec<char> = part.chars().collect();
    let start = usize::try_from(from).map_err(|_| out_of_range(from))?;
    let found = (start..chars.len()).find(|at| chars[*at..].starts_with(&part));
    Ok(Val::Int(found.map_or(-1, |at| at as i64)))
}

fn last_index_of<'a>(text: &str, part: &str, to: Option<i64>) -> Outcome<'a> {
    let chars: Vec<char> = text.chars().collect();
    let part: Vec<char> = part.chars().collect();
    let end = match to.map(|to| usize::try_from(to).map_err(|_| out_of_range(to))).transpose()? {
        Some(to) if to >= chars.len() && !part.is_empty() => return Ok(Val::Int(-1)),
        to => to.unwrap_or(chars.len()).min(chars.len()),
    };
    let found = (0..=end).rev().find(|at| chars[*at..].starts_with(&part));
    Ok(Val::Int(found.map_or(-1, |at| at as i64)))
}

fn replace<'a>(eval: &mut Evaluator<'a, '_>, text: &str, old: &str, new: &str, most: i64) -> Outcome<'a> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    // The result can be much longer than what it is made of.
    let times = if old.is_empty() { text.chars().count() + 1 } else { text.matches(old).count() }.min(most);
    eval.spend(times.saturating_mul(new.len()) / 10)?;
    Ok(Val::from(text.replacen(old, new, most)))
}

fn split<'a>(text: &str, separator: &str, most: i64) -> Val<'a> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    if most == 0 {
        return list(std::iter::empty());
    }
    if !separator.is_empty() {
        return list(text.splitn(most, separator).map(ToOwned::to_owned));
    }
    let mut chars = text.chars();
    let mut parts: Vec<String> = chars.by_ref().take(most - 1).map(|c| c.to_string()).collect();
    let rest: String = chars.collect();
    if !rest.is_empty() {
        parts.push(rest);
    }
    list(parts.into_iter())
}

fn substring<'a>(text: &str, from: i64, to: Option<i64>) -> Outcome<'a> {
    let size = text.chars().count();
    let position = |index: i64| {
        usize::try_from(index).ok().filter(|index| *index <= size).ok_or_else(|| out_of_range(index))
    };
    let end = to.map_or(Ok(size), position)?;
    let start = position(from)?;
    if start > end {
        let words = format!("invalid substring range. start: {start}, end: {end}");
        return Err(Failure(words));
    }
    Ok(Val::from(text.chars().skip(start).take(end - start).collect::<String>()))
}
