//! R10: every text is hostile, also one that is only told: in a log, a metric, or an identifier. It begins no line, colours no
//! terminal and makes no series.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use regex::Regex;
use serde_json::{Value, json};
use sluice_tests::connection::Connection;
use sluice_tests::dial::Dial;
use sluice_tests::hostile::{TEXTS, ingresses};
use sluice_tests::http::{self, Request};
use sluice_tests::http2;
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::Sluice;

use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(hostile_text_stays_within_its_line);

/// Of whoever looks at a terminal, and of what reads lines.
const CONTROL_TEXTS: [&str; 4] = [
    "\u{1b}[2Jevil",
    "a\u{9b}2Jevil",
    "a\u{8}\u{8}evil",
    "a\nevil line\n",
];
/// Longer than any answer takes.
const WAIT: Duration = Duration::from_secs(5);
/// The places that hold the metadata of objects, and what Kubernetes itself would not have stored.
const METADATA_FIELDS: [&str; 4] = [
    "/metadata/name",
    "/metadata/uid",
    "/spec/rules/0/http/paths/0/path",
    "/spec/rules/0/host",
];

/// Schemes and methods of HTTP/2, which are whatever a client says.
const ODD_SCHEMES: [&str; 4] = ["https", "http\" 200 \"evil", "http\nevil", "evil\u{9b}2J"];
const ODD_METHODS: [&str; 3] = ["GET\" 200 \"evil", "GET\nevil", "G\u{9b}2J"];

/// A line with all that clients, pods and certificates say.
const FORMAT: &str = "$remote_addr [$time_local] \"$request\" $status \"$http_referer\" \"$http_user_agent\" $req_id \
    method=\"$request_method\" uri=\"$request_uri\" path=\"$uri\" args=\"$args\" a=\"$arg_a\" host=\"$host\" \
    cookies=\"$http_cookie\" cookie=\"$cookie_a\" any=\"$http_x_any\" for=\"$proxy_add_x_forwarded_for\" \
    name=\"$ssl_server_name\" subject=\"$ssl_client_s_dn\" type=\"$upstream_http_content_type\" scheme=\"$scheme\" protocol=$server_protocol";

/// The settings of the operator.
fn log_format() -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "sluice", "name": "sluice"},
        "data": {"log-format-upstream": FORMAT},
    })
}

/// Objects of the foreign namespace: all hostile ones, and those that are told of in logs.
fn objects() -> Vec<Value> {
    let mut all = ingresses("web");
    let named = all.last().cloned().unwrap_or_default();
    for text in CONTROL_TEXTS {
        for place in METADATA_FIELDS {
            let mut object = named.clone();
            object["metadata"]["name"] = format!("told-{}", all.len()).into();
            object["metadata"]["annotations"]["nginx.ingress.kubernetes.io/proxy-read-timeout"] =
                text.into();
            if let Some(found) = object.pointer_mut(place) {
                *found = text.into();
            }
            all.push(object);
        }
    }
    all.iter_mut()
        .for_each(|object| object["metadata"]["namespace"] = FOREIGN.into());
    let data: BTreeMap<String, &str> = CONTROL_TEXTS
        .iter()
        .chain(TEXTS)
        .enumerate()
        .map(|(number, text)| (format!("k{number}{text}"), *text))
        .collect();
    let metadata = json!({"namespace": FOREIGN, "name": "headers"});
    all.push(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}));
    let naming = Ingress::new(FOREIGN, "naming").annotation("custom-headers", "foreign/headers");
    all.push(
        naming
            .annotation("auth-proxy-set-headers", "foreign/headers")
            .host("naming.test")
            .to_json(),
    );
    all
}

/// Sends hostile requests.
async fn send_hostile_requests(sluice: &Sluice) -> Result<usize> {
    let mut sent = 0;
    for text in TEXTS.iter().chain(&CONTROL_TEXTS) {
        let text: String = text
            .chars()
            .filter(|letter| !matches!(letter, '\n' | '\r' | '\0'))
            .collect();
        let path: String = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let target = format!("/{path}?{path}");
        let mut request = Request::get("own.test", &target);
        for name in [
            "user-agent",
            "referer",
            "cookie",
            "x-forwarded-for",
            "x-request-id",
            "x-any",
        ] {
            request = request.header(name, &format!("a=\"{text}\" evil"));
        }
        // Whatever the data plane says to it.
        drop(http::send(sluice.http(), &request).await);
        sent += 1;
    }
    Ok(sent)
}

