//! One IR value to one wire value.

use std::num::NonZeroU32;

use sluice_filter_config as wire;
use sluice_ir as ir;

use crate::{rewriting, session};

pub(crate) fn backend(id: &ir::BackendId, backend: &ir::Backend) -> wire::Backend {
    let endpoint = |endpoint: &ir::Endpoint| wire::Endpoint {
        address: endpoint.address.to_string(),
        weight: endpoint.weight,
        zones: endpoint.zones.to_vec(),
        draining: endpoint.draining,
        backup: endpoint.backup,
        unhealthy: endpoint.unhealthy,
    };
    wire::Backend {
        // ingress-nginx joins the same parts with hyphens, however the pods are spoken to.
        name: backend
            .variant_of
            .as_ref()
            .unwrap_or(id)
            .as_str()
            .replace('/', "-"),
        load_balance: load_balance(&backend.load_balance),
        affinity: backend.affinity.as_deref().map(session::affinity),
        slow_start: backend.health.slow_start,
        outlier: backend.health.outlier_detection.as_ref().map(outlier),
        prefer_zone: backend.prefer_zone,
        attempts: backend.attempts,
        endpoints: backend.endpoints.iter().map(endpoint).collect(),
    }
}

fn load_balance(algorithm: &ir::LoadBalance) -> wire::LoadBalance {
    match algorithm {
        ir::LoadBalance::Named(name) => wire::LoadBalance::named(*name),
        ir::LoadBalance::Hash {
            key,
            subset,
            load_factor,
        } => {
            let key = key.clone();
            match (*subset, *load_factor) {
                (Some(size), _) => wire::LoadBalance::chash_subset(key, size),
                (None, Some(load_factor)) => wire::LoadBalance::bounded_chash(key, load_factor),
                (None, None) => wire::LoadBalance::chash(key),
            }
        }
    }
}

fn outlier(ejection: &ir::OutlierDetection) -> wire::Outlier {
    wire::Outlier {
        consecutive_5xx: ejection.consecutive_failures,
        base_ejection: ejection.base_ejection_seconds,
        max_ejected: ejection.max_ejection_percent,
        panic_threshold: ejection.panic_threshold,
    }
}

/// The backends that the filter chooses for.
pub(crate) fn backends(config: &ir::Config) -> impl Iterator<Item = (String, wire::Backend)> + '_ {
    config
        .backends
        .iter()
        .map(|(id, of_id)| (id.to_string(), backend(id, of_id)))
}

/// The routes that the filter has a say in: those that forward, and what error services are asked and copies are sent by.
pub(crate) fn routes(config: &ir::Config) -> impl Iterator<Item = (String, wire::Route)> + '_ {
    config
        .all_servers()
        .flat_map(|server| forwarding(server))
        .chain(asked(config))
}

/// Internal routes: to error services and to mirrors.
pub(crate) fn asked(config: &ir::Config) -> impl Iterator<Item = (String, wire::Route)> + '_ {
    let services = config
        .error_services()
        .into_iter()
        .map(|id| (ir::RouteId::error_service(id), id));
    let copies = config
        .mirrors()
        .into_iter()
        .map(|id| (ir::RouteId::mirror(id), id));
    let leads = |(route, id): (ir::RouteId, &ir::BackendId)| {
        (
            route.as_str().to_owned(),
            wire::Route {
                backend: id.to_string(),
                ..wire::Route::default()
            },
        )
    };
    services.chain(copies).map(leads)
}

/// Of one server the routes that forward.
pub(crate) fn forwarding(server: &ir::Server) -> impl Iterator<Item = (String, wire::Route)> + '_ {
    server.routes.iter().filter_map(|route| {
        let destination = route.destination()?;
        let forwards = wire::Route {
            backend: destination.primary().to_string(),
            canaries: alternatives(route, destination),
            session_path: route.session_path.as_deref().map(str::to_owned),
            connections: route.policy.limits.as_ref().and_then(connections),
            rates: route.policy.limits.as_ref().and_then(rates),
            rewriting: rewriting::rewriting(&route.policy.response_rewrite),
        };
        Some((route.id.as_str().to_owned(), forwards))
    })
}

/// The names of a server that are whole names.
pub(crate) fn exact_names<'a>(
    name: &'a ir::ServerName,
    server: &'a ir::Server,
) -> impl Iterator<Item = String> + 'a {
    server
        .names(name)
        .filter(|name| name.is_exact())
        .map(ToString::to_string)
}

fn connections(limits: &ir::ClientLimits) -> Option<wire::Connections> {
    let ir::ConnectionLimit { max: most, status } = limits.connections?;
    Some(wire::Connections {
        zone: limits.zone.clone(),
        most,
        status,
        exempt: exempt(limits),
    })
}

