//! Hosts and paths: RDS, and SRDS where there are many hosts.
//!
//! Envoy takes the virtual host with the longest match, then its first route that matches, and answers 404 itself
//! when there is none. A wildcard host is one label and no more, but Envoy's `*.example.com` takes any number, so
//! each route of a wildcard host looks again, and the routes of the catch-all host follow for all others.

mod asked;
mod cache;
mod clients;
mod conditional_route;
mod cors;
mod direct_response;
mod discovery;
mod error_services;
mod http_route;
mod log_metadata;
pub(super) mod matching;
mod mirrors;
mod native;
mod redirect;
mod retry;
pub(super) mod rewrite;
mod scopes;
mod table;

use envoy_types::pb::envoy::config::core::v3::HeaderValueOption;
use envoy_types::pb::envoy::config::route::v3::route::Action;
use envoy_types::pb::envoy::config::route::v3::{
    DirectResponseAction, FilterConfig, Route, RouteConfiguration, RouteMatch, VirtualHost,
};
use envoy_types::pb::google::protobuf::UInt64Value;
use sluice_filter_core::path_patterns::is_patterns_route;
use sluice_ir::{Config, GlobalConfig, Header, HttpRoute, PathMatch, Server, ServerName};

use super::LOOKUP_FILTER;
use super::encoded::{self, SENT_TARGET};
use super::format::format;
use super::header::set;
use super::patterns;
use super::policy::{self, COMPOSITE, FIREWALL, POLICY, composites_per_route, without_limit};
use super::proto::any;
use super::{FILTER, forwarded, hidden_headers, request_headers};
use crate::settings::{
    ENCODED_ROUTE, INVALID_PORT_ROUTE, PATH_HEADER, SUBJECT_HEADER, TRACE_ROUTE, TRUST_HEADER,
};
use crate::{HTTP, PROBE};
pub use cache::RouteCache;
pub use discovery::Discovery;
use matching::{PORT, contains, is, match_of, matches, no, one_label_and, only_for};
pub use native::{balances as balances_natively, moves as moves_balancing};

/// All routes of the listeners, in one table.
#[must_use]
pub fn routes(config: &Config) -> RouteConfiguration {
    let hosts = config
        .servers
        .iter()
        .flat_map(|(name, server)| hosts_of(name, server, config, |_| true));
    let hosts = hosts.map(|host| with_composite(host, &config.global));
    let others = all_but_hosts(config);
    RouteConfiguration {
        virtual_hosts: hosts.chain(others.virtual_hosts).collect(),
        ..others
    }
}

/// The same routes under another name, as they are in this way of discovery.
pub(crate) fn probe_routes(config: &Config, discovery: Discovery) -> RouteConfiguration {
    let all = RouteConfiguration {
        name: PROBE.to_owned(),
        ..routes(config)
    };
    match discovery {
        Discovery::Table => all,
        Discovery::Scopes => scopes::as_in_scopes(all, &config.global),
    }
}

/// One server, by those of its names that are asked for.
fn hosts_of<'a>(
    name: &'a ServerName,
    server: &'a Server,
    config: &'a Config,
    takes: fn(&ServerName) -> bool,
) -> impl Iterator<Item = VirtualHost> + use<'a> {
    let names = server.names(name).filter(move |name| takes(name));
    names.map(|name| host(name, server, config))
}

/// Settings of all hosts, and the virtual host of error services.
fn all_but_hosts(config: &Config) -> RouteConfiguration {
    let errors = error_services::host(config);
    RouteConfiguration {
        name: HTTP.to_owned(),
        request_headers_to_add: upstream_headers(&config.global),
        virtual_hosts: errors.into_iter().collect(),
        ignore_port_in_host_matching: true,
        request_headers_to_remove: hidden_from_pods(config),
        response_headers_to_add: config.global.response_headers.iter().map(header).collect(),
        response_headers_to_remove: hidden_headers::names(&config.global)
            .map(str::to_owned)
            .collect(),
        ..RouteConfiguration::default()
    }
}

/// Headers to remove before the upstream: what was checked of a certificate goes there under other names.
fn hidden_from_pods(config: &Config) -> Vec<String> {
    let asks = config
        .servers
        .values()
        .any(|server| server.client_certificates.is_some());
    let of_certificates = asks.then_some([TRUST_HEADER, SUBJECT_HEADER]);
    let has_patterns = config
        .servers
        .values()
        .any(|server| patterns::are_in(server));
    let of_patterns = has_patterns.then(patterns::hidden);
    forwarded::ENVOYS_OWN
        .into_iter()
        .chain([PATH_HEADER])
        .chain(of_certificates.into_iter().flatten())
        .map(str::to_owned)
        .chain(of_patterns.into_iter().flatten())
        .chain(request_headers::names_of_copies(&config.global))
        .chain(forwarded::names_of_copies(&config.global))
        .collect()
}

