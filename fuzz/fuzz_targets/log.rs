//! Any bytes as the log of an API server that remembers.
#![no_main]

#[path = "../../crates/apiserver/tests/strange/log.rs"]
mod log;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    log::examine(bytes);
});
