//! Requests that are written down, in every data plane: what the operator asked for, without the paths that asked to be
//! left out.

use anyhow::{Context, Result, ensure};
use regex::Regex;
use serde_json::{Value, json};
use sluice_tests::connection::Connection;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Port;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;

use crate::fixture::{Fixture, HOST, page};

const QUIET: &str = "quiet.test";

/// The line of a request, found by what its `User-Agent` becomes.
async fn line(sluice: &Sluice, agent: &str) -> Result<String> {
    sluice.log().wait_for(agent).await
}

/// Requests are written down where that is asked for.
pub(crate) async fn requests(data_plane: &str) -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let quiet = Ingress::new("default", "quiet")
        .host(QUIET)
        .path("/", "web", 80);
    fixture
        .manifests
        .ingress(&quiet.annotation("enable-access-log", "false"))?;
    let options = Options::new(&fixture.manifests).arguments(vec!["--access-log".to_owned()]);
    let sluice = options.data_plane(data_plane).start().await?;
    let send = async |host: &str, agent: &str| {
        http::send(
            sluice.http(),
            &Request::get(host, "/a?b=c").header("user-agent", agent),
        )
        .await
    };
    ensure!(send(QUIET, "left-out").await?.status == 200);
    ensure!(send("nobody.test", "no-route").await?.status == 404);
    ensure!(send(HOST, "a \"quoted\" \\one").await?.status == 200);
    let served = line(&sluice, r"a \x22quoted\x22 \x5Cone").await?;
    let pod = fixture.pods[0].addr().to_string().replace('.', r"\.");
    let usual = format!(
        r#"^127\.0\.0\.1 - - \[[^]]+\] "GET /a\?b=c HTTP/1\.1" 200 [0-9]+ "-" "a \\x22quoted\\x22 \\x5Cone" [0-9]+ [0-9]+\.[0-9]{{3}} \[default-web-80\] \[\] {pod} [0-9]+ [0-9]+\.[0-9]{{3}} 200 [0-9a-f-]{{32,36}}$"#
    );
    ensure!(Regex::new(&usual)?.is_match(&served), "{served}");
    let unknown = line(&sluice, "no-route").await?;
    ensure!(
        unknown.contains("\"GET /a?b=c HTTP/1.1\" 404 "),
        "{unknown}"
    );
    // Envoy refuses it before it has noted anything of it.
    let upgrade = [("connection", "upgrade"), ("upgrade", "other")];
    http::send(
        sluice.http(),
        &Request::get(HOST, "/upgraded").headers(&upgrade),
    )
    .await?;
    line(&sluice, "\"GET /upgraded HTTP/1.1\" ").await?;
    let lines = sluice.log().lines();
    ensure!(
        !lines.iter().any(|line| line.contains("left-out")),
        "the quiet host is in the log"
    );
    sluice.stop()
}

pub(crate) fn config_map(manifests: &Manifests, name: &str, data: Value) -> Result<()> {
    let metadata = json!({"name": name, "namespace": "sluice"});
    manifests.object(
        &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}),
    )
}

pub(crate) async fn with_settings(
    fixture: &Fixture,
    data_plane: &str,
    more: &[&str],
) -> Result<Sluice> {
    let flags = ["--access-log", "--configmap", "sluice/settings"]
        .iter()
        .chain(more);
    let flags = flags.map(|flag| (*flag).to_owned()).collect();
    Options::new(&fixture.manifests)
        .arguments(flags)
        .data_plane(data_plane)
        .start()
        .await
}

