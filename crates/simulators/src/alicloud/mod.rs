//! Alibaba Cloud.
