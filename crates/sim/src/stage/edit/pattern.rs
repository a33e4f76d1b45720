//! Texts that a pattern of a schema accepts: literals, classes, groups, alternatives and repetitions, as schemas use them.

use crate::stage::dice::Dice;
use std::{iter::Peekable, str::Chars};

/// How often something is repeated that may be repeated without end.
const MORE: u64 = 3;

/// A text that the pattern accepts, most likely: lookarounds and back references are not understood.
pub(super) fn sample(pattern: &str, dice: &mut Dice) -> String {
    let mut text = String::new();
    alternatives(&mut pattern.chars().peekable(), dice, &mut text);
    text
}

type Rest<'a> = Peekable<Chars<'a>>;

/// Up to the closing parenthesis, or the end. One alternative is kept.
fn alternatives(rest: &mut Rest<'_>, dice: &mut Dice, text: &mut String) {
    let mut all = vec![String::new()];
    loop {
        match rest.next() {
            None | Some(')') => break,
            Some('|') => all.push(String::new()),
            Some(first) => {
                let one = piece(first, rest, dice);
                if let Some(last) = all.last_mut() {
                    last.push_str(&one);
                }
            }
        }
    }
    let place = usize::try_from(dice.below(all.len() as u64)).unwrap_or_default();
    text.push_str(all.get(place).map_or("", String::as_str));
}

/// One piece, with its repetition.
fn piece(first: char, rest: &mut Rest<'_>, dice: &mut Dice) -> String {
    let again = rest.clone();
    let mut one = atom(first, rest, dice);
    let (least, most) = repetition(rest);
    let end = rest.clone();
    let times = dice.between(least, most);
    let mut text = String::new();
    for _ in 0..times {
        text.push_str(&one);
        // Each time anew: a class may give another character.
        one = atom(first, &mut again.clone(), dice);
    }
    *rest = end;
    text
}

fn atom(first: char, rest: &mut Rest<'_>, dice: &mut Dice) -> String {
    match first {
        '^' | '$' => String::new(),
        '(' => {
            if rest.peek() == Some(&'?') {
                rest.next();
                rest.next();
            }
            let mut text = String::new();
            alternatives(rest, dice, &mut text);
            text
        }
        '[' => class(rest, dice).map(String::from).unwrap_or_default(),
        '.' => "x".to_owned(),
        '\\' => escaped(rest.next(), dice).map(String::from).unwrap_or_default(),
        plain => plain.to_string(),
    }
}

fn escaped(which: Option<char>, dice: &mut Dice) -> Option<char> {
    match which? {
        'd' => one_of('0', '9', dice),
        'w' => one_of('a', 'z', dice),
        's' => Some('_'),
        plain => Some(plain),
    }
}

fn class(rest: &mut Rest<'_>, dice: &mut Dice) -> Option<char> {
    let mut ranges = Vec::new();
    while let Some(first) = rest.next().filter(|it| *it != ']') {
        let first = if first == '\\' { rest.next()? } else { first };
        let mut ahead = rest.clone();
        let is_range = ahead.next() == Some('-') && ahead.next().is_some_and(|last| last != ']');
        if is_range {
            rest.next();
            ranges.push((first, rest.next()?));
        } else {
            ranges.push((first, first));
        }
    }
    let (first, last) = dice.pick(&ranges)?;
    one_of(first, last, dice)
}

fn one_of(first: char, last: char, dice: &mut Dice) -> Option<char> {
    let drawn = dice.between(u64::from(u32::from(first)), u64::from(u32::from(last)));
    u32::try_from(drawn).ok().and_then(char::from_u32)
}

/// How often the piece before this is there.
fn repetition(rest: &mut Rest<'_>) -> (u64, u64) {
    match rest.peek() {
        Some('?') => {
            rest.next();
            (0, 1)
        }
        Some('*') => {
            rest.next();
            (0, MORE)
        }
        Some('+') => {
            rest.next();
            (1, MORE)
        }
        Some('{') => {
            rest.next();
            let inside: String = rest.by_ref().take_while(|it| *it != '}').collect();
            let (least, most) = inside.split_once(',').unwrap_or((&inside, &inside));
            let least = least.parse().unwrap_or(0);
            (least, most.parse().unwrap_or(least + MORE).min(least + MORE))
        }
        _ => (1, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::dice::dice_for;

    type Check = fn(&str) -> bool;

    #[test]
    fn patterns_of_schemas_accept_the_texts() {
        let is_ok: [(&str, Check); 5] = [
            (r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", |it| {
                !it.is_empty() && !it.starts_with('-') && !it.ends_with('-')
            }),
            (r"^1\.[0-9]+(\.[0-9]+)?$", |it| it.starts_with("1.") && it.len() > 2),
            (r"^[1-9][0-9]*Gi$", |it| it.ends_with("Gi") && !it.starts_with('0')),
            (r"^([01][0-9]|2[0-3])[0-5][0-9][0-5][0-9][+-](0[0-9]|1[0-4])[0-5][0-9]$", |it| it.len() == 11),
            (r"^(globalaccount:)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$", |it| !it.is_empty()),
        ];
        for (pattern, is_ok) in is_ok {
            for number in 0..50 {
                let text = sample(pattern, &mut dice_for(number, &["pattern"], 0));
                assert!(is_ok(&text), "{pattern}: {text}");
            }
        }
    }
}
