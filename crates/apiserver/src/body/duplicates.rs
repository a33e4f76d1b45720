//! Fields that a body has more than once. The last one counts, and a client may want to hear of it.

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::{borrow::Cow, collections::BTreeSet, fmt};

/// The paths of the fields that are there again: `data.k`, `spec.list[0].x`.
pub(crate) fn duplicates(json: &[u8]) -> Vec<String> {
    let (mut path, mut found) = (String::new(), Vec::new());
    let mut reader = serde_json::Deserializer::from_slice(json);
    // What is not JSON was refused before.
    let _ = Walk { path: &mut path, found: &mut found }.deserialize(&mut reader);
    found
}

struct Walk<'a> {
    /// Where we are; cut back after every step.
    path: &'a mut String,
    found: &'a mut Vec<String>,
}

impl Walk<'_> {
    fn again(&mut self) -> Walk<'_> {
        Walk { path: self.path, found: self.found }
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let mut seen: BTreeSet<Cow<'de, str>> = BTreeSet::new();
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            let before = self.path.len();
            if before > 0 {
                self.path.push('.');
            }
            self.path.push_str(&key);
            if seen.insert(key) {
                map.next_value_seed(self.again())?;
            } else {
                self.found.push(self.path.clone());
                map.next_value::<IgnoredAny>()?;
            }
            self.path.truncate(before);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        for index in 0.. {
            let before = self.path.len();
            self.path.push_str(&format!("[{index}]"));
            let more = list.next_element_seed(self.again())?;
            self.path.truncate(before);
            if more.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_again_is_named() {
        let json = br#"{"a":1,"b":[{"c":1,"d":{"e":null}},{"c":"\u0041","c":true}],"f":{"g":1.5,"g":2,"g":3},"a":2}"#;
        assert_eq!(duplicates(json), ["b[1].c", "f.g", "f.g", "a"]);
        assert!(duplicates(b"not json").is_empty());
    }
}
