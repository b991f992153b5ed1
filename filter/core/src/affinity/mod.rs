//! Sessions: a cookie that brings a client back to its endpoint.
//!
//! ```text
//!   cookie UPSTREAM_KEY|BACKEND_KEY --locate--> endpoint --alive--> it, and its retries
//!     none, or of an endpoint that is gone ---> a new one, and a cookie with the response
//! ```
//!
//! As ingress-nginx's `sticky_balanced` and `sticky_persistent`, cookies included: theirs are valid here. Where the
//! original finds no endpoint for a retry and answers 502, the candidates here go on with what is left.

mod balanced;
mod cookie;
mod keys;
mod persistent;
mod same_site;
mod set_cookie;

use sluice_filter_config as wire;

use crate::EndpointIdx;
use crate::Rng;
use crate::balance::{Candidates, PickContext};

pub use balanced::Balanced;
pub use cookie::{Session, pairs};
pub use keys::{Hex, SessionKey, UpstreamKey, backend_key, endpoint_key};
pub use persistent::Persistent;
pub use same_site::none_is_understood;
pub use set_cookie::{CookieContext, CookieTemplate, cookie_time};
pub use wire::AffinityMode;

/// How sessions work on a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Affinity {
    /// How a session finds its endpoint.
    pub mode: AffinityMode,
    /// The cookie that carries it.
    pub cookie: CookieTemplate,
    /// A retry leaves the session's endpoint, and the session moves to the one that answered.
    pub change_on_failure: bool,
}

impl From<&wire::Affinity> for Affinity {
    fn from(affinity: &wire::Affinity) -> Self {
        let cookie = &affinity.cookie;
        Affinity {
            mode: affinity.mode,
            cookie: CookieTemplate {
                name: cookie.name.clone(),
                expires: cookie.expires,
                max_age: cookie.max_age,
                path: cookie.path.clone(),
                domain: cookie.domain.clone(),
                secure: cookie.secure,
                same_site: cookie.same_site,
                conditional_same_site_none: cookie.conditional_same_site_none,
            },
            change_on_failure: affinity.change_on_failure,
        }
    }
}

/// One way for a session to find its endpoint.
pub trait Sessions {
    /// The endpoint of a session; none when it is gone.
    fn locate(&self, context: &PickContext<'_>, key: &[u8]) -> Option<EndpointIdx>;

    /// Endpoint for a session while its own is ejected: always the same one.
    fn fallback(&self, context: &PickContext<'_>, key: &[u8]) -> Option<EndpointIdx>;

    /// An endpoint for a new session that was not tried, and the key that leads to it; no key when a cookie must not or
    /// need not remember it now.
    fn begin(
        &self,
        context: &PickContext<'_>,
        tried: &Candidates,
        rng: &mut impl Rng,
    ) -> Option<(EndpointIdx, Option<SessionKey>)>;
}

/// Endpoints for a request, with or without a session.
#[derive(Debug, Default)]
pub struct Placement {
    /// The choice and the failover order.
    pub candidates: Candidates,
    /// Session that may begin with the response; none if no cookie can be set.
    pub start: Option<SessionStart>,
}

/// A session that begins with the response.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SessionStart {
    /// The session's endpoint, if it has one: when it answers, nothing begins.
    pub stays: Option<EndpointIdx>,
    /// The keys that lead to the candidates, in balanced mode.
    pub keys: Vec<(EndpointIdx, SessionKey)>,
}

/// Places one request.
pub fn place(
    sessions: &impl Sessions,
    change_on_failure: bool,
    key: Option<&[u8]>,
    context: &PickContext<'_>,
    rng: &mut impl Rng,
) -> Placement {
    let located = key.and_then(|key| Some((sessions.locate(context, key)?, key)));
    match located {
        Some((idx, _)) if context.eligible.is_alive(idx) && change_on_failure => {
            place_new(sessions, Some(idx), context, rng)
        }
        Some((idx, _)) if context.eligible.is_alive(idx) => Placement {
            candidates: stay(idx, context),
            start: None,
        },
        Some((_, key)) if !change_on_failure => {
            let mut candidates = Candidates::default();
            if let Some(idx) = sessions.fallback(context, key) {
                candidates.push(idx);
            }
            candidates.complete(context);
            Placement {
                candidates,
                start: None,
            }
        }
        _ => place_new(sessions, None, context, rng),
    }
}

/// Every attempt on the session's endpoint, as `session-cookie-change-on-failure: "false"` asks for.
fn stay(idx: EndpointIdx, context: &PickContext<'_>) -> Candidates {
    let mut candidates = Candidates::default();
    for _ in 0..if context.endpoints.len() == 1 {
        1
    } else {
        context.attempts.max(1)
    } {
        candidates.push(idx);
    }
    candidates
}

fn place_new(
    sessions: &impl Sessions,
    stays: Option<EndpointIdx>,
    context: &PickContext<'_>,
    rng: &mut impl Rng,
) -> Placement {
    let mut candidates = Candidates::default();
    let mut keys = Vec::new();
    if let Some(idx) = stays {
        candidates.push(idx);
    }
    let wanted = context
        .attempts
        .min(context.eligible.ready().len())
        .clamp(1, Candidates::MAX);
    while candidates.len() < wanted
        && let Some((idx, key)) = sessions.begin(context, &candidates, rng)
    {
        candidates.push(idx);
        keys.extend(key.map(|key| (idx, key)));
    }
    candidates.complete(context);
    Placement {
        candidates,
        start: Some(SessionStart { stays, keys }),
    }
}
