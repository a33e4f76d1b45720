//! Any bytes as a patch.
#![no_main]

#[path = "../../crates/apiserver/tests/strange/patches.rs"]
mod patches;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    patches::examine(bytes);
});
