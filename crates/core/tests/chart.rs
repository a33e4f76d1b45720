//! The chart's copy of the admission policies is up to date. `make generate` writes it anew.

use std::{env, fs, path::Path};

#[test]
fn the_copy_of_the_admission_policies_is_up_to_date() {
    let copy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts/allotment/files/admission.yaml");
    if env::var_os("ALLOTMENT_GENERATE").is_some() {
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::write(&copy, allotment_core::admission::text()).unwrap();
    }
    let found = fs::read_to_string(&copy).unwrap();
    assert!(found == allotment_core::admission::text(), "run `make generate`");
}