/// Names in handshakes: of those that the data plane serves, the line is found by what is known of it, and ends as it should.
async fn send_hostile_names(sluice: &Sluice, plane: Plane) -> Result<()> {
    for (number, text) in CONTROL_TEXTS.iter().chain(&["plain.test"]).enumerate() {
        let target = format!("/name-{number}");
        let exchange = async {
            let mut connection = Connection::dial(&Dial::tls(sluice.https(), text)).await?;
            connection.send(&Request::get("own.test", &target)).await
        };
        let answer = tokio::time::timeout(WAIT, exchange).await;
        let is_answered = answer.is_ok_and(|answer| answer.is_ok());
        ensure!(is_answered || plane == Plane::Nginx, "{text:?}");
        if is_answered {
            let line = sluice.log().wait_for(&target).await?;
            let is_whole = line.ends_with(" scheme=\"https\" protocol=HTTP/1.1");
            ensure!(is_whole && line.contains(" name=\""), "{line:?}");
        }
    }
    Ok(())
}

/// Fields of HTTP/2 over plain connections. A request that is served has a line, in which the scheme is that of the connection.
async fn send_hostile_fields(sluice: &Sluice, plane: Plane) -> Result<()> {
    let schemes = ODD_SCHEMES.iter().map(|scheme| (*scheme, "GET"));
    let requests = schemes.chain(ODD_METHODS.iter().map(|method| ("http", *method)));
    for (number, (scheme, method)) in requests.enumerate() {
        let path = format!("/fields-{number}");
        let fields = [
            (":method", method),
            (":scheme", scheme),
            (":authority", "own.test"),
            (":path", &path),
        ];
        let dialled = Dial::plain(sluice.http()).connect().await?;
        let sent = http2::send_fields(dialled.stream, &fields);
        drop(tokio::time::timeout(WAIT, sent).await);
    }
    if plane != Plane::Nginx {
        sluice.log().wait_for("/fields-0").await?;
    }
    Ok(())
}

async fn hostile_text_stays_within_its_line(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    tenants.manifests.object(&log_format())?;
    tenants.write("hostile.yaml", &objects())?;
    tenants.manifests.ingress(
        &Ingress::new(OWNER, "own")
            .host("own.test")
            .path("/", "web", 80),
    )?;
    let options = plane.options(&tenants.manifests).arguments(
        ["--access-log", "--configmap", "sluice/sluice"]
            .map(str::to_owned)
            .into(),
    );
    let sluice = options.start().await?;
    sluice.wait_for_pod("own.test", OWNER).await?;
    ensure!(send_hostile_requests(&sluice).await? > 20);
    send_hostile_names(&sluice, plane).await?;
    send_hostile_fields(&sluice, plane).await?;
    ensure!(sluice.get("own.test", "/last").await?.pod() == Some(OWNER));
    sluice.log().wait_for("/last").await?;
    let lines = sluice.log().lines();
    ensure!(
        lines.iter().any(|line| line.contains("foreign/")),
        "nothing is told of the hostile objects"
    );
    for line in &lines {
        let is_whole = !line.starts_with("evil") && !line.starts_with("Evil");
        // A line of JSON may hold any character that is written in more than one byte.
        let is_of_client = line.starts_with('{');
        let is_odd = |letter: char| {
            letter.is_control() && letter != '\t' && (letter.is_ascii() || !is_of_client)
        };
        let is_plain = !line.chars().any(is_odd);
        ensure!(is_whole && is_plain, "a line of the log: {line:?}");
        let is_forged = line.contains("/fields-") && !line.contains(" scheme=\"http\" ");
        ensure!(!is_forged, "a scheme in the log: {line:?}");
    }
    let metrics = http::get(sluice.health(), "metrics", "/metrics")
        .await?
        .text();
    let sample = Regex::new(
        r#"^(#.*|[a-zA-Z_:][a-zA-Z0-9_:]*(\{([a-zA-Z_]\w*="([^"\\]|\\["\\n])*",?)*\})? \S+)$"#,
    )?;
    let odd = metrics
        .lines()
        .find(|line| !sample.is_match(line) || line.chars().any(char::is_control));
    ensure!(odd.is_none(), "a line of the metrics: {odd:?}");
    metrics
        .lines()
        .find(|line| line.contains("own"))
        .context("the owner is counted")?;
    sluice.stop()
}
