//! Pages of other origins: what answers to them say, and what `OPTIONS` is answered with.

use envoy_types::pb::envoy::config::route::v3::route::Action;
use envoy_types::pb::envoy::config::route::v3::{DirectResponseAction, HeaderMatcher, Route};
use sluice_ir::{AllowedOrigin, AllowedOrigins, Cors};

use super::matching::{is, is_in_any_case, matches, no, only_for};
use crate::render::header::{literal, set};

/// The Envoy routes of a route by origin: first for origins that are not allowed, then
/// those of everybody else. In that order any number of origins is compared one by one, by all that a route has: matchers
/// of which each must hold.
pub(super) fn routes(routes: Vec<Route>, first: &Route, cors: &Cors) -> Vec<Route> {
    let allowed = || {
        // Redirects and errors, too: a browser follows none whose response does not allow it.
        let answering = routes.iter().map(|route| with_cors_headers(route, cors));
        std::iter::once(preflight(first, cors)).chain(answering)
    };
    match &cors.origins {
        AllowedOrigins::Any => allowed().collect(),
        AllowedOrigins::Only(origins) if origins.is_empty() => routes,
        AllowedOrigins::Only(origins) => {
            let strangers = routes
                .iter()
                .map(|route| origins.iter().fold(route.clone(), not_from));
            strangers.chain(allowed()).collect()
        }
    }
}

/// The answer to `OPTIONS`, which no pod sees.
fn preflight(route: &Route, cors: &Cors) -> Route {
    let answer = DirectResponseAction {
        status: 204,
        ..DirectResponseAction::default()
    };
    let preflight = Route {
        action: Some(Action::DirectResponse(answer)),
        ..route.clone()
    };
    only_for(
        with_cors_headers(&preflight, cors),
        is(":method", "OPTIONS"),
    )
}

fn not_from(route: Route, origin: &AllowedOrigin) -> Route {
    only_for(route, no(is_from(origin)))
}

/// The one label of a wildcard needs a pattern. It is as long as a host name may be, so Envoy takes it.
fn is_from(origin: &AllowedOrigin) -> HeaderMatcher {
    match origin {
        AllowedOrigin::Exact(text) => is_in_any_case("origin", text),
        AllowedOrigin::Wildcard { scheme, suffix } => {
            let [scheme, suffix] = [scheme, suffix].map(|text| sluice_pattern::escape(text));
            matches("origin", &format!("(?i){scheme}[a-z0-9-]+{suffix}"))
        }
    }
}

fn with_cors_headers(route: &Route, cors: &Cors) -> Route {
    let mut route = route.clone();
    let origin = match cors.origins {
        AllowedOrigins::Any => "*",
        AllowedOrigins::Only(_) => "%REQ(origin)%",
    };
    let mut add = |name: &str, format: &str| route.response_headers_to_add.push(set(name, format));
    add("access-control-allow-origin", origin);
    add(
        "access-control-allow-methods",
        &literal(&cors.allow_methods),
    );
    add(
        "access-control-allow-headers",
        &literal(&cors.allow_headers),
    );
    add("access-control-max-age", &cors.max_age.to_string());
    if cors.allow_credentials {
        add("access-control-allow-credentials", "true");
    }
    if let Some(exposed) = &cors.expose_headers {
        add("access-control-expose-headers", &literal(exposed));
    }
    route
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cors(origins: AllowedOrigins) -> Cors {
        let (methods, headers) = (String::new(), String::new());
        Cors {
            origins,
            allow_methods: methods,
            allow_headers: headers,
            allow_credentials: true,
            expose_headers: None,
            max_age: 1,
        }
    }

    /// For each route: how many origins it must not come from, and whether it tells of origins.
    fn shape(origins: AllowedOrigins) -> Vec<(usize, bool)> {
        let forwards = Route {
            r#match: Some(Default::default()),
            action: Some(Action::Route(Default::default())),
            ..Route::default()
        };
        let routes = routes(vec![forwards.clone()], &forwards, &cors(origins));
        let shape = routes.iter().map(|route| {
            let headers = &route.r#match.as_ref().unwrap().headers;
            let inverted = headers.iter().filter(|header| header.invert_match);
            (inverted.count(), !route.response_headers_to_add.is_empty())
        });
        shape.collect()
    }

    #[test]
    fn strangers_come_first_and_are_told_nothing() {
        assert_eq!(shape(AllowedOrigins::Any), [(0, true), (0, true)]);
        let origins = ["null", "https://a.example"].map(|text| AllowedOrigin::Exact(text.into()));
        assert_eq!(
            shape(AllowedOrigins::Only(origins.into())),
            [(2, false), (0, true), (0, true)]
        );
        assert_eq!(shape(AllowedOrigins::Only(vec![])), [(0, false)]);
    }

    #[test]
    fn a_wildcard_is_one_label() {
        let wildcard = AllowedOrigin::Wildcard {
            scheme: "https://".into(),
            suffix: ".a.example:8443".into(),
        };
        let matcher = format!("{:?}", is_from(&wildcard));
        assert!(
            matcher.contains(r"(?i)https://[a-z0-9-]+\\.a\\.example:8443"),
            "{matcher}"
        );
    }
}
