//! Names and passwords: the right ones are remembered, the others are computed, a few at a time.

use std::fs::File;
use std::io::Read as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;

use anyhow::Context as _;
use sluice_auth::{Credentials, Remembered};
use sluice_ir::Passwords as Asked;
use sluice_xds::{Check, Verdict};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tracing::debug;

use super::refuse;
use super::table::{Known, Table};

/// Right answers that are kept, of 32 bytes each.
const MOST_REMEMBERED: usize = 64 * 1024;

pub(super) struct Passwords {
    remembered: Mutex<Remembered>,
    /// Slow hashes at a time, so that the rest of the controller goes on.
    turns: Arc<Semaphore>,
}

/// How many things this machine does at a time.
pub(super) fn threads() -> usize {
    available_parallelism().map_or(1, Into::into)
}

impl Passwords {
    pub(super) fn new() -> anyhow::Result<Self> {
        let mut key = [0; 32];
        let mut random = File::open("/dev/urandom").context("/dev/urandom")?;
        random.read_exact(&mut key).context("/dev/urandom")?;
        let remembered = Mutex::new(Remembered::new(key, MOST_REMEMBERED));
        Ok(Passwords { remembered, turns: Arc::new(Semaphore::new(threads())) })
    }

    /// Nothing, or what the client gets instead.
    pub(super) async fn check(&self, asked: &Asked, table: &Table, check: &Check) -> Result<(), Verdict> {
        // A location and its users are published together.
        let Some(known) = table.users(&asked.users) else { return Err(refuse(503)) };
        let Some(credentials) = check.header("authorization").and_then(Credentials::parse) else {
            return Err(ask(&asked.realm));
        };
        let right = self.are_right(known, credentials).await;
        right.then_some(()).ok_or_else(|| ask(&asked.realm))
    }

    async fn are_right(&self, known: &Arc<Known>, credentials: Credentials) -> bool {
        let proof = self.remembered().proof(known.users.version(), &credentials);
        if self.remembered().knows(&proof) {
            return true;
        }
        let Some(hash) = known.users.hash_of(&credentials.user).cloned() else { return false };
        let Ok(own) = Arc::clone(&known.turns).acquire_owned().await else { return false };
        let Ok(turn) = Arc::clone(&self.turns).acquire_owned().await else { return false };
        // Somebody else may have had the same to compute.
        if self.remembered().knows(&proof) {
            return true;
        }
        // The turns end with the work, even if the client is gone before.
        let work = spawn_blocking(move || {
            let _turns = (own, turn);
            hash.matches(&credentials.password)
        });
        let right = work.await.unwrap_or_else(|error| {
            debug!("a password was not compared: {error}");
            false
        });
        if right {
            self.remembered().add(proof);
        }
        right
    }

    fn remembered(&self) -> std::sync::MutexGuard<'_, Remembered> {
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
    Verdict::Refuse { status: 401, headers: vec![("www-authenticate".to_owned(), challenge)] }
}
