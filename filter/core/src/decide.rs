//! One request: where it goes, what its response begins, what its end teaches.

use std::rc::Rc;

use crate::affinity::{self, Affinity, CookieContext, Placement};
use crate::balance::Candidates;
use crate::canary;
use crate::connection_limit::ConnectionLimit;
use crate::outcome::{Interest, NewSession, Outcome, RequestToken};
use crate::rates::RateLimit;
use crate::rewriting::Rewriting;
use crate::route::Route;
use crate::tables::ById;
use crate::{Backend, Reply, Request, Rng, Tables, Timestamp};

/// Decision about a request.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "the large one is the usual one; a box would be an allocation a request"
)]
pub enum Decision<'a> {
    /// Send it on.
    Forward(Forward<'a>),
    /// Answer it here.
    Reply(Reply),
    /// Count it against these limits first: [`Tables::decide_admitted`] when its client may send one more request,
    /// the `refusal` of the limit otherwise. Nothing has changed yet.
    CheckLimits(Limits<'a>),
    /// Not a route of these tables: leave it to the data plane, which has its own fallback.
    Unknown,
    /// Leave it to the data plane, which resolves the backend by DNS: these tables hold no endpoints of it.
    External {
        /// Replacements in the response.
        rewriting: Option<&'a Rewriting>,
    },
}

/// Limits of a route; there is one at least.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// Requests in a time.
    pub rates: Option<&'a RateLimit>,
    /// Requests at a time.
    pub connections: Option<&'a ConnectionLimit>,
}

/// Destination of a request.
#[derive(Debug)]
pub struct Forward<'a> {
    /// To the first of these endpoints, retries to the following: `ip:port,ip:port`.
    pub candidates: &'a str,
    /// The id of the backend that they belong to, where the route leaves it open.
    pub backend: Option<&'a str>,
    /// To be given back when the request is over, if anything observes it.
    pub token: Option<RequestToken>,
    /// Replacements in the response.
    pub rewriting: Option<&'a Rewriting>,
}

/// The part of the tables that a decision changes.
struct Router<'a> {
    backends: &'a mut ById<Rc<str>, Backend>,
    key: &'a mut Vec<u8>,
    list: &'a mut String,
}

impl Tables {
    /// Decides one request by the route that the data plane matched. Allocates nothing, except for a new session.
    pub fn decide(
        &mut self,
        route: &str,
        request: &impl Request,
        now: Timestamp,
        rng: &mut impl Rng,
    ) -> Decision<'_> {
        let (route, router) = self.split(route);
        match route {
            Some(Route {
                rates, connections, ..
            }) if rates.is_some() || connections.is_some() => Decision::CheckLimits(Limits {
                rates: rates.as_ref(),
                connections: connections.as_ref(),
            }),
            Some(route) => router.decide(route, request, now, rng),
            None => Decision::Unknown,
        }
    }

    /// As [`Tables::decide`], for a request that its route's limits have counted or do not apply to.
    pub fn decide_admitted(
        &mut self,
        route: &str,
        request: &impl Request,
        now: Timestamp,
        rng: &mut impl Rng,
    ) -> Decision<'_> {
        let (route, router) = self.split(route);
        route.map_or(Decision::Unknown, |route| {
            router.decide(route, request, now, rng)
        })
    }

    fn split(&mut self, route: &str) -> (Option<&Route>, Router<'_>) {
        let router = Router {
            backends: &mut self.backends,
            key: &mut self.key,
            list: &mut self.list,
        };
        (self.routes.get(route), router)
    }

    /// The `Set-Cookie` of a response, now that it is known which endpoint gave it.
    pub fn session_cookie(
        &mut self,
        token: &RequestToken,
        endpoint: &str,
        https: bool,
        now: Timestamp,
    ) -> Option<String> {
        let session = token.session.as_ref()?;
        let backend = self.backends.get_mut(&token.backend)?;
        let idx = backend.position(&token.picks, endpoint)?;
        let upstream_key = backend.upstream_key(session, idx)?;
        Some(session.affinity.cookie.render(&CookieContext {
            upstream_key: upstream_key.as_bytes(),
            backend_key: &backend.backend_key(),
            route_path: &session.path,
            https,
            none_is_understood: session.none_is_understood,
            now,
        }))
    }

    /// The end of a request. Without an outcome only that it is over: every token comes back here.
    pub fn complete(&mut self, token: RequestToken, outcome: Option<&Outcome<'_>>, now: Timestamp) {
        let Some(backend) = self.backends.get_mut(&token.backend) else {
            return;
        };
        if token.interest.end {
            backend.ended(&token.picks);
        }
        if let Some(outcome) = outcome {
            backend.observe(&token.picks, outcome, now, &mut self.ejections);
        }
    }
}

/// Backend of a request, and the meaning of sessions there.
struct Destination<'l> {
    id: &'l Rc<str>,
    affinity: Option<Rc<Affinity>>,
    session_path: Option<&'l Rc<str>>,
}

