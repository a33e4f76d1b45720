//! A follower of a server that goes back in time.

use super::*;
use futures::stream;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube::core::TypeMeta;
use serde_json::json;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

/// A version, and the names of the objects at that version.
type Listed = (u64, Vec<&'static str>);

/// A server that answers as it was told to, and then never again.
#[derive(Clone, Default)]
struct Script {
    lists: Arc<Mutex<VecDeque<Listed>>>,
    watches: Arc<Mutex<VecDeque<Vec<WatchEvent<ConfigMap>>>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

fn map(name: &str, version: u64) -> ConfigMap {
    let metadata =
        json!({ "name": name, "uid": format!("uid-{name}"), "resourceVersion": version.to_string() });
    serde_json::from_value(json!({ "metadata": metadata })).unwrap()
}

impl Source for Script {
    type Item = ConfigMap;

    fn path(&self) -> &str {
        "/api/v1/configmaps"
    }

    async fn list(&self, params: &ListParams) -> Result<ObjectList<Guarded<ConfigMap>>, kube::Error> {
        self.asked.lock().unwrap().push(format!("list {}", params.limit.unwrap_or_default()));
        let next = self.lists.lock().unwrap().pop_front();
        let Some((version, names)) = next else { return std::future::pending().await };
        Ok(ObjectList {
            types: TypeMeta::default(),
            metadata: ListMeta { resource_version: Some(version.to_string()), ..ListMeta::default() },
            items: names.into_iter().map(|name| sure(map(name, version))).collect(),
        })
    }

    async fn watch(&self, _: &WatchParams, version: &str) -> Result<Events<ConfigMap>, kube::Error> {
        self.asked.lock().unwrap().push(format!("watch {version}"));
        let next = self.watches.lock().unwrap().pop_front();
        Ok(match next {
            Some(events) => boxed(stream::iter(events.into_iter().map(Ok)), sure),
            None => stream::pending().boxed(),
        })
    }
}

/// What a follower asks for and tells until it waits.
async fn run(script: &Script, position: &Position) -> Vec<String> {
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = {
        let told = told.clone();
        move |seen: Seen<ConfigMap>| {
            let name = |map: &ConfigMap| map.metadata.name.clone().unwrap_or_default();
            let line = match &seen {
                Seen::Restarted => "restarted".to_owned(),
                Seen::Applied(map) => format!("applied {}", name(map)),
                Seen::Deleted(map) => format!("deleted {}", name(map)),
                Seen::Listed => "listed".to_owned(),
                Seen::Reached(version) => format!("reached {version}"),
                Seen::Returned(metadata) => {
                    format!("returned {}", metadata.name.as_deref().unwrap_or_default())
                }
                Seen::Unreadable(name, _) => format!("unreadable {name}"),
            };
            told.lock().unwrap().push(line);
        }
    };
    let following = follow(script.clone(), None, position.clone(), tell);
    let _ = timeout(Duration::from_secs(30), following).await;
    let told = told.lock().unwrap();
    told.clone()
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_early_on_a_server_that_went_back_is_followed_by_a_list() {
    let script = Script::default();
    *script.lists.lock().unwrap() =
        VecDeque::from([(100, vec!["a"]), (40, vec![]), (40, vec!["a", "b"]), (40, vec![])]);
    *script.watches.lock().unwrap() = VecDeque::from([vec![WatchEvent::Deleted(map("b", 120))]]);
    let position = Position::new();
    let told = run(&script, &position).await;
    let asked = script.asked.lock().unwrap().clone();
    assert_eq!(asked, ["list 500", "watch 100", "list 1", "list 500", "list 1", "watch 40"]);
    assert_eq!(
        told,
        [
            "restarted",
            "applied a",
            "listed",
            "reached 100",
            "deleted b",
            "reached 120",
            "restarted",
            "applied a",
            "returned b",
            "applied b",
            "listed",
            "reached 40"
        ]
    );
    assert_eq!(position.version(), 40);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_early_is_gone_on_with_where_nothing_went_back() {
    let script = Script::default();
    *script.lists.lock().unwrap() = VecDeque::from([(100, vec!["a"]), (130, vec![])]);
    *script.watches.lock().unwrap() = VecDeque::from([vec![WatchEvent::Modified(map("a", 120))]]);
    let position = Position::new();
    run(&script, &position).await;
    assert_eq!(*script.asked.lock().unwrap(), ["list 500", "watch 100", "list 1", "watch 120"]);
    assert_eq!(position.version(), 120);
}

#[tokio::test(start_paused = true)]
async fn an_event_from_before_is_followed_by_a_list() {
    let script = Script::default();
    *script.lists.lock().unwrap() = VecDeque::from([(100, vec!["a"]), (30, vec!["a"]), (30, vec![])]);
    *script.watches.lock().unwrap() = VecDeque::from([vec![WatchEvent::Modified(map("a", 20))]]);
    let position = Position::new();
    run(&script, &position).await;
    assert_eq!(*script.asked.lock().unwrap(), ["list 500", "watch 100", "list 500", "list 1", "watch 30"]);
    assert_eq!(position.version(), 30);
}

#[tokio::test(start_paused = true)]
async fn whoever_reads_an_older_version_has_everything_listed_before_it_counts() {
    let script = Script::default();
    *script.lists.lock().unwrap() = VecDeque::from([(100, vec![]), (40, vec!["a"]), (40, vec![])]);
    let position = Position::new();
    let reading = async {
        while position.version() != 100 {
            sleep(Duration::from_millis(10)).await;
        }
        let read = async { Ok::<_, std::convert::Infallible>(40) };
        position.reach_live(read, Duration::from_secs(5)).await.unwrap()
    };
    let (told, reached) = tokio::join!(run(&script, &position), reading);
    assert_eq!(reached, (true, 40));
    // Whoever waits has the watches cut short, so that bookmarks come.
    let asked = script.asked.lock().unwrap()[..5].to_vec();
    assert_eq!(asked, ["list 500", "watch 100", "list 500", "list 1", "watch 40"]);
    assert!(told.contains(&"applied a".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_list_of_a_cache_that_lags_is_not_believed() {
    let script = Script::default();
    // The watch ends early, the version has gone on, and the next watch is refused: another list is needed.
    let lists = [(100, vec!["a"]), (130, vec![]), (90, vec![]), (130, vec![]), (131, vec!["a", "b"])];
    *script.lists.lock().unwrap() = VecDeque::from(lists);
    let outdated: kube::core::Status = serde_json::from_value(json!({ "code": 410 })).unwrap();
    *script.watches.lock().unwrap() = VecDeque::from([
        vec![WatchEvent::Modified(map("a", 120))],
        vec![WatchEvent::Error(Box::new(outdated))],
    ]);
    let position = Position::new();
    let told = run(&script, &position).await;
    let asked = script.asked.lock().unwrap().clone();
    let wanted =
        ["list 500", "watch 100", "list 1", "watch 120", "list 500", "list 1", "list 500", "watch 131"];
    assert_eq!(asked, wanted);
    assert_eq!(told.iter().filter(|line| *line == "restarted").count(), 2, "{told:?}");
    assert!(!told.contains(&"reached 90".to_owned()), "{told:?}");
    assert_eq!(position.version(), 131);
}

/// The watch goes on while the version is compared, and a list follows where the server went back.
#[tokio::test(start_paused = true)]
async fn a_follower_compares_when_it_is_asked_to() {
    let asked = async |lists: Vec<Listed>| {
        let (script, position) = (Script::default(), Position::new());
        *script.lists.lock().unwrap() = VecDeque::from(lists);
        let confirm = async {
            sleep(Duration::from_secs(5)).await;
            position.confirm(Duration::from_secs(10)).await
        };
        let (_, is_confirmed) = futures::join!(run(&script, &position), confirm);
        let asked = script.asked.lock().unwrap().join(", ");
        (is_confirmed, asked)
    };
    let same = asked(vec![(100, vec!["a"]), (130, vec![])]).await;
    assert_eq!(same, (true, "list 500, watch 100, list 1".to_owned()));
    let back = asked(vec![(100, vec!["a"]), (40, vec![]), (40, vec!["b"]), (40, vec![])]).await;
    assert_eq!(back, (true, "list 500, watch 100, list 1, list 500, list 1, watch 40".to_owned()));
    let silent = asked(vec![(100, vec!["a"])]).await;
    assert!(!silent.0, "nobody knows");
}

/// A server with many objects, which takes its time for each page.
struct Slow;

impl Slow {
    const PAGES: u64 = 10;
    const PAGE_TAKES: Duration = Duration::from_secs(20);
}

impl Source for Slow {
    type Item = ConfigMap;

    fn path(&self) -> &str {
        "/api/v1/configmaps"
    }

    async fn list(&self, params: &ListParams) -> Result<ObjectList<Guarded<ConfigMap>>, kube::Error> {
        sleep(Self::PAGE_TAKES).await;
        let page: u64 = params.continue_token.as_ref().map_or(0, |token| token.parse().unwrap());
        let next = (page + 1 < Self::PAGES).then(|| (page + 1).to_string());
        Ok(ObjectList {
            types: TypeMeta::default(),
            metadata: ListMeta {
                resource_version: Some("7".to_owned()),
                continue_: next,
                ..ListMeta::default()
            },
            items: vec![sure(map(&format!("object-{page}"), 7))],
        })
    }

    async fn watch(&self, _: &WatchParams, _: &str) -> Result<Events<ConfigMap>, kube::Error> {
        Ok(stream::pending().boxed())
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_may_take_as_long_as_it_needs() {
    let (mut applied, mut ends) = (0, 0);
    let following = follow(Slow, None, Position::new(), |seen| match seen {
        Seen::Applied(_) => applied += 1,
        Seen::Listed => ends += 1,
        _ => (),
    });
    let _ = timeout(Slow::PAGE_TAKES * 15, following).await;
    assert_eq!((applied, ends), (Slow::PAGES, 1), "no page is asked for twice");
}
