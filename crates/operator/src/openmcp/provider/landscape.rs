//! One look at a Landscape. Logging in is not done here: what came of it is told.

use super::{Trouble, run::Inner};
use crate::{
    openmcp::{checked, landscapes::NoLogin},
    runtime::{events::Tone, queue::Outcome},
};
use allotment_api::openmcp::{
    gardener::{Landscape, names::finalizer},
    names::annotation,
};
use allotment_core::openmcp::{
    landscape::{Login, Step, View, decide},
    status,
};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// Take the annotation off, put the finalizer on, rest.
const STEPS: usize = 5;

/// How often what the status says is compared with what is so. Two providers of a platform may both look after a Landscape, and
/// one that has not heard of a new ProviderConfig yet overwrites what the other has said of it. An answer at once would have two
/// that do not agree overwrite each other without end.
const LOOK: Duration = Duration::from_mins(1);

impl Inner {
    pub(super) async fn look_at_landscape(&self, name: &str) -> Result<Outcome, Trouble> {
        let landscapes = &self.parts.landscapes;
        let api: Api<Landscape> = Api::all(self.parts.platform.clone());
        let landscape = landscapes.landscape(name).filter(|_| landscapes.concerns(name));
        let Some(mut landscape) = landscape else { return Ok(Outcome::Done) };
        for _ in 0..STEPS {
            let (login, configs) = (landscapes.login(name), landscapes.configs_of(name));
            let (step, status) = decide(&View {
                landscape: &landscape,
                login: match &login {
                    None => Login::NotYet,
                    Some(Err(NoLogin::Refused(why))) => Login::Refused(why),
                    Some(Err(NoLogin::Away(why))) => Login::Away(why),
                    Some(Ok(login)) => Login::Done {
                        server: &login.server,
                        projects: &login.projects,
                        refused: &login.refused,
                        trouble: login.trouble.as_deref(),
                    },
                },
                configs: &configs,
                now: self.parts.clock.now(),
            });
            tracing::debug!(landscape = name, ?step, "decided");
            let change = match step {
                Step::Leave => return Ok(Outcome::Done),
                Step::Rest => {
                    let written =
                        checked::status(&api, &*landscape, landscape.status.as_ref(), &status).await?;
                    if let Some(written) = written {
                        let before = landscape.status.as_ref().map(|status| &status.common);
                        self.tell(&*landscape, &status::news(before, &status.common)).await;
                        landscapes.learn_landscape(written);
                    }
                    return Ok(Outcome::After(LOOK));
                }
                Step::Unmark => {
                    landscapes.look_again(name);
                    json!({ "annotations": { annotation::OPERATION: null } })
                }
                Step::Hold => with(&*landscape, finalizer::LANDSCAPE),
                Step::LetGo => without(&*landscape, finalizer::LANDSCAPE),
            };
            let written = checked::merge(&api, &*landscape, json!({ "metadata": change })).await?;
            if step == Step::LetGo {
                return Ok(Outcome::Done);
            }
            landscapes.learn_landscape(written.clone());
            landscape = Arc::new(written);
        }
        Err(Trouble::Endless(format!("look at Landscape {name}")))
    }

    /// Tells of what has changed in the conditions, in one Event.
    pub(super) async fn tell<K: kube::Resource<DynamicType = ()>>(&self, object: &K, news: &[String]) {
        if !news.is_empty() {
            self.recorder.say(object, Tone::Normal, "ConditionChanged", &news.join("; ")).await;
        }
    }
}

/// The finalizers of an object, and this one.
pub(super) fn with<K: kube::Resource>(object: &K, name: &str) -> Value {
    let mut finalizers = object.finalizers().to_vec();
    finalizers.push(name.to_owned());
    json!({ "finalizers": finalizers })
}

/// The finalizers of an object without this one.
pub(super) fn without<K: kube::Resource>(object: &K, name: &str) -> Value {
    let finalizers: Vec<&String> = object.finalizers().iter().filter(|other| *other != name).collect();
    json!({ "finalizers": finalizers })
}
