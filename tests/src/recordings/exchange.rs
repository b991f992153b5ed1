//! One request to a data plane, and what came of it, in the words of a recording.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::time::Duration;

use anyhow::Result;
use flate2::read::GzDecoder;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep, timeout};

use super::file::{Exchange, RecordedRequest};
use super::site::Site;
use super::tenant::Tenant;
use crate::cases::ingress::certificates::Owner;
use crate::connection::Connection;
use crate::dial::Dial;
use crate::echo::Received;
use crate::message::Response;
use crate::tls::ClientTls;

/// Longest wait for an answer.
const ANSWER: Duration = Duration::from_secs(8);
/// Longest wait for requests that are recorded and not there yet.
const COPIES: Duration = Duration::from_secs(2);
/// Wait for copies that are not recorded.
const UNRECORDED_COPIES: Duration = Duration::from_secs(1);
/// Headers that say nothing about the product.
const UNRECORDED: [&str; 5] = [
    "connection",
    "content-length",
    "date",
    "transfer-encoding",
    "x-pod",
];
/// The longest text that is recorded as it is.
const LONGEST_BODY: usize = 60;
const LONGEST_COOKIE: usize = 16;
/// The cookies of a client, by name.
pub type Cookies = BTreeMap<String, String>;

/// Sends the request of a recording, as often as it says.
pub async fn play(
    site: &Site,
    tenant: &Tenant,
    recorded: &Exchange,
    has_copies: bool,
    cookies: &mut Cookies,
) -> Result<Map<String, Value>> {
    let request = tenant.request(&recorded.request);
    let wanted = Wanted {
        requests: asked_in(&recorded.answer),
        has_copies,
    };
    let Some(times) = request.repeat else {
        return once(site, tenant, &request, cookies, wanted).await;
    };
    let (mut statuses, mut services) = (BTreeMap::new(), BTreeMap::new());
    let mut pods = BTreeSet::new();
    for _ in 0..times {
        let answer = once(site, tenant, &request, cookies, Wanted::default()).await?;
        let status = answer
            .get("status")
            .map_or("error".to_owned(), Value::to_string);
        *statuses.entry(status).or_insert(0) += 1;
        let echo = answer.get("echo");
        let service = echo
            .and_then(|echo| echo["service"].as_str())
            .unwrap_or("-");
        *services.entry(service.to_owned()).or_insert(0) += 1;
        pods.extend(echo.map(|echo| echo["pod"].to_string()));
    }
    let answer = json!({
        "repeat": times, "status_counts": statuses, "services": services, "pods": pods.len(),
    });
    Ok(answer.as_object().cloned().unwrap_or_default())
}

/// Requests that pods are to receive before an answer is looked at.
#[derive(Clone, Copy, Default)]
struct Wanted {
    requests: usize,
    has_copies: bool,
}

/// The number of requests that pods received in a recorded answer.
fn asked_in(answer: &Map<String, Value>) -> usize {
    let others = answer.get("also_asked").and_then(Value::as_array);
    others.map_or(0, Vec::len) + usize::from(answer.contains_key("echo"))
}

async fn once(
    site: &Site,
    tenant: &Tenant,
    request: &RecordedRequest,
    cookies: &mut Cookies,
    wanted: Wanted,
) -> Result<Map<String, Value>> {
    let place = site.world.pods.journal.len();
    let exchange = timeout(ANSWER, send(site, request, cookies)).await;
    let received = || {
        let since = site.world.pods.journal.since(place);
        let own = |received: &Received| received.namespace == tenant.namespace();
        since.into_iter().filter(own).collect::<Vec<Received>>()
    };
    let until = Instant::now() + COPIES;
    let mut asked = received();
    while asked.len() < wanted.requests && Instant::now() < until {
        sleep(Duration::from_millis(10)).await;
        asked = received();
    }
    if wanted.has_copies {
        sleep(UNRECORDED_COPIES).await;
        asked = received();
    }
    let (mut response, certificate) = match exchange {
        Err(_) => return Ok(failed("timeout")),
        Ok(Err(_)) => return Ok(failed("no HTTP answer")),
        Ok(Ok(answered)) => answered,
    };
    if response.header("content-encoding") == Some("gzip") {
        response.body = uncompressed(&response.body)?;
    }
    if request.save_cookie {
        keep(cookies, &response);
    }
    Ok(observed(site, tenant, &response, certificate, &asked))
}

