//! Pages of other origins: what answers to them say, and what `OPTIONS` is answered with.

use envoy_types::pb::envoy::config::route::v3::route::Action;
use envoy_types::pb::envoy::config::route::v3::{DirectResponseAction, HeaderMatcher, Route};
use sluice_ir::{Cors, Origin, Origins};

use super::matching::{is, matches, only_for};
use crate::render::header::{literal, set};

/// Which requests come from an origin that is allowed: all, some, or none at all.
enum Allowed {
    All,
    Some(HeaderMatcher),
    None,
}

/// The answer to `OPTIONS`, which no pod sees.
pub(super) fn preflight(route: &Route, cors: &Cors) -> Option<Route> {
    let answer = DirectResponseAction { status: 204, ..DirectResponseAction::default() };
    let preflight = Route { action: Some(Action::DirectResponse(answer)), ..route.clone() };
    let preflight = only_for(answering(preflight, cors), is(":method", "OPTIONS"));
    match allowed(&cors.origins) {
        Allowed::All => Some(preflight),
        Allowed::Some(origin) => Some(only_for(preflight, origin)),
        Allowed::None => None,
    }
}

/// The route for origins that are allowed, and the one for all others when there are others.
pub(super) fn variants(route: Route, cors: Option<&Cors>) -> Vec<Route> {
    let Some(cors) = cors else { return vec![route] };
    match allowed(&cors.origins) {
        Allowed::All => vec![answering(route, cors)],
        Allowed::Some(origin) => vec![only_for(answering(route.clone(), cors), origin), route],
        Allowed::None => vec![route],
    }
}

fn allowed(origins: &Origins) -> Allowed {
    match origins {
        Origins::Any => Allowed::All,
        Origins::Only(origins) if origins.is_empty() => Allowed::None,
        Origins::Only(origins) => {
            let patterns: Vec<String> = origins.iter().map(pattern).collect();
            Allowed::Some(matches("origin", &format!("(?i)(?:{})", patterns.join("|"))))
        }
    }
}

fn pattern(origin: &Origin) -> String {
    match origin {
        Origin::Exact(text) => escaped(text),
        Origin::Wildcard { scheme, suffix } => format!("{}[a-z0-9-]+{}", escaped(scheme), escaped(suffix)),
    }
}

/// Of what an origin can hold, only these mean something in a pattern.
fn escaped(text: &str) -> String {
    text.replace('.', r"\.").replace('+', r"\+")
}

fn answering(mut route: Route, cors: &Cors) -> Route {
    let origin = match cors.origins {
        Origins::Any => "*",
        Origins::Only(_) => "%REQ(origin)%",
    };
    let mut add = |name: &str, format: &str| route.response_headers_to_add.push(set(name, format));
    add("access-control-allow-origin", origin);
    add("access-control-allow-methods", &literal(&cors.methods));
    add("access-control-allow-headers", &literal(&cors.headers));
    add("access-control-max-age", &cors.max_age.to_string());
    if cors.credentials {
        add("access-control-allow-credentials", "true");
    }
    if let Some(exposed) = &cors.exposed {
        add("access-control-expose-headers", &literal(exposed));
    }
    route
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cors(origins: Origins) -> Cors {
        let (methods, headers) = (String::new(), String::new());
        Cors { origins, methods, headers, credentials: true, exposed: None, max_age: 1 }
    }

    #[test]
    fn everybody_has_one_route_and_some_have_one_of_their_own() {
        let routes = |origins| variants(Route::default(), Some(&cors(origins))).len();
        assert_eq!(routes(Origins::Any), 1);
        assert_eq!(routes(Origins::Only(vec![Origin::Exact("null".into())])), 2);
        assert_eq!(routes(Origins::Only(vec![])), 1);
    }

    #[test]
    fn a_wildcard_is_one_label() {
        let wildcard = Origin::Wildcard { scheme: "https://".into(), suffix: ".a.example:8443".into() };
        assert_eq!(pattern(&wildcard), r"https://[a-z0-9-]+\.a\.example:8443");
    }
}
