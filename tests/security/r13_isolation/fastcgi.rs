//! A FastCGI application that keeps to no protocol costs its own requests: connections of clients, the worker and its memory stay those
//! of everybody.

use std::sync::LazyLock;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sluice_tests::connection::Connection;
use sluice_tests::fastcgi::{self, Answer, Application, Params, STDERR, STDOUT, record, response};
use sluice_tests::http::Request;
use sluice_tests::manifests::Ingress;
use sluice_tests::ports::Network;
use sluice_tests::proc;
use sluice_tests::sluice::Sluice;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::{ensure_changes_are_accepted, neighbour};
use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(
    broken_fastcgi_responses_end_where_clients_take_them_to_end,
    endless_fastcgi_responses_keep_nobody_else_waiting,
);

const HOST: &str = "php.test";
/// Would be a response.
const SMUGGLED: &str = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
/// More than any head of a response may be.
const HUGE: usize = 10 << 20;
/// Part of a body whose length is known. nginx takes it for whole, by itself as well (1.22): its client waits until `keep-alive` ends.
const LEFT_OPEN: &str = "/half-a-body";

/// Responses that end, one way or another, by path. Made once: they are large, and the owner's pod is in this process, too.
static BROKEN: LazyLock<Vec<(&str, Vec<u8>)>> =
    LazyLock::new(|| [broken_records(), broken_heads()].concat());

fn broken_records() -> Vec<(&'static str, Vec<u8>)> {
    let with = |kind, content: &str| record(kind, content.as_bytes());
    let changed = |place: usize, byte: u8| {
        let mut bytes = response("Content-Type: text/plain\r\n\r\nevil");
        bytes[place] = byte;
        bytes
    };
    let cut = |bytes: usize| {
        let mut whole = response("Content-Type: text/plain\r\nContent-Length: 4\r\n\r\nevil");
        whole.truncate(bytes);
        whole
    };
    vec![
        ("/nothing", Vec::new()),
        ("/http", SMUGGLED.into()),
        ("/version", changed(0, 9)),
        ("/kind", changed(1, 99)),
        ("/other-request", changed(3, 7)),
        ("/longer", changed(4, 0xFF)),
        ("/padding", changed(6, 0xFF)),
        ("/half-a-head", cut(3)),
        ("/half-a-header", cut(20)),
        (LEFT_OPEN, cut(58)),
        (
            "/without-end",
            with(
                STDOUT,
                &format!("Content-Type: text/plain\r\n\r\n{SMUGGLED}"),
            ),
        ),
        (
            "/without-body",
            with(STDOUT, "Content-Type: text/plain\r\n"),
        ),
        ("/end-alone", fastcgi::end()),
        (
            "/stderr-alone",
            [with(STDERR, "evil\n"), fastcgi::end()].concat(),
        ),
        (
            "/stderr-of-many",
            [with(STDERR, "evil\n").repeat(10_000), fastcgi::end()].concat(),
        ),
    ]
}

fn broken_heads() -> Vec<(&'static str, Vec<u8>)> {
    let lines = |line: &str, size: usize| response(&line.repeat(size / line.len()));
    let framed = |head: &str| response(&format!("{head}\r\n\r\n{SMUGGLED}"));
    vec![
        (
            "/huge-header",
            response(&format!("X-A: {}\r\n\r\n", "a".repeat(HUGE))),
        ),
        ("/many-headers", lines("X-A: a\r\n", HUGE)),
        ("/status", framed("Status: 99999")),
        ("/status-of-words", framed("Status: evil")),
        ("/status-without-body", framed("Status: 204")),
        ("/status-that-goes-on", framed("Status: 101")),
        (
            "/two-lengths",
            framed("Content-Length: 4\r\nContent-Length: 40"),
        ),
        ("/short-length", framed("Content-Length: 4")),
        ("/long-length", framed("Content-Length: 4000")),
        ("/negative-length", framed("Content-Length: -1")),
        (
            "/chunked",
            framed("Transfer-Encoding: chunked\r\nX-A: 0\r\n\r\n0"),
        ),
        ("/nul", framed("X-A: a\0b")),
        ("/line-ends", framed("X-A: a\rX-B: b\nX-C: c")),
    ]
}

/// Answers that do not end, by path.
fn endless() -> Vec<(&'static str, Answer)> {
    let for_ever = |for_ever: Vec<u8>| Answer {
        for_ever,
        ..Answer::default()
    };
    let silent = Answer {
        stays: true,
        ..Answer::default()
    };
    let body = Answer {
        bytes: record(STDOUT, b"Content-Type: text/plain\r\n\r\n"),
        for_ever: record(STDOUT, &[b'a'; 0xFFFF]),
        stays: false,
    };
    vec![
        (
            "/endless-headers",
            for_ever(record(STDOUT, &b"X-A: a\r\n".repeat(1000))),
        ),
        ("/endless-body", body),
        ("/silent", silent),
    ]
}

