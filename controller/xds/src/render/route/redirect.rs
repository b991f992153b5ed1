//! Answers that lead elsewhere.

use envoy_types::pb::envoy::config::core::v3::HeaderValueOption;
use envoy_types::pb::envoy::config::route::v3::redirect_action::{
    PathRewriteSpecifier, RedirectResponseCode, SchemeRewriteSpecifier,
};
use envoy_types::pb::envoy::config::route::v3::route::Action;
use envoy_types::pb::envoy::config::route::v3::{DirectResponseAction, RedirectAction, Route};
use envoy_types::pb::envoy::r#type::matcher::v3::{RegexMatchAndSubstitute, RegexMatcher};
use sluice_ir::{HttpsRedirect, Location, PathMatch, Piece, Redirect, RedirectTo, ServerName, Template};

use super::matching::{bare_root, only_for, spoken, whole};
use crate::render::header::{literal, set};

/// A request's own, in a header of the answer.
const SCHEME: &str = "%REQ(x-forwarded-proto)%";
const PORT: &str = "%REQ(x-forwarded-port)%";
const AUTHORITY: &str = "%REQ(:authority)%";

/// `route` takes what the location takes, and does nothing yet.
pub(super) fn routes(route: &Route, location: &Location, redirect: &Redirect) -> Vec<Route> {
    let status = redirect.status;
    match &redirect.to {
        RedirectTo::Url(url) => vec![to_url(route, status, &literal(url))],
        RedirectTo::PathOnly(path) => {
            vec![to_url(route, status, &format!("{SCHEME}://{AUTHORITY}{}", literal(path)))]
        }
        RedirectTo::Path(path) => {
            let path = Some(PathRewriteSpecifier::PathRedirect(path.clone()));
            vec![acting(route, RedirectAction { path_rewrite_specifier: path, ..action(status) })]
        }
        RedirectTo::Host(host) => {
            let host = host.as_str();
            let root = to_url(route, status, &format!("{SCHEME}://{host}:{PORT}"));
            let elsewhere = |port| RedirectAction {
                host_redirect: host.to_owned(),
                port_redirect: port,
                path_rewrite_specifier: Some(without_slash()),
                ..action(status)
            };
            let https = only_for(acting(route, elsewhere(443)), spoken("https"));
            vec![only_for(root, bare_root()), https, acting(route, elsewhere(80))]
        }
        RedirectTo::Rewritten { scheme, host, port, path } => {
            let rewritten = RedirectAction {
                scheme_rewrite_specifier: Some(SchemeRewriteSpecifier::SchemeRedirect((*scheme).to_owned())),
                host_redirect: host.clone(),
                port_redirect: port.map(u32::from).unwrap_or_default(),
                path_rewrite_specifier: substitution(&location.path, path)
                    .map(PathRewriteSpecifier::RegexRewrite),
                ..action(status)
            };
            vec![acting(route, rewritten)]
        }
    }
}

/// What plain http is answered with.
pub(super) fn to_https(route: &Route, redirect: &HttpsRedirect, server: &ServerName) -> Vec<Route> {
    let host = match server {
        ServerName::Exact(name) => name.as_str().to_owned(),
        ServerName::Wildcard(_) | ServerName::CatchAll => String::new(),
    };
    let port = redirect.port.map(|port| format!(":{port}")).unwrap_or_default();
    let authority = if host.is_empty() { AUTHORITY.to_owned() } else { host.clone() };
    let https = RedirectAction {
        scheme_rewrite_specifier: Some(SchemeRewriteSpecifier::HttpsRedirect(true)),
        host_redirect: host,
        port_redirect: redirect.port.map(u32::from).unwrap_or_default(),
        path_rewrite_specifier: (!redirect.keep_slash).then(without_slash),
        ..action(redirect.status)
    };
    let others = only_for(acting(route, https), spoken("http"));
    if redirect.keep_slash {
        return vec![others];
    }
    // Envoy's own redirect has a path always.
    let root = to_url(route, redirect.status, &format!("https://{authority}{port}"));
    vec![only_for(only_for(root, bare_root()), spoken("http")), others]
}

/// Where exactly `/` is sent.
pub(super) fn app_root(path: &str) -> Action {
    let path = Some(PathRewriteSpecifier::PathRedirect(path.to_owned()));
    Action::Redirect(RedirectAction { path_rewrite_specifier: path, strip_query: true, ..action(302) })
}

/// `None` when the location has no pattern: then there is nothing to substitute in.
pub(super) fn substitution(path: &PathMatch, template: &Template) -> Option<RegexMatchAndSubstitute> {
    let PathMatch::Regex(regex) = path else { return None };
    let pieces = template.0.iter().map(|piece| match piece {
        Piece::Text(text) => text.replace('\\', r"\\"),
        Piece::Group(group) => format!(r"\{group}"),
    });
    Some(RegexMatchAndSubstitute {
        pattern: Some(RegexMatcher { regex: whole(regex), ..RegexMatcher::default() }),
        substitution: pieces.collect(),
    })
}

fn without_slash() -> PathRewriteSpecifier {
    PathRewriteSpecifier::RegexRewrite(RegexMatchAndSubstitute {
        pattern: Some(RegexMatcher { regex: "^(.+)/$".to_owned(), ..RegexMatcher::default() }),
        substitution: r"\1".to_owned(),
    })
}

fn action(status: u16) -> RedirectAction {
    let code = match status {
        302 => RedirectResponseCode::Found,
        303 => RedirectResponseCode::SeeOther,
        307 => RedirectResponseCode::TemporaryRedirect,
        308 => RedirectResponseCode::PermanentRedirect,
        _ => RedirectResponseCode::MovedPermanently,
    };
    RedirectAction { response_code: code.into(), ..RedirectAction::default() }
}

fn acting(route: &Route, action: RedirectAction) -> Route {
    Route { action: Some(Action::Redirect(action)), ..route.clone() }
}

/// With exactly this `Location`, which is a format.
pub(super) fn to_url(route: &Route, status: u16, format: &str) -> Route {
    let answer = DirectResponseAction { status: status.into(), ..DirectResponseAction::default() };
    let mut response_headers_to_add: Vec<HeaderValueOption> = route.response_headers_to_add.clone();
    response_headers_to_add.push(set("location", format));
    Route { action: Some(Action::DirectResponse(answer)), response_headers_to_add, ..route.clone() }
}
