use super::*;

fn instance(environment: &str, provider: &str) -> Instance {
    Instance { environment: environment.to_owned(), provider: provider.to_owned() }
}

fn order() -> Order {
    Order {
        uid: "u".to_owned(),
        generation: 1,
        held: true,
        owner: Some(instance("east", "p1")),
        nodes: Some(2),
        bounds: (1, 4),
        ..Order::default()
    }
}

fn plot() -> Plot {
    Plot {
        uid: "s".to_owned(),
        owner: Some(instance("east", "p1")),
        cluster: Some("u".to_owned()),
        nodes: 2,
        ready: true,
        ..Plot::default()
    }
}

fn estate() -> Estate {
    Estate {
        orders: BTreeMap::from([("k".to_owned(), order())]),
        plots: BTreeMap::from([("g/s".to_owned(), plot())]),
        made: BTreeMap::from([("s".to_owned(), "u".to_owned())]),
        ..Estate::default()
    }
}

#[test]
fn a_provider_writes_what_is_its_own() {
    let (me, other) = (instance("east", "p1"), instance("west", "p1"));
    let mut estate = estate();
    assert!(estate.shoot_write(&me, "g/s", Some(&plot()), Some(&plot())).is_empty());
    let found = estate.shoot_write(&other, "g/s", Some(&plot()), Some(&plot()));
    assert!(matches!(found.as_slice(), [Astray::WroteAnothers(..)]), "{found:?}");
    let told = Order { told: "x".to_owned(), ..order() };
    let found = estate.cluster_write(&other, "k", Some(&order()), Some(&told));
    assert!(matches!(found.as_slice(), [Astray::WroteAnothers(..)]), "{found:?}");
    assert!(estate.cluster_write(&me, "k", Some(&order()), Some(&told)).is_empty());
}

#[test]
fn a_shoot_is_made_once_and_goes_with_its_cluster() {
    let me = instance("east", "p1");
    let mut estate = estate();
    let another = Plot { uid: "t".to_owned(), ..plot() };
    estate.orders.insert("k".to_owned(), Order { shoot: Some("s".to_owned()), ..order() });
    let found = estate.shoot_write(&me, "g/t", None, Some(&another));
    assert!(matches!(found.as_slice(), [Astray::MadeAgain(..)]), "{found:?}");
    estate.forced.insert("u".to_owned());
    assert!(estate.shoot_write(&me, "g/t", None, Some(&another)).is_empty());
    estate.plots.insert("g/t".to_owned(), another);
    assert!(matches!(estate.violations().as_slice(), [Astray::TwoShoots(..)]));
    let found = estate.shoot_write(&me, "g/s", Some(&plot()), None);
    assert!(matches!(found.as_slice(), [Astray::DeletedWhileWanted(..)]), "{found:?}");
}

#[test]
fn ready_is_what_was_ready_once() {
    let me = instance("east", "p1");
    let mut estate = estate();
    let ready = Order { phase: "Ready".to_owned(), observed: 1, told: "x".to_owned(), ..order() };
    let found = estate.cluster_write(&me, "k", Some(&order()), Some(&ready));
    assert_eq!(found, [Astray::ReadyTooEarly("k".to_owned())]);
    estate.note_fitted();
    assert!(estate.cluster_write(&me, "k", Some(&order()), Some(&ready)).is_empty());
    let gone = Order { held: false, ..order() };
    let found = estate.cluster_write(&me, "k", Some(&order()), Some(&gone));
    assert!(matches!(found.as_slice(), [Astray::LetGoTooEarly(..)]), "{found:?}");
}

#[test]
fn at_rest_everything_is_answered() {
    let mut estate = estate();
    assert!(matches!(estate.at_rest(|_| true).as_slice(), [Astray::Unanswered(..)]));
    let settled = Order { phase: "Ready".to_owned(), observed: 1, shoot: Some("s".to_owned()), ..order() };
    estate.orders.insert("k".to_owned(), settled);
    assert!(estate.at_rest(|_| true).is_empty());
    estate.orders.clear();
    assert_eq!(estate.at_rest(|_| true), [Astray::LeftBehind("Shoot g/s".to_owned())]);
}
