//! Facts about a response that two data planes should agree on: what must differ is not among them.

use std::collections::BTreeMap;
use std::fmt;

use crate::cookies::Cookie;
use crate::response::{Body, Failure, Response};
use crate::site::Context;
use crate::text::{of_bytes, printable};

/// Headers that differ between any two responses, or belong to one connection or one data plane.
const IGNORED: &[&str] = &[
    "age",
    "alt-svc",
    "connection",
    "content-length",
    "date",
    "keep-alive",
    "location",
    "proxy-connection",
    "server",
    "set-cookie",
    "trailer",
    "transfer-encoding",
    "via",
    "x-request-id",
];
const IGNORED_PREFIXES: &[&str] = &["x-envoy-"];
/// Headers whose values are lists without an order.
const LISTS: &[&str] = &[
    "access-control-allow-headers",
    "access-control-allow-methods",
    "access-control-expose-headers",
    "allow",
    "cache-control",
    "vary",
];

/// A part of a response.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Aspect {
    /// There is one at all.
    Response,
    /// The status.
    Status,
    /// Target of a redirect.
    Location,
    /// A header.
    Header(String),
    /// A cookie that is set: its attributes.
    Cookie(String),
    /// The value of a cookie that an upstream sets.
    CookieValue(String),
    /// The body.
    Body,
    /// The upstream that has answered, by a header.
    Upstream,
    /// The certificate.
    Certificate,
    /// The share of responses of a kind.
    Share(String),
}

/// A fact: what is compared, and what is shown of it.
#[derive(Clone, Debug)]
pub struct Fact {
    key: Vec<u8>,
    /// For people.
    pub shown: String,
}

impl PartialEq for Fact {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Fact {}

impl Fact {
    fn of(value: &[u8]) -> Fact {
        Fact {
            key: value.to_vec(),
            shown: of_bytes(value),
        }
    }

    fn secret(value: &[u8], shown: &str) -> Fact {
        Fact {
            key: value.to_vec(),
            shown: shown.to_owned(),
        }
    }
}

/// Facts by the part that they are about.
pub type Facts = BTreeMap<Aspect, Fact>;

/// Extent of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Headers that are not, in lower case.
    pub ignored_headers: Vec<String>,
    /// Bodies are not.
    pub ignore_body: bool,
    /// Header that names the upstream, in lower case.
    pub upstream_header: Option<String>,
}

impl Scope {
    /// Facts about the outcome of a request.
    pub(crate) fn facts(
        &self,
        answered: &Result<Response, Failure>,
        method: &str,
        context: &Context,
    ) -> Facts {
        let response = match answered {
            Ok(response) => response,
            Err(failure) => {
                let fact = Fact::of(failure.to_string().as_bytes());
                return Facts::from([(Aspect::Response, fact)]);
            }
        };
        let mut facts = Facts::new();
        facts.insert(Aspect::Response, Fact::of(b"a response"));
        let status = response.status.to_string();
        facts.insert(Aspect::Status, Fact::of(status.as_bytes()));
        let page = is_generated_page(response);
        self.add_headers(response, page, &mut facts);
        if !self.is_left_out("set-cookie") {
            add_cookies(response, context, &mut facts);
        }
        let mut location = response.values("location");
        if let Some(value) = location.next().filter(|_| !self.is_left_out("location")) {
            facts.insert(Aspect::Location, Fact::of(value));
        }
        if !self.ignore_body && method != "HEAD" {
            facts.insert(Aspect::Body, body(&response.body, page));
        }
        if let Some(hash) = response.certificate.filter(|_| context.has_certificate) {
            let shown = format!("sha256 {}", hex(&hash, 8));
            facts.insert(Aspect::Certificate, Fact::secret(&hash, &shown));
        }
        facts
    }

    fn add_headers(&self, response: &Response, is_page: bool, facts: &mut Facts) {
        let mut headers: BTreeMap<&str, Vec<Vec<u8>>> = BTreeMap::new();
        for (name, value) in &response.headers {
            let is_upstream = self.upstream_header.as_ref() == Some(name);
            if is_upstream {
                facts.insert(Aspect::Upstream, Fact::of(value));
            }
            // The type of a page of the data plane's own is as little of the Ingress as the page.
            let is_of_page = is_page && name == "content-type";
            if !is_upstream && !is_of_page && !self.is_ignored(name) {
                let values = headers.entry(name).or_default();
                values.extend(normal(name, value));
            }
        }
        for (name, mut values) in headers {
            values.sort();
            let value = values.join(&b", "[..]);
            facts.insert(Aspect::Header(name.to_owned()), Fact::of(&value));
        }
    }

