//! `envoy/drop-in` and `examples/drop-in-envoy`, as they are, but on ports and pods of the test's own.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use sluice_tests::artifacts::{self, repository};
use sluice_tests::echo::{Echo, EchoIdentity};
use sluice_tests::envoy::Envoy;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::{Manifests, endpoint_slice};
use sluice_tests::ports::{Network, Port};
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;
use tempfile::TempDir;

use crate::fake_controller::Controller;
use crate::scenarios::large_documents;

const HOST: &str = "hello.localhost";
const CONFIG: &str = "envoy/drop-in/envoy.yaml";
const PODS: [&str; 3] = ["hello-a", "hello-b", "hello-c"];

#[tokio::test]
async fn filter_picks_among_the_operators_own_endpoints() -> Result<()> {
    let example = Example::start().await?;
    // The operator's clusters still have hello-b: nobody but the filter can have left it out.
    example.leave_out(1)?;
    example.answers(&["hello-a", "hello-c"]).await?;
    let endpoints = example.envoy.admin("/clusters").await?;
    ensure!(
        endpoints.contains(&format!("hello::{}::", example.pods[1].addr())),
        "{endpoints}"
    );

    let status = example.send(&Request::get("any.test", "/status")).await?;
    ensure!(
        status.text() == "mine\n",
        "a route that is not Sluice's: {status:?}"
    );
    Ok(())
}

#[tokio::test]
async fn clients_and_pods_cannot_influence_the_pick() -> Result<()> {
    let example = Example::start().await?;
    example.leave_out(1)?;
    example.answers(&["hello-a", "hello-c"]).await?;
    for header in ["x-sluice-endpoint", "X-Sluice-Endpoint", "x-sluice-other"] {
        let request = Request::get(HOST, "/").header(header, &example.pods[1].addr().to_string());
        let page = example.send(&request).await?;
        ensure!(page.pod() != Some("hello-b"), "{header}: {page:?}");
        let seen = page.json()?["headers"].to_string();
        ensure!(!seen.contains("x-sluice"), "the pod saw {seen}");
    }
    Ok(())
}

#[tokio::test]
async fn last_configuration_serves_without_the_controller() -> Result<()> {
    let mut example = Example::start().await?;
    example.leave_out(1)?;
    example.answers(&["hello-a", "hello-c"]).await?;
    example.sluice.stop()?;
    // The last tables stay, and a retry goes to the next candidate.
    example.pods[0].stop().await;
    for _ in 0..4 {
        let page = http::get(example.edge.addr(), HOST, "/").await?;
        ensure!(page.pod() == Some("hello-c"), "{page:?}");
    }
    Ok(())
}

#[tokio::test]
async fn document_of_ten_mebibytes_is_taken_from_the_poll() -> Result<()> {
    let (network, edge, folder) = (Network::reserve()?, Port::reserve()?, tempfile::tempdir()?);
    let addresses = network.pods(3);
    let _pods = Echo::start_all("hello", &addresses).await?;
    let eds = folder.path().join("eds.yaml");
    fs::write(&eds, at(&read("envoy/drop-in/eds.yaml")?, &addresses)?)?;
    let socket = folder.path().join("controller.sock");
    let controller = Controller::on_socket(&socket)?;
    let bootstrap = bootstrap(&edge, &path(&socket), &eds)?;
    let mut envoy = Envoy::start(&bootstrap).await?;
    envoy.ready().await?;
    // Until there are tables, Envoy balances by itself.
    answers(&edge, &["hello-0", "hello-1", "hello-2"]).await?;
    let route = format!("{HOST}/");
    controller.publish(large_documents::ten_mebibytes(&route, addresses[1])?);
    let followed = answers(&edge, &["hello-1"]).await;
    followed.with_context(|| envoy.log().tail())?;
    envoy.stop()
}

/// The drop-in's list is for people to copy; it must not fall behind the one that Sluice gives to its own Envoys.
#[test]
fn drop_in_grants_the_wasm_capabilities_that_sluice_grants() -> Result<()> {
    let text = read(CONFIG)?;
    let mut listed: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.contains("allowed_capabilities:"))
        .skip(1)
        .map_while(|line| line.trim().strip_suffix(": {}"))
        .collect();
    let mut ours = sluice_xds::render::CAPABILITIES.to_vec();
    listed.sort_unstable();
    ours.sort_unstable();
    ensure!(
        listed == ours,
        "{CONFIG} allows {listed:?}, Sluice {ours:?}"
    );
    Ok(())
}

