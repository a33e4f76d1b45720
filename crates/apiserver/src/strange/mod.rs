//! Whatever comes in, there is an answer, and what was there before is not worse for it: the look that the tests here take at
//! what they make up, and the fuzzer (`fuzz/`) at what it makes up.

#![allow(clippy::unwrap_used, reason = "what fails here is what is looked for")]
#![cfg_attr(not(fuzzing), expect(unreachable_pub, reason = "public for the fuzzer only"))]

pub mod log;
pub mod patches;
pub mod requests;
#[cfg(test)]
mod tests;