fn uncompressed(body: &[u8]) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    GzDecoder::new(body).read_to_end(&mut text)?;
    Ok(text)
}

fn failed(reason: &str) -> Map<String, Value> {
    Map::from_iter([("error".to_owned(), reason.into())])
}

async fn send(
    site: &Site,
    request: &RecordedRequest,
    cookies: &Cookies,
) -> Result<(Response, Option<Owner>)> {
    let (http, https) = (site.world.sluice.http(), site.world.sluice.https());
    let tls = match request.scheme.as_str() {
        "https" => Some(client(site, request)?),
        _ => None,
    };
    let dial = Dial {
        addr: if tls.is_some() { https } else { http },
        proxy_line: None,
        tls,
    };
    let mut connection = Connection::dial(&dial).await?;
    let certificate = connection.certificate().map(Owner::of).transpose()?;
    let response = connection
        .send_bytes(&bytes(request, cookies), request.method == "HEAD")
        .await?;
    Ok((response, certificate))
}

fn client(site: &Site, request: &RecordedRequest) -> Result<ClientTls> {
    let name = request.host.split(':').next().map(str::to_owned);
    let identity = request.client_cert.as_deref();
    let identity = identity
        .map(|words| site.client_identity(words))
        .transpose()?;
    Ok(ClientTls {
        sni: request.sni.clone().unwrap_or(name),
        identity,
        ..ClientTls::default()
    })
}

fn bytes(request: &RecordedRequest, cookies: &Cookies) -> Vec<u8> {
    if let Some(raw) = &request.raw {
        return raw.clone().into_bytes();
    }
    let mut lines = vec![format!("{} {} HTTP/1.1", request.method, request.target)];
    let has = |wanted: &str| {
        let mut names = request.headers.iter().map(|(name, _)| name);
        names.any(|name| name.eq_ignore_ascii_case(wanted))
    };
    if !has("host") {
        lines.push(format!("Host: {}", request.host));
    }
    if !has("user-agent") {
        lines.push("User-Agent: probe".to_owned());
    }
    lines.extend(
        request
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}")),
    );
    if request.use_cookie && !cookies.is_empty() {
        let pairs = cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        lines.push(format!("Cookie: {}", pairs.collect::<Vec<_>>().join("; ")));
    }
    let mut body = vec![b'x'; request.body.unwrap_or_default()];
    if has("transfer-encoding") {
        let size = format!("{:x}\r\n", body.len());
        body = [size.as_bytes(), &body, b"\r\n0\r\n\r\n"].concat();
    } else if request.body.is_some() || request.method == "POST" {
        lines.push(format!("Content-Length: {}", body.len()));
    }
    if !has("connection") {
        lines.push("Connection: close".to_owned());
    }
    let head = lines.join("\r\n") + "\r\n\r\n";
    [head.into_bytes(), body].concat()
}

fn keep(cookies: &mut Cookies, response: &Response) {
    for cookie in response.headers("set-cookie") {
        let pair = cookie.split(';').next().unwrap_or_default();
        if let Some((name, value)) = pair.split_once('=') {
            cookies.insert(name.to_owned(), value.to_owned());
        }
    }
}

fn observed(
    site: &Site,
    tenant: &Tenant,
    response: &Response,
    certificate: Option<Owner>,
    asked: &[Received],
) -> Map<String, Value> {
    let mut answer = Map::new();
    answer.insert("status".to_owned(), response.status.into());
    let mut headers = Map::new();
    for (name, value) in &response.headers {
        if UNRECORDED.contains(&name.as_str()) {
            continue;
        }
        let value = tenant.restore(&site.world.ports.publish(value));
        let value = if name == "set-cookie" {
            cookie(&value)
        } else {
            value
        };
        let joined = match headers.get(name).and_then(Value::as_str) {
            Some(before) => format!("{before}, {value}"),
            None => value,
        };
        headers.insert(name.clone(), joined.into());
    }
    answer.insert("headers".to_owned(), headers.into());
    if let Some(owner) = certificate {
        let default = site.is_default(&owner);
        let name = if default {
            "<default>".to_owned()
        } else {
            format!("CN={}", owner.common_name)
        };
        answer.insert("cert".to_owned(), tenant.restore(&name).into());
    }
    let echoed = response.pod().filter(|_| is_echo(response));
    let echo = asked
        .iter()
        .position(|received| Some(received.pod.as_str()) == echoed);
    if let Some(received) = echo.and_then(|at| asked.get(at)) {
        answer.insert("echo".to_owned(), seen(site, tenant, received));
    } else {
        answer.insert("body".to_owned(), body(response).into());
    }
    let others = asked.iter().enumerate().filter(|(at, _)| Some(*at) != echo);
    let others: Vec<Value> = others
        .map(|(_, received)| seen(site, tenant, received))
        .collect();
    if !others.is_empty() {
        answer.insert("also_asked".to_owned(), others.into());
    }
    answer
}

