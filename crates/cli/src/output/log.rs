//! The log of long-running commands, on standard error: lines for people, or one JSON object per line.

use super::Paint;
use clap::ValueEnum;
use serde_json::{Map, Value};
use std::{
    env,
    error::Error,
    fmt::{self, Debug},
    io,
};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    EnvFilter,
    fmt::{
        FmtContext, FormatEvent, FormatFields,
        format::Writer,
        time::{FormatTime, SystemTime},
    },
    registry::LookupSpan,
};

/// Names the format where no argument does: pods are easier given variables.
const VARIABLE: &str = "ALLOTMENT_LOG_FORMAT";

/// What a line of the log looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people
    #[default]
    Text,
    /// One JSON object per line
    Json,
}

impl LogFormat {
    /// As an argument or the environment has it. What the environment has may be meant for something else, so it refuses nothing.
    pub(crate) fn find(given: Option<Self>) -> Self {
        let named = || env::var(VARIABLE).ok().and_then(|name| Self::from_str(&name, true).ok());
        given.or_else(named).unwrap_or_default()
    }
}

/// Logs to standard error, as `RUST_LOG` says, else from this level on.
pub(crate) fn log(default: &str, format: LogFormat) {
    let directives = env::var("RUST_LOG").ok().filter(|text| !text.trim().is_empty());
    let builder = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(with_client_off(directives.as_deref().unwrap_or(default))))
        .with_writer(io::stderr);
    // Somebody else may have set it up already.
    let _ = match format {
        LogFormat::Text => builder.with_ansi(Paint::for_standard_error().is_on()).try_init(),
        LogFormat::Json => builder.event_format(Json).try_init(),
    };
}

/// The client's own line about a connection that failed does not say which; ours do.
fn with_client_off(directives: &str) -> String {
    match directives.contains("kube_client") {
        true => directives.to_owned(),
        false => format!("{directives},kube_client::client::builder=off"),
    }
}

/// Every field of an event beside its time, level, target and message.
struct Json;

impl<S, N> FormatEvent<S, N> for Json
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut time = String::new();
        SystemTime.format_time(&mut Writer::new(&mut time))?;
        let mut fields = Fields(Map::new());
        for (name, value) in [
            ("timestamp", time),
            ("level", event.metadata().level().to_string()),
            ("target", event.metadata().target().to_owned()),
        ] {
            fields.0.insert(name.to_owned(), value.into());
        }
        event.record(&mut fields);
        writeln!(writer, "{}", Value::Object(fields.0))
    }
}

struct Fields(Map<String, Value>);

impl Fields {
    fn put(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // A field with `%` comes here too, and is printed by its Display.
        self.put(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.put(field, value.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_is_one_object_with_the_fields_of_the_event() {
        let written = Written::default();
        let writer = written.clone();
        let subscriber =
            tracing_subscriber::fmt().event_format(Json).with_writer(move || writer.clone()).finish();
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(controller = "cluster", object = %"Cluster a/b", failures = 3, "cannot\nfinish");
        });
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        let line: Value = serde_json::from_str(&text).unwrap();
        assert!(line["timestamp"].as_str().unwrap().ends_with('Z'), "{line}");
        for (name, value) in [
            ("level", Value::from("WARN")),
            ("controller", "cluster".into()),
            ("object", "Cluster a/b".into()),
            ("failures", 3.into()),
            ("message", "cannot\nfinish".into()),
        ] {
            assert_eq!(line[name], value, "{line}");
        }
    }

    #[test]
    fn a_level_alone_does_not_turn_on_what_repeats_our_lines() {
        assert_eq!(with_client_off("debug"), "debug,kube_client::client::builder=off");
        assert_eq!(with_client_off("info,kube_client=debug"), "info,kube_client=debug");
    }
}
