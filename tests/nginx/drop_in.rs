//! `nginx-wasm/drop-in`, as it is, but on ports and pods of the test's own.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use sluice_tests::artifacts::{self, repository};
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::nginx::{Conf, Nginx};
use sluice_tests::ports::Port;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;

use crate::fixture::{Fixture, HOST};
use crate::gateway::Form;

struct Example {
    fixture: Fixture,
    sluice: Sluice,
    nginx: Nginx,
    port: Port,
}

impl Example {
    async fn start(file: &str) -> Result<Example> {
        let (fixture, port) = (Fixture::start(3, 2).await?, Port::reserve()?);
        fixture.manifests.ingress(
            &Ingress::new("default", "web")
                .host(HOST)
                .path("/", "web", 80),
        )?;
        let sluice = Options::new(&fixture.manifests)
            .without_data_plane()
            .start()
            .await?;
        let text = std::fs::read_to_string(repository().join("nginx-wasm/drop-in").join(file))?;
        let text = replace(&text, "listen 8080", &format!("listen {}", port.addr()))?;
        let text = replace(
            &text,
            "\"unix:/run/sluice/controller.sock\"",
            &format!("\"{}\"", sluice.xds()),
        )?;
        let text = replace(&text, "shop.example", HOST)?;
        let kongs = artifacts::ngx_wasm().filter(|_| file == "kong.conf");
        let text = match &kongs {
            Some(_) => replace(&text, "sluice_filter.wasm", &path(&artifacts::filter()?))?,
            None if file == "kong.conf" => ours(&kongs_as_ours(&text)?)?,
            None => ours(&text)?,
        };
        let conf = Conf::beside(&text)?;
        let nginx = match kongs {
            Some(binary) => Nginx::start_with(&binary, conf).await?,
            None => Nginx::start(conf).await?,
        };
        let example = Example {
            fixture,
            sluice,
            nginx,
            port,
        };
        example.answers(&["web-0", "web-1"]).await?;
        Ok(example)
    }

    /// Waits until these pods, and no others, answer.
    async fn answers(&self, expected: &[&str]) -> Result<()> {
        let round = async || {
            let mut names = Vec::new();
            for _ in 0..6 {
                let page = http::get(self.port.addr(), HOST, "/").await.ok()?;
                names.push(page.pod()?.to_owned());
            }
            names.sort_unstable();
            names.dedup();
            (names == expected).then_some(())
        };
        let waited = wait::until(&format!("answers of {expected:?}"), round).await;
        waited.map(drop).with_context(|| self.nginx.log().tail())
    }

    /// The story of every host: the filter's choice, a retry, the end of retries, and a location that is not Sluice's.
    async fn play(mut self) -> Result<()> {
        self.fixture.endpoints(&[1, 2])?;
        self.answers(&["web-1", "web-2"]).await?;
        self.fixture.pods[1].stop().await;
        for _ in 0..4 {
            let page = http::get(self.port.addr(), HOST, "/").await?;
            ensure!(page.pod() == Some("web-2"), "{page:?}");
        }
        self.fixture.pods[2].stop().await;
        let page = http::get(self.port.addr(), HOST, "/").await?;
        ensure!(page.status == 502, "{page:?}");
        let status = http::send(self.port.addr(), &Request::get("any.test", "/status")).await?;
        ensure!(status.text() == "mine\n", "{status:?}");
        self.nginx.stop()?;
        self.sluice.stop()
    }
}

/// Replaces a text as a reader would by hand. A missing text means that the example has changed under this test.
fn replace(text: &str, from: &str, to: &str) -> Result<String> {
    ensure!(text.contains(from), "the example no longer says {from:?}");
    Ok(text.replace(from, to))
}

fn ours(text: &str) -> Result<String> {
    replace(text, "libngx_sluice.so", &path(&artifacts::nginx_module()?))
}

/// The lines of Kong's host, each with ours for it.
fn kongs_as_ours(text: &str) -> Result<String> {
    let text = replace(
        text,
        "wasm {\n  module sluice sluice_filter.wasm;",
        "load_module libngx_sluice.so;\n#",
    )?;
    let text = replace(&text, "wasmtime.toml; }\n}", "wasmtime.toml; }")?;
    let text = replace(
        &text,
        "proxy_wasm_request_headers_in_access on;",
        &Form::Wasm.directive()?,
    )?;
    replace(&text, "proxy_wasm sluice ", "sluice_filter ")
}

fn path(path: &Path) -> String {
    path.display().to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drop_in_works_in_an_existing_nginx() -> Result<()> {
    Example::start("nginx.conf").await?.play().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kong_drop_in_picks_and_fails_over() -> Result<()> {
    Example::start("kong.conf").await?.play().await
}
