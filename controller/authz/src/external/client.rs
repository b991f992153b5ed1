//! One request to an authentication service, and its response.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, bail};
use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::http::response::Parts;
use hyper::{Method, Request};
use sluice_filter_config::host_contract::HEADER_PREFIX;
use sluice_ir::{
    Backend, CDN_LOOP, CLIENT_CERTIFICATE_HEADERS, Endpoint, Expression, ExpressionPart,
    ExternalAuth, Hostname, MAX_LOOPS, Variable,
};
use sluice_xds_server::{AuthzRequest, ClientCertificate};
use tokio::time::timeout;

use super::expression::text;
use super::pool::{Origin, Pool, Reuse, Target};

/// ingress-nginx: `proxy-read-timeout`.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Suffix of our identifier in `CDN-Loop` for requests to authentication services: one caused by another would never end.
const AUTH_REQUEST: &str = "-auth";
/// Marks without that suffix which a request to a service has at most. Clients can write them, too: with as many as a request may have,
/// a service behind this Sluice would not be asked.
const MOST_MARKS: u32 = MAX_LOOPS / 2;
/// Beginning of the media types of gRPC. Who is asked in one may say all with the status 200, as Envoy does of its own errors.
const GRPC: &[u8] = b"application/grpc";
/// The status of gRPC, and the one that is none of an error.
const GRPC_STATUS: &str = "grpc-status";
const GRPC_OK: &str = "0";
/// Hop-by-hop headers, headers that are set again, our own, and those that clients must not set.
const NOT_PASSED: &[&str] = &[
    "connection",
    "content-length",
    "expect",
    "forwarded",
    "host",
    "keep-alive",
    // CGI would take it for the setting `HTTP_PROXY`.
    "proxy",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "x-real-ip",
    "x-rewrite-url",
    "x-scheme",
    "x-sent-from",
];
const NOT_PASSED_PREFIXES: &[&str] = &[
    "ssl-client-",
    "x-envoy-",
    HEADER_PREFIX,
    "x-forwarded-",
    "x-original-",
    "x-auth-request-redirect",
];

/// Response of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AuthResponse {
    pub(super) status: u16,
    /// Names in lower case; without what is no text.
    pub(super) headers: Vec<(String, String)>,
}

