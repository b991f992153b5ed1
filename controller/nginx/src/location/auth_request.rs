//! Authentication by `auth_request`: nginx asks the controller, as Envoy does.
//!
//! nginx's `auth_request` understands 2xx, 401 and 403. What else there is to say comes in headers of ours, so nothing of a
//! tenant's is in the names of variables, and a change of users or answers reloads nothing.

use std::collections::{BTreeMap, BTreeSet};

use sluice_filter_config::host_contract;
use sluice_ir::{Authentication, HeaderName, HttpRoute, PasswordScheme, Policy, UpstreamHeader};

use crate::conf::{Text, Value, Word, value, word};
use crate::context::{Host, RenderContext};
use crate::expression;
use crate::tls::client_certificate;
use crate::traces;

/// Path of the controller's authorization endpoint.
pub const PATH: &str = "/v1/authorize";
/// Header of an authorization request: the id of the route.
pub const ROUTE: &str = "sluice-route";
/// Header of an authorization request: the address of the client, from headers where they are trusted.
pub const CLIENT: &str = "sluice-client";
/// Header of an authorization request: the method.
pub const METHOD: &str = "sluice-method";
/// Header of an authorization request: `http` or `https`.
pub const SCHEME: &str = "sluice-scheme";
/// Header of an authorization request: the host that the client sent, with its port.
pub const HOST: &str = "sluice-host";
/// Header of an authorization request: path and query.
pub const URI: &str = "sluice-uri";
/// Headers of an authorization request on hosts that verify client certificates: the result of the verification, subject, issuer,
/// and the certificate where it is forwarded.
pub const CERTIFICATE: [&str; 4] = [
    "sluice-client-verify",
    "sluice-client-subject",
    "sluice-client-issuer",
    "sluice-client-certificate",
];
/// Of an answer, with a number behind it: a cookie for the client.
pub const COOKIE: &str = "sluice-cookie-";
/// As many as there are; more are dropped.
pub const MOST_COOKIES: usize = 8;
/// Of an answer, with a name behind it: a header for the pod.
pub const UPSTREAM_HEADER: &str = "sluice-pod-";
/// Of a 401: the URL that the client is sent to instead. Of a 204: the one that it is sent to if the pod answers 401.
pub const SIGN_IN: &str = "sluice-sign-in";

/// Of a 503: when to come again, in seconds.
pub const RETRY_AFTER: &str = "retry-after";

/// The location that asks. It begins with no slash, as paths of clients and of Ingresses do, so no client can ask for it and
/// no Ingress can have it.
const AUTH_LOCATION: &str = "sluice_auth";

/// The directives of a location that is guarded.
pub(crate) struct AuthRequest {
    pub(crate) location: &'static str,
    /// Response headers that are kept in variables.
    pub(crate) kept: Vec<(String, Value)>,
    /// Those that may hold a cookie.
    pub(crate) cookies: Vec<Value>,
    /// Whatever the pod says.
    pub(crate) always: bool,
    pub(crate) signs_in: bool,
    /// All hashing threads may be busy: to `auth_request` that is an error like any other.
    pub(crate) may_be_busy: bool,
    /// The server has an error page of its own, which one of the location would hide.
    pub(crate) refused: bool,
}

impl AuthRequest {
    /// `is_500_taken`: as [`is_500_taken`] says.
    pub(crate) fn new(authentication: &Authentication, is_500_taken: bool, host: Host<'_>) -> Self {
        let external = authentication.external.as_ref();
        let names = external
            .is_some()
            .then(|| (0..MOST_COOKIES).map(cookie))
            .into_iter()
            .flatten();
        let names: Vec<String> = names.collect();
        let signs_in = external.is_some_and(|external| external.signin_url.is_some());
        let cookies =
            (0..names.len()).map(|place| (cookie(place), answered(&format!("{COOKIE}{place}"))));
        let upstream_headers = answered_headers(authentication).map(|name| {
            (
                kept(name),
                answered(&format!("{UPSTREAM_HEADER}{}", name.as_str())),
            )
        });
        let sign_in = signs_in.then(|| ("sluice_sign_in".to_owned(), answered(SIGN_IN)));
        let may_be_busy = has_slow_hashes(authentication) && !is_500_taken;
        let busy = may_be_busy.then(|| {
            let status = Text::default().variable("upstream_status").quoted();
            [
                ("sluice_auth_status".to_owned(), status),
                ("sluice_retry_after".to_owned(), answered(RETRY_AFTER)),
            ]
        });
        AuthRequest {
            location: AUTH_LOCATION,
            kept: cookies
                .chain(upstream_headers)
                .chain(sign_in)
                .chain(busy.into_iter().flatten())
                .collect(),
            may_be_busy,
            cookies: names
                .iter()
                .map(|name| Text::default().variable(name).quoted())
                .collect(),
            always: external.is_some_and(|external| external.always_set_cookie),
            signs_in,
            refused: host
                .clients()
                .is_some_and(|clients| clients.error_page.is_some()),
        }
    }
}

/// `sluice_cookie_0`
fn cookie(place: usize) -> String {
    format!("{COOKIE}{place}").replace('-', "_")
}

/// The variable for a header that pods hear. Its name has the letters of a header's, and nothing else.
fn kept(header: &HeaderName) -> String {
    let letter = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '_'
        }
    };
    let name: String = header.as_str().chars().map(letter).collect();
    format!("sluice_pod_{name}")
}

