//! `examples/firewall`, as it is, but on ports and a pod of the test's own. The requests and their statuses are those of its page.

use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use sluice_tests::artifacts::repository;
use sluice_tests::echo::{Echo, EchoIdentity};
use sluice_tests::manifests::Manifests;
use sluice_tests::ports::Network;
use sluice_tests::sluice::Options;

const FOLDER: &str = "examples/firewall";
const ADDRESS: &str = "127.0.0.1:8080";

/// The requests of the page, and what they print.
fn requests(page: &str) -> Vec<(&str, &str)> {
    let blocks = page.split("```sh\n").skip(1);
    let with_output = blocks.filter_map(|block| block.split_once("\n```\n\n```text\n"));
    with_output
        .filter_map(|(command, rest)| Some((command, rest.split_once("\n```")?.0)))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_firewall_rejects_what_the_page_says() -> Result<()> {
    let folder = repository().join(FOLDER);
    let network = Network::reserve()?;
    let pod = Echo::start(network.pod(0), EchoIdentity::of("hello", "hello-a")).await?;
    let manifests = Manifests::copy_of(&folder.join("manifests"))?;
    let slice = fs::read_to_string(folder.join("manifests/endpointslice.yaml"))?;
    let slice = replace(&slice, "127.10.0.1", &pod.addr().ip().to_string())?;
    let slice = replace(&slice, "9001", &pod.addr().port().to_string())?;
    manifests.write("endpointslice.yaml", &slice)?;
    let page = fs::read_to_string(folder.join("README.md"))?;
    ensure!(page.contains("--data-plane nginx --configmap default/sluice"));
    let arguments = ["--configmap", "default/sluice"].map(str::to_owned).into();
    let options = Options::new(&manifests)
        .data_plane("nginx")
        .arguments(arguments);
    let sluice = options.start().await?;
    sluice.wait_for_status("hello.localhost", "/", 200).await?;
    let requests = requests(&page);
    ensure!(requests.len() == 5, "{requests:?}");
    for (command, printed) in requests {
        let command = replace(command, ADDRESS, &sluice.http().to_string())?;
        let run = || Command::new("sh").args(["-c", &command]).output();
        let output = tokio::task::block_in_place(run).context("sh")?;
        let seen = String::from_utf8(output.stdout)?;
        ensure!(seen.trim() == printed, "{command}: {seen}");
    }
    sluice.stop()
}

/// Replaces a text as a reader would by hand. A missing text means that the example has changed under this test.
fn replace(text: &str, from: &str, to: &str) -> Result<String> {
    ensure!(text.contains(from), "the example no longer says {from:?}");
    Ok(text.replace(from, to))
}