impl AuthResponse {
    pub(super) fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers
            .iter()
            .filter(move |(header, _)| header == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Destination of a request to a service.
#[derive(Debug, PartialEq, Eq)]
struct ServiceUrl {
    tls: bool,
    host: Hostname,
    port: u16,
    path: String,
}

/// Asks, for a namespace. `backend` has the pods, when the service is one of the cluster.
pub(super) async fn ask(
    pool: &Pool,
    namespace: &str,
    external: &ExternalAuth,
    backend: Option<&Backend>,
    check: &AuthzRequest,
) -> anyhow::Result<AuthResponse> {
    if is_auth_request(check, &pool.cdn_id) {
        bail!(
            "a request of external authentication that needs external authentication: the service itself must be open"
        );
    }
    let place = place(&text(&external.url, check))?;
    let request = request(external, &place, check, &pool.cdn_id)?;
    let tls = place.tls.then(|| place.host.as_str().to_owned());
    let origins: Vec<Origin> = targets(namespace, &place, backend)
        .into_iter()
        .map(|target| Origin {
            tls: tls.clone(),
            target,
        })
        .collect();
    let head = timeout(TIMEOUT, pool.send(&origins, reuse(external), &request)).await;
    response(&head.context("no answer in time")??)
}

/// An error of gRPC behind a status that admits is one of a proxy in front of the service: nobody has decided anything.
fn response(head: &Parts) -> anyhow::Result<AuthResponse> {
    let mut statuses = head.headers.get_all(GRPC_STATUS).iter();
    let failed = statuses.find(|status| *status != GRPC_OK);
    if let Some(failed) = failed.filter(|_| head.status.is_success()) {
        bail!(
            "expected a status of HTTP that decides, got {} with {GRPC_STATUS} {failed:?}",
            head.status.as_u16()
        );
    }
    let headers = head.headers.iter();
    let headers = headers.filter_map(|(name, value)| {
        Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
    });
    Ok(AuthResponse {
        status: head.status.as_u16(),
        headers: headers.collect(),
    })
}

fn is_auth_request(check: &AuthzRequest, cdn_id: &str) -> bool {
    let mut marks = loops(check).flat_map(|value| value.split(|b| *b == b','));
    marks.any(|mark| {
        identifier(mark).strip_suffix(AUTH_REQUEST.as_bytes()) == Some(cdn_id.as_bytes())
    })
}

/// The values of `CDN-Loop`.
fn loops(check: &AuthzRequest) -> impl Iterator<Item = &[u8]> {
    check
        .headers
        .iter()
        .filter(|(name, _)| name == CDN_LOOP)
        .map(|(_, value)| value.as_slice())
}

/// Whole ones: a comma in a quoted parameter separates nothing.
fn marks_in(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let marks = value.split(move |byte| {
        let is_end = *byte == b',' && !is_quoted;
        is_quoted ^= *byte == b'"' && !is_escaped;
        is_escaped = is_quoted && *byte == b'\\' && !is_escaped;
        is_end
    });
    marks.filter(|mark| !mark.trim_ascii().is_empty())
}

/// A mark without its parameters.
fn identifier(mark: &[u8]) -> &[u8] {
    let mut parts = mark.split(|byte| *byte == b';');
    parts.next().unwrap_or_default().trim_ascii()
}

fn targets(namespace: &str, place: &ServiceUrl, backend: Option<&Backend>) -> Vec<Target> {
    match backend {
        None => {
            let (namespace, host) = (namespace.to_owned(), place.host.as_str().to_owned());
            vec![Target::Host {
                namespace,
                host,
                port: place.port,
            }]
        }
        Some(pods) => in_turn(pods).into_iter().map(Target::Endpoint).collect(),
    }
}

/// A connection is kept for what is asked often: a place that the owner has named.
fn reuse(external: &ExternalAuth) -> Reuse {
    let is_named = external.backend.is_some() || names_authority(&external.url);
    if is_named && external.is_idempotent() {
        Reuse::Yes
    } else {
        Reuse::No
    }
}

/// True if the URL up to the path has no variable.
fn names_authority(url: &Expression) -> bool {
    let Some(ExpressionPart::Text(text)) = url.0.first() else {
        return false;
    };
    let Some((_, rest)) = text.split_once("://") else {
        return false;
    };
    url.0.len() == 1 || rest.contains(['/', '?', '#'])
}

/// All pods that take something new, each time beginning with another; backups come after them, and last what fails its checks.
fn in_turn(pods: &Backend) -> Vec<SocketAddr> {
    static TURN: AtomicUsize = AtomicUsize::new(0);
    let ready = pods.endpoints.iter().filter(|endpoint| !endpoint.draining);
    let mut ready: Vec<&Endpoint> = ready.collect();
    let turn = TURN.fetch_add(1, Ordering::Relaxed);
    let first = turn.checked_rem(ready.len());
    ready.rotate_left(first.unwrap_or_default());
    ready.sort_by_key(|endpoint| (endpoint.unhealthy, endpoint.backup));
    ready.iter().map(|endpoint| endpoint.address).collect()
}

fn place(url: &str) -> anyhow::Result<ServiceUrl> {
    let (tls, rest) = match (url.strip_prefix("http://"), url.strip_prefix("https://")) {
        (Some(rest), _) => (false, rest),
        (None, Some(rest)) => (true, rest),
        (None, None) => bail!("no URL"),
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (
            host,
            port.parse()
                .ok()
                .filter(|port| *port != 0)
                .context("no port")?,
        ),
        None => (authority, if tls { 443 } else { 80 }),
    };
    let Ok(host) = Hostname::parse(host) else {
        bail!("no name of a host")
    };
    let path = path.split('#').next().unwrap_or_default();
    let path = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("/{path}")
    };
    Ok(ServiceUrl {
        tls,
        host,
        port,
        path,
    })
}

/// As ingress-nginx puts it together.
fn request(
    external: &ExternalAuth,
    place: &ServiceUrl,
    check: &AuthzRequest,
    cdn_id: &str,
) -> anyhow::Result<Request<Empty<Bytes>>> {
    let method = external.method.as_deref().unwrap_or("GET");
    let mut request = Request::builder()
        .method(Method::from_bytes(method.as_bytes())?)
        .uri(place.path.as_str());
    let headers = request.headers_mut().context("no path")?;
    let passed = |(name, value): &&(String, Vec<u8>)| is_passed(name) && !is_grpc(name, value);
    for (name, value) in check.headers.iter().filter(passed) {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_bytes(value))
        {
            headers.append(name, value);
        }
    }
    let mut set = |name: &str, value: String| set(headers, name, value);
    let said =
        |variable: Variable| text(&Expression(vec![ExpressionPart::Variable(variable)]), check);
    let (scheme, uri) = (said(Variable::Scheme), said(Variable::RequestUri));
    let client = said(Variable::RemoteAddress);
    let host = external
        .host
        .as_ref()
        .map(|host| text(host, check))
        .filter(|host| !host.is_empty());
    set(
        "host",
        host.unwrap_or_else(|| place.host.as_str().to_owned()),
    )?;
    set("x-original-url", format!("{scheme}://{}{uri}", check.host))?;
    set("x-original-method", check.method.clone())?;
    set("x-sent-from", "nginx-ingress-controller".to_owned())?;
    set("x-real-ip", client.clone())?;
    set("x-forwarded-for", client)?;
    set(
        "x-auth-request-redirect",
        text(&external.redirect_url, check),
    )?;
    for (name, value) in check.certificate.iter().flat_map(certificate_headers) {
        set(name, value.to_owned())?;
    }
    if external.method.is_some() {
        set("x-original-uri", uri)?;
        set("x-scheme", scheme)?;
        if !matches!(method, "GET" | "HEAD") {
            set("content-length", "0".to_owned())?;
        }
    }
    for header in &external.headers {
        set(header.name.as_str(), text(&header.value, check))?;
    }
    headers.insert(CDN_LOOP, marked(check, cdn_id)?);
    request.body(Empty::new()).context("no request")
}

