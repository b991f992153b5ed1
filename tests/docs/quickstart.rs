//! The commands of the quickstart, with ports and addresses of the test's own.

use std::fs;
use std::net::SocketAddr;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use sluice_tests::artifacts::{self, repository};
use sluice_tests::echo::{Echo, EchoIdentity};
use sluice_tests::http::{self, Request, Response};
use sluice_tests::manifests::Manifests;
use sluice_tests::ports::{Network, Port};
use sluice_tests::process::Process;
use sluice_tests::wait;

use crate::commands::{Documented, documented};

const PAGE: &str = "docs/quickstart.md";
/// The first pod, as manifests and page have it.
const POD: &str = "127.10.0.1";
const HOST: &str = "hello.localhost";

#[tokio::test(flavor = "multi_thread")]
async fn quickstart_answers_as_it_says() -> Result<()> {
    let page = fs::read_to_string(repository().join(PAGE))?;
    let curl = format!("curl -i -H 'Host: {HOST}' http://127.0.0.1:8080/");
    for said in [
        &*curl,
        "answered with 502",
        "http.server 9001 --bind 127.10.0.1",
    ] {
        ensure!(page.contains(said), "{PAGE} does not say {said:?}");
    }
    let network = Network::reserve()?;
    let (http, https, health) = (Port::reserve()?, Port::reserve()?, Port::reserve()?);
    let manifests = Manifests::copy_of(&repository().join("examples/hello/manifests"))?;
    let pods = network.pods(3);
    replace_pods(&manifests, &pods)?;

    let mut command = Command::new(artifacts::sluice()?);
    command.args(run_words()?).arg(manifests.dir());
    command.args(["--bind-address", "127.0.0.1", "--dashboard-port", "0"]);
    for (flag, port) in [
        ("--http-port", &http),
        ("--https-port", &https),
        ("--healthz-port", &health),
    ] {
        command.arg(flag).arg(port.number().to_string());
    }
    command.arg("--envoy-binary").arg(artifacts::envoy()?);
    let mut sluice = Process::spawn(command)?;

    answers(http.addr(), 502)
        .await
        .with_context(|| sluice.log().tail())?;
    let pod = Echo::start(pods[0], EchoIdentity::of("hello", "hello-a")).await?;
    let response = answers(http.addr(), 200)
        .await
        .with_context(|| sluice.log().tail())?;
    ensure!(response.pod() == Some(pod.name()), "{response:?}");
    // Requests that meet one of the two others are tried again.
    for _ in 0..20 {
        let response = asked(http.addr()).await?;
        ensure!(response.status == 200, "{response:?}");
    }
    ensure!(sluice.stop()?.success(), "{}", sluice.log().tail());
    Ok(())
}

/// `run --manifests`, as the page has it.
fn run_words() -> Result<Vec<String>> {
    let is_run = |it: &Documented| it.page.ends_with(PAGE) && it.words[..1] == ["run"];
    let run = documented("sluice ")?.into_iter().find(is_run);
    let mut words = run.context("the page has no `sluice run`")?.words;
    let folder = words.pop();
    ensure!(
        folder.as_deref() == Some("examples/hello/manifests"),
        "{folder:?}"
    );
    Ok(words)
}

fn replace_pods(manifests: &Manifests, pods: &[SocketAddr]) -> Result<()> {
    let file = "endpointslice.yaml";
    let mut text = fs::read_to_string(manifests.dir().join(file))?;
    ensure!(text.contains(POD), "{text}");
    for (n, pod) in pods.iter().enumerate() {
        text = text.replace(&format!("127.10.0.{}", n + 1), &pod.ip().to_string());
    }
    manifests.write(file, &text.replace("9001", &pods[0].port().to_string()))
}

async fn asked(addr: SocketAddr) -> Result<Response> {
    http::send(addr, &Request::get(HOST, "/")).await
}

async fn answers(addr: SocketAddr, status: u16) -> Result<Response> {
    let is_answered = async || {
        let response = asked(addr).await.ok()?;
        (response.status == status).then_some(response)
    };
    let waited = wait::until(&format!("status {status}"), is_answered).await?;
    Ok(waited.0)
}