/// A header of the controller's answer.
fn answered(header: &str) -> Value {
    Text::default()
        .variable(&format!("upstream_http_{header}"))
        .quoted()
}

/// Request headers that the controller's answers have: those of the service's, and those with the user.
fn answered_headers(authentication: &Authentication) -> impl Iterator<Item = &HeaderName> {
    let external = authentication.external.iter();
    let of_service = external.flat_map(|external| &external.upstream_headers);
    let of_service = of_service.map(|UpstreamHeader { name, .. }| name);
    let passwords = authentication.passwords.iter();
    of_service.chain(passwords.flat_map(|passwords| &passwords.user_headers))
}

/// Request headers that external authentication sets or removes for upstreams: with the variable of the service's answer, or
/// empty where it answers none.
pub(crate) fn upstream_headers(policy: &Policy) -> Vec<(String, Text)> {
    let is_asked_for = policy
        .authentication
        .as_ref()
        .is_some_and(|authentication| authentication.passwords.is_some());
    // ingress-nginx: a password that was asked for here is none of the pod's business.
    let credentials = is_asked_for.then_some("authorization");
    let answered = policy.authentication.iter().flat_map(answered_headers);
    let answered: BTreeMap<&str, &HeaderName> =
        answered.map(|name| (name.as_str(), name)).collect();
    let mut seen = BTreeSet::new();
    let known = policy.auth_headers.iter().map(HeaderName::as_str);
    known
        .chain(credentials)
        .filter(|name| seen.insert(*name))
        .map(|name| {
            let value = answered.get(name).map(|header| kept(header));
            (
                name.to_owned(),
                value.map_or_else(Text::default, |kept| Text::default().variable(&kept)),
            )
        })
        .collect()
}

/// The location of a server that asks.
pub(crate) struct AuthLocation {
    pub(crate) path: &'static str,
    pub(crate) controller: Word,
    pub(crate) lines: Vec<(String, Value)>,
    pub(crate) cookies: Vec<Value>,
    pub(crate) signs_in: bool,
    pub(crate) may_be_busy: bool,
}

impl AuthLocation {
    /// `None` where no route authenticates.
    pub(crate) fn for_server(host: Host<'_>, context: RenderContext<'_>) -> Option<Self> {
        let authentications: Vec<&Authentication> = host
            .server
            .routes
            .iter()
            .filter_map(authentication_of)
            .collect();
        let first = authentications
            .iter()
            .find(|authentication| authentication.external.is_some())
            .or(authentications.first())?;
        let variable = |name: &str| Text::default().variable(name).quoted();
        let said = [
            (ROUTE, variable(host_contract::ROUTE.name)),
            (CLIENT, variable("remote_addr")),
            (METHOD, variable("request_method")),
            (SCHEME, variable(expression::SCHEME)),
            (HOST, variable(expression::AUTHORITY)),
            (URI, variable("request_uri")),
            ("X-Forwarded-Proto", variable(expression::SCHEME)),
            ("X-Forwarded-Port", variable(expression::PORT)),
            ("X-Request-ID", variable(expression::REQUEST_ID)),
            ("Host", value("sluice")),
            ("Content-Length", value("")),
        ]
        .map(|(name, value)| (name.to_owned(), value));
        // Also where there is nothing to say: a client could.
        let certificate = match &host.server.client_certificates {
            Some(clients) => client_certificate(clients).map(Text::quoted),
            None => CERTIFICATE.map(|_| value("")),
        };
        let certificate = CERTIFICATE.map(str::to_owned).into_iter().zip(certificate);
        let traces = traces::headers(context.global());
        let traces = traces.into_iter().map(|(name, text)| (name, text.quoted()));
        Some(AuthLocation {
            path: AUTH_LOCATION,
            controller: word(format!(
                "http://unix:{}:{PATH}",
                context.settings.controller.display()
            )),
            lines: said.into_iter().chain(certificate).chain(traces).collect(),
            cookies: AuthRequest::new(first, false, host).cookies,
            signs_in: authentications
                .iter()
                .any(|authentication| AuthRequest::new(authentication, false, host).signs_in),
            may_be_busy: host.server.routes.iter().any(|route| {
                let authentication = authentication_of(route).filter(|_| !is_500_taken(route));
                authentication.is_some_and(has_slow_hashes)
            }),
        })
    }
}

/// True if a 500 is not to be answered by what is said of busy hashing threads: an error service has a page for it, or nginx would take
/// a pod's 500 for one of its own. `error_page` is for both as soon as it looks at responses of pods, whatever statuses that is for.
pub(crate) fn is_500_taken(route: &HttpRoute) -> bool {
    let mut pages = route.error_pages.iter();
    pages.any(|pages| !pages.keeps_upstreams || pages.statuses.contains(&500))
}

fn has_slow_hashes(authentication: &Authentication) -> bool {
    let passwords = authentication.passwords.as_ref();
    passwords.is_some_and(|passwords| passwords.scheme == PasswordScheme::Basic)
}

fn authentication_of(route: &HttpRoute) -> Option<&Authentication> {
    let authentication = route.policy.authentication.as_ref();
    authentication.filter(|_| route.action.has_policies())
}
