//! Who may come in, where that takes more than an address: Envoys ask for each request of such a location.
//!
//! ```text
//!   Publisher --publish--> Guards (what each location asks for, who is known)
//!                             ^
//!   Envoy --Check--> judge ---+--> passwords: remembered, or computed where it may take its time
//! ```
//!
//! A location that nobody has published is closed: a controller that has just started knows nothing yet, and lets nobody
//! in.

mod addresses;
mod passwords;
mod table;

use std::sync::{Arc, PoisonError, RwLock};

use futures::FutureExt as _;
use sluice_ir::Config;
use sluice_xds::{Changes, Check, Checks, Verdict};

use addresses::Standing;
use passwords::Passwords;
use table::{Table, Watched};

/// What is asked of clients, for all locations.
#[derive(Clone, Debug)]
pub(crate) struct Guards {
    table: Arc<RwLock<Arc<Table>>>,
    passwords: Arc<Passwords>,
}

impl Guards {
    pub(crate) fn new() -> anyhow::Result<Self> {
        Ok(Guards { table: Arc::default(), passwords: Arc::new(Passwords::new()?) })
    }

    /// What holds from now on. Locations that only `before` has are known a little longer: Envoys still ask for them.
    pub(crate) fn publish(&self, now: &Config, before: Option<&Config>) {
        let table = Table::of(now, before, &self.table());
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(table);
    }

    /// Nobody asks any more for what was before.
    pub(crate) fn settle(&self, now: &Config) {
        if self.table().lingers {
            self.publish(now, None);
        }
    }

    /// For the server that Envoys call.
    pub(crate) fn checks(&self) -> Checks {
        let guards = self.clone();
        Checks::judged_by(move |check| {
            let guards = guards.clone();
            async move { guards.judge(&check).await }.boxed()
        })
    }

    async fn judge(&self, check: &Check) -> Verdict {
        let table = self.table();
        let Some(watched) = table.location(&check.location) else { return refuse(503) };
        let guard = &watched.guard;
        let mut refused = None;
        if guard.any {
            match addresses::standing(&watched.access, check.client) {
                Standing::Allowed => return Verdict::Let(without_credentials(watched)),
                Standing::Denied => refused = Some(refuse(403)),
                Standing::Unknown => {}
            }
        }
        match &guard.passwords {
            Some(asked) => match self.passwords.check(asked, &table, check).await {
                Ok(()) => return Verdict::Let(without_credentials(watched)),
                Err(verdict) => refused = Some(verdict),
            },
            None if refused.is_none() => return Verdict::Let(Changes::default()),
            None => {}
        }
        refused.unwrap_or_else(|| refuse(403))
    }

    fn table(&self) -> Arc<Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// ingress-nginx: a password that was asked for here is none of the pod's business.
fn without_credentials(watched: &Watched) -> Changes {
    let asked = watched.guard.passwords.is_some();
    let remove = asked.then(|| "authorization".to_owned()).into_iter().collect();
    Changes { remove, ..Changes::default() }
}

fn refuse(status: u16) -> Verdict {
    Verdict::Refuse { status, headers: Vec::new() }
}

#[cfg(test)]
mod tests;
