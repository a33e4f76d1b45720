//! The way into clusters: Shoots, and clusters that users brought.

use super::stage::{Fault, until};
use allotment_api::{
    gardener::{KubeconfigAccess, OperationState, Shoot},
    kyma::{Provider, SecretKeyReference},
    names::label,
};
use allotment_core::access::{
    address::Byoc,
    administrators::Owner,
    kubeconfig::{Credentials, Given},
};
use allotment_operator::{
    metrics::Metrics,
    runtime::clock::Clock,
    target::{
        Connect, Guard, Key, Parts, Reached, TargetTrouble, Targets,
        administrators::{Applied, apply},
        check,
    },
};
use allotment_testing::{Landscape, Outcome, Plot, Search, every_object, in_objects};
use base64::{Engine, prelude::BASE64_STANDARD};
use futures::{FutureExt, future::join_all};
use http::Request;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::{
    authorization::v1::SubjectAccessReview, core::v1::Secret, rbac::v1::ClusterRoleBinding,
};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    client::Body,
};
use serde_json::{Value, json};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicI64, Ordering},
};

const NAME: &str = "target";

/// Landscapes are on this machine.
pub(crate) fn loopback() -> Guard {
    let range = |text: &str| text.parse().expect("a range");
    Guard::new(Byoc { allow: vec![range("127.0.0.0/8"), range("::1/128")], deny: Vec::new() })
}

/// A plot with one Shoot, and a way into it.
struct Field {
    plot: Plot,
    shoot: Key,
    targets: Targets,
    metrics: Metrics,
    /// What was posted to the garden.
    posted: Arc<Mutex<Vec<String>>>,
    /// What clients were made of.
    given: Arc<Mutex<Vec<String>>>,
    /// How far our clock is ahead.
    ahead_seconds: Arc<AtomicI64>,
}

impl Field {
    /// With a Shoot that is ready.
    async fn new(landscape: &Landscape) -> Result<Self, Fault> {
        Self::with(landscape.plot().await?, |_, _| {}).await?.ready().await
    }

    /// `change` is done to the kubeconfig of the so-manieth client, before it is made.
    async fn with(
        plot: Plot,
        change: impl Fn(usize, &mut Given) + Send + Sync + 'static,
    ) -> Result<Self, Fault> {
        let shoot = create_shoot(&plot, NAME).await?;
        let metrics = Metrics::new();
        let posted = Arc::new(Mutex::new(Vec::new()));
        let given = Arc::new(Mutex::new(Vec::new()));
        let ahead_seconds = Arc::new(AtomicI64::new(0));
        let https = Connect::over_https_within(&metrics, loopback());
        let connect = {
            let given = given.clone();
            Connect::new(move |key, mut kubeconfig| {
                let mut given = given.lock().unwrap();
                given.push(secret(&kubeconfig));
                change(given.len(), &mut kubeconfig);
                let https = https.clone();
                async move { https.make(key, kubeconfig).await }.boxed()
            })
        };
        let clock = {
            let ahead = ahead_seconds.clone();
            Clock::new(move || Timestamp::now() + SignedDuration::from_secs(ahead.load(Ordering::Relaxed)))
        };
        let targets = Targets::new(Parts {
            garden: listening(plot.landscape.garden.clone(), posted.clone()),
            garden_namespace: plot.garden_namespace.clone(),
            control_plane: plot.landscape.control_plane.clone(),
            clock,
            connect,
            metrics: metrics.clone(),
        });
        Ok(Self { plot, shoot, targets, metrics, posted, given, ahead_seconds })
    }

    async fn ready(self) -> Result<Self, Fault> {
        let succeeded = |shoot: Option<&Shoot>| {
            let status = shoot.and_then(|shoot| shoot.status.as_ref());
            status.and_then(|status| status.last_operation.as_ref()).map(|operation| operation.state)
                == Some(OperationState::Succeeded)
        };
        self.plot.wait_for_shoot(NAME, "is ready", succeeded).await?;
        Ok(self)
    }

    async fn reach(&self) -> Result<Reached, Fault> {
        Ok(self.targets.reach(&self.shoot).await?)
    }

    fn posted(&self) -> usize {
        self.posted.lock().unwrap().iter().filter(|path| path.ends_with("/adminkubeconfig")).count()
    }

    fn made(&self) -> usize {
        self.given.lock().unwrap().len()
    }

    fn later(&self, seconds: i64) {
        self.ahead_seconds.fetch_add(seconds, Ordering::Relaxed);
    }

