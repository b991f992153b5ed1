//! Requests that are written down by Envoy, and that nginx writes the same.

use anyhow::{Result, ensure};
use regex::Regex;
use serde_json::json;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;

use crate::fixture::{Fixture, HOST};
use crate::scenarios::access_log::{self, config_map, with_settings};

#[tokio::test(flavor = "multi_thread")]
async fn access_log_records_requests_when_enabled() -> Result<()> {
    access_log::requests("envoy").await
}

#[tokio::test(flavor = "multi_thread")]
async fn access_log_follows_its_format_and_skips_excluded_paths() -> Result<()> {
    access_log::formats("envoy").await
}

#[tokio::test(flavor = "multi_thread")]
async fn tcp_connections_use_the_stream_log_format() -> Result<()> {
    access_log::connections("envoy").await
}

#[tokio::test(flavor = "multi_thread")]
async fn admin_requests_are_not_in_the_access_log() -> Result<()> {
    access_log::admin_requests("envoy").await
}

#[tokio::test(flavor = "multi_thread")]
async fn access_log_fields_are_the_same_on_both_data_planes() -> Result<()> {
    both_data_planes_write_the_same().await
}

/// Fields whose values are the same on both data planes; and of others what they look like.
const SAME: [&str; 17] = [
    "remote_addr",
    "request",
    "request_method",
    "request_uri",
    "uri",
    "args",
    "host",
    "http_host",
    "scheme",
    "server_protocol",
    "status",
    "proxy_upstream_name",
    "proxy_alternative_upstream_name",
    "namespace",
    "service_name",
    "service_port",
    "proxy_add_x_forwarded_for",
];
const ALIKE: [(&str, &str); 9] = [
    ("request_time", r"[0-9]+\.[0-9]{3}"),
    ("upstream_response_time", r"[0-9]+\.[0-9]{3}"),
    ("upstream_status", "2[0-9]{2}"),
    ("upstream_response_length", "[0-9]+"),
    ("body_bytes_sent", "[0-9]+"),
    ("request_length", "[0-9]+"),
    ("msec", r"[0-9]{10}\.[0-9]{3}"),
    (
        "time_local",
        "[0-9]{2}/[A-Z][a-z]{2}/20[0-9]{2}:[0-9:]{8} [+][0-9]{4}",
    ),
    ("req_id", "[0-9a-f-]{32,36}"),
];
const OF_CLIENT: [&str; 6] = [
    "http_x_forwarded_for",
    "http_referer",
    "http_x_real_ip",
    "http_x_none",
    "arg_b",
    "http_x_own",
];

/// Lines of these requests, by their fields.
async fn lines_of(data_plane: &str, requests: &[Request]) -> Result<Vec<Vec<String>>> {
    let fixture = Fixture::start(1, 1).await?;
    let names = SAME.iter().chain(&OF_CLIENT).copied();
    let names = names.chain(ALIKE.map(|(name, _)| name));
    let format: Vec<String> = names.map(|name| format!("${name}")).collect();
    let format = format!("$http_x_number|{}|", format.join("|"));
    config_map(
        &fixture.manifests,
        "settings",
        json!({"log-format-upstream": format}),
    )?;
    let canary = Ingress::new("default", "canary")
        .host(HOST)
        .path("/", "other", 80);
    let canary = canary
        .annotation("canary", "true")
        .annotation("canary-by-header", "x-canary");
    fixture
        .manifests
        .service("default", "other", 80, &[fixture.pods[0].addr()])?;
    fixture.manifests.ingress(&canary)?;
    let sluice = with_settings(&fixture, data_plane, &[]).await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    let mut lines = Vec::new();
    for (number, request) in requests.iter().enumerate() {
        let number = format!("number-{number}");
        let request = request.clone().header("x-number", &number);
        http::send(sluice.http(), &request).await?;
        let line = sluice.log().wait_for(&format!("{number}|")).await?;
        lines.push(line.split('|').skip(1).map(str::to_owned).collect());
    }
    sluice.stop()?;
    Ok(lines)
}

/// Whatever a request says, both data planes write the same of it.
async fn both_data_planes_write_the_same() -> Result<()> {
    let get = |path: &str| Request::get(HOST, path);
    let requests = [
        get("/"),
        get("/a?b=c&d=e").header("referer", "https://a.example/?x=\"y\""),
        get("/?b=%22").header("x-forwarded-for", "192.0.2.1, 192.0.2.2"),
        get("/").header("x-canary", "always"),
        get("/").header("x-own", "tab\there \\ and \"there\""),
        get("/").header("x-real-ip", "192.0.2.9"),
        Request::get(&format!("{}:8080", HOST.to_uppercase()), "/"),
        Request::get("nobody.test", "/quoted"),
    ];
    let (envoy, nginx) =
        tokio::try_join!(lines_of("envoy", &requests), lines_of("nginx", &requests))?;
    let same = SAME.len() + OF_CLIENT.len();
    let mut differences = Vec::new();
    for ((envoy, nginx), request) in envoy.iter().zip(&nginx).zip(&requests) {
        let names = SAME.iter().chain(&OF_CLIENT);
        for (place, name) in names.enumerate() {
            if envoy[place] != nginx[place] {
                let said = format!("Envoy {:?}, nginx {:?}", envoy[place], nginx[place]);
                differences.push(format!("{request:?}: ${name}: {said}"));
            }
        }
        for (place, (name, like)) in ALIKE.iter().enumerate() {
            let like = Regex::new(&format!("^({like}|-)$"))?;
            for line in [envoy, nginx] {
                ensure!(
                    like.is_match(&line[same + place]),
                    "{request:?}: ${name}: {line:?}"
                );
            }
        }
    }
    ensure!(differences.is_empty(), "{}", differences.join("\n"));
    Ok(())
}
