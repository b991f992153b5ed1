//! Answers that lead elsewhere.

use envoy_types::pb::envoy::config::core::v3::HeaderValueOption;
use envoy_types::pb::envoy::config::route::v3::redirect_action::{
    PathRewriteSpecifier, RedirectResponseCode, SchemeRewriteSpecifier,
};
use envoy_types::pb::envoy::config::route::v3::route::Action;
use envoy_types::pb::envoy::config::route::v3::route_match::PathSpecifier;
use envoy_types::pb::envoy::config::route::v3::{
    DirectResponseAction, RedirectAction, Route, RouteMatch,
};
use sluice_ir::{
    CaptureSubject, CapturedRedirect, Comparison, Expression, ExpressionPart, Forwarded,
    GlobalConfig, Hostname, HttpRoute, HttpsRedirect, PathMatch, PathRegex, Redirect, RedirectTo,
    RegexScope, Scheme, ServerName, Variable,
};

use super::asked::{self, SCHEME, here, hostname};
use super::matching::{bare_root, contains, only_for, present, spoken};
use super::rewrite;
use crate::render::encoded::{SENT, SENT_TARGET, SENT_UNSLASHED};
use crate::render::format::{QUERY, format};
use crate::render::header::{literal, set};
use crate::render::patterns;
use crate::settings::PATH_HEADER;
use sluice_pattern::Subject;

/// A request's own, in a header of the answer.
const PORT: &str = "%REQ(x-forwarded-port)%";

/// `route` takes what the HTTP route takes, and does nothing yet.
pub(super) fn routes(
    route: &Route,
    http_route: &HttpRoute,
    redirect: &Redirect,
    (server, global): (&ServerName, &GlobalConfig),
) -> Vec<Route> {
    let status = redirect.status;
    let forwarded = &global.forwarded;
    match &redirect.to {
        RedirectTo::Url(url) => vec![to_url(route, status, &format_url(url, server))],
        RedirectTo::PathOnly(path) => {
            let url = format!("{}{}", here(forwarded), literal(path));
            vec![to_url(route, status, &url)]
        }
        RedirectTo::Path(path) if forwarded.trust_forwarded => {
            let url = format!("{}{}{QUERY}", here(forwarded), literal(path));
            vec![to_url(route, status, &url)]
        }
        RedirectTo::Path(path) => {
            let path = Some(PathRewriteSpecifier::PathRedirect(path.clone()));
            vec![acting(
                route,
                RedirectAction {
                    path_rewrite_specifier: path,
                    ..action(status)
                },
            )]
        }
        RedirectTo::RelativePath(path) => {
            vec![to_url(route, status, &format!("{}{QUERY}", literal(path)))]
        }
        RedirectTo::Host(host) => to_host(route, status, host, forwarded),
        RedirectTo::Parts { .. } | RedirectTo::Template { .. } => {
            let other = other_parts(&redirect.to, &http_route.matches.path);
            vec![acting(
                route,
                RedirectAction {
                    response_code: action(status).response_code,
                    ..other
                },
            )]
        }
    }
}

/// To a URL whose parts are those of the request, or have parts of its path in them.
pub(super) fn to_parts(route: &Route, status: u16, to: &RedirectTo, regex: &PathRegex) -> Route {
    let other = other_parts(to, &PathMatch::Regex(regex.clone()));
    let redirect = RedirectAction {
        response_code: action(status).response_code,
        ..other
    };
    acting(route, redirect)
}

/// To a URL with groups of a condition. Of the whole target the groups end with the query, which goes along.
pub(super) fn to_captured(
    route: &Route,
    status: u16,
    captured: &CapturedRedirect,
    server: &ServerName,
) -> Route {
    let (pattern, any_case) = match &captured.value {
        Comparison::Equals(text) => (sluice_pattern::escape(text), false),
        Comparison::Matches(pattern) => (pattern.clone(), false),
        Comparison::MatchesIgnoreCase(pattern) => (pattern.clone(), true),
    };
    let (scope, as_sent) = match any_case {
        false => (RegexScope::Anywhere, Subject::Text),
        true => (RegexScope::AnywhereInAnyCase, Subject::TextInAnyCase),
    };
    let as_sent = sluice_pattern::re2_first(&pattern, as_sent, false);
    let regex = PathRegex {
        scope,
        ..PathRegex::plain(pattern)
    };
    let mut route = to_parts(route, status, &captured.to, &regex);
    if let Some(Action::Redirect(redirect)) = &mut route.action {
        let path = redirect.path_rewrite_specifier.as_mut();
        // It is compared as it was sent.
        if let (CaptureSubject::RequestUri, Some(PathRewriteSpecifier::RegexRewrite(path))) =
            (captured.of, path)
        {
            let to = std::mem::take(&mut path.substitution);
            *path = rewrite::substitute(&as_sent, to);
        }
        redirect.strip_query = captured.of == CaptureSubject::Path && !captured.keeps_query;
        // Without the port of the request.
        if let (ServerName::Exact(name), true) = (server, redirect.host_redirect.is_empty()) {
            redirect.host_redirect = name.as_str().to_owned();
        }
    }
    route
}

