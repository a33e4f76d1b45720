//! How things are printed: the one place that writes to standard output and standard error.

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde::Serialize;
use std::io::{self, ErrorKind, Write};

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
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..COLUMNS).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}", width = *width)).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// Tells people what is going on, apart from what is printed for machines.
pub(crate) fn note(text: &str) {
    // Nobody is left to tell if standard error is closed.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Says what went wrong, with its causes, on one line each.
pub(crate) fn complain(error: &anyhow::Error) {
    let mut text = format!("error: {error}\n");
    for cause in error.chain().skip(1) {
        text.push_str(&format!("  because: {cause}\n"));
    }
    // Nobody is left to tell if standard error is closed.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
