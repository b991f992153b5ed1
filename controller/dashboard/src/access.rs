//! Access to pages: for whoever has the token, in a browser that asked for loopback itself.

use std::fmt;
use std::fs::File;
use std::io::Read;

use anyhow::Context;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use subtle::ConstantTimeEq;

/// Cookies know no ports, so their names do: another dashboard on this machine has one of its own.
const COOKIE: &str = "sluice_dashboard";
const BYTES: usize = 24;
/// Of every response. Nothing is loaded from elsewhere, and nobody frames it.
const HEADERS: [(header::HeaderName, &str); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; \
         base-uri 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // The URL of the first page has the token.
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (header::X_FRAME_OPTIONS, "DENY"),
];

/// Proof that somebody may read the admin socket. New with each start.
#[derive(Clone)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

impl Token {
    pub(crate) fn random() -> anyhow::Result<Self> {
        let mut bytes = [0; BYTES];
        let mut random = File::open("/dev/urandom").context("/dev/urandom")?;
        random.read_exact(&mut bytes).context("/dev/urandom")?;
        let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
        Ok(Token(digits.collect()))
    }

    #[cfg(test)]
    pub(crate) fn of(text: &str) -> Self {
        Token(text.to_owned())
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// In the same time for every other one.
    fn is(&self, text: &str) -> bool {
        self.0.as_bytes().ct_eq(text.as_bytes()).into()
    }
}

/// Answers those who may not see a page, and takes the token out of the URL.
pub(crate) async fn check(State(token): State<Token>, request: Request, next: Next) -> Response {
    let mut response = match refusal(&token, &request) {
        Some(response) => response,
        None => next.run(request).await,
    };
    for (name, value) in HEADERS {
        let headers = response.headers_mut();
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn refusal(token: &Token, request: &Request) -> Option<Response> {
    let refused = |status, text: &'static str| Some((status, text).into_response());
    if !is_loopback(request.headers()) {
        return refused(
            StatusCode::MISDIRECTED_REQUEST,
            "Open the dashboard at http://127.0.0.1 or http://localhost.\n",
        );
    }
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return refused(StatusCode::METHOD_NOT_ALLOWED, "Read only.\n");
    }
    if let Some(given) = given(request.uri()).filter(|given| token.is(given)) {
        return Some(entered(given, &cookie_name(request.headers())));
    }
    let name = cookie_name(request.headers());
    let mut cookies = cookies(request.headers(), &name);
    if cookies.any(|cookie| token.is(cookie)) {
        return None;
    }
    refused(
        StatusCode::FORBIDDEN,
        "`sluice dbg dashboard` prints the URL with the token; a new token is generated at each start.\n",
    )
}

/// A page of elsewhere whose name leads here would otherwise read what its own script fetches.
fn is_loopback(headers: &HeaderMap) -> bool {
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let name = host.map(|host| match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    });
    name.is_some_and(|name| ["127.0.0.1", "localhost", "[::1]"].contains(&name))
}

fn cookie_name(headers: &HeaderMap) -> String {
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let port = host.and_then(|host| host.rsplit_once(':'));
    let port = port.and_then(|(_, port)| port.parse::<u16>().ok());
    format!("{COOKIE}_{}", port.unwrap_or(80))
}

fn given(uri: &Uri) -> Option<&str> {
    uri.query()?
        .split('&')
        .find_map(|pair| pair.strip_prefix("token="))
}

/// Remembers the token, and leads to the page without it.
fn entered(token: &str, name: &str) -> Response {
    let cookie = format!("{name}={token}; Path=/; HttpOnly; SameSite=Strict");
    let headers = [
        (header::SET_COOKIE, cookie),
        (header::LOCATION, "/".to_owned()),
    ];
    (StatusCode::SEE_OTHER, headers).into_response()
}

fn cookies<'a>(headers: &'a HeaderMap, name: &'a str) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(header::COOKIE).into_iter();
    let lines = lines.filter_map(|line| line.to_str().ok());
    lines.flat_map(move |line| {
        let pairs = line
            .split(';')
            .filter_map(|pair| pair.trim().split_once('='));
        pairs.filter_map(move |(known, value)| (known == name).then_some(value))
    })
}
