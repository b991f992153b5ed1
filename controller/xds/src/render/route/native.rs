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

/// How often Envoy looks for an endpoint that a request has not tried. With weights the same one may come up again.
const MAX_HOST_SELECTIONS: i64 = 8;

/// True if Envoy chooses among the endpoints of a backend as the filter would: each in its turn, as often as its weight says, and a new
/// one at first less often; or of two endpoints the one with fewer requests under way.
///
/// Envoy sends no retry to a backup while another endpoint is left, and has no word for a zone that comes first. What it counts to eject an
/// endpoint differs from what the filter counts. With weights it takes turns for `least_conn`, too.
#[must_use]
pub fn is_native(backend: &Backend) -> bool {
    let health = &backend.health;
    let endpoints = || backend.endpoints.iter();
    let chooses = match backend.load_balance {
        LoadBalance::ROUND_ROBIN => true,
        LoadBalance::LEAST_CONN => {
            let first = endpoints().next();
            health.slow_start.is_none()
                && endpoints().all(|it| first.is_none_or(|first| it.weight == first.weight))
        }
        _ => false,
    };
    chooses
        && backend.affinity.is_none()
        && health.outlier_detection.is_none()
        && health.check.is_none()
        && !backend.prefer_zone
        && !endpoints().any(|endpoint| endpoint.backup)
}

/// True if the filter has nothing to do on a route.
#[must_use]
pub fn balances(config: &Config, route: &HttpRoute) -> bool {
    let Some(to) = route.destination() else {
        return false;
    };
    let is_native = |id| {
        config
            .backends
            .get(id)
            .is_none_or(|backend| is_native(backend))
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
            retry_host_predicate: vec![not_again()],
            host_selection_retry_max_attempts: MAX_HOST_SELECTIONS,
            ..policy
        });
    }
    route
}

fn not_again() -> RetryHostPredicate {
    RetryHostPredicate {
        name: "envoy.retry_host_predicates.previous_hosts".to_owned(),
        config_type: any(PreviousHostsPredicate {})
            .map(retry_host_predicate::ConfigType::TypedConfig),
    }
}

/// Backends as their routes were rendered last.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory(Shared<BackendId, Backend>);

impl Memory {
    /// Backends that somebody else balances now. Their routes are stale, though they may not have changed themselves.
    pub(super) fn take_moved(&mut self, config: &Config) -> BTreeSet<BackendId> {
        // A route to a backend that is not there is answered by Envoy.
        let native = |backend: Option<&Arc<Backend>>| backend.is_none_or(|it| is_native(it));
        let moved = changed(&self.0, &config.backends)
            .filter(|changed| native(changed.before) != native(changed.now))
            .map(|changed| changed.name.clone())
            .collect();
        self.0 = config.backends.clone();
        moved
    }
}

/// Servers that have routes to these backends are as if they were new.
pub(super) fn forget_servers(
    servers: &mut Shared<ServerName, Server>,
    backends: &BTreeSet<BackendId>,
) {
    if backends.is_empty() {
        return;
    }
    let stale: Vec<ServerName> = servers
        .iter()
        .filter(|(_, server)| forwards_to(server, backends))
        .map(|(name, _)| name.clone())
        .collect();
    for name in stale {
        servers.remove(&name);
    }
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
        HealthPolicy, PathMatch, Policy, Replacement, WeightedBackend,
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
            endpoints: vec![weighted(1), weighted(7)],
            health: slow_start(),
            ..Backend::default()
        };
        let fewest = Backend {
            load_balance: LoadBalance::LEAST_CONN,
            endpoints: vec![weighted(3), weighted(3)],
            ..Backend::default()
        };
        for backend in [turns, fewest] {
            assert!(balances(&with(backend.clone()), &to_web()), "{backend:?}");
        }
        assert!(balances(&Config::default(), &to_web()), "nobody is there");
    }

    #[test]
    fn what_envoy_does_otherwise_is_the_filters() {
        let backup = Endpoint {
            backup: true,
            ..Endpoint::at("10.0.0.1:80".parse().unwrap())
        };
        let check = HealthPolicy {
            check: Some(HealthCheck::at("/".to_owned())),
            ..HealthPolicy::default()
        };
        let backends = [
            Backend {
                load_balance: LoadBalance::Named("ewma"),
                ..Backend::default()
            },
            Backend {
                prefer_zone: true,
                ..Backend::default()
            },
            Backend {
                health: check,
                ..Backend::default()
            },
            Backend {
                endpoints: vec![backup],
                ..Backend::default()
            },
            Backend {
                load_balance: LoadBalance::LEAST_CONN,
                endpoints: vec![weighted(1), weighted(2)],
                ..Backend::default()
            },
            Backend {
                load_balance: LoadBalance::LEAST_CONN,
                health: slow_start(),
                ..Backend::default()
            },
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
}
