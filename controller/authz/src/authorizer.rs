//! Decision on a request: what its route asks for, all of it or one thing.

use std::sync::{Arc, PoisonError, RwLock};

use futures::FutureExt as _;
use sluice_digest_auth::NonceKey;
use sluice_ir::{Config, HeaderName, PasswordAuth, PasswordScheme};
use sluice_resolver::Dns;
use sluice_tasks::Tasks;
use sluice_translate::AddressPolicy;
use sluice_xds_server::{AuthzDecision, AuthzRequest, AuthzService, Changes};

use crate::access_list::{self, ListMatch};
use crate::basic::{self, BasicAuthenticator};
use crate::deny::deny;
use crate::digest::DigestAuthenticator;
use crate::external::{self, Backends, ExternalAuthenticator, Settings};
use crate::policies::{Policies, RoutePolicy};

/// Decides for all routes. A handle, cheap to clone.
#[derive(Clone, Debug)]
pub struct Authorizer {
    policies: Arc<RwLock<Arc<Policies>>>,
    basic: Arc<BasicAuthenticator>,
    digest: Arc<DigestAuthenticator>,
    external: Arc<ExternalAuthenticator>,
}

impl Authorizer {
    /// Everything is closed until something is published. `dns` has the addresses of hosts that clients name; `tasks` has the
    /// threads that compute hashes. Controllers with one `nonces` know the nonces of each other.
    ///
    /// # Errors
    ///
    /// There are no random bytes, or no threads.
    pub fn new(
        backends: Arc<dyn Backends>,
        settings: Settings,
        dns: Dns,
        nonces: NonceKey,
        tasks: &Tasks,
    ) -> anyhow::Result<Self> {
        let basic = Arc::new(BasicAuthenticator::new(tasks)?);
        let digest = Arc::new(DigestAuthenticator::new(nonces)?);
        let external = Arc::new(ExternalAuthenticator::new(backends, settings, dns)?);
        Ok(Authorizer {
            policies: Arc::default(),
            basic,
            digest,
            external,
        })
    }

    /// Replaces the address policy of connections to external services.
    pub fn set_address_policy(&self, policy: &Arc<AddressPolicy>) {
        self.external.set_address_policy(policy);
    }

    /// Publishes policies. Routes that only `before` has are known until [`Self::forget_removed`], because data planes still
    /// ask about them.
    pub fn publish(&self, now: &Config, before: Option<&Config>) {
        if before.is_some_and(|before| Policies::is_unmoved(before, now))
            && !self.policies().lingers
        {
            return;
        }
        let policies = Policies::from_configs(now, before, &self.policies());
        *self
            .policies
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Arc::new(policies);
    }

    /// No data plane asks any more for what was before `now`, which is published.
    pub fn forget_removed(&self, now: &Config) {
        if self.policies().lingers {
            self.publish(now, None);
        }
    }

    /// Answers Envoys that call `ext_authz`.
    #[must_use]
    pub fn service(&self) -> AuthzService {
        let authorizer = self.clone();
        AuthzService::new(move |request| {
            let authorizer = authorizer.clone();
            async move { authorizer.check(&request).await }.boxed()
        })
    }

    /// Decision for any route: 503 for one that is not published, 400 for a host that can be read in two ways.
    pub(crate) async fn check(&self, check: &AuthzRequest) -> AuthzDecision {
        if !is_authority(&check.host) {
            return deny(400);
        }
        let policies = self.policies();
        let Some(route) = policies.route(&check.route) else {
            return deny(503);
        };
        let decision = if route.authentication.satisfy_any {
            self.one_of(route, &policies, check).await
        } else {
            self.all_of(route, &policies, check).await
        };
        match (decision, &route.authentication.external) {
            (Ok(changes), external) => {
                let external = external.as_ref().filter(|_| route.signs_in_again);
                let changes = Changes {
                    sign_in: external.and_then(|external| external::sign_in_url(external, check)),
                    ..changes
                };
                AuthzDecision::Allow(without_forgeries(route, changes, check))
            }
            (Err(refused), Some(external)) => external::sign_in(external, refused, check),
            (Err(refused), None) => refused,
        }
    }

