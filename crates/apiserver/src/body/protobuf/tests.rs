use super::*;

/// A field as it is on the wire.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let length = u8::try_from(bytes.len()).unwrap();
    [vec![number << 3 | 2, length], bytes.to_vec()].concat()
}

fn enveloped(version: &str, kind: &str, object: &[u8]) -> Vec<u8> {
    let type_meta = [field(1, version.as_bytes()), field(2, kind.as_bytes())].concat();
    let length = object.len();
    let raw = [vec![2 << 3 | 2, (length % 128) as u8 | 128, (length / 128) as u8], object.to_vec()].concat();
    // kubectl sends the empty encoding and type too.
    [MAGIC.to_vec(), field(1, &type_meta), raw, field(3, b""), field(4, b"")].concat()
}

#[test]
fn a_config_map_is_read() {
    let entry = |key: &[u8], value: &[u8]| [field(1, key), field(2, value)].concat();
    // Go sends every empty text, and a time that is none as an empty message.
    let metadata = [
        field(1, b"name"),
        field(2, b""),
        field(3, b"space"),
        vec![7 << 3, 0],
        field(8, b""),
        field(11, &entry(b"a", b"b")),
        field(11, &field(1, b"empty")),
    ]
    .concat();
    let map = [
        field(1, &metadata),
        field(2, &entry(b"key", b"text")),
        field(3, &entry(b"bytes", &[0, 255])),
        vec![4 << 3, 0],
    ]
    .concat();
    let read = read(&enveloped("v1", "ConfigMap", &map)).unwrap();
    assert_eq!(
        read,
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "name", "namespace": "space", "labels": { "a": "b", "empty": "" } },
            "data": { "key": "text" }, "binaryData": { "bytes": "AP8=" }, "immutable": false,
        })
    );
}

#[test]
fn times_numbers_and_lists_are_read() {
    let seconds = 1_700_000_000_u64;
    let mut varint = vec![1 << 3];
    let mut left = seconds;
    while left > 0 {
        varint.push((left % 128) as u8 | if left > 127 { 128 } else { 0 });
        left /= 128;
    }
    varint.extend([2 << 3, 192, 132, 61]);
    let spec = [field(1, b""), vec![2 << 3, 15], field(4, &varint)].concat();
    let lease = read(&enveloped("coordination.k8s.io/v1", "Lease", &field(2, &spec))).unwrap();
    assert_eq!(lease["spec"]["holderIdentity"], json!(""));
    assert_eq!(lease["spec"]["leaseDurationSeconds"], json!(15));
    assert!(lease["spec"]["renewTime"].as_str().unwrap().starts_with("2023-11-14T22:13:20."), "{lease}");
    let rule = [field(1, b"get"), field(1, b"list"), field(3, b"secrets")].concat();
    let role = [field(2, &rule), field(2, b"")].concat();
    let role = read(&enveloped("rbac.authorization.k8s.io/v1", "Role", &role)).unwrap();
    assert_eq!(role["rules"], json!([{ "verbs": ["get", "list"], "resources": ["secrets"] }, {}]));
}

#[test]
fn what_is_none_is_told() {
    assert!(matches!(read(b"{}"), Err(Unread::Malformed(why)) if why.contains("[107 56 115 0]")));
    assert!(matches!(read(b"k8s\0\x0a\x7f"), Err(Unread::Malformed(why)) if why.contains("EOF")));
    assert!(matches!(read(b"k8s\0\x0b"), Err(Unread::Malformed(why)) if why.contains("wireType")));
    assert!(matches!(read(&enveloped("v1", "Pod", b"")), Err(Unread::UnknownKind(..))));
    assert!(matches!(read(&enveloped("v1", "Secret", b"\x0d")), Err(Unread::Malformed(_))));
}

/// Whatever is sent, there is an answer.
#[test]
fn no_bytes_are_too_strange() {
    let metadata = [field(1, b"name"), field(11, &field(1, b"k"))].concat();
    let good = enveloped("v1", "Secret", &[field(1, &metadata), field(2, b"")].concat());
    for at in 0..good.len() {
        for byte in 0..=255 {
            let mut bytes = good.clone();
            bytes[at] = byte;
            let _ = read(&bytes);
        }
        let _ = read(&good[..at]);
    }
}