/// A line is the text that the operator wrote, also where it is JSON, and some paths have none.
pub(crate) async fn formats(data_plane: &str) -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let format = r#"{"z": "$time_iso8601", "who": "$remote_addr", "agent": "$http_user_agent", "status": $status, "text": "$status",
        "took": $request_time, "list": [{"line": "$request", "none": "$http_x_absent"}], "city": "$geoip_city"}"#;
    let format = format.replace("\n        ", "");
    let settings = json!({
        "log-format-escape-json": "true",
        "log-format-upstream": format,
        "skip-access-log-urls": "/healthz,/quiet?a=b",
    });
    config_map(&fixture.manifests, "settings", settings)?;
    let rewritten = Ingress::new("default", "moved")
        .host("moved.test")
        .path("/from", "web", 80);
    fixture
        .manifests
        .ingress(&rewritten.annotation("rewrite-target", "/healthz"))?;
    let sluice = with_settings(&fixture, data_plane, &[]).await?;
    let send = async |host: &str, path: &str, agent: &str| {
        http::send(
            sluice.http(),
            &Request::get(host, path).header("user-agent", agent),
        )
        .await
    };
    for path in ["/healthz", "/quiet?a=b"] {
        ensure!(send(HOST, path, "left-out").await?.status == 200);
    }
    ensure!(send("moved.test", "/from", "moved").await?.status == 200);
    let agent = "a \"quoted\" \\\tone, \u{201c}\u{416}\u{201d}, \u{db}";
    ensure!(send(HOST, "/quiet", agent).await?.status == 200);

    let written = line(&sluice, &serde_json::to_string(agent)?).await?;
    ensure!(written.starts_with(r#"{"z": "20"#), "{written}");
    let served: Value = serde_json::from_str(&written).with_context(|| written.clone())?;
    ensure!(
        served["status"] == 200 && served["text"] == "200" && served["who"] == "127.0.0.1",
        "{served}"
    );
    ensure!(
        served["list"] == json!([{"line": "GET /quiet HTTP/1.1", "none": ""}]),
        "{served}"
    );
    ensure!(
        served["agent"] == agent && served["took"].is_number(),
        "{served}"
    );
    ensure!(line(&sluice, "moved").await?.contains("GET /from HTTP/1.1"));
    long_requests(&sluice, data_plane).await?;
    let lines = sluice.log().lines();
    ensure!(
        !lines.iter().any(|line| line.contains("left-out")),
        "a path that is left out is in the log"
    );
    let mut lines = lines.iter();
    let is_said = lines.any(|line| line.contains("$geoip_city is not supported"));
    ensure!(is_said, "it is said what there is not");
    sluice.stop()
}

/// However long a path or a header is, its request has a line. nginx refuses most of these (414, 400); what Envoy serves is written in full,
/// though it notes no value of 8 KiB.
async fn long_requests(sluice: &Sluice, data_plane: &str) -> Result<()> {
    let padded = |text: &str, size: usize| format!("{text}{}", "x".repeat(size - text.len()));
    for size in [8191, 8192, 20_000] {
        let path = padded(&format!("/long-{size}?"), size);
        let agent = padded(&format!("agent-{size}-"), size);
        let by_agent = format!("/by-agent-{size}");
        for (path, agent) in [(path.as_str(), "long"), (&by_agent, &agent)] {
            let request = Request::get(HOST, path).header("user-agent", agent);
            let status = http::send(sluice.http(), &request).await?.status;
            ensure!(status == 200 || data_plane == "nginx", "{status}");
            let begin = &path[..path.len().min(16)];
            let written = sluice.log().wait_for(&format!("GET {begin}")).await?;
            let is_whole = [path, agent].iter().all(|text| written.contains(*text));
            ensure!(is_whole || status != 200, "{path:.20}: {written}");
        }
    }
    // Envoy knows of such a path what the pod got, which is another one that has no line.
    let from = padded("/from?", 8192);
    let request = Request::get("moved.test", &from).header("user-agent", "long-moved");
    if http::send(sluice.http(), &request).await?.status == 200 {
        let written = line(sluice, "long-moved").await?;
        ensure!(written.contains("GET /healthz?xxx"), "{written}");
    }
    Ok(())
}

/// Connections of a TCP port are written down as text or not at all.
pub(crate) async fn connections(data_plane: &str) -> Result<()> {
    let (fixture, port) = (Fixture::start(1, 1).await?, Port::reserve()?);
    let format = "stream 100% $remote_addr [$time_local] $protocol $bytes_sent [$proxy_upstream_name] to $upstream_addr";
    let settings = |more: &str| json!({"log-format-stream": format, "disable-http-access-log": "true", more: "true"});
    config_map(
        &fixture.manifests,
        "settings",
        settings("log-format-escape-none"),
    )?;
    config_map(
        &fixture.manifests,
        "tcp",
        json!({(port.number().to_string()): "default/web:80"}),
    )?;
    let sluice = with_settings(
        &fixture,
        data_plane,
        &["--tcp-services-configmap", "sluice/tcp"],
    )
    .await?;
    let open = async || Connection::open(port.addr()).await.ok();
    let (mut connection, _) = wait::until("the TCP port to be listened on", open).await?;
    ensure!(connection.send(&page()).await?.pod() == Some("web-0"));
    drop(connection);
    let written = sluice.log().wait_for("stream 100% 127.0.0.1 [").await?;
    ensure!(
        written.ends_with(&format!(
            " [default/web/http] to {}",
            fixture.pods[0].addr()
        )),
        "{written}"
    );
    ensure!(sluice.get(HOST, "/").await?.status == 200);
    ensure!(
        !sluice
            .log()
            .lines()
            .iter()
            .any(|line| line.contains(HOST) && line.contains("GET"))
    );
    sluice.stop()
}

/// Pages of the admin socket, health and metrics: `/nginx_status` and `/metrics` ask the data plane itself.
const ADMIN_PAGES: [&str; 5] = [
    "/configuration/backends",
    "/configuration/nope",
    "/is-dynamic-lb-initialized",
    "/nginx_status",
    "/healthz",
];
const HEALTH_PAGES: [&str; 2] = ["/healthz", "/metrics"];

/// Requests of clients are written down, and those to the admin interface are not.
pub(crate) async fn admin_requests(data_plane: &str) -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let format = json!({"log-format-upstream": "logged $request_uri"});
    config_map(&fixture.manifests, "settings", format)?;
    let sluice = with_settings(&fixture, data_plane, &[]).await?;
    ensure!(sluice.get(HOST, "/first").await?.status == 200);
    for page in ADMIN_PAGES {
        http::get_unix(&sluice.admin_socket(), page)
            .await
            .context(page)?;
    }
    for page in HEALTH_PAGES {
        let answer = http::get(sluice.health(), "health", page).await?;
        ensure!(answer.status == 200, "{page}: {}", answer.status);
    }
    ensure!(sluice.get(HOST, "/last").await?.status == 200);
    line(&sluice, "logged /last").await?;
    let lines = sluice.log().lines();
    let logged: Vec<&String> = lines
        .iter()
        .filter(|line| line.contains("logged "))
        .collect();
    ensure!(logged == ["logged /first", "logged /last"], "{logged:?}");
    sluice.stop()
}
