//! How things are printed: the one place that writes to standard output and standard error.

mod lines;
mod log;

pub(crate) use lines::Lines;
pub(crate) use log::{LogFormat, log};

use anyhow::{Context, Result};
use clap::ValueEnum;
use kube::core::Status;
use serde::Serialize;
use std::{
    env,
    error::Error,
    io::{self, ErrorKind, IsTerminal, Write},
};

/// A format for machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// JSON
    Json,
    /// YAML
    Yaml,
}

/// Prints a text as it is. A reader who has gone away (`| head`) is not an error.
pub(crate) fn print(text: &str) -> Result<()> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write to standard output"),
    }
}

/// Prints objects: as YAML one document each, as JSON one `List`, which is what `kubectl apply -f -` takes.
pub(crate) fn print_objects<T: Serialize>(objects: &[T], format: Format) -> Result<()> {
    match format {
        Format::Yaml => {
            let mut text = String::new();
            for object in objects {
                text.push_str("---\n");
                text.push_str(&serde_saphyr::to_string(object).context("cannot write the object as YAML")?);
            }
            print(&text)
        }
        Format::Json => {
            let list = serde_json::json!({ "apiVersion": "v1", "kind": "List", "items": objects });
            print(&format!("{list:#}\n"))
        }
    }
}

/// Prints one value for a machine.
pub(crate) fn print_value<T: Serialize>(value: &T, format: Format) -> Result<()> {
    print(&match format {
        Format::Yaml => serde_saphyr::to_string(value).context("cannot write it as YAML")?,
        Format::Json => {
            let text = serde_json::to_string_pretty(value).context("cannot write it as JSON")?;
            format!("{text}\n")
        }
    })
}

/// Lays rows out in columns; the first row is the heading.
pub(crate) fn table<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    columns(&rows.iter().map(|row| row.to_vec()).collect::<Vec<_>>())
}

/// The same, where the number of columns is not known before.
pub(crate) fn columns(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let length = |row: &Vec<String>, column: usize| row.get(column).map_or(0, |cell| cell.chars().count());
    let width = |column| rows.iter().map(|row| length(row, column)).max().unwrap_or_default();
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}", width = *width)).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// Colours for people at a terminal; for everybody else, none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    /// Colours if standard output is a terminal, and nobody asked for none (<https://no-color.org>).
    pub(crate) fn for_standard_output() -> Self {
        Self::at(io::stdout().is_terminal())
    }

    /// The same for what [`note`] tells.
    pub(crate) fn for_standard_error() -> Self {
        Self::at(io::stderr().is_terminal())
    }

    /// No colours, for machines.
    pub(crate) const fn none() -> Self {
        Self { on: false }
    }

    fn at(terminal: bool) -> Self {
        let refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        Self { on: terminal && !refused && !dumb }
    }

    /// Whether there are colours.
    pub(crate) fn is_on(self) -> bool {
        self.on
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.with("1;31", text)
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.with("32", text)
    }

    pub(crate) fn yellow(self, text: &str) -> String {
        self.with("1;33", text)
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Tells people what is going on, apart from what is printed for machines.
pub(crate) fn note(text: &str) {
    // Nobody is left to tell if standard error is closed.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Tells people who wait what is done meanwhile; nobody else.
pub(crate) fn progress(text: &str) {
    if io::stderr().is_terminal() {
        note(text);
    }
}

/// Asks somebody at a terminal, on the line where the answer is typed.
pub(crate) fn ask(question: &str) {
    let mut terminal = io::stderr().lock();
    // Nobody is left to ask if standard error is closed; the answer is no then.
    let _ = terminal.write_all(question.as_bytes()).and_then(|()| terminal.flush());
}

/// How far something is, for people at a terminal.
#[derive(Debug)]
pub(crate) struct Bar {
    on: bool,
    total: usize,
}

impl Bar {
    /// As many characters stand for all of it.
    const WIDTH: usize = 30;

    pub(crate) fn new(total: usize) -> Self {
        Self { on: io::stderr().is_terminal(), total }
    }

    /// Whether anybody sees it.
    pub(crate) fn is_on(&self) -> bool {
        self.on
    }

    pub(crate) fn draw(&self, done: usize) {
        self.write(&format!("\r{}", self.picture(done)));
    }

    /// Takes it away, so that something else can stand there.
    pub(crate) fn clear(&self) {
        self.write("\r\x1b[K");
    }

    pub(crate) fn picture(&self, done: usize) -> String {
        let full = (done * Self::WIDTH).checked_div(self.total).unwrap_or(Self::WIDTH);
        let rest = " ".repeat(Self::WIDTH.saturating_sub(full));
        let full = "=".repeat(full);
        format!("[{full}{rest}] {done}/{}", self.total)
    }

    fn write(&self, text: &str) {
        if self.on {
            write_error(text);
        }
    }
}

/// Nobody is left to tell if standard error is closed.
fn write_error(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// Says what went wrong, with its causes, on one line each.
pub(crate) fn complain(error: &anyhow::Error) {
    // Nobody is left to tell if standard error is closed.
    let _ = io::stderr().lock().write_all(told(error).as_bytes());
}

/// Many errors say their cause themselves: what has been said is not said again.
fn told(error: &anyhow::Error) -> String {
    let mut text = format!("error: {error}\n");
    for cause in error.chain().skip(1).map(words) {
        if !text.contains(&cause) {
            text.push_str(&format!("  because: {cause}\n"));
        }
    }
    text
}

/// What a server refused is told in the server's words; the client's would repeat them as Rust prints them.
fn words(cause: &(dyn Error + 'static)) -> String {
    match status(cause) {
        Some(status) => format!("{} ({})", status.message, status.code),
        None => cause.to_string(),
    }
}

fn status<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a Status> {
    if let Some(status) = cause.downcast_ref::<Box<Status>>() {
        return Some(status);
    }
    let boxed = cause.downcast_ref::<Box<kube::Error>>().map(|error| &**error);
    match boxed.or_else(|| cause.downcast_ref())? {
        kube::Error::Api(status) => Some(status),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Bar, Status, told};
    use allotment_operator::runtime::call::CallError;
    use anyhow::anyhow;

    #[test]
    fn a_cause_is_told_once() {
        let error = anyhow!("no such file").context("cannot read a: no such file").context("cannot start");
        assert_eq!(told(&error), "error: cannot start\n  because: cannot read a: no such file\n");
        let refusal = Status { message: "b is forbidden".to_owned(), code: 403, ..Status::default() };
        let source = Box::new(kube::Error::Api(Box::new(refusal)));
        let error = CallError::Refused { what: "read b".to_owned(), source };
        assert_eq!(told(&error.into()), "error: cannot read b: b is forbidden (403)\n");
    }

    #[test]
    fn a_bar_grows() {
        let bar = Bar { on: false, total: 4 };
        assert_eq!(bar.picture(0), format!("[{}] 0/4", " ".repeat(30)));
        assert_eq!(bar.picture(2), format!("[{}{}] 2/4", "=".repeat(15), " ".repeat(15)));
        assert_eq!(bar.picture(4), format!("[{}] 4/4", "=".repeat(30)));
    }
}