fn upstream_headers(global: &GlobalConfig) -> Vec<HeaderValueOption> {
    let own = forwarded::upstream_headers(&global.forwarded).into_iter();
    own.chain(request_headers::of_all(global)).collect()
}

/// With the policies of its routes for requests that come to them late, too. Where the filter counts requests first, it switches on what
/// has the late ones, so these are all that there are.
fn with_composite(mut host: VirtualHost, global: &GlobalConfig) -> VirtualHost {
    for route in host
        .routes
        .iter_mut()
        .filter(|route| route.name != ENCODED_ROUTE && !is_patterns_route(&route.name))
    {
        let early = route.typed_per_filter_config.get(POLICY);
        let composites = early.and_then(|early| composites_per_route(early, global.max_body_size));
        let filters = &mut route.typed_per_filter_config;
        if let Some(composites) = composites {
            filters.extend(composites.policies.map(|it| (COMPOSITE.to_owned(), it)));
            filters.extend(composites.firewall.map(|it| (FIREWALL.to_owned(), it)));
        }
        if filters.contains_key(LOOKUP_FILTER) {
            filters.extend(without_limit().map(|none| (POLICY.to_owned(), none)));
        }
    }
    host
}

fn header(header: &Header) -> HeaderValueOption {
    set(header.name.as_str(), &format(&header.value))
}

fn host(name: &ServerName, server: &Server, config: &Config) -> VirtualHost {
    let routes = server_routes(name, server, config);
    let (domain, routes): (String, Vec<Route>) = match name {
        ServerName::CatchAll => ("*".to_owned(), routes.collect()),
        ServerName::Exact(name) => (name.as_str().to_owned(), routes.collect()),
        ServerName::Wildcard(suffix) => {
            let mine = routes.map(|route| only_for(route, one_label_and(suffix)));
            (
                format!("*.{}", suffix.as_str()),
                mine.chain(unmatched(config)).collect(),
            )
        }
    };
    let unresolved = patterns::route(server).unwrap_or_else(encoded::route);
    let first = [unresolved, invalid_port(), trace()].into_iter();
    let routes = closed(first.chain(routes).collect());
    let target = config
        .global
        .forwarded
        .original_uri
        .then(|| set("x-original-uri", SENT_TARGET));
    let asked = forwarded::host(&config.global.forwarded, "%REQ(:authority)%");
    let (request_headers_to_remove, chain) = forwarded::of_host(&config.global.forwarded);
    let request_headers_to_add = [asked]
        .into_iter()
        .chain(target)
        .chain(chain)
        .chain(request_headers::of_host(&config.global))
        .collect();
    let (name, domains) = (name.to_string(), vec![domain]);
    VirtualHost {
        name,
        domains,
        routes,
        request_headers_to_add,
        request_headers_to_remove,
        ..VirtualHost::default()
    }
}

/// A path that a host does not have is not found, with the headers of all responses. Without a route, the filter would take a host
/// in scopes for one that has no scope, and look for the path among the others.
fn closed(mut routes: Vec<Route>) -> Vec<Route> {
    let takes_all = |route: &Route| route.r#match.as_ref() == Some(&all_paths());
    if !routes.iter().any(takes_all) {
        let not_found = answering(404);
        routes.push(without_useless_filter(not_found));
    }
    routes
}

/// All paths get this status.
pub(super) fn answering(status: u32) -> Route {
    let response = DirectResponseAction {
        status,
        ..DirectResponseAction::default()
    };
    Route {
        r#match: Some(all_paths()),
        action: Some(Action::DirectResponse(response)),
        ..Route::default()
    }
}

fn all_paths() -> RouteMatch {
    match_of(&sluice_ir::RouteMatch::path(PathMatch::Prefix(
        "/".to_owned(),
    )))
}

/// As nginx. To Envoy whatever is behind the last colon of a host is a port, and it would go into redirects and to pods.
fn invalid_port() -> Route {
    let route = Route {
        name: INVALID_PORT_ROUTE.to_owned(),
        ..answering(400)
    };
    // Most have no port, which costs least to find out.
    let has_colon = only_for(route, contains(":authority", ":"));
    let no_port = no(matches(":authority", &format!(r"(\[[^\]]*\]|[^:]*){PORT}")));
    without_useless_filter(only_for(has_colon, no_port))
}

/// As nginx: what a request looks like is nothing to tell a script in a browser.
fn trace() -> Route {
    let route = Route {
        name: TRACE_ROUTE.to_owned(),
        ..answering(405)
    };
    without_useless_filter(only_for(route, is(":method", "TRACE")))
}

