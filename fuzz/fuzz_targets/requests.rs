//! Any bytes as requests to the API server.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    allotment_apiserver::strange::requests::examine(bytes);
});
