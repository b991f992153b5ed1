//! Access control of each route, and its users.

use std::collections::HashMap;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use sluice_fair::Key;
use sluice_ir::{
    Authentication, Config, ExternalAuth, HeaderName, HttpRoute, IpAccess, PasswordScheme,
    SecretId, Server, UserFile, changed,
};

/// Access control of one route.
#[derive(Clone, Debug)]
pub(crate) struct RoutePolicy {
    pub(crate) authentication: Authentication,
    pub(crate) access: IpAccess,
    /// Request headers that only an authentication service may set.
    pub(crate) auth_headers: Vec<HeaderName>,
    /// Hash of the external authentication: part of cache keys.
    pub(crate) external: Key,
    /// Data planes send clients to the sign-in page whom a pod answers 401.
    pub(crate) signs_in_again: bool,
}

/// A file of users, and what it says.
#[derive(Debug)]
struct Known {
    file: UserFile,
    users: Users,
}

#[derive(Debug)]
enum Users {
    Basic(sluice_basic_auth::Users),
    Digest(sluice_digest_auth::Users),
}

/// Access control of all routes.
#[derive(Debug, Default)]
pub(crate) struct Policies {
    routes: HashMap<String, RoutePolicy>,
    users: HashMap<SecretId, Arc<Known>>,
    /// Something in it is only for those who have not heard yet.
    pub(crate) lingers: bool,
}

impl Policies {
    /// Policies of these configurations. Unchanged ones are taken from `last`.
    pub(crate) fn from_configs(now: &Config, before: Option<&Config>, last: &Policies) -> Self {
        let mut policies = Policies::default();
        let mut of_now = (0, 0);
        // If both have it, the new one wins.
        for config in [now].into_iter().chain(before) {
            for (id, file) in &config.users {
                let same = last.users.get(id).filter(|known| known.file == *file);
                let known = || same.cloned().unwrap_or_else(|| Arc::new(Known::of(file)));
                policies.users.entry(id.clone()).or_insert_with(known);
            }
            for (id, policy) in config.routes().filter_map(policy_of) {
                policies.routes.entry(id).or_insert(policy);
            }
            if std::ptr::eq(config, now) {
                of_now = (policies.routes.len(), policies.users.len());
            }
        }
        policies.lingers = of_now != (policies.routes.len(), policies.users.len());
        policies
    }

    /// True if nothing that policies are made of has changed.
    pub(crate) fn is_unmoved(before: &Config, now: &Config) -> bool {
        let watches = |server: &Arc<Server>| {
            server
                .routes
                .iter()
                .any(|route| route.policy.authentication.is_some())
        };
        let mut servers = changed(&before.servers, &now.servers)
            .flat_map(|server| [server.before, server.now])
            .flatten();
        before.users == now.users && before.listeners == now.listeners && !servers.any(watches)
    }

    pub(crate) fn route(&self, id: &str) -> Option<&RoutePolicy> {
        self.routes.get(id)
    }

    pub(crate) fn basic_users(&self, id: &SecretId) -> Option<&sluice_basic_auth::Users> {
        match &self.users.get(id)?.users {
            Users::Basic(users) => Some(users),
            Users::Digest(_) => None,
        }
    }

    pub(crate) fn digest_users(&self, id: &SecretId) -> Option<&sluice_digest_auth::Users> {
        match &self.users.get(id)?.users {
            Users::Digest(users) => Some(users),
            Users::Basic(_) => None,
        }
    }
}

impl Known {
    fn of(file: &UserFile) -> Self {
        let text = file.text.reveal();
        let users = match file.scheme {
            PasswordScheme::Basic => Users::Basic(sluice_basic_auth::Users::parse(text)),
            PasswordScheme::Digest => Users::Digest(sluice_digest_auth::Users::parse(text)),
        };
        Known {
            file: file.clone(),
            users,
        }
    }
}

fn policy_of(route: &HttpRoute) -> Option<(String, RoutePolicy)> {
    let policy = &route.policy;
    let authentication = policy.authentication.clone()?;
    let external = authentication
        .external
        .as_ref()
        .map(digest)
        .unwrap_or_default();
    let (access, auth_headers) = (policy.ip_access.clone(), policy.auth_headers.clone());
    Some((
        route.id.as_str().to_owned(),
        RoutePolicy {
            authentication,
            access,
            auth_headers,
            external,
            signs_in_again: route.signs_in_again(),
        },
    ))
}

/// A hash of its text is as different as two questions are. Where the service is now does not count: what it said holds when it
/// is gone, too.
fn digest(external: &ExternalAuth) -> Key {
    let external = ExternalAuth {
        backend: None,
        ..external.clone()
    };
    Sha256::digest(format!("{external:?}")).into()
}
