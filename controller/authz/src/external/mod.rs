//! External authentication: what a service says about a request, asked or remembered.

mod cache;
mod client;
mod dial;
mod expression;
mod failure_log;
mod pool;

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use anyhow::bail;
use sluice_ir::{Backend, BackendId, ExternalAuth, UpstreamHeader};
use sluice_resolver::Dns;
use sluice_translate::AddressPolicy;
use sluice_xds::{COOKIE_HEADER, MOST_COOKIES};
use sluice_xds_server::{AuthzDecision, AuthzRequest, Changes};

use cache::AuthCache;
use client::AuthResponse;
use dial::Dialer;
use expression::text;
use failure_log::FailureLog;
use pool::Pool;

use crate::deny::deny;
use crate::policies::RoutePolicy;
use crate::random::random_key;

/// Endpoints of Services that authenticate, as they are right now.
pub trait Backends: fmt::Debug + Send + Sync {
    /// The endpoints of a backend; `None`: it is gone. It is asked for each request to a service, so it must not wait.
    fn backend(&self, id: &BackendId) -> Option<Arc<Backend>>;
}

/// How external services are asked, whichever route asks them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Judges every address before a connection to it; [`crate::Authorizer::set_address_policy`] replaces it.
    pub addresses: AddressPolicy,
    /// Identifier of this Sluice in `CDN-Loop` (RFC 8586), by which a loop of authentication requests is detected.
    pub cdn_id: String,
}

/// The services of all routes.
#[derive(Debug)]
pub(crate) struct ExternalAuthenticator {
    pool: Pool,
    cache: AuthCache,
    dialer: Arc<Dialer>,
    backends: Arc<dyn Backends>,
    failures: FailureLog,
}

impl ExternalAuthenticator {
    /// `dns` has the addresses of hosts that clients name.
    pub(crate) fn new(
        backends: Arc<dyn Backends>,
        settings: Settings,
        dns: Dns,
    ) -> anyhow::Result<Self> {
        let cache = AuthCache::new(random_key()?);
        let dialer = Arc::new(Dialer::new(settings.addresses, dns));
        let pool = Pool::new(Arc::clone(&dialer), &settings.cdn_id);
        Ok(ExternalAuthenticator {
            pool,
            cache,
            dialer,
            backends,
            failures: FailureLog::default(),
        })
    }

    /// Replaces the address policy.
    pub(crate) fn set_address_policy(&self, policy: &Arc<AddressPolicy>) {
        self.dialer.set_policy(policy);
    }

    /// Asks the service about a request. The decision has the changes to the request, or the response to the client.
    pub(crate) async fn check(
        &self,
        external: &ExternalAuth,
        route: &RoutePolicy,
        check: &AuthzRequest,
    ) -> Result<Changes, AuthzDecision> {
        let answer = self.answer(external, route, check).await;
        match answer.and_then(|answer| read(external, &answer)) {
            Ok(decided) => decided,
            Err(error) => {
                let tenant = route.authentication.tenant.as_str();
                self.failures
                    .log(tenant, &check.route, &error, Instant::now());
                Err(deny(500))
            }
        }
    }

    async fn answer(
        &self,
        external: &ExternalAuth,
        route: &RoutePolicy,
        check: &AuthzRequest,
    ) -> anyhow::Result<Arc<AuthResponse>> {
        let tenant = route.authentication.tenant.as_str();
        let terms = external.cache.as_ref().filter(|_| external.is_idempotent());
        let key = terms.and_then(|terms| {
            Some((
                terms,
                self.cache.key(external, terms, &route.external, check)?,
            ))
        });
        let Some((terms, key)) = key else {
            return self.ask(tenant, external, check).await.map(Arc::new);
        };
        if let Some(answer) = self.cache.recall(tenant, &key) {
            return Ok(answer);
        }
        let answer = self.ask(tenant, external, check).await?;
        self.cache.keep(tenant, key, external, terms, &answer);
        Ok(Arc::new(answer))
    }

