//! Requests that are written down by Envoy, and that nginx writes the same.

use anyhow::{Result, ensure};
use regex::Regex;
use serde_json::json;
use sluice_tests::certificate::Pair;
use sluice_tests::connection::Connection;
use sluice_tests::echo::{Echo, EchoIdentity, Setup};
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Network;
use sluice_tests::sluice::Options;
use sluice_tests::tls::server_config;

use crate::fixture::HOST;
use crate::scenarios::access_log::{self, config_map};

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
const OF_CLIENT: [&str; 8] = [
    "http_x_forwarded_for",
    "http_referer",
    "http_x_real_ip",
    "http_x_none",
    "arg_b",
    "cookie_sid",
    "http_x_own",
    "ssl_server_name",
];

/// Hosts, and an annotation by which their Service is spoken to in another way than usual. Ids of backends have a label for that.
const AUTO: &str = "auto.test";
const HOSTS: [(&str, Option<(&str, &str)>); 3] = [
    (HOST, None),
    ("slow.test", Some(("proxy-connect-timeout", "10"))),
    (AUTO, Some(("backend-protocol", "AUTO_HTTP"))),
];

/// Hosts with canaries.
struct Site {
    manifests: Manifests,
    _pod: Echo,
    _network: Network,
}

impl Site {
    /// All lead to the Service `web`, and their canaries to `other`.
    async fn start() -> Result<Site> {
        let (network, manifests) = (Network::reserve()?, Manifests::new()?);
        let setup = Setup {
            tls: Some(server_config(Pair::of(&["pod.test"])?.identity()?)?),
            ..Setup::default()
        };
        let pod = Echo::start_with(network.pod(0), EchoIdentity::of("web", "web-0"), setup).await?;
        for service in ["web", "other"] {
            manifests.service("default", service, 80, &[pod.addr()])?;
        }
        for (host, annotation) in HOSTS {
            let main = Ingress::new("default", host)
                .host(host)
                .path("/", "web", 80);
            let main = annotation
                .into_iter()
                .fold(main, |main, (name, value)| main.annotation(name, value));
            manifests.ingress(&main)?;
            let canary = Ingress::new("default", &format!("canary-{host}"))
                .annotation("canary", "true")
                .annotation("canary-by-header", "x-canary");
            manifests.ingress(&canary.host(host).path("/", "other", 80))?;
        }
        let names = SAME.iter().chain(&OF_CLIENT).copied();
        let names = names.chain(ALIKE.map(|(name, _)| name));
        let format: Vec<String> = names.map(|name| format!("${name}")).collect();
        let format = format!("$http_x_number|{}|", format.join("|"));
        config_map(
            &manifests,
            "settings",
            json!({"log-format-upstream": format}),
        )?;
        Ok(Site {
            manifests,
            _pod: pod,
            _network: network,
        })
    }
}

/// A request, over TLS or not.
type Sent = (Request, bool);

/// Lines of these requests, by their fields.
async fn lines_of(data_plane: &str, requests: &[Sent]) -> Result<Vec<Vec<String>>> {
    let site = Site::start().await?;
    let flags = ["--access-log", "--configmap", "sluice/settings"].map(str::to_owned);
    let options = Options::new(&site.manifests).data_plane(data_plane);
    let sluice = options.arguments(flags.into()).start().await?;
    for (host, _) in HOSTS {
        sluice.wait_for_status(host, "/", 200).await?;
    }
    let mut lines = Vec::new();
    for (number, (request, secure)) in requests.iter().enumerate() {
        let number = format!("number-{number}");
        let request = request.clone().header("x-number", &number);
        if *secure {
            let mut connection = Connection::open_tls(sluice.https(), AUTO).await?;
            connection.send(&request).await?;
        } else {
            http::send(sluice.http(), &request).await?;
        }
        let line = sluice.log().wait_for(&format!("{number}|")).await?;
        lines.push(line.split('|').skip(1).map(str::to_owned).collect());
    }
    sluice.stop()?;
    Ok(lines)
}

fn requests() -> Vec<Sent> {
    let get = |path: &str| Request::get(HOST, path);
    let plain = [
        get("/"),
        get("/a?b=c&d=e").header("referer", "https://a.example/?x=\"y\""),
        get("/?b=%22").header("x-forwarded-for", "192.0.2.1, 192.0.2.2"),
        get("/?bb=1&B=2&b=3").header("cookie", "a=b;SID=1"),
        get("/?a=b=c").header("cookie", "asid=1; sid = \"2\"; sid=3"),
        get("/?b=").header("cookie", "sid="),
        get("/").header("x-canary", "always"),
        get("/").header("x-own", "tab\there \\ and \"there\""),
        get("/").header("x-real-ip", "192.0.2.9"),
        Request::new("PROPFIND", HOST, "/"),
        Request::get(&format!("{}:8080", HOST.to_uppercase()), "/"),
        Request::get("nobody.test", "/quoted"),
    ];
    let hosts = HOSTS.iter().flat_map(|(host, _)| {
        ["never", "always"].map(|canary| Request::get(host, "/").header("x-canary", canary))
    });
    let secure = ["never", "always"].map(|canary| {
        let request = Request::get(AUTO, "/").header("x-canary", canary);
        (request, true)
    });
    let plain = plain.into_iter().chain(hosts);
    plain
        .map(|request| (request, false))
        .chain(secure)
        .collect()
}

/// Whatever a request says, both data planes write the same of it, and of backends what ingress-nginx writes.
async fn both_data_planes_write_the_same() -> Result<()> {
    let requests = requests();
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
            let expected = of_backend(name, &request.0);
            if expected.is_some_and(|expected| expected != nginx[place]) {
                differences.push(format!("{request:?}: ${name}: {:?}", nginx[place]));
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

/// Fields about backends, whatever the transport to them.
fn of_backend(name: &str, request: &Request) -> Option<&'static str> {
    let has = |name: &str, value: &str| {
        let mut headers = request.headers.iter();
        headers.any(|(its, itself)| its == name && itself == value)
    };
    let is_served = !has("host", "nobody.test");
    Some(match name {
        "proxy_upstream_name" if is_served => "default-web-80",
        "proxy_alternative_upstream_name" if has("x-canary", "always") => "default-other-80",
        "namespace" if is_served => "default",
        "service_name" if is_served => "web",
        "service_port" if is_served => "80",
        "proxy_upstream_name" => "-",
        "proxy_alternative_upstream_name" | "namespace" | "service_name" | "service_port" => "",
        _ => return None,
    })
}
