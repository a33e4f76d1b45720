//! Whether what is rendered is what is there.
//!
//! Two things are compared. A digest, kept on the Shoot, of what was last applied: it shows what is no longer asked for, and
//! what the narrow types do not have. And the fields that we know, one by one: they show what somebody changed since.

use allotment_api::{
    gardener::Shoot,
    names::{annotation, label},
};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Lists that hold others' entries too, which come and go without us. Ours are named by [`annotation::OWN_ENTRIES`].
const SHARED_LISTS: [&str; 4] =
    ["/spec/accessRestrictions", "/spec/dns/providers", "/spec/extensions", "/spec/resources"];

/// Puts the digest on a rendered Shoot.
pub(crate) fn stamp(shoot: &mut Value) {
    let digest = digest(shoot);
    shoot["metadata"]["annotations"][annotation::APPLIED] = Value::String(digest);
}

/// Whether applying this would change nothing.
pub(crate) fn is_applied(stamped: &Value, live: &Shoot) -> bool {
    // What is rendered is made of fields that the narrow types have, and of some more.
    let Ok(mut known) = serde_json::from_value::<Shoot>(stamped.clone()) else { return false };
    let carries = |shoot: &Shoot| {
        shoot.metadata.labels.as_ref().is_some_and(|labels| labels.contains_key(label::CLUSTER_UID))
    };
    // An older version did not write it: it comes with the next write that has another reason.
    if let (false, Some(labels)) = (carries(live), &mut known.metadata.labels) {
        labels.remove(label::CLUSTER_UID);
    }
    let (Ok(known), Ok(live)) = (serde_json::to_value(known), serde_json::to_value(live)) else {
        return false;
    };
    ["metadata/labels", "metadata/annotations", "spec"].iter().all(|part| {
        let pointer = format!("/{part}");
        match (known.pointer(&pointer), live.pointer(&pointer)) {
            (Some(known), Some(live)) => is_within(&pointer, known, live),
            (known, _) => known.is_none(),
        }
    })
}

/// Of what only we decide. Versions, and others' entries in lists, change without us and are compared one by one.
fn digest(shoot: &Value) -> String {
    let mut ours = shoot.clone();
    remove(&mut ours, "/metadata/uid");
    remove(&mut ours, &format!("/metadata/labels/{}", label::CLUSTER_UID.replace('/', "~1")));
    remove(&mut ours, "/spec/kubernetes/version");
    SHARED_LISTS.iter().for_each(|list| remove(&mut ours, list));
    let workers = ours.pointer_mut("/spec/provider/workers").and_then(Value::as_array_mut);
    for worker in workers.into_iter().flatten() {
        remove(worker, "/machine/image/version");
    }
    let mut hash = Sha256::new();
    feed(&mut hash, &ours);
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn remove(value: &mut Value, pointer: &str) {
    let Some((parent, key)) = pointer.rsplit_once('/') else { return };
    if let Some(members) = value.pointer_mut(parent).and_then(Value::as_object_mut) {
        members.remove(&key.replace("~1", "/"));
    }
}

/// Members in the order of their names, whatever order the map keeps.
fn feed(hash: &mut Sha256, value: &Value) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| name.as_str());
            hash.update(b"{");
            for (name, member) in members {
                hash.update(name.len().to_be_bytes());
                hash.update(name);
                feed(hash, member);
            }
            hash.update(b"}");
        }
        Value::Array(items) => {
            hash.update(b"[");
            items.iter().for_each(|item| feed(hash, item));
            hash.update(b"]");
        }
        other => {
            let text = other.to_string();
            hash.update(text.len().to_be_bytes());
            hash.update(text);
        }
    }
}

