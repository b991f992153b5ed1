//! An `Upgrade` header takes no policy away; what is said on a WebSocket is no body, though.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::ports::Network;
use sluice_tests::sluice::Sluice;
use sluice_tests::wait;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::forms::upgraded;
use crate::setup::{OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(
    upgrade_does_not_bypass_the_body_limit,
    websocket_data_has_no_body_limit,
    error_page_of_a_denied_client_is_no_tunnel,
    no_pod_is_asked_to_speak_another_http,
    nothing_behind_an_upgrade_gets_past_a_guard,
);

/// Bytes that the limits below allow, and more than any of them.
const SHORT: usize = 512;
const LONG: usize = 2 << 20;

/// Hosts whose bodies are limited: by the ConfigMap's default, by an annotation, each beside another policy and without.
const HOSTS: &[(&str, &[(&str, &str)])] = &[
    ("usual.test", &[]),
    ("own.test", &[("proxy-body-size", "1k")]),
    (
        "usual-guarded.test",
        &[("allowlist-source-range", "127.0.0.0/8")],
    ),
    (
        "own-guarded.test",
        &[
            ("allowlist-source-range", "127.0.0.0/8"),
            ("proxy-body-size", "1k"),
        ],
    ),
    ("usual-limited.test", &[("limit-rps", "1000")]),
];

async fn serve(plane: Plane, tenants: &Tenants, service: &str) -> Result<Sluice> {
    let mut objects = Vec::new();
    for (host, annotations) in HOSTS {
        let ingress = Ingress::new(OWNER, &host.replace('.', "-"))
            .host(host)
            .path("/", service, 80);
        let all = annotations.iter();
        objects.push(
            all.fold(ingress, |ingress, (name, value)| {
                ingress.annotation(name, value)
            })
            .to_json(),
        );
    }
    objects.push(
        Ingress::new(OWNER, "last")
            .host("last.test")
            .path("/", "web", 80)
            .to_json(),
    );
    tenants.write("all.yaml", &objects)?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    sluice.wait_for_status("last.test", "/", 200).await?;
    Ok(sluice)
}

async fn upgrade_does_not_bypass_the_body_limit(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let sluice = serve(plane, &tenants, "web").await?;
    for (host, _) in HOSTS {
        for method in ["POST", "PUT", "GET"] {
            let request = Request::new(method, host, "/");
            let long = request.clone().body("x".repeat(LONG));
            let variants = [
                ("plain", long.clone()),
                ("chunked", chunked(request.clone())),
                ("upgrade", upgraded(&long)),
                (
                    "h2c",
                    long.clone()
                        .header("connection", "Upgrade")
                        .header("upgrade", "h2c"),
                ),
                (
                    "without connection",
                    long.clone().header("upgrade", "websocket"),
                ),
                (
                    "chunked without connection",
                    chunked(request.clone().header("upgrade", "websocket")),
                ),
            ];
            for (name, request) in variants {
                let answer = http::send(sluice.http(), &request)
                    .await
                    .with_context(|| format!("{host} {method} {name}"))?;
                ensure!(
                    answer.status == 413,
                    "{host} {method} {name}: {}",
                    answer.status
                );
            }
        }
        let short = Request::new("POST", host, "/").body("x".repeat(SHORT));
        ensure!(
            http::send(sluice.http(), &short).await?.status == 200,
            "{host}: a short body"
        );
        let empty = upgraded(&Request::new("POST", host, "/")).header("content-length", "0");
        ensure!(
            http::send(sluice.http(), &empty).await?.status == 200,
            "{host}: no body"
        );
    }
    sluice.stop()
}

/// The same request with a body that does not say how long it is.
fn chunked(request: Request) -> Request {
    let begin = format!("{LONG:x}\r\n");
    let body = [
        begin.as_bytes(),
        "x".repeat(LONG).as_bytes(),
        b"\r\n0\r\n\r\n",
    ]
    .concat();
    request.header("transfer-encoding", "chunked").body(body)
}

/// A Service of the owner whose pod agrees to upgrades.
struct Socket {
    pod: JoinHandle<()>,
    _network: Network,
}

impl Socket {
    async fn start(tenants: &Tenants) -> Result<Socket> {
        let network = Network::reserve()?;
        let addr = network.pod(0);
        let pod = tokio::spawn(counting_pod(TcpListener::bind(addr).await?));
        tenants.manifests.service(OWNER, "socket", 80, &[addr])?;
        Ok(Socket {
            pod,
            _network: network,
        })
    }
}

/// Agrees to every upgrade and says that it got all bytes.
async fn counting_pod(listener: TcpListener) {
    while let Ok((mut stream, _)) = listener.accept().await {
        tokio::spawn(async move {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await?);
            }
            let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
            if !head.contains("\r\nupgrade:") {
                let required = b"HTTP/1.1 426 Upgrade Required\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
                return stream.write_all(required).await;
            }
            let agreed = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";
            stream.write_all(agreed.as_bytes()).await?;
            let mut rest = vec![0; LONG];
            stream.read_exact(&mut rest).await?;
            stream.write_all(b"all").await
        });
    }
}

