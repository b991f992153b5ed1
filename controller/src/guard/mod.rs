//! Who may come in, where that takes more than an address: Envoys ask for each request of such a location.
//!
//! ```text
//!   Publisher --publish--> Guards (what each location asks for, who is known)
//!                             ^
//!   Envoy --Check--> judge ---+--> passwords: remembered, or computed where it may take its time
//!                             +--> questions: remembered, or asked of a service
//! ```
//!
//! A location that nobody has published is closed: a controller that has just started knows nothing yet, and lets nobody
//! in.

mod addresses;
mod ask;
mod dial;
mod expression;
mod memory;
mod nginx;
mod passwords;
mod questions;
mod table;

use std::sync::{Arc, PoisonError, RwLock};

use futures::FutureExt as _;
use sluice_ir::{Config, Question};
use sluice_xds::{Changes, Check, Checks, Verdict};

pub(crate) use nginx::guard;

use addresses::Standing;
use memory::Memory;
use passwords::Passwords;
use table::{Table, Watched};

use crate::view::View;

/// What is asked of clients, for all locations.
#[derive(Clone, Debug)]
pub(crate) struct Guards {
    table: Arc<RwLock<Arc<Table>>>,
    passwords: Arc<Passwords>,
    memory: Arc<Memory>,
    /// Where the pods of services are.
    view: View,
}

impl Guards {
    pub(crate) fn new(view: View) -> anyhow::Result<Self> {
        let passwords = Arc::new(Passwords::new()?);
        Ok(Guards { table: Arc::default(), passwords, memory: Arc::default(), view })
    }

    /// What holds from now on. Locations that only `before` has are known a little longer: Envoys still ask for them.
    pub(crate) fn publish(&self, now: &Config, before: Option<&Config>) {
        if before.is_some_and(|before| Table::is_unmoved(before, now)) && !self.table().lingers {
            return;
        }
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
        let verdict = if watched.guard.any {
            self.one_of(watched, &table, check).await
        } else {
            self.all_of(watched, &table, check).await
        };
        match (verdict, &watched.guard.question) {
            (Ok(changes), _) => Verdict::Let(without_credentials(watched, changes)),
            (Err(refused), Some(question)) => questions::sign_in(question, refused, check),
            (Err(refused), None) => refused,
        }
    }

    /// The addresses were looked at by Envoy.
    async fn all_of(&self, watched: &Watched, table: &Table, check: &Check) -> Result<Changes, Verdict> {
        if let Some(asked) = &watched.guard.passwords {
            self.passwords.check(asked, table, check).await?;
        }
        match &watched.guard.question {
            Some(question) => self.ask(question, check).await,
            None => Ok(Changes::default()),
        }
    }

    /// nginx: the first that lets in, does; else a 401 says more than a 403.
    async fn one_of(&self, watched: &Watched, table: &Table, check: &Check) -> Result<Changes, Verdict> {
        let mut refused = None;
        match addresses::standing(&watched.access, check.client) {
            Standing::Allowed => return Ok(Changes::default()),
            Standing::Denied => refused = Some(refuse(403)),
            Standing::Unknown => {}
        }
        if let Some(asked) = &watched.guard.passwords {
            match self.passwords.check(asked, table, check).await {
                Ok(()) => return Ok(Changes::default()),
                Err(verdict) => refused = Some(verdict),
            }
        }
        if let Some(question) = &watched.guard.question {
            match self.ask(question, check).await {
                Ok(changes) => return Ok(changes),
                Err(verdict) if is_forbidden(&verdict) && refused.is_some() => {}
                Err(verdict) => refused = Some(verdict),
            }
        }
        Err(refused.unwrap_or_else(|| refuse(403)))
    }

    async fn ask(&self, question: &Question, check: &Check) -> Result<Changes, Verdict> {
        let pods = question.backend.as_ref().map(|id| {
            let translation = self.view.translation();
            // A Service that is gone is nobody, not a name to look up.
            translation.config().backends.get(id).cloned().unwrap_or_default()
        });
        questions::judge(question, pods.as_deref(), &self.memory, check).await
    }

    fn table(&self) -> Arc<Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// ingress-nginx: a password that was asked for here is none of the pod's business.
fn without_credentials(watched: &Watched, mut changes: Changes) -> Changes {
    const HEADER: &str = "authorization";
    let said = changes.set.iter().any(|(name, _)| name == HEADER);
    if watched.guard.passwords.is_some() && !said {
        changes.remove.push(HEADER.to_owned());
    }
    changes
}

fn is_forbidden(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Refuse { status: 403, .. })
}

fn refuse(status: u16) -> Verdict {
    Verdict::Refuse { status, headers: Vec::new() }
}

#[cfg(test)]
mod tests;
