//! How names have to be written: those of objects, and the keys and values of labels. What is wrong with one is said in the
//! words of a real server.

/// A DNS subdomain as RFC 1123 has it, in lower case.
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
/// A DNS label as RFC 1123 has it, in lower case.
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
/// A DNS label as RFC 1035 has it: one that begins with a letter.
const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const KEY: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

const SUBDOMAIN_LIMIT_BYTES: usize = 253;
const LABEL_LIMIT_BYTES: usize = 63;

/// What a limit is said to count. Both count bytes; which word is used depends on the part of a real server that looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// The word for names of objects.
    Characters,
    /// The word for everything else.
    Bytes,
}

impl Unit {
    fn too_long(self, text: &str, limit: usize) -> Option<String> {
        let word = match self {
            Self::Characters => "characters",
            Self::Bytes => "bytes",
        };
        (text.len() > limit).then(|| format!("must be no more than {limit} {word}"))
    }
}

/// What is wrong with a DNS subdomain.
pub fn subdomain_errors(text: &str, unit: Unit) -> Vec<String> {
    let malformed = (!is_subdomain_text(text)).then(|| SUBDOMAIN.to_owned());
    unit.too_long(text, SUBDOMAIN_LIMIT_BYTES).into_iter().chain(malformed).collect()
}

/// What is wrong with a DNS label.
pub fn label_errors(text: &str, unit: Unit) -> Vec<String> {
    let malformed = (!is_label_text(text)).then(|| match is_subdomain_text(text) {
        true => "must not contain dots".to_owned(),
        false => LABEL.to_owned(),
    });
    unit.too_long(text, LABEL_LIMIT_BYTES).into_iter().chain(malformed).collect()
}

/// What is wrong with a DNS label that begins with a letter.
pub(crate) fn label_1035_errors(text: &str) -> Vec<String> {
    let begins_well = text.starts_with(|first: char| first.is_ascii_lowercase());
    let malformed = (!begins_well || !is_label_text(text)).then(|| LABEL_1035.to_owned());
    Unit::Characters.too_long(text, LABEL_LIMIT_BYTES).into_iter().chain(malformed).collect()
}

/// What is wrong with the key of a label, annotation or the like: `name` or `example.com/name`.
pub fn key_errors(key: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let parts: Vec<&str> = key.split('/').collect();
    let name = match parts.as_slice() {
        [name] => *name,
        [prefix, name] => {
            if prefix.is_empty() {
                errors.push("prefix part must be non-empty".to_owned());
            } else {
                let wrong = subdomain_errors(prefix, Unit::Bytes);
                errors.extend(wrong.into_iter().map(|why| format!("prefix part {why}")));
            }
            *name
        }
        _ => {
            return vec![format!(
                "a valid label key {KEY} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    }
    errors.extend(Unit::Bytes.too_long(name, LABEL_LIMIT_BYTES).map(|why| format!("name part {why}")));
    if !is_key_text(name) {
        errors.push(format!("name part {KEY}"));
    }
    errors
}

/// What is wrong with the value of a label.
pub fn value_errors(value: &str) -> Vec<String> {
    let malformed = (!value.is_empty() && !is_key_text(value)).then(|| VALUE.to_owned());
    Unit::Bytes.too_long(value, LABEL_LIMIT_BYTES).into_iter().chain(malformed).collect()
}

/// What is wrong with a name that only has to fit between two slashes of a path.
pub(crate) fn path_segment_errors(name: &str) -> Vec<String> {
    if matches!(name, "." | "..") {
        return vec![format!("may not be '{name}'")];
    }
    let illegal = ["/", "%"].into_iter().filter(|illegal| name.contains(illegal));
    illegal.map(|illegal| format!("may not contain '{illegal}'")).collect()
}

fn is_subdomain_text(text: &str) -> bool {
    text.split('.').all(is_label_text)
}

fn is_label_text(text: &str) -> bool {
    let outer = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    is_made_of(text, outer, b"-")
}

fn is_key_text(text: &str) -> bool {
    is_made_of(text, |byte| byte.is_ascii_alphanumeric(), b"-_.")
}

/// Whether a text begins and ends with such bytes, and has only these and some others between.
fn is_made_of(text: &str, outer: impl Fn(u8) -> bool, inner: &[u8]) -> bool {
    let ends = |byte: Option<u8>| byte.is_some_and(&outer);
    text.bytes().all(|byte| outer(byte) || inner.contains(&byte))
        && ends(text.bytes().next())
        && ends(text.bytes().last())
}