    fn is_ignored(&self, name: &str) -> bool {
        IGNORED.contains(&name)
            || IGNORED_PREFIXES
                .iter()
                .any(|prefix| name.starts_with(prefix))
            || self.is_left_out(name)
    }

    fn is_left_out(&self, name: &str) -> bool {
        self.ignored_headers.iter().any(|ignored| ignored == name)
    }
}

/// A value, or its parts where it is a list.
fn normal(name: &str, value: &[u8]) -> Vec<Vec<u8>> {
    if LISTS.contains(&name) {
        let parts = value.split(|byte| *byte == b',');
        let parts = parts.map(|part| part.trim_ascii().to_ascii_lowercase());
        return parts.filter(|part| !part.is_empty()).collect();
    }
    if name == "content-type" {
        let lower = value.to_ascii_lowercase();
        return vec![lower.into_iter().filter(|byte| *byte != b' ').collect()];
    }
    vec![value.to_vec()]
}

fn add_cookies(response: &Response, context: &Context, facts: &mut Facts) {
    let mut cookies: BTreeMap<String, Vec<Cookie>> = BTreeMap::new();
    for value in response.values("set-cookie") {
        let cookie = Cookie::parse(value);
        cookies.entry(cookie.name.clone()).or_default().push(cookie);
    }
    for (name, all) in cookies {
        let attributes: Vec<String> = all.iter().map(Cookie::attributes).collect();
        let values: Vec<u8> = all.iter().flat_map(|cookie| cookie.value.clone()).collect();
        let shown = printable(&name);
        let fact = Fact::of(attributes.join(" / ").as_bytes());
        facts.insert(Aspect::Cookie(shown.clone()), fact);
        if !context.session_cookies.contains(&name) {
            let fact = Fact::secret(&values, "another value");
            facts.insert(Aspect::CookieValue(shown), fact);
        }
    }
}

fn body(body: &Body, is_page: bool) -> Fact {
    if is_page {
        return Fact::of(b"a page of the data plane");
    }
    let Body {
        hash,
        bytes,
        is_longer,
        is_cut,
        ..
    } = body;
    let more = match (is_longer, is_cut) {
        (true, _) => " and more",
        (false, true) => ", then the connection ended",
        (false, false) => "",
    };
    let shown = match bytes {
        0 => "empty".to_owned(),
        _ => format!("{bytes} bytes{more} (sha256 {})", hex(hash, 8)),
    };
    Fact {
        key: [hash.as_slice(), more.as_bytes()].concat(),
        shown,
    }
}

/// A page that a data plane makes for a status, or nothing in its place: Envoy's redirects have no body.
fn is_generated_page(response: &Response) -> bool {
    let Response { status, body, .. } = response;
    if *status < 300 || body.is_longer || body.encoding.is_some() {
        return false;
    }
    if body.bytes == 0 {
        return *status < 400;
    }
    let start = body.start.trim_ascii_start();
    let heading = format!("<center><h1>{status}");
    let is_page = start.starts_with(b"<html>");
    is_page
        && start
            .windows(heading.len())
            .any(|window| window == heading.as_bytes())
}

/// The first bytes in hexadecimal.
fn hex(bytes: &[u8], first: usize) -> String {
    use fmt::Write;
    let bytes = bytes.iter().take(first);
    bytes.fold(String::new(), |mut text, byte| {
        // A String takes everything.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

impl fmt::Display for Aspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Aspect::Response => f.write_str("response"),
            Aspect::Status => f.write_str("status"),
            Aspect::Location => f.write_str("Location"),
            Aspect::Header(name) => write!(f, "header {name}"),
            Aspect::Cookie(name) => write!(f, "cookie {name}"),
            Aspect::CookieValue(name) => write!(f, "value of cookie {name}"),
            Aspect::Body => f.write_str("body"),
            Aspect::Upstream => f.write_str("upstream"),
            Aspect::Certificate => f.write_str("certificate"),
            Aspect::Share(kind) => write!(f, "share of {kind}"),
        }
    }
}
