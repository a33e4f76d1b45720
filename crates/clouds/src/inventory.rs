//! Full listings: all pages of all kinds in all places.

use crate::{Cloud, Page, Refusal};
use allotment_core::cleanup::{
    Cell, Inventory, KindName, Place, PlaceState, Places, Scope, Witness, kinds::table,
};
use futures::{StreamExt, stream};
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// So many places are listed at once. The limits are per place, so more places do not cost more per place, but sockets.
const PLACES_AT_ONCE: usize = 4;

/// A listing with more pages than these does not end.
const MOST_PAGES: usize = 10_000;

/// Lists a whole account. Whatever cannot be listed is an unknown cell; only an account that cannot be identified is an
/// error.
pub async fn take_inventory(
    cloud: &dyn Cloud,
    now: &(dyn Fn() -> Timestamp + Sync),
) -> Result<Inventory, Refusal> {
    let started_at = now();
    let caller = cloud.whoami().await?;
    let places = match cloud.places().await {
        Ok(places) => Places::Listed { places },
        Err(refusal) => {
            Places::Unknown { because: refusal.to_string(), missing: refusal.missing().map(str::to_owned) }
        }
    };
    let mut cells: BTreeMap<Place, BTreeMap<KindName, Cell>> = BTreeMap::new();
    {
        let everywhere = enabled(&places).into_iter().chain([Place::GLOBAL]);
        let listings =
            everywhere.map(|place| async move { (place.clone(), list_place(cloud, &place).await) });
        let mut listings = stream::iter(listings).buffer_unordered(PLACES_AT_ONCE);
        while let Some((place, listed)) = listings.next().await {
            cells.insert(place, listed);
        }
    }
    Ok(Inventory {
        cloud: cloud.cloud(),
        account: caller.account,
        principal: caller.principal,
        started_at,
        finished_at: now(),
        places,
        cells,
    })
}

/// Takes the independent counts of all places of a listing.
pub async fn take_witness(
    cloud: &dyn Cloud,
    inventory: &Inventory,
    now: &(dyn Fn() -> Timestamp + Sync),
) -> Witness {
    let taken_at = now();
    let everywhere = inventory.enabled_places().into_iter().chain([Place::GLOBAL]);
    let counts = everywhere.map(|place| async move { (place.clone(), cloud.counts(&place).await) });
    let counts = stream::iter(counts).buffer_unordered(PLACES_AT_ONCE).collect::<Vec<_>>().await;
    Witness { taken_at, counts: counts.into_iter().collect() }
}

fn enabled(places: &Places) -> Vec<Place> {
    match places {
        Places::Listed { places } => {
            let enabled = places.iter().filter(|(_, state)| **state == PlaceState::Enabled);
            enabled.map(|(place, _)| place.clone()).collect()
        }
        Places::Unknown { .. } => Vec::new(),
    }
}

async fn list_place(cloud: &dyn Cloud, place: &Place) -> BTreeMap<KindName, Cell> {
    let mut cells = BTreeMap::new();
    for kind in table(cloud.cloud()).kinds {
        let is_here = matches!(kind.scope, Scope::Regional) != place.is_global();
        if is_here {
            cells.insert(kind.name(), list_cell(cloud, place, &kind.name()).await);
        }
    }
    cells
}

