//! Who may log in to a Cluster by OpenID Connect.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An OpenID Connect issuer that the cluster trusts. Nothing here is checked on the way in but for its size: what the
/// issuer must be like is checked when it is rolled out, and a condition names the field.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OidcConfig {
    /// The client that tokens must be issued for.
    #[serde(default, rename = "clientID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub client_id: Option<String>,
    /// The claim with the groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub groups_claim: Option<String>,
    /// Put before every group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub groups_prefix: Option<String>,
    /// The issuer; must be https to be rolled out.
    #[serde(default, rename = "issuerURL", skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048))]
    pub issuer_url: Option<String>,
    /// Signing algorithms. The API server accepts its own list, which cannot be narrowed; a condition says so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(length(min = 1, max = 16)))]
    pub signing_algs: Vec<String>,
    /// The claim with the user name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub username_claim: Option<String>,
    /// Put before every user name; `-` for nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub username_prefix: Option<String>,
    /// Claims that a token must have, with these values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 16))]
    pub required_claims: BTreeMap<String, String>,
    /// The CA of the issuer, in PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 65536))]
    pub ca_bundle: Option<String>,
}
