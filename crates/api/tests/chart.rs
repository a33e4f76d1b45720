//! What stands twice, in the chart and in the Dockerfile, stands there alike. `make generate` writes the chart's CRDs anew.

use allotment_api::crds;
use std::{collections::BTreeMap, env, fs, path::Path};

/// The chart installs what tenants and the platform write. The openMCP kinds come with openMCP and with `allotment openmcp init`.
const IN_THE_CHART: [&str; 3] =
    ["operator.kyma-project.io", "control-plane.kyma-project.io", allotment_api::allotment::GROUP];

#[test]
fn copies_are_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts/allotment/crds");
    let wanted: BTreeMap<String, String> = crds::all()
        .into_iter()
        .filter(|crd| IN_THE_CHART.contains(&crd.spec.group.as_str()))
        .map(|crd| {
            (format!("{}.yaml", crd.metadata.name.clone().unwrap()), serde_saphyr::to_string(&crd).unwrap())
        })
        .collect();
    if env::var_os("ALLOTMENT_GENERATE").is_some() {
        fs::remove_dir_all(&folder).unwrap();
        fs::create_dir_all(&folder).unwrap();
        wanted.iter().for_each(|(name, text)| fs::write(folder.join(name), text).unwrap());
    }
    let found: BTreeMap<String, String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap()))
        .collect();
    let names = |files: &BTreeMap<String, String>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&found), names(&wanted), "run `make generate`");
    for (name, text) in &wanted {
        assert!(
            found[name] == *text,
            "charts/allotment/crds/{name} is not what crates/api says: run `make generate`"
        );
    }
}

/// What is written as YAML must be read as the same by others: long texts are folded on the way.
#[test]
fn yaml_of_the_definitions_reads_back_as_the_same() {
    for crd in crds::all() {
        let text = serde_saphyr::to_string(&crd).unwrap();
        let back: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
        assert_eq!(back, serde_json::to_value(&crd).unwrap());
    }
}

#[test]
fn the_image_is_built_with_our_toolchain() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let toolchain = fs::read_to_string(root.join("rust-toolchain.toml")).unwrap();
    let version = toolchain.split('"').nth(1).unwrap();
    let dockerfile = fs::read_to_string(root.join("Dockerfile")).unwrap();
    assert!(
        dockerfile.contains(&format!("ARG RUST_VERSION={version}\n")),
        "the Dockerfile has another version than {version}"
    );
}
