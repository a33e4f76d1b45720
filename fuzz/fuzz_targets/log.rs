//! Any bytes as the log of an API server that remembers.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    allotment_apiserver::strange::log::examine(bytes);
});