/// Methods and protocols of WebSockets, of Kubernetes' `exec` and of `docker attach`.
const PROTOCOLS: [(&str, &str); 5] = [
    ("GET", "websocket"),
    ("GET", "SPDY/3.1"),
    ("POST", "SPDY/3.1"),
    ("GET", "tcp"),
    ("POST", "tcp"),
];

/// Every host with every method and protocol.
fn askers() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    HOSTS.iter().flat_map(|(host, _)| {
        let asked = PROTOCOLS.into_iter();
        asked.map(move |(method, protocol)| (*host, method, protocol))
    })
}

fn to(protocol: &str, request: Request) -> Request {
    request
        .header("connection", "Upgrade")
        .header("upgrade", protocol)
}

/// A request for another protocol, without a body.
fn asking(method: &str, host: &str, protocol: &str) -> Request {
    let request = to(protocol, Request::new(method, host, "/"));
    match method {
        "GET" => request,
        _ => request.header("content-length", "0"),
    }
}

async fn websocket_data_has_no_body_limit(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let socket = Socket::start(&tenants).await?;
    let sluice = serve(plane, &tenants, "socket").await?;
    for (host, method, protocol) in askers() {
        let talk = async {
            let mut stream = TcpStream::connect(sluice.http()).await?;
            stream
                .write_all(&asking(method, host, protocol).to_bytes())
                .await?;
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await?);
            }
            ensure!(
                head.starts_with(b"HTTP/1.1 101"),
                "{}",
                String::from_utf8_lossy(&head)
            );
            stream.write_all(&vec![0; LONG]).await?;
            let mut last = [0; 3];
            stream.read_exact(&mut last).await?;
            ensure!(&last == b"all");
            Ok(())
        };
        tokio::time::timeout(wait::LIMIT, talk)
            .await
            .context("no end")?
            .with_context(|| format!("{host} {method} {protocol}"))?;
    }
    for (host, _, protocol) in askers() {
        let mut stream = TcpStream::connect(sluice.http()).await?;
        // Whoever refuses it need not read it.
        let _ = stream
            .write_all(&chunked(to(protocol, Request::new("POST", host, "/"))).to_bytes())
            .await;
        let mut answer = Vec::new();
        let _ = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut answer)).await;
        ensure!(
            !answer.ends_with(b"all"),
            "{host} {protocol}: all of a body that is too long reaches the pod"
        );
    }
    socket.pod.abort();
    sluice.stop()
}

