//! `allotment cluster adopt`.

use super::{Opened, diff, file as manifest, not_there};
use crate::{
    commands::{
        input,
        input::{WRONG_USAGE, confirmed},
        operators, show,
    },
    output::{self, Paint},
};
use allotment_api::{
    allotment::{ShootAdoption, ShootAdoptionPhase, ShootAdoptionSpec},
    gardener::Shoot,
    kyma::{BindingKind, Cluster},
};
use allotment_core::{
    cluster::{
        adopt::{Adoption, obstacles, reported},
        flow,
    },
    pool::wanted,
};
use allotment_operator::{
    cluster::{ClusterName, Forecast, Found, live_owner},
    runtime::call::call,
};
use anyhow::{Context, Result, anyhow};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};
use tokio::time::sleep;

/// How often the ShootAdoption is read.
const LOOK: Duration = Duration::from_millis(500);

/// Stands for the UID of a SubscriptionRequest that is not there yet.
const ITS_UID: &str = "the-UID-of-its-SubscriptionRequest";

/// What was asked for.
pub(super) struct Asked {
    pub(super) name: Option<String>,
    pub(super) namespace: Option<String>,
    pub(super) file: Option<PathBuf>,
    pub(super) shoot: String,
    pub(super) operator_namespace: String,
    pub(super) yes: bool,
    pub(super) timeout: Duration,
}

