//! What a CustomResourceDefinition must be to be accepted.

use super::{is_established, versions};
use crate::{
    error::{FieldError, FieldErrorKind},
    meta,
    names::{Unit, label_1035_errors, subdomain_errors},
    schema::{CompiledRules, Schema, Type},
};
use serde_json::{Value, json};

const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] =
    ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
const DEPRECATION_LIMIT_BYTES: usize = 256;
const SELECTABLE_FIELDS_LIMIT: usize = 8;

pub(in crate::kinds) fn validate(new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if old.is_none() {
        name(new, &mut errors);
    }
    spec(new, &mut errors);
    if let Some(old) = old {
        unchanged(new, old, &mut errors);
    }
    stored_versions(new, &mut errors);
    errors
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn invalid(field: impl Into<String>, value: impl Into<Value>, why: &str) -> FieldError {
    FieldError::new(field, FieldErrorKind::Invalid, value, why)
}

fn required(field: impl Into<String>) -> FieldError {
    FieldError::bare(field, FieldErrorKind::Required, "")
}

fn name(new: &Value, errors: &mut Vec<FieldError>) {
    let (name, spec) = (meta::text(new, "name"), &new["spec"]);
    let wanted = format!("{}.{}", text(&spec["names"]["plural"]), text(&spec["group"]));
    if !name.is_empty() && name != wanted {
        errors.push(invalid("metadata.name", name, "must be spec.names.plural+\".\"+spec.group"));
    }
}

fn spec(new: &Value, errors: &mut Vec<FieldError>) {
    let spec = &new["spec"];
    group(text(&spec["group"]), errors);
    match text(&spec["scope"]) {
        "Namespaced" | "Cluster" => {}
        "" => errors.push(required("spec.scope")),
        other => {
            let detail = "supported values: \"Cluster\", \"Namespaced\"";
            errors.push(FieldError::new("spec.scope", FieldErrorKind::NotSupported, other, detail));
        }
    }
    let shared = Shared::of(new);
    for (n, version) in versions(new).enumerate() {
        if version["schema"]["openAPIV3Schema"].is_null() {
            errors.push(required(format!("spec.versions[{n}].schema.openAPIV3Schema")));
        }
    }
    for (n, version) in versions(new).enumerate() {
        let at = format!("spec.versions[{n}]");
        label(&format!("{at}.name"), text(&version["name"]), errors);
        deprecation(&at, version, errors);
        if !shared.schema {
            schema(&format!("{at}.schema.openAPIV3Schema"), version, errors);
        }
        if !shared.columns {
            columns(&at, version, errors);
        }
        if !shared.selectable {
            selectable_fields(&at, version, errors);
        }
    }
    versions_together(new, &shared, errors);
    names(&spec["names"], errors);
    // A real server checks what all versions have in common as if there were no versions, as there once were none.
    if let Some(first) = versions(new).next() {
        if shared.schema {
            schema("spec.validation.openAPIV3Schema", first, errors);
        }
        if shared.columns {
            columns("spec", first, errors);
        }
        if shared.selectable {
            selectable_fields("spec", first, errors);
        }
    }
    conversion(&spec["conversion"], errors);
}

/// What is the same in all versions.
struct Shared {
    schema: bool,
    subresources: bool,
    columns: bool,
    selectable: bool,
}

impl Shared {
    fn of(new: &Value) -> Self {
        let same = |field: &str| {
            let mut all = versions(new).map(|version| &version[field]);
            let first = all.next();
            all.all(|other| Some(other) == first)
        };
        Self {
            schema: same("schema"),
            subresources: same("subresources"),
            columns: same("additionalPrinterColumns"),
            selectable: same("selectableFields"),
        }
    }

    /// The versions as a real server prints them: in the words of its own types, without what they have in common.
    fn print(&self, new: &Value) -> String {
        let print = |version: &Value| {
            let unless =
                |shared: bool, field: &str| if shared { Value::Null } else { version[field].clone() };
            let fields = [
                ("Name", version["name"].clone()),
                ("Served", version["served"].clone()),
                ("Storage", version["storage"].clone()),
                ("Deprecated", json!(version["deprecated"] == true)),
                ("DeprecationWarning", version["deprecationWarning"].clone()),
                ("Schema", unless(self.schema, "schema")),
                ("Subresources", unless(self.subresources, "subresources")),
                ("AdditionalPrinterColumns", unless(self.columns, "additionalPrinterColumns")),
                ("SelectableFields", unless(self.selectable, "selectableFields")),
            ];
            let fields: Vec<String> =
                fields.iter().map(|(name, value)| format!("{name:?}:{value}")).collect();
            format!("{{{}}}", fields.join(","))
        };
        format!("[{}]", versions(new).map(print).collect::<Vec<_>>().join(","))
    }
}

fn group(group: &str, errors: &mut Vec<FieldError>) {
    let wrong = subdomain_errors(group, Unit::Characters);
    if group.is_empty() {
        errors.push(required("spec.group"));
    } else if !wrong.is_empty() {
        errors.push(invalid("spec.group", group, &wrong.join(",")));
    } else if !group.contains('.') {
        errors.push(invalid("spec.group", group, "should be a domain with at least one dot"));
    }
}

/// Refuses a text that is not a DNS label that begins with a letter.
fn label(field: &str, text: &str, errors: &mut Vec<FieldError>) {
    if let Some(why) = label_fault(text) {
        errors.push(invalid(field, text, &why));
    }
}

fn label_fault(text: &str) -> Option<String> {
    let wrong = label_1035_errors(text);
    (!wrong.is_empty()).then(|| wrong.join(","))
}

fn deprecation(at: &str, version: &Value, errors: &mut Vec<FieldError>) {
    let Some(warning) = version["deprecationWarning"].as_str() else { return };
    let mut refuse = |why: &str| errors.push(invalid(format!("{at}.deprecationWarning"), warning, why));
    if version["deprecated"] != true {
        return refuse("can only be set for deprecated versions");
    }
    if warning.len() > DEPRECATION_LIMIT_BYTES {
        refuse("must be <= 256 characters long");
    }
    if warning.is_empty() {
        refuse("must not be an empty string");
    }
    if let Some((index, _)) = warning.char_indices().find(|(_, character)| character.is_control()) {
        refuse(&format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {index}"
        ));
    }
}

