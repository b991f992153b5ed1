//! Endpoints that the filter learns by long-poll are served without a reload.

use std::time::Duration;

use anyhow::{Result, ensure};
use sluice_tests::echo::{Echo, EchoIdentity};
use sluice_tests::load::Load;
use sluice_tests::ports::{Network, Port};
use sluice_tests::{http, wait};

use crate::fake_controller::Controller;
use crate::fixture::{Fixture, page};
use crate::gateway::{Form, Gateway, in_both_forms};
use crate::pause;
use crate::scenarios::large_documents;

in_both_forms! {
    endpoint_changes_under_load_need_no_reload
    document_of_ten_mebibytes_is_taken_from_the_poll
}

async fn endpoint_changes_under_load_need_no_reload(form: Form) -> Result<()> {
    let gateway = Gateway::start(form, Fixture::start(4, 2).await?).await?;
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

#[tokio::test(flavor = "multi_thread")]
async fn document_of_more_than_a_mebibyte_comes_by_the_poll() -> Result<()> {
    large_documents::traffic_follows("nginx").await
}

async fn document_of_ten_mebibytes_is_taken_from_the_poll(form: Form) -> Result<()> {
    let (network, port) = (Network::reserve()?, Port::reserve()?);
    let pod = Echo::start(network.pod(0), EchoIdentity::of("web", "web-0")).await?;
    let controller = Controller::on_tcp(network.pod(9)).await?;
    controller.publish(large_documents::ten_mebibytes("site", pod.addr())?);
    let nginx = pause::start(form, &network.pod(9).to_string(), port.addr()).await?;
    // Without tables nobody would answer but the upstream's own server, which does not exist.
    let answers = async || {
        let page = http::send(port.addr(), &page()).await;
        (page.ok()?.pod() == Some("web-0")).then_some(())
    };
    wait::until("the pod to answer", answers).await?;
    nginx.stop()
}
