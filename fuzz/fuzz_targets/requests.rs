//! Any bytes as requests to the API server.
#![no_main]

#[path = "../../crates/apiserver/tests/strange/requests.rs"]
mod requests;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    requests::examine(bytes);
});
