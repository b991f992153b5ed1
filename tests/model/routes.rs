//! Routes of the host: one for each thing that the model can say.

use std::sync::Arc;

use anyhow::{Context, Result};
use sluice_ir::{
    Action, Authentication, Destination, Expression, Filter, Fraction, Header, HeaderMatch,
    HeaderModification, HeaderName, Hostname, HttpRoute, Mirror, PathMatch, PathRewrite, Policy,
    QueryMatch, Redirect, RedirectTo, RouteId, RouteMatch, Scheme, ServerName, ValueMatch,
    WeightedBackend,
};

use crate::site::{HOST, id};

/// In the order of their precedence, as an input leaves it to the model.
pub(crate) fn routes() -> Result<Vec<HttpRoute>> {
    let mut routes = matching()?;
    routes.push(weighted()?);
    routes.extend(modified()?);
    routes.extend(rewritten());
    routes.extend(redirected()?);
    routes.push(mirrored());
    routes.push(guarded()?);
    routes.sort_by_key(|route| route.matches.precedence());
    Ok(routes)
}

fn prefix(path: &str) -> RouteMatch {
    RouteMatch::path(PathMatch::Prefix(path.to_owned()))
}

/// A route with an id that says nothing to anybody but this test.
fn route(id: &str, matches: RouteMatch, action: Action) -> HttpRoute {
    let path = matches.path.clone();
    let new = HttpRoute::new(&ServerName::CatchAll, path, action, Arc::default());
    HttpRoute {
        id: RouteId::new(&format!("{HOST}{id}")),
        matches,
        ..new
    }
}

fn header_name(text: &str) -> Result<HeaderName> {
    HeaderName::parse(text)
        .ok()
        .with_context(|| text.to_owned())
}

fn header(name: &str, value: &str) -> Result<Header> {
    Ok(Header {
        name: header_name(name)?,
        value: Expression::literal(value),
    })
}

fn matching() -> Result<Vec<HttpRoute>> {
    let all = || prefix("/match");
    let tier = |value| -> Result<RouteMatch> {
        let header = HeaderMatch {
            name: header_name("x-tier")?,
            value,
        };
        Ok(RouteMatch {
            headers: vec![header],
            ..all()
        })
    };
    let query = QueryMatch {
        name: "v".to_owned(),
        value: ValueMatch::Exact("2".to_owned()),
    };
    let by_method = RouteMatch {
        method: Some("DELETE".into()),
        ..all()
    };
    let by_query = RouteMatch {
        query: vec![query],
        ..all()
    };
    let exact = RouteMatch::path(PathMatch::Exact("/match/exact".to_owned()));
    let to = |service: &str| Action::to(id(service));
    Ok(vec![
        route("/match", all(), to("plain")),
        route("/match query", by_query, to("query")),
        route(
            "/match header",
            tier(ValueMatch::Exact("gold".to_owned()))?,
            to("header"),
        ),
        route(
            "/match pattern",
            tier(ValueMatch::Regex("silver-[0-9]+".to_owned()))?,
            to("pattern"),
        ),
        route("/match method", by_method, to("method")),
        route("/match exact", exact, to("exact")),
    ])
}

fn weighted() -> Result<HttpRoute> {
    let backend = |service: &str, weight, filter: HeaderModification| -> Result<_> {
        let served_by = HeaderModification {
            set: vec![header("x-served-by", service)?],
            ..HeaderModification::default()
        };
        Ok(WeightedBackend {
            backend: id(service),
            weight,
            filters: vec![
                Filter::RequestHeaders(filter),
                Filter::ResponseHeaders(served_by),
            ],
        })
    };
    let sets = |service: &str| -> Result<_> {
        Ok(HeaderModification {
            set: vec![header("x-backend", service)?],
            ..HeaderModification::default()
        })
    };
    let removes = HeaderModification {
        remove: vec![header_name("x-backend")?],
        ..HeaderModification::default()
    };
    let backends = vec![
        backend("two", 2, removes)?,
        backend("five", 5, sets("five")?)?,
        backend("three", 3, sets("three")?)?,
    ];
    let destination = Destination::weighted(backends).context("weights")?;
    Ok(route(
        "/weights",
        prefix("/weights"),
        Action::Forward(destination),
    ))
}

fn modified() -> Result<Vec<HttpRoute>> {
    let request = HeaderModification {
        set: vec![header("x-set", "route")?],
        add: vec![
            header("x-add", "route")?.into(),
            header("x-new", "route")?.into(),
        ],
        remove: vec![header_name("x-remove")?],
        ..HeaderModification::default()
    };
    let response = HeaderModification {
        set: vec![header("x-answer", "route")?],
        remove: vec![header_name("x-pod")?],
        ..HeaderModification::default()
    };
    let plain = route("/headers", prefix("/headers"), Action::to(id("plain")));
    Ok(vec![HttpRoute {
        filters: vec![
            Filter::RequestHeaders(request),
            Filter::ResponseHeaders(response),
        ],
        ..plain
    }])
}

fn rewritten() -> Vec<HttpRoute> {
    let to = |path: &str, rewrite| HttpRoute {
        rewrite: Some(rewrite),
        ..route(path, prefix(path), Action::to(id("plain")))
    };
    let replace = |prefix: &str| PathRewrite::Prefix {
        prefix: prefix.to_owned(),
    };
    let full = PathRewrite::Full {
        full: "/fixed".to_owned(),
    };
    vec![
        to("/old", replace("/new")),
        to("/bare", replace("/")),
        to("/full", full),
    ]
}

fn redirected() -> Result<Vec<HttpRoute>> {
    let host = || Hostname::parse("other.test").ok().context("host");
    let to = |path: &str, status, to| {
        let action = Action::Redirect(Redirect { status, to }.into());
        route(path, prefix(path), action)
    };
    let moved = RedirectTo::Parts {
        scheme: Some(Scheme::Https),
        host: Some(host()?),
        port: Some(8443),
        path: Some(PathRewrite::Prefix {
            prefix: "/there".to_owned(),
        }),
    };
    let replaced = RedirectTo::Parts {
        scheme: None,
        host: None,
        port: None,
        path: Some(PathRewrite::Full {
            full: "/whole".to_owned(),
        }),
    };
    let elsewhere = RedirectTo::Parts {
        scheme: None,
        host: Some(host()?),
        port: None,
        path: None,
    };
    Ok(vec![
        to("/moved", 308, moved),
        to("/replaced", 302, replaced),
        to("/elsewhere", 301, elsewhere),
    ])
}

fn mirrored() -> HttpRoute {
    let mirror = |service: &str, fraction| Mirror {
        backend: id(service),
        host: Some("copies.test".to_owned()),
        address: None,
        path: None,
        fraction,
    };
    let mirrors = vec![
        mirror("all-copies", None),
        mirror("half-of-copies", Fraction::new(1, 2)),
    ];
    let policy = Policy {
        mirrors,
        ..Policy::default()
    };
    HttpRoute {
        policy: Arc::new(policy),
        ..route("/mirrored", prefix("/mirrored"), Action::to(id("plain")))
    }
}

/// Access control on a match that not every data plane has: nobody gets in where it cannot be told who should.
fn guarded() -> Result<HttpRoute> {
    let policy = Policy {
        authentication: Some(Authentication::default()),
        ..Policy::default()
    };
    let matches = RouteMatch {
        headers: vec![HeaderMatch {
            name: header_name("x-staff")?,
            value: ValueMatch::Present,
        }],
        ..prefix("/guarded")
    };
    Ok(HttpRoute {
        policy: Arc::new(policy),
        ..route("/guarded", matches, Action::to(id("plain")))
    })
}
