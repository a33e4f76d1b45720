//! The fields of the kinds that can be sent in protobuf, by the numbers that Kubernetes has given them.

/// A message.
#[derive(Debug)]
pub(super) struct Message(pub(super) &'static [Field]);

/// A field of a message.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) number: u32,
    /// As JSON has it.
    pub(super) name: &'static str,
    pub(super) is: Type,
    /// Whether there may be several.
    pub(super) is_list: bool,
    /// Whether it was left out if it is not there; others are always sent.
    pub(super) is_pointer: bool,
    /// It is a map from texts to these.
    pub(super) map: Option<&'static Type>,
}

/// What is in a field.
#[derive(Debug)]
pub(super) enum Type {
    Text,
    Bytes,
    Flag,
    Number,
    Time {
        with_micros: bool,
    },
    /// JSON, as bytes in a message of its own.
    Json,
    /// A list of texts in a message of its own.
    Texts,
    Message(&'static Message),
}

const fn field(number: u32, name: &'static str, is: Type) -> Field {
    Field { number, name, is, is_list: false, is_pointer: false, map: None }
}

const fn text(number: u32, name: &'static str) -> Field {
    field(number, name, Type::Text)
}

const fn number(number: u32, name: &'static str) -> Field {
    field(number, name, Type::Number)
}

const fn flag(number: u32, name: &'static str) -> Field {
    field(number, name, Type::Flag)
}

const fn time(number: u32, name: &'static str) -> Field {
    field(number, name, Type::Time { with_micros: false })
}

const fn micro_time(number: u32, name: &'static str) -> Field {
    field(number, name, Type::Time { with_micros: true })
}

const fn message(number: u32, name: &'static str, of: &'static Message) -> Field {
    field(number, name, Type::Message(of))
}

const fn list(field: Field) -> Field {
    Field { is_list: true, ..field }
}

const fn texts(number: u32, name: &'static str) -> Field {
    list(text(number, name))
}

const fn pointer(field: Field) -> Field {
    Field { is_pointer: true, ..field }
}

const fn map(number: u32, name: &'static str, of: &'static Type) -> Field {
    Field { map: Some(of), ..field(number, name, Type::Text) }
}

/// The message of a kind.
pub(super) fn of_kind(version: &str, kind: &str) -> Option<&'static Message> {
    Some(match (version, kind) {
        ("v1", "ConfigMap") => &CONFIG_MAP,
        ("v1", "Secret") => &SECRET,
        ("v1", "Namespace") => &NAMESPACE,
        ("v1", "ServiceAccount") => &SERVICE_ACCOUNT,
        ("v1", "Event") => &CORE_EVENT,
        ("events.k8s.io/v1", "Event") => &EVENT,
        ("coordination.k8s.io/v1", "Lease") => &LEASE,
        ("rbac.authorization.k8s.io/v1", "Role" | "ClusterRole") => &ROLE,
        ("rbac.authorization.k8s.io/v1", "RoleBinding" | "ClusterRoleBinding") => &ROLE_BINDING,
        ("authentication.k8s.io/v1", "TokenRequest") => &TOKEN_REQUEST,
        ("authentication.k8s.io/v1", "TokenReview") => &TOKEN_REVIEW,
        ("authentication.k8s.io/v1", "SelfSubjectReview") => &SELF_SUBJECT_REVIEW,
        (
            "authorization.k8s.io/v1",
            "SelfSubjectAccessReview" | "SubjectAccessReview" | "LocalSubjectAccessReview",
        ) => &ACCESS_REVIEW,
        ("authorization.k8s.io/v1", "SelfSubjectRulesReview") => &RULES_REVIEW,
        (_, "DeleteOptions") => &DELETE_OPTIONS,
        _ => return None,
    })
}

pub(super) static ENVELOPE: Message = Message(&[
    message(1, "typeMeta", &Message(&[text(1, "apiVersion"), text(2, "kind")])),
    field(2, "raw", Type::Bytes),
    text(3, "contentEncoding"),
    text(4, "contentType"),
]);

pub(super) static TIME: Message = Message(&[number(1, "seconds"), number(2, "nanos")]);
pub(super) static RAW: Message = Message(&[field(1, "raw", Type::Bytes)]);
pub(super) static TEXTS: Message = Message(&[texts(1, "items")]);

static OBJECT_META: Message = Message(&[
    text(1, "name"),
    text(2, "generateName"),
    text(3, "namespace"),
    text(4, "selfLink"),
    text(5, "uid"),
    text(6, "resourceVersion"),
    number(7, "generation"),
    time(8, "creationTimestamp"),
    time(9, "deletionTimestamp"),
    pointer(number(10, "deletionGracePeriodSeconds")),
    map(11, "labels", &Type::Text),
    map(12, "annotations", &Type::Text),
    list(message(13, "ownerReferences", &OWNER_REFERENCE)),
    texts(14, "finalizers"),
    list(message(17, "managedFields", &MANAGED_FIELDS)),
]);

