//! Attempts of a hostile tenant, as data: who tries what, and which answer that gets.

mod access;
mod brought;
mod marks;
mod rights;
mod shoots;
mod sizes;
mod templates;
mod tenants;

use http::Method;
use serde_json::{Value, json};

/// Names and UIDs of others that the tenant may have come to know.
pub struct Facts {
    pub hostile: String,
    pub victim: String,
    pub platform: String,
    pub operators: String,
    /// The victim's objects.
    pub cluster: Known,
    pub request: Known,
    pub access: Known,
    pub shoot: Known,
    /// The binding of the victim's account.
    pub account: String,
    /// The Secret with the victim's token, inside the victim's cluster.
    pub token: String,
}

/// An object of somebody else.
pub struct Known {
    pub name: String,
    pub uid: String,
}

/// Whose credentials a call has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The tenant, with the role that the chart ships.
    Tenant,
    /// The tenant with `resources: ["*"]` of our groups in its own namespace: /status is among them.
    Wide,
    /// The platform, for what has to be there before.
    Platform,
}

/// A call. In its path and body `{id}` stands for the name of the attempt's own object, `{uid}` and `{uid8}` for the UID, and its
/// first digits, of the object that the first call made.
#[derive(Clone, Debug)]
pub struct Call {
    pub who: Who,
    pub method: Method,
    pub path: String,
    pub body: Value,
    pub headers: Vec<(&'static str, String)>,
}

/// What comes before the attempt, or after it where it was accepted.
#[derive(Clone, Debug)]
pub enum Step {
    /// A call that succeeds.
    Call(Call),
    /// Waits until an object has something at this place.
    Until { path: String, pointer: &'static str },
}

/// The answer to an attempt.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The API server refuses it with this code, and these words are in the sentence.
    Refused(u16, String),
    /// The operators refuse it: a condition of the object has these words in its message, and nothing is granted.
    Reported { path: String, words: String, may_be_granted: bool },
    /// It is accepted, and put right: the object does not have this value at this place for long.
    Corrected { path: String, pointer: &'static str, value: Value },
    /// It is accepted, and one Event on the object has these words. What follows is expected of the object, too.
    Told { path: String, words: String, then: Option<Box<Answer>> },
}

/// One attempt.
pub struct Attempt {
    pub what: &'static str,
    pub before: Vec<Step>,
    pub call: Call,
    pub after: Vec<Step>,
    pub with_policies: Answer,
    pub without: Answer,
}

/// Everything that is tried.
pub fn attempts(facts: &Facts) -> Vec<Attempt> {
    let mut all = tenants::attempts(facts);
    all.extend(shoots::attempts(facts));
    all.extend(marks::attempts(facts));
    all.extend(access::attempts(facts));
    all.extend(templates::attempts(facts));
    all.extend(brought::attempts(facts));
    all.extend(rights::attempts(facts));
    all.extend(sizes::attempts(facts));
    all
}

/// An attempt that is not complete: nobody has said yet which answer it gets.
pub struct Draft {
    what: &'static str,
    before: Vec<Step>,
    call: Call,
    after: Vec<Step>,
}

pub fn attempt(what: &'static str, call: Call) -> Draft {
    Draft { what, before: Vec::new(), call, after: Vec::new() }
}

impl Draft {
    pub fn before(mut self, step: impl Into<Step>) -> Self {
        self.before.push(step.into());
        self
    }

    pub fn after(mut self, step: impl Into<Step>) -> Self {
        self.after.push(step.into());
        self
    }

    pub fn answers(self, with_policies: Answer, without: Answer) -> Attempt {
        let Self { what, before, call, after } = self;
        Attempt { what, before, call, after, with_policies, without }
    }

    /// The object's own path.
    fn path(&self) -> String {
        let path = self.call.path.trim_end_matches("/status");
        if self.call.method == Method::POST { format!("{path}/{{id}}") } else { path.to_owned() }
    }

    pub fn reports(&self, words: &str) -> Answer {
        Answer::Reported { path: self.path(), words: words.to_owned(), may_be_granted: false }
    }

    /// The policies deny it; without them, the object says the same.
    pub fn denied(self, words: &str) -> Attempt {
        let without = self.reports(words);
        self.answers(denies(words), without)
    }

    /// The same about an object that keeps what it has.
    pub fn denied_beside(self, words: &str) -> Attempt {
        let without = Answer::Reported { path: self.path(), words: words.to_owned(), may_be_granted: true };
        self.answers(denies(words), without)
    }

    /// The policies deny it with these words; without them, the object says those.
    pub fn denied_or(self, words: &str, said: &str) -> Attempt {
        let without = self.reports(said);
        self.answers(denies(words), without)
    }

    /// The policies deny it; without them, an Event says the same. The garbage collector may take the object before anybody reads it.
    pub fn denied_or_told(self, words: &str) -> Attempt {
        let without = Answer::Told { path: self.path(), words: words.to_owned(), then: None };
        self.answers(denies(words), without)
    }

