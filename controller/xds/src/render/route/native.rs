//! Native balancing: where Envoy balances by itself with the result that the filter would have, the filter is off and costs nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use envoy_types::pb::envoy::config::route::v3::retry_policy::{
    RetryHostPredicate, retry_host_predicate,
};
use envoy_types::pb::envoy::config::route::v3::route::Action;
use envoy_types::pb::envoy::config::route::v3::{RetryPolicy, Route};
use envoy_types::pb::envoy::extensions::retry::host::previous_hosts::v3::PreviousHostsPredicate;
use sluice_ir::{
    Backend, BackendId, Config, HttpRoute, LoadBalance, ResponseRewrite, Server, ServerName,
    Shared, changed,
};

use crate::render::proto::any;

/// How often Envoy looks for an endpoint that a request has not tried: the same one comes up again by its weight, or by chance.
const MAX_HOST_SELECTIONS: i64 = 256;

/// With this ratio of weights the endpoints that were tried come up fewer times in a row than Envoy looks, for as many attempts as there
/// may be.
const MAX_WEIGHT_RATIO: u32 = 16;

/// A new endpoint has a tenth of its weight at first.
const SLOW_START_RATIO: u32 = 10;

/// `least_conn` draws two endpoints, and one that failed has the fewest requests. With so many attempts it comes up each time for one of ten
/// million requests.
const MAX_ATTEMPTS_BY_DRAWS: u8 = 4;

/// True if Envoy chooses among the endpoints of a backend as the filter would: each in its turn, as often as its weight says, and a new
/// one at first less often; or of two endpoints the one with fewer requests under way.
///
/// Envoy sends no retry to a backup while another endpoint is left, and none to another endpoint when one outweighs it by far. It has no
/// word for a zone that comes first, and with weights it takes turns for `least_conn`, too. What it counts to eject an endpoint differs
/// from what the filter counts. Endpoints that rest or drain serve when there is nobody else: here that is the filter's.
#[must_use]
pub fn is_native(backend: &Backend) -> bool {
    let health = &backend.health;
    let ratio = weight_ratio(backend);
    let chooses = match backend.load_balance {
        LoadBalance::ROUND_ROBIN if health.slow_start.is_some() => {
            ratio * SLOW_START_RATIO <= MAX_WEIGHT_RATIO
        }
        LoadBalance::ROUND_ROBIN => ratio <= MAX_WEIGHT_RATIO,
        LoadBalance::LEAST_CONN => health.slow_start.is_none() && ratio == 1,
        _ => false,
    };
    chooses
        && backend.affinity.is_none()
        && health.outlier_detection.is_none()
        && health.check.is_none()
        && !backend.prefer_zone
        && !backend
            .endpoints
            .iter()
            .any(|it| it.backup || it.draining || it.unhealthy)
}

/// How many times the least weight the greatest one is, rounded up.
fn weight_ratio(backend: &Backend) -> u32 {
    let weights = || {
        backend
            .endpoints
            .iter()
            .map(|it| u32::from(it.weight.get()))
    };
    let least = weights().min().unwrap_or(1);
    weights().max().unwrap_or(1).div_ceil(least)
}

/// True if somebody else balances a backend now. A route to one that is not there is answered by Envoy.
#[must_use]
pub fn moves(before: Option<&Arc<Backend>>, now: Option<&Arc<Backend>>) -> bool {
    let native = |backend: Option<&Arc<Backend>>| backend.is_none_or(|it| is_native(it));
    native(before) != native(now)
}

/// True if the filter has nothing to do on a route.
#[must_use]
pub fn balances(config: &Config, route: &HttpRoute) -> bool {
    let Some(to) = route.destination() else {
        return false;
    };
    let attempts = route.policy.retries.attempts.get();
    let fits = |backend: &Backend| {
        backend.load_balance != LoadBalance::LEAST_CONN || attempts <= MAX_ATTEMPTS_BY_DRAWS
    };
    let is_native = |id| {
        let backend = config.backends.get(id);
        backend.is_none_or(|backend| is_native(backend) && fits(backend))
    };
    config.global.native_balancing
        && route.canaries.is_empty()
        && to.alternatives().is_empty()
        && route.policy.limits.is_none()
        && route.policy.response_rewrite == ResponseRewrite::default()
        && [Some(to.primary()), route.https_backend.as_ref()]
            .into_iter()
            .flatten()
            .all(is_native)
}

