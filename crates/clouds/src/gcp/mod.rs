//! Google Cloud.
