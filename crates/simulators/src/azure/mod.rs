//! Azure.