    /// What was sent to the cluster so far, by verb.
    fn calls(&self) -> Vec<(String, u64)> {
        let text = self.metrics.text();
        let lines = text.lines().filter(|line| line.starts_with("allotment_api_requests_total"));
        lines
            .filter(|line| line.contains("target=\"cluster\""))
            .map(|line| {
                let verb = line.split("verb=\"").nth(1).unwrap().split('"').next().unwrap();
                (verb.to_owned(), line.rsplit(' ').next().unwrap().parse().unwrap())
            })
            .collect()
    }

    fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.plot.landscape.control_plane.clone(), &self.plot.namespace)
    }

    fn byoc(&self, secret: &str, key: Option<&str>) -> Key {
        let reference = SecretKeyReference { name: secret.to_owned(), key: key.map(str::to_owned) };
        Key::byoc(&self.plot.namespace, &reference)
    }

    /// Puts a kubeconfig into a Secret.
    async fn bring(&self, name: &str, key: &str, kubeconfig: &str) -> Result<(), Fault> {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "stringData": { key: kubeconfig },
        });
        let parameters = PatchParams::apply("test").force();
        self.secrets().patch(name, &parameters, &Patch::Apply(secret)).await?;
        Ok(())
    }

    /// The kubeconfig of the Shoot that users can have, as a text.
    async fn kubeconfig(&self, access: KubeconfigAccess) -> Result<String, Fault> {
        Ok(serde_json::to_string(&self.plot.kubeconfig(NAME, access).await?)?)
    }
}

async fn create_shoot(plot: &Plot, name: &str) -> Result<Key, Fault> {
    plot.add_account("account", Provider::Aws, json!({})).await?;
    let mut shoot: Value =
        serde_saphyr::from_str(include_str!("../../../../landscape/manifests/shoots/aws.yaml"))?;
    shoot["metadata"] = json!({ "name": name, "namespace": plot.garden_namespace });
    shoot["spec"]["credentialsBindingName"] = json!("account");
    let shoot: Shoot = serde_json::from_value(shoot)?;
    let shoot = plot.create_shoot(&shoot).await?;
    Ok(Key::shoot(name, shoot.uid().unwrap()))
}

/// A client that writes down what is posted.
fn listening(client: Client, posted: Arc<Mutex<Vec<String>>>) -> Client {
    let service = tower::service_fn(move |request: Request<Body>| {
        if request.method() == http::Method::POST {
            posted.lock().unwrap().push(request.uri().path().to_owned());
        }
        let client = client.clone();
        async move { client.send(request).await }
    });
    Client::new(service, "default")
}

/// What a kubeconfig keeps secret.
fn secret(given: &Given) -> String {
    use secrecy::ExposeSecret;
    match &given.credentials {
        Credentials::Token(token) => token.expose_secret().to_owned(),
        Credentials::Certificate { certificate: _, key } => key.expose_secret().to_owned(),
    }
}

/// Waits until a user may do everything in a cluster, or may not.
async fn is_admin(reached: &Reached, user: &str, expected: bool) -> Result<(), Fault> {
    let api = Api::<SubjectAccessReview>::all(reached.client.clone());
    until(&format!("{user} is an administrator: {expected}"), async || {
        let attributes = json!({ "verb": "*", "group": "*", "resource": "*" });
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": { "user": user, "resourceAttributes": attributes },
        });
        let review = serde_json::from_value(review).unwrap();
        let answer = api.create(&PostParams::default(), &review).await.map_err(|error| error.to_string())?;
        let allowed = answer.status.is_some_and(|status| status.allowed);
        if allowed == expected { Ok(()) } else { Err(format!("allowed: {allowed}")) }
    })
    .await
}

