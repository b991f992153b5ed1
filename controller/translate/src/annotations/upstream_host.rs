//! `upstream-vhost`: the `Host` that pods see, which may name the route and its server.

use sluice_ir::{Expression, ServerName};
use sluice_syntax::settings::upstream::host_value;
use sluice_syntax::value::Parsed;
use sluice_syntax::variables::{Segment, segments};

use super::view::View;
use crate::route_names::RouteNames;

/// The variable of the server. That of a wildcard is a pattern in nginx.
const SERVER_NAME: &str = "server_name";

/// A `Host` that names the route: `$service_name.$namespace.svc`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RouteHost(String);

impl RouteHost {
    /// The `Host` on a route of a server.
    pub(crate) fn on(&self, route: &RouteNames, server: &ServerName) -> Option<Expression> {
        let server = match server {
            ServerName::Exact(name) => Some(name.as_str()),
            ServerName::Wildcard(_) | ServerName::CatchAll => None,
        };
        host_value(&self.0, |name| {
            let of_server = server.filter(|_| is_server_name(name));
            of_server.or_else(|| route.get(name))
        })
        .ok()
    }
}

fn is_server_name(name: &str) -> bool {
    name.eq_ignore_ascii_case(SERVER_NAME)
}

/// The value of a text on the longest of routes. `in_hosts`: each has an exact host.
pub(crate) fn longest_host_value(text: &str, in_hosts: bool) -> Parsed<Expression> {
    let (longest, host) = (RouteNames::longest(), "x".repeat(253));
    let server = in_hosts.then_some(host.as_str());
    host_value(text, |name| {
        let of_server = server.filter(|_| is_server_name(name));
        of_server.or_else(|| longest.get(name))
    })
}

/// The `Host` of all routes, or that of each.
pub(super) fn upstream_host(view: &mut View<'_, '_>) -> (Option<Expression>, Option<RouteHost>) {
    let (mut names_route, in_hosts) = (false, view.hosts.is_some());
    let read = view.read("upstream-vhost", |text| {
        let names_server = segments(text).any(
            |segment| matches!(segment, Segment::Variable { name, .. } if is_server_name(name)),
        );
        if names_server && !in_hosts {
            return Err("$server_name on exact hosts alone".into());
        }
        names_route = names_server || RouteNames::are_in(text);
        Ok((text, longest_host_value(text, in_hosts)?))
    });
    match read {
        Some((text, _)) if names_route => (None, Some(RouteHost(text.to_owned()))),
        Some((_, host)) => (Some(host), None),
        None => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use sluice_translate_engine::{ObjectKey, Port};

    use super::*;

    #[test]
    fn each_name_of_a_route_is_text_in_any_case() {
        let ingress = ObjectKey::new("shop", "web-ingress");
        let service = ObjectKey::new("shop", "web");
        let route = RouteNames::new(&ingress, &service, &Port::Number(8080));
        let host =
            RouteHost("$Service_Name.${namespace}.svc:$service_port-$ingress_name".to_owned());
        assert_eq!(
            host.on(&route, &ServerName::CatchAll),
            Some(Expression::literal("web.shop.svc:8080-web-ingress"))
        );
    }

    #[test]
    fn the_name_of_a_server_is_text_where_it_is_a_host() {
        let key = ObjectKey::new("shop", "web");
        let route = RouteNames::new(&key, &key, &Port::Number(80));
        let on = |name: &str| {
            let host = RouteHost("${service_name}.$Server_Name".to_owned());
            host.on(&route, &ServerName::parse(name).unwrap())
        };
        assert_eq!(on("a.test"), Some(Expression::literal("web.a.test")));
        assert_eq!((on("*.a.test"), on("")), (None, None));
    }
}
