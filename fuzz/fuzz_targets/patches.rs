//! Any bytes as a patch.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    allotment_apiserver::strange::patches::examine(bytes);
});