    async fn ask(
        &self,
        tenant: &str,
        external: &ExternalAuth,
        check: &AuthzRequest,
    ) -> anyhow::Result<AuthResponse> {
        // A Service that is gone has no address; its name is not looked up.
        let pods = external
            .backend
            .as_ref()
            .map(|id| self.backends.backend(id).unwrap_or_default());
        client::ask(&self.pool, tenant, external, pods.as_deref(), check).await
    }
}

/// Redirect of clients in the place of a 401.
pub(crate) fn sign_in(
    external: &ExternalAuth,
    refused: AuthzDecision,
    check: &AuthzRequest,
) -> AuthzDecision {
    let AuthzDecision::Deny {
        status: 401,
        headers,
    } = &refused
    else {
        return refused;
    };
    let Some(url) = sign_in_url(external, check) else {
        return refused;
    };
    let kept = ["set-cookie", "www-authenticate"];
    let kept = headers
        .iter()
        .filter(|(name, _)| kept.contains(&name.as_str()))
        .cloned();
    let location = ("location".to_owned(), url);
    AuthzDecision::Deny {
        status: 302,
        headers: std::iter::once(location).chain(kept).collect(),
    }
}

/// The sign-in page of a request. `None`: there is none.
pub(crate) fn sign_in_url(external: &ExternalAuth, check: &AuthzRequest) -> Option<String> {
    let place = text(external.signin_url.as_ref()?, check);
    // nginx makes absolute what begins with a slash; to a client, an empty URL is the one that it has asked for.
    let path = match place.as_str() {
        "" => &check.path,
        path if path.starts_with('/') => path,
        _ => return Some(without_breaks(&place)),
    };
    let url = format!("{}://{}{path}", check.scheme, check.host);
    Some(without_breaks(&url))
}

/// `$uri` is decoded: where nginx would end a header in it, the character stays encoded.
fn without_breaks(url: &str) -> String {
    let letter = |letter: char| match letter.is_ascii_control() {
        true => format!("%{:02X}", u32::from(letter)),
        false => letter.to_string(),
    };
    url.chars().map(letter).collect()
}

/// The decision of a service; the error: it has made none.
fn read(
    external: &ExternalAuth,
    answer: &AuthResponse,
) -> anyhow::Result<Result<Changes, AuthzDecision>> {
    let cookies = || answer.values("set-cookie").map(str::to_owned);
    let headers = |name: &str, values: &mut dyn Iterator<Item = String>| -> Vec<(String, String)> {
        values.map(|value| (name.to_owned(), value)).collect()
    };
    match answer.status {
        200..=299 => {
            let name = |place| {
                if external.always_set_cookie {
                    "set-cookie".to_owned()
                } else {
                    format!("{COOKIE_HEADER}{place}")
                }
            };
            let cookies = cookies().take(MOST_COOKIES).enumerate();
            let cookies = cookies
                .map(|(place, cookie)| (name(place), cookie))
                .collect();
            let mut changes = Changes {
                answer: cookies,
                ..Changes::default()
            };
            for UpstreamHeader { name, source } in &external.upstream_headers {
                let values: Vec<&str> = answer.values(source.as_str()).collect();
                let value = values.join(", ");
                if !value.is_empty() {
                    changes.set.push((name.as_str().to_owned(), value));
                }
            }
            Ok(Ok(changes))
        }
        status @ (401 | 403) => {
            let asks = answer
                .values("www-authenticate")
                .map(str::to_owned)
                .filter(|_| status == 401);
            let mut all = headers("www-authenticate", &mut asks.into_iter());
            // A redirect to the sign-in page has them in any case.
            if external.always_set_cookie || (status == 401 && external.signin_url.is_some()) {
                all.extend(headers("set-cookie", &mut cookies()));
            }
            Ok(Err(AuthzDecision::Deny {
                status,
                headers: all,
            }))
        }
        other => bail!("expected 2xx, 401 or 403, got {other}"),
    }
}