/// Administrators come and go with the list; what was deleted or changed by hand is put back; bindings of others stay.
pub(crate) async fn administrators_are_who_the_list_says(landscape: Landscape) -> Outcome {
    let field = Field::new(&landscape).await?;
    let reached = field.reach().await?;
    // Shoots of all plots lead to the same servers.
    let plot = field.plot.project.clone();
    let owner = Owner::new(&plot, "cluster");
    let user = |name: &str| format!("{name}@{plot}");
    let list = |names: &[&str]| -> Vec<String> { names.iter().map(|name| user(name)).collect() };
    let bindings = Api::<ClusterRoleBinding>::all(reached.client.clone());
    let theirs = |name: &str, labels: Value| -> ClusterRoleBinding {
        serde_json::from_value(json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": { "name": name, "labels": labels },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view" },
            "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user("other") }],
        }))
        .unwrap()
    };
    let stay = [
        (format!("{plot}-labelled"), json!({ (label::ADMINISTRATOR): owner.mark() })),
        (format!("{plot}-unlabelled"), json!({})),
        (Owner::new(&plot, "other").binding_name("x"), json!({ (label::ADMINISTRATOR): "other" })),
    ];
    for (name, labels) in &stay {
        bindings.create(&PostParams::default(), &theirs(name, labels.clone())).await?;
    }
    let apply = async |names: &[&str]| apply(&reached, &owner, &list(names)).await;

    assert_eq!(apply(&["jane", "joe"]).await?, Applied { created: 2, removed: 0 });
    is_admin(&reached, &user("jane"), true).await?;
    is_admin(&reached, &user("joe"), true).await?;

    let before = field.calls();
    assert_eq!(apply(&["joe", "jane", "joe"]).await?, Applied::default());
    let mut expected = before.clone();
    expected.iter_mut().find(|(verb, _)| verb == "list").unwrap().1 += 1;
    assert_eq!(field.calls(), expected, "one list, and nothing else");

    bindings.delete(&owner.binding_name(&user("jane")), &DeleteParams::default()).await?;
    assert_eq!(apply(&["jane", "joe"]).await?, Applied { created: 1, removed: 0 });
    let nobody = Patch::Merge(json!({ "subjects": [] }));
    bindings.patch(&owner.binding_name(&user("jane")), &PatchParams::default(), &nobody).await?;
    assert_eq!(apply(&["jane", "joe"]).await?, Applied { created: 1, removed: 1 });
    is_admin(&reached, &user("jane"), true).await?;

    assert_eq!(apply(&["joe"]).await?, Applied { created: 0, removed: 1 });
    is_admin(&reached, &user("jane"), false).await?;
    assert_eq!(apply(&[]).await?, Applied { created: 0, removed: 1 });
    is_admin(&reached, &user("joe"), false).await?;
    for (name, _) in &stay {
        assert!(bindings.get_opt(name).await?.is_some(), "{name}");
        bindings.delete(name, &DeleteParams::default()).await?;
    }
    Ok(())
}

/// A binding that has the name that we need is used if it grants the same, and told about if it does not.
pub(crate) async fn a_binding_in_the_way_is_told_about(landscape: Landscape) -> Outcome {
    let field = Field::new(&landscape).await?;
    let reached = field.reach().await?;
    let owner = Owner::new(&field.plot.project, "cluster");
    let users = vec![format!("jane@{}", field.plot.project)];
    assert_eq!(apply(&reached, &owner, &users).await?.created, 1);
    let name = owner.binding_name(&users[0]);
    let bindings = Api::<ClusterRoleBinding>::all(reached.client.clone());
    let patch = async |patch: Value| {
        bindings.patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await.map(|_| ())
    };
    patch(json!({ "metadata": { "labels": { (label::ADMINISTRATOR): null } } })).await?;
    assert_eq!(apply(&reached, &owner, &users).await?, Applied::default());
    patch(json!({ "subjects": [] })).await?;
    let trouble = apply(&reached, &owner, &users).await.unwrap_err();
    assert!(matches!(&trouble, TargetTrouble::Taken { what, .. } if what.contains(&name)), "{trouble}");
    bindings.delete(&name, &DeleteParams::default()).await?;
    Ok(())
}

/// However many need a cluster at once, Gardener makes one kubeconfig, which is used until most of its life is over.
pub(crate) async fn one_kubeconfig_serves_all_who_ask(landscape: Landscape) -> Outcome {
    let field = Field::new(&landscape).await?;
    for reached in join_all((0..20).map(|_| field.targets.reach(&field.shoot))).await {
        reached?;
    }
    assert_eq!((field.posted(), field.made()), (1, 1));
    for _ in 0..9 {
        field.later(50);
        field.reach().await?;
    }
    assert_eq!(field.posted(), 1, "at 450 of 600 seconds");
    field.later(40);
    field.reach().await?;
    assert_eq!(field.posted(), 2, "at 490 of 600 seconds");
    field.later(61);
    field.targets.tidy();
    assert_eq!(field.targets.kept(), 0, "nobody used it for a minute");
    field.reach().await?;
    field.targets.forget(&field.shoot);
    let reached = field.reach().await?;
    assert_eq!(field.posted(), 4);
    assert!(check(&reached).await?.is_admin);
    let text = field.metrics.text();
    assert!(text.contains("allotment_admin_kubeconfigs_total{outcome=\"issued\"} 4"), "{text}");
    Ok(())
}