pub(super) async fn run(opened: &Opened, asked: Asked) -> Result<ExitCode> {
    operators::must_be_in(&opened.inspector.control_plane, &asked.operator_namespace).await?;
    let cluster = match &asked.file {
        Some(file) => match from_file(opened, &asked, file).await? {
            Ok(cluster) => cluster,
            Err(code) => return Ok(code),
        },
        None => {
            let name = opened.named(asked.namespace.clone(), asked.name.clone().unwrap_or_default());
            let api: Api<Cluster> = Api::namespaced(opened.inspector.control_plane.clone(), &name.namespace);
            let found = call(|| format!("read Cluster {name}"), api.get_opt(&name.name)).await?;
            match found {
                Some(cluster) => cluster,
                None => return Ok(not_there(&name)),
            }
        }
    };
    let found = opened.inspector.gather(cluster, Some(&asked.shoot)).await?;
    let Some(shoot) = &found.shoot else {
        let namespace = &opened.inspector.garden_namespace;
        return Ok(refused(&format!("there is no Shoot {} in {namespace}", asked.shoot)));
    };
    let name = named(&found.cluster);
    if found.owns(shoot) {
        output::print(&format!("Shoot {} is Cluster {name}'s already\n", asked.shoot))?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(code) = stands_against(opened, &found, shoot).await? {
        return Ok(code);
    }
    if let Some(code) = preview(opened, &found, &asked.shoot).await? {
        return Ok(code);
    }
    if !asked.yes && !confirmed(&format!("Take over Shoot {} as Cluster {name}?", asked.shoot))? {
        return Ok(ExitCode::FAILURE);
    }
    name_shoot(opened, &found.cluster, &asked.shoot).await?;
    let adoption = tell(opened, &asked.operator_namespace, &name, shoot).await?;
    wait(opened, &adoption, &name, asked.timeout).await
}

/// The Cluster in a file, which may not be there yet.
async fn from_file(opened: &Opened, asked: &Asked, file: &Path) -> Result<Result<Cluster, ExitCode>> {
    let text = match input::read(file) {
        Ok(text) => text,
        Err(code) => return Ok(Err(code)),
    };
    let mut object = match manifest::read(&text) {
        Ok(object) => object,
        Err(why) => {
            output::complain(&anyhow!("{} holds no Cluster: {why}", show::name(file)));
            return Ok(Err(ExitCode::from(WRONG_USAGE)));
        }
    };
    let text_at = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let (named, namespace) = (text_at("/metadata/name").unwrap_or_default(), text_at("/metadata/namespace"));
    let given = asked.name.as_ref().filter(|name| **name != named);
    if let Some(name) = given {
        output::complain(&anyhow!("the Cluster in {} is {named}, not {name}", show::name(file)));
        return Ok(Err(ExitCode::from(WRONG_USAGE)));
    }
    let name = opened.named(asked.namespace.clone().or(namespace), named);
    object["metadata"]["namespace"] = json!(name.namespace);
    let client = &opened.inspector.control_plane;
    let api: Api<Cluster> = Api::namespaced(client.clone(), &name.namespace);
    if call(|| format!("read Cluster {name}"), api.get_opt(&name.name)).await?.is_some() {
        return Ok(Err(refused(&format!("Cluster {name} is there already: leave out --file"))));
    }
    manifest::try_to_create(client, &name, &object).await?;
    Ok(Ok(serde_json::from_value(object).with_context(|| format!("cannot read Cluster {name}"))?))
}

/// Says what stands against it, if anything does.
async fn stands_against(opened: &Opened, found: &Found, shoot: &Shoot) -> Result<Option<ExitCode>> {
    let Opened { inspector, config, rules } = opened;
    let rules = rules
        .as_deref()
        .context("without `hap.rule` in the configuration it is not known which account the Cluster gets")?;
    let request =
        flow::request_for(&found.cluster).context("a Cluster that the tenant brings has no Shoot")?;
    let wanted = match wanted(&request.spec, rules) {
        Ok(wanted) => wanted,
        Err(denial) => return Ok(Some(refused(&denial.message))),
    };
    let bindings_tell = config.hap.binding_kind == BindingKind::CredentialsBinding;
    if !bindings_tell {
        output::note(
            "the pool is not made of CredentialsBindings: whose account it is has to be seen by yourself",
        );
    }
    let account = inspector.account_of(shoot).await?;
    let (uid, own) = (found.cluster.uid(), found.request.as_ref().and_then(|request| request.uid()));
    let owner = live_owner(&inspector.control_plane, &shoot.metadata, uid.as_deref(), own.as_deref()).await?;
    let against = obstacles(&Adoption {
        cluster: &found.cluster,
        shoot,
        owner: owner.as_ref(),
        project: &inspector.project,
        account: account.as_ref(),
        labels: &config.hap.labels,
        wanted: bindings_tell.then_some(&wanted),
    });
    if against.is_empty() {
        return Ok(None);
    }
    Ok(Some(refused(&against.join("\n       "))))
}

/// Shows what would change in the Shoot.
async fn preview(opened: &Opened, found: &Found, shoot: &str) -> Result<Option<ExitCode>> {
    let own = found.request.as_ref().and_then(|request| request.uid());
    match opened.inspector.try_out(found, own.as_deref().unwrap_or(ITS_UID)).await? {
        Forecast::Changes(changes) => {
            let paint = Paint::for_standard_output();
            output::print(&format!(
                "{}\n{}",
                paint.bold(&format!("This would change in Shoot {shoot}:")),
                diff::shown(&changes, paint)
            ))?;
            Ok(None)
        }
        Forecast::Stopped(why) => Ok(Some(refused(&why))),
        _ => Ok(Some(refused("it cannot be tried out"))),
    }
}

/// Makes the Cluster, or gives it the name of the Shoot.
async fn name_shoot(opened: &Opened, cluster: &Cluster, shoot: &str) -> Result<()> {
    let name = named(cluster);
    let api: Api<Cluster> = Api::namespaced(opened.inspector.control_plane.clone(), &name.namespace);
    let Some(version) = cluster.resource_version() else {
        let mut made = cluster.clone();
        if let Some(core) = &mut made.spec.core {
            core.shoot_name = Some(shoot.to_owned());
        }
        call(|| format!("create Cluster {name}"), api.create(&PostParams::default(), &made)).await?;
        return Ok(());
    };
    let patch = json!({
        "metadata": { "uid": cluster.uid(), "resourceVersion": version },
        "spec": { "core": { "shootName": shoot } },
    });
    let (params, patch) = (PatchParams::default(), Patch::Merge(&patch));
    call(|| format!("name the Shoot of Cluster {name}"), api.patch(&name.name, &params, &patch)).await?;
    Ok(())
}

/// Tells the operator, in its own namespace.
async fn tell(
    opened: &Opened,
    namespace: &str,
    cluster: &ClusterName,
    shoot: &Shoot,
) -> Result<ShootAdoption> {
    let api: Api<ShootAdoption> = Api::namespaced(opened.inspector.control_plane.clone(), namespace);
    let mut adoption = ShootAdoption::new(
        "",
        ShootAdoptionSpec {
            cluster_namespace: cluster.namespace.clone(),
            cluster_name: cluster.name.clone(),
            shoot_name: shoot.name_any(),
            shoot_uid: shoot.uid().unwrap_or_default(),
        },
    );
    adoption.metadata.name = None;
    adoption.metadata.generate_name = Some(format!("{}-", shoot.name_any()));
    let params = PostParams::default();
    let made = api.create(&params, &adoption);
    Ok(call(|| format!("create a ShootAdoption in {namespace}"), made).await?)
}

/// Waits until it is done, or will not be.
async fn wait(
    opened: &Opened,
    adoption: &ShootAdoption,
    cluster: &ClusterName,
    patience: Duration,
) -> Result<ExitCode> {
    let (namespace, name) = (adoption.namespace().unwrap_or_default(), adoption.name_any());
    let api: Api<ShootAdoption> = Api::namespaced(opened.inspector.control_plane.clone(), &namespace);
    let (started, mut said) = (Instant::now(), String::new());
    loop {
        let found = call(|| format!("read ShootAdoption {name}"), api.get_opt(&name)).await?;
        let Some(adoption) = found else {
            return Ok(refused(&format!("somebody deleted ShootAdoption {namespace}/{name}")));
        };
        let words = match reported(&adoption) {
            Some((ShootAdoptionPhase::Adopted, _)) => {
                output::print(&format!("Cluster {cluster} has adopted the Shoot\n"))?;
                return Ok(ExitCode::SUCCESS);
            }
            Some((ShootAdoptionPhase::Refused, why)) => {
                // It would be done later, when nobody expects it any more.
                call(|| format!("delete ShootAdoption {name}"), api.delete(&name, &DeleteParams::default()))
                    .await?;
                return Ok(refused(&why));
            }
            Some((ShootAdoptionPhase::Pending, why)) => why,
            None => "the operator has not looked at it yet".to_owned(),
        };
        if started.elapsed() > patience {
            return Ok(refused(&format!(
                "not adopted after {} s: {words}; it goes on until ShootAdoption {namespace}/{name} is deleted",
                patience.as_secs()
            )));
        }
        if words != said {
            output::progress(&format!("waiting: {words}"));
            said = words;
        }
        sleep(LOOK).await;
    }
}

fn named(cluster: &Cluster) -> ClusterName {
    ClusterName { namespace: cluster.namespace().unwrap_or_default(), name: cluster.name_any() }
}

fn refused(why: &str) -> ExitCode {
    output::complain(&anyhow!("{why}"));
    ExitCode::FAILURE
}
