//! The route of one request, found in the model as data planes find it, and everything that applies to it on the way.
//!
//! ```text
//!   URL, method, headers --> Request --server.rs--> Server --path.rs--> HttpRoute --answer.rs--> Outcome
//!                                                      app root -+         +- direct_response.rs, canary.rs
//! ```
//!
//! Pure: nothing is sent. What depends on more than the request and the model (passwords, limits, sessions, the draw among canaries, the
//! choice of a pod) is named, and not decided.

mod answer;
mod blocked;
mod canary;
mod direct_response;
mod explanation;
mod global_headers;
mod headers;
mod lines;
mod path;
mod request;
mod server;
mod settings;
mod value;
mod words;

pub use canary::canary_rules;
pub use explanation::{
    Backend, Choice, Explanation, GlobalHeaders, NotChosen, OperatorSnippet, Outcome, Route,
    Selection, Share, WeightedShare,
};
pub use lines::{Line, balancing, end, way};
pub use request::{InvalidRequest, Request};
pub use settings::{response_to_all, settings, target};
pub use words::{Owner, Words, paths_of_host, setting_word};

use explanation::Answered;
use serde_json::{Value, json};
use sluice_ir::{Config, HttpRoute};

/// Explains what becomes of a request.
#[must_use]
pub fn explain(config: &Config, request: &Request) -> Explanation {
    let explanation = of_route(config, request);
    let route = model_route(config, &explanation);
    Explanation {
        listener: request.scheme.clone(),
        global_headers: global_headers::of(config, route, &explanation.outcome),
        ..explanation
    }
}

/// The route that takes a request, in the model.
fn model_route<'c>(config: &'c Config, explanation: &Explanation) -> Option<&'c HttpRoute> {
    let server = config.servers.get(&explanation.server_name()?)?;
    let id = &explanation.route.as_ref()?.id;
    server.routes.iter().find(|route| route.id == *id)
}

/// All that a configuration says of a request, to be compared with another one.
#[must_use]
pub fn details(config: &Config, request: &Request) -> Value {
    let explanation = explain(config, request);
    let route = model_route(config, &explanation);
    let global = &config.global;
    let hsts = global.hsts.as_ref().filter(|_| request.scheme == "https");
    let is_forwarded = matches!(explanation.outcome, Outcome::Forward { .. });
    let hidden = Some(&global.hidden_headers).filter(|_| is_forwarded);
    json!([explanation, route, hidden, hsts])
}

fn of_route(config: &Config, request: &Request) -> Explanation {
    let request = &as_forwarded(config, request);
    if let Some(backend) = server::passthrough(config, request) {
        return Explanation::of(Outcome::Passthrough {
            backend: answer::backend(config, backend, 1),
        });
    }
    let Some(found) = server::find(&config.servers, &request.host) else {
        return Explanation::of(Outcome::Respond { status: 404 });
    };
    let of_server = |outcome| Explanation {
        server: Some(found.name.to_string()),
        certificate: server::certificate(config, request),
        client_certificates: found.server.client_certificates.clone(),
        ..Explanation::of(outcome)
    };
    let Some(path) = &request.path else {
        return Explanation {
            has_no_path: true,
            ..of_server(Outcome::Respond { status: 400 })
        };
    };
    if blocked::is_blocked(&config.global.blocked, request) {
        return of_server(Outcome::Respond { status: 403 });
    }
    if let Some(app_root) = found.server.app_root.as_ref().filter(|_| path == "/") {
        let target = value::of_expression(app_root, request);
        return of_server(Outcome::Redirect {
            status: 302,
            location: format!("{}{target}", request.origin()),
        });
    }
    let mut routes = found.server.routes.iter();
    let ends_here = |route: &&HttpRoute| {
        path::takes(&route.matches, request) || path::is_exhausted(&route.matches, request)
    };
    let Some(route) = routes.find(ends_here) else {
        return of_server(Outcome::Respond { status: 404 });
    };
    if path::is_exhausted(&route.matches, request) {
        return of_server(Outcome::Respond { status: 500 });
    }
    let (outcome, answered_by) = outcome(config, route, request);
    Explanation {
        route: Some(explanation::Route::of(route)),
        answered_by,
        ..of_server(outcome)
    }
}

/// The request as its client has sent it to a proxy in front that is believed.
fn as_forwarded(config: &Config, request: &Request) -> Request {
    let scheme = request.header("x-forwarded-proto");
    let believed = config.global.forwarded.trust_forwarded;
    let scheme = scheme.filter(|scheme| believed && (scheme == "http" || scheme == "https"));
    Request {
        forwarded_scheme: scheme,
        ..request.clone()
    }
}

/// In the order of data planes: responses of server-snippets, preflights, responses of other snippets, the redirect to https, policies, the action.
fn outcome(config: &Config, route: &HttpRoute, request: &Request) -> Answered {
    if let Some(response) = direct_response::find(route, request, true) {
        return response;
    }
    let origin = request.header("origin");
    let cors = route.policy.cors.as_ref();
    if request.method == "OPTIONS" && cors.is_some_and(|it| it.origins.allow(origin.as_deref())) {
        return (Outcome::Respond { status: 204 }, None);
    }
    if let Some(response) = direct_response::find(route, request, false) {
        return response;
    }
    if let Some(redirect) = &route.https_redirect
        && request.told_scheme() == "http"
        && !server::is_one_of(&route.plain_http_at, &request.host)
    {
        return (answer::to_https(redirect, request), None);
    }
    let outcome = answer::of_action(config, route, request);
    (outcome, OperatorSnippet::of_route(route))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sluice_ir::{Action, BackendId, PathMatch, Server, ServerName};

    use super::*;

    #[test]
    fn pods_are_spoken_to_as_the_connection_is_whatever_a_header_says() {
        let plain = BackendId::new("default/web/80");
        let action = Action::to(plain.clone());
        let path = PathMatch::Prefix("/".to_owned());
        let route = HttpRoute {
            https_backend: Some(BackendId::new("default/web/80/https")),
            ..HttpRoute::new(&ServerName::CatchAll, path, action, Arc::default())
        };
        let server = Server {
            routes: vec![route],
            ..Server::default()
        };
        let mut config = Config::default();
        config.servers.insert(ServerName::CatchAll, server.into());
        config.global.forwarded.trust_forwarded = true;
        for scheme in ["http", "https"] {
            for said in ["http", "https"] {
                let header = format!("X-Forwarded-Proto: {said}");
                let url = format!("{scheme}://a.example/");
                let request = Request::parse(&url, "GET", &[header]).unwrap();
                let Outcome::Forward { backends, .. } = explain(&config, &request).outcome else {
                    panic!("not forwarded")
                };
                let is_plain = backends[0].id == plain.to_string();
                assert_eq!(is_plain, scheme == "http", "{scheme}, {said}");
            }
        }
    }
}
