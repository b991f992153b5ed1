//! Authentication of clients: passwords, or a service that decides.

use serde::Serialize;

use crate::{ExternalAuth, SecretId, is_default};

/// Authentication that a route requires.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Authentication {
    /// Tenant that requires it: the cost is shared fairly among tenants.
    pub tenant: String,
    /// Basic authentication.
    #[serde(skip_serializing_if = "is_default")]
    pub basic: Option<BasicAuth>,
    /// External authentication.
    #[serde(skip_serializing_if = "is_default")]
    pub external: Option<ExternalAuth>,
    /// nginx's `satisfy any`: an allowed address or successful authentication is enough. Otherwise both are required.
    #[serde(skip_serializing_if = "is_default")]
    pub satisfy_any: bool,
}

/// RFC 7617.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BasicAuth {
    /// Realm that browsers show.
    pub realm: String,
    /// Known users: one of [`crate::Config::users`].
    pub users: SecretId,
}