fn rates(limits: &ir::ClientLimits) -> Option<wire::Rates> {
    const MINUTE: NonZeroU32 = NonZeroU32::new(60).unwrap();
    let rates = [
        (NonZeroU32::MIN, limits.per_second),
        (MINUTE, limits.per_minute),
    ];
    let rates = rates.into_iter().filter_map(|(seconds, rate)| {
        let ir::Rate { requests, burst } = rate?;
        Some(wire::Rate {
            requests,
            seconds,
            burst,
        })
    });
    limits.has_rates().then(|| wire::Rates {
        zone: limits.zone.clone(),
        limits: rates.collect(),
        status: limits.status,
        exempt: exempt(limits),
    })
}

fn exempt(limits: &ir::ClientLimits) -> Vec<wire::Network> {
    let exempt = limits.exempt.iter();
    exempt
        .filter_map(|cidr| wire::Network::new(cidr.address(), cidr.prefix_len()))
        .collect()
}

/// Canaries first: what their rules leave is shared by weight.
fn alternatives(route: &ir::HttpRoute, destination: &ir::Destination) -> Vec<wire::Canary> {
    let canaries = route.canaries.iter().map(canary);
    let taken: f64 = route
        .canaries
        .iter()
        .map(|canary| f64::from(canary.rules.weight) / f64::from(canary.rules.total.max(1)))
        .sum();
    let backends = destination.backends().iter();
    let sum: f64 = backends.map(|backend| f64::from(backend.weight)).sum();
    let rest = (1.0 - taken).clamp(0.0, 1.0);
    let weighted = destination.alternatives().iter();
    let weighted = weighted.map(|backend| wire::Canary {
        backend: backend.backend.to_string(),
        weight: Some(part(rest * f64::from(backend.weight) / sum)),
        ..wire::Canary::default()
    });
    canaries.chain(weighted).collect()
}

/// A part of all requests, from 0 to 1, to the millionth.
fn part(of_all: f64) -> wire::Share {
    const TOTAL: u32 = 1_000_000;
    wire::Share {
        weight: (of_all * f64::from(TOTAL)).round() as u32,
        total: TOTAL,
    }
}

fn patterns(all: &[ir::ValuePattern]) -> Vec<wire::HeaderPattern> {
    let all = all.iter().map(|it| wire::HeaderPattern {
        pattern: it.pattern.clone(),
        negated: it.negated,
    });
    all.collect()
}

/// A canary of Ingresses.
#[must_use]
pub fn canary(canary: &ir::Canary) -> wire::Canary {
    let ir::CanaryRules {
        header,
        cookie,
        weight,
        total,
    } = &canary.rules;
    let header = header.as_ref().map(|header| wire::HeaderRule {
        name: header.name.clone(),
        values: match &header.value {
            ir::CanaryValue::AlwaysNever => wire::HeaderMatch::Switch,
            ir::CanaryValue::Exact(value) => wire::HeaderMatch::Exact(value.clone()),
            ir::CanaryValue::Matches(pattern) => wire::HeaderMatch::Pattern(pattern.clone()),
            ir::CanaryValue::MatchesAll(all) => wire::HeaderMatch::Patterns(patterns(all)),
            ir::CanaryValue::Backtracking(pattern) => {
                wire::HeaderMatch::Backtracking(pattern.clone())
            }
            ir::CanaryValue::Invalid => wire::HeaderMatch::Invalid,
        },
    });
    wire::Canary {
        backend: canary.backend.to_string(),
        header,
        cookie: cookie.clone(),
        weight: (*weight > 0).then_some(wire::Share {
            weight: *weight,
            total: *total,
        }),
        affinity: if canary.sticky {
            wire::CanaryAffinity::Sticky
        } else {
            wire::CanaryAffinity::Legacy
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_of_one_variant_is_good_for_the_other() {
        let id = ir::BackendId::new("shop/web/80");
        let variant = ir::Backend {
            variant_of: Some(id.clone()),
            ..ir::Backend::default()
        };
        let other = ir::BackendId::new("shop/web/80/tls");
        assert_eq!(backend(&other, &variant).name, "shop-web-80");
        assert_eq!(backend(&id, &ir::Backend::default()).name, "shop-web-80");
    }

    #[test]
    fn a_canary_that_nobody_asks_for_has_no_share() {
        let canary = |weight| {
            canary(&ir::Canary {
                backend: ir::BackendId::new("shop/new/80"),
                https_backend: None,
                rules: ir::CanaryRules {
                    weight,
                    total: 100,
                    ..ir::CanaryRules::default()
                },
                sticky: true,
            })
        };
        assert_eq!(canary(0).weight, None);
        assert_eq!(
            canary(20).weight,
            Some(wire::Share {
                weight: 20,
                total: 100
            })
        );
    }
}