/// Sends each attempt to another endpoint, as the filter's list of candidates does.
pub(super) fn retries_elsewhere(mut route: Route) -> Route {
    if let Some(Action::Route(action)) = &mut route.action {
        action.retry_policy = action.retry_policy.take().map(|policy| RetryPolicy {
            retry_host_predicate: vec![skip_tried_hosts()],
            host_selection_retry_max_attempts: MAX_HOST_SELECTIONS,
            ..policy
        });
    }
    route
}

fn skip_tried_hosts() -> RetryHostPredicate {
    RetryHostPredicate {
        name: "envoy.retry_host_predicates.previous_hosts".to_owned(),
        config_type: any(PreviousHostsPredicate {})
            .map(retry_host_predicate::ConfigType::TypedConfig),
    }
}

/// Backends as their routes were rendered last.
#[derive(Clone, Debug, Default)]
pub(super) struct RenderedBackends(Shared<BackendId, Backend>);

impl RenderedBackends {
    /// Backends that somebody else balances now. Their routes are stale, though they may not have changed themselves.
    pub(super) fn take_moved(&mut self, config: &Config) -> BTreeSet<BackendId> {
        if !config.global.native_balancing {
            return BTreeSet::new();
        }
        let moved = changed(&self.0, &config.backends)
            .filter(|changed| moves(changed.before, changed.now))
            .map(|changed| changed.name.clone())
            .collect();
        self.0 = config.backends.clone();
        moved
    }
}

/// Takes out the servers that have routes to these backends: they will be as if they were new.
pub(super) fn forget_servers(
    servers: &mut Shared<ServerName, Server>,
    backends: &BTreeSet<BackendId>,
) -> Vec<ServerName> {
    if backends.is_empty() {
        return Vec::new();
    }
    let stale: Vec<ServerName> = servers
        .iter()
        .filter(|(_, server)| forwards_to(server, backends))
        .map(|(name, _)| name.clone())
        .collect();
    for name in &stale {
        servers.remove(name);
    }
    stale
}

