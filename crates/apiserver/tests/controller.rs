//! A controller that knows nothing of this server: an ordinary one on kube-rs, with its own kind, an object that it owns, a
//! finalizer and Events.

#![allow(clippy::panic, reason = "these are tests")]

use allotment_apiserver::{ApiServer, auth::User};
use futures::StreamExt;
use k8s_openapi::{
    api::{core::v1::ConfigMap, events::v1::Event},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, CustomResource, CustomResourceExt, Resource, ResourceExt,
    api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams},
    runtime::{
        Controller,
        controller::Action,
        events::{Event as NewEvent, EventType, Recorder, Reporter},
        finalizer::{Error as FinalizerError, Event as Finalizer, finalizer},
        wait::{await_condition, conditions::is_crd_established},
        watcher,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{sync::Arc, time::Duration};

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Document", namespaced, status = "DocumentStatus")]
struct DocumentSpec {
    text: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct DocumentStatus {
    published: bool,
}

struct Context {
    client: Client,
    recorder: Recorder,
}

async fn reconcile(
    document: Arc<Document>,
    context: Arc<Context>,
) -> Result<Action, FinalizerError<kube::Error>> {
    let namespace = document.namespace().unwrap_or_default();
    let documents = Api::<Document>::namespaced(context.client.clone(), &namespace);
    finalizer(&documents, "example.com/published", document, |event| async {
        match event {
            Finalizer::Apply(document) => publish(&document, &context).await,
            Finalizer::Cleanup(document) => {
                tell(&document, &context, "Withdrawn").await?;
                Ok(Action::await_change())
            }
        }
    })
    .await
}

async fn publish(document: &Document, context: &Context) -> Result<Action, kube::Error> {
    let namespace = document.namespace().unwrap_or_default();
    let page = ConfigMap {
        metadata: ObjectMeta {
            name: Some(document.name_any()),
            owner_references: document.controller_owner_ref(&()).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        data: Some([("text".to_owned(), document.spec.text.clone())].into()),
        ..ConfigMap::default()
    };
    let parameters = PatchParams::apply("publisher").force();
    let pages = Api::<ConfigMap>::namespaced(context.client.clone(), &namespace);
    pages.patch(&document.name_any(), &parameters, &Patch::Apply(page)).await?;
    if document.status.as_ref().is_none_or(|status| !status.published) {
        tell(document, context, "Published").await?;
        let status =
            json!({ "apiVersion": "example.com/v1", "kind": "Document", "status": { "published": true } });
        let documents = Api::<Document>::namespaced(context.client.clone(), &namespace);
        documents.patch_status(&document.name_any(), &parameters, &Patch::Apply(status)).await?;
    }
    Ok(Action::await_change())
}

async fn tell(document: &Document, context: &Context, reason: &str) -> Result<(), kube::Error> {
    let event = NewEvent {
        type_: EventType::Normal,
        reason: reason.to_owned(),
        note: None,
        action: reason.to_owned(),
        secondary: None,
    };
    context.recorder.publish(&event, &document.object_ref(&())).await
}

async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..200 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{what} did not come about");
}

#[tokio::test]
async fn runs_unchanged() {
    let server = ApiServer::new();
    let client = Client::new(server.service(User::new("admin", ["system:masters"])), "default");
    let definitions = Api::<CustomResourceDefinition>::all(client.clone());
    definitions.create(&PostParams::default(), &Document::crd()).await.unwrap();
    let established = await_condition(definitions, "documents.example.com", is_crd_established());
    tokio::time::timeout(Duration::from_secs(5), established).await.unwrap().unwrap();

    let documents = Api::<Document>::default_namespaced(client.clone());
    let pages = Api::<ConfigMap>::default_namespaced(client.clone());
    let reporter = Reporter { controller: "publisher".to_owned(), instance: None };
    let context = Context { client: client.clone(), recorder: Recorder::new(client.clone(), reporter) };
    let controller = Controller::new(documents.clone(), watcher::Config::default())
        .owns(pages.clone(), watcher::Config::default())
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_millis(50)), Arc::new(context));
    let running = tokio::spawn(controller.for_each(|_| async {}));

    let document = Document::new("hello", DocumentSpec { text: "first".to_owned() });
    documents.create(&PostParams::default(), &document).await.unwrap();
    eventually("the page", async || pages.get_opt("hello").await.unwrap().is_some()).await;
    eventually("the status", async || {
        documents.get("hello").await.unwrap().status.is_some_and(|status| status.published)
    })
    .await;
    let found = documents.get("hello").await.unwrap();
    assert_eq!(found.finalizers(), ["example.com/published"]);
    assert_eq!(found.metadata.generation, Some(1), "a status is not a change of the spec");

    // What somebody else takes away is put back, because the controller watches what it owns.
    pages.delete("hello", &DeleteParams::default()).await.unwrap();
    eventually("the page again", async || pages.get_opt("hello").await.unwrap().is_some()).await;

    let change = json!({ "spec": { "text": "second" } });
    documents.patch("hello", &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    eventually("the new text", async || {
        let page = pages.get("hello").await.unwrap();
        page.data.unwrap_or_default().get("text").map(String::as_str) == Some("second")
    })
    .await;

    documents.delete("hello", &DeleteParams::default()).await.unwrap();
    eventually("the end of the document", async || documents.get_opt("hello").await.unwrap().is_none()).await;
    eventually("the end of its page", async || pages.get_opt("hello").await.unwrap().is_none()).await;
    let events = Api::<Event>::default_namespaced(client).list(&ListParams::default()).await.unwrap();
    let reasons: Vec<String> = events.into_iter().filter_map(|event| event.reason).collect();
    assert!(
        reasons.contains(&"Published".to_owned()) && reasons.contains(&"Withdrawn".to_owned()),
        "{reasons:?}"
    );
    running.abort();
}
