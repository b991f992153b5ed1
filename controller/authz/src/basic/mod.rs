//! Basic authentication: passwords that were right are remembered, the others are computed in fair turns.

mod hashing;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;

use sluice_basic_auth::{Credentials, Remembered};
use sluice_ir::PasswordAuth;
use sluice_tasks::Tasks;
use sluice_xds_server::{AuthzDecision, AuthzRequest};

use hashing::{Busy, Hashing};

use crate::deny::deny;
use crate::policies::{Policies, RoutePolicy};
use crate::random::random_key;

/// Bytes for right answers: some 64,000 of them.
const BUDGET: usize = 8 << 20;

/// The passwords of all routes.
pub(crate) struct BasicAuthenticator {
    remembered: Mutex<Remembered>,
    hashing: Hashing,
}

impl BasicAuthenticator {
    pub(crate) fn new(tasks: &Tasks) -> anyhow::Result<Self> {
        let remembered = Mutex::new(Remembered::new(random_key()?, BUDGET));
        let threads = available_parallelism().map_or(1, Into::into);
        Ok(BasicAuthenticator {
            remembered,
            hashing: Hashing::start(threads, tasks)?,
        })
    }

    /// Nothing, or what the client gets instead.
    pub(crate) async fn check(
        &self,
        asked: &PasswordAuth,
        route: &RoutePolicy,
        policies: &Policies,
        check: &AuthzRequest,
    ) -> Result<(), AuthzDecision> {
        // A route and its users are published together.
        let Some(users) = policies.basic_users(&asked.users) else {
            return Err(deny(503));
        };
        let Some(credentials) = check.header("authorization").and_then(Credentials::parse) else {
            return Err(challenge(&asked.realm));
        };
        let tenant = route.authentication.tenant.as_str();
        let proof = self.remembered().proof(users.version(), &credentials);
        if self.remembered().knows(tenant, &proof) {
            return Ok(());
        }
        let known = users.hash_of(&credentials.user);
        // Unknown users are denied no sooner than known ones with a wrong password.
        let Some(hash) = known.or(users.decoy()) else {
            return Err(challenge(&asked.realm));
        };
        let right = self
            .hashing
            .matches(tenant, hash.clone(), credentials.password)
            .await;
        match right {
            Ok(true) if known.is_some() => {
                self.remembered().add(tenant, &proof);
                Ok(())
            }
            Ok(_) => Err(challenge(&asked.realm)),
            Err(Busy) => Err(retry_later()),
        }
    }

    fn remembered(&self) -> MutexGuard<'_, Remembered> {
        self.remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for BasicAuthenticator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BasicAuthenticator").finish_non_exhaustive()
    }
}

/// Headers with the name of a user whose password was right. One that is no text of a header is in none.
pub(crate) fn headers_of_user(asked: &PasswordAuth, check: &AuthzRequest) -> Vec<(String, String)> {
    let credentials = check.header("authorization").and_then(Credentials::parse);
    let user = credentials.and_then(|credentials| String::from_utf8(credentials.user).ok());
    let Some(user) = user.filter(|user| !user.chars().any(char::is_control)) else {
        return Vec::new();
    };
    let names = asked.user_headers.iter();
    names
        .map(|name| (name.as_str().to_owned(), user.clone()))
        .collect()
}

/// The realm has no quotes and no backslashes: the translation lets none through.
fn challenge(realm: &str) -> AuthzDecision {
    let challenge = format!("Basic realm=\"{realm}\"");
    AuthzDecision::Deny {
        status: 401,
        headers: vec![("www-authenticate".to_owned(), challenge)],
    }
}

fn retry_later() -> AuthzDecision {
    AuthzDecision::Deny {
        status: 503,
        headers: vec![("retry-after".to_owned(), "2".to_owned())],
    }
}
