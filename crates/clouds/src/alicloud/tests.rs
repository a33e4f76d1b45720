//! The rows against the table of the core.

use super::{hosts, rows, witness};
use allotment_core::cleanup::{Cloud as CloudName, Place, kinds::table};
use std::collections::BTreeSet;

#[test]
fn the_client_has_a_row_for_every_kind_of_the_table_and_no_other() {
    let mine: Vec<&str> = rows::rows().map(|row| row.kind).collect();
    let theirs: BTreeSet<&str> = table(CloudName::Alicloud).kinds.iter().map(|kind| kind.name).collect();
    assert_eq!(mine.iter().copied().collect::<BTreeSet<_>>(), theirs);
    assert_eq!(mine.len(), theirs.len(), "a kind has two rows");
}

#[test]
fn the_table_names_the_permission_of_every_call_and_no_other() {
    for row in rows::rows() {
        let kind = table(CloudName::Alicloud).kind(row.kind).unwrap();
        let permission = |action: &str| format!("{}:{action}", row.service.name);
        let mut list = BTreeSet::from([permission(row.list)]);
        let holder = row.under.as_ref().map(|under| rows::find(under.kind).unwrap());
        list.extend(holder.map(|holder| permission(holder.list)));
        if !row.service.everywhere {
            list.insert(permission("DescribeRegions"));
        }
        assert_eq!(
            kind.list.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>(),
            list,
            "{}",
            row.kind
        );
        let delete: BTreeSet<_> =
            row.prepare.iter().chain(row.delete).map(|deed| permission(deed.action)).collect();
        assert_eq!(
            kind.delete.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>(),
            delete,
            "{}",
            row.kind
        );
        assert_eq!(kind.prepare.is_empty(), row.prepare.is_empty(), "{}", row.kind);
    }
}

#[test]
fn the_client_counts_what_the_table_expects_and_nothing_else() {
    let mine: BTreeSet<&str> = witness::REGIONAL.iter().map(|seen| seen.count).collect();
    let theirs: BTreeSet<&str> = table(CloudName::Alicloud).counts.iter().map(|count| count.name).collect();
    assert_eq!(mine, theirs);
}

#[test]
fn hosts_are_regional_but_for_those_that_are_older() {
    let host = |service, region: &'static str| hosts::host(service, &Place::of(region));
    assert_eq!(host(&rows::ECS, "eu-central-1"), "ecs.eu-central-1.aliyuncs.com");
    assert_eq!(host(&rows::ECS, "cn-hangzhou"), "ecs-cn-hangzhou.aliyuncs.com");
    assert_eq!(host(&rows::VPC, "cn-hangzhou"), "vpc.aliyuncs.com");
    assert_eq!(host(&rows::SLB, "us-east-1"), "slb.aliyuncs.com");
    assert_eq!(host(&rows::NLB, "us-east-1"), "nlb.us-east-1.aliyuncs.com");
    assert_eq!(host(&rows::ROS, "us-east-1"), "ros.aliyuncs.com");
    assert_eq!(host(&rows::STS, "global"), "sts.aliyuncs.com");
}
