//! Settings of the ConfigMap, as clients and pods see them.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::connection::Connection;
use sluice_tests::http::{Request, send};
use sluice_tests::script::{Answer, Script};
use sluice_tests::sluice::{Options, Sluice};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::fixture::{Fixture, HOST, page};

/// A controller with these settings.
async fn start_with(fixture: &Fixture, data: Value) -> Result<Sluice> {
    let metadata = json!({"name": "settings", "namespace": "sluice"});
    fixture.manifests.object(
        &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}),
    )?;
    let flags = ["--configmap", "sluice/settings"].map(str::to_owned).into();
    Options::new(&fixture.manifests)
        .arguments(flags)
        .start()
        .await
}

#[tokio::test]
async fn response_uses_the_best_enabled_and_accepted_encoding() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let data = json!({"use-gzip": "true", "enable-brotli": "true", "gzip-min-length": "10", "gzip-types": "*"});
    let sluice = start_with(&fixture, data).await?;
    for (accepted, expected) in [
        ("gzip, br", Some("br")),
        ("gzip", Some("gzip")),
        ("identity", None),
    ] {
        let answer = send(sluice.http(), &page().header("accept-encoding", accepted)).await?;
        ensure!(answer.status == 200, "{answer:?}");
        ensure!(
            answer.header("content-encoding") == expected,
            "{accepted}: {answer:?}"
        );
        ensure!(
            answer
                .header("vary")
                .is_some_and(|vary| vary.eq_ignore_ascii_case("accept-encoding"))
        );
    }
    sluice.stop()
}

#[tokio::test]
async fn ssl_reject_handshake_rejects_unknown_names() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let data = json!({"ssl-reject-handshake": "true", "ssl-ecdh-curve": "X25519:prime256v1", "ssl-session-timeout": "1h"});
    let sluice = start_with(&fixture, data).await?;
    let mut known = Connection::open_tls(sluice.https(), HOST).await?;
    ensure!(known.send(&page()).await?.status == 200);
    ensure!(
        Connection::open_tls(sluice.https(), "nobody.test")
            .await
            .is_err(),
        "a handshake succeeded"
    );
    sluice.stop()
}

#[tokio::test]
async fn oversized_headers_are_rejected_and_slow_responses_complete() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let data = json!({"upstream-keepalive-requests": "2", "large-client-header-buffers": "1 2k", "limit-rate": "4"});
    let sluice = start_with(&fixture, data).await?;
    let long = page().header("x-long", &"a".repeat(4000));
    ensure!(
        send(sluice.http(), &long).await?.status == 431,
        "long headers came through"
    );
    let body = Answer {
        body: Some("x".repeat(6 * 1024)),
        ..Answer::default()
    };
    fixture.pods[0].script(Script::echo().answer("/large", body));
    for _ in 0..3 {
        let answer = send(sluice.http(), &Request::get(HOST, "/large")).await?;
        ensure!(
            answer.status == 200 && answer.body.len() == 6 * 1024,
            "{answer:?}"
        );
    }
    sluice.stop()
}

/// Envoy has one timeout for clients and pods: the longer one holds, and pods have another for each attempt.
#[tokio::test]
async fn body_may_pause_for_as_long_as_the_operator_says_though_pods_may_not() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let data = json!({
        "client-body-timeout": "4", "proxy-read-timeout": "1", "proxy-send-timeout": "1", "proxy-next-upstream-tries": "1",
    });
    let sluice = start_with(&fixture, data).await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    let begin = async || {
        let mut stream = TcpStream::connect(sluice.http()).await?;
        let head = format!(
            "POST / HTTP/1.1\r\nhost: {HOST}\r\nconnection: close\r\ncontent-length: 2\r\n\r\na"
        );
        stream.write_all(head.as_bytes()).await?;
        anyhow::Ok(stream)
    };
    let answer = async |mut stream: TcpStream| {
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        tokio::time::timeout(Duration::from_secs(15), read)
            .await
            .context("no end")??;
        anyhow::Ok(String::from_utf8_lossy(&answer).into_owned())
    };
    let mut pausing = begin().await?;
    tokio::time::sleep(Duration::from_millis(2500)).await;
    pausing.write_all(b"b").await?;
    let served = answer(pausing).await?;
    ensure!(served.starts_with("HTTP/1.1 200 "), "{served}");
    let (silent, began) = (begin().await?, Instant::now());
    let refused = answer(silent).await?;
    ensure!(
        refused.starts_with("HTTP/1.1 408 ") && began.elapsed() > Duration::from_secs(3),
        "{:?}: {refused}",
        began.elapsed()
    );
    sluice.stop()
}
