//! Backends that are posted on the admin socket, with `--admin-writes`, on each data plane.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use sluice_tests::http::{self, Request};
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;

use crate::fixture::{Fixture, HOST, page};

const BACKENDS: &str = "/configuration/backends";

async fn backends(sluice: &Sluice) -> Result<Value> {
    let shown = http::get_unix(&sluice.admin_socket(), BACKENDS).await?;
    Ok(serde_json::from_str(&shown.text())?)
}

async fn post(sluice: &Sluice, list: &Value) -> Result<(u16, String)> {
    let request = Request::new("POST", "unix", BACKENDS).body(list.to_string());
    let answer = http::send_unix(&sluice.admin_socket(), &request).await?;
    Ok((answer.status, answer.text()))
}

async fn wait_for_pod(sluice: &Sluice, name: &str) -> Result<()> {
    let is_served = async || {
        let answer = http::send(sluice.http(), &page()).await.ok()?;
        (answer.pod() == Some(name)).then_some(())
    };
    let what = format!("{name} to answer");
    wait::until(&what, is_served).await.map(drop)
}

async fn posted_endpoints_are_served_until_others_are_found(plane: &str) -> Result<()> {
    let fixture = Fixture::start(3, 1).await?;
    let options = Options::new(&fixture.manifests).data_plane(plane);
    let options = options.arguments(vec!["--admin-writes".to_owned()]);
    let sluice = options.start().await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    wait_for_pod(&sluice, "web-0").await?;
    let of = |pod: usize| {
        let pod = fixture.pods[pod].addr();
        json!([{"address": pod.ip().to_string(), "port": pod.port().to_string()}])
    };

    let found = backends(&sluice).await?;
    ensure!(found[0]["endpoints"] == of(0), "{found}");
    let mut posted = found.clone();
    posted[0]["endpoints"] = of(1);
    let answer = post(&sluice, &posted).await?;
    ensure!(answer == (201, String::new()), "{answer:?}");
    wait_for_pod(&sluice, "web-1").await?;
    ensure!(backends(&sluice).await? == posted);

    let mut unknown = posted.clone();
    unknown[0]["endpoints"] = of(2);
    unknown[1]["name"] = "default-other-80".into();
    let (status, reason) = post(&sluice, &unknown).await?;
    let is_named = reason.starts_with("backend \"default-other-80\": ");
    ensure!(status == 400 && is_named, "{status} {reason}");
    ensure!(backends(&sluice).await? == posted);
    wait_for_pod(&sluice, "web-1").await?;

    fixture.endpoints(&[2])?;
    wait_for_pod(&sluice, "web-2").await?;
    let replaced = backends(&sluice).await?;
    ensure!(replaced[0]["endpoints"] == of(2), "{replaced}");
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn posted_endpoints_are_served_by_envoy() -> Result<()> {
    posted_endpoints_are_served_until_others_are_found("envoy").await
}

#[tokio::test(flavor = "multi_thread")]
async fn posted_endpoints_are_served_by_nginx() -> Result<()> {
    posted_endpoints_are_served_until_others_are_found("nginx").await
}
