//! Any text as a rule file: the same look at it that the property tests take.
#![no_main]

#[allow(dead_code, reason = "the property tests use more of it")]
#[path = "../../crates/core/tests/rules/examine.rs"]
mod examine;

libfuzzer_sys::fuzz_target!(|text: &str| examine::examine(text));
