//! Rules in CEL: our own parser, checker, evaluator and walk over schema and object; the functions of Kubernetes'
//! libraries come from `kube-cel`.

mod admission;
mod ast;
mod authorizer;
mod checker;
mod collections;
mod compile;
mod escape;
mod eval;
pub(super) mod field_path;
mod format;
mod functions;
mod lexer;
mod library;
mod parser;
mod signatures;
#[cfg(test)]
mod tests;
mod texts;
mod times;
mod types;
mod value;
mod walk;

use super::Schema;
use super::correlate::Correlated;
use super::path::Path;
use crate::error::FieldError;
pub(crate) use admission::{
    Budget, Environment, Inputs, OutOfBudget, Program, Programs, ResourceCheck, Session, Wanted,
};
use compile::{Compiler, Tree};
use serde_json::Value;
use std::sync::Arc;
use walk::{Place, Walk};

/// The rules of a schema, compiled.
#[derive(Clone, Debug, Default)]
pub(crate) struct CompiledRules {
    schema: Arc<Schema>,
    tree: Option<Arc<Tree>>,
}

impl CompiledRules {
    /// Compiles all rules of the schema of a kind, or refuses those that make no sense. Paths are relative to the
    /// schema.
    pub(crate) fn new(schema: &Schema) -> Result<Self, Vec<FieldError>> {
        Self::compiled("", schema, true)
    }

    /// For a part of an object, such as a default.
    pub(super) fn for_part(schema: &Schema) -> Result<Self, Vec<FieldError>> {
        Self::compiled("", schema, schema.embedded_resource)
    }

    fn compiled(prefix: &str, schema: &Schema, resource: bool) -> Result<Self, Vec<FieldError>> {
        let mut compiler = Compiler { errors: Vec::new() };
        let tree = compiler.tree(prefix, schema, resource, None).map(Arc::new);
        match compiler.errors.is_empty() {
            true => Ok(Self { schema: Arc::new(schema.clone()), tree }),
            false => Err(compiler.errors),
        }
    }

    /// Whether there are no rules.
    pub(crate) fn is_empty(&self) -> bool {
        self.tree.is_none()
    }

    /// What the rules say of an object, and of its change.
    ///
    /// A rule about a value that did not change is not enforced, unless it is about the change.
    pub(crate) fn check(&self, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let pair = old.map(|old| Correlated { new, old, schema: &self.schema });
        self.run("", new, old, pair)
    }

    /// As [`CompiledRules::check`] for a part of an object, without tolerance.
    pub(super) fn check_at(&self, prefix: &str, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
        self.run(prefix, new, old, None)
    }

    fn run(
        &self,
        prefix: &str,
        new: &Value,
        old: Option<&Value>,
        pair: Option<Correlated<'_>>,
    ) -> Vec<FieldError> {
        let Some(tree) = &self.tree else { return Vec::new() };
        let mut walk = Walk::default();
        let place = Place { schema: &self.schema, current: pair, nearest: None, is_root: true };
        walk.visit(tree, &Path::at(prefix), new, old, place);
        walk.errors
    }
}

/// What is wrong with the rules of a schema, with paths below `prefix`.
pub(super) fn registration_errors(prefix: &str, schema: &Schema) -> Vec<FieldError> {
    CompiledRules::compiled(prefix, schema, true).err().unwrap_or_default()
}