fn schema(at: &str, version: &Value, errors: &mut Vec<FieldError>) {
    let schema = &version["schema"]["openAPIV3Schema"];
    if schema.is_null() {
        return;
    }
    let below = |error: FieldError| {
        let field = if error.field.is_empty() { at.to_owned() } else { format!("{at}.{}", error.field) };
        FieldError { field, ..error }
    };
    match Schema::from_json(schema) {
        Ok(schema) => errors.extend(CompiledRules::new(&schema).err().into_iter().flatten().map(below)),
        Err(found) => errors.extend(found.into_iter().map(below)),
    }
}

fn columns(at: &str, version: &Value, errors: &mut Vec<FieldError>) {
    for (n, column) in version["additionalPrinterColumns"].as_array().into_iter().flatten().enumerate() {
        let at = format!("{at}.additionalPrinterColumns[{n}]");
        if text(&column["name"]).is_empty() {
            errors.push(required(format!("{at}.name")));
        }
        let (type_, format) = (text(&column["type"]), text(&column["format"]));
        let types = format!("must be one of {}", COLUMN_TYPES.join(","));
        if type_.is_empty() {
            errors.push(FieldError::bare(format!("{at}.type"), FieldErrorKind::Required, types));
        } else if !COLUMN_TYPES.contains(&type_) {
            errors.push(invalid(format!("{at}.type"), type_, &types));
        }
        if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
            let formats = format!("must be one of {}", COLUMN_FORMATS.join(","));
            errors.push(invalid(format!("{at}.format"), format, &formats));
        }
        if text(&column["jsonPath"]).is_empty() {
            errors.push(required(format!("{at}.JSONPath")));
        }
    }
}

fn selectable_fields(at: &str, version: &Value, errors: &mut Vec<FieldError>) {
    let fields = version["selectableFields"].as_array().map(Vec::as_slice).unwrap_or_default();
    // What is wrong with the schema is told where the schema is.
    let Ok(schema) = Schema::from_json(&version["schema"]["openAPIV3Schema"]) else { return };
    let mut seen: Vec<&str> = Vec::new();
    for (n, field) in fields.iter().enumerate() {
        let (at, path) = (format!("{at}.selectableFields[{n}].jsonPath"), text(&field["jsonPath"]));
        if path.is_empty() {
            errors.push(required(at));
            continue;
        }
        let found = match selected(path, &schema) {
            Ok(found) => found,
            Err(why) => {
                errors.push(invalid(at, path, &format!("is an invalid path: {why}")));
                continue;
            }
        };
        if path.starts_with(".metadata") {
            errors.push(invalid(&at, path, "must not point to fields in metadata"));
        }
        if !matches!(found.type_, Some(Type::String | Type::Boolean | Type::Integer)) {
            let why = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
            errors.push(invalid(&at, path, why));
        }
        match seen.contains(&path) {
            true => errors.push(FieldError::new(at, FieldErrorKind::Duplicate, path, "")),
            false => seen.push(path),
        }
    }
    if seen.len() > SELECTABLE_FIELDS_LIMIT {
        let detail = format!("must have at most {SELECTABLE_FIELDS_LIMIT} items");
        let field = format!("{at}.selectableFields");
        errors.push(FieldError::new(field, FieldErrorKind::TooMany, seen.len(), detail));
    }
}

