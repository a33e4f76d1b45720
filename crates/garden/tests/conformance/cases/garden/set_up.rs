//! What a garden is set up with: Projects, CloudProfiles, ControllerRegistrations, discovery.

use super::{PROFILES, PROJECTS, REGISTRATIONS, confirmed, set};
use crate::script::*;
use serde_json::{Value, json};

pub fn cases() -> Vec<Case> {
    let mut all = projects();
    all.extend(profiles());
    all.extend(registrations());
    all
}

fn projects() -> Vec<Case> {
    let project = |name: &str, spec: Value| json!({ "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Project", "metadata": { "name": name }, "spec": spec });
    let own = format!("{PROJECTS}/{{project}}");
    vec![
        case("garden::project_is_read_and_changed", [
            get(own.clone()),
            merge(own.clone(), json!({ "spec": { "description": "what it is for" } })),
            merge(own.clone(), json!({ "spec": { "description": "what it is for" } })),
            merge(own.clone(), json!({ "metadata": { "labels": { "a": "b" } } })),
            create(PROJECTS, project("{project}", json!({}))).is(409),
            get(format!("{PROJECTS}/none")).is(404),
        ]),
        case("garden::project_names_are_short", [
            create(PROJECTS, project("p{project}", json!({ "namespace": "{ns}-2" }))).is(422),
            create(PROJECTS, project("a--b", json!({}))).is(422),
            create(PROJECTS, project("Big", json!({}))).is(422),
        ]),
        case("garden::project_namespaces_are_its_own", [
            merge(own.clone(), json!({ "spec": { "namespace": "garden-other" } })).is(422),
            merge(own.clone(), json!({ "spec": { "namespace": null } })).is(422),
            create(PROJECTS, project("other", json!({ "namespace": "elsewhere" }))).is(422),
            create(PROJECTS, project("other", json!({ "namespace": "gardener-system-public" }))).is(422),
            create(PROJECTS, project("other", json!({ "namespace": "{ns}" }))).is(403),
        ]),
        case("garden::project_members", [
            merge(own.clone(), json!({ "spec": { "members": [
                { "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "admin", "role": "admin", "roles": ["owner"] },
                { "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "other", "role": "viewer" },
            ] } })),
            merge(own.clone(), json!({ "spec": { "owner": null } })).is(422),
            merge(own.clone(), json!({ "spec": { "createdBy": { "kind": "User", "name": "x", "apiGroup": "rbac.authorization.k8s.io" } } })).is(422),
        ]),
        case("garden::project_deletion_is_confirmed", [
            get("/api/v1/namespaces/{ns}"),
            delete(own.clone()).is(403),
            merge(own.clone(), confirmed()),
            delete(own.clone()),
            get(own.clone()).is(404),
        ]),
        case("garden::project_status", [
            merge(format!("{own}/status"), json!({ "status": { "phase": "Ready", "observedGeneration": 1 } })),
            merge(own.clone(), json!({ "status": { "phase": "Failed" } })),
            merge(format!("{own}/status"), json!({ "status": { "phase": "" } })).is(422),
            get(own.clone()),
        ]),
        case("garden::project_is_applied", [
            apply(own.clone(), "first", project("{project}", json!({ "description": "one" }))),
            apply(own.clone(), "second", project("{project}", json!({ "description": "two" }))).is(409),
            apply_by_force(own, "second", project("{project}", json!({ "description": "two" }))),
        ]),
    ]
}

fn profiles() -> Vec<Case> {
    let name = "{project}-cp";
    let path = format!("{PROFILES}/{name}");
    let profile = || {
        json!({
            "apiVersion": "core.gardener.cloud/v1beta1", "kind": "CloudProfile", "metadata": { "name": name },
            "spec": {
                "type": "aws", "kubernetes": { "versions": [{ "version": "1.35.4" }, { "version": "1.34.7", "expirationDate": "2020-01-01T00:00:00Z" }] },
                "machineImages": [{ "name": "gardenlinux", "versions": [{ "version": "1.0.0" }] }],
                "machineTypes": [{ "name": "m", "cpu": "2", "gpu": "0", "memory": "8Gi" }],
                "regions": [{ "name": "r", "zones": [{ "name": "r-a" }] }],
            },
        })
    };
    let with = |pointer: &str, value: Value| {
        let mut profile = profile();
        set(&mut profile, pointer, value);
        profile
    };
    vec![
        case(
            "garden::cloud_profile_is_created_and_read",
            [
                create(PROFILES, profile()),
                get(path.clone()),
                get(format!("{PROFILES}?fieldSelector=metadata.name={name}")),
                merge(path.clone(), json!({ "spec": { "seedSelector": { "matchLabels": { "a": "b" } } } })),
                create(PROFILES, profile()).is(409),
                delete(path.clone()),
                get(path.clone()).is(404),
            ],
        ),
        case(
            "garden::cloud_profile_is_checked",
            [
                create(PROFILES, with("/spec/type", json!(""))).is(422),
                create(PROFILES, with("/spec/regions", json!([]))).is(422),
                create(PROFILES, with("/spec/machineTypes", json!([]))).is(422),
                create(PROFILES, with("/spec/kubernetes/versions", json!([]))).is(422),
            ],
        ),
        case(
            "garden::cloud_profile_is_applied",
            [apply(path.clone(), "first", profile()), apply(path, "first", profile())],
        ),
        case(
            "garden::cloud_profiles_of_the_landscape",
            [
                get(format!("{PROFILES}/aws")).ignore("/body/metadata/managedFields"),
                get(format!("{PROFILES}/gcp")).ignore("/body/metadata/managedFields"),
            ],
        ),
    ]
}

fn registrations() -> Vec<Case> {
    let name = "{project}-reg";
    let path = format!("{REGISTRATIONS}/{name}");
    let registration = |resources: Value| {
        json!({
            "apiVersion": "core.gardener.cloud/v1beta1", "kind": "ControllerRegistration", "metadata": { "name": name },
            "spec": { "resources": resources },
        })
    };
    vec![
        case(
            "garden::controller_registration_is_created_and_read",
            [
                create(REGISTRATIONS, registration(json!([{ "kind": "Extension", "type": "{project}" }]))),
                get(path.clone()),
                merge(path.clone(), json!({ "metadata": { "labels": { "a": "b" } } })),
                merge(
                    path.clone(),
                    json!({ "spec": { "resources": [{ "kind": "Extension", "type": "{project}" }, { "kind": "Extension", "type": "{project}2" }] } }),
                ),
                delete(path.clone()),
                get(path).is(404),
            ],
        ),
        case(
            "garden::controller_registration_is_checked",
            [
                create(REGISTRATIONS, registration(json!([{ "kind": "Banana", "type": "x" }])))
                    .is(422)
                    // The kinds are listed in the order of a Go map.
                    .ignore("/body/message")
                    .ignore("/body/details/causes/0/message"),
                create(REGISTRATIONS, registration(json!([{ "kind": "Extension" }]))).is(422),
            ],
        ),
    ]
}
