//! Hosts and paths: RDS.
//!
//! Envoy takes the virtual host with the longest match, then its first route that matches, and answers 404 itself
//! when there is none. A wildcard host is one label and no more, but Envoy's `*.example.com` takes any number, so
//! each route of a wildcard host looks again, and the routes of the catch-all host follow for all others.

use envoy_types::pb::envoy::config::route::v3::header_matcher::HeaderMatchSpecifier;
use envoy_types::pb::envoy::config::route::v3::redirect_action::PathRewriteSpecifier;
use envoy_types::pb::envoy::config::route::v3::route::Action as RouteKind;
use envoy_types::pb::envoy::config::route::v3::route_action::ClusterSpecifier;
use envoy_types::pb::envoy::config::route::v3::route_match::PathSpecifier;
use envoy_types::pb::envoy::config::route::v3::{
    DirectResponseAction, HeaderMatcher, RedirectAction, Route, RouteAction, RouteConfiguration, RouteMatch,
    VirtualHost,
};
use envoy_types::pb::envoy::r#type::matcher::v3::string_matcher::MatchPattern;
use envoy_types::pb::envoy::r#type::matcher::v3::{RegexMatcher, StringMatcher};
use sluice_ir::{
    Action, BackendId, Config, Hostname, Location, PathMatch, Policy, Server, ServerName, Timeouts,
};

use super::HTTP;
use super::retry;
use super::wire::seconds;

/// All routes of the `http` listener.
#[must_use]
pub fn routes(config: &Config) -> RouteConfiguration {
    RouteConfiguration {
        name: HTTP.to_owned(),
        virtual_hosts: config.servers.iter().map(|(name, server)| host(name, server, config)).collect(),
        ignore_port_in_host_matching: true,
        ..RouteConfiguration::default()
    }
}

fn host(name: &ServerName, server: &Server, config: &Config) -> VirtualHost {
    let routes = server.locations.iter().flat_map(routes_of);
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

fn unmatched(config: &Config) -> impl Iterator<Item = Route> {
    let catch_all = config.servers.get(&ServerName::CatchAll);
    catch_all.into_iter().flat_map(|server| &server.locations).flat_map(routes_of)
}

fn only_for(mut route: Route, authority: HeaderMatcher) -> Route {
    if let Some(path) = &mut route.r#match {
        path.headers.push(authority);
    }
    route
}

/// ingress-nginx: `server_name ~^(?<subdomain>[\w-]+)\.example\.com$`. A port may follow.
fn one_label_and(suffix: &Hostname) -> HeaderMatcher {
    let suffix = suffix.as_str().replace('.', r"\.");
    matches(":authority", &format!(r"(?i)[\w-]+\.{suffix}(:\d+)?"))
}

/// The whole value matches.
fn matches(header: &str, regex: &str) -> HeaderMatcher {
    let regex = RegexMatcher { regex: regex.to_owned(), ..RegexMatcher::default() };
    let pattern = StringMatcher { match_pattern: Some(MatchPattern::SafeRegex(regex)), ..Default::default() };
    HeaderMatcher {
        name: header.to_owned(),
        header_match_specifier: Some(HeaderMatchSpecifier::StringMatch(pattern)),
        ..HeaderMatcher::default()
    }
}

/// What Envoy needs several routes for: the first that matches is taken, and all have the location's name.
fn routes_of(location: &Location) -> Vec<Route> {
    let route = |action| Route {
        name: location.id.as_str().to_owned(),
        r#match: Some(RouteMatch { path_specifier: Some(path(&location.path)), ..RouteMatch::default() }),
        action: Some(action),
        ..Route::default()
    };
    match &location.action {
        Action::Forward(backend) => {
            let forward =
                |idempotent| route(RouteKind::Route(forward(backend, &location.policy, idempotent)));
            if retry::differs_by_method(&location.policy.retries) {
                let once = only_for(forward(false), matches(":method", retry::NOT_IDEMPOTENT));
                vec![once, forward(true)]
            } else {
                vec![forward(true)]
            }
        }
        Action::Denied => {
            vec![route(RouteKind::DirectResponse(DirectResponseAction { status: 503, ..Default::default() }))]
        }
        Action::MovedPermanently { path } => vec![route(RouteKind::Redirect(RedirectAction {
            // The response code's default is 301, and the query stays.
            path_rewrite_specifier: Some(PathRewriteSpecifier::PathRedirect(path.clone())),
            ..RedirectAction::default()
        }))],
    }
}