/// The example on stage.
struct Example {
    pods: Vec<Echo>,
    manifests: Manifests,
    sluice: Sluice,
    envoy: Envoy,
    edge: Port,
    _network: Network,
    _folder: TempDir,
}

impl Example {
    async fn start() -> Result<Example> {
        let (network, edge, folder) = (Network::reserve()?, Port::reserve()?, tempfile::tempdir()?);
        let addresses = network.pods(3);
        let mut pods = Vec::new();
        for (name, address) in PODS.iter().zip(&addresses) {
            pods.push(Echo::start(*address, EchoIdentity::of("hello", name)).await?);
        }
        let manifests = manifests(&addresses)?;
        let sluice = Options::new(&manifests)
            .without_data_plane()
            .start()
            .await?;
        let eds = folder.path().join("eds.yaml");
        fs::write(&eds, at(&read("envoy/drop-in/eds.yaml")?, &addresses)?)?;
        let bootstrap = bootstrap(&edge, sluice.xds(), &eds)?;
        let mut envoy = Envoy::start(&bootstrap).await?;
        envoy.ready().await?;
        let example = Example {
            pods,
            manifests,
            sluice,
            envoy,
            edge,
            _network: network,
            _folder: folder,
        };
        example.answers(&PODS).await?;
        Ok(example)
    }

    async fn answers(&self, expected: &[&str]) -> Result<()> {
        answers(&self.edge, expected)
            .await
            .with_context(|| self.envoy.log().tail())
    }

    /// Takes a pod out of the EndpointSlice, and not out of the operator's own endpoints.
    fn leave_out(&self, pod: usize) -> Result<()> {
        let mut stay: Vec<SocketAddr> = self.pods.iter().map(Echo::addr).collect();
        stay.remove(pod);
        let slice = endpoint_slice("default", "hello", &stay);
        self.manifests
            .write("endpointslice.yaml", &serde_json::to_string_pretty(&slice)?)
    }

    async fn send(&self, request: &Request) -> Result<http::Response> {
        http::send(self.edge.addr(), request).await
    }
}

/// Waits until these pods, and no others, answer.
async fn answers(edge: &Port, expected: &[&str]) -> Result<()> {
    let round = async || {
        let mut names = Vec::new();
        for _ in 0..2 * PODS.len() {
            let page = http::get(edge.addr(), HOST, "/").await.ok()?;
            names.push(page.pod()?.to_owned());
        }
        names.sort_unstable();
        names.dedup();
        (names == expected).then_some(())
    };
    let waited = wait::until(&format!("answers of {expected:?}"), round).await;
    waited.map(drop)
}

fn read(path: &str) -> Result<String> {
    fs::read_to_string(repository().join(path)).with_context(|| path.to_owned())
}

/// Replaces a text as a reader would by hand. A missing text means that the example has changed under this test.
fn replace(text: &str, from: &str, to: &str) -> Result<String> {
    ensure!(text.contains(from), "the example no longer says {from:?}");
    Ok(text.replace(from, to))
}

/// The example's pods at other addresses.
fn at(text: &str, addresses: &[SocketAddr]) -> Result<String> {
    let mut text = text.to_owned();
    for (n, address) in addresses.iter().enumerate() {
        text = replace(
            &text,
            &format!("127.10.0.{}", n + 1),
            &address.ip().to_string(),
        )?;
    }
    replace(&text, "9001", &addresses[0].port().to_string())
}

fn manifests(addresses: &[SocketAddr]) -> Result<Manifests> {
    let folder = "examples/drop-in-envoy/manifests";
    let manifests = Manifests::copy_of(&repository().join(folder))?;
    let slice = "endpointslice.yaml";
    manifests.write(slice, &at(&read(&format!("{folder}/{slice}"))?, addresses)?)?;
    Ok(manifests)
}

fn bootstrap(edge: &Port, xds: &str, eds: &Path) -> Result<String> {
    let text = read(CONFIG)?;
    let text = replace(
        &text,
        "0.0.0.0, port_value: 10000",
        &format!("127.0.0.1, port_value: {}", edge.number()),
    )?;
    let text = replace(
        &text,
        "target/controller.sock",
        xds.trim_start_matches("unix:"),
    )?;
    let text = replace(
        &text,
        "target/wasm32-wasip1/filter/sluice_filter.wasm",
        &path(&artifacts::filter()?),
    )?;
    replace(&text, "envoy/drop-in/eds.yaml", &path(eds))
}

fn path(path: &Path) -> String {
    path.display().to_string()
}
