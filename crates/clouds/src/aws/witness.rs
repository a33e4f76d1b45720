//! The second source: tags, network interfaces, networks, and IAM by name.

use super::{
    Aws,
    iam::{INSTANCE_PROFILE, ROLE},
    rows::EC2,
    xml,
};
use crate::{Refusal, http::Access};
use allotment_core::cleanup::{Count, CountName, Place};
use std::collections::{BTreeMap, BTreeSet};

/// A count: its call, the path to the elements, the path to the id, and a value that excludes an element.
struct Source {
    count: &'static str,
    action: &'static str,
    with: &'static [(&'static str, &'static str)],
    items: &'static str,
    id: &'static str,
    except: Option<(&'static str, &'static str)>,
}

const REGIONAL: &[Source] = &[
    Source {
        count: "tagged-resources",
        action: "DescribeTags",
        with: &[],
        items: "tagSet/item",
        id: "resourceId",
        except: None,
    },
    Source {
        count: "network-interfaces",
        action: "DescribeNetworkInterfaces",
        with: &[("IncludeManagedResources", "true")],
        items: "networkInterfaceSet/item",
        id: "networkInterfaceId",
        except: None,
    },
    Source {
        count: "own-vpcs",
        action: "DescribeVpcs",
        with: &[],
        items: "vpcSet/item",
        id: "vpcId",
        except: Some(("isDefault", "true")),
    },
];

impl Aws {
    pub(super) async fn count(&self, place: &Place) -> BTreeMap<CountName, Count> {
        let mut counts = BTreeMap::new();
        if place.is_global() {
            counts.insert(CountName::of("roles"), counted(self.named(ROLE).await));
            counts.insert(CountName::of("instance-profiles"), counted(self.named(INSTANCE_PROFILE).await));
            return counts;
        }
        for source in REGIONAL {
            counts.insert(CountName::of(source.count), counted(self.seen(place, source).await));
        }
        counts
    }

    async fn seen(&self, place: &Place, source: &Source) -> Result<BTreeSet<String>, Refusal> {
        let mut ids = BTreeSet::new();
        let mut token: Option<String> = None;
        let mut tokens = BTreeSet::new();
        loop {
            let mut parameters: Vec<_> =
                source.with.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            parameters.push(("MaxResults".to_owned(), "1000".to_owned()));
            parameters.extend(token.clone().map(|token| ("NextToken".to_owned(), token)));
            let answer = self.query(&EC2, place, source.action, parameters, Access::Read).await?;
            let document = xml::parse(&answer)?;
            for node in xml::find(document.root_element(), source.items) {
                let is_excluded = source
                    .except
                    .is_some_and(|(path, value)| xml::text(node, path).as_deref() == Some(value));
                if !is_excluded {
                    ids.insert(
                        xml::text(node, source.id).ok_or_else(|| super::call::incomplete(source.action))?,
                    );
                }
            }
            let Some(next) = xml::text(document.root_element(), "nextToken") else { return Ok(ids) };
            if !tokens.insert(next.clone()) {
                return Err(super::call::incomplete(source.action));
            }
            token = Some(next);
        }
    }

    async fn named(&self, kind: &'static str) -> Result<BTreeSet<String>, Refusal> {
        let mut ids = BTreeSet::new();
        for name in self.names(kind)? {
            ids.extend(self.get(kind, &name).await?.map(|item| item.id.as_str().to_owned()));
        }
        Ok(ids)
    }
}

/// A refused count is never zero.
fn counted(seen: Result<BTreeSet<String>, Refusal>) -> Count {
    match seen {
        Ok(ids) => Count::Seen { ids },
        Err(refusal) => {
            Count::Refused { because: refusal.to_string(), missing: refusal.missing().map(str::to_owned) }
        }
    }
}
