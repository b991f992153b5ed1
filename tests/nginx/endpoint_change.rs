//! Endpoints that the filter learns by long-poll are served without a reload.

use std::time::Duration;

use anyhow::{Result, ensure};
use sluice_tests::load::Load;

use crate::fixture::{Fixture, page};
use crate::gateway::Gateway;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endpoint_changes_under_load_need_no_reload() -> Result<()> {
    let gateway = Gateway::start(Fixture::start(4, 2).await?).await?;
    let workers = gateway.nginx.workers();
    let load = Load::new(gateway.addr(), page())
        .connections(8)
        .pause(Duration::from_millis(1))
        .start();
    for (endpoints, new, gone) in [([1, 2], 2, 0), ([2, 3], 3, 1), ([0, 1], 0, 3)] {
        let before = load.tally().pod(&format!("web-{new}"));
        gateway.fixture.endpoints(&endpoints)?;
        load.until("traffic on the new pod", |tally| {
            tally.pod(&format!("web-{new}")) > before + 20
        })
        .await?;
        gateway.fixture.wait_until_idle(gone).await?;
    }
    let tally = load.stop().await?;
    ensure!(tally.failed() == 0, "{tally}");
    ensure!(
        gateway.nginx.workers() == workers,
        "the workers have changed"
    );
    gateway.stop()
}
