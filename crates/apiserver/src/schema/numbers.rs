//! Numbers: their bounds, and how Go counts and prints.

use super::path::Path;
use super::validation::{Outcome, supported_format};
use super::{Schema, Type};
use crate::error::FieldErrorKind;
use serde_json::{Number, Value};

/// The largest whole number up to which all are told apart as floats.
const EXACT: f64 = 9_007_199_254_740_991.0;

/// Whether a float stands for a whole number.
pub(super) fn is_whole(number: f64) -> bool {
    number.fract() == 0.0 && number.abs() <= EXACT
}

/// Writes floats that stand for whole numbers as Go does: without a fraction, so that they are whole when read again.
pub(crate) fn write_whole(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(write_whole),
        Value::Array(items) => items.iter_mut().for_each(write_whole),
        Value::Number(number) if number.is_f64() => {
            if let Some(float) = number.as_f64().filter(|float| is_whole(*float)) {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "it is whole, and small enough to be exact"
                )]
                let whole = float as i64;
                *value = Value::from(whole);
            }
        }
        _ => {}
    }
}

/// Refuses a number that is out of bounds.
pub(super) fn check(schema: &Schema, path: &Path<'_>, number: &Number, outcome: &mut Outcome) {
    let bounds = &schema.bounds;
    let range = Range { schema, path };
    range.check("Checked", number, outcome);
    if let Some(factor) = &bounds.multiple_of {
        let native = range.check("MultipleOf", factor, outcome);
        check_multiple(path, number, factor, native, outcome);
    }
    let mut above = Outcome::default();
    if let Some(most) = &bounds.maximum {
        let native = range.check("Maximum boundary", most, &mut above);
        let exclusive = bounds.exclusive_maximum;
        let words = if exclusive { "less than" } else { "less than or equal to" };
        Bound { limit: most, native, words }
            .check(path, number, &mut above, |value, limit| value < limit || !exclusive && value == limit);
    }
    if let Some(least) = &bounds.minimum {
        let native = range.check("Minimum boundary", least, outcome);
        let exclusive = bounds.exclusive_minimum;
        let words = if exclusive { "greater than" } else { "greater than or equal to" };
        Bound { limit: least, native, words }
            .check(path, number, outcome, |value, limit| value > limit || !exclusive && value == limit);
    }
    // The real server tells of the minimum first.
    outcome.merge(above);
    outcome.matches += 1;
}

struct Bound<'a> {
    limit: &'a Number,
    /// Whether the limit is of the type of the schema; whole numbers are compared with its whole part then.
    native: bool,
    words: &'a str,
}

impl Bound<'_> {
    fn check(
        &self,
        path: &Path<'_>,
        number: &Number,
        outcome: &mut Outcome,
        holds: impl Fn(Wide, Wide) -> bool,
    ) {
        let limit = self.limit.as_f64().unwrap_or(0.0);
        let (value, limit, shown) = match (number.as_i64(), self.native) {
            (Some(value), true) => {
                let limit = self.limit.as_i64().unwrap_or(limit as i64);
                (Wide::Int(value), Wide::Int(limit), limit.to_string())
            }
            _ => {
                let value = number.as_f64().unwrap_or(0.0);
                (Wide::Float(value), Wide::Float(limit), go_float(limit))
            }
        };
        if !holds(value, limit) {
            let words = format!("{} in body should be {} {shown}", path.to_dotted(), self.words);
            outcome.refuse(FieldErrorKind::Invalid, path, Value::Number(number.clone()), words);
        }
    }
}

/// Two of a kind are compared, never one with the other.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Wide {
    Int(i64),
    Float(f64),
}

fn check_multiple(path: &Path<'_>, number: &Number, factor: &Number, native: bool, outcome: &mut Outcome) {
    let float = factor.as_f64().unwrap_or(0.0);
    let (multiple, positive, shown) = match (number.as_i64(), native) {
        (Some(value), true) => {
            let factor = factor.as_i64().unwrap_or(float as i64);
            (factor > 0 && value % factor == 0, factor > 0, Value::from(factor))
        }
        _ => {
            let value = number.as_f64().unwrap_or(0.0);
            let times = if float < 1.0 { 1.0 / float * value } else { value / float };
            (is_whole(times), float > 0.0, Value::Number(factor.clone()))
        }
    };
    let text = shown_by_go(&shown).unwrap_or_else(|| shown.to_string());
    if !positive {
        let words = format!("factor MultipleOf declared for {} must be positive: {text}", path.to_dotted());
        outcome.refuse(FieldErrorKind::Invalid, path, shown, words);
    } else if !multiple {
        let words = format!("{} in body should be a multiple of {text}", path.to_dotted());
        outcome.refuse(FieldErrorKind::Invalid, path, Value::Number(number.clone()), words);
    }
}

/// Whether a number fits the integer or float that the schema names.
struct Range<'a> {
    schema: &'a Schema,
    path: &'a Path<'a>,
}

impl Range<'_> {
    fn check(&self, what: &str, number: &Number, outcome: &mut Outcome) -> bool {
        let type_ = self.schema.type_.filter(|_| !self.schema.int_or_string);
        let format = supported_format(self.schema);
        let fits = match (type_, format) {
            (Some(Type::Integer), format) => {
                let whole = number.as_i64().or_else(|| {
                    let whole =
                        number.as_f64().filter(|n| n.fract() == 0.0 && n.abs() < 9.223_372_036_854_775e18);
                    whole.map(|n| n as i64)
                });
                whole.is_some_and(|whole| format != Some("int32") || i32::try_from(whole).is_ok())
            }
            (Some(Type::Number), Some("float")) => {
                number.as_f64().is_some_and(|number| number.abs() <= f64::from(f32::MAX))
            }
            _ => true,
        };
        if !fits {
            let type_ = self.schema.type_name();
            let path = self.path.to_dotted();
            outcome.complain(match format {
                Some(format) => {
                    format!("{what} value must be of type {type_} with format {format} in {path}")
                }
                None => format!("{what} value must be of type {type_} (default format) in {path}"),
            });
        }
        fits
    }
}

/// A value as Go prints it, where that is not as JSON writes it.
pub(super) fn shown_by_go(value: &Value) -> Option<String> {
    let shown = go_float(value.as_number().filter(|number| number.is_f64())?.as_f64()?);
    let json = value.to_string();
    (shown != json).then_some(shown)
}

/// A number as Go prints it: large and small ones with an exponent.
pub(super) fn go_float(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return number.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}
