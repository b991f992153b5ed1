//! Authentication of clients: passwords, or a service that decides.

use serde::Serialize;

use crate::{ExternalAuth, HeaderName, SecretId, Sensitive, is_default};

/// Authentication that a route requires.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Authentication {
    /// Tenant that requires it: the cost is shared fairly among tenants.
    pub tenant: String,
    /// Authentication by name and password.
    #[serde(skip_serializing_if = "is_default")]
    pub passwords: Option<PasswordAuth>,
    /// External authentication.
    #[serde(skip_serializing_if = "is_default")]
    pub external: Option<ExternalAuth>,
    /// nginx's `satisfy any`: an allowed address or successful authentication is enough. Otherwise both are required.
    #[serde(skip_serializing_if = "is_default")]
    pub satisfy_any: bool,
}

/// Names and passwords of known users.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PasswordAuth {
    /// Scheme that clients use.
    pub scheme: PasswordScheme,
    /// Realm that browsers show.
    pub realm: String,
    /// Known users: one of [`crate::Config::users`].
    pub users: SecretId,
    /// Headers of requests to upstreams with the name of the user, of [`PasswordScheme::Basic`]; each is also in
    /// [`crate::Policy::auth_headers`].
    #[serde(skip_serializing_if = "is_default")]
    pub user_headers: Vec<HeaderName>,
}

/// A file of users, in the format of its scheme.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UserFile {
    /// Scheme that it is for.
    pub scheme: PasswordScheme,
    /// A user in each line.
    pub text: Sensitive,
}

/// How clients prove that they know a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum PasswordScheme {
    /// RFC 7617. Files have a name and the hash of a password in each line.
    Basic,
    /// RFC 7616. Files have a name, a realm and a hash of both with the password in each line.
    Digest,
}
