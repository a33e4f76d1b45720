use super::*;

fn kind() -> StorageKey {
    StorageKey { group: String::new(), plural: "configmaps".to_owned() }
}

fn put(store: &mut Store, name: &str, text: &str) -> Revision {
    store.put(&kind(), Key::new("n", name), Bytes::from(text.to_owned()), Box::default()).revision
}

#[test]
fn a_list_of_the_past_is_what_was_there_then() {
    let mut store = Store::default();
    put(&mut store, "a", "a1");
    let then = put(&mut store, "b", "b1");
    put(&mut store, "a", "a2");
    store.remove(&kind(), &Key::new("n", "b"), Bytes::from("b9")).unwrap();
    put(&mut store, "c", "c1");
    let names_and_texts = |objects: BTreeMap<Key, Arc<Stored>>| -> Vec<(String, String)> {
        let text = |stored: &Stored| String::from_utf8(stored.bytes.to_vec()).unwrap();
        objects.iter().map(|(key, stored)| (key.name.to_string(), text(stored))).collect()
    };
    let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    assert_eq!(names_and_texts(store.list_at(&kind(), then).unwrap()), [pair("a", "a1"), pair("b", "b1")]);
    let now = store.revision();
    assert_eq!(names_and_texts(store.list_at(&kind(), now).unwrap()), [pair("a", "a2"), pair("c", "c1")]);
}

#[test]
fn changes_are_kept_until_they_are_compacted() {
    let mut store = Store::default();
    let first = put(&mut store, "a", "a1");
    put(&mut store, "a", "a2");
    let kinds = |store: &Store, after| -> Vec<ChangeKind> {
        store.changes_after(&kind(), after).unwrap().map(|change| change.kind).collect()
    };
    assert_eq!(kinds(&store, 0), [ChangeKind::Added, ChangeKind::Modified]);
    assert_eq!(kinds(&store, first), [ChangeKind::Modified]);
    store.compact();
    assert!(store.changes_after(&kind(), first).is_err());
    assert_eq!(kinds(&store, store.revision()), []);
}

#[test]
fn the_history_is_bounded() {
    let mut store = Store::default();
    for n in 0..HISTORY_LENGTH + 10 {
        put(&mut store, "a", &n.to_string());
    }
    assert!(store.changes_after(&kind(), 5).is_err());
    assert_eq!(store.changes_after(&kind(), 10).unwrap().count(), HISTORY_LENGTH);
}

#[test]
fn a_namespace_is_a_range() {
    let mut store = Store::default();
    for (namespace, name) in [("a", "x"), ("b", "x"), ("b", "y"), ("c", "x")] {
        store.put(&kind(), Key::new(namespace, name), Bytes::new(), Box::default());
    }
    assert_eq!(store.list(&kind(), Some("b"), None).count(), 2);
    assert_eq!(store.list(&kind(), Some("b"), Some(&Key::new("b", "x"))).count(), 1);
    assert_eq!(store.list(&kind(), None, Some(&Key::new("b", "x"))).count(), 2);
    assert!(store.any_in(&kind(), "c") && !store.any_in(&kind(), "d"));
}

#[test]
fn a_store_that_was_put_back_knows_nothing_older() {
    let mut store = Store::default();
    put(&mut store, "a", "a1");
    let then = put(&mut store, "a", "a2");
    put(&mut store, "a", "a3");
    assert_eq!(store.oldest(), 0);
    let mut back = store.past(then);
    put(&mut back, "b", "b1");
    assert_eq!((back.oldest(), back.revision()), (then, then + 1));
}
