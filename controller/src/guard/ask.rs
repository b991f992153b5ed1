//! One question: the request that a service gets, and what it says.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, bail};
use futures::future::{Either, select};
use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Method, Request};
use sluice_ir::{Backend, Expression, Hostname, Part, Question, Variable};
use sluice_xds::Check;
use tokio::time::timeout;

use super::dial;
use super::expression::text;

/// ingress-nginx: `proxy-read-timeout`.
const PATIENCE: Duration = Duration::from_secs(60);
/// Says that a request is a question: one about a question would never end.
const QUESTION: &str = "x-sluice-question";
/// Of one connection, or said anew, or ours, or what a client must not say about itself.
const NOT_PASSED: &[&str] = &[
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "x-forwarded-for",
    "x-forwarded-proto",
    "x-real-ip",
];
const NOT_PASSED_PREFIXES: &[&str] =
    &["ssl-client-", "x-envoy-", "x-sluice-", "x-original-", "x-auth-request-redirect"];

/// What a service says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// Names in lower case; without what is no text.
    pub(super) headers: Vec<(String, String)>,
}

impl Answer {
    pub(super) fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers.iter().filter(move |(header, _)| header == name).map(|(_, value)| value.as_str())
    }
}

/// Where a question goes.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    tls: bool,
    host: Hostname,
    port: u16,
    path: String,
}

/// Asks. `backend` has the pods, when the service is one of the cluster.
pub(super) async fn ask(
    question: &Question,
    backend: Option<&Backend>,
    check: &Check,
) -> anyhow::Result<Answer> {
    if check.header(QUESTION).is_some() {
        bail!("a question about a question: the service that decides must be open");
    }
    let place = place(&text(&question.url, check))?;
    let request = request(question, &place, check)?;
    timeout(PATIENCE, exchange(&place, backend, request)).await.context("no answer in time")?
}

async fn exchange(
    place: &Place,
    backend: Option<&Backend>,
    request: Request<Empty<Bytes>>,
) -> anyhow::Result<Answer> {
    let addresses = match backend {
        None => dial::look_up(place.host.as_str(), place.port).await?,
        Some(Backend { outside: Some(outside), .. }) => {
            dial::look_up(outside.host.as_str(), outside.port).await?
        }
        Some(pods) => in_turn(pods),
    };
    let stream = dial::dial(&addresses, place.tls.then(|| place.host.as_str())).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await?;
    // What it says beside its head is for nobody: the connection ends with the answer.
    let answer = match select(pin!(sender.send_request(request)), pin!(connection)).await {
        Either::Left((answer, _)) => answer?,
        Either::Right((_, answer)) => answer.await?,
    };
    let headers = answer.headers().iter();
    let headers =
        headers.filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())));
    Ok(Answer { status: answer.status().as_u16(), headers: headers.collect() })
}

/// All pods that take something new, each time beginning with another.
fn in_turn(pods: &Backend) -> Vec<SocketAddr> {
    static TURN: AtomicUsize = AtomicUsize::new(0);
    let ready = pods.endpoints.iter().filter(|endpoint| !endpoint.draining);
    let mut addresses: Vec<SocketAddr> = ready.map(|endpoint| endpoint.address).collect();
    if !addresses.is_empty() {
        let first = TURN.fetch_add(1, Ordering::Relaxed) % addresses.len();
        addresses.rotate_left(first);
    }
    addresses
}

fn place(url: &str) -> anyhow::Result<Place> {
    let (tls, rest) = match (url.strip_prefix("http://"), url.strip_prefix("https://")) {
        (Some(rest), _) => (false, rest),
        (None, Some(rest)) => (true, rest),
        (None, None) => bail!("no URL"),
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, port.parse().ok().filter(|port| *port != 0).context("no port")?),
        None => (authority, if tls { 443 } else { 80 }),
    };
    let Ok(host) = Hostname::parse(host) else { bail!("no name of a host") };
    let path = path.split('#').next().unwrap_or_default();
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    Ok(Place { tls, host, port, path })
}

