//! Partitions: separate clouds with the same API.

use allotment_core::cleanup::Place;

/// A partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Partition {
    /// The commercial one.
    #[default]
    Aws,
    /// China.
    China,
    /// The government of the United States.
    UsGov,
}

impl Partition {
    /// The partition of a region.
    pub fn of(region: &str) -> Self {
        if region.starts_with("cn-") {
            Self::China
        } else if region.starts_with("us-gov-") {
            Self::UsGov
        } else {
            Self::Aws
        }
    }

    /// The partition with this name in ARNs.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "aws" => Some(Self::Aws),
            "aws-cn" => Some(Self::China),
            "aws-us-gov" => Some(Self::UsGov),
            _ => None,
        }
    }

    /// The region that is always enabled: STS, IAM and the list of regions are asked here.
    pub const fn home(self) -> Place {
        Place::of(match self {
            Self::Aws => "us-east-1",
            Self::China => "cn-north-1",
            Self::UsGov => "us-gov-west-1",
        })
    }

    /// The host of a service in a region; of IAM, which has one for the partition, in any.
    pub fn host(self, service: &str, region: &Place) -> String {
        match (service, self) {
            ("iam", Self::Aws) => "iam.amazonaws.com".to_owned(),
            ("iam", Self::China) => "iam.cn-north-1.amazonaws.com.cn".to_owned(),
            ("iam", Self::UsGov) => "iam.us-gov.amazonaws.com".to_owned(),
            (_, Self::China) => format!("{service}.{region}.amazonaws.com.cn"),
            (_, Self::Aws | Self::UsGov) => format!("{service}.{region}.amazonaws.com"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_follow_the_partition() {
        let cases = [
            ("eu-central-1", "ec2", "ec2.eu-central-1.amazonaws.com"),
            ("cn-north-1", "ec2", "ec2.cn-north-1.amazonaws.com.cn"),
            ("us-gov-east-1", "sts", "sts.us-gov-east-1.amazonaws.com"),
            ("us-gov-east-1", "iam", "iam.us-gov.amazonaws.com"),
            ("eu-central-1", "iam", "iam.amazonaws.com"),
            ("cn-northwest-1", "iam", "iam.cn-north-1.amazonaws.com.cn"),
        ];
        for (region, service, host) in cases {
            assert_eq!(Partition::of(region).host(service, &Place::new(region)), host);
        }
        assert_eq!(Partition::of("cn-northwest-1").home().as_str(), "cn-north-1");
    }
}
