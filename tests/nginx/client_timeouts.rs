//! Timeouts of clients that a path has for itself.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;
use sluice_tests::echo::{Echo, EchoIdentity};
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Network;
use sluice_tests::sluice::{Options, Sluice};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Longer than the path's own timeout, shorter than that of all.
const PATIENCE: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_path_waits_for_its_clients_as_its_snippet_says() -> Result<()> {
    let (network, manifests) = (Network::reserve()?, Manifests::new()?);
    let web = Echo::start(network.pod(0), EchoIdentity::of("web", "web-0")).await?;
    manifests.service("default", "web", 80, &[web.addr()])?;
    manifests.object(&json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": "sluice", "name": "sluice"},
        "data": {"allow-snippet-annotations": "true", "annotations-risk-level": "Critical"},
    }))?;
    let host = |name: &str| {
        let ingress = Ingress::new("default", name).host(&format!("{name}.test"));
        ingress.path("/", "web", 80)
    };
    let snippet = "client_body_timeout 300ms; send_timeout 10s; keepalive_timeout 0;";
    manifests.ingress(&host("own").annotation("configuration-snippet", snippet))?;
    let location = "location /up { client_body_timeout 300ms; proxy_pass http://web.default.svc.cluster.local; }";
    manifests.ingress(&host("usual").annotation("server-snippet", location))?;
    let flags = ["--configmap", "sluice/sluice"].map(str::to_owned).into();
    let options = Options::new(&manifests).data_plane("nginx");
    let sluice = options.arguments(flags).start().await?;
    for name in ["own.test", "usual.test"] {
        sluice.wait_for_status(name, "/", 200).await?;
    }
    // nginx closes the connection without a word.
    let begun = "Content-Length: 5\r\n\r\na";
    for (host, path, is_closed) in [
        ("own.test", "/", true),
        ("usual.test", "/up", true),
        ("usual.test", "/", false),
    ] {
        let began = Instant::now();
        let said = said_to(&sluice, (host, path), begun).await?;
        let took = began.elapsed();
        ensure!(
            said.is_empty() && (took < PATIENCE) == is_closed,
            "{host}{path}: {took:?} {said}"
        );
    }
    // A connection that is not kept is closed behind its response.
    let own = said_to(&sluice, ("own.test", "/"), "\r\n").await?;
    ensure!(
        own.starts_with("HTTP/1.1 200 ") && own.to_ascii_lowercase().contains("connection: close"),
        "{own}"
    );
    sluice.stop()
}

/// The response to a request, or as much of it as comes in time.
async fn said_to(sluice: &Sluice, (host, path): (&str, &str), rest: &str) -> Result<String> {
    let mut stream = TcpStream::connect(sluice.http()).await?;
    let head = format!("POST {path} HTTP/1.1\r\nHost: {host}\r\n{rest}");
    stream.write_all(head.as_bytes()).await?;
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    let _ = tokio::time::timeout(PATIENCE, read).await;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
