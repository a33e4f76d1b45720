//! From text to tokens.

use super::ast::{Issue, Literal};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Literal(Literal),
    Ident(String),
    /// An operator, a bracket or a comma.
    Symbol(&'static str),
    End,
}

#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub token: Token,
    pub at: usize,
    /// As it was written.
    pub text: String,
}

const SYMBOLS: [&str; 25] = [
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ".", ",", "(", ")",
    "[", "]", "{", "}", ";",
];

/// The tokens, and complaints about what is none: it is skipped.
pub(super) fn tokens(source: &str) -> (Vec<Placed>, Vec<Issue>) {
    let chars: Vec<char> = source.chars().collect();
    let mut lexer = Lexer { chars: &chars, at: 0 };
    let (mut tokens, mut issues) = (Vec::new(), Vec::new());
    while lexer.skip_blanks() {
        let at = lexer.at;
        match lexer.token() {
            Ok(token) => {
                let text = chars[at..lexer.at].iter().collect();
                tokens.push(Placed { token, at, text });
            }
            Err(issue) => {
                issues.push(issue);
                lexer.at = lexer.at.max(at + 1);
            }
        }
    }
    tokens.push(Placed { token: Token::End, at: chars.len(), text: "<EOF>".to_owned() });
    (tokens, issues)
}

