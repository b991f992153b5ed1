//! The service that all Ingresses are asked about, except those with one of their own: `global-auth-*`.

use sluice_ir::{Expression, ExternalAuth, HeaderName, UpstreamHeader};
use sluice_syntax::settings::auth_cache::{default_durations, durations};
use sluice_syntax::settings::ext_auth::{self, header_names, parameter, request_uri, sign_in};
use sluice_syntax::{Parsed, expression, value};
use sluice_translate_engine::AddressPolicy;

use super::keys::{Key, key};
use super::view::View;
use crate::ext_auth_url;
use crate::route_names::RouteNames;

#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    key("global-auth-always-set-cookie", "false").full(),
    key("global-auth-cache-duration", "200 202 401 5m").full(),
    key("global-auth-cache-key", "").full(),
    key("global-auth-method", "").full(),
    key("global-auth-request-redirect", "").full(),
    key("global-auth-response-headers", "").full(),
    key("global-auth-signin", "").full(),
    key("global-auth-signin-redirect-param", "rd").full(),
    key("global-auth-url", "").partly("a literal host or $host"),
];

const PARAMETER: &str = "global-auth-signin-redirect-param";

/// The service, and the headers that it sets. `false` when something of it cannot be read.
pub(super) fn take(
    target: &mut Option<ExternalAuth>,
    auth_headers: &mut Vec<HeaderName>,
    view: &mut View<'_, '_>,
    addresses: &AddressPolicy,
) -> bool {
    let (mut url, mut signin_url, mut key, mut method) = (None, None, None, None);
    let (mut redirect_url, mut redirect_parameter) = (None, None);
    let (mut upstream_headers, mut always_set_cookie) = (Vec::new(), false);
    let mut cache_durations = default_durations();
    let read = [
        view.set_access_control(&mut url, "global-auth-url", |text| {
            unless_empty(text, |text| ext_auth_url::parse(text, addresses))
        }),
        view.set_access_control(&mut redirect_parameter, PARAMETER, |text| {
            unless_empty(text, parameter)
        }),
        view.set_access_control(&mut signin_url, "global-auth-signin", |text| {
            sign_in_url(text, redirect_parameter.as_deref())
        }),
        view.set_access_control(&mut method, "global-auth-method", |text| {
            unless_empty(text, ext_auth::method)
        }),
        view.set_access_control(
            &mut upstream_headers,
            "global-auth-response-headers",
            header_names,
        ),
        view.set_access_control(&mut redirect_url, "global-auth-request-redirect", |text| {
            unless_empty(text, expression::for_ext_auth)
        }),
        view.set_access_control(
            &mut always_set_cookie,
            "global-auth-always-set-cookie",
            value::bool,
        ),
        view.set_access_control(&mut key, "global-auth-cache-key", |text| {
            unless_empty(text, cache_key)
        }),
        view.set_access_control(
            &mut cache_durations,
            "global-auth-cache-duration",
            durations,
        ),
    ];
    auth_headers.clone_from(&upstream_headers);
    *target = url.map(|url| ExternalAuth {
        url,
        backend: None,
        method,
        signin_url,
        upstream_headers: UpstreamHeader::same(upstream_headers),
        host: None,
        headers: Vec::new(),
        redirect_url: redirect_url.unwrap_or_else(request_uri),
        always_set_cookie,
        cache: key.map(|key| cache_durations.with(key)),
    });
    read.into_iter().all(|read| read)
}

fn sign_in_url(text: &str, parameter: Option<&str>) -> Parsed<Option<Expression>> {
    unless_empty(text, |text| sign_in(text, parameter, |_| None))
}

fn cache_key(text: &str) -> Parsed<Expression> {
    expression::for_cache_key(text, RouteNames::is_constant)
}

fn unless_empty<T>(text: &str, parse: impl FnOnce(&str) -> Parsed<T>) -> Parsed<Option<T>> {
    if text.is_empty() {
        Ok(None)
    } else {
        parse(text).map(Some)
    }
}
