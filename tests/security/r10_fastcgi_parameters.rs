//! R10: what clients say becomes values of FastCGI parameters, and nothing else: no parameter of another name, none twice, none of those
//! that say who asks and what runs. Parameters have lengths, so any byte may be in one.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use serde_json::json;
use sluice_tests::connection::Connection;
use sluice_tests::fastcgi::{Answer, Application, Params, response};
use sluice_tests::manifests::Ingress;
use sluice_tests::ports::Network;

use crate::setup::{OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(clients_add_no_parameter_of_fastcgi);

const HOST: &str = "php.test";
/// Parameters that a request may have, whatever it says.
const USUAL: &[&str] = &[
    "APP_MODE",
    "CONTENT_LENGTH",
    "CONTENT_TYPE",
    "DOCUMENT_ROOT",
    "DOCUMENT_URI",
    "GATEWAY_INTERFACE",
    "QUERY_STRING",
    "REDIRECT_STATUS",
    "REMOTE_ADDR",
    "REMOTE_PORT",
    "REMOTE_USER",
    "REQUEST_METHOD",
    "REQUEST_SCHEME",
    "REQUEST_URI",
    "SCRIPT_FILENAME",
    "SCRIPT_NAME",
    "SERVER_ADDR",
    "SERVER_NAME",
    "SERVER_PORT",
    "SERVER_PROTOCOL",
    "SERVER_SOFTWARE",
];
/// Parameters that no client has a say in.
const FIXED: &[(&str, &str)] = &[
    ("REMOTE_ADDR", "127.0.0.1"),
    ("REMOTE_USER", ""),
    ("SERVER_NAME", HOST),
    ("SERVER_PORT", "80"),
    ("REQUEST_SCHEME", "http"),
    ("REDIRECT_STATUS", "200"),
    ("HTTP_X_REAL_IP", "127.0.0.1"),
    ("HTTP_X_FORWARDED_FOR", "127.0.0.1"),
    ("HTTP_X_FORWARDED_PROTO", "http"),
];

/// Headers of clients, as they are sent.
fn headers() -> Vec<Vec<u8>> {
    let long = |size: usize| "a".repeat(size);
    let text = [
        // CVE-2016-5385: applications take this one for their own proxy.
        "Proxy: http://evil.test",
        "PROXY: http://evil.test",
        "Proxy : http://evil.test",
        "pro_xy: evil",
        "HTTP_PROXY: evil",
        "X_Forwarded_For: 192.0.2.1",
        "X_Real_IP: 192.0.2.1",
        "X-Real-IP: 192.0.2.1",
        "X-Forwarded-For: 192.0.2.1",
        "X-Forwarded-Proto: https",
        "X_Forwarded_Proto: https",
        "Remote-User: root",
        "Remote_User: root",
        "Script-Filename: /etc/passwd",
        "Redirect-Status: 500",
        "Https: on",
        "Content-Length: 5\r\nContent-Length: 6",
        "Content_Length: 5",
        "Content-Type: a\r\nContent-Type: b",
        "X-A: a\r\nX-A: b\r\nx-a: c",
        "X-A: a\r\n HTTP_PROXY: evil",
        "X-A: a\nProxy: evil",
        "X-A: a\rProxy: evil",
        "X-Mode: \t\"$http_proxy\" ${document_root} \\",
        ": evil",
        "=: evil",
        "X-A\tB: evil",
        "X-A.B: evil",
    ];
    let mut all: Vec<Vec<u8>> = text.map(|line| line.as_bytes().to_vec()).into();
    all.extend([
        b"X-A: a\0HTTP_PROXY\x04evil".to_vec(),
        b"X-A: \x01\x02\x7f\x80\xff".to_vec(),
        b"X-A\0: evil".to_vec(),
        format!("X-{}: a", long(120)).into_bytes(),
        format!("X-A: {}", long(127)).into_bytes(),
        format!("X-A: {}", long(128)).into_bytes(),
        format!("X-A: {}", long(7000)).into_bytes(),
        vec![format!("X-A: {}", long(7000)); 8]
            .join("\r\n")
            .into_bytes(),
        (0..90)
            .map(|n| format!("X-{n}: {}", long(300)))
            .collect::<Vec<_>>()
            .join("\r\n")
            .into_bytes(),
    ]);
    all
}

/// Targets that lead somewhere else, if anything did.
const TARGETS: &[&str] = &[
    "/a.php?a=b",
    "/a.php?%00%0d%0aHTTP_PROXY=evil",
    "/a%00.php",
    "/a%0d%0aHTTP_PROXY:%20evil",
    "/a%0aSCRIPT_FILENAME=/etc/passwd",
    "/../../etc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/a/..%2f..%2f..%2fetc/passwd",
    "/a/%2e%2e%5c%2e%2e%5cetc",
    "//etc/passwd",
    "/a.php/etc/passwd",
    "http://php.test/a.php",
];

fn requests() -> Vec<Vec<u8>> {
    let begin = |target: &str| format!("GET {target} HTTP/1.1\r\nHost: {HOST}\r\n").into_bytes();
    let with_target = TARGETS
        .iter()
        .map(|target| [begin(target), b"\r\n".to_vec()].concat());
    let with_header = headers()
        .into_iter()
        .map(|header| [begin("/a.php"), header, b"\r\n\r\n".to_vec()].concat());
    with_target.chain(with_header).collect()
}

/// Names under which an application may find what the client said: one of ours, or a header's.
fn ensure_named_as_sent(params: &Params, request: &str) -> Result<()> {
    let sent: BTreeSet<String> = request
        .split(['\r', '\n'])
        .filter_map(|line| Some(line.split_once(':')?.0))
        .map(|name| {
            format!(
                "HTTP_{}",
                name.trim().to_ascii_uppercase().replace('-', "_")
            )
        })
        .collect();
    for name in params.keys() {
        let is_fixed = FIXED.iter().any(|(fixed, _)| fixed == name);
        let is_ours = name.starts_with("HTTP_X_") || name == "HTTP_CDN_LOOP";
        ensure!(
            USUAL.contains(&name.as_str()) || is_fixed || is_ours || sent.contains(name),
            "{name}: {params:?}"
        );
    }
    ensure!(!params.contains_key("HTTP_PROXY"), "{params:?}");
    ensure!(!params.contains_key("HTTPS"), "{params:?}");
    Ok(())
}

fn ensure_unharmed(params: &Params, request: &str) -> Result<()> {
    ensure_named_as_sent(params, request)?;
    for (name, expected) in FIXED {
        let value = params
            .get(*name)
            .map(|value| String::from_utf8_lossy(value));
        ensure!(value.as_deref() == Some(expected), "{name}: {params:?}");
    }
    let file = params.get("SCRIPT_FILENAME").cloned().unwrap_or_default();
    let file = String::from_utf8_lossy(&file);
    let leads_up = file.split('/').any(|part| part == "..");
    ensure!(file.starts_with("/srv/") && !leads_up, "{file}");
    ensure!(!file.contains('\0'), "{file:?}");
    Ok(())
}

async fn clients_add_no_parameter_of_fastcgi(plane: Plane) -> Result<()> {
    let (tenants, network) = (Tenants::start().await?, Network::reserve()?);
    let answer = |_: &Params| Answer::once(response("Content-Type: text/plain\r\n\r\nfine"));
    let application = Application::start(network.pod(0), answer).await?;
    tenants
        .manifests
        .service(OWNER, "php", 9000, &[network.pod(0)])?;
    tenants.manifests.object(&json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "params", "namespace": OWNER},
        "data": {"SCRIPT_FILENAME": "/srv$fastcgi_script_name", "APP_MODE": "$http_x_mode"},
    }))?;
    tenants.manifests.ingress(
        &Ingress::new(OWNER, "php")
            .host(HOST)
            .path("/", "php", 9000)
            .annotation("backend-protocol", "FCGI")
            .annotation("fastcgi-index", "index.php")
            .annotation("fastcgi-params-configmap", &format!("{OWNER}/params")),
    )?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    // Envoy speaks no FastCGI, and says so.
    let status = if plane == Plane::Nginx { 200 } else { 503 };
    sluice.wait_for_status(HOST, "/", status).await?;
    let mut served = 0;
    for request in requests() {
        let text = String::from_utf8_lossy(&request);
        let before = application.requests().len();
        let mut connection = Connection::open(sluice.http()).await?;
        let answer = connection.send_bytes(&request, false).await?;
        let heard = application.requests().split_off(before);
        // Refused as a whole, or heard once.
        let heard_once = answer.status == 200 && heard.len() == 1;
        ensure!(
            heard_once || heard.is_empty(),
            "{text:?}: {answer:?}, {heard:?}"
        );
        ensure!(
            answer.status == 200 || answer.status >= 400,
            "{text:?}: {answer:?}"
        );
        served += heard.len();
        for params in heard {
            ensure_unharmed(&params, &text).map_err(|error| error.context(text.to_string()))?;
        }
    }
    ensure!(
        (served > 20) == (plane == Plane::Nginx),
        "{served} are served"
    );
    sluice.stop()
}
