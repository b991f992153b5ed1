//! Digest authentication: a nonce for each challenge, and each answer once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use sluice_digest_auth::{Credentials, Nonce, NonceKey, Replays, Users};
use sluice_filter_core::path;
use sluice_ir::PasswordAuth;
use sluice_xds_server::{AuthzDecision, AuthzRequest};

use crate::deny::deny;
use crate::policies::{Policies, RoutePolicy};
use crate::random::random_key;

/// Digest authentication of all routes.
#[derive(Debug)]
pub(crate) struct DigestAuthenticator {
    key: NonceKey,
    replays: Mutex<Replays>,
    /// Salt of the next nonce. Begins anywhere, so that two processes hardly ever have the same.
    salt: AtomicU64,
}

impl DigestAuthenticator {
    pub(crate) fn new(key: NonceKey) -> anyhow::Result<Self> {
        let [a, b, c, d, e, f, g, h, ..] = random_key()?;
        Ok(DigestAuthenticator {
            key,
            replays: Mutex::default(),
            salt: AtomicU64::new(u64::from_be_bytes([a, b, c, d, e, f, g, h])),
        })
    }

    /// Nothing, or what the client gets instead.
    pub(crate) fn check(
        &self,
        asked: &PasswordAuth,
        route: &RoutePolicy,
        policies: &Policies,
        check: &AuthzRequest,
    ) -> Result<(), AuthzDecision> {
        // A route and its users are published together.
        let Some(users) = policies.digest_users(&asked.users) else {
            return Err(deny(503));
        };
        let now = now();
        let challenge = |is_stale| Err(self.challenge(&asked.realm, users, now, is_stale));
        let Some(credentials) = answer(asked, check) else {
            return challenge(false);
        };
        if !users.verify(&credentials, &check.method) {
            return challenge(false);
        }
        let nonce = self
            .key
            .decode(&credentials.nonce, users.version(), &asked.realm);
        let tenant = route.authentication.tenant.as_str();
        let is_fresh = nonce.is_some_and(|nonce| {
            let mut replays = self.replays.lock().unwrap_or_else(PoisonError::into_inner);
            replays.admit(tenant, nonce, credentials.count, now)
        });
        if is_fresh { Ok(()) } else { challenge(true) }
    }

    /// The realm has no quotes and no backslashes: the translation lets none through. `is_stale`: the client may answer again without
    /// asking for the password.
    fn challenge(&self, realm: &str, users: &Users, now: u64, is_stale: bool) -> AuthzDecision {
        let nonce = Nonce {
            issued: now,
            salt: self.salt.fetch_add(1, Ordering::Relaxed).to_be_bytes(),
        };
        let nonce = self.key.encode(nonce, users.version(), realm);
        let algorithm = users.algorithm().name();
        let stale = if is_stale { ", stale=true" } else { "" };
        let challenge = format!(
            "Digest realm=\"{realm}\", qop=\"auth\", algorithm={algorithm}, nonce=\"{nonce}\"{stale}"
        );
        AuthzDecision::Deny {
            status: 401,
            headers: vec![("www-authenticate".to_owned(), challenge)],
        }
    }
}

/// The one answer of a request to a challenge with this realm, if it is for this target: for another one it would be another request.
fn answer(asked: &PasswordAuth, check: &AuthzRequest) -> Option<Credentials> {
    let mut lines = check
        .headers
        .iter()
        .filter(|(name, _)| name == "authorization");
    let (Some((_, line)), None) = (lines.next(), lines.next()) else {
        return None;
    };
    Credentials::parse(line).filter(|credentials| {
        credentials.realm == asked.realm.as_bytes()
            && is_same_target(&credentials.uri, check.path.as_bytes())
    })
}

/// Compares targets as routes are found: Envoy has resolved dots and double slashes before it asks. RFC 7616, 3.4.6 wants the same
/// resource, too.
fn is_same_target(one: &[u8], other: &[u8]) -> bool {
    let target = |target| path::canonical(target).map(|canonical| canonical.target);
    target(one).is_ok_and(|one| target(other) == Ok(one))
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests;
