//! Who may come in, by what they know or what a service says: the controller is asked, as Envoys ask it.
//!
//! nginx's `auth_request` understands 2xx, 401 and 403. What else there is to say comes in headers of ours, so nothing of a
//! tenant's is in the names of variables, and a change of users or answers reloads nothing.

use sluice_ir::{Action, Guard, Location};

use crate::conf::{Text, Value, Word, value, word};
use crate::expression;
use crate::server::Host;
use crate::settings::Settings;

/// Where the controller answers.
pub const PATH: &str = "/v1/guard";
/// Of a question: the location, by its id.
pub const LOCATION: &str = "sluice-location";
/// Of a question: the client's address, as far as headers are believed.
pub const CLIENT: &str = "sluice-client";
/// Of a question: the request's method.
pub const METHOD: &str = "sluice-method";
/// Of a question: `http` or `https`.
pub const SCHEME: &str = "sluice-scheme";
/// Of a question: the `Host` header.
pub const HOST: &str = "sluice-host";
/// Of a question: the path and the query.
pub const URI: &str = "sluice-uri";
/// Of an answer, with a number behind it: a cookie for the client.
pub const COOKIE: &str = "sluice-cookie-";
/// As many as there are; more are dropped.
pub const MOST_COOKIES: usize = 8;
/// Of an answer, with a name behind it: a header for the pod.
pub const TO_POD: &str = "sluice-pod-";
/// Of a 401: where the client is sent instead.
pub const SIGN_IN: &str = "sluice-sign-in";

/// nginx's own location that asks; no client can.
const ASKED: &str = "/_sluice_guard";

/// The directives of a location that is guarded.
pub(crate) struct GuardConf {
    pub(crate) asked: &'static str,
    /// What of the answer is kept, in variables.
    pub(crate) kept: Vec<(String, Value)>,
    /// Those that may hold a cookie.
    pub(crate) cookies: Vec<Value>,
    /// Whatever the pod says.
    pub(crate) always: bool,
    pub(crate) signs_in: bool,
    /// The server has an error page of its own, which one of the location would hide.
    pub(crate) refused: bool,
}

impl GuardConf {
    pub(crate) fn of(guard: &Guard, host: Host<'_>) -> Self {
        let question = guard.question.as_ref();
        let names = question.is_some().then(|| (0..MOST_COOKIES).map(cookie)).into_iter().flatten();
        let names: Vec<String> = names.collect();
        let signs_in = question.is_some_and(|question| question.sign_in.is_some());
        let cookies = (0..names.len()).map(|place| (cookie(place), answered(&format!("{COOKIE}{place}"))));
        let to_pods = question.into_iter().flat_map(|question| &question.to_pods);
        let to_pods = to_pods.map(|name| (kept(name), answered(&format!("{TO_POD}{name}"))));
        let sign_in = signs_in.then(|| ("sluice_sign_in".to_owned(), answered(SIGN_IN)));
        GuardConf {
            asked: ASKED,
            kept: cookies.chain(to_pods).chain(sign_in).collect(),
            cookies: names.iter().map(|name| Text::default().variable(name).quoted()).collect(),
            always: question.is_some_and(|question| question.always_cookies),
            signs_in,
            refused: host.clients().is_some_and(|clients| clients.error_page.is_some()),
        }
    }
}

/// `sluice_cookie_0`
fn cookie(place: usize) -> String {
    format!("{COOKIE}{place}").replace('-', "_")
}

/// The variable for a header that pods hear. Its name has the letters of a header's, and nothing else.
fn kept(header: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let name: String = header.chars().map(letter).collect();
    format!("sluice_pod_{name}")
}

/// A header of the controller's answer.
fn answered(header: &str) -> Value {
    Text::default().variable(&format!("upstream_http_{header}")).quoted()
}

/// What pods hear because of it.
pub(crate) fn pods_of(guard: &Guard) -> Vec<(String, Text)> {
    const CREDENTIALS: &str = "authorization";
    let to_pods = guard.question.iter().flat_map(|question| &question.to_pods);
    let told = to_pods.map(|name| (name.clone(), Text::default().variable(&kept(name))));
    let mut lines: Vec<(String, Text)> = told.collect();
    // ingress-nginx: a password that was asked for here is none of the pod's business.
    if guard.passwords.is_some() && !lines.iter().any(|(name, _)| name == CREDENTIALS) {
        lines.push((CREDENTIALS.to_owned(), Text::default()));
    }
    lines
}

/// The location of a server that asks.
pub(crate) struct Asking {
    pub(crate) path: &'static str,
    pub(crate) controller: Word,
    pub(crate) lines: Vec<(&'static str, Value)>,
    pub(crate) cookies: Vec<Value>,
    pub(crate) signs_in: bool,
}

impl Asking {
    /// `None` where nobody is guarded.
    pub(crate) fn of(host: Host<'_>, settings: &Settings) -> Option<Self> {
        let guards: Vec<&Guard> = host.server.locations.iter().filter_map(guard_of).collect();
        let first = guards.iter().find(|guard| guard.question.is_some()).or(guards.first())?;
        let variable = |name: &str| Text::default().variable(name).quoted();
        let said = [
            (LOCATION, variable("sluice_location")),
            (CLIENT, variable("remote_addr")),
            (METHOD, variable("request_method")),
            (SCHEME, variable(expression::SCHEME)),
            (HOST, variable("http_host")),
            (URI, variable("request_uri")),
            ("X-Forwarded-Proto", variable(expression::SCHEME)),
            ("X-Forwarded-Port", variable(expression::PORT)),
            ("X-Request-ID", variable(expression::REQUEST_ID)),
            ("Host", value("sluice")),
            ("Content-Length", value("")),
        ];
        Some(Asking {
            path: ASKED,
            controller: word(format!("http://unix:{}:{PATH}", settings.controller.display())),
            lines: said.into(),
            cookies: GuardConf::of(first, host).cookies,
            signs_in: guards.iter().any(|guard| GuardConf::of(guard, host).signs_in),
        })
    }
}

fn guard_of(location: &Location) -> Option<&Guard> {
    let forwards = matches!(location.action, Action::Forward(_));
    location.policy.guard.as_ref().filter(|_| forwards)
}
