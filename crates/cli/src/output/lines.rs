//! Several lines that change where they stand.

use super::write_error;
use std::io::{self, IsTerminal};

/// Lines that are drawn again and again in the same place, for people at a terminal.
#[derive(Debug)]
pub(crate) struct Lines {
    on: bool,
    drawn: usize,
}

impl Lines {
    pub(crate) fn new() -> Self {
        Self { on: io::stderr().is_terminal(), drawn: 0 }
    }

    /// Draws these over those before.
    pub(crate) fn draw(&mut self, lines: &[String]) {
        if !self.on || (self.drawn == 0 && lines.is_empty()) {
            return;
        }
        let width =
            terminal_size::terminal_size_of(io::stderr()).map_or(80, |(width, _)| usize::from(width.0));
        let mut text = self.erased();
        for line in lines {
            // A line that wraps could not be taken away again.
            text.extend(line.chars().take(width.saturating_sub(1)));
            text.push('\n');
        }
        self.drawn = lines.len();
        write_error(&text);
    }

    /// Takes them away, so that something else can stand there.
    pub(crate) fn clear(&mut self) {
        self.draw(&[]);
    }

    fn erased(&self) -> String {
        if self.drawn == 0 { String::new() } else { format!("\x1b[{}A\r\x1b[J", self.drawn) }
    }
}
