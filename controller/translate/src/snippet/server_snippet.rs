//! Policies of a `server-snippet`, for all that its namespace has of a host.

use std::collections::BTreeSet;
use std::sync::Arc;

use sluice_ir::{
    AddedHeader, ConnectionSettings, DirectResponse, Filter, Header, HeaderModification,
    HeaderName, HttpRoute, IpAccess,
};

use crate::snippet::compiled::{Compiled, Location};
use crate::snippet::locations::LocationPath;
use crate::snippet::policies::access;
use crate::snippet::rewrite::rewrites::ServerRewrite;

/// Policies of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerSnippet {
    /// Changes of response headers.
    pub(crate) filters: Vec<Filter>,
    /// Before those of routes.
    pub(crate) direct_responses: Vec<DirectResponse>,
    /// For routes without lists of their own.
    pub(crate) access: IpAccess,
    /// Requests are not logged.
    pub(crate) access_log_off: bool,
    /// Routes of its own.
    pub(crate) locations: Vec<Location>,
    /// Connections of clients to hosts of its namespace.
    pub(crate) connections: ConnectionSettings,
    /// Paths that are looked for in place of others.
    pub(crate) rewrites: Vec<ServerRewrite>,
    /// Variables that locations see.
    pub(crate) set_variables: BTreeSet<String>,
}

impl From<Compiled> for ServerSnippet {
    /// Only of a snippet for a server.
    fn from(compiled: Compiled) -> Self {
        ServerSnippet {
            filters: compiled.filters,
            direct_responses: compiled.direct_responses,
            access: compiled.access,
            access_log_off: compiled.access_log_off,
            locations: compiled.locations,
            connections: compiled.connections,
            rewrites: compiled.server_rewrites,
            set_variables: compiled.variables.set,
        }
    }
}

impl ServerSnippet {
    /// Both in one server. nginx asks addresses of the first before those of the second, and an allow list leaves nobody to ask. Of two
    /// locations that nginx would not load together it has the second's.
    pub(crate) fn followed_by(&self, second: &ServerSnippet) -> ServerSnippet {
        let mut both = self.clone();
        both.filters.extend(second.filters.iter().cloned());
        let responses = second.direct_responses.iter().cloned();
        both.direct_responses.extend(responses);
        both.access = access::behind(&self.access, &second.access);
        both.access_log_off |= second.access_log_off;
        both.locations.retain(|own| !second.has_location(&own.path));
        both.locations.extend(second.locations.iter().cloned());
        let variables = second.set_variables.iter();
        both.set_variables.extend(variables.cloned());
        both
    }

    /// True if it has a location of the same text: nginx takes one of them in a server.
    pub(crate) fn has_location(&self, path: &LocationPath) -> bool {
        let mut own = self.locations.iter();
        own.any(|location| location.path.is_duplicate_of(path))
    }

    /// Sends headers with errors, too, that nginx would not.
    pub(crate) fn add_to_errors(&mut self) {
        let of_locations = self.locations.iter_mut().map(|it| &mut it.filters);
        for filter in std::iter::once(&mut self.filters)
            .chain(of_locations)
            .flatten()
        {
            if let Some(headers) = filter.response_headers_mut() {
                headers.add_to_errors();
            }
        }
    }

    /// A route with what nginx lets its location inherit.
    pub(crate) fn inherited_by(&self, mut route: HttpRoute) -> HttpRoute {
        let has_access = route.policy.ip_access != IpAccess::default();
        if (!has_access && self.access != IpAccess::default()) || self.access_log_off {
            let policy = Arc::make_mut(&mut route.policy);
            policy.access_log_off |= self.access_log_off;
            if !has_access {
                policy.ip_access = self.access.clone();
            }
        }
        let mut own = route.filters.iter().filter_map(Filter::response_headers);
        let adds_own = own.any(|headers| !headers.add.is_empty());
        let inherited = self.inherited_headers(&route, adds_own);
        if inherited.size() > 0 {
            prepend(inherited, &mut route.filters);
        }
        // A block inherits as its location does.
        let mut variants = std::mem::take(&mut route.header_variants);
        for headers in variants.iter_mut().map(|variant| &mut variant.headers) {
            let inherited = self.inherited_headers(&route, !headers.add.is_empty());
            *headers = inherited.followed_by(std::mem::take(headers));
        }
        route.header_variants = variants;
        let of_server = self.direct_responses.iter().cloned();
        let of_server = of_server.map(|response| DirectResponse {
            precedes_preflight: true,
            ..response
        });
        route.direct_responses.splice(0..0, of_server);
        route
    }

    /// Changes of headers that nginx lets a location inherit: `more_set_headers`, before its own, and `add_header` if it has none;
    /// those that replace a header do not count.
    fn inherited_headers(&self, route: &HttpRoute, adds_own: bool) -> HeaderModification {
        let is_left = |header: &&Header| !is_set_by_policy(route, &header.name);
        let mut inherited = HeaderModification::default();
        for all in self.filters.iter().filter_map(Filter::response_headers) {
            let mut all = all.clone();
            all.set.retain(|header| is_left(&header));
            all.remove.retain(|name| !is_set_by_policy(route, name));
            all.hide.retain(|name| !is_set_by_policy(route, name));
            let is_added = |added: &AddedHeader| !adds_own && is_left(&&added.header);
            all.add.retain(is_added);
            inherited = inherited.followed_by(all);
        }
        inherited
    }
}

