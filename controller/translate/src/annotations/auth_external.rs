//! External authentication: `auth-*`, except basic authentication and client certificates.

use std::collections::BTreeSet;

use sluice_ir::{Expression, ExternalAuth, Header, HeaderName, UpstreamHeader};

pub(crate) use sluice_syntax::expression;
use sluice_syntax::settings::auth_cache::{default_durations, durations};
use sluice_syntax::settings::ext_auth::{
    METHODS, header_names, method, parameter, request_uri, sign_in,
};
use sluice_syntax::value::{self, Parsed};

use super::catalogue::{Group, Scope, Value, annotation};
use super::view::View;
use crate::ext_auth_url;
use crate::global::Globals;
use crate::risk::Risk;
use crate::route_names::RouteNames;

const CONNECTIONS: &str = "Sluice manages connections to the service itself";

pub(super) const GROUP: Group = Group {
    title: "External authentication",
    annotations: &[
        annotation("auth-url", Value::Url, Risk::High, Scope::Location)
            .access_control()
            .partly("a literal host, or $host without a port; behind it nginx variables that Sluice supports, $namespace, $ingress_name, $service_name and $service_port"),
        annotation(
            "auth-method",
            Value::OneOf(METHODS),
            Risk::Low,
            Scope::Location,
        )
        .access_control()
        .may_be_blank()
        .full(),
        annotation("auth-signin", Value::Url, Risk::High, Scope::Location)
            .access_control()
            .may_be_blank()
            .partly("nginx variables that Sluice supports, and $namespace, $ingress_name, $service_name, $service_port"),
        annotation(
            "auth-signin-redirect-param",
            Value::Text,
            Risk::Medium,
            Scope::Location,
        )
        .access_control()
        .may_be_blank()
        .full(),
        annotation(
            "auth-response-headers",
            Value::List,
            Risk::Medium,
            Scope::Location,
        )
        .access_control()
        .full(),
        annotation(
            "auth-proxy-set-headers",
            Value::ConfigMap,
            Risk::Medium,
            Scope::Location,
        )
        .access_control()
        .partly("nginx variables that Sluice supports"),
        annotation(
            "auth-request-redirect",
            Value::Text,
            Risk::Medium,
            Scope::Location,
        )
        .access_control()
        .may_be_blank()
        .partly("nginx variables that Sluice supports"),
        annotation(
            "auth-always-set-cookie",
            Value::Bool,
            Risk::Low,
            Scope::Location,
        )
        .access_control()
        .may_be_blank()
        .full(),
        annotation("auth-cache-key", Value::Text, Risk::Medium, Scope::Location)
            .may_be_blank()
            .partly("nginx variables that Sluice supports, and constants of the location ($namespace, $ingress_name, $service_name, $service_port, $server_name, $location_path, $proxy_upstream_name)"),
        annotation(
            "auth-cache-duration",
            Value::List,
            Risk::Medium,
            Scope::Location,
        )
        .access_control()
        .full(),
        annotation("auth-keepalive", Value::Int, Risk::Low, Scope::Location).needless(CONNECTIONS),
        annotation(
            "auth-keepalive-share-vars",
            Value::Bool,
            Risk::Low,
            Scope::Location,
        )
        .needless(CONNECTIONS),
        annotation(
            "auth-keepalive-requests",
            Value::Int,
            Risk::Low,
            Scope::Location,
        )
        .needless(CONNECTIONS),
        annotation(
            "auth-keepalive-timeout",
            Value::Int,
            Risk::Low,
            Scope::Location,
        )
        .needless(CONNECTIONS),
        annotation("auth-snippet", Value::Text, Risk::Critical, Scope::Location)
            .snippet()
            .partly("proxy_set_header, with allow-snippet-annotations and annotations-risk-level: Critical; others are reported"),
        annotation(
            "enable-global-auth",
            Value::Bool,
            Risk::Low,
            Scope::Location,
        )
        .access_control()
        .may_be_blank()
        .full(),
    ],
};