/// In one line, and first: some read no other. Of our own marks that are there, [`MOST_MARKS`] go along.
fn marked(check: &AuthzRequest, cdn_id: &str) -> anyhow::Result<HeaderValue> {
    let mark = format!("{cdn_id}{AUTH_REQUEST}");
    let mut own = 0;
    let kept = loops(check).flat_map(marks_in).filter(|mark| {
        let is_own = identifier(mark) == cdn_id.as_bytes();
        own += u32::from(is_own);
        !is_own || own <= MOST_MARKS
    });
    let kept = kept.map(<[u8]>::trim_ascii);
    let marks: Vec<&[u8]> = std::iter::once(mark.as_bytes()).chain(kept).collect();
    Ok(HeaderValue::from_bytes(&marks.join(&b", "[..]))?)
}

/// The client's own are not passed.
fn certificate_headers(
    certificate: &ClientCertificate,
) -> impl Iterator<Item = (&'static str, &str)> {
    let ClientCertificate {
        verify,
        subject,
        issuer,
        pem,
    } = certificate;
    let values = [verify, subject, issuer, pem].map(String::as_str);
    CLIENT_CERTIFICATE_HEADERS.into_iter().zip(values)
}

/// An empty value is no header.
fn set(headers: &mut HeaderMap, name: &str, value: String) -> anyhow::Result<()> {
    let name = HeaderName::try_from(name)?;
    if value.is_empty() {
        headers.remove(name);
    } else {
        headers.insert(name, HeaderValue::try_from(value)?);
    }
    Ok(())
}

/// CGI and WSGI take an underscore for a hyphen.
fn is_passed(name: &str) -> bool {
    let name = if name.contains('_') {
        name.replace('_', "-").into()
    } else {
        Cow::Borrowed(name)
    };
    !NOT_PASSED.contains(&name.as_ref())
        && !NOT_PASSED_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

/// Says that the request is one of gRPC. It has no body, so this says nothing of one.
fn is_grpc(name: &str, value: &[u8]) -> bool {
    let begins = value.trim_ascii_start().get(..GRPC.len());
    name == CONTENT_TYPE && begins.is_some_and(|begin| begin.eq_ignore_ascii_case(GRPC))
}

#[cfg(test)]
mod tests;