/// To the same path of another host, with the port of the listener, or the one that clients are said to know.
fn to_host(route: &Route, status: u16, host: &Hostname, forwarded: &Forwarded) -> Vec<Route> {
    let host = host.as_str();
    if forwarded.trust_forwarded || forwarded.proxy_protocol {
        let origin = format!("{SCHEME}://{host}:{}", asked::port());
        return to_origin(route, status, &origin).into();
    }
    let root = to_url(route, status, &format!("{SCHEME}://{host}:{PORT}"));
    let elsewhere = |port| {
        let redirect = RedirectAction {
            host_redirect: host.to_owned(),
            port_redirect: port,
            ..action(status)
        };
        unslashed(route, redirect)
    };
    let https = elsewhere(443).map(|route| only_for(route, spoken("https")));
    [only_for(root, bare_root())]
        .into_iter()
        .chain(https)
        .chain(elsewhere(80))
        .collect()
}

/// Parts of a URL that a redirect replaces.
fn other_parts(to: &RedirectTo, matched: &PathMatch) -> RedirectAction {
    let (scheme, host, port, path) = match to {
        RedirectTo::Parts {
            scheme,
            host,
            port,
            path,
        } => {
            let path = path
                .as_ref()
                .and_then(|path| rewrite::regex_rewrite(matched, path))
                .map(PathRewriteSpecifier::RegexRewrite);
            let host = host.as_ref().map(Hostname::as_str);
            (scheme.map(Scheme::as_str), host, *port, path)
        }
        RedirectTo::Template {
            scheme,
            host,
            port,
            path,
        } => {
            let path = match matched {
                PathMatch::Regex(regex) if regex.backtracking => {
                    let format = patterns::format_from_headers(path);
                    Some(PathRewriteSpecifier::PathRewrite(format))
                }
                PathMatch::Regex(regex) => {
                    let rewrite = rewrite::by_template(regex, &path.0);
                    Some(PathRewriteSpecifier::RegexRewrite(rewrite))
                }
                PathMatch::Exact(_) | PathMatch::Prefix(_) => None,
            };
            (Some(*scheme), Some(host.as_str()), *port, path)
        }
        RedirectTo::Url(_)
        | RedirectTo::Path(_)
        | RedirectTo::RelativePath(_)
        | RedirectTo::PathOnly(_)
        | RedirectTo::Host(_) => {
            return RedirectAction::default();
        }
    };
    let scheme = scheme.map(str::to_owned);
    RedirectAction {
        scheme_rewrite_specifier: scheme.map(SchemeRewriteSpecifier::SchemeRedirect),
        host_redirect: host.unwrap_or_default().to_owned(),
        port_redirect: port.map(u32::from).unwrap_or_default(),
        path_rewrite_specifier: path,
        ..RedirectAction::default()
    }
}

/// Redirect of plain http to https, without a port: to the name that was asked for.
pub(super) fn to_https(
    route: &Route,
    redirect: &HttpsRedirect,
    (server, global): (&ServerName, &GlobalConfig),
) -> Vec<Route> {
    let status = redirect.status;
    let port = redirect
        .port
        .map(|port| format!(":{port}"))
        .unwrap_or_default();
    let routes = match (server, global.forwarded.trust_forwarded) {
        (ServerName::Exact(host), false) => {
            let https = RedirectAction {
                scheme_rewrite_specifier: Some(SchemeRewriteSpecifier::HttpsRedirect(true)),
                host_redirect: host.as_str().to_owned(),
                port_redirect: redirect.port.map(u32::from).unwrap_or_default(),
                ..action(status)
            };
            if redirect.keep_trailing_slash {
                vec![acting(route, to_path(https, SENT))]
            } else {
                // Envoy's own redirect has a path always.
                let root = to_url(route, status, &format!("https://{}{port}", host.as_str()));
                [only_for(root, bare_root())]
                    .into_iter()
                    .chain(unslashed(route, https))
                    .collect()
            }
        }
        (_, is_believed) => {
            let origin = format!("https://{}{port}", hostname(is_believed));
            if redirect.keep_trailing_slash {
                vec![to_url(route, status, &format!("{origin}{SENT_TARGET}"))]
            } else {
                to_origin(route, status, &origin).into()
            }
        }
    };
    routes
        .into_iter()
        .map(|route| only_for(route, spoken("http")))
        .collect()
}

