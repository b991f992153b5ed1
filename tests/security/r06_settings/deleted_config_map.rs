//! The ConfigMap that a flag names, when it is deleted.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::Sluice;
use sluice_tests::wait;

use crate::setup::{OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(paths_closed_by_a_config_map_stay_closed_when_it_is_deleted);

const HOST: &str = "open.test";
const FILE: &str = "configmap-sluice-sluice.yaml";

/// Keys that alone deny a client, and the status.
const CLOSING: &[(&str, &str, u16)] = &[
    ("whitelist-source-range", "192.0.2.0/24", 403),
    ("denylist-source-range", "127.0.0.0/8", 403),
    ("block-cidrs", "127.0.0.0/8", 403),
    ("block-user-agents", "client", 403),
    ("block-referers", "https://client.example/", 403),
    ("global-auth-url", "http://nobody.owner.svc/", 500),
    // It cannot be read, so it closes.
    ("global-auth-method", "nonsense", 503),
];

/// More than one may answer by chance.
const IN_A_ROW: usize = 20;

async fn status(sluice: &Sluice) -> Result<u16> {
    let request = Request::get(HOST, "/").header("user-agent", "client");
    Ok(http::send(
        sluice.http(),
        &request.header("referer", "https://client.example/"),
    )
    .await?
    .status)
}

async fn wait_for_status(sluice: &Sluice, expected: u16, what: &str) -> Result<()> {
    let is_so = async || {
        // A reload leaves nginx with workers of before for a moment: of one that opens, and comes to its end late, too.
        (sluice.workers().len() <= 1).then_some(())?;
        for _ in 0..IN_A_ROW {
            (status(sluice).await.ok() == Some(expected)).then_some(())?;
        }
        Some(())
    };
    wait::until(what, is_so)
        .await
        .map(drop)
        .with_context(|| format!("{what}: expected {expected}"))
}

async fn paths_closed_by_a_config_map_stay_closed_when_it_is_deleted(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    tenants
        .manifests
        .ingress(&Ingress::new(OWNER, "open").host(HOST).path("/", "web", 80))?;
    let config_map_with = |data: Value| {
        let metadata = json!({"namespace": "sluice", "name": "sluice"});
        let object =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data});
        tenants.manifests.object(&object)
    };
    config_map_with(json!({}))?;
    let flag = vec!["--configmap".to_owned(), "sluice/sluice".to_owned()];
    let sluice = plane
        .options(&tenants.manifests)
        .arguments(flag)
        .start()
        .await?;
    wait_for_status(&sluice, 200, "nothing is closed").await?;
    for (turn, (key, value, refused)) in CLOSING.iter().enumerate() {
        config_map_with(json!({ *key: value }))?;
        wait_for_status(&sluice, *refused, key).await?;
        tenants.manifests.remove(FILE)?;
        let told = || {
            let lines = sluice.log().lines();
            lines
                .iter()
                .filter(|line| line.contains("ConfigMap of --configmap was deleted"))
                .count()
        };
        wait::until("a report", async || (told() > turn).then_some(()))
            .await
            .context(*key)?;
        // Everything else goes on, and is published with what holds.
        let next = Ingress::new(OWNER, &format!("next-{turn}")).host(&format!("next-{turn}.test"));
        tenants.manifests.ingress(
            &next
                .path("/", "web", 80)
                .annotation("enable-global-auth", "false"),
        )?;
        let is_there = async || {
            let answer = sluice.get(&format!("next-{turn}.test"), "/").await.ok()?;
            (answer.status != 404).then_some(())
        };
        wait::until("the next host", is_there).await?;
        for _ in 0..IN_A_ROW {
            let after = status(&sluice).await?;
            ensure!(after == *refused, "{plane:?}: {key} was deleted: {after}");
        }
        config_map_with(json!({}))?;
        wait_for_status(&sluice, 200, "nothing is closed any more").await?;
    }
    sluice.stop()
}
