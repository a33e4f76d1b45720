//! Reads one rule. Everything that is wrong with it is found in one go, each fault with its place.

use super::{
    attribute::{Input, Inputs, Output, Outputs},
    finding::Code,
    rule::Spelled,
    word,
};
use crate::label;
use std::ops::Range;

/// One thing that is wrong with the text of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What kind of fault it is.
    pub code: Code,
    /// The bytes of the text that it is about.
    pub at: Range<usize>,
    /// What is wrong, and what to do.
    pub message: String,
}

/// What could be read of a rule.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) plan: Option<Plan>,
    pub(super) inputs: Inputs,
    pub(super) outputs: Outputs,
    pub(super) faults: Vec<Fault>,
}

/// The plan of a rule, and where it stands.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) name: String,
    pub(super) at: Range<usize>,
    /// Whether it can be the value of a label.
    pub(super) valid: bool,
}

pub(super) fn parse(text: &str) -> Draft {
    let draft =
        Draft { plan: None, inputs: Inputs::default(), outputs: Outputs::default(), faults: Vec::new() };
    let mut parser = Parser { text, at: 0, draft, seen: [false; Input::ALL.len()], stars: Vec::new() };
    parser.rule();
    parser.explain_stars();
    let mut draft = parser.draft;
    draft.faults.sort_by_key(|fault| fault.at.start);
    draft
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'t> {
    Word(&'t str),
    Open,
    Close,
    Comma,
    Equals,
    Arrow,
    End,
}

impl Token<'_> {
    fn describe(self) -> String {
        match self {
            Token::Word(word) => format!("`{word}`"),
            Token::Open => "`(`".to_owned(),
            Token::Close => "`)`".to_owned(),
            Token::Comma => "`,`".to_owned(),
            Token::Equals => "`=`".to_owned(),
            Token::Arrow => "`->`".to_owned(),
            Token::End => "the end of the rule".to_owned(),
        }
    }
}

struct Parser<'t> {
    text: &'t str,
    /// Where the next token is looked for.
    at: usize,
    draft: Draft,
    /// The inputs that were named, whatever became of their values.
    seen: [bool; Input::ALL.len()],
    /// The inputs whose value is `*`.
    stars: Vec<(Input, Range<usize>)>,
}

impl<'t> Parser<'t> {
    fn rule(&mut self) {
        let (token, at) = self.peek();
        match token {
            Token::Word(name) => {
                self.take(&at);
                let valid = self.check_plan(name, &at);
                self.draft.plan = Some(Plan { name: name.to_owned(), at, valid });
            }
            Token::Open | Token::Arrow => self.expected("a plan", token, at),
            Token::End => {
                return self.fault(Code::Syntax, at, "the rule is empty: expected a plan".to_owned());
            }
            _ => return self.expected("a plan", token, at),
        }
        let mut expected = "`(`, `->` or the end of the rule";
        if let (Token::Open, at) = self.peek() {
            self.take(&at);
            self.inputs();
            expected = "`->` or the end of the rule";
        }
        match self.peek() {
            (Token::End, _) => {}
            (Token::Arrow, at) => {
                self.take(&at);
                self.outputs();
            }
            (token, at) => {
                let what = match token {
                    Token::Word("-" | ">" | "→") => "`->` (written without a blank in it)",
                    _ => expected,
                };
                self.expected(what, token, at);
            }
        }
    }

    /// What stands between the parentheses, and the closing one.
    fn inputs(&mut self) {
        if let (Token::Close, at) = self.peek() {
            return self.take(&at);
        }
        loop {
            let value = self.input();
            let (token, at) = self.peek();
            match (token, value) {
                (Token::Comma | Token::Close, _) | (_, Item::Faulty) => {}
                (Token::Word(word), Item::Value(value)) => {
                    let message = format!(
                        "white space inside of a value: `{word}` comes after `{value}`; expected `,` or `)`"
                    );
                    self.fault(Code::Syntax, at, message);
                }
                (token, _) => self.expected("`,` or `)`", token, at),
            }
            match self.skip_to(&[Token::Comma, Token::Close, Token::Arrow]) {
                (Token::Comma, at) => self.take(&at),
                (Token::Close, at) => return self.take(&at),
                _ => return,
            }
        }
    }