/// Envoy refuses a separated prefix that ends with a slash; a plain one then means the same.
fn path(path: &PathMatch) -> PathSpecifier {
    match path {
        PathMatch::Exact(path) => PathSpecifier::Path(path.clone()),
        PathMatch::Prefix(path) if path.ends_with('/') => PathSpecifier::Prefix(path.clone()),
        PathMatch::Prefix(path) => PathSpecifier::PathSeparatedPrefix(path.clone()),
    }
}

fn forward(id: &BackendId, policy: &Policy, idempotent: bool) -> RouteAction {
    RouteAction {
        cluster_specifier: Some(ClusterSpecifier::Cluster(id.as_str().to_owned())),
        // nginx limits the time between two reads, not the whole answer.
        timeout: seconds(0),
        idle_timeout: seconds(idle_timeout(policy)),
        retry_policy: Some(retry::policy(&policy.retries, &policy.timeouts, idempotent)),
        ..RouteAction::default()
    }
}

/// Longer than all attempts together, each of which has a limit of its own: this one is for clients.
fn idle_timeout(policy: &Policy) -> i64 {
    let Timeouts { send, read } = policy.timeouts;
    i64::from(send.max(read)) * i64::from(policy.retries.attempts.get()) + 1
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sluice_ir::LocationId;

    use super::*;

    fn location(host: &ServerName, path: PathMatch, action: Action) -> Location {
        Location { id: LocationId::new(host, &path), path, action, policy: Arc::default() }
    }

    fn with_hosts(hosts: &[&str]) -> Config {
        let mut config = Config::default();
        for host in hosts {
            let name = ServerName::parse(host).unwrap();
            let locations = vec![location(&name, PathMatch::Prefix("/".into()), Action::Denied)];
            config.servers.insert(name, Server { locations });
        }
        config
    }

    #[test]
    fn an_empty_configuration_has_routes_that_match_nothing() {
        assert!(routes(&Config::default()).virtual_hosts.is_empty());
        let mut config = Config::default();
        config.servers.insert(ServerName::CatchAll, Server::default());
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

    #[test]
    fn prefixes_take_whole_segments() {
        let prefix = |text: &str| path(&PathMatch::Prefix(text.to_owned()));
        assert_eq!(prefix("/"), PathSpecifier::Prefix("/".into()));
        assert_eq!(prefix("/foo/"), PathSpecifier::Prefix("/foo/".into()));
        assert_eq!(prefix("/foo"), PathSpecifier::PathSeparatedPrefix("/foo".into()));
        assert_eq!(path(&PathMatch::Exact("/foo/".into())), PathSpecifier::Path("/foo/".into()));
    }

    #[test]
    fn what_cannot_be_repeated_without_harm_has_a_route_of_its_own() {
        let id = BackendId::new("default", "shop", 80);
        let routes =
            routes_of(&location(&ServerName::CatchAll, PathMatch::Prefix("/".into()), Action::Forward(id)));
        let [post, get] = routes.as_slice() else { panic!("{routes:?}") };
        assert_eq!(post.name, get.name);
        let retry_on = |route: &Route| match &route.action {
            Some(RouteKind::Route(action)) => action.retry_policy.clone().unwrap().retry_on,
            other => panic!("{other:?}"),
        };
        assert!(retry_on(get).ends_with(",reset") && !retry_on(post).ends_with(",reset"));
        assert_eq!(post.r#match.as_ref().unwrap().headers, [matches(":method", "POST|LOCK|PATCH")]);
    }

    #[test]
    fn denied_is_503_and_moved_is_301() {
        let host = ServerName::CatchAll;
        let path = || PathMatch::Exact("/a".into());
        let action = |action| routes_of(&location(&host, path(), action)).remove(0).action.unwrap();
        let RouteKind::DirectResponse(denied) = action(Action::Denied) else { panic!("no response") };
        assert_eq!(denied.status, 503);
        let RouteKind::Redirect(moved) = action(Action::MovedPermanently { path: "/b".into() }) else {
            panic!("no redirect")
        };
        assert_eq!((moved.response_code, moved.strip_query), (0, false));
    }
}
