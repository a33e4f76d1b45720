//! Rules (stub).
use super::Schema;
use crate::error::FieldError;
use serde_json::Value;
pub(super) mod field_path {
    pub fn resolve(_: &str, _: &super::Schema) -> Result<String, String> {
        Ok(String::new())
    }
}
/// Rules.
pub struct CompiledRules;
impl CompiledRules {
    /// New.
    pub fn new(_: &Schema) -> Result<Self, Vec<FieldError>> {
        Ok(Self)
    }
    pub(super) fn for_part(_: &Schema) -> Result<Self, Vec<FieldError>> {
        Ok(Self)
    }
    /// x
    pub fn is_empty(&self) -> bool {
        true
    }
    /// x
    pub fn check(&self, _: &Value, _: Option<&Value>) -> Vec<FieldError> {
        vec![]
    }
    pub(super) fn check_at(&self, _: &str, _: &Value, _: Option<&Value>) -> Vec<FieldError> {
        vec![]
    }
}
pub(super) fn registration_errors(_: &str, _: &Schema) -> Vec<FieldError> {
    vec![]
}
