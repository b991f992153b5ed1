//! Picks of the filter, and who serves where it makes none.

use anyhow::{Result, ensure};
use sluice_tests::echo::{Echo, EchoIdentity};
use sluice_tests::nginx::{Conf, Nginx};
use sluice_tests::ports::{Network, Port};
use sluice_tests::{http, sluice};

use crate::fixture::{Fixture, HOST, ensure_even_spread};
use crate::gateway::{Fixed, Form, Gateway, TWO_WORKERS, fixed, in_both_forms};
use crate::pooled_pod::PooledPod;

const HTTP_1_1: &str = "proxy_http_version 1.1; proxy_set_header Connection \"\";";

in_both_forms! {
    requests_round_robin_over_the_published_pods
    upstream_connections_are_pooled
    upstream_servers_serve_without_a_pick
}

async fn requests_round_robin_over_the_published_pods(form: Form) -> Result<()> {
    let gateway = Gateway::start(form, Fixture::start(3, 2).await?).await?;
    ensure_even_spread(gateway.addr(), &[0, 1]).await?;
    gateway.fixture.endpoints(&[])?;
    let refusal = gateway.wait_for_status(503).await?;
    ensure!(
        refusal
            .text()
            .contains("<title>503 Service Temporarily Unavailable</title>"),
        "{refusal:?}"
    );
    gateway.stop()
}

async fn upstream_connections_are_pooled(form: Form) -> Result<()> {
    let network = Network::reserve()?;
    let pod = PooledPod::start(network.pod(0), usize::MAX).await?;
    let gateway = Fixed::start(form, &[pod.addr()], "").await?;
    for _ in 0..20 {
        ensure!(http::get(gateway.addr(), HOST, "/").await?.status == 200);
    }
    ensure!(
        pod.connections() == 1,
        "20 requests took {} connections",
        pod.connections()
    );
    gateway.nginx.stop()
}

async fn upstream_servers_serve_without_a_pick(form: Form) -> Result<()> {
    let (network, port) = (Network::reserve()?, Port::reserve()?);
    let picked = Echo::start(network.pod(0), EchoIdentity::of("web", "picked")).await?;
    let own = Echo::start(network.pod(1), EchoIdentity::of("web", "own")).await?;
    let http = format!(
        "{}\n{}\n\
         upstream pods {{ server {}; sluice_peer; keepalive 4; }}\n\
         server {{ listen {}; {HTTP_1_1}\n\
         location /known {{ set $sluice_route site; proxy_pass http://pods; }}\n\
         location /unknown {{ set $sluice_route other; proxy_pass http://pods; }}\n\
         location /unnamed {{ proxy_pass http://pods; }}\n\
         location /off {{ sluice_filter off; set $sluice_route site; proxy_pass http://pods; }} }}",
        form.directive()?,
        fixed("site", &[picked.addr()]),
        own.addr(),
        port.addr(),
    );
    let nginx = Nginx::start(Conf::write(TWO_WORKERS, &http)?).await?;
    sluice::wait_for_status(port.addr(), HOST, "/off", 200).await?;
    for (path, expected) in [
        ("/known", "picked"),
        ("/unknown", "own"),
        ("/unnamed", "own"),
        ("/off", "own"),
    ] {
        let response = http::get(port.addr(), HOST, path).await?;
        ensure!(response.pod() == Some(expected), "{path}: {response:?}");
    }
    nginx.stop()
}