    /// The addresses were looked at by Envoy.
    async fn all_of(
        &self,
        route: &RoutePolicy,
        policies: &Policies,
        check: &AuthzRequest,
    ) -> Result<Changes, AuthzDecision> {
        let mut named = Vec::new();
        if let Some(asked) = &route.authentication.passwords {
            self.password(asked, route, policies, check).await?;
            named = basic::headers_of_user(asked, check);
        }
        let mut changes = match &route.authentication.external {
            Some(external) => self.external.check(external, route, check).await?,
            None => Changes::default(),
        };
        changes.set.extend(named);
        Ok(changes)
    }

    /// nginx: the first that lets in, does; else a 401 says more than a 403.
    async fn one_of(
        &self,
        route: &RoutePolicy,
        policies: &Policies,
        check: &AuthzRequest,
    ) -> Result<Changes, AuthzDecision> {
        let mut refused = None;
        match access_list::match_lists(&route.access, check.client) {
            ListMatch::Allowed => return Ok(Changes::default()),
            ListMatch::Denied => refused = Some(deny(403)),
            ListMatch::Unknown => {}
        }
        if let Some(asked) = &route.authentication.passwords {
            match self.password(asked, route, policies, check).await {
                Ok(()) => return Ok(Changes::default()),
                Err(decision) => refused = Some(decision),
            }
        }
        if let Some(external) = &route.authentication.external {
            match self.external.check(external, route, check).await {
                Ok(changes) => return Ok(changes),
                Err(decision) if is_forbidden(&decision) && refused.is_some() => {}
                Err(decision) => refused = Some(decision),
            }
        }
        Err(refused.unwrap_or_else(|| deny(403)))
    }

    async fn password(
        &self,
        asked: &PasswordAuth,
        route: &RoutePolicy,
        policies: &Policies,
        check: &AuthzRequest,
    ) -> Result<(), AuthzDecision> {
        match asked.scheme {
            PasswordScheme::Basic => self.basic.check(asked, route, policies, check).await,
            PasswordScheme::Digest => self.digest.check(asked, route, policies, check),
        }
    }

    fn policies(&self) -> Arc<Policies> {
        self.policies
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// True if this is a host, optionally with a port. Anything else is read differently by different readers:
/// `a.example:b.example` names the first for one that searches the last colon, and the second for another.
fn is_authority(host: &str) -> bool {
    let end = match host.strip_prefix('[').and_then(|rest| rest.find(']')) {
        Some(bracket) => bracket + 2,
        None => host.find(':').unwrap_or(host.len()),
    };
    let (name, port) = host.split_at(end);
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    !name.contains(['@', '/', '\\', '?', '#', ' '])
        && port.strip_prefix(':').map_or(port.is_empty(), is_port)
}

/// Headers that an authentication service may set and did not are not taken from a client, however it spells
/// that. And as in ingress-nginx, a password that was asked for here is none of the pod's business.
fn without_forgeries(route: &RoutePolicy, mut changes: Changes, check: &AuthzRequest) -> Changes {
    let passwords = route
        .authentication
        .passwords
        .iter()
        .map(|_| "authorization");
    let all: Vec<&str> = route
        .auth_headers
        .iter()
        .map(HeaderName::as_str)
        .chain(passwords)
        .collect();
    let said = check.headers.iter().map(|(name, _)| name.as_str());
    let alike = said.filter(|said| route.auth_headers.iter().any(|name| name.is_alike(said)));
    for name in all.iter().copied().chain(alike) {
        let is_set = changes.set.iter().any(|(set, _)| set == name);
        if !is_set && !changes.remove.iter().any(|removed| removed == name) {
            changes.remove.push(name.to_owned());
        }
    }
    changes
}

fn is_forbidden(decision: &AuthzDecision) -> bool {
    matches!(decision, AuthzDecision::Deny { status: 403, .. })
}

#[cfg(test)]
mod tests;
