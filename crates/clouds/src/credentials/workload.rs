//! Tokens of a workload identity, which a cloud takes for credentials of its own.

use crate::Answer;
use secrecy::SecretString;

/// The source of signed tokens of one workload identity. A client asks for one when it logs in, and again before its
/// session ends: no token is kept.
pub trait WorkloadToken: Send + Sync {
    /// A token of now.
    fn token(&self) -> Answer<'_, SecretString>;
}
