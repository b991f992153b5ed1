//! Edits of headers, as the pod and the client see them.

use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::echo::{Echo, EchoIdentity};
use sluice_tests::http::{Request, Response};
use sluice_tests::nginx::{Conf, Nginx};
use sluice_tests::ports::{Network, Port};
use sluice_tests::{http, wait};
use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::fixture::{HOST, page};
use crate::guest::{Edit, Guest};

/// A pod behind a filter that edits.
struct EditingFilter {
    nginx: Nginx,
    port: Port,
    _pod: Echo,
    _network: Network,
    _folder: TempDir,
}

impl EditingFilter {
    async fn start(guest: Guest) -> Result<EditingFilter> {
        let (network, port, folder) = (Network::reserve()?, Port::reserve()?, TempDir::new()?);
        let pod = Echo::start(network.pod(0), EchoIdentity::of("web", "web-0")).await?;
        let http = format!(
            "sluice_wasm {};\nsluice_filter x;\nserver {{ listen {}; location / {{\n\
             proxy_set_header Host $http_host; proxy_set_header X-Cookies $http_cookie;\n\
             proxy_set_header X-Agent $http_user_agent;\n\
             proxy_set_header X-Chain $proxy_add_x_forwarded_for; proxy_pass http://{}; }} }}",
            guest.compile(folder.path())?.display(),
            port.addr(),
            pod.addr()
        );
        let nginx = Nginx::start(Conf::write("worker_processes 1;", &http)?).await?;
        wait::until("nginx to listen", async || {
            TcpStream::connect(port.addr()).await.ok()
        })
        .await?;
        Ok(EditingFilter {
            nginx,
            port,
            _pod: pod,
            _network: network,
            _folder: folder,
        })
    }

    fn addr(&self) -> SocketAddr {
        self.port.addr()
    }

    async fn send(&self, request: &Request) -> Result<(Response, Value)> {
        let response = http::send(self.addr(), request).await?;
        let seen = response.json().with_context(|| self.nginx.log().tail())?;
        Ok((response, seen["headers"].clone()))
    }
}

#[tokio::test]
async fn request_headers_are_added_replaced_and_removed() -> Result<()> {
    let edits = [
        Edit::Remove("X-Remove"),
        Edit::Replace("x-replace", "new"),
        Edit::Add("x-add", "2"),
        Edit::Replace("x-fresh", "1"),
    ];
    let filter = EditingFilter::start(Guest::default().on_request(&edits)).await?;
    let request = page()
        .header("x-remove", "1")
        .header("x-replace", "a")
        .header("x-keep", "1");
    let request = request
        .header("x-add", "1")
        .header("x-remove", "2")
        .header("X-Replace", "b");
    let (_, seen) = filter.send(&request).await?;
    ensure!(seen["x-remove"].is_null(), "{seen}");
    ensure!(
        seen["x-replace"] == json!(["new"]) && seen["x-fresh"] == json!(["1"]),
        "{seen}"
    );
    ensure!(
        seen["x-add"] == json!(["1", "2"]) && seen["x-keep"] == json!(["1"]),
        "{seen}"
    );
    filter.nginx.stop()
}

#[tokio::test]
async fn nginx_variables_follow_header_edits() -> Result<()> {
    let edits = [
        Edit::Remove("cookie"),
        Edit::Add("cookie", "mine=1"),
        Edit::Add("cookie", "also=2"),
        Edit::Replace("user-agent", "filter"),
        Edit::Remove("x-forwarded-for"),
        Edit::Add("x-forwarded-for", "192.0.2.7"),
    ];
    let filter = EditingFilter::start(Guest::default().on_request(&edits)).await?;
    let request = page()
        .header("cookie", "theirs=1")
        .header("user-agent", "client")
        .header("cookie", "b=2");
    let (_, seen) = filter
        .send(&request.header("x-forwarded-for", "198.51.100.1"))
        .await?;
    ensure!(seen["x-cookies"] == json!(["mine=1; also=2"]), "{seen}");
    ensure!(
        seen["x-agent"] == json!(["filter"]) && seen["user-agent"] == json!(["filter"]),
        "{seen}"
    );
    ensure!(seen["x-chain"] == json!(["192.0.2.7, 127.0.0.1"]), "{seen}");
    filter.nginx.stop()
}

