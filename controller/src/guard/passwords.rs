//! Names and passwords: the right ones are remembered, the others are computed in fair turns.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;

use sluice_basic_auth::{Credentials, Remembered};
use sluice_ir::Passwords as Asked;
use sluice_xds::{AuthzRequest, Verdict};

use super::hashing::{Busy, Hashing};
use super::refuse;
use super::table::{Table, Watched};
use crate::random::random_key;
use sluice_tasks::Tasks;

/// Bytes for right answers: some 64,000 of them.
const BUDGET: usize = 8 << 20;

pub(super) struct Passwords {
    remembered: Mutex<Remembered>,
    hashing: Hashing,
}

impl Passwords {
    pub(super) fn new(tasks: &Tasks) -> anyhow::Result<Self> {
        let remembered = Mutex::new(Remembered::new(random_key()?, BUDGET));
        let threads = available_parallelism().map_or(1, Into::into);
        Ok(Passwords { remembered, hashing: Hashing::start(threads, tasks)? })
    }

    /// Nothing, or what the client gets instead.
    pub(super) async fn check(
        &self,
        asked: &Asked,
        watched: &Watched,
        table: &Table,
        check: &AuthzRequest,
    ) -> Result<(), Verdict> {
        // A location and its users are published together.
        let Some(users) = table.users(&asked.users) else { return Err(refuse(503)) };
        let Some(credentials) = check.header("authorization").and_then(Credentials::parse) else {
            return Err(ask(&asked.realm));
        };
        let tenant = watched.guard.tenant.as_str();
        let proof = self.remembered().proof(users.version(), &credentials);
        if self.remembered().knows(tenant, &proof) {
            return Ok(());
        }
        let known = users.hash_of(&credentials.user);
        // Who has no password here is told so no sooner than who has another one.
        let Some(hash) = known.or(users.decoy()) else { return Err(ask(&asked.realm)) };
        let right = self.hashing.matches(tenant, hash.clone(), credentials.password).await;
        match right {
            Ok(true) if known.is_some() => {
                self.remembered().add(tenant, &proof);
                Ok(())
            }
            Ok(_) => Err(ask(&asked.realm)),
            Err(Busy) => Err(come_again()),
        }
    }

    fn remembered(&self) -> MutexGuard<'_, Remembered> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Passwords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Passwords").finish_non_exhaustive()
    }
}

/// The realm has no quotes and no backslashes: the translation lets none through.
fn ask(realm: &str) -> Verdict {
    let challenge = format!("Basic realm=\"{realm}\"");
    Verdict::Deny { status: 401, headers: vec![("www-authenticate".to_owned(), challenge)] }
}

fn come_again() -> Verdict {
    Verdict::Deny { status: 503, headers: vec![("retry-after".to_owned(), "2".to_owned())] }
}
