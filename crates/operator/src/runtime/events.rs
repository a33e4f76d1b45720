//! Events: one for each decision, on the object that it is about.

use super::{call::call, clock::Clock};
use k8s_openapi::{
    api::{core::v1::ObjectReference, events::v1::Event},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use kube::{
    Api, Client, Resource,
    api::{ObjectMeta, PostParams},
};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The longest note that the API takes.
const LONGEST_NOTE: usize = 1024;

/// Whether an Event is news or a worry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// As it should be.
    Normal,
    /// Somebody should look.
    Warning,
}

/// Writes Events. Losing one loses nothing else: failures are logged.
#[derive(Clone)]
pub struct Recorder {
    client: Client,
    controller: String,
    instance: String,
    clock: Clock,
}

impl Recorder {
    /// A recorder that speaks for this controller, in this process.
    pub fn new(client: Client, controller: &str, instance: &str, clock: Clock) -> Self {
        let (controller, instance) = (controller.to_owned(), instance.to_owned());
        Self { client, controller, instance, clock }
    }

    /// Writes one about an object.
    pub async fn say<K: Resource<DynamicType = ()>>(&self, object: &K, tone: Tone, reason: &str, note: &str) {
        self.say_about(object.object_ref(&()), tone, reason, note).await;
    }

    /// Writes a warning about an object, once while the server keeps it: who provokes it again and again has it written once.
    pub async fn warn_once<K: Resource<DynamicType = ()>>(&self, object: &K, reason: &str, note: &str) {
        let about = object.object_ref(&());
        let mut hasher = DefaultHasher::new();
        (&about.uid, reason).hash(&mut hasher);
        let name = name(&about, &hasher);
        self.write(about, name, Tone::Warning, reason, note).await;
    }

    /// Writes one about what a reference points at.
    pub async fn say_about(&self, reference: ObjectReference, tone: Tone, reason: &str, note: &str) {
        let mut hasher = DefaultHasher::new();
        // The same at the same moment has the same name: a repeated write is refused, not doubled.
        let now = self.clock.now().as_nanosecond();
        (&reference.uid, reason, note, now, &self.instance).hash(&mut hasher);
        let name = name(&reference, &hasher);
        self.write(reference, name, tone, reason, note).await;
    }

    async fn write(&self, reference: ObjectReference, name: String, tone: Tone, reason: &str, note: &str) {
        let now = self.clock.now();
        let namespace = reference.namespace.clone().unwrap_or_else(|| "default".to_owned());
        let event = Event {
            metadata: ObjectMeta {
                name: Some(name),
                namespace: Some(namespace.clone()),
                ..ObjectMeta::default()
            },
            event_time: Some(MicroTime(now)),
            action: Some("Decide".to_owned()),
            reason: Some(reason.to_owned()),
            note: Some(shortened(note)),
            regarding: Some(reference),
            reporting_controller: Some(self.controller.clone()),
            reporting_instance: Some(self.instance.clone()),
            type_: Some(match tone {
                Tone::Normal => "Normal".to_owned(),
                Tone::Warning => "Warning".to_owned(),
            }),
            ..Event::default()
        };
        let params = PostParams::default();
        let api: Api<Event> = Api::namespaced(self.client.clone(), &namespace);
        if let Err(error) = call(|| format!("write Event {reason}"), api.create(&params, &event)).await {
            tracing::debug!(%error, "an Event is lost");
        }
    }
}

fn name(about: &ObjectReference, hasher: &DefaultHasher) -> String {
    let name: String = about.name.as_deref().unwrap_or_default().chars().take(200).collect();
    format!("{name}.{:016x}", hasher.finish())
}

fn shortened(note: &str) -> String {
    let end = (0..=LONGEST_NOTE.min(note.len())).rev().find(|end| note.is_char_boundary(*end));
    note[..end.unwrap_or(0)].to_owned()
}
