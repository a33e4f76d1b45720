//! Deletions by rows.

use super::{
    Alicloud,
    call::Parameters,
    list::unsupported,
    rows::{self, Deed, Row, Value},
};
use crate::{Refusal, http::Access};
use allotment_core::cleanup::Item;

impl Alicloud {
    pub(super) async fn delete_row(&self, item: &Item) -> Result<(), Refusal> {
        let row = rows::find(item.kind.as_str()).ok_or_else(|| unsupported(&item.kind))?;
        let prepared = self.all(row, row.prepare, item).await;
        if let Err(refusal @ (Refusal::Throttled { .. } | Refusal::Transient { .. })) = prepared {
            return Err(refusal);
        }
        let refusal = match self.all(row, row.delete, item).await {
            Ok(()) | Err(Refusal::Gone) => return Ok(()),
            Err(refusal) => refusal,
        };
        // The deletion is refused because of what the preparation could not change, so its refusal is the reason.
        match (refusal, prepared) {
            (
                Refusal::Blocked { .. } | Refusal::Locked { .. },
                Err(reason @ (Refusal::Denied { .. } | Refusal::Blocked { .. })),
            ) => Err(reason),
            (refusal, _) => Err(refusal),
        }
    }

    /// Makes all calls. The first refusal is returned after the others were tried; in a preparation, a thing that is not there is
    /// none.
    async fn all(&self, row: &Row, deeds: &[Deed], item: &Item) -> Result<(), Refusal> {
        let mut first = Ok(());
        for deed in deeds {
            for parameters in calls(deed, item) {
                match self.call(row.service, &item.place, deed.action, parameters, Access::Write).await {
                    Ok(_) => (),
                    Err(Refusal::Gone) if deeds.len() > 1 => (),
                    Err(refusal) => first = first.and(Err(refusal)),
                }
            }
        }
        first
    }
}

/// The parameters of each call that a deed stands for; none if an attribute is missing.
fn calls(deed: &Deed, item: &Item) -> Vec<Parameters> {
    if deed.only.is_some_and(|(name, value)| item.attribute(name) != Some(value)) {
        return Vec::new();
    }
    let mut calls = vec![Vec::new()];
    for (name, value) in deed.parameters {
        let values: Vec<String> = match value {
            Value::Id => vec![item.id.as_str().to_owned()],
            Value::IdInList => vec![serde_json::json!([item.id.as_str()]).to_string()],
            Value::Region => vec![item.place.as_str().to_owned()],
            Value::Text(text) => vec![(*text).to_owned()],
            Value::Attribute(name) => item.attribute(name).map(str::to_owned).into_iter().collect(),
            Value::Each(name) => {
                item.attribute(name).into_iter().flat_map(|all| all.split(',')).map(str::to_owned).collect()
            }
        };
        let with = |call: &Parameters, value: &String| {
            let mut call = call.clone();
            call.push(((*name).to_owned(), value.clone()));
            call
        };
        calls = calls.iter().flat_map(|call| values.iter().map(|value| with(call, value))).collect();
    }
    calls
}

#[cfg(test)]
mod tests {
    use super::*;
    use allotment_core::cleanup::{ItemId, KindName, Place};

    #[test]
    fn parameters_come_from_the_item() {
        let item = |kind: &'static str| Item::new(KindName::of(kind), Place::of("eu-1"), ItemId::new("x"));
        let of = |item: &Item| {
            let row = rows::find(item.kind.as_str()).unwrap();
            let deeds = row.prepare.iter().chain(row.delete);
            deeds
                .flat_map(|deed| calls(deed, item).into_iter().map(|call| (deed.action, call)))
                .collect::<Vec<_>>()
        };
        assert_eq!(of(&item("RouteTable").with("associations", "a,b")).len(), 3);
        assert_eq!(of(&item("RouteTable")).len(), 1, "nothing to dissolve");
        let rule = item("SecurityGroupRule").with("group", "sg-1").with("direction", "egress");
        assert_eq!(of(&rule)[0].0, "RevokeSecurityGroupEgress");
        let pair = of(&item("KeyPair")).remove(0).1;
        assert_eq!(pair, [("KeyPairNames".to_owned(), "[\"x\"]".to_owned())]);
        let free = of(&item("ElasticIp"));
        assert_eq!(free.iter().map(|(action, _)| *action).collect::<Vec<_>>(), ["ReleaseEipAddress"]);
        let used = item("ElasticIp").with("holder", "ngw-1").with("variety", "Nat").with("protected", "true");
        assert_eq!(of(&used).len(), 3);
    }
}
