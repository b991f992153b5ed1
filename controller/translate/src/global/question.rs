//! The service that all Ingresses are asked about, except those with one of their own: `global-auth-*`.

use sluice_ir::{ExternalAuth, HeaderName};
use sluice_syntax::{Parsed, expression, value};

use super::view::View;
use crate::AddressPolicy;
use crate::annotations::auth_external as question;

const PARAMETER: &str = "global-auth-signin-redirect-param";

/// The service, and the headers that it sets. `false` when something of it cannot be read.
pub(super) fn take(
    target: &mut Option<ExternalAuth>,
    auth_headers: &mut Vec<HeaderName>,
    view: &mut View<'_, '_>,
    addresses: &AddressPolicy,
) -> bool {
    let (mut url, mut sign_in, mut key, mut back, mut method) = (None, None, None, None, None);
    let (mut parameter, mut to_pods, mut always_cookies) = (None, Vec::new(), false);
    let mut durations = question::usual_durations();
    let read = [
        view.guard(&mut url, "global-auth-url", |text| {
            unless_empty(text, |text| question::url(text, addresses))
        }),
        view.guard(&mut parameter, PARAMETER, |text| {
            unless_empty(text, question::parameter)
        }),
        view.guard(&mut sign_in, "global-auth-signin", |text| {
            unless_empty(text, |text| question::sign_in(text, parameter.as_deref()))
        }),
        view.guard(&mut method, "global-auth-method", |text| {
            unless_empty(text, question::method)
        }),
        view.guard(
            &mut to_pods,
            "global-auth-response-headers",
            question::header_names,
        ),
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
            &mut durations,
            "global-auth-cache-duration",
            question::durations,
        ),
    ];
    auth_headers.clone_from(&to_pods);
    *target = url.map(|url| ExternalAuth {
        url,
        backend: None,
        method,
        signin_url: sign_in,
        upstream_headers: to_pods,
        host: None,
        headers: Vec::new(),
        redirect_url: back.unwrap_or_else(question::request_uri),
        always_set_cookie: always_cookies,
        cache: key.map(|key| durations.with(key)),
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