    /// The policies deny it with these words; without them, an Event has those, and what was written does not stay.
    pub fn denied_or_told_and(self, words: &str, said: &str, then: Answer) -> Attempt {
        let without = Answer::Told { path: self.path(), words: said.to_owned(), then: Some(Box::new(then)) };
        self.answers(denies(words), without)
    }

    /// No policy is about it: the object says why not.
    pub fn reported(self, words: &str) -> Attempt {
        let said = self.reports(words);
        self.answers(said.clone(), said)
    }

    /// RBAC refuses it.
    pub fn forbidden(self) -> Attempt {
        self.refused(403, "cannot ")
    }

    /// The API server refuses it, whether there are policies or not.
    pub fn refused(self, code: u16, words: &str) -> Attempt {
        let refused = Answer::Refused(code, words.to_owned());
        self.answers(refused.clone(), refused)
    }
}

/// What a policy answers.
pub fn denies(words: &str) -> Answer {
    Answer::Refused(422, words.to_owned())
}

impl From<Call> for Step {
    fn from(call: Call) -> Self {
        Self::Call(call)
    }
}

impl Call {
    pub fn by(mut self, who: Who) -> Self {
        self.who = who;
        self
    }

    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }
}

fn call(method: Method, path: String, body: Value) -> Call {
    Call { who: Who::Tenant, method, path, body, headers: Vec::new() }
}

pub fn get(path: String) -> Call {
    call(Method::GET, path, Value::Null)
}

pub fn create(path: String, body: Value) -> Call {
    call(Method::POST, path, body)
}

pub fn patch(path: String, body: Value) -> Call {
    call(Method::PATCH, path, body).header("content-type", "application/merge-patch+json")
}

pub fn delete(path: String) -> Call {
    call(Method::DELETE, path, Value::Null)
}

pub fn until(path: String, pointer: &'static str) -> Step {
    Step::Until { path, pointer }
}

pub fn clusters(namespace: &str) -> String {
    format!("/apis/operator.kyma-project.io/v1alpha1/namespaces/{namespace}/clusters")
}

pub fn requests(namespace: &str) -> String {
    format!("/apis/control-plane.kyma-project.io/v1alpha1/namespaces/{namespace}/subscriptionrequests")
}

pub fn accesses(namespace: &str) -> String {
    format!("/apis/operator.kyma-project.io/v1alpha1/namespaces/{namespace}/kubeconfigrequests")
}

pub fn secrets(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/secrets")
}

/// The attempt's own object of a collection.
pub fn own(collection: &str) -> String {
    format!("{collection}/{{id}}")
}

/// Puts values at places of an object.
pub fn with(mut object: Value, changes: &[(&str, Value)]) -> Value {
    for (pointer, value) in changes {
        let mut place = &mut object;
        for key in pointer.split('/').skip(1) {
            place = &mut place[key.replace("~1", "/")];
        }
        *place = value.clone();
    }
    object
}

/// A Cluster that is the tenant's by right.
pub fn cluster(changes: &[(&str, Value)]) -> Value {
    let cluster = json!({
        "apiVersion": "operator.kyma-project.io/v1alpha1", "kind": "Cluster", "metadata": { "name": "{id}" },
        "spec": {
            "core": { "purpose": "Production", "region": "eu-central-1" },
            "infrastructure": {
                "provider": "aws", "machineType": "m5.large", "autoScalerMin": 1, "autoScalerMax": 3,
                "numberOfZones": 1, "subscriptionSelector": "globalaccount:intruder",
            },
        },
    });
    with(cluster, changes)
}

/// The same, not looked at by the operator until somebody says so.
pub fn paused(changes: &[(&str, Value)]) -> Value {
    with(cluster(changes), &[("/metadata/annotations/allotment.dev~1pause", json!("true"))])
}

pub fn unpause(namespace: &str) -> Call {
    let marks = json!({ "allotment.dev/pause": null });
    patch(own(&clusters(namespace)), json!({ "metadata": { "annotations": marks } }))
}

/// A request of the tenant's own.
pub fn request(changes: &[(&str, Value)]) -> Value {
    let request = json!({
        "apiVersion": "control-plane.kyma-project.io/v1alpha1", "kind": "SubscriptionRequest",
        "metadata": { "name": "{id}" }, "spec": { "provider": "aws", "subscriptionSelector": "intruder" },
    });
    with(request, changes)
}

/// Access to the tenant's own Cluster.
pub fn access_to(changes: &[(&str, Value)]) -> Value {
    let access = json!({
        "apiVersion": "operator.kyma-project.io/v1alpha1", "kind": "KubeconfigRequest",
        "metadata": { "name": "{id}" }, "spec": { "cluster": super::world::OWN },
    });
    with(access, changes)
}

/// Rules that are allowed everywhere.
pub fn harmless() -> Value {
    json!([{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"] }])
}
