//! Which host answers for a service in a region.
//!
//! Taken from the tables in the official Python SDKs, whose versions `clouds/alicloud/requirements.txt` pins; a test compares them. Regions
//! that only Alibaba Cloud itself uses are left out: no account lists them.

use super::rows::Service;
use allotment_core::cleanup::Place;

/// Regions for which an older, central host of a service answers.
const CENTRAL: &[(&str, &[&str], &str)] = &[
    (
        "ecs",
        &["cn-hangzhou", "cn-shanghai-finance-1", "cn-shenzhen-finance-1"],
        "ecs-cn-hangzhou.aliyuncs.com",
    ),
    ("ecs", &["cn-hangzhou-finance", "cn-north-2-gov-1", "cn-beijing-gov-1"], "ecs.aliyuncs.com"),
    (
        "vpc",
        &[
            "cn-hangzhou",
            "cn-hangzhou-finance",
            "cn-shanghai-finance-1",
            "cn-shenzhen-finance-1",
            "cn-north-2-gov-1",
            "cn-beijing-gov-1",
        ],
        "vpc.aliyuncs.com",
    ),
    (
        "slb",
        &[
            "cn-qingdao",
            "cn-beijing",
            "cn-hangzhou",
            "cn-shanghai",
            "cn-shenzhen",
            "cn-hongkong",
            "ap-southeast-1",
            "us-east-1",
            "us-west-1",
            "cn-hangzhou-finance",
            "cn-shanghai-finance-1",
            "cn-shenzhen-finance-1",
            "cn-north-2-gov-1",
            "cn-beijing-gov-1",
        ],
        "slb.aliyuncs.com",
    ),
];

/// The region that is asked for things that belong to no region.
pub(super) const HOME: Place = Place::of("eu-central-1");

/// The host of a service in a region.
pub(super) fn host(service: &Service, place: &Place) -> String {
    let region = if place.is_global() { HOME } else { place.clone() };
    let (name, region) = (service.name, region.as_str());
    if service.global {
        return format!("{name}.aliyuncs.com");
    }
    let central = CENTRAL.iter().find(|(of, regions, _)| *of == name && regions.contains(&region));
    central.map_or_else(|| format!("{name}.{region}.aliyuncs.com"), |(_, _, host)| (*host).to_owned())
}
