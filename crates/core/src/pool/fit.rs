//! Whether an account is for whoever asks, by the labels of its entry alone.

use super::{Entry, LabelKeys, wanted::tenant_of};
use std::collections::BTreeMap;

/// Whether an account is for the tenant that a selector names, by the labels of its entry. What a request's status says of its
/// account and its tenant proves nothing: it may be forged. `labels_tell` is false where the pool is made of other objects, and
/// these have no labels.
///
/// # Errors
///
/// Why it is not.
pub fn account_is_for(
    selector: &str,
    labels: &BTreeMap<String, String>,
    keys: &LabelKeys,
    labels_tell: bool,
) -> Result<(), &'static str> {
    let entry = Entry::read(labels, None, keys);
    match (tenant_of(selector), &entry.tenant) {
        _ if entry.dirty => Err("it is dirty"),
        _ if entry.internal => Err("tenants never get it"),
        (tenant, Some(holder)) if tenant.as_ref() != Some(holder) => Err("another tenant holds it"),
        (_, None) if labels_tell && entry.is_dedicated() => Err("nobody holds it"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_the_holders_or_shared() {
        let of = |selector: &str, labels: &[(&str, &str)], tell| {
            let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
            account_is_for(selector, &labels, &LabelKeys::default(), tell)
        };
        let aws = ("hyperscalerType", "aws");
        assert_eq!(of("globalaccount:t-1", &[aws, ("tenantName", "t-1")], true), Ok(()));
        assert!(of("t-1", &[aws, ("tenantName", "t-2")], true).is_err());
        assert!(of("shared", &[aws, ("tenantName", "t-2")], true).is_err());
        assert!(of("t-1", &[aws], true).is_err(), "a free account is not the tenant's");
        assert_eq!(of("t-1", &[], false), Ok(()), "the labels are elsewhere");
        assert!(of("t-1", &[aws, ("tenantName", "t-1"), ("dirty", "true")], true).is_err());
        assert!(of("t-1", &[aws, ("internal", "true")], true).is_err());
        assert_eq!(of("t-1", &[aws, ("shared", "true")], true), Ok(()));
        assert_eq!(of("shared", &[aws, ("shared", "true")], true), Ok(()));
    }
}
