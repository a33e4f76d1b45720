//! Alibaba Cloud.

use super::Table;

pub(super) static TABLE: Table = Table { kinds: &[], counts: &[] };