/// Redirect target for exactly `/` (`app-root`).
pub(super) fn app_root(path: &Expression, (server, global): (&ServerName, &GlobalConfig)) -> Route {
    let root = RouteMatch {
        path_specifier: Some(PathSpecifier::Path("/".to_owned())),
        ..RouteMatch::default()
    };
    let route = Route {
        name: format!("{server}={}", path.as_literal().unwrap_or("/")),
        r#match: Some(root),
        ..Route::default()
    };
    let forwarded = &global.forwarded;
    match path.as_literal() {
        Some(path) if !forwarded.trust_forwarded => {
            let path = Some(PathRewriteSpecifier::PathRedirect(path.to_owned()));
            acting(
                &route,
                RedirectAction {
                    path_rewrite_specifier: path,
                    strip_query: true,
                    ..action(302)
                },
            )
        }
        _ => {
            let path = format_url(path, server);
            to_url(&route, 302, &format!("{}{path}", here(forwarded)))
        }
    }
}

/// To the same target of `origin`, which is a format, without a slash at its end. As [`unslashed`] has it.
fn to_origin(route: &Route, status: u16, origin: &str) -> [Route; 3] {
    let to = |target: &str| to_url(route, status, &format!("{origin}{target}"));
    [
        only_for(to(SENT_TARGET), contains(":path", "?")),
        only_for(to(SENT_UNSLASHED), present(PATH_HEADER)),
        to(&asked::path_without_slash()),
    ]
}

/// To the path without a slash at its end, as it was sent. A query ends the URL, so a slash before it stays.
fn unslashed(route: &Route, action: RedirectAction) -> [Route; 3] {
    let without_slash = rewrite::substitute("^(.+)/$", r"\1".to_owned());
    let path = Some(PathRewriteSpecifier::RegexRewrite(without_slash));
    let decoded = only_for(
        acting(route, to_path(action.clone(), SENT_UNSLASHED)),
        present(PATH_HEADER),
    );
    let with_query = only_for(
        acting(route, to_path(action.clone(), SENT)),
        contains(":path", "?"),
    );
    [
        with_query,
        decoded,
        acting(
            route,
            RedirectAction {
                path_rewrite_specifier: path,
                ..action
            },
        ),
    ]
}

/// The path is a format; where that comes to nothing, it stays.
fn to_path(action: RedirectAction, format: &str) -> RedirectAction {
    let path = PathRewriteSpecifier::PathRewrite(format.to_owned());
    RedirectAction {
        path_rewrite_specifier: Some(path),
        ..action
    }
}

fn action(status: u16) -> RedirectAction {
    let code = match status {
        302 => RedirectResponseCode::Found,
        303 => RedirectResponseCode::SeeOther,
        307 => RedirectResponseCode::TemporaryRedirect,
        308 => RedirectResponseCode::PermanentRedirect,
        _ => RedirectResponseCode::MovedPermanently,
    };
    RedirectAction {
        response_code: code.into(),
        ..RedirectAction::default()
    }
}

fn acting(route: &Route, action: RedirectAction) -> Route {
    Route {
        action: Some(Action::Redirect(action)),
        ..route.clone()
    }
}

/// A URL to go to, as a format.
pub(super) fn format_url(url: &Expression, server: &ServerName) -> String {
    format(&without_port(url, server))
}

/// Envoy's own variable has a port.
pub(super) fn without_port(url: &Expression, server: &ServerName) -> Expression {
    let ServerName::Exact(name) = server else {
        return url.clone();
    };
    let parts = url.0.iter().map(|part| match part {
        ExpressionPart::Variable(Variable::Hostname) => {
            ExpressionPart::Text(name.as_str().to_owned())
        }
        ExpressionPart::Text(_) | ExpressionPart::Variable(_) => part.clone(),
    });
    Expression(parts.collect())
}

/// With exactly this `Location`, which is a format.
pub(super) fn to_url(route: &Route, status: u16, format: &str) -> Route {
    let answer = DirectResponseAction {
        status: status.into(),
        ..DirectResponseAction::default()
    };
    let mut response_headers_to_add: Vec<HeaderValueOption> = route.response_headers_to_add.clone();
    response_headers_to_add.push(set("location", format));
    Route {
        action: Some(Action::DirectResponse(answer)),
        response_headers_to_add,
        ..route.clone()
    }
}
