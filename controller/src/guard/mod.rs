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
mod cache;
mod dial;
mod expression;
mod hashing;
mod nginx;
mod passwords;
mod pool;
mod questions;
mod table;

use std::sync::{Arc, PoisonError, RwLock};

use futures::FutureExt as _;
use sluice_ir::{Config, HeaderName, Question};
use sluice_translate::{AddressPolicy, Options};
use sluice_xds::{AuthzRequest, AuthzService, Changes, Verdict};

pub(crate) use nginx::guard;

use addresses::Standing;
use cache::AuthCache;
use dial::Ways;
use passwords::Passwords;
use pool::Pool;
use table::{Table, Watched};

use crate::random::random_key;
use crate::view::View;
use sluice_resolver::Dns;
use sluice_tasks::Tasks;

/// What is asked of clients, for all locations.
#[derive(Clone, Debug)]
pub(crate) struct Guards {
    table: Arc<RwLock<Arc<Table>>>,
    passwords: Arc<Passwords>,
    cache: Arc<AuthCache>,
    pool: Arc<Pool>,
    ways: Arc<Ways>,
    /// Where the pods of services are.
    view: View,
}

impl Guards {
    /// The operator's policy judges every address that is asked, and `dns` has those of hosts that clients name.
    pub(crate) fn new(view: View, options: &Options, dns: Dns, tasks: &Tasks) -> anyhow::Result<Self> {
        let passwords = Arc::new(Passwords::new(tasks)?);
        let cache = Arc::new(AuthCache::new(random_key()?));
        let ways = Arc::new(Ways::new(options.addresses.clone(), dns));
        let pool = Arc::new(Pool::new(Arc::clone(&ways), &options.cdn_id));
        Ok(Guards { table: Arc::default(), passwords, cache, pool, ways, view })
    }

    /// Replaces the address policy.
    pub(crate) fn judge_by(&self, policy: &Arc<AddressPolicy>) {
        self.ways.judge_by(policy);
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
    pub(crate) fn checks(&self) -> AuthzService {
        let guards = self.clone();
        AuthzService::new(move |check| {
            let guards = guards.clone();
            async move { guards.judge(&check).await }.boxed()
        })
    }

    async fn judge(&self, check: &AuthzRequest) -> Verdict {
        if !is_authority(&check.host) {
            return refuse(400);
        }
        let table = self.table();
        let Some(watched) = table.location(&check.location) else { return refuse(503) };
        let verdict = if watched.guard.any {
            self.one_of(watched, &table, check).await
        } else {
            self.all_of(watched, &table, check).await
        };
        match (verdict, &watched.guard.question) {
            (Ok(changes), _) => Verdict::Allow(without_forgeries(watched, changes, check)),
            (Err(refused), Some(question)) => questions::sign_in(question, refused, check),
            (Err(refused), None) => refused,
        }
    }

    /// The addresses were looked at by Envoy.
    async fn all_of(
        &self,
        watched: &Watched,
        table: &Table,
        check: &AuthzRequest,
    ) -> Result<Changes, Verdict> {
        if let Some(asked) = &watched.guard.passwords {
            self.passwords.check(asked, watched, table, check).await?;
        }
        match &watched.guard.question {
            Some(question) => self.ask(question, watched, check).await,
            None => Ok(Changes::default()),
        }
    }

    /// nginx: the first that lets in, does; else a 401 says more than a 403.
    async fn one_of(
        &self,
        watched: &Watched,
        table: &Table,
        check: &AuthzRequest,
    ) -> Result<Changes, Verdict> {
        let mut refused = None;
        match addresses::standing(&watched.access, check.client) {
            Standing::Allowed => return Ok(Changes::default()),
            Standing::Denied => refused = Some(refuse(403)),
            Standing::Unknown => {}
        }
        if let Some(asked) = &watched.guard.passwords {
            match self.passwords.check(asked, watched, table, check).await {
                Ok(()) => return Ok(Changes::default()),
                Err(verdict) => refused = Some(verdict),
            }
        }
        if let Some(question) = &watched.guard.question {
            match self.ask(question, watched, check).await {
                Ok(changes) => return Ok(changes),
                Err(verdict) if is_forbidden(&verdict) && refused.is_some() => {}
                Err(verdict) => refused = Some(verdict),
            }
        }
        Err(refused.unwrap_or_else(|| refuse(403)))
    }

    async fn ask(
        &self,
        question: &Question,
        watched: &Watched,
        check: &AuthzRequest,
    ) -> Result<Changes, Verdict> {
        let pods = question.backend.as_ref().map(|id| {
            let snapshot = self.view.snapshot();
            // A Service that is gone is nobody, not a name to look up.
            snapshot.config().backends.get(id).cloned().unwrap_or_default()
        });
        questions::judge(&self.pool, question, watched, pods.as_deref(), &self.cache, check).await
    }

    fn table(&self) -> Arc<Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Whether this is a host, and a port if there is one. What else may stand in its place is read by everybody in another way: a
/// data plane that looks for the last colon takes `a.example:b.example` for the one, who looks for the first for the other.
fn is_authority(host: &str) -> bool {
    let end = match host.strip_prefix('[').and_then(|rest| rest.find(']')) {
        Some(bracket) => bracket + 2,
        None => host.find(':').unwrap_or(host.len()),
    };
    let (name, port) = host.split_at(end);
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    !name.contains(['@', '/', '\\', '?', '#', ' ']) && port.strip_prefix(':').map_or(port.is_empty(), is_port)
}

/// Whoever has let in: what an authentication service may say and did not say, no client says in its place, however it spells
/// that. And as in ingress-nginx, a password that was asked for here is none of the pod's business.
fn without_forgeries(watched: &Watched, mut changes: Changes, check: &AuthzRequest) -> Changes {
    let passwords = watched.guard.passwords.iter().map(|_| "authorization");
    let all: Vec<&str> = watched.auth_headers.iter().map(HeaderName::as_str).chain(passwords).collect();
    let said = check.headers.iter().map(|(name, _)| name.as_str());
    let alike = said.filter(|said| watched.auth_headers.iter().any(|name| name.is_alike(said)));
    for name in all.iter().copied().chain(alike) {
        let is_set = changes.set.iter().any(|(set, _)| set == name);
        if !is_set && !changes.remove.iter().any(|removed| removed == name) {
            changes.remove.push(name.to_owned());
        }
    }
    changes
}

fn is_forbidden(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Deny { status: 403, .. })
}

fn refuse(status: u16) -> Verdict {
    Verdict::Deny { status, headers: Vec::new() }
}

#[cfg(test)]
mod tests;
