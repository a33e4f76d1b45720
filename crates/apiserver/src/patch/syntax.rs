//! Says what is wrong with JSON in the words of a real server.

use crate::apply::go;

/// What is wrong with a text that cannot be read as JSON.
pub(super) fn complaint(body: &[u8]) -> String {
    let mut scanner = Scanner { body, at: 0, depth: 0 };
    let complaint = match scanner.value() {
        Ok(()) => scanner.end(),
        wrong => wrong,
    };
    // The text is well-formed, so it was the depth or a number out of range.
    complaint.err().unwrap_or_else(|| "exceeded max depth".to_owned())
}

/// As deep as we read; beyond it a real server still goes on for a while.
const MAX_DEPTH: usize = 128;

struct Scanner<'a> {
    body: &'a [u8],
    at: usize,
    depth: usize,
}

type Scanned = Result<(), String>;

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.body.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn wrong(&self, context: &str) -> Scanned {
        Err(match self.peek() {
            None => "unexpected end of JSON input".to_owned(),
            Some(byte) => format!("invalid character {} {context}", quote(byte)),
        })
    }

    fn end(&mut self) -> Scanned {
        self.skip_space();
        if self.peek().is_none() { Ok(()) } else { self.wrong("after top-level value") }
    }

    fn value(&mut self) -> Scanned {
        self.skip_space();
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal("true"),
            Some(b'f') => self.literal("false"),
            Some(b'n') => self.literal("null"),
            _ => self.wrong("looking for beginning of value"),
        }
    }

    fn nested(&mut self, scan: impl FnOnce(&mut Self) -> Scanned) -> Scanned {
        if self.depth >= MAX_DEPTH {
            return self.wrong("exceeded max depth");
        }
        self.depth += 1;
        self.at += 1;
        self.skip_space();
        let scanned = scan(self);
        self.depth -= 1;
        scanned
    }

    fn object(&mut self) -> Scanned {
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return self.wrong("looking for beginning of object key string");
            }
            self.string()?;
            self.skip_space();
            if self.peek() != Some(b':') {
                return self.wrong("after object key");
            }
            self.at += 1;
            self.value()?;
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return self.wrong("after object key:value pair"),
            }
        }
        self.at += 1;
        Ok(())
    }

    fn array(&mut self) -> Scanned {
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.value()?;
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return self.wrong("after array element"),
            }
        }
        self.at += 1;
        Ok(())
    }

    fn string(&mut self) -> Scanned {
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                Some(0..=0x1f) | None => return self.wrong("in string literal"),
                Some(_) => self.at += 1,
            }
        }
        self.at += 1;
        Ok(())
    }

    fn escape(&mut self) -> Scanned {
        self.at += 1;
        match self.peek() {
            Some(b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"') => self.at += 1,
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                        return self.wrong("in \\u hexadecimal character escape");
                    }
                    self.at += 1;
                }
            }
            _ => return self.wrong("in string escape code"),
        }
        Ok(())
    }

    fn digits(&mut self, context: &str) -> Scanned {
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return self.wrong(context);
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Scanned {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits("in numeric literal")?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits("after decimal point in numeric literal")?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits("in exponent of numeric literal")?;
        }
        Ok(())
    }

    fn literal(&mut self, word: &str) -> Scanned {
        for expected in word.bytes() {
            if self.peek() != Some(expected) {
                return self.wrong(&format!("in literal {word} (expecting '{}')", char::from(expected)));
            }
            self.at += 1;
        }
        Ok(())
    }
}

fn quote(byte: u8) -> String {
    match byte {
        b'\'' => "'\\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        byte => {
            let quoted = go::quote(&char::from(byte).to_string());
            format!("'{}'", quoted.trim_matches('"'))
        }
    }
}