fn server_routes<'a>(
    name: &'a ServerName,
    server: &'a Server,
    config: &'a Config,
) -> impl Iterator<Item = Route> + use<'a> {
    let global = &config.global;
    let app_root = server
        .app_root
        .iter()
        .map(move |path| redirect::app_root(path, (name, global)));
    let routes = move |http_route| {
        let routes = match &server.client_certificates {
            Some(clients) => clients::routes(http_route, name, clients, global),
            None => http_route::routes(http_route, name, global),
        };
        let routes = patterns::exhausted_route(http_route)
            .into_iter()
            .chain(routes);
        let is_native = native::balances(config, http_route);
        routes.map(move |route| {
            let route = inspected(route, http_route, global);
            match is_native {
                true => without_filter(native::retries_elsewhere(route)),
                false => without_useless_filter(route),
            }
        })
    };
    let clients = server.client_certificates.as_ref();
    let misdirected = clients.and_then(|clients| clients::misdirected(clients, global));
    misdirected
        .into_iter()
        .chain(app_root)
        .map(without_useless_filter)
        .chain(server.routes.iter().flat_map(routes))
}

/// A firewall is in front of what the data plane answers itself, too, and bodies are kept until it has seen them.
fn inspected(mut route: Route, http_route: &HttpRoute, global: &GlobalConfig) -> Route {
    let policy = &http_route.policy;
    if policy.waf.is_none() || http_route.action == sluice_ir::Action::Denied {
        return route;
    }
    if !route.typed_per_filter_config.contains_key(POLICY) {
        let chain = policy::of_answer(policy, global);
        route.typed_per_filter_config.extend(chain);
    }
    let kept = route.request_body_buffer_limit.map(|kept| kept.value);
    let largest = policy::inspected_body(policy, global).max(kept);
    route.request_body_buffer_limit = largest.map(|value| UInt64Value { value });
    route
}

/// Direct responses need no endpoint. The filter would say 503, wait for its tables when a
/// worker is new, and count a route that it does not know.
fn without_useless_filter(route: Route) -> Route {
    match route.action {
        Some(Action::Route(_)) => route,
        _ => without_filter(route),
    }
}

fn without_filter(mut route: Route) -> Route {
    let off = any(FilterConfig {
        disabled: true,
        ..FilterConfig::default()
    });
    let off = off.map(|off| (FILTER.to_owned(), off));
    route.typed_per_filter_config.extend(off);
    route
}

fn unmatched(config: &Config) -> impl Iterator<Item = Route> {
    let catch_all = config.servers.get(&ServerName::CatchAll);
    catch_all
        .into_iter()
        .flat_map(|server| server_routes(&ServerName::CatchAll, server, config))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sluice_ir::{Action, HttpRoute};

    use super::*;

    fn http_route(host: &ServerName, path: PathMatch, action: Action) -> HttpRoute {
        HttpRoute::new(host, path, action, Arc::default())
    }

    fn with_hosts(hosts: &[&str]) -> Config {
        let mut config = Config::default();
        for host in hosts {
            let name = ServerName::parse(host).unwrap();
            let http_routes = vec![http_route(
                &name,
                PathMatch::Prefix("/".into()),
                Action::Denied,
            )];
            config.servers.insert(
                name,
                Server {
                    routes: http_routes,
                    ..Server::default()
                }
                .into(),
            );
        }
        config
    }

    #[test]
    fn an_empty_configuration_has_routes_that_match_nothing() {
        assert!(routes(&Config::default()).virtual_hosts.is_empty());
        let mut config = Config::default();
        config.servers.insert(ServerName::CatchAll, Arc::default());
        assert_eq!(
            routes(&config).virtual_hosts[0].routes.len(),
            4,
            "those of encoded paths, of invalid ports, of TRACE and of unmatched paths"
        );
    }

    #[test]
    fn hosts_are_domains() {
        let hosts = routes(&with_hosts(&["", "a.test", "*.b.test"])).virtual_hosts;
        let domains: Vec<_> = hosts.iter().flat_map(|host| &host.domains).collect();
        assert_eq!(domains, ["*", "a.test", "*.b.test"]);
    }

    #[test]
    fn a_wildcard_looks_again_and_leaves_the_rest_to_the_catch_all() {
        let hosts = routes(&with_hosts(&["", "*.b.test"])).virtual_hosts;
        let [_, _, _, own, unmatched] = hosts[1].routes.as_slice() else {
            panic!("{hosts:?}")
        };
        let matcher = format!("{:?}", own.r#match.as_ref().unwrap().headers);
        assert!(
            matcher.contains(r#""[\\w-]+(?:\\.[\\w-]+){2}(?::[0-9]*)?""#),
            "{matcher}"
        );
        assert_eq!(
            (own.name.as_str(), unmatched.name.as_str()),
            ("*.b.test/", "_/")
        );
        assert!(unmatched.r#match.as_ref().unwrap().headers.is_empty());
    }
}