static OWNER_REFERENCE: Message = Message(&[
    text(1, "kind"),
    text(3, "name"),
    text(4, "uid"),
    text(5, "apiVersion"),
    pointer(flag(6, "controller")),
    pointer(flag(7, "blockOwnerDeletion")),
]);

static MANAGED_FIELDS: Message = Message(&[
    text(1, "manager"),
    text(2, "operation"),
    text(3, "apiVersion"),
    time(4, "time"),
    text(6, "fieldsType"),
    field(7, "fieldsV1", Type::Json),
    text(8, "subresource"),
]);

static OBJECT_REFERENCE: Message = Message(&[
    text(1, "kind"),
    text(2, "namespace"),
    text(3, "name"),
    text(4, "uid"),
    text(5, "apiVersion"),
    text(6, "resourceVersion"),
    text(7, "fieldPath"),
]);

static CONFIG_MAP: Message = Message(&[
    message(1, "metadata", &OBJECT_META),
    map(2, "data", &Type::Text),
    map(3, "binaryData", &Type::Bytes),
    pointer(flag(4, "immutable")),
]);

static SECRET: Message = Message(&[
    message(1, "metadata", &OBJECT_META),
    map(2, "data", &Type::Bytes),
    text(3, "type"),
    map(4, "stringData", &Type::Text),
    pointer(flag(5, "immutable")),
]);

static NAMESPACE: Message = Message(&[
    message(1, "metadata", &OBJECT_META),
    message(2, "spec", &Message(&[texts(1, "finalizers")])),
    message(3, "status", &Message(&[text(1, "phase"), list(message(2, "conditions", &NAMESPACE_CONDITION))])),
]);

static NAMESPACE_CONDITION: Message = Message(&[
    text(1, "type"),
    text(2, "status"),
    time(4, "lastTransitionTime"),
    text(5, "reason"),
    text(6, "message"),
]);

static SERVICE_ACCOUNT: Message = Message(&[
    message(1, "metadata", &OBJECT_META),
    list(message(2, "secrets", &OBJECT_REFERENCE)),
    list(message(3, "imagePullSecrets", &Message(&[text(1, "name")]))),
    pointer(flag(4, "automountServiceAccountToken")),
]);

static EVENT_SOURCE: Message = Message(&[text(1, "component"), text(2, "host")]);
static EVENT_SERIES: Message = Message(&[number(1, "count"), micro_time(2, "lastObservedTime")]);

static CORE_EVENT: Message = Message(&[
    message(1, "metadata", &OBJECT_META),
    message(2, "involvedObject", &OBJECT_REFERENCE),
    text(3, "reason"),
    text(4, "message"),
    message(5, "source", &EVENT_SOURCE),
    time(6, "firstTimestamp"),
    time(7, "lastTimestamp"),
    number(8, "count"),
    text(9, "type"),
    micro_time(10, "eventTime"),
    message(11, "series", &EVENT_SERIES),
    text(12, "action"),
    message(13, "related", &OBJECT_REFERENCE),
    text(14, "reportingComponent"),
    text(15, "reportingInstance"),
]);

static EVENT: Message = Message(&[
    message(1, "metadata", &OBJECT_META),
    micro_time(2, "eventTime"),
    message(3, "series", &EVENT_SERIES),
    text(4, "reportingController"),
    text(5, "reportingInstance"),
    text(6, "action"),
    text(7, "reason"),
    message(8, "regarding", &OBJECT_REFERENCE),
    message(9, "related", &OBJECT_REFERENCE),
    text(10, "note"),
    text(11, "type"),
    message(12, "deprecatedSource", &EVENT_SOURCE),
    time(13, "deprecatedFirstTimestamp"),
    time(14, "deprecatedLastTimestamp"),
    number(15, "deprecatedCount"),
]);

static LEASE: Message = Message(&[
    message(1, "metadata", &OBJECT_META),
    message(
        2,
        "spec",
        &Message(&[
            pointer(text(1, "holderIdentity")),
            pointer(number(2, "leaseDurationSeconds")),
            micro_time(3, "acquireTime"),
            micro_time(4, "renewTime"),
            pointer(number(5, "leaseTransitions")),
            pointer(text(6, "strategy")),
            pointer(text(7, "preferredHolder")),
        ]),
    ),
]);