/// No policy of a path would see what is said in it. Pods that agree by themselves are common (`h2c`).
async fn no_pod_is_asked_to_speak_another_http(plane: Plane) -> Result<()> {
    const OTHERS: [&str; 8] = [
        "h2c",
        "H2C",
        "websocket, h2c",
        "h2c,websocket",
        "websocket , h2c , x",
        "HTTP/2.0",
        "TLS/1.2, HTTP/1.1",
        "tls",
    ];
    let tenants = Tenants::start().await?;
    let config_map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "sluice", "name": "sluice"},
        "data": {"proxy-set-headers": "sluice/headers"},
    });
    // As operators copy it.
    let headers = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "sluice", "name": "headers"},
        "data": {"Upgrade": "$http_upgrade", "X-Set": "yes"},
    });
    let ingress = Ingress::new(OWNER, "web").host("web.test");
    let ingress = ingress.path("/", "web", 80).to_json();
    for objects in [vec![ingress.clone()], vec![ingress, config_map, headers]] {
        tenants.write("all.yaml", &objects)?;
        let flags = ["--configmap", "sluice/sluice"].map(str::to_owned).into();
        let options = plane.options(&tenants.manifests).arguments(flags);
        let sluice = options.start().await?;
        sluice.wait_for_status("web.test", "/", 200).await?;
        let ask = async |protocol: &str| {
            let place = tenants.received.len();
            let request = asking("GET", "web.test", protocol);
            let settings = "AAMAAABkAAQCAAAAAAIAAAAA";
            let request = request.header("HTTP2-Settings", settings);
            http::send(sluice.http(), &request).await?;
            let received = tenants.received.since(place).into_iter();
            anyhow::Ok(
                received
                    .filter_map(|it| it.header("upgrade"))
                    .collect::<Vec<_>>(),
            )
        };
        for protocol in OTHERS {
            let asked = ask(protocol).await?;
            ensure!(asked.is_empty(), "{protocol}: pods are asked for {asked:?}");
        }
        let asked = ask("websocket").await?;
        ensure!(asked == ["websocket"], "{asked:?}");
        sluice.stop()?;
    }
    Ok(())
}

/// To a pod that goes on in HTTP it would be the next request (CVE-2026-73548 of Envoy).
async fn nothing_behind_an_upgrade_gets_past_a_guard(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let ingress = |name: &str, path: &str| {
        let ingress = Ingress::new(OWNER, name).host("web.test");
        ingress.path(path, "web", 80)
    };
    let guarded = ingress("guarded", "/guarded").annotation("denylist-source-range", "0.0.0.0/0");
    let all = [ingress("web", "/").to_json(), guarded.to_json()];
    tenants.write("all.yaml", &all)?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    sluice.wait_for_status("web.test", "/guarded", 403).await?;
    sluice.wait_for_status("web.test", "/", 200).await?;
    let behind = Request::get("web.test", "/guarded").to_bytes();
    for (method, protocol) in PROTOCOLS {
        let place = tenants.received.len();
        let mut stream = TcpStream::connect(sluice.http()).await?;
        let first = asking(method, "web.test", protocol).to_bytes();
        stream.write_all(&[first, behind.clone()].concat()).await?;
        let mut answer = Vec::new();
        // Both sides may leave it open.
        let read = stream.read_to_end(&mut answer);
        let _ = tokio::time::timeout(Duration::from_millis(400), read).await;
        ensure!(
            answer.starts_with(b"HTTP/1.1 "),
            "{method} {protocol}: no answer"
        );
        let received = tenants.received.since(place);
        let paths: Vec<&str> = received.iter().map(|it| it.path.as_str()).collect();
        ensure!(paths == ["/"], "{method} {protocol}: pods got {paths:?}");
    }
    sluice.stop()
}

/// A Service that is its own error service is the worst case: what it agrees to there, it would agree to behind the denial.
async fn error_page_of_a_denied_client_is_no_tunnel(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let socket = Socket::start(&tenants).await?;
    let denied = |name: &str, keeps: &str| {
        let ingress = Ingress::new(OWNER, name).host(&format!("{name}.test"));
        let ingress = ingress.annotation("custom-http-errors", "403");
        let ingress = ingress.annotation("default-backend", "socket");
        let ingress = ingress.annotation("disable-proxy-intercept-errors", keeps);
        let ingress = ingress.annotation("denylist-source-range", "127.0.0.0/8");
        ingress.path("/", "socket", 80).to_json()
    };
    let last = Ingress::new(OWNER, "last").host("last.test");
    let last = last.path("/", "web", 80).to_json();
    let all = [denied("replaced", "false"), denied("kept", "true"), last];
    tenants.write("all.yaml", &all)?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    sluice.wait_for_status("last.test", "/", 200).await?;
    for host in ["replaced.test", "kept.test"] {
        for (method, protocol) in PROTOCOLS {
            let answer = http::send(sluice.http(), &asking(method, host, protocol)).await?;
            ensure!(
                matches!(answer.status, 403 | 426),
                "{host} {method} {protocol}: {}",
                answer.status
            );
        }
    }
    socket.pod.abort();
    sluice.stop()
}