/// All pages of one kind. A token that comes twice would go on for ever, and what it hides is unknown.
pub(crate) async fn list_cell(cloud: &dyn Cloud, place: &Place, kind: &KindName) -> Cell {
    let unknown = |because: &str| Cell::Unknown { because: because.to_owned(), missing: None };
    let mut found = Vec::new();
    let mut tokens = BTreeSet::new();
    let mut token = None;
    for _ in 0..MOST_PAGES {
        match cloud.list(place, kind, token.as_ref()).await {
            Ok(Page::Items { items, next }) => {
                found.extend(items);
                let Some(next) = next else { return Cell::Listed { items: found } };
                if !tokens.insert(next.clone()) {
                    return unknown("the cloud returned the same page token twice");
                }
                token = Some(next);
            }
            // A service does not disappear between two pages.
            Ok(Page::Absent { because }) if token.is_none() => return Cell::Absent { because },
            Ok(Page::Absent { because }) => return unknown(&because),
            Err(refusal) => {
                let missing = refusal.missing().map(str::to_owned);
                return Cell::Unknown { because: refusal.to_string(), missing };
            }
        }
    }
    unknown("the listing does not end")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Answer, Caller, PageToken};
    use allotment_core::cleanup::{Cloud as CloudName, CloudAccountId, Count, CountName, Item, ItemId};
    use futures::{FutureExt, future::BoxFuture};

    /// Answers every list with the same pages: `(items, next)`, by token.
    struct Pages(Vec<Result<Page, Refusal>>);

    impl Cloud for Pages {
        fn cloud(&self) -> CloudName {
            CloudName::Aws
        }

        fn whoami(&self) -> Answer<'_, Caller> {
            let account = CloudAccountId::of("1");
            async move { Ok(Caller { account, principal: "p".to_owned() }) }.boxed()
        }

        fn places(&self) -> Answer<'_, BTreeMap<Place, PlaceState>> {
            async { Ok(BTreeMap::from([(Place::of("eu-1"), PlaceState::Enabled)])) }.boxed()
        }

        fn kinds(&self) -> Vec<KindName> {
            Vec::new()
        }

        fn list<'a>(
            &'a self,
            _: &'a Place,
            _: &'a KindName,
            page: Option<&'a PageToken>,
        ) -> Answer<'a, Page> {
            let index = page.map_or(0, |token| token.0.parse().unwrap());
            async move { self.0[index].clone() }.boxed()
        }

        fn delete<'a>(&'a self, _: &'a Item) -> Answer<'a, ()> {
            async { Ok(()) }.boxed()
        }

        fn counts<'a>(&'a self, _: &'a Place) -> BoxFuture<'a, BTreeMap<CountName, Count>> {
            async { BTreeMap::new() }.boxed()
        }
    }

    fn page(id: &str, next: Option<&str>) -> Result<Page, Refusal> {
        let item = Item::new(KindName::of("Vpc"), Place::of("eu-1"), ItemId::new(id));
        Ok(Page::Items { items: vec![item], next: next.map(|next| PageToken(next.to_owned())) })
    }

    async fn listed(pages: Vec<Result<Page, Refusal>>) -> Cell {
        list_cell(&Pages(pages), &Place::of("eu-1"), &KindName::of("Vpc")).await
    }

    #[tokio::test]
    async fn only_a_listing_with_all_pages_is_complete() {
        let complete = listed(vec![page("a", Some("1")), page("b", None)]).await;
        assert!(matches!(complete, Cell::Listed { items } if items.len() == 2));
        let again = listed(vec![page("a", Some("1")), page("b", Some("1"))]).await;
        assert!(matches!(again, Cell::Unknown { because, .. } if because.contains("twice")));
        let denied = Err(Refusal::Denied { code: "X".to_owned(), action: "ec2:DescribeVpcs".to_owned() });
        let cut = listed(vec![page("a", Some("1")), denied]).await;
        assert!(matches!(cut, Cell::Unknown { missing: Some(missing), .. } if missing == "ec2:DescribeVpcs"));
        let absent = Ok(Page::Absent { because: "no service".to_owned() });
        assert!(matches!(listed(vec![absent.clone()]).await, Cell::Absent { .. }));
        assert!(matches!(listed(vec![page("a", Some("1")), absent]).await, Cell::Unknown { .. }));
    }

    #[tokio::test]
    async fn an_inventory_has_every_cell_of_the_table() {
        let clock = || Timestamp::UNIX_EPOCH;
        let inventory = take_inventory(&Pages(vec![page("a", None)]), &clock).await.unwrap();
        assert!(inventory.unknown().is_empty());
        let witness = take_witness(&Pages(Vec::new()), &inventory, &clock).await;
        let (place, kind) = witness.expected(&inventory)[0].clone();
        assert!(
            matches!(witness.count(&place, &kind.name()), Count::Refused { .. }),
            "not counted is not zero"
        );
    }
}
