//! What a case is: a name, and requests to send one after the other.

use serde_json::Value;
use std::fmt;

/// One behaviour, tried on both servers.
#[derive(Clone, Debug)]
pub struct Case {
    /// `subject::what_it_shows`.
    pub name: String,
    /// In this order.
    pub steps: Vec<Step>,
}

impl Case {
    /// Whether it is for gardens, and not for any API server.
    pub fn in_garden(&self) -> bool {
        self.name.starts_with("garden::")
    }

    /// Says something more about its last step.
    pub fn map_last(mut self, change: impl FnOnce(Step) -> Step) -> Self {
        if let Some(step) = self.steps.pop() {
            self.steps.push(change(step));
        }
        self
    }
}

/// A case. `{ns}` in its paths and bodies is a namespace of its own; without it, the case gets none.
pub fn case(name: impl Into<String>, steps: impl IntoIterator<Item = Step>) -> Case {
    Case { name: name.into(), steps: steps.into_iter().collect() }
}

/// A request, or looking at a watch, and what is done with the answer.
#[derive(Clone, Debug)]
pub struct Step {
    pub action: Action,
    /// The code that the real server gives; without it, any that means success.
    pub code: Option<u16>,
    /// Names for parts of the answer, by JSON pointer, that later steps use as `{name}`.
    pub saves: Vec<(String, String)>,
    /// What is not compared, by JSON pointer into the record.
    pub ignored: Vec<String>,
    /// Whether a real server answers in the order of a Go map.
    pub any_order: bool,
    /// Where the embedded server is known to differ, and why.
    pub differences: Vec<Difference>,
}

/// A difference that is there on purpose.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// A JSON pointer into the record; what is below it may differ.
    pub place: String,
    pub why: &'static str,
}

