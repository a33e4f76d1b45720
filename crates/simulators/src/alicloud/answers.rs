//! Answers: lists with pages, errors.

use super::{
    account::{Resource, State},
    parameters::Parameters,
    specs::{Paging, Spec},
};
use crate::server::Reply;
use bytes::Bytes;
use http::{Response, StatusCode, header};
use jiff::{Timestamp, fmt::rfc2822};
use serde_json::{Map, Value, json};

/// The end of a call.
pub(super) type Outcome = Result<Value, Refused>;

/// A refused call.
#[derive(Debug)]
pub(super) struct Refused {
    status: u16,
    code: String,
    message: String,
    /// The time of the cloud, if it is not ours.
    now: Option<Timestamp>,
}

impl Refused {
    /// At the time of the cloud.
    pub(super) fn at(self, now: Timestamp) -> Self {
        Self { now: Some(now), ..self }
    }
}

pub(super) fn refuse(status: u16, code: &str, message: &str) -> Refused {
    Refused { status, code: code.to_owned(), message: message.to_owned(), now: None }
}

pub(super) fn not_found(kind: &str) -> Refused {
    refuse(404, &format!("Invalid{kind}Id.NotFound"), "The specified resource does not exist.")
}

pub(super) fn reply(outcome: Outcome) -> Reply {
    let (status, mut body, now) = match outcome {
        Ok(body) => (200, body, None),
        Err(Refused { status, code, message, now }) => {
            (status, json!({ "Code": code, "Message": message, "HostId": "localhost" }), now)
        }
    };
    let now = now.unwrap_or_else(Timestamp::now);
    if let Some(fields) = body.as_object_mut() {
        fields.insert("RequestId".to_owned(), json!("5A2CFF0E-5718-45B5-9D4D-70B3FF3898A1"));
    }
    let mut response = Response::new(Bytes::from(body.to_string()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json;charset=utf-8"));
    let date = rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&now).ok();
    if let Some(date) = date.and_then(|date| date.parse().ok()) {
        headers.insert(header::DATE, date);
    }
    response.into()
}

pub(super) fn identity(account: &str) -> Value {
    json!({
        "AccountId": account,
        "Arn": format!("acs:ram::{account}:user/gardener"),
        "IdentityType": "RAMUser",
        "PrincipalId": "21600000000000",
        "UserId": "21600000000000",
    })
}

pub(super) fn regions(state: &State, service: &str) -> Value {
    let is_missing = |region: &&String| state.missing.contains(&(service.to_owned(), (*region).clone()));
    let regions: Vec<Value> = state
        .regions
        .iter()
        .filter(|region| !is_missing(region))
        .map(|region| json!({ "RegionId": region, "LocalName": region, "RegionEndpoint": format!("{service}.{region}.aliyuncs.com") }))
        .collect();
    match service {
        "nlb" | "ros" => json!({ "Regions": regions }),
        _ => json!({ "Regions": { "Region": regions } }),
    }
}

/// One page of a list.
pub(super) fn list(state: &State, spec: &Spec, parameters: &Parameters) -> Outcome {
    let Some(region) = parameters.region() else {
        return Err(refuse(
            400,
            "MissingParameter",
            "The input parameter RegionId is mandatory for this request.",
        ));
    };
    let needed = spec.needs.map(|name| (name, parameters.get(name)));
    if let Some((name, None)) = needed {
        let message = format!("The input parameter {name} is mandatory for this request.");
        return Err(refuse(400, "MissingParameter", &message));
    }
    let is_shown = |resource: &&Resource| {
        resource.kind == spec.kind
            && resource.region == region
            && needed.is_none_or(|(name, value)| resource.text(name) == value.unwrap_or_default())
            && is_asked_for(state, spec, parameters, resource)
    };
    let shown: Vec<&Value> =
        state.resources.iter().filter(is_shown).map(|resource| &resource.fields).collect();
    let total = shown.len();
    let mut answer = Map::new();
    let (from, size) = match spec.pages {
        Paging::Numbered => {
            let size = parameters.number("PageSize").unwrap_or(10).min(state.page);
            let page = parameters.number("PageNumber").unwrap_or(1).max(1);
            answer.insert("PageSize".to_owned(), json!(size));
            answer.insert("PageNumber".to_owned(), json!(page));
            answer.insert("TotalCount".to_owned(), json!(total));
            ((page - 1) * size, size)
        }
        Paging::Token(parameter) => {
            let size = parameters.number(parameter).unwrap_or(10).min(state.page);
            let from = match parameters.get("NextToken").map(position) {
                Some(None) => {
                    return Err(refuse(400, "InvalidParameter.NextToken", "The token is not valid."));
                }
                Some(Some(from)) => from,
                None => 0,
            };
            if from + size < total {
                answer.insert("NextToken".to_owned(), json!(token(from + size)));
            }
            (from, size)
        }
        Paging::Whole => (0, total),
    };
    let page: Vec<Value> = shown.into_iter().skip(from).take(size).cloned().collect();
    let (outer, inner) = spec.path.split_once('/').unwrap_or((spec.path, ""));
    let items = if inner.is_empty() { json!(page) } else { json!({ inner: page }) };
    answer.insert(outer.to_owned(), items);
    Ok(Value::Object(answer))
}

/// Tokens have characters that have to be encoded.
fn token(from: usize) -> String {
    format!("AAA+{from}/bbb=")
}

fn position(token: &str) -> Option<usize> {
    token.strip_prefix("AAA+")?.strip_suffix("/bbb=")?.parse().ok()
}

/// The filters that lists of the cloud apply, also without being asked.
fn is_asked_for(state: &State, spec: &Spec, parameters: &Parameters, resource: &Resource) -> bool {
    let is_managed = resource.is("ServiceManaged");
    let wants_managed =
        parameters.get("ServiceManaged").is_none_or(|value| value.eq_ignore_ascii_case("true") == is_managed);
    let is_hidden = state.faults.hidden.contains(&resource.id) && !parameters.is("ServiceManaged");
    let by_kind = match spec.kind {
        "Image" => parameters.get("Status") == Some("ALL") || resource.text("Status") == "Available",
        "CapacityReservation" => {
            parameters.get("Status") == Some("All")
                || !["Pending", "Released"].contains(&resource.text("Status"))
        }
        "RouteEntry" => parameters.get("RouteEntryType").is_none_or(|wanted| resource.text("Type") == wanted),
        _ => true,
    };
    wants_managed && !is_hidden && by_kind
}