/// As one modification: nginx adds headers of the server behind all that the location takes away.
fn prepend(inherited: HeaderModification, filters: &mut Vec<Filter>) {
    match filters.iter_mut().find_map(Filter::response_headers_mut) {
        Some(own) => *own = inherited.followed_by(std::mem::take(own)),
        None => filters.insert(0, Filter::ResponseHeaders(inherited)),
    }
}

/// CORS and custom headers are `more_set_headers` of the location.
fn is_set_by_policy(route: &HttpRoute, name: &HeaderName) -> bool {
    let mut own = route.policy.response_headers.iter();
    let lower = name.as_str().to_ascii_lowercase();
    own.any(|header| header.name.is_alike(name.as_str()))
        || route.policy.cors.is_some() && lower.starts_with("access-control-")
}

#[cfg(test)]
mod tests {
    use sluice_ir::{
        Action, AddedHeader, AllowedOrigins, Cors, Expression, HeaderVariant, PathMatch, Policy,
        ServerName,
    };

    use super::*;

    fn header(name: &str, value: &str) -> Header {
        Header {
            name: HeaderName::parse(name).unwrap(),
            value: Expression::literal(value),
        }
    }

    fn changes(set: &[&str], add: &[&str]) -> Filter {
        let all = |names: &[&str]| -> Vec<Header> {
            names.iter().map(|name| header(name, "v")).collect()
        };
        Filter::ResponseHeaders(HeaderModification {
            set: all(set),
            add: all(add).into_iter().map(AddedHeader::from).collect(),
            ..HeaderModification::default()
        })
    }

    /// Headers of a location, with those of its server.
    fn inherited(server: &Filter, location: &[Filter], policy: Policy) -> String {
        let path = PathMatch::Prefix("/".to_owned());
        let route = HttpRoute::new(
            &ServerName::CatchAll,
            path,
            Action::Respond(200),
            Arc::new(policy),
        );
        let route = HttpRoute {
            filters: location.to_vec(),
            ..route
        };
        let snippet = ServerSnippet {
            filters: vec![server.clone()],
            ..ServerSnippet::default()
        };
        let route = snippet.inherited_by(route);
        shown(&route.filters)
    }

    /// `=` of a header that is set, `+` of one that is added.
    fn shown(filters: &[Filter]) -> String {
        let names = filters.iter().flat_map(|filter| match filter {
            Filter::ResponseHeaders(all) => {
                let set = all
                    .set
                    .iter()
                    .map(|header| format!("={}", header.name.as_str()));
                let add = all
                    .add
                    .iter()
                    .map(|added| format!("+{}", added.header.name.as_str()));
                set.chain(add).collect::<Vec<_>>()
            }
            Filter::RequestHeaders(_) => Vec::new(),
        });
        names.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_location_inherits_what_nginx_lets_it_inherit() {
        let server = changes(&["x-a"], &["x-b"]);
        let of = |location: &[Filter]| inherited(&server, location, Policy::default());
        assert_eq!(of(&[]), "=x-a +x-b");
        assert_eq!(of(&[changes(&["x-c"], &[])]), "=x-a =x-c +x-b");
        assert_eq!(of(&[changes(&[], &["x-c"])]), "=x-a +x-c");
        assert_eq!(of(&[changes(&["x-a"], &[])]), "=x-a =x-a +x-b");
    }

    /// Headers within an `if` of the location.
    #[test]
    fn a_block_inherits_as_its_location_does() {
        let variant = |own: &Filter| {
            let Filter::ResponseHeaders(headers) = own.clone() else {
                panic!("{own:?}")
            };
            let path = PathMatch::Prefix("/".to_owned());
            let route = HttpRoute {
                header_variants: vec![HeaderVariant {
                    conditions: Vec::new(),
                    headers,
                }],
                ..HttpRoute::new(
                    &ServerName::CatchAll,
                    path,
                    Action::Respond(200),
                    Arc::default(),
                )
            };
            let snippet = ServerSnippet {
                filters: vec![changes(&["x-a"], &["x-b"])],
                ..ServerSnippet::default()
            };
            let route = snippet.inherited_by(route);
            let headers = route.header_variants[0].headers.clone();
            shown(&[Filter::ResponseHeaders(headers)])
        };
        assert_eq!(variant(&changes(&["x-c"], &[])), "=x-a =x-c +x-b");
        assert_eq!(variant(&changes(&[], &["x-c"])), "=x-a +x-c");
    }

    #[test]
    fn settings_of_the_ingress_win_over_its_server() {
        let server = changes(&["x-a", "access-control-allow-origin"], &["x-b"]);
        let policy = Policy {
            response_headers: vec![header("X-A", "own")],
            cors: Some(Cors {
                origins: AllowedOrigins::Any,
                allow_methods: String::new(),
                allow_headers: String::new(),
                allow_credentials: false,
                expose_headers: None,
                max_age: 0,
            }),
            ..Policy::default()
        };
        assert_eq!(inherited(&server, &[], policy), "+x-b");
    }
}
