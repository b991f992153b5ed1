//! Headers of requests to pods are the same whether the module joins them or nginx has each by itself.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::{Options, Sluice};

use crate::fixture::Fixture;

const JOINED: &str = "joined.test";
/// Its `Connection` is its own, and so nginx has all headers by themselves.
const ALONE: &str = "alone.test";

/// Headers by name, but for that one. Lines of a header in order.
async fn headers(sluice: &Sluice, request: &Request) -> Result<BTreeMap<String, Value>> {
    let response = http::send(sluice.http(), request).await?;
    ensure!(response.status == 200, "{request:?}: {response:?}");
    let seen = response.json()?;
    let headers = seen["headers"].as_object().cloned().unwrap_or_default();
    let is_id = |(name, value): &(String, String)| name == "x-request-id" && !value.is_empty();
    let sent_id = request.headers.iter().any(is_id);
    let of_host = |value: &Value| {
        let text = value.to_string().replace(ALONE, JOINED);
        let [alone, joined] = [ALONE, JOINED].map(str::to_ascii_uppercase);
        json!(text.replace(&alone, &joined))
    };
    let mut all = BTreeMap::new();
    for (name, value) in headers {
        match name.to_ascii_lowercase().as_str() {
            "connection" | "upgrade" => {}
            "x-request-id" if !sent_id => {
                let digits = value[0].as_str().unwrap_or_default();
                let is_id = digits.len() == 32 && digits.bytes().all(|it| it.is_ascii_hexdigit());
                ensure!(is_id, "{value}");
            }
            name => {
                all.insert(name.to_owned(), of_host(&value));
            }
        }
    }
    Ok(all)
}

fn requests(host: &str) -> Vec<Request> {
    let get = |host: &str| Request::get(host, "/a?b=c");
    let upper = host.to_ascii_uppercase();
    let mut requests = vec![
        get(host),
        get(&upper),
        get(&format!("{host}:8080")),
        get(&format!("{host}.")),
        get(&format!("{host}.:81")),
        Request::get(host, &format!("http://{upper}:81/a")),
    ];
    requests.extend(
        [
            &[("x-real-ip", "9.9.9.9"), ("x-scheme", "ftp")][..],
            &[
                ("x-forwarded-for", "1.1.1.1"),
                ("x-forwarded-for", "2.2.2.2"),
            ],
            &[
                ("x-forwarded-host", " a.example , b.example"),
                ("x-forwarded-port", "99"),
            ],
            &[
                ("x-forwarded-proto", "https"),
                ("x-forwarded-scheme", "https"),
            ],
            &[
                ("x-original-forwarded-for", "3.3.3.3"),
                ("x-original-forwarded-host", "c"),
            ],
            &[("x-request-id", "mine")],
            &[("x-request-id", "")],
            &[("cdn-loop", "a"), ("cdn-loop", "b; c=d")],
            &[("upgrade", "h2c"), ("proxy", "http://evil.example")],
            &[("x-other", "kept"), ("accept", "*/*")],
        ]
        .map(|headers| get(host).headers(headers)),
    );
    requests
}

async fn are_the_same(settings: Value) -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let ingress = |name: &str, host| {
        Ingress::new("default", name)
            .host(host)
            .path("/", "web", 80)
    };
    fixture.manifests.ingress(&ingress("joined", JOINED))?;
    let alone = ingress("alone", ALONE).annotation("connection-proxy-header", "close");
    fixture.manifests.ingress(&alone)?;
    fixture.manifests.object(&json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "namespace": "default", "name": "sluice" },
        "data": settings,
    }))?;
    let arguments = ["--configmap", "default/sluice"].map(str::to_owned).into();
    let sluice = Options::new(&fixture.manifests)
        .arguments(arguments)
        .data_plane("nginx")
        .start()
        .await?;
    for host in [JOINED, ALONE] {
        sluice.wait_for_status(host, "/", 200).await?;
    }
    let conf = std::fs::read_to_string(sluice.run_dir().join("nginx/nginx.conf"))?;
    for value in ["sluice_request_headers", "remote_addr"] {
        let line = format!("proxy_set_header \"X-Real-IP\" \"${{{value}}}\";");
        ensure!(conf.contains(&line), "{line}: {conf}");
    }
    for (joined, alone) in requests(JOINED).iter().zip(requests(ALONE)) {
        let (joined_sent, alone_sent) = (
            headers(&sluice, joined).await?,
            headers(&sluice, &alone).await?,
        );
        ensure!(
            joined_sent == alone_sent,
            "{joined:?}\njoined: {joined_sent:?}\nalone: {alone_sent:?}"
        );
    }
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn joined_headers_are_those_of_nginx() -> Result<()> {
    are_the_same(json!({})).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn joined_headers_are_those_of_nginx_behind_a_proxy() -> Result<()> {
    are_the_same(json!({
        "use-forwarded-headers": "true",
        "compute-full-forwarded-for": "true",
        "proxy-add-original-uri-header": "true",
    }))
    .await
}
