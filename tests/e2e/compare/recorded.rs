//! Requests of an access log and of a HAR file.

use std::fmt::Write;
use std::net::SocketAddr;

use anyhow::{Result, ensure};
use serde_json::json;
use sluice_tests::echo::Echo;
use sluice_tests::ports::Network;

use super::{Site, compare, findings, page};

/// Two pods in the place of data planes, whose bodies differ.
struct Planes {
    pods: Vec<Echo>,
    _network: Network,
}

impl Planes {
    async fn start() -> Result<Planes> {
        let network = Network::reserve()?;
        let pods = Echo::start_all("plane", &network.pods(2)).await?;
        pods[0].script(page("old"));
        pods[1].script(page("new"));
        Ok(Planes {
            pods,
            _network: network,
        })
    }

    fn urls(&self) -> [String; 2] {
        [0, 1].map(|pod: usize| SocketAddr::to_string(&self.pods[pod].addr()))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn safe_requests_of_a_log_are_sent_once_each_to_whose_they_are() -> Result<()> {
    let (site, planes) = (Site::start().await?, Planes::start().await?);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("log").display().to_string();
    let manifests = site.manifests().dir().display().to_string();
    let mut log = String::new();
    for (method, upstream) in [
        ("GET", "default-web-80"),
        ("GET", "default-web-80"),
        ("POST", "default-web-80"),
        ("DELETE", "default-web-80"),
        ("GET", "default-missing-80"),
    ] {
        writeln!(
            log,
            r#"10.0.0.7 - - [10/Oct/2025:13:55:36 +0000] "{method} /a HTTP/1.1" 200 5 "-" "-" 93 0.004 [{upstream}] [] 10.1.0.4:80 5 0.004 200 0f1e"#
        )?;
    }
    log += "{\"host\": \"web.test\", \"method\": \"HEAD\", \"uri\": \"/b?c=d\"}\nnonsense\n";
    std::fs::write(&path, log)?;
    let [old, new] = planes.urls();
    let flags = format!("--manifests {manifests} --access-log {path} --output json");
    let flags: Vec<&str> = flags.split(' ').collect();
    let output = compare(&old, &new, &flags).await?;
    let found = findings(&output)?;
    // Two requests of the log are safe, and one of them, HEAD, has no body to differ.
    ensure!(output.status.code() == Some(1), "{found:#}");
    ensure!(found["summary"]["requests"] == 2, "{found:#}");
    let left_out = found["left_out"].to_string();
    for part in [
        "not readable as a request",
        "no bodies",
        "no Ingress sends the path",
    ] {
        ensure!(left_out.contains(part), "{part}: {left_out}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_of_a_browser_go_to_the_hosts_that_are_named_and_change_things_once() -> Result<()>
{
    let planes = Planes::start().await?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("har").display().to_string();
    let entry = |method: &str, url: &str| {
        json!({"request": {"method": method, "url": url, "headers": [
            {"name": "cookie", "value": "secret=1"}], "postData": {"text": "x"}}})
    };
    let entries = [
        entry("POST", "http://a.test/x"),
        entry("GET", "http://elsewhere.test/"),
    ];
    std::fs::write(&path, json!({"log": {"entries": entries}}).to_string())?;
    let [old, new] = planes.urls();
    let without = ["--har", &path, "--output", "json"];
    let refused = compare(&old, &new, &without).await?;
    ensure!(refused.status.code() == Some(2), "{refused:?}");
    // A tenant may name any host, or all.
    let ingresses = folder.path().display().to_string();
    let with_ingresses = [&without[..], &["--manifests", &ingresses]].concat();
    let refused = compare(&old, &new, &with_ingresses).await?;
    ensure!(refused.status.code() == Some(2), "{refused:?}");
    let hits = || planes.pods.iter().map(Echo::hits).collect::<Vec<_>>();
    ensure!(hits() == [0, 0], "cookies of other hosts are not sent");
    let with = [&without[..], &["--host", "a.test", "--methods", "POST"]].concat();
    let output = compare(&old, &new, &with).await?;
    let found = findings(&output)?;
    ensure!(hits() == [1, 1], "{:?}: {found:#}", hits());
    let differences = found["ingresses"][0]["differences"].as_array();
    let mut differences = differences.into_iter().flatten();
    ensure!(differences.any(|it| it["what"] == "body"), "{found:#}");
    ensure!(!found.to_string().contains("secret"), "{found:#}");
    Ok(())
}
