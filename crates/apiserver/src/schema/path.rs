//! Where in an object we are; a string only when somebody has to read it.

use std::fmt::Write;

/// A step from the root of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Root,
    Prefix(&'a str),
    Field(&'a str),
    Key(&'a str),
    Index(usize),
}

impl<'a> Path<'a> {
    /// The object itself.
    pub(super) const ROOT: Path<'static> = Path { parent: None, step: Step::Root };

    /// A place that is given as text.
    pub(super) fn at(prefix: &'a str) -> Path<'a> {
        let step = if prefix.is_empty() { Step::Root } else { Step::Prefix(prefix) };
        Path { parent: None, step }
    }

    pub(super) fn field(&'a self, name: &'a str) -> Path<'a> {
        Path { parent: Some(self), step: Step::Field(name) }
    }

    pub(super) fn key(&'a self, name: &'a str) -> Path<'a> {
        Path { parent: Some(self), step: Step::Key(name) }
    }

    pub(super) fn index(&'a self, index: usize) -> Path<'a> {
        Path { parent: Some(self), step: Step::Index(index) }
    }

    pub(super) fn is_root(&self) -> bool {
        matches!(self.step, Step::Root)
    }

    /// As most refusals name it: `spec.labels[app]`, `spec.items[0].name`.
    pub(super) fn to_field(self) -> String {
        match self.is_root() {
            // What Go prints for no path at all.
            true => "<nil>".to_owned(),
            false => self.text(false),
        }
    }

    /// As value validation names it: keys of maps look like fields, the root has no name.
    pub(super) fn to_dotted(self) -> String {
        self.text(true)
    }

    fn text(self, dotted: bool) -> String {
        let mut steps = vec![self.step];
        let mut at = self.parent;
        while let Some(path) = at {
            steps.push(path.step);
            at = path.parent;
        }
        let mut text = String::new();
        for step in steps.into_iter().rev() {
            match step {
                Step::Root => {}
                Step::Prefix(name) => text.push_str(name),
                Step::Key(name) if !dotted => {
                    let _ = write!(text, "[{name}]");
                }
                Step::Field(name) | Step::Key(name) => {
                    if !text.is_empty() {
                        text.push('.');
                    }
                    text.push_str(name);
                }
                Step::Index(index) => {
                    let _ = write!(text, "[{index}]");
                }
            }
        }
        text
    }
}
