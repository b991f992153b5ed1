//! Uploads of some megabytes while one of two pods is not there: all of them arrive at the other.

use anyhow::{Result, ensure};
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::Options;

use crate::fixture::{Fixture, HOST};

const BYTES: usize = 5 << 20;
const UPLOADS: usize = 20;

pub(crate) async fn go_to_the_pod_that_is_there(data_plane: &str) -> Result<()> {
    let mut fixture = Fixture::start(2, 2).await?;
    let ingress = Ingress::new("default", "web")
        .host(HOST)
        .path("/", "web", 80);
    fixture
        .manifests
        .ingress(&ingress.annotation("proxy-body-size", "8m"))?;
    fixture.pods[0].stop().await;
    let options = Options::new(&fixture.manifests).data_plane(data_plane);
    let sluice = options.start().await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    for n in 0..UPLOADS {
        let upload = Request::new("POST", HOST, "/").body(vec![b'x'; BYTES]);
        let response = http::send(sluice.http(), &upload).await?;
        ensure!(response.status == 200, "upload {n}: {}", response.status);
        let received = &response.json()?["body_bytes"];
        ensure!(*received == BYTES, "upload {n}: {received} bytes");
    }
    sluice.stop()
}