#[derive(Clone, Debug)]
pub enum Action {
    Call(Call),
    /// Sends the request again and again until the answer is as wanted.
    Wait(Call, Vec<Until>),
    /// Opens a watch and goes on.
    Open(&'static str, Call),
    /// Reads this many events of an open watch, and whatever else comes at once.
    Collect(&'static str, usize),
}

/// What is waited for. JSON pointers are into the body.
#[derive(Clone, Debug, PartialEq)]
pub enum Until {
    Code(u16),
    Is(&'static str, Value),
    There(&'static str),
    Gone(&'static str),
    Count(&'static str, usize),
    /// Its message has this in it.
    Says(&'static str),
    Warned,
}

#[derive(Clone, Debug)]
pub struct Call {
    pub method: &'static str,
    /// With the query.
    pub path: String,
    pub body: Content,
    pub content_type: &'static str,
    pub accept: &'static str,
    pub who: Who,
}

#[derive(Clone, Debug)]
pub enum Content {
    Nothing,
    Json(Value),
    Text(String),
}

/// Who sends a request.
#[derive(Clone, Debug)]
pub enum Who {
    Admin,
    /// The admin, in the name of somebody else.
    As(String, Vec<String>),
    /// Whoever has the token.
    Token(String),
    Nobody,
}

pub const JSON: &str = "application/json";
pub const JSON_PATCH: &str = "application/json-patch+json";
pub const MERGE_PATCH: &str = "application/merge-patch+json";
pub const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";
pub const APPLY_PATCH: &str = "application/apply-patch+yaml";

fn call(method: &'static str, path: impl Into<String>, body: Content, content_type: &'static str) -> Step {
    let path = path.into();
    Step {
        action: Action::Call(Call { method, path, body, content_type, accept: JSON, who: Who::Admin }),
        code: None,
        saves: Vec::new(),
        ignored: Vec::new(),
        any_order: false,
        differences: Vec::new(),
    }
}

pub fn get(path: impl Into<String>) -> Step {
    call("GET", path, Content::Nothing, JSON)
}

pub fn create(path: impl Into<String>, object: Value) -> Step {
    call("POST", path, Content::Json(object), JSON)
}

pub fn update(path: impl Into<String>, object: Value) -> Step {
    call("PUT", path, Content::Json(object), JSON)
}

pub fn merge(path: impl Into<String>, patch: Value) -> Step {
    call("PATCH", path, Content::Json(patch), MERGE_PATCH)
}

pub fn json_patch(path: impl Into<String>, patch: Value) -> Step {
    call("PATCH", path, Content::Json(patch), JSON_PATCH)
}

pub fn strategic(path: impl Into<String>, patch: Value) -> Step {
    call("PATCH", path, Content::Json(patch), STRATEGIC_PATCH)
}

/// Server-side apply; the path may have a query already.
pub fn apply(path: impl Into<String>, manager: &str, object: Value) -> Step {
    let path = path.into();
    let sign = if path.contains('?') { '&' } else { '?' };
    call("PATCH", format!("{path}{sign}fieldManager={manager}"), Content::Json(object), APPLY_PATCH)
}

/// Server-side apply that takes what others own.
pub fn apply_by_force(path: impl Into<String>, manager: &str, object: Value) -> Step {
    apply(path, &format!("{manager}&force=true"), object)
}

pub fn delete(path: impl Into<String>) -> Step {
    call("DELETE", path, Content::Nothing, JSON)
}

/// Delete with `DeleteOptions`.
pub fn delete_with(path: impl Into<String>, options: Value) -> Step {
    call("DELETE", path, Content::Json(options), JSON)
}

/// A request that is not well-formed, or too large.
pub fn raw(
    method: &'static str,
    path: impl Into<String>,
    content_type: &'static str,
    text: impl Into<String>,
) -> Step {
    call(method, path, Content::Text(text.into()), content_type)
}

/// Opens a watch; `path` is that of the list, with its query.
pub fn watch(id: &'static str, path: &str) -> Step {
    let sign = if path.contains('?') { '&' } else { '?' };
    let mut step = get(format!("{path}{sign}watch=true"));
    if let Action::Call(call) = step.action {
        step.action = Action::Open(id, call);
    }
    step
}

/// Reads this many events of a watch.
pub fn collect(id: &'static str, events: usize) -> Step {
    Step { action: Action::Collect(id, events), ..get("") }
}

impl Step {
    /// The code that the real server gives.
    pub fn is(self, code: u16) -> Self {
        Self { code: Some(code), ..self }
    }

    /// Sends it until the answer has this code.
    pub fn until_code(self, code: u16) -> Self {
        self.is(code).until(Until::Code(code))
    }

    /// Sends it until the answer is as wanted; several conditions have to hold at once.
    pub fn until(mut self, wanted: Until) -> Self {
        self.action = match self.action {
            Action::Call(call) => Action::Wait(call, vec![wanted]),
            Action::Wait(call, mut all) => {
                all.push(wanted);
                Action::Wait(call, all)
            }
            other => other,
        };
        self
    }

    pub fn save(mut self, name: &str, pointer: &str) -> Self {
        self.saves.push((name.to_owned(), pointer.to_owned()));
        self
    }

    /// Does not compare this; for what no two servers have in common.
    pub fn ignore(mut self, place: &str) -> Self {
        self.ignored.push(place.to_owned());
        self
    }

    /// A real server tells what is wrong, or what there is, in the order of a Go map: another one each time.
    pub fn in_any_order(mut self) -> Self {
        self.any_order = true;
        self
    }

    /// The embedded server differs here on purpose.
    #[allow(dead_code, reason = "what differs on purpose comes and goes")]
    pub fn differs(mut self, place: &str, why: &'static str) -> Self {
        self.differences.push(Difference { place: place.to_owned(), why });
        self
    }

    pub fn by(mut self, who: Who) -> Self {
        if let Some(call) = self.call_mut() {
            call.who = who;
        }
        self
    }

    pub fn by_user(self, name: &str) -> Self {
        self.by(Who::As(name.to_owned(), Vec::new()))
    }

    pub fn by_token(self, token: &str) -> Self {
        self.by(Who::Token(token.to_owned()))
    }

    pub fn accept(mut self, media_type: &'static str) -> Self {
        if let Some(call) = self.call_mut() {
            call.accept = media_type;
        }
        self
    }

    pub fn call(&self) -> Option<&Call> {
        match &self.action {
            Action::Call(call) | Action::Wait(call, _) | Action::Open(_, call) => Some(call),
            Action::Collect(..) => None,
        }
    }

    fn call_mut(&mut self) -> Option<&mut Call> {
        match &mut self.action {
            Action::Call(call) | Action::Wait(call, _) | Action::Open(_, call) => Some(call),
            Action::Collect(..) => None,
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.action {
            Action::Call(call) => write!(f, "{call}"),
            Action::Wait(call, _) => write!(f, "{call} (waiting)"),
            Action::Open(id, call) => write!(f, "{call} (watch {id})"),
            Action::Collect(id, count) => write!(f, "{count} events of watch {id}"),
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)?;
        match &self.who {
            Who::Admin => {}
            Who::As(user, groups) if groups.is_empty() => write!(f, " as {user}")?,
            Who::As(user, groups) => write!(f, " as {user} of {groups:?}")?,
            Who::Token(_) => write!(f, " with a token")?,
            Who::Nobody => write!(f, " without credentials")?,
        }
        match &self.body {
            Content::Nothing => Ok(()),
            Content::Json(value) => write!(f, " {}", short(&value.to_string())),
            Content::Text(text) => write!(f, " {}", short(text)),
        }
    }
}

/// At most 400 characters of it.
pub fn short(text: &str) -> String {
    match text.char_indices().nth(400) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}