/// The application of the foreign namespace, and everything around it.
struct Scene {
    tenants: Tenants,
    sluice: Sluice,
    application: Application,
    _network: Network,
}

impl Scene {
    async fn start(plane: Plane) -> Result<Scene> {
        let (tenants, network) = (Tenants::start().await?, Network::reserve()?);
        let answer = |params: &Params| {
            let path = params.get("REQUEST_URI").cloned().unwrap_or_default();
            let is = |name: &str| name.as_bytes() == path;
            let broken = BROKEN.iter().find(|(name, _)| is(name));
            let endless = endless().into_iter().find(|(name, _)| is(name));
            match (broken, endless) {
                (Some((_, bytes)), _) => Answer::once(bytes.clone()),
                (None, Some((_, answer))) => answer,
                (None, None) => Answer::once(response("Content-Type: text/plain\r\n\r\nfine")),
            }
        };
        let application = Application::start(network.pod(0), answer).await?;
        tenants
            .manifests
            .service(FOREIGN, "php", 9000, &[network.pod(0)])?;
        tenants.manifests.ingress(
            &Ingress::new(FOREIGN, "php")
                .host(HOST)
                .path("/", "php", 9000)
                .annotation("backend-protocol", "FCGI"),
        )?;
        tenants.manifests.ingress(&neighbour("owner.test"))?;
        let sluice = plane.options(&tenants.manifests).start().await?;
        sluice.wait_for_pod("owner.test", OWNER).await?;
        // Envoy speaks no FastCGI, and says so.
        let status = if plane == Plane::Nginx { 200 } else { 503 };
        sluice.wait_for_status(HOST, "/", status).await?;
        Ok(Scene {
            tenants,
            sluice,
            application,
            _network: network,
        })
    }

    /// The rest of what holds for both.
    async fn finish(self, plane: Plane) -> Result<()> {
        let is_asked = !self.application.requests().is_empty();
        ensure!(is_asked == (plane == Plane::Nginx), "{plane:?}");
        self.sluice.wait_for_pod("owner.test", OWNER).await?;
        ensure_changes_are_accepted(&self.sluice, &self.tenants).await?;
        self.sluice.stop()
    }
}

/// A request for the application, and one of the owner on the same connection if it is still there, which is returned.
async fn ask(sluice: &Sluice, method: &str, path: &str) -> Result<bool> {
    let mut connection = Connection::open(sluice.http()).await?;
    let request = Request::new(method, HOST, path);
    let first = tokio::time::timeout(Duration::from_secs(3), connection.send(&request)).await;
    let Ok(first) = first else {
        ensure!((method, path) == ("GET", LEFT_OPEN), "it does not end");
        return Ok(false);
    };
    if first.is_err() || !connection.is_reusable() {
        return Ok(false);
    }
    let next = connection.send(&Request::get("owner.test", "/")).await;
    let next = next.context("the response behind it")?;
    ensure!(
        next.pod() == Some(OWNER),
        "behind {:?}: {} {:?}",
        first?.status,
        next.status,
        next.text()
    );
    Ok(true)
}

async fn broken_fastcgi_responses_end_where_clients_take_them_to_end(plane: Plane) -> Result<()> {
    let scene = Scene::start(plane).await?;
    let workers = scene.sluice.workers();
    let (mut wrong, mut reused) = (Vec::new(), 0);
    for (path, _) in BROKEN.iter() {
        for method in ["GET", "HEAD"] {
            match ask(&scene.sluice, method, path).await {
                Ok(is_reused) => reused += usize::from(is_reused),
                Err(error) => wrong.push(format!("{method} {path}: {error:#}")),
            }
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Most do not cost their client its connection, so what is behind them is seen.
    ensure!(reused > BROKEN.len(), "{reused} connections");
    ensure!(scene.sluice.workers() == workers, "a worker has ended");
    scene.finish(plane).await
}

async fn endless_fastcgi_responses_keep_nobody_else_waiting(plane: Plane) -> Result<()> {
    let scene = Scene::start(plane).await?;
    let workers = scene.sluice.workers();
    for (path, _) in endless() {
        let mut clients = Vec::new();
        // More than there are workers, and nobody reads.
        for _ in 0..8 {
            let mut client = TcpStream::connect(scene.sluice.http()).await?;
            let request = Request::get(HOST, path).to_bytes();
            client.write_all(&request).await?;
            clients.push(client);
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
        for _ in 0..20 {
            let asked = scene.sluice.get("owner.test", "/");
            let answer = tokio::time::timeout(Duration::from_secs(3), asked).await;
            let answer = answer.with_context(|| format!("{path}: the owner waits"))??;
            ensure!(answer.pod() == Some(OWNER), "{path}: {answer:?}");
        }
        for worker in &workers {
            let memory = proc::peak_memory(*worker)?;
            ensure!(memory < 300 << 20, "{path}: a worker has {memory} bytes");
        }
    }
    ensure!(scene.sluice.workers() == workers, "a worker has ended");
    scene.finish(plane).await
}
