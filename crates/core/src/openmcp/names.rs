//! Names that follow from other names, alike with upstream's: consumers look for them.

use sha3::{
    Shake128,
    digest::{ExtendableOutput, Update, XofReader},
};

/// The digits of base32, as RFC 4648 has them, in lower case.
const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// The longest value of a label.
const LONGEST_LABEL: usize = 63;

/// The longest name of an AccessRequest that its Secret's name has in full.
const LONGEST_IN_SECRET: usize = 52;

/// Eight characters that stand for a name of several parts.
///
/// ```
/// use allotment_core::openmcp::names::hash8;
///
/// assert_eq!(hash8(&["default", "example"]), "fphxsdub");
/// ```
pub fn hash8(parts: &[&str]) -> String {
    let bytes: [u8; 5] = shake(parts);
    let number = bytes.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    (0..8).rev().map(|place| char::from(DIGITS[(number >> (place * 5) & 31) as usize])).collect()
}

/// A UUID that stands for a name of several parts.
///
/// ```
/// use allotment_core::openmcp::names::uuid8;
///
/// assert_eq!(uuid8(&["default", "example"]), "2bcf790e-815e-8ea9-857b-15be429583a5");
/// ```
pub fn uuid8(parts: &[&str]) -> String {
    let mut bytes: [u8; 16] = shake(parts);
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]].join("-")
}

/// A name that is no longer than this: too long a one ends in its hash. `most` is more than 10.
pub fn shorten(name: &str, most: usize) -> String {
    if name.len() <= most {
        return name.to_owned();
    }
    let end = (0..=most.saturating_sub(10)).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
    let begin = name[..end].trim_end_matches(['-', '.']);
    format!("{begin}--{}", hash8(&[name]))
}

/// What goes into a label of a name: label values are shorter than names.
pub fn label_value(name: &str) -> String {
    shorten(name, LONGEST_LABEL)
}

/// The name of the Shoot of a Cluster.
pub fn shoot_name(namespace: &str, name: &str) -> String {
    format!("s-{}", hash8(&[namespace, name]))
}

/// The name of the ClusterProfile that a ProviderConfig makes.
pub fn profile_name(environment: &str, provider: &str, config: &str) -> String {
    format!("{environment}.{provider}.{config}")
}

/// The name of the Secret of an AccessRequest.
pub fn secret_name(request: &str) -> String {
    format!("{}.kubeconfig", shorten(request, LONGEST_IN_SECRET))
}

fn shake<const N: usize>(parts: &[&str]) -> [u8; N] {
    let mut shake = Shake128::default();
    shake.update(parts.join("/").as_bytes());
    let mut bytes = [0; N];
    shake.finalize_xof().read(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_upstream() {
        assert_eq!(hash8(&["example"]), "epgccknc");
        assert_eq!(hash8(&["default", "example"]), "fphxsdub");
        assert_eq!(uuid8(&["default", "example"]), "2bcf790e-815e-8ea9-857b-15be429583a5");
        assert_eq!(shorten("abcd.efghijklmnopqrstuvwxyz", 15), "abcd--35l3mtbw");
        assert_eq!(shorten("short", 15), "short");
        assert_eq!(secret_name("my-access"), "my-access.kubeconfig");
        assert_eq!(profile_name("prod", "gardener", "aws"), "prod.gardener.aws");
    }

    #[test]
    fn g20_names_that_are_too_long_for_a_label_are_shortened() {
        let long = "x".repeat(200);
        assert_eq!(label_value(&long).len(), 63);
        assert_ne!(label_value(&long), label_value(&"x".repeat(201)));
        assert!(secret_name(&long).len() <= 63);
    }
}