fn is_within(path: &str, part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => part.iter().all(|(key, part)| {
            whole.get(key).is_some_and(|whole| is_within(&format!("{path}/{key}"), part, whole))
        }),
        // Worker pools go by their name, and somebody else may have added one.
        (Value::Array(part), Value::Array(whole)) if path == "/spec/provider/workers" => {
            part.iter().all(|pool| {
                let same = whole.iter().find(|other| other["name"] == pool["name"]);
                same.is_some_and(|other| is_within("", pool, other))
            })
        }
        (Value::Array(part), Value::Array(whole)) => {
            part.len() == whole.len()
                && part.iter().zip(whole).all(|(part, whole)| is_within(path, part, whole))
        }
        (part, whole) => part == whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rendered() -> Value {
        let mut shoot = json!({
            "apiVersion": "core.gardener.cloud/v1beta1",
            "kind": "Shoot",
            "metadata": {"name": "a", "labels": {"l": "1"}, "annotations": {"a": "1"}},
            "spec": {
                "region": "r",
                "kubernetes": {"version": "1.35.4"},
                "extensions": [{"type": "e"}],
                "provider": {"type": "aws", "workersSettings": {"sshAccess": {"enabled": false}}, "workers": [
                    {"name": "one", "minimum": 1, "maximum": 2, "machine": {"type": "m", "image": {"name": "i", "version": "1"}}},
                ]},
            },
        });
        stamp(&mut shoot);
        shoot
    }

    fn live(change: impl FnOnce(&mut Value)) -> Shoot {
        let mut live = rendered();
        live["metadata"]["uid"] = json!("u");
        live["spec"]["purpose"] = json!("evaluation");
        live["spec"]["provider"]["workers"][0]["maxSurge"] = json!(1);
        change(&mut live);
        serde_json::from_value(live).unwrap()
    }

    #[test]
    fn what_was_applied_and_defaulted_is_applied() {
        assert!(is_applied(&rendered(), &live(|_| ())));
    }

    #[test]
    fn the_clusters_uid_is_no_reason_to_write_unless_it_is_another_one() {
        let mut with = rendered();
        with["metadata"]["labels"][label::CLUSTER_UID] = json!("u");
        assert!(is_applied(&with, &live(|_| ())));
        let of = |uid: &str| live(|live| live["metadata"]["labels"][label::CLUSTER_UID] = json!(uid));
        assert!(is_applied(&with, &of("u")));
        assert!(!is_applied(&with, &of("another")));
    }

    #[test]
    fn what_somebody_changed_is_noticed() {
        for (pointer, value) in [
            ("/spec/provider/workers/0/maximum", json!(9)),
            ("/spec/kubernetes/version", json!("1.35.3")),
            ("/spec/extensions", json!([])),
            ("/metadata/labels/l", json!("2")),
            ("/spec/provider/workers/0/machine/image/version", json!("0")),
        ] {
            let changed = live(|live| *live.pointer_mut(pointer).unwrap() = value);
            assert!(!is_applied(&rendered(), &changed), "{pointer}");
        }
    }

    #[test]
    fn what_others_add_is_not_ours() {
        let pool = json!({"name": "two", "minimum": 1, "maximum": 1, "machine": {"type": "m"}});
        let more = live(|live| live["spec"]["provider"]["workers"].as_array_mut().unwrap().insert(0, pool));
        assert!(is_applied(&rendered(), &more));
    }

    #[test]
    fn what_is_no_longer_asked_for_is_noticed() {
        let mut fewer = rendered();
        remove(&mut fewer, "/spec/provider/workersSettings");
        remove(&mut fewer, &format!("/metadata/annotations/{}", annotation::APPLIED.replace('/', "~1")));
        fewer["metadata"]["annotations"] = json!({"a": "1"});
        stamp(&mut fewer);
        assert!(!is_applied(&fewer, &live(|_| ())));
    }

    #[test]
    fn the_digest_is_of_what_only_we_decide() {
        let digest_of = |change: fn(&mut Value)| {
            let mut shoot = rendered();
            shoot["metadata"]["annotations"] = json!({"a": "1"});
            change(&mut shoot);
            digest(&shoot)
        };
        let plain = digest_of(|_| ());
        assert_eq!(plain, digest_of(|shoot| shoot["metadata"]["uid"] = json!("u")));
        assert_eq!(plain, digest_of(|shoot| shoot["spec"]["kubernetes"]["version"] = json!("1.36.0")));
        assert_eq!(plain, digest_of(|shoot| shoot["spec"]["extensions"] = json!([])));
        assert_eq!(plain, digest_of(|shoot| shoot["metadata"]["labels"][label::CLUSTER_UID] = json!("u")));
        assert_ne!(plain, digest_of(|shoot| shoot["spec"]["region"] = json!("s")));
    }
}