impl<'a> Router<'a> {
    fn decide(
        mut self,
        route: &'a Route,
        request: &impl Request,
        now: Timestamp,
        rng: &mut impl Rng,
    ) -> Decision<'a> {
        let rewriting = route.rewriting.as_ref();
        let Some(primary) = self.backends.get(&route.backend) else {
            return Decision::External { rewriting };
        };
        if primary.endpoints().is_empty() {
            return Decision::Reply(Reply::NO_ENDPOINTS);
        }
        let Destination {
            id,
            affinity,
            session_path,
        } = self.destination(route, request, rng);
        let Some(backend) = self.backends.get_mut(id) else {
            return Decision::External { rewriting };
        };
        let (candidates, session) = match affinity {
            Some(affinity) => place(backend, affinity, session_path, request, now, rng),
            None => (backend.balance(request, self.key, now, rng), None),
        };
        write(self.list, backend, &candidates);
        let token = token(id, backend, &candidates, session);
        let backend = (!route.canaries.is_empty()).then_some(&**id);
        Decision::Forward(Forward {
            candidates: self.list,
            backend,
            token,
            rewriting,
        })
    }

    /// The backend of a request.
    fn destination<'l>(
        &mut self,
        route: &'l Route,
        request: &impl Request,
        rng: &mut impl Rng,
    ) -> Destination<'l> {
        let primary = self.backends.get(&route.backend);
        let affinity = primary.and_then(Backend::affinity).cloned();
        let session = affinity.as_deref().map_or(0, headers);
        request.expect(route.headers + session + primary.map_or(0, Backend::headers));
        let session_path = route.session_path.as_ref();
        let canary = match route.canaries.is_empty() {
            true => None,
            false => self.canary(route, affinity.as_deref(), request, rng),
        };
        match canary {
            Some(canary) if canary.shares_sessions => Destination {
                id: &canary.backend,
                affinity,
                session_path,
            },
            // ingress-nginx lists no location for such a canary, so that no session begins on it.
            Some(canary) => Destination {
                id: &canary.backend,
                affinity: self.affinity(&canary.backend),
                session_path: None,
            },
            None => Destination {
                id: &route.backend,
                affinity,
                session_path,
            },
        }
    }

    fn affinity(&self, backend: &Rc<str>) -> Option<Rc<Affinity>> {
        self.backends
            .get(backend)
            .and_then(Backend::affinity)
            .cloned()
    }

    fn canary<'l>(
        &mut self,
        route: &'l Route,
        affinity: Option<&Affinity>,
        request: &impl Request,
        rng: &mut impl Rng,
    ) -> Option<&'l canary::Canary> {
        if affinity.is_some_and(|affinity| self.has_session(&route.backend, affinity, request)) {
            return None;
        }
        for canary in &route.canaries {
            let own = self.affinity(&canary.backend);
            let affinity = if canary.shares_sessions {
                affinity
            } else {
                own.as_deref()
            };
            if affinity.is_some_and(|affinity| self.has_session(&canary.backend, affinity, request))
            {
                return Some(canary);
            }
        }
        let there = |n: usize| {
            route
                .canaries
                .get(n)
                .is_some_and(|canary| self.serves(&canary.backend))
        };
        let chosen = canary::choose(&route.canaries, there, request, rng)?;
        route.canaries.get(chosen)
    }

    fn serves(&self, backend: &Rc<str>) -> bool {
        self.backends
            .get(backend)
            .is_some_and(|backend| !backend.endpoints().is_empty())
    }

    fn has_session(
        &mut self,
        backend: &Rc<str>,
        affinity: &Affinity,
        request: &impl Request,
    ) -> bool {
        let Some(backend) = self
            .backends
            .get_mut(backend)
            .filter(|backend| !backend.endpoints().is_empty())
        else {
            return false;
        };
        request
            .header("cookie")
            .is_some_and(|cookies| backend.has_session(&cookies, affinity))
    }
}

/// How many headers an affinity reads.
fn headers(affinity: &Affinity) -> usize {
    1 + usize::from(affinity.cookie.conditional_same_site_none)
}

fn place(
    backend: &mut Backend,
    affinity: Rc<Affinity>,
    session_path: Option<&Rc<str>>,
    request: &impl Request,
    now: Timestamp,
    rng: &mut impl Rng,
) -> (Candidates, Option<NewSession>) {
    let cookies = request.header("cookie");
    let Placement { candidates, start } = backend.place(&affinity, cookies.as_deref(), now, rng);
    let session = start.zip(session_path.cloned()).map(|(start, path)| {
        let asks = affinity.cookie.conditional_same_site_none;
        let user_agent = asks.then(|| request.header("user-agent")).flatten();
        NewSession {
            none_is_understood: affinity::none_is_understood(
                user_agent.as_deref().unwrap_or_default(),
            ),
            stays: start.stays.and_then(|idx| backend.serial(idx)),
            keys: start
                .keys
                .iter()
                .filter_map(|(idx, key)| Some((backend.serial(*idx)?, *key)))
                .collect(),
            affinity,
            path,
        }
    });
    (candidates, session)
}

fn token(
    id: &Rc<str>,
    backend: &mut Backend,
    candidates: &Candidates,
    session: Option<NewSession>,
) -> Option<RequestToken> {
    let interest = backend.interest();
    if interest == Interest::default() && session.is_none() {
        return None;
    }
    let picks = if interest.end {
        backend.sent(candidates)
    } else {
        backend.remember(candidates)
    };
    Some(RequestToken {
        backend: Rc::clone(id),
        picks,
        interest,
        session,
    })
}

fn write(list: &mut String, backend: &Backend, candidates: &Candidates) {
    list.clear();
    for address in candidates
        .iter()
        .filter_map(|idx| backend.endpoints().address(idx))
    {
        if !list.is_empty() {
            list.push(',');
        }
        list.push_str(address);
    }
}
