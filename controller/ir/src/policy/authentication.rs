//! Who may come in, by what they know or what a service says.

use serde::Serialize;

use crate::{ExternalAuth, SecretId, is_default};

/// What is asked of a client, beside where it comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Authentication {
    /// Who asks for it: what that costs is shared fairly among tenants.
    pub tenant: String,
    /// A name and a password.
    #[serde(skip_serializing_if = "is_default")]
    pub basic: Option<BasicAuth>,
    /// What a service says.
    #[serde(skip_serializing_if = "is_default")]
    pub external: Option<ExternalAuth>,
    /// One thing is enough: an address that is allowed, or what is asked for here. Without this all of it is needed.
    #[serde(skip_serializing_if = "is_default")]
    pub satisfy_any: bool,
}

/// RFC 7617.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BasicAuth {
    /// What browsers show to whoever is asked.
    pub realm: String,
    /// Who is known: one of [`crate::Config::users`].
    pub users: SecretId,
}