static POLICY_RULE: Message = Message(&[
    texts(1, "verbs"),
    texts(2, "apiGroups"),
    texts(3, "resources"),
    texts(4, "resourceNames"),
    texts(5, "nonResourceURLs"),
]);

static REQUIREMENT: Message = Message(&[text(1, "key"), text(2, "operator"), texts(3, "values")]);

static LABEL_SELECTOR: Message =
    Message(&[map(1, "matchLabels", &Type::Text), list(message(2, "matchExpressions", &REQUIREMENT))]);

/// A Role is a ClusterRole without aggregation.
static ROLE: Message = Message(&[
    message(1, "metadata", &OBJECT_META),
    list(message(2, "rules", &POLICY_RULE)),
    message(3, "aggregationRule", &Message(&[list(message(1, "clusterRoleSelectors", &LABEL_SELECTOR))])),
]);

static ROLE_BINDING: Message = Message(&[
    message(1, "metadata", &OBJECT_META),
    list(message(
        2,
        "subjects",
        &Message(&[text(1, "kind"), text(2, "apiGroup"), text(3, "name"), text(4, "namespace")]),
    )),
    message(3, "roleRef", &Message(&[text(1, "apiGroup"), text(2, "kind"), text(3, "name")])),
]);

static TOKEN_REQUEST: Message = Message(&[
    message(1, "metadata", &OBJECT_META),
    message(
        2,
        "spec",
        &Message(&[
            texts(1, "audiences"),
            message(
                3,
                "boundObjectRef",
                &Message(&[text(1, "kind"), text(2, "apiVersion"), text(3, "name"), text(4, "uid")]),
            ),
            pointer(number(4, "expirationSeconds")),
        ]),
    ),
    message(3, "status", &Message(&[text(1, "token"), time(2, "expirationTimestamp")])),
]);

static USER_INFO: Message =
    Message(&[text(1, "username"), text(2, "uid"), texts(3, "groups"), map(4, "extra", &Type::Texts)]);

static TOKEN_REVIEW: Message = Message(&[
    message(1, "metadata", &OBJECT_META),
    message(2, "spec", &Message(&[text(1, "token"), texts(2, "audiences")])),
    message(
        3,
        "status",
        &Message(&[
            flag(1, "authenticated"),
            message(2, "user", &USER_INFO),
            text(3, "error"),
            texts(4, "audiences"),
        ]),
    ),
]);

static SELF_SUBJECT_REVIEW: Message = Message(&[
    message(1, "metadata", &OBJECT_META),
    message(2, "status", &Message(&[message(1, "userInfo", &USER_INFO)])),
]);

static SELECTOR: Message = Message(&[text(1, "rawSelector"), list(message(2, "requirements", &REQUIREMENT))]);

/// The one about oneself has the first two fields of the spec.
static ACCESS_REVIEW: Message = Message(&[
    message(1, "metadata", &OBJECT_META),
    message(
        2,
        "spec",
        &Message(&[
            message(
                1,
                "resourceAttributes",
                &Message(&[
                    text(1, "namespace"),
                    text(2, "verb"),
                    text(3, "group"),
                    text(4, "version"),
                    text(5, "resource"),
                    text(6, "subresource"),
                    text(7, "name"),
                    message(8, "fieldSelector", &SELECTOR),
                    message(9, "labelSelector", &SELECTOR),
                ]),
            ),
            message(2, "nonResourceAttributes", &Message(&[text(1, "path"), text(2, "verb")])),
            text(3, "user"),
            texts(4, "groups"),
            map(5, "extra", &Type::Texts),
            text(6, "uid"),
        ]),
    ),
    message(
        3,
        "status",
        &Message(&[flag(1, "allowed"), text(2, "reason"), text(3, "evaluationError"), flag(4, "denied")]),
    ),
]);

static RULES_REVIEW: Message = Message(&[
    message(1, "metadata", &OBJECT_META),
    message(2, "spec", &Message(&[text(1, "namespace")])),
    message(
        3,
        "status",
        &Message(&[
            list(message(1, "resourceRules", &POLICY_RULE)),
            list(message(2, "nonResourceRules", &Message(&[texts(1, "verbs"), texts(2, "nonResourceURLs")]))),
            flag(3, "incomplete"),
            text(4, "evaluationError"),
        ]),
    ),
]);

static DELETE_OPTIONS: Message = Message(&[
    pointer(number(1, "gracePeriodSeconds")),
    message(2, "preconditions", &Message(&[pointer(text(1, "uid")), pointer(text(2, "resourceVersion"))])),
    pointer(flag(3, "orphanDependents")),
    pointer(text(4, "propagationPolicy")),
    texts(5, "dryRun"),
    pointer(flag(6, "ignoreStoreReadErrorWithClusterBreakingPotential")),
]);