/// As ingress-nginx puts it together.
fn request(question: &Question, place: &Place, check: &Check) -> anyhow::Result<Request<Empty<Bytes>>> {
    let method = question.method.as_deref().unwrap_or("GET");
    let mut request =
        Request::builder().method(Method::from_bytes(method.as_bytes())?).uri(place.path.as_str());
    let headers = request.headers_mut().context("no path")?;
    for (name, value) in check.headers.iter().filter(|(name, _)| is_passed(name)) {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_bytes(value)) {
            headers.append(name, value);
        }
    }
    let mut set = |name: &str, value: String| -> anyhow::Result<()> {
        let name = HeaderName::try_from(name)?;
        if value.is_empty() {
            headers.remove(name);
        } else {
            headers.insert(name, HeaderValue::try_from(value)?);
        }
        Ok(())
    };
    let said = |variable: Variable| text(&Expression(vec![Part::Variable(variable)]), check);
    let (scheme, uri, client) =
        (said(Variable::Scheme), said(Variable::RequestUri), said(Variable::RemoteAddress));
    set("host", place.host.as_str().to_owned())?;
    set("x-original-url", format!("{scheme}://{}{uri}", check.host))?;
    set("x-original-method", check.method.clone())?;
    set("x-sent-from", "nginx-ingress-controller".to_owned())?;
    set("x-real-ip", client.clone())?;
    set("x-forwarded-for", client)?;
    set("x-auth-request-redirect", text(&question.back, check))?;
    set(QUESTION, "1".to_owned())?;
    if question.method.is_some() {
        set("x-original-uri", uri)?;
        set("x-scheme", scheme)?;
        if !matches!(method, "GET" | "HEAD") {
            set("content-length", "0".to_owned())?;
        }
    }
    for header in &question.headers {
        set(&header.name, text(&header.value, check))?;
    }
    request.body(Empty::new()).context("no request")
}

fn is_passed(name: &str) -> bool {
    !NOT_PASSED.contains(&name) && !NOT_PASSED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check() -> Check {
        let header = |name: &str, value: &str| (name.to_owned(), value.as_bytes().to_vec());
        Check {
            client: "192.0.2.7".parse().ok(),
            method: "POST".to_owned(),
            scheme: "http".to_owned(),
            host: "shop.example:8080".to_owned(),
            path: "/cart?id=1".to_owned(),
            headers: vec![
                header("cookie", "a=b"),
                header("content-length", "7"),
                header("ssl-client-verify", "SUCCESS"),
                header("x-real-ip", "127.0.0.1"),
                header("x-forwarded-proto", "https"),
            ],
            ..Check::default()
        }
    }

    fn question() -> Question {
        let back = Expression(vec![Part::Variable(Variable::RequestUri)]);
        Question {
            url: Expression(vec![
                Part::Text("https://".to_owned()),
                Part::Variable(Variable::Hostname),
                Part::Text("/oauth2/auth?x".to_owned()),
            ]),
            backend: None,
            method: None,
            sign_in: None,
            to_pods: Vec::new(),
            headers: Vec::new(),
            back,
            always_cookies: false,
            memory: None,
        }
    }

    #[test]
    fn a_question_says_what_was_asked_for_and_nothing_that_a_client_made_up() {
        let (check, question) = (check(), question());
        let place = place(&text(&question.url, &check)).unwrap();
        assert_eq!(
            (place.host.as_str(), place.port, place.path.as_str()),
            ("shop.example", 443, "/oauth2/auth?x")
        );
        let request = request(&question, &place, &check).unwrap();
        assert_eq!(
            (request.method().as_str(), request.uri().to_string().as_str()),
            ("GET", "/oauth2/auth?x")
        );
        let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
        assert_eq!(header("host"), Some("shop.example"));
        assert_eq!(header("x-original-url"), Some("https://shop.example:8080/cart?id=1"));
        assert_eq!(header("x-original-method"), Some("POST"));
        assert_eq!(header("x-auth-request-redirect"), Some("/cart?id=1"));
        assert_eq!(header("x-real-ip"), Some("192.0.2.7"));
        assert_eq!(header("cookie"), Some("a=b"));
        for gone in ["content-length", "ssl-client-verify", "x-forwarded-proto", "x-original-uri"] {
            assert_eq!(header(gone), None, "{gone}");
        }
    }

    #[test]
    fn what_is_no_url_is_not_asked() {
        for bad in
            ["", "http://", "https://a b/", "http://a:0/", "http://a@b/", "http://[::1]/", "gopher://a"]
        {
            assert!(place(bad).is_err(), "{bad}");
        }
        assert_eq!(place("http://a?b#c").unwrap().path, "/?b");
    }

    #[tokio::test]
    async fn nobody_asks_about_a_question() {
        let mut check = check();
        check.headers.push((QUESTION.to_owned(), b"1".to_vec()));
        assert!(ask(&question(), None, &check).await.is_err());
    }
}