struct Lexer<'a> {
    chars: &'a [char],
    at: usize,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    /// Whether there is more.
    fn skip_blanks(&mut self) -> bool {
        while let Some(c) = self.peek(0) {
            if c == '/' && self.peek(1) == Some('/') {
                while self.peek(0).is_some_and(|c| c != '\n') {
                    self.at += 1;
                }
            } else if matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0c') {
                self.at += 1;
            } else {
                return true;
            }
        }
        false
    }

    fn token(&mut self) -> Result<Token, Issue> {
        let c = self.peek(0).unwrap_or_default();
        if let Some(token) = self.quoted()? {
            return Ok(token);
        }
        if c.is_ascii_alphabetic() || c == '_' {
            return Ok(self.word());
        }
        if c.is_ascii_digit() || c == '.' && self.peek(1).is_some_and(|c| c.is_ascii_digit()) {
            return self.number();
        }
        let symbol = SYMBOLS.iter().find(|symbol| {
            symbol.chars().enumerate().all(|(ahead, c)| self.peek(ahead) == Some(c)) && **symbol != ";"
        });
        match symbol {
            Some(symbol) => {
                self.at += symbol.len();
                Ok(Token::Symbol(symbol))
            }
            // The first half of an operator takes what is behind it along.
            None => Err(self.unrecognized(self.at, self.at + if "=&|".contains(c) { 2 } else { 1 })),
        }
    }

    fn unrecognized(&mut self, from: usize, to: usize) -> Issue {
        let to = to.min(self.chars.len());
        self.at = to;
        let text: String = self.chars[from..to].iter().collect();
        Issue::new(from, format!("Syntax error: token recognition error at: '{text}'"))
    }

    fn word(&mut self) -> Token {
        let from = self.at;
        while self.peek(0).is_some_and(|c| c.is_ascii_alphanumeric() || c == '_') {
            self.at += 1;
        }
        let word: String = self.chars[from..self.at].iter().collect();
        match word.as_str() {
            "true" => Token::Literal(Literal::Bool(true)),
            "false" => Token::Literal(Literal::Bool(false)),
            "null" => Token::Literal(Literal::Null),
            "in" => Token::Symbol("in"),
            _ => Token::Ident(word),
        }
    }

    fn number(&mut self) -> Result<Token, Issue> {
        let from = self.at;
        let hex = self.peek(0) == Some('0') && matches!(self.peek(1), Some('x' | 'X'));
        if hex {
            self.at += 2;
        }
        let mut double = false;
        while let Some(c) = self.peek(0) {
            match c {
                c if if hex { c.is_ascii_hexdigit() } else { c.is_ascii_digit() } => {}
                '.' if !hex && !double && self.peek(1).is_some_and(|c| c.is_ascii_digit()) => double = true,
                'e' | 'E' if !hex => {
                    let sign = usize::from(matches!(self.peek(1), Some('+' | '-')));
                    if !self.peek(1 + sign).is_some_and(|c| c.is_ascii_digit()) {
                        break;
                    }
                    double = true;
                    self.at += sign;
                }
                _ => break,
            }
            self.at += 1;
        }
        let text: String = self.chars[from..self.at].iter().collect();
        let unsigned = !double && matches!(self.peek(0), Some('u' | 'U'));
        if unsigned {
            self.at += 1;
        }
        let digits = |text: &str| match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => text.parse().ok(),
        };
        let literal = match (double, unsigned) {
            (true, _) => text.parse().ok().map(Literal::Double),
            (false, true) => digits(&text).map(Literal::Uint),
            // The smallest number is one further from zero than the largest; the parser sees the sign.
            (false, false) => match digits(&text) {
                Some(value) if value == 1 << 63 => Some(Literal::Int(i64::MIN)),
                Some(value) => i64::try_from(value).ok().map(Literal::Int),
                None => None,
            },
        };
        let kind = if double {
            "double"
        } else if unsigned {
            "uint"
        } else {
            "int"
        };
        literal.map(Token::Literal).ok_or_else(|| Issue::new(from, format!("invalid {kind} literal")))
    }

    /// A string or bytes, if there is one here.
    fn quoted(&mut self) -> Result<Option<Token>, Issue> {
        let from = self.at;
        let (mut raw, mut bytes, mut ahead) = (false, false, 0);
        while let Some(c) = self.peek(ahead).filter(|_| ahead < 2) {
            match c {
                'r' | 'R' if !raw => raw = true,
                'b' | 'B' if !bytes && !raw => bytes = true,
                _ => break,
            }
            ahead += 1;
        }
        let Some(quote) = self.peek(ahead).filter(|c| matches!(c, '"' | '\'')) else { return Ok(None) };
        self.at += ahead + 1;
        let long = self.peek(0) == Some(quote) && self.peek(1) == Some(quote);
        if long {
            self.at += 2;
        }
        let mut text = Vec::new();
        loop {
            match self.peek(0) {
                None => return Err(self.unrecognized(from, self.chars.len())),
                Some('\n' | '\r') if !long => return Err(self.unrecognized(from, self.at)),
                Some(c) if c == quote => {
                    if !long {
                        self.at += 1;
                        break;
                    }
                    if self.peek(1) == Some(quote) && self.peek(2) == Some(quote) {
                        self.at += 3;
                        break;
                    }
                    text.push(Piece::Char(c));
                    self.at += 1;
                }
                Some('\\') if raw => {
                    text.push(Piece::Char('\\'));
                    self.at += 1;
                    if let Some(c) = self.peek(0) {
                        text.push(Piece::Char(c));
                        self.at += 1;
                    }
                }
                Some('\\') => {
                    self.at += 1;
                    match self.escape(bytes) {
                        Some(piece) => text.push(piece),
                        None => return Err(self.unrecognized(from, self.at + 1)),
                    }
                }
                Some(c) => {
                    text.push(Piece::Char(c));
                    self.at += 1;
                }
            }
        }
        Ok(Some(Token::Literal(if bytes {
            Literal::Bytes(to_bytes(&text))
        } else {
            Literal::String(to_text(&text))
        })))
    }

    fn escape(&mut self, bytes: bool) -> Option<Piece> {
        let c = self.peek(0)?;
        self.at += 1;
        let code = |this: &mut Self, skip: usize, length: usize, radix: u32| -> Option<u32> {
            let digits: String =
                (skip..skip + length).map(|ahead| this.peek(ahead)).collect::<Option<_>>()?;
            let value = u32::from_str_radix(&digits, radix).ok()?;
            this.at += skip + length;
            Some(value)
        };
        let short = |value: u32| match (bytes, u8::try_from(value)) {
            (true, Ok(byte)) => Some(Piece::Byte(byte)),
            (true, Err(_)) => None,
            (false, _) => char::from_u32(value).map(Piece::Char),
        };
        let plain = match c {
            'a' => '\x07',
            'b' => '\x08',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0b',
            '\\' | '\'' | '"' | '`' | '?' => c,
            'x' | 'X' => return code(self, 0, 2, 16).and_then(short),
            'u' if !bytes => return code(self, 0, 4, 16).and_then(char::from_u32).map(Piece::Char),
            'U' if !bytes => return code(self, 0, 8, 16).and_then(char::from_u32).map(Piece::Char),
            '0'..='3' => {
                self.at -= 1;
                return code(self, 0, 3, 8).and_then(short);
            }
            _ => {
                self.at -= 1;
                return None;
            }
        };
        Some(Piece::Char(plain))
    }
}

enum Piece {
    Char(char),
    Byte(u8),
}

fn to_text(pieces: &[Piece]) -> String {
    let chars = pieces.iter().map(|piece| match piece {
        Piece::Char(c) => *c,
        Piece::Byte(byte) => char::from(*byte),
    });
    chars.collect()
}

fn to_bytes(pieces: &[Piece]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Char(c) => bytes.extend(c.to_string().into_bytes()),
            Piece::Byte(byte) => bytes.push(*byte),
        }
    }
    bytes
}
