//! R10: every text is hostile, also one that is only told: in a log, a metric, or an identifier. It begins no line, colours no
//! terminal and makes no series.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use regex::Regex;
use serde_json::{Value, json};
use sluice_tests::hostile::{TEXTS, ingresses};
use sluice_tests::http::{self, Request};
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
/// The places that hold the metadata of objects, and what Kubernetes itself would not have stored.
const METADATA_FIELDS: [&str; 4] = [
    "/metadata/name",
    "/metadata/uid",
    "/spec/rules/0/http/paths/0/path",
    "/spec/rules/0/host",
];

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

async fn hostile_text_stays_within_its_line(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    tenants.write("hostile.yaml", &objects())?;
    tenants.manifests.ingress(
        &Ingress::new(OWNER, "own")
            .host("own.test")
            .path("/", "web", 80),
    )?;
    let options = plane
        .options(&tenants.manifests)
        .arguments(vec!["--access-log".to_owned()]);
    let sluice = options.start().await?;
    sluice.wait_for_pod("own.test", OWNER).await?;
    ensure!(send_hostile_requests(&sluice).await? > 20);
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
