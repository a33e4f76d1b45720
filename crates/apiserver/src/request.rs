//! What a request asks for: its path and its query, taken apart.

use crate::error::{ApiError, FieldError, FieldErrorKind};
use http::Method;
use percent_encoding::percent_decode_str;
use std::collections::BTreeMap;

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// `/healthz`, `/version`, `/openapi/v3`, …: what is not about resources.
    Other(String),
    /// `/api`, `/apis`, `/api/v1`, `/apis/apps`, `/apis/apps/v1`.
    Discovery {
        /// Nothing for `/api` and `/apis`; the group, empty for the core group, otherwise.
        group: Option<String>,
        /// Nothing for the list of a group's versions.
        version: Option<String>,
        /// Whether it is below `/api`.
        legacy: bool,
    },
    /// An object, or all objects of a kind.
    Resource(ResourceRoute),
}

/// The parts of a path that leads to objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResourceRoute {
    pub(crate) group: String,
    pub(crate) version: String,
    /// Empty for the whole cluster, or all namespaces.
    pub(crate) namespace: String,
    pub(crate) plural: String,
    /// Empty for all objects.
    pub(crate) name: String,
    /// Empty for the object itself.
    pub(crate) subresource: String,
    /// Whether the path itself asks for a watch, as clients did long ago.
    pub(crate) watch: bool,
}

/// Takes a path apart.
pub(crate) fn route(path: &str) -> Result<Route, ApiError> {
    let decoded = percent_decode_str(path).decode_utf8().map_err(|_| ApiError::no_such_path())?;
    let parts: Vec<&str> = decoded.split('/').skip(1).filter(|part| !part.is_empty()).collect();
    let discovery = |group: Option<&str>, version: Option<&str>, legacy| Route::Discovery {
        group: group.map(str::to_owned),
        version: version.map(str::to_owned),
        legacy,
    };
    Ok(match parts.as_slice() {
        ["api"] => discovery(None, None, true),
        ["apis"] => discovery(None, None, false),
        ["api", version] => discovery(Some(""), Some(version), true),
        ["apis", group] => discovery(Some(group), None, false),
        ["apis", group, version] => discovery(Some(group), Some(version), false),
        ["api", version, rest @ ..] => Route::Resource(resource("", version, rest)?),
        ["apis", group, version, rest @ ..] => Route::Resource(resource(group, version, rest)?),
        _ => Route::Other(decoded.into_owned()),
    })
}

fn resource(group: &str, version: &str, rest: &[&str]) -> Result<ResourceRoute, ApiError> {
    let (watch, rest) = match rest {
        ["watch", rest @ ..] if !rest.is_empty() => (true, rest),
        rest => (false, rest),
    };
    let (namespace, rest) = match rest {
        // The namespace itself, and what is below it.
        ["namespaces", _] | ["namespaces", _, "status" | "finalize"] => ("", rest),
        ["namespaces", namespace, rest @ ..] => (*namespace, rest),
        rest => ("", rest),
    };
    let (plural, name, subresource) = match rest {
        [plural] => (*plural, "", ""),
        [plural, name] => (*plural, *name, ""),
        [plural, name, subresource] => (*plural, *name, *subresource),
        _ => return Err(ApiError::no_such_path()),
    };
    let own = str::to_owned;
    Ok(ResourceRoute {
        group: own(group),
        version: own(version),
        namespace: own(namespace),
        plural: own(plural),
        name: own(name),
        subresource: own(subresource),
        watch,
    })
}

/// The query of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(BTreeMap<String, String>);

impl Query {
    pub(crate) fn parse(text: &str) -> Self {
        let mut fields = BTreeMap::new();
        for (key, value) in form_urlencoded::parse(text.as_bytes()) {
            fields.entry(key.into_owned()).or_insert_with(|| value.into_owned());
        }
        Self(fields)
    }

