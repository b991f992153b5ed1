//! The service that all Ingresses are asked about, except those with one of their own: `global-auth-*`.

use sluice_ir::{ExternalAuth, HeaderName};
use sluice_syntax::settings::auth_cache::{default_durations, durations};
use sluice_syntax::settings::ext_auth::{header_names, method, parameter, request_uri, sign_in};
use sluice_syntax::{Parsed, expression, value};
use sluice_translate_engine::AddressPolicy;

use super::keys::{Key, key};
use super::view::View;
use crate::ext_auth_url;

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
    key("global-auth-url", "").partly("a literal host or $host; the service gets no ssl-client-* headers"),
];

const PARAMETER: &str = "global-auth-signin-redirect-param";

/// The service, and the headers that it sets. `false` when something of it cannot be read.
pub(super) fn take(
    target: &mut Option<ExternalAuth>,
    auth_headers: &mut Vec<HeaderName>,
    view: &mut View<'_, '_>,
    addresses: &AddressPolicy,
) -> bool {
    let (mut url, mut signin, mut key, mut back, mut auth_method) = (None, None, None, None, None);
    let (mut redirect_parameter, mut to_pods, mut always_cookies) = (None, Vec::new(), false);
    let mut cache_durations = default_durations();
    let read = [
        view.guard(&mut url, "global-auth-url", |text| {
            unless_empty(text, |text| ext_auth_url::parse(text, addresses))
        }),
        view.guard(&mut redirect_parameter, PARAMETER, |text| {
            unless_empty(text, parameter)
        }),
        view.guard(&mut signin, "global-auth-signin", |text| {
            unless_empty(text, |text| sign_in(text, redirect_parameter.as_deref()))
        }),
        view.guard(&mut auth_method, "global-auth-method", |text| {
            unless_empty(text, method)
        }),
        view.guard(&mut to_pods, "global-auth-response-headers", header_names),
        view.guard(&mut back, "global-auth-request-redirect", |text| {
            unless_empty(text, expression::for_ext_auth)
        }),
        view.guard(
            &mut always_cookies,
            "global-auth-always-set-cookie",
            value::bool,
        ),
        view.guard(&mut key, "global-auth-cache-key", |text| {
            unless_empty(text, expression::for_ext_auth)
        }),
        view.guard(
            &mut cache_durations,
            "global-auth-cache-duration",
            durations,
        ),
    ];
    auth_headers.clone_from(&to_pods);
    *target = url.map(|url| ExternalAuth {
        url,
        backend: None,
        method: auth_method,
        signin_url: signin,
        upstream_headers: to_pods,
        host: None,
        headers: Vec::new(),
        redirect_url: back.unwrap_or_else(request_uri),
        always_set_cookie: always_cookies,
        cache: key.map(|key| cache_durations.with(key)),
    });
    read.into_iter().all(|read| read)
}

fn unless_empty<T>(text: &str, parse: impl FnOnce(&str) -> Parsed<T>) -> Parsed<Option<T>> {
    if text.is_empty() {
        Ok(None)
    } else {
        parse(text).map(Some)
    }
}