/// Credentials that a cluster no longer takes, and a certificate that is not the expected one, make us fetch anew.
pub(crate) async fn stale_access_is_forgotten(landscape: Landscape) -> Outcome {
    let stale = |number: usize, given: &mut Given| match number {
        1 => given.credentials = Credentials::Token("wrong".into()),
        2 => given.ca = Some(include_str!("other-ca.pem").to_owned()),
        _ => {}
    };
    let field = Field::with(landscape.plot().await?, stale).await?.ready().await?;
    let trouble = check(&field.reach().await?).await.unwrap_err();
    assert!(matches!(trouble, TargetTrouble::Unauthorized { .. }), "{trouble}");
    assert_eq!((field.targets.kept(), field.posted()), (0, 1));
    let trouble = check(&field.reach().await?).await.unwrap_err();
    assert!(matches!(trouble, TargetTrouble::Untrusted { .. }), "{trouble:?}");
    assert_eq!((field.targets.kept(), field.posted()), (0, 2));
    let standing = check(&field.reach().await?).await?;
    assert!(standing.is_admin, "{standing:?}");
    assert_eq!((field.targets.kept(), field.posted()), (1, 3));
    Ok(())
}

/// A Shoot that is not ready, is not there, or is another one.
pub(crate) async fn a_shoot_that_cannot_be_reached_says_why(landscape: Landscape) -> Outcome {
    let field = Field::with(landscape.plot_without_gardenlet().await?, |_, _| {}).await?;
    let reach = async |key: &Key| field.targets.reach(key).await.unwrap_err();
    let trouble = reach(&field.shoot).await;
    assert!(matches!(trouble, TargetTrouble::NotReady { .. }), "{trouble}");
    let address =
        json!({ "status": { "advertisedAddresses": [{ "name": "external", "url": "https://a" }] } });
    let shoots = field.plot.shoots();
    shoots.patch_status(NAME, &PatchParams::default(), &Patch::Merge(address)).await?;
    let trouble = reach(&field.shoot).await;
    assert!(matches!(trouble, TargetTrouble::NotReady { .. }), "{trouble}");
    let trouble = reach(&Key::shoot("nobody", "x")).await;
    assert!(matches!(trouble, TargetTrouble::NoShoot { .. }), "{trouble}");
    assert_eq!(field.targets.kept(), 0);

    let field = Field::new(&landscape).await?;
    let trouble = field.targets.reach(&Key::shoot(NAME, "another")).await.unwrap_err();
    assert!(matches!(trouble, TargetTrouble::OtherShoot { .. }), "{trouble}");
    assert_eq!(field.targets.kept(), 0);
    Ok(())
}

/// A cluster that a user brought works as soon as its kubeconfig does, and a new one is used at once.
pub(crate) async fn a_cluster_that_was_brought_is_reached(landscape: Landscape) -> Outcome {
    let field = Field::new(&landscape).await?;
    let key = field.byoc("mine", None);
    let trouble = field.targets.reach(&key).await.unwrap_err();
    assert!(matches!(trouble, TargetTrouble::NoSecret { .. }), "{trouble}");
    field.bring("mine", "other", "").await?;
    let trouble = field.targets.reach(&key).await.unwrap_err();
    assert!(matches!(trouble, TargetTrouble::NoSecretKey { .. }), "{trouble}");

    let viewer = field.kubeconfig(KubeconfigAccess::Viewer).await?;
    field.bring("mine", "kubeconfig", &viewer).await?;
    let standing = check(&field.targets.reach(&key).await?).await?;
    assert!(!standing.is_admin, "{standing:?}");
    field.bring("mine", "kubeconfig", &field.kubeconfig(KubeconfigAccess::Admin).await?).await?;
    let standing = check(&field.targets.reach(&key).await?).await?;
    assert!(standing.is_admin && standing.version.starts_with("1."), "{standing:?}");
    assert!(
        standing.user.as_ref().is_some_and(|user| user.starts_with("gardener.cloud:admin:")),
        "{standing:?}"
    );
    for reached in join_all((0..5).map(|_| field.targets.reach(&key))).await {
        reached?;
    }
    assert_eq!(field.made(), 2, "one client for each kubeconfig");

    for (change, refused) in [
        (json!({ "users": [{ "name": "x", "user": { "exec": { "command": "true" } } }] }), "exec"),
        (json!({ "current-context": "nowhere" }), "current-context"),
    ] {
        let mut bad: Value = serde_json::from_str(&viewer)?;
        bad.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        field.bring("mine", "kubeconfig", &bad.to_string()).await?;
        let trouble = field.targets.reach(&key).await.unwrap_err();
        assert!(matches!(trouble, TargetTrouble::Refused { .. }), "{trouble}");
        assert!(trouble.to_string().contains(refused) && trouble.is_lasting(), "{trouble}");
    }
    assert_eq!(field.targets.kept(), 0, "what was there before is not used any more");
    Ok(())
}