    /// A field; one that is empty counts as not given.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// A flag: given and not false.
    pub(crate) fn flag(&self, key: &str) -> bool {
        self.0
            .get(key)
            .is_some_and(|value| !matches!(value.as_str(), "0" | "false" | "False" | "FALSE" | "f" | "F"))
    }

    pub(crate) fn number(&self, key: &str) -> Result<Option<u64>, ApiError> {
        let Some(text) = self.get(key) else { return Ok(None) };
        // What is below zero is not asked for.
        text.parse::<i64>()
            .map(|number| u64::try_from(number).ok())
            .map_err(|_| ApiError::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax")))
    }

    /// Whether nothing is to be kept. `options` is what the real server calls the options of the request.
    pub(crate) fn dry_run(&self, options: &str) -> Result<bool, ApiError> {
        match self.get("dryRun") {
            None => Ok(false),
            Some("All") => Ok(true),
            Some(other) => {
                let detail = "supported values: \"All\"";
                let error = FieldError::new("dryRun", FieldErrorKind::NotSupported, vec![other], detail);
                Err(ApiError::invalid("meta.k8s.io", options, "", vec![error]))
            }
        }
    }
}

/// What is done to a resource, in RBAC's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
}

impl Verb {
    pub(crate) fn of(method: &Method, route: &ResourceRoute, query: &Query) -> Option<Self> {
        let one = !route.name.is_empty();
        Some(match *method {
            Method::GET | Method::HEAD if route.watch => Self::Watch,
            // One object is read, whatever the query says.
            Method::GET | Method::HEAD if one => Self::Get,
            Method::GET | Method::HEAD if query.flag("watch") => Self::Watch,
            Method::GET | Method::HEAD => Self::List,
            Method::POST => Self::Create,
            Method::PUT => Self::Update,
            Method::PATCH => Self::Patch,
            Method::DELETE if one => Self::Delete,
            Method::DELETE => Self::DeleteCollection,
            _ => return None,
        })
    }

    /// What the real server calls the options of such a request.
    pub(crate) fn options(self) -> &'static str {
        match self {
            Self::Create => "CreateOptions",
            Self::Update => "UpdateOptions",
            Self::Patch => "PatchOptions",
            Self::Delete | Self::DeleteCollection => "DeleteOptions",
            Self::Get | Self::List | Self::Watch => "ListOptions",
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(path: &str) -> [String; 6] {
        match route(path).unwrap() {
            Route::Resource(ResourceRoute {
                group, version, namespace, plural, name, subresource, ..
            }) => [group, version, namespace, plural, name, subresource],
            other => panic!("{path}: {other:?}"),
        }
    }

    #[test]
    fn paths_are_taken_apart() {
        assert_eq!(parts("/api/v1/configmaps"), ["", "v1", "", "configmaps", "", ""]);
        assert_eq!(parts("/api/v1/namespaces"), ["", "v1", "", "namespaces", "", ""]);
        assert_eq!(parts("/api/v1/namespaces/a"), ["", "v1", "", "namespaces", "a", ""]);
        assert_eq!(parts("/api/v1/namespaces/a/finalize"), ["", "v1", "", "namespaces", "a", "finalize"]);
        assert_eq!(parts("/api/v1/namespaces/a/secrets/b"), ["", "v1", "a", "secrets", "b", ""]);
        assert_eq!(
            parts("/apis/g.io/v1/namespaces/a/shoots/b/adminkubeconfig"),
            ["g.io", "v1", "a", "shoots", "b", "adminkubeconfig"]
        );
        assert_eq!(
            parts("/apis/rbac/v1/clusterroles/system:a%2Fb"),
            ["rbac", "v1", "", "clusterroles", "system:a", "b"]
        );
        assert!(matches!(route("/apis/g/v1").unwrap(), Route::Discovery { .. }));
        assert!(matches!(route("/healthz").unwrap(), Route::Other(_)));
        assert!(route("/api/v1/a/b/c/d/e").is_err());
    }
}
