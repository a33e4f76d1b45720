//! Deletions by rows.

use super::{
    Aws,
    error::AwsError,
    list::unsupported,
    rows::{self, Deed, Row, Value},
    xml,
};
use crate::{
    Refusal,
    http::{Access, Response},
};
use allotment_core::cleanup::Item;
use http::{HeaderMap, StatusCode};

impl Aws {
    pub(super) async fn delete_row(&self, item: &Item) -> Result<(), Refusal> {
        let row = rows::row(item.kind.as_str()).ok_or_else(|| unsupported(&item.kind))?;
        let prepared = self.all(row, row.prepare, item).await;
        if let Err(refusal @ (Refusal::Throttled { .. } | Refusal::Transient { .. })) = prepared {
            return Err(refusal);
        }
        let refusal = match self.all(row, row.delete, item).await {
            Ok(()) | Err(Refusal::Gone) => return Ok(()),
            Err(refusal) => refusal,
        };
        if is_protected(&refusal) && !row.unlock.is_empty() {
            self.all(row, row.unlock, item).await?;
            return match self.all(row, row.delete, item).await {
                Err(Refusal::Gone) => Ok(()),
                other => other,
            };
        }
        // The deletion is blocked by what the preparation could not change, so its refusal is the reason.
        match (refusal, prepared) {
            (Refusal::Blocked { .. }, Err(reason @ (Refusal::Denied { .. } | Refusal::Blocked { .. }))) => {
                Err(reason)
            }
            (refusal, _) => Err(refusal),
        }
    }

    /// Makes all calls. The first refusal is returned after the others were tried; a thing that is not there is none.
    async fn all(&self, row: &Row, deeds: &[Deed], item: &Item) -> Result<(), Refusal> {
        let mut first = Ok(());
        for deed in deeds {
            for parameters in calls(deed, item) {
                let call = self.query(row.service, &item.place, deed.action, parameters, Access::Write).await;
                match call.and_then(|answer| is_done(&answer, row, deed)) {
                    Ok(()) => (),
                    Err(Refusal::Gone) if deeds.len() > 1 => (),
                    Err(refusal) => first = first.and(Err(refusal)),
                }
            }
        }
        first
    }
}

/// Whether a person, or a state, keeps an item from being deleted in the usual way.
fn is_protected(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::Locked { .. }) || refusal.code() == "InvalidStateTransition"
}

/// The parameters of each call that a deed stands for; none if an attribute is missing.
pub(super) fn calls(deed: &Deed, item: &Item) -> Vec<Vec<(String, String)>> {
    if deed.only.is_some_and(|(name, value)| item.attribute(name) != Some(value)) {
        return Vec::new();
    }
    let mut calls = vec![Vec::new()];
    for (name, value) in deed.parameters {
        let values: Vec<String> = match value {
            Value::Id => vec![item.id.as_str().to_owned()],
            Value::Name => item.name.iter().cloned().collect(),
            Value::Text(text) => vec![(*text).to_owned()],
            Value::Attribute(name) => item.attribute(name).map(str::to_owned).into_iter().collect(),
            Value::Each(name) => {
                item.attribute(name).into_iter().flat_map(|all| all.split(',')).map(str::to_owned).collect()
            }
        };
        let with = |call: &Vec<(String, String)>, value: &String| {
            let mut call = call.clone();
            call.push(((*name).to_owned(), value.clone()));
            call
        };
        calls = calls.iter().flat_map(|call| values.iter().map(|value| with(call, value))).collect();
    }
    calls
}

/// EC2 answers some deletions with success and a list of what it did not do.
fn is_done(answer: &str, row: &Row, deed: &Deed) -> Result<(), Refusal> {
    let document = xml::parse(answer)?;
    let root = document.root_element();
    if !xml::find(root, "unsuccessful/item/error").is_empty() {
        let (status, headers) = (StatusCode::BAD_REQUEST, HeaderMap::new());
        let response = Response { status, headers, body: answer.to_owned().into() };
        let error = AwsError::read(&response);
        return Err(error.refusal(&response, &format!("{}:{}", row.service.name, deed.action)));
    }
    if xml::text(root, "return").as_deref() == Some("false") {
        let message = format!("{} was answered with success, and says that it did nothing", deed.action);
        return Err(Refusal::Other { code: "NothingDone".to_owned(), message });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use allotment_core::cleanup::{ItemId, KindName, Place};

    #[test]
    fn a_success_with_a_list_of_failures_is_a_refusal() {
        let row = rows::row("VpcEndpoint").unwrap();
        let error = "<error><code>DependencyViolation</code><message>x</message></error>";
        let answer =
            format!("<A><unsuccessful><item>{error}<resourceId>v</resourceId></item></unsuccessful></A>");
        assert!(is_done(&answer, row, &row.delete[0]).is_err());
        assert!(is_done("<A><unsuccessful/></A>", row, &row.delete[0]).is_ok());
        assert!(is_done("<A><return>false</return></A>", row, &row.delete[0]).is_err());
    }

    #[test]
    fn parameters_come_from_the_item() {
        let item = |kind: &'static str| Item::new(KindName::of(kind), Place::of("eu-1"), ItemId::new("x"));
        let table = item("RouteTable").with("associations", "a,b");
        let prepare = &rows::row("RouteTable").unwrap().prepare[0];
        assert_eq!(calls(prepare, &table).len(), 2);
        assert!(calls(prepare, &item("RouteTable")).is_empty(), "nothing to dissolve");
        let rule = item("SecurityGroupRule").with("group", "sg-1").with("egress", "true");
        let delete = rows::row("SecurityGroupRule").unwrap().delete;
        let made: Vec<_> = delete.iter().filter(|deed| !calls(deed, &rule).is_empty()).collect();
        assert_eq!(made.len(), 1);
        assert_eq!(made[0].action, "RevokeSecurityGroupEgress");
    }
}
