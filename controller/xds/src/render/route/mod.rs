//! Hosts and paths: RDS, and SRDS where there are many hosts.
//!
//! Envoy takes the virtual host with the longest match, then its first route that matches, and answers 404 itself
//! when there is none. A wildcard host is one label and no more, but Envoy's `*.example.com` takes any number, so
//! each route of a wildcard host looks again, and the routes of the catch-all host follow for all others.

mod clients;
mod cors;
mod discovery;
mod errors;
mod location;
pub(super) mod matching;
mod redirect;
mod rendered;
mod retry;
mod scopes;
mod table;

use envoy_types::pb::envoy::config::core::v3::HeaderValueOption;
use envoy_types::pb::envoy::config::route::v3::route::Action;
use envoy_types::pb::envoy::config::route::v3::route_match::PathSpecifier;
use envoy_types::pb::envoy::config::route::v3::{
    FilterConfig, Route, RouteConfiguration, RouteMatch, VirtualHost,
};
use sluice_ir::{Config, Edge, Header, Server, ServerName};

use super::format::format;
use super::header::set;
use super::wire::any;
use super::{FILTER, HTTP, forwarded};
use crate::settings::{SUBJECT_HEADER, TRUST_HEADER};
pub use discovery::Discovery;
use matching::{one_label_and, only_for};
pub use rendered::Routes;

/// All routes of the listeners, in one table.
#[must_use]
pub fn routes(config: &Config) -> RouteConfiguration {
    let hosts = config.servers.iter().flat_map(|(name, server)| hosts_of(name, server, config, |_| true));
    let others = all_but_hosts(config);
    RouteConfiguration { virtual_hosts: hosts.chain(others.virtual_hosts).collect(), ..others }
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

/// What holds for all hosts, and the host that no client gets anything of.
fn all_but_hosts(config: &Config) -> RouteConfiguration {
    let errors = errors::host(config);
    RouteConfiguration {
        name: HTTP.to_owned(),
        request_headers_to_add: request_headers(&config.edge, errors.is_some()),
        virtual_hosts: errors.into_iter().collect(),
        ignore_port_in_host_matching: true,
        request_headers_to_remove: hidden_from_pods(config),
        response_headers_to_add: config.edge.response_headers.iter().map(header).collect(),
        response_headers_to_remove: config.edge.hidden_headers.clone(),
        ..RouteConfiguration::default()
    }
}

/// What was checked of a certificate is told to the pods of whoever asked for one, and in other words.
fn hidden_from_pods(config: &Config) -> Vec<String> {
    let asks = config.servers.values().any(|server| server.clients.is_some());
    let of_certificates = asks.then_some([TRUST_HEADER, SUBJECT_HEADER]);
    forwarded::ENVOYS_OWN
        .into_iter()
        .chain(of_certificates.into_iter().flatten())
        .map(str::to_owned)
        .collect()
}

fn request_headers(edge: &Edge, asks_error_services: bool) -> Vec<HeaderValueOption> {
    let own = forwarded::told(&edge.forwarded, asks_error_services).into_iter();
    own.chain(edge.request_headers.iter().map(header)).collect()
}

fn header(header: &Header) -> HeaderValueOption {
    set(&header.name, &format(&header.value))
}

fn host(name: &ServerName, server: &Server, config: &Config) -> VirtualHost {
    let routes = server_routes(name, server, &config.edge);
    let (domain, routes) = match name {
        ServerName::CatchAll => ("*".to_owned(), routes.collect()),
        ServerName::Exact(name) => (name.as_str().to_owned(), routes.collect()),
        ServerName::Wildcard(suffix) => {
            let mine = routes.map(|route| only_for(route, one_label_and(suffix)));
            (format!("*.{}", suffix.as_str()), mine.chain(unmatched(config)).collect())
        }
    };
    VirtualHost { name: name.to_string(), domains: vec![domain], routes, ..VirtualHost::default() }
}

fn server_routes<'a>(
    name: &'a ServerName,
    server: &'a Server,
    edge: &'a Edge,
) -> impl Iterator<Item = Route> + use<'a> {
    let app_root = server.app_root.iter().map(move |path| Route {
        name: format!("{name}={path}"),
        r#match: Some(RouteMatch {
            path_specifier: Some(PathSpecifier::Path("/".to_owned())),
            ..Default::default()
        }),
        action: Some(redirect::app_root(path)),
        ..Route::default()
    });
    let routes = move |location| match &server.clients {
        Some(clients) => clients::routes(location, name, clients, edge),
        None => location::routes(location, name, edge),
    };
    app_root.chain(server.locations.iter().flat_map(routes)).map(without_useless_filter)
}

/// What is answered without a pod is answered where there is none, too. The filter would say 503, wait for its tables when a
/// worker is new, and count a location that it does not know.
fn without_useless_filter(mut route: Route) -> Route {
    if !matches!(route.action, Some(Action::Route(_))) {
        let off = any(FilterConfig { disabled: true, ..FilterConfig::default() });
        route.typed_per_filter_config.extend(off.map(|off| (FILTER.to_owned(), off)));
    }
    route
}

fn unmatched(config: &Config) -> impl Iterator<Item = Route> {
    let catch_all = config.servers.get(&ServerName::CatchAll);
    catch_all.into_iter().flat_map(|server| server_routes(&ServerName::CatchAll, server, &config.edge))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sluice_ir::{Action, Location, PathMatch};

    use super::*;

    fn location(host: &ServerName, path: PathMatch, action: Action) -> Location {
        Location::new(host, path, action, Arc::default())
    }

    fn with_hosts(hosts: &[&str]) -> Config {
        let mut config = Config::default();
        for host in hosts {
            let name = ServerName::parse(host).unwrap();
            let locations = vec![location(&name, PathMatch::Prefix("/".into()), Action::Denied)];
            config.servers.insert(name, Server { locations, ..Server::default() }.into());
        }
        config
    }

    #[test]
    fn an_empty_configuration_has_routes_that_match_nothing() {
        assert!(routes(&Config::default()).virtual_hosts.is_empty());
        let mut config = Config::default();
        config.servers.insert(ServerName::CatchAll, Arc::default());
        assert!(routes(&config).virtual_hosts[0].routes.is_empty());
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
        let [own, unmatched] = hosts[1].routes.as_slice() else { panic!("{hosts:?}") };
        let matcher = format!("{:?}", own.r#match.as_ref().unwrap().headers);
        assert!(matcher.contains(r#""(?i)[\\w-]+\\.b\\.test(:\\d+)?""#), "{matcher}");
        assert_eq!((own.name.as_str(), unmatched.name.as_str()), ("*.b.test/", "_/"));
        assert!(unmatched.r#match.as_ref().unwrap().headers.is_empty());
    }
}