/// Whatever keeps us from a cluster that was brought, its tenant learns the same: who chooses the address would else learn what
/// is in our network.
pub(crate) async fn a_cluster_that_was_brought_says_nothing_of_our_network(landscape: Landscape) -> Outcome {
    let field = Field::new(&landscape).await?;
    let key = field.byoc("mine", None);
    let good: Value = serde_json::from_str(&field.kubeconfig(KubeconfigAccess::Admin).await?)?;
    let with = |pointer: &str, value: Value| {
        let mut changed = good.clone();
        *changed.pointer_mut(pointer).expect("it is there") = value;
        changed
    };
    let server = "/clusters/0/cluster/server";
    let address = good.pointer(server).and_then(Value::as_str).unwrap_or_default().to_owned();
    let ca = BASE64_STANDARD.encode(include_str!("other-ca.pem"));
    let told = [
        ("nobody listens", with(server, json!("https://127.0.0.1:1"))),
        ("no such name", with(server, json!("https://nowhere.invalid"))),
        ("another CA", with("/clusters/0/cluster/certificate-authority-data", json!(ca))),
        ("not known", with("/users/0/user", json!({ "token": "wrong" }))),
        ("another path", with(server, json!(format!("{address}/elsewhere")))),
        ("link-local", with(server, json!("https://169.254.169.254"))),
        ("unspecified", with(server, json!("https://0.0.0.0:6443"))),
        ("metadata", with(server, json!("https://[fd00:ec2::254]"))),
    ];
    for (case, kubeconfig) in told {
        field.bring("mine", "kubeconfig", &kubeconfig.to_string()).await?;
        let trouble = check(&field.targets.reach(&key).await?).await.unwrap_err();
        assert_eq!(trouble.to_string(), "the cluster cannot be reached", "{case}");
        assert!(!trouble.is_lasting(), "{case}");
    }
    field.bring("mine", "kubeconfig", &good.to_string()).await?;
    assert!(check(&field.targets.reach(&key).await?).await?.is_admin);

    // Without `byoc.allow` nothing on this machine is dialled.
    let strict = Targets::new(Parts {
        garden: field.plot.landscape.garden.clone(),
        garden_namespace: field.plot.garden_namespace.clone(),
        control_plane: field.plot.landscape.control_plane.clone(),
        clock: Clock::system(),
        connect: Connect::over_https(&field.metrics),
        metrics: field.metrics.clone(),
    });
    let trouble = check(&strict.reach(&key).await?).await.unwrap_err();
    assert_eq!(trouble.to_string(), "the cluster cannot be reached");
    // Shoots are where Gardener says.
    assert!(check(&strict.reach(&field.shoot).await?).await?.is_admin);
    Ok(())
}

/// After work in a cluster, its admin kubeconfig is in no object anywhere.
pub(crate) async fn admin_kubeconfigs_are_written_nowhere(landscape: Landscape) -> Outcome {
    let field = Field::new(&landscape).await?;
    let reached = field.reach().await?;
    let owner = Owner::new(&field.plot.project, "cluster");
    let users = vec![format!("jane@{}", field.plot.project)];
    apply(&reached, &owner, &users).await?;
    check(&reached).await?;
    let key = field.given.lock().unwrap()[0].clone();
    let needle = key.lines().nth(3).unwrap();
    // It would be found.
    field.bring("leak", "kubeconfig", &field.kubeconfig(KubeconfigAccess::Admin).await?).await?;
    let leak = serde_json::to_value(field.secrets().get("leak").await?)?;
    assert!(Search::of(["PRIVATE KEY"]).in_value(&leak).is_some());
    for (server, client) in [
        ("the garden", field.plot.landscape.garden.clone()),
        ("the control plane", field.plot.landscape.control_plane.clone()),
        ("the cluster", reached.client.clone()),
    ] {
        let all = every_object(&client).await?;
        assert!(all.len() > 10, "{} objects in {server}", all.len());
        assert_eq!(in_objects(&Search::of([needle]), &all)?, [] as [&str; 0], "in {server}");
    }
    apply(&reached, &owner, &[]).await?;
    Ok(())
}