    /// One `NAME=VALUE`.
    fn input(&mut self) -> Item<'t> {
        let (token, at) = self.peek();
        let Token::Word(name) = token else {
            let known = word::one_of(Input::ALL.map(Input::name));
            self.expected(&format!("an input attribute ({known})"), token, at);
            return Item::Faulty;
        };
        self.take(&at);
        let input = Input::by_name(name);
        match input {
            None => self.unknown_input(name, at),
            Some(input) if self.seen[input.index()] => {
                let message = format!("`{name}` is given twice: each input attribute once");
                self.fault(Code::DuplicateAttribute, at, message);
            }
            Some(_) => {}
        }
        let (token, at) = self.peek();
        if token != Token::Equals {
            self.expected(&format!("`=` and a value after `{name}`"), token, at);
            return Item::Faulty;
        }
        self.take(&at);
        let (token, at) = self.peek();
        let Token::Word(value) = token else {
            self.expected(&format!("a value after `{name}=`"), token, at);
            return Item::Faulty;
        };
        self.take(&at);
        if let Some(input) = input {
            self.value(input, value, at);
        }
        Item::Value(value)
    }

    fn value(&mut self, input: Input, value: &str, at: Range<usize>) {
        let first = !std::mem::replace(&mut self.seen[input.index()], true);
        if value == "*" {
            return self.stars.push((input, at));
        }
        match label::check(value) {
            Ok(()) if first => self.draft.inputs[input.index()] = Some(value.to_owned()),
            Ok(()) => {}
            Err(_) if value.contains('*') => {
                let message = format!(
                    "`{value}` is not a value of {input}: there are no patterns; name each {} in a rule of its own, or leave \
                     {input} out to match any",
                    input.title(),
                );
                self.fault(Code::InvalidValue, at, message);
            }
            Err(fault) => {
                self.fault(
                    Code::InvalidValue,
                    at,
                    format!("`{value}` cannot be a value of {input}: {fault}"),
                );
            }
        }
    }

    /// What stands after the arrow.
    fn outputs(&mut self) {
        loop {
            let (token, at) = self.peek();
            if let Token::Word(name) = token {
                self.take(&at);
                self.output(name, at);
            } else {
                let known = word::one_of(Output::ALL.map(Output::name));
                self.expected(&format!("an output attribute ({known})"), token, at);
            }
            let (token, at) = self.peek();
            match token {
                Token::End => return,
                Token::Comma => {}
                Token::Equals => {
                    let message =
                        "an output attribute has no value: expected `,` or the end of the rule".to_owned();
                    self.fault(Code::Syntax, at, message);
                }
                Token::Arrow => self.fault(Code::Syntax, at, "a rule has only one `->`".to_owned()),
                token => self.expected("`,` or the end of the rule", token, at),
            }
            match self.skip_to(&[Token::Comma]) {
                (Token::Comma, at) => self.take(&at),
                _ => return,
            }
        }
    }

    fn output(&mut self, name: &str, at: Range<usize>) {
        match Output::by_name(name) {
            Some(output) if self.draft.outputs.add(output) => {}
            Some(_) => {
                let message = format!("`{name}` is given twice: each output attribute once");
                self.fault(Code::DuplicateAttribute, at, message);
            }
            None => {
                let known = Output::ALL.map(Output::name);
                let hint = word::did_you_mean(name, known);
                let message =
                    format!("`{name}` is not an output attribute: expected {}{hint}", word::one_of(known));
                self.fault(Code::UnknownAttribute, at, message);
            }
        }
    }

    fn unknown_input(&mut self, name: &str, at: Range<usize>) {
        let hint = if Output::by_name(name).is_some() {
            format!("; `{name}` is an output attribute and comes after `->`")
        } else {
            word::did_you_mean(name, Input::ALL.map(Input::name))
        };
        let known = word::one_of(Input::ALL.map(Input::name));
        let message = format!("`{name}` is not an input attribute: expected {known}{hint}");
        self.fault(Code::UnknownAttribute, at, message);
    }

    fn check_plan(&mut self, name: &str, at: &Range<usize>) -> bool {
        let message = match label::check(name) {
            Ok(()) => return true,
            Err(_) if name == "*" => "`*` is not a plan: write a rule for each plan".to_owned(),
            Err(fault) => format!("`{name}` cannot be a plan: {fault}"),
        };
        self.fault(Code::InvalidValue, at.clone(), message);
        false
    }

    /// `*` once meant "any, and part of the type". What says that today takes the whole rule to tell.
    fn explain_stars(&mut self) {
        let mut outputs = self.draft.outputs;
        for (input, _) in &self.stars {
            outputs.add(Output::Suffix(*input));
        }
        let hint = match &self.draft.plan {
            Some(plan) if plan.valid => {
                format!(": write `{}`", Spelled(&plan.name, &self.draft.inputs, outputs))
            }
            _ => String::new(),
        };
        for (input, at) in std::mem::take(&mut self.stars) {
            let message = format!(
                "`*` is not a value of {input}: an input that is left out matches any, and {input} after `->` makes it part \
                 of the type{hint}"
            );
            self.fault(Code::InvalidValue, at, message);
        }
    }

    fn expected(&mut self, what: &str, found: Token<'_>, at: Range<usize>) {
        self.fault(Code::Syntax, at, format!("expected {what}, found {}", found.describe()));
    }

    fn fault(&mut self, code: Code, at: Range<usize>, message: String) {
        self.draft.faults.push(Fault { code, at, message });
    }

    fn take(&mut self, at: &Range<usize>) {
        self.at = at.end;
    }

    /// Goes on to the next of some tokens, or to the end.
    fn skip_to(&mut self, stops: &[Token<'_>]) -> (Token<'t>, Range<usize>) {
        loop {
            let (token, at) = self.peek();
            if token == Token::End || stops.contains(&token) {
                return (token, at);
            }
            self.take(&at);
        }
    }

    /// The next token and where it stands. White space before it does not count.
    fn peek(&self) -> (Token<'t>, Range<usize>) {
        let rest = self.text[self.at..].trim_start_matches(is_blank);
        let start = self.text.len() - rest.len();
        let (token, length) = match rest.chars().next() {
            None => (Token::End, 0),
            Some('(') => (Token::Open, 1),
            Some(')') => (Token::Close, 1),
            Some(',') => (Token::Comma, 1),
            Some('=') => (Token::Equals, 1),
            Some(_) if rest.starts_with("->") => (Token::Arrow, 2),
            Some(_) => {
                let word = &rest[..word_length(rest)];
                (Token::Word(word), word.len())
            }
        };
        (token, start..start + length)
    }
}

/// What stands between two commas.
#[derive(Clone, Copy)]
enum Item<'t> {
    Value(&'t str),
    /// Something was wrong and is reported already.
    Faulty,
}

/// Anything that is not a separator is part of a word, so that one wrong character is one fault, and not three.
fn word_length(rest: &str) -> usize {
    rest.char_indices()
        .find(|&(at, c)| is_blank(c) || matches!(c, '(' | ')' | ',' | '=') || rest[at..].starts_with("->"))
        .map_or(rest.len(), |(at, _)| at)
}

const fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}