/// True if a route of a server forwards to one of these.
pub(super) fn forwards_to(server: &Server, backends: &BTreeSet<BackendId>) -> bool {
    let mut forwards = server.routes.iter().flat_map(|route| {
        route
            .primary_backend()
            .into_iter()
            .chain(&route.https_backend)
    });
    forwards.any(|id| backends.contains(id))
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use sluice_ir::{
        Action, Canary, CanaryRules, ClientLimits, Destination, Endpoint, Expression, HealthCheck,
        HealthPolicy, PathMatch, Policy, Replacement, Retries, WeightedBackend,
    };

    use super::*;

    const ID: &str = "default/web/80";

    fn id(text: &str) -> BackendId {
        BackendId::new(text)
    }

    fn route(action: Action, policy: Policy) -> HttpRoute {
        let path = PathMatch::Prefix("/".to_owned());
        HttpRoute::new(&ServerName::CatchAll, path, action, policy.into())
    }

    fn to_web() -> HttpRoute {
        route(Action::to(id(ID)), Policy::default())
    }

    fn with(backend: Backend) -> Config {
        Config {
            backends: [(id(ID), Arc::new(backend))].into_iter().collect(),
            ..Config::default()
        }
    }

    fn weighted(weight: u16) -> Endpoint {
        Endpoint {
            weight: weight.try_into().unwrap(),
            ..Endpoint::at("10.0.0.1:80".parse().unwrap())
        }
    }

    fn slow_start() -> HealthPolicy {
        HealthPolicy {
            slow_start: NonZeroU32::new(30),
            ..HealthPolicy::default()
        }
    }

    #[test]
    fn turns_and_fewest_requests_are_envoys_own() {
        let turns = Backend {
            endpoints: vec![weighted(1), weighted(16)],
            ..Backend::default()
        };
        let slowly = Backend {
            endpoints: vec![weighted(3), weighted(3)],
            health: slow_start(),
            ..Backend::default()
        };
        let fewest = Backend {
            load_balance: LoadBalance::LEAST_CONN,
            endpoints: vec![weighted(3), weighted(3)],
            ..Backend::default()
        };
        for backend in [turns, slowly, fewest] {
            assert!(balances(&with(backend.clone()), &to_web()), "{backend:?}");
        }
        assert!(balances(&Config::default(), &to_web()), "nobody is there");
    }

    fn of(endpoint: Endpoint) -> Backend {
        Backend {
            endpoints: vec![endpoint],
            ..Backend::default()
        }
    }

    #[test]
    fn endpoints_that_envoy_treats_otherwise_are_the_filters() {
        let endpoints = [
            Endpoint {
                backup: true,
                ..weighted(1)
            },
            Endpoint {
                draining: true,
                ..weighted(1)
            },
            Endpoint {
                unhealthy: true,
                ..weighted(1)
            },
        ];
        for endpoint in endpoints {
            let backend = of(endpoint);
            assert!(!balances(&with(backend.clone()), &to_web()), "{backend:?}");
        }
    }

    #[test]
    fn what_envoy_does_otherwise_is_the_filters() {
        let check = HealthPolicy {
            check: Some(HealthCheck::at("/".to_owned()).into()),
            ..HealthPolicy::default()
        };
        let named = |name, weights: &[u16], health| Backend {
            load_balance: LoadBalance::Named(name),
            endpoints: weights.iter().copied().map(weighted).collect(),
            health,
            ..Backend::default()
        };
        let backends = [
            Backend {
                prefer_zone: true,
                ..Backend::default()
            },
            named("ewma", &[], HealthPolicy::default()),
            named("round_robin", &[], check),
            named("round_robin", &[1, 17], HealthPolicy::default()),
            named("round_robin", &[1, 2], slow_start()),
            named("least_conn", &[1, 2], HealthPolicy::default()),
            named("least_conn", &[], slow_start()),
        ];
        for backend in backends {
            assert!(!balances(&with(backend.clone()), &to_web()), "{backend:?}");
        }
    }

    #[test]
    fn a_route_that_the_filter_has_more_to_do_on_keeps_it() {
        let two = [ID, "default/other/80"].map(|text| WeightedBackend {
            backend: id(text),
            weight: 1,
            filters: Vec::new(),
        });
        let two = Destination::weighted(two.into()).unwrap();
        let limited = Policy {
            limits: Some(ClientLimits::default()),
            ..Policy::default()
        };
        let nothing = || Expression::literal("");
        let rewritten = Policy {
            response_rewrite: ResponseRewrite {
                redirects: Some(Replacement::Text {
                    from: nothing(),
                    to: nothing(),
                }),
                ..ResponseRewrite::default()
            },
            ..Policy::default()
        };
        let canary = HttpRoute {
            canaries: vec![Canary {
                backend: id("default/canary/80"),
                https_backend: None,
                rules: CanaryRules::default(),
                sticky: false,
            }],
            ..to_web()
        };
        let routes = [
            route(Action::Forward(two), Policy::default()),
            route(Action::to(id(ID)), limited),
            route(Action::to(id(ID)), rewritten),
            canary,
            route(Action::Denied, Policy::default()),
        ];
        for route in routes {
            assert!(!balances(&Config::default(), &route), "{route:?}");
        }
        let mut off = Config::default();
        off.global.native_balancing = false;
        assert!(!balances(&off, &to_web()));
    }

    #[test]
    fn least_conn_is_native_for_a_few_attempts() {
        let attempts = |attempts: u8| {
            let retries = Retries {
                attempts: attempts.try_into().unwrap(),
                ..Retries::default()
            };
            let policy = Policy {
                retries,
                ..Policy::default()
            };
            route(Action::to(id(ID)), policy)
        };
        let by_draws = with(Backend {
            load_balance: LoadBalance::LEAST_CONN,
            ..Backend::default()
        });
        assert!(balances(&by_draws, &attempts(4)) && !balances(&by_draws, &attempts(5)));
        assert!(balances(&Config::default(), &attempts(5)));
    }
}