/// External authentication of the Ingress, else the operator's.
pub(super) fn external_auth(view: &mut View<'_, '_>, globals: &Globals) -> Option<ExternalAuth> {
    let applies = view.read("enable-global-auth", value::bool).unwrap_or(true);
    let addresses = view.references.tracker.addresses;
    let url = view.read("auth-url", |text| {
        ext_auth_url::parse_of_route(text, addresses)
    });
    let redirect_parameter = view.read("auth-signin-redirect-param", parameter);
    let longest = RouteNames::longest();
    let signin_url = view.read("auth-signin", |text| {
        sign_in(text, redirect_parameter.as_deref(), |name| {
            longest.get(name)
        })
    });
    let key = view.read("auth-cache-key", |text| {
        expression::for_cache_key(text, RouteNames::is_constant)
    });
    let durations = view.read("auth-cache-duration", durations);
    let method = view.read("auth-method", method);
    let upstream_headers = view
        .read("auth-response-headers", header_names)
        .unwrap_or_default();
    let redirect_url = view.read("auth-request-redirect", expression::for_ext_auth);
    let always_set_cookie = view.flag("auth-always-set-cookie");
    let (host, headers) = headers(view);
    let Some(url) = url else {
        return globals.access.external_auth.clone().filter(|_| applies);
    };
    let cache = key.map(|key| durations.unwrap_or_else(default_durations).with(key));
    let redirect_url = redirect_url.unwrap_or_else(request_uri);
    Some(ExternalAuth {
        url,
        backend: None,
        method,
        signin_url,
        upstream_headers: UpstreamHeader::same(upstream_headers),
        host,
        headers,
        redirect_url,
        always_set_cookie,
        cache,
    })
}

/// The headers that the Ingress's own service sets, and the operator's. Where one of them is not asked, a client could say
/// them itself; and where names may have underscores, in a spelling that a pod takes for the same one (WSGI and CGI do).
pub(super) fn auth_headers(view: &mut View<'_, '_>, globals: &Globals) -> Vec<HeaderName> {
    const NAME: &str = "auth-response-headers";
    let own = view
        .text(NAME)
        .and_then(|text| header_names(text).ok())
        .unwrap_or_default();
    let all: BTreeSet<HeaderName> = globals
        .access
        .auth_headers
        .iter()
        .cloned()
        .chain(own)
        .collect();
    let (spelled, unspelled) = spelled(all, globals);
    if unspelled {
        view.reject(
            NAME,
            "names with at most five of - and _ (enable-underscores-in-headers is on)",
        );
    }
    spelled
}

/// The names in all spellings that a pod may take for them, and whether one has too many.
pub(super) fn spelled(names: BTreeSet<HeaderName>, globals: &Globals) -> (Vec<HeaderName>, bool) {
    if !globals.config.underscores_in_headers {
        return (names.into_iter().collect(), false);
    }
    let (mut spelled, mut unspelled) = (BTreeSet::new(), false);
    for name in names {
        match name.spellings() {
            Some(spellings) => spelled.extend(spellings),
            None => {
                unspelled = true;
                spelled.insert(name);
            }
        }
    }
    (spelled.into_iter().collect(), unspelled)
}

/// Request headers to the service, and its `Host`.
fn headers(view: &mut View<'_, '_>) -> (Option<Expression>, Vec<Header>) {
    const NAME: &str = "auth-proxy-set-headers";
    let (mut host, mut headers) = (None, Vec::new());
    let Some(text) = view.text(NAME) else {
        return (host, headers);
    };
    let data = match view.references.config_map(&view.namespace, text) {
        Ok(data) => data,
        Err(error) => {
            view.not_honoured(NAME, error, "");
            return (host, headers);
        }
    };
    for (name, text) in data {
        let mut read = || -> Parsed<()> {
            let value = expression::for_ext_auth(text)?;
            if name.eq_ignore_ascii_case("host") {
                host = Some(value);
            } else {
                headers.push(Header {
                    name: value::own_header(name)?,
                    value,
                });
            }
            Ok(())
        };
        if let Err(expected) = read() {
            view.reject_part(NAME, &expected, &format!("{name}: {text}"));
        }
    }
    (host, headers)
}

#[cfg(test)]
mod tests;