#[tokio::test]
async fn framing_and_routing_headers_cannot_be_edited() -> Result<()> {
    let edits = [
        Edit::Remove("content-length"),
        Edit::Replace("transfer-encoding", "chunked"),
        Edit::Replace("host", "elsewhere.test"),
        Edit::Replace(":path", "/elsewhere"),
        Edit::Add("x-split", "a\\0d\\0aevil: 1"),
    ];
    let answer = [
        Edit::Replace("content-length", "1"),
        Edit::Remove("transfer-encoding"),
    ];
    let filter =
        EditingFilter::start(Guest::default().on_request(&edits).on_response(&answer)).await?;
    let request = Request::new("POST", HOST, "/here").body("hello");
    let response = http::send(filter.addr(), &request).await?;
    let seen = response.json()?;
    ensure!(
        seen["body_bytes"] == 5 && seen["host"] == HOST && seen["path"] == "/here",
        "{seen}"
    );
    ensure!(
        seen["headers"]["x-split"].is_null() && seen["headers"]["evil"].is_null(),
        "{seen}"
    );
    filter.nginx.stop()
}

/// nginx keeps 20 headers in each part of its list; all ways in which parts can shrink, split and vanish are here.
#[tokio::test]
async fn any_of_many_request_headers_can_be_removed() -> Result<()> {
    let edits = [
        Edit::Remove("x-remove"),
        Edit::Add("x-last", "1"),
        Edit::Add("x-last", "2"),
    ];
    let filter = EditingFilter::start(Guest::default().on_request(&edits)).await?;
    let patterns: [fn(usize) -> bool; 8] = [
        |_| true,
        |n| n == 0,
        |n| n == 61,
        |n| n.is_multiple_of(2),
        |n| !n.is_multiple_of(3),
        |n| (15..45).contains(&n),
        |n| n >= 19,
        |n| n < 40,
    ];
    for (pattern, removed) in patterns.iter().enumerate() {
        for count in [1, 2, 18, 19, 20, 39, 40, 62] {
            let mut request = page();
            let mut kept = Vec::new();
            for n in 0..count {
                let name = if removed(n) { "x-remove" } else { "x-kept" };
                request = request.header(name, &n.to_string());
                kept.extend((!removed(n)).then(|| n.to_string()));
            }
            let (_, seen) = filter
                .send(&request)
                .await
                .with_context(|| format!("{pattern}, {count}"))?;
            let expected = if kept.is_empty() {
                Value::Null
            } else {
                json!(kept)
            };
            ensure!(
                seen["x-remove"].is_null(),
                "pattern {pattern}, {count} headers: {seen}"
            );
            ensure!(
                seen["x-kept"] == expected,
                "pattern {pattern}, {count} headers: {seen}"
            );
            ensure!(
                seen["x-last"] == json!(["1", "2"]),
                "pattern {pattern}, {count} headers: {seen}"
            );
        }
    }
    filter.nginx.stop()
}

#[tokio::test]
async fn response_headers_are_added_replaced_and_removed() -> Result<()> {
    let edits = [
        Edit::Add("set-cookie", "a=1"),
        Edit::Add("set-cookie", "b=2"),
        Edit::Remove("x-pod"),
        Edit::Replace("content-type", "text/x-edited"),
        Edit::Replace("server", "sluice"),
        Edit::Replace("location", "/here"),
    ];
    let filter = EditingFilter::start(Guest::default().on_response(&edits)).await?;
    let response = http::send(filter.addr(), &page()).await?;
    ensure!(
        response.headers("set-cookie").collect::<Vec<_>>() == ["a=1", "b=2"],
        "{response:?}"
    );
    ensure!(response.header("x-pod").is_none(), "{response:?}");
    ensure!(
        response.headers("content-type").collect::<Vec<_>>() == ["text/x-edited"],
        "{response:?}"
    );
    ensure!(
        response.headers("server").collect::<Vec<_>>() == ["sluice"],
        "{response:?}"
    );
    ensure!(response.header("location").is_some(), "{response:?}");
    filter.nginx.stop()
}
