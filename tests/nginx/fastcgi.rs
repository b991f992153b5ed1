//! A FastCGI application behind nginx: PHP, as distributions have it.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::artifacts;
use sluice_tests::http::{self, Request, Response};
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Network;
use sluice_tests::process::Process;
use sluice_tests::sluice::{Options, Sluice};
use tempfile::TempDir;

const HOST: &str = "php.test";
/// Says what it heard, and which process it is.
const SCRIPT: &str = "<?php header('Server: php'); header('X-Accel-Redirect: /elsewhere');
    echo json_encode(['pid' => getmypid(), 'server' => $_SERVER, 'body' => file_get_contents('php://input')]);";

/// Two processes that run the same scripts.
struct Application {
    manifests: Manifests,
    _pods: Vec<Process>,
    _scripts: TempDir,
    _network: Network,
}

impl Application {
    /// `annotations`: more of the Ingress.
    fn start(annotations: &[(&str, &str)]) -> Result<Application> {
        let (scripts, network) = (tempfile::tempdir()?, Network::reserve()?);
        std::fs::create_dir(scripts.path().join("shop"))?;
        std::fs::write(scripts.path().join("shop/index.php"), SCRIPT)?;
        let manifests = Manifests::new()?;
        let pods = network.pods(2);
        manifests.service("default", "php", 9000, &pods)?;
        manifests.object(&json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "params", "namespace": "default"},
            "data": {
                "SCRIPT_FILENAME": format!("{}$fastcgi_script_name", scripts.path().display()),
                "APP_MODE": "$request_method-of-\"$http_x_mode\"",
                "SERVER_SOFTWARE": "shop",
                "HTTP_PROXY": "http://proxy.test",
                "bad name": "x",
            },
        }))?;
        let ingress = Ingress::new("default", "php")
            .host(HOST)
            .path("/", "php", 9000)
            .annotation("backend-protocol", "FCGI")
            .annotation("fastcgi-index", "index.php")
            .annotation("fastcgi-params-configmap", "default/params");
        let ingress = annotations.iter().fold(ingress, |ingress, (name, value)| {
            ingress.annotation(name, value)
        });
        manifests.ingress(&ingress)?;
        let program = artifacts::php_cgi()?;
        let pods = pods.iter().map(|pod| {
            let mut command = Command::new(&program);
            command.args(["-b", &pod.to_string()]);
            Process::spawn(command)
        });
        Ok(Application {
            manifests,
            _pods: pods.collect::<Result<_>>()?,
            _scripts: scripts,
            _network: network,
        })
    }

    /// A controller whose nginx serves it.
    async fn served(&self) -> Result<Sluice> {
        let options = Options::new(&self.manifests).data_plane("nginx");
        let sluice = options.start().await?;
        sluice.wait_for_status(HOST, "/shop/", 200).await?;
        Ok(sluice)
    }
}

async fn heard(sluice: &Sluice, request: &Request) -> Result<Value> {
    let answer = http::send(sluice.http(), request).await?;
    ensure!(answer.status == 200, "{answer:?}");
    from_script(&answer)
}

fn from_script(answer: &Response) -> Result<Value> {
    ensure!(answer.header("server").is_none(), "{answer:?}");
    serde_json::from_str(&answer.text()).with_context(|| answer.text())
}

#[tokio::test]
async fn application_hears_the_request_and_its_parameters() -> Result<()> {
    let application = Application::start(&[])?;
    let sluice = application.served().await?;
    let request = Request::new("POST", HOST, "/shop/?a=%2f&b")
        .header("proxy", "http://evil.test")
        .header("x-mode", "a\\b;c")
        .header("x-real-ip", "192.0.2.1")
        .header("authorization", "Basic YWRhOng=")
        .body("a body");
    let heard = heard(&sluice, &request).await?;
    ensure!(heard["body"] == "a body", "{heard}");
    for (name, expected) in [
        ("SCRIPT_NAME", "/shop/index.php"),
        ("REQUEST_METHOD", "POST"),
        ("QUERY_STRING", "a=%2f&b"),
        ("REQUEST_URI", "/shop/?a=%2f&b"),
        ("CONTENT_LENGTH", "6"),
        ("REMOTE_ADDR", "127.0.0.1"),
        ("SERVER_PORT", "80"),
        ("SERVER_NAME", HOST),
        ("SERVER_SOFTWARE", "shop"),
        ("APP_MODE", "POST-of-\"a\\b;c\""),
        ("HTTP_HOST", HOST),
        ("HTTP_X_REAL_IP", "127.0.0.1"),
        ("HTTP_X_FORWARDED_PROTO", "http"),
    ] {
        ensure!(heard["server"][name] == expected, "{name}: {heard}");
    }
    for absent in ["HTTP_PROXY", "HTTPS", "bad name"] {
        ensure!(heard["server"].get(absent).is_none(), "{absent}: {heard}");
    }
    ensure!(
        heard["server"]["REMOTE_USER"] == "",
        "nobody asked: {heard}"
    );
    sluice.stop()
}

#[tokio::test]
async fn application_hears_who_was_let_in_and_no_password() -> Result<()> {
    let guard = [("auth-type", "basic"), ("auth-secret", "users")];
    let application = Application::start(&guard)?;
    application.manifests.object(&json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "users", "namespace": "default"},
        "stringData": {"auth": "ada:{PLAIN}x\n"},
    }))?;
    let sluice = Options::new(&application.manifests)
        .data_plane("nginx")
        .start()
        .await?;
    sluice.wait_for_status(HOST, "/shop/", 401).await?;
    let request = Request::get(HOST, "/shop/").header("authorization", "Basic YWRhOng=");
    let heard = heard(&sluice, &request).await?;
    ensure!(heard["server"]["REMOTE_USER"] == "ada", "{heard}");
    ensure!(
        heard["server"].get("HTTP_AUTHORIZATION").is_none(),
        "{heard}"
    );
    sluice.stop()
}

#[tokio::test]
async fn requests_are_balanced_over_the_pods_of_an_application() -> Result<()> {
    let application = Application::start(&[("custom-http-errors", "404")])?;
    let sluice = application.served().await?;
    let mut pids = BTreeSet::new();
    for _ in 0..20 {
        let heard = heard(&sluice, &Request::get(HOST, "/shop/")).await?;
        pids.insert(heard["pid"].as_u64().context("no pid")?);
    }
    ensure!(pids.len() == 2, "{pids:?}");
    let missing = sluice.get(HOST, "/none.php").await?;
    // As in ingress-nginx, which intercepts what comes over HTTP alone.
    let is_the_applications = missing.text().contains("No input file");
    ensure!(missing.status == 404 && is_the_applications, "{missing:?}");
    sluice.stop()
}