/// A body that repeats the request, or the switch to another protocol.
fn is_echo(response: &Response) -> bool {
    response.status == 101
        || response
            .json()
            .is_ok_and(|body| body.get("body_bytes").is_some())
}

/// `page: TITLE` for HTML; a long text is cut.
fn body(response: &Response) -> String {
    let text = response.text();
    let title = text
        .split_once("<title>")
        .and_then(|(_, rest)| rest.split_once("</title>"));
    match title {
        Some((title, _)) => format!("page: {title}"),
        None if text.len() > LONGEST_BODY => {
            format!(
                "{}... {}",
                &text[..text.floor_char_boundary(LONGEST_BODY)],
                text.len()
            )
        }
        None => text.trim().to_owned(),
    }
}

/// The value as `<value>` where it is long; attributes in lower case and in order.
fn cookie(text: &str) -> String {
    let (pair, attributes) = text.split_once(';').unwrap_or((text, ""));
    let mut attributes: Vec<String> = attributes
        .split(';')
        .map(str::trim)
        .filter(|attribute| !attribute.is_empty())
        .map(|attribute| match attribute.split_once('=') {
            Some((name, _)) if name.eq_ignore_ascii_case("expires") => "expires".to_owned(),
            Some((name, value)) => format!("{}={value}", name.to_lowercase()),
            None => attribute.to_lowercase(),
        })
        .collect();
    attributes.sort();
    std::iter::once(short_pair(pair))
        .chain(attributes)
        .collect::<Vec<_>>()
        .join("; ")
}

fn short_pair(pair: &str) -> String {
    match pair.split_once('=') {
        Some((name, value)) if value.len() > LONGEST_COOKIE => format!("{name}=<value>"),
        _ => pair.to_owned(),
    }
}

/// A request as a pod received it.
fn seen(site: &Site, tenant: &Tenant, received: &Received) -> Value {
    let text = |value: &str| tenant.restore(&site.world.ports.publish(value));
    let mut headers = Map::new();
    for (name, values) in &received.headers {
        let values: Vec<Value> = values
            .iter()
            .map(|value| header(name, &text(value)))
            .collect();
        let value = match values.as_slice() {
            [one] => one.clone(),
            _ => values.into(),
        };
        headers.insert(name.clone(), value);
    }
    let query = received.query.as_ref().map(|query| format!("?{query}"));
    let uri = format!("{}{}", received.path, query.unwrap_or_default());
    let mut seen = json!({
        "service": received.service, "pod": received.pod, "method": received.method,
        "uri": text(&uri), "version": received.http, "headers": headers, "body": received.body_bytes,
    });
    if received.connection.tls {
        let client = received.connection.client_certificate.as_deref();
        let client = client.and_then(|certificate| Owner::of(certificate).ok());
        let sni = received.connection.sni.as_deref().map(text);
        seen["tls"] = json!({
            "sni": sni, "client": client.map_or(String::new(), |owner| owner.common_name),
        });
    }
    seen
}

fn header(name: &str, value: &str) -> Value {
    let is_hex = value.len() == 32 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
    match name {
        "x-request-id" if is_hex => "<hex32>".into(),
        // The authorities of the recordings have other names.
        "ssl-client-issuer-dn" => value.replace("CN=", "CN=test ").into(),
        "cookie" => value
            .split("; ")
            .map(short_pair)
            .collect::<Vec<_>>()
            .join("; ")
            .into(),
        _ => value.into(),
    }
}
