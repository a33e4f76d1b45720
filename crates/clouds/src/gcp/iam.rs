//! Service accounts.

use super::{
    Gcp,
    call::{Call, encode, incomplete},
    list::permission,
    rows::{DELETE_ACCOUNT, SERVICE_ACCOUNT},
};
use crate::{Page, PageToken, Refusal};
use allotment_core::cleanup::{
    Item, ItemId, KindName, Place,
    attribute::{DEFAULT, PRINCIPAL},
};
use http::Method;
use serde_json::Value;

/// Nobody but Google makes accounts in these.
const GOOGLES: &[&str] =
    &["developer.gserviceaccount.com", "appspot.gserviceaccount.com", "cloudservices.gserviceaccount.com"];

impl Gcp {
    pub(super) async fn list_accounts(&self, page: Option<&PageToken>) -> Result<Page, Refusal> {
        let token = page.map(|page| format!("&pageToken={}", encode(&page.0))).unwrap_or_default();
        let url = self.iam(&format!("serviceAccounts?pageSize=100{token}"));
        let call = Call::get(url, permission(&KindName::of(SERVICE_ACCOUNT)));
        let page = self.call(&Place::GLOBAL, &call).await.and_then(|body| read_page(&body));
        self.or_absent(page)
    }

    pub(super) async fn delete_account(&self, item: &Item) -> Result<(), Refusal> {
        let url = self.iam(&format!("serviceAccounts/{}", encode(item.id.as_str())));
        let permission = DELETE_ACCOUNT.permission;
        let call = Call { method: Method::DELETE, url, body: Value::Null, permission };
        self.call(&item.place, &call).await.map(|_| ())
    }
}

fn read_page(body: &Value) -> Result<Page, Refusal> {
    let accounts = match body.get("accounts") {
        None => &Vec::new(),
        Some(accounts) => accounts.as_array().ok_or_else(|| incomplete("serviceAccounts.list"))?,
    };
    let items: Result<Vec<Item>, Refusal> = accounts.iter().map(read).collect();
    let next = body.get("nextPageToken").and_then(Value::as_str).filter(|token| !token.is_empty());
    Ok(Page::Items { items: items?, next: next.map(|token| PageToken(token.to_owned())) })
}

fn read(account: &Value) -> Result<Item, Refusal> {
    let text = |field: &str| account.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
    let email = text("email").ok_or_else(|| incomplete("serviceAccounts.list"))?;
    let (name, domain) = email.split_once('@').ok_or_else(|| incomplete("serviceAccounts.list"))?;
    let mut item = Item::new(KindName::of(SERVICE_ACCOUNT), Place::GLOBAL, ItemId::new(email));
    item.name = Some(name.to_owned());
    item.incarnation = text("uniqueId").map(str::to_owned);
    let is_googles = GOOGLES.contains(&domain);
    Ok(item.with(PRINCIPAL, email).with(DEFAULT, if is_googles { "true" } else { "" }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn accounts_that_google_made_are_told_by_their_domain() {
        let account = |email: &str| read(&json!({ "email": email, "uniqueId": "1" })).unwrap();
        let default = account("563465074075-compute@developer.gserviceaccount.com");
        assert_eq!(default.attribute(DEFAULT), Some("true"));
        let shoot = account("shoot--p--c@pool-17.iam.gserviceaccount.com");
        assert_eq!((shoot.name.as_deref(), shoot.attribute(DEFAULT)), (Some("shoot--p--c"), None));
        assert!(read(&json!({ "uniqueId": "1" })).is_err());
    }
}