/// What a path leads to.
fn selected<'a>(path: &str, schema: &'a Schema) -> Result<&'a Schema, String> {
    if path.contains('[') {
        return Err("array notation is not allowed".to_owned());
    }
    let Some(rest) = path.strip_prefix('.') else {
        let first = path.split('.').next().unwrap_or_default();
        return Err(format!("expected [ or . but got: {first}"));
    };
    rest.split('.').try_fold(schema, |schema, name| match name {
        "" => Err("unexpected end of JSON path".to_owned()),
        name => schema.field(name).ok_or_else(|| "does not refer to a valid field".to_owned()),
    })
}

fn versions_together(new: &Value, shared: &Shared, errors: &mut Vec<FieldError>) {
    let mut refuse = |why: &str| {
        let why = format!("{}: {why}", shared.print(new));
        errors.push(FieldError::bare("spec.versions", FieldErrorKind::Invalid, why));
    };
    let mut names: Vec<&str> = versions(new).map(|version| text(&version["name"])).collect();
    let first = names.first().copied().unwrap_or_default();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    if names.len() < count {
        refuse("must contain unique version names");
    }
    if versions(new).filter(|version| version["storage"] == true).count() != 1 {
        refuse("must have exactly one version marked as storage version");
    }
    // The first version is also known as the version.
    if !first.is_empty() {
        label("spec.version", first, errors);
    }
}

fn names(names: &Value, errors: &mut Vec<FieldError>) {
    for field in ["plural", "singular", "kind", "listKind"] {
        if text(&names[field]).is_empty() {
            errors.push(required(format!("spec.names.{field}")));
        }
    }
    for field in ["plural", "singular"] {
        let name = text(&names[field]);
        if !name.is_empty() {
            label(&format!("spec.names.{field}"), name, errors);
        }
    }
    for field in ["kind", "listKind"] {
        let name = text(&names[field]);
        if let Some(why) = label_fault(&name.to_ascii_lowercase()).filter(|_| !name.is_empty()) {
            let why = format!("may have mixed case, but should otherwise match: {why}");
            errors.push(invalid(format!("spec.names.{field}"), name, &why));
        }
    }
    let list = |field: &str, errors: &mut Vec<FieldError>| {
        for (n, name) in names[field].as_array().into_iter().flatten().enumerate() {
            label(&format!("spec.names.{field}[{n}]"), text(name), errors);
        }
    };
    list("shortNames", errors);
    let kind = text(&names["kind"]);
    if !kind.is_empty() && names["kind"] == names["listKind"] {
        errors.push(invalid("spec.names.listKind", kind, "kind and listKind may not be the same"));
    }
    list("categories", errors);
}

fn conversion(conversion: &Value, errors: &mut Vec<FieldError>) {
    match text(&conversion["strategy"]) {
        _ if conversion.is_null() => {}
        "None" | "Webhook" => {}
        "" => errors.push(required("spec.conversion.strategy")),
        other => {
            let detail = "supported values: \"None\", \"Webhook\"";
            let field = "spec.conversion.strategy";
            errors.push(FieldError::new(field, FieldErrorKind::NotSupported, other, detail));
        }
    }
}

/// What objects are kept under cannot change once there may be objects.
fn unchanged(new: &Value, old: &Value, errors: &mut Vec<FieldError>) {
    let established = is_established(old);
    for (path, always) in [
        ("/spec/scope", false),
        ("/spec/names/kind", false),
        ("/spec/group", true),
        ("/spec/names/plural", true),
    ] {
        let value = new.pointer(path).cloned().unwrap_or_default();
        if (always || established) && Some(&value) != old.pointer(path) {
            let field = path.trim_start_matches('/').replace('/', ".");
            errors.push(invalid(field, value, "field is immutable"));
        }
    }
}

fn stored_versions(new: &Value, errors: &mut Vec<FieldError>) {
    const FIELD: &str = "status.storedVersions";
    let stored: Vec<&str> =
        new["status"]["storedVersions"].as_array().into_iter().flatten().map(text).collect();
    if stored.is_empty() {
        return errors.push(invalid(FIELD, Value::Null, "must have at least one stored version"));
    }
    for version in versions(new).filter(|version| version["storage"] == true) {
        let name = text(&version["name"]);
        if !stored.contains(&name) {
            let why = format!("must have the storage version {name}");
            errors.push(invalid(FIELD, json!(stored), &why));
        }
    }
    for (n, name) in stored.iter().enumerate() {
        if !versions(new).any(|version| version["name"] == **name) {
            let why = format!(
                "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
            );
            errors.push(invalid(format!("{FIELD}[{n}]"), *name, &why));
        }
    }
}
