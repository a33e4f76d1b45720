//! Service accounts.

use super::{
    Call,
    reply::{Answer, refused},
    state::Project,
};
use http::Method;
use serde_json::{Value, json};

pub(crate) fn answer(project: &mut Project, call: &Call<'_>) -> Answer {
    match (&call.method, call.path.as_slice()) {
        (&Method::GET, ["serviceAccounts"]) => {
            let after = call.query("pageToken").unwrap_or_default();
            let all: Vec<_> = project.accounts.iter().filter(|(email, _)| email.as_str() > after).collect();
            let size = project.controls.page;
            let page: Vec<&Value> = all.iter().take(size).map(|(_, account)| *account).collect();
            let mut body = json!({ "accounts": page });
            if let Some((email, _)) = all.get(size.saturating_sub(1)).filter(|_| all.len() > size) {
                body["nextPageToken"] = json!(email);
            }
            Answer::ok(body)
        }
        (&Method::POST, ["serviceAccounts"]) => {
            let Some(name) = call.body.get("accountId").and_then(Value::as_str) else {
                return refused(400, "badRequest", "accountId is required");
            };
            let email = format!("{name}@{}.iam.gserviceaccount.com", project.id);
            Answer::ok(project.add_account(&email, name))
        }
        (&Method::DELETE, ["serviceAccounts", email]) => match project.accounts.remove(*email) {
            Some(_) => Answer::ok(json!({})),
            None => refused(404, "notFound", "Unknown service account"),
        },
        _ => refused(404, "notFound", "there is no such method"),
    }
}
