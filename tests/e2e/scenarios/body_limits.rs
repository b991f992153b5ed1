//! `proxy-body-size` of a location that redirects, in every data plane.

use anyhow::{Result, ensure};
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::Options;

use crate::fixture::{Fixture, HOST};

/// nginx 1.22 with `client_max_body_size 10` in `location /docs/`, and with more than its default and no limit in others: path, bytes of a
/// body whose length is stated, and the status.
const STATED: &[(&str, usize, u16)] = &[
    ("/docs", 5, 301),
    ("/docs", 11, 413),
    ("/docs", 2_000_000, 413),
    ("/docs/", 5, 200),
    ("/docs/", 11, 413),
    ("/wide", 2_000_000, 301),
    ("/wide", 4_000_000, 413),
    ("/any", 4_000_000, 301),
    ("/moved", 5, 301),
    ("/moved", 11, 413),
];

/// A body in chunks is not read for a redirect.
const CHUNKED: &[(&str, u16)] = &[("/docs", 301), ("/docs/", 413), ("/moved", 301)];

pub(crate) async fn of_redirects(data_plane: &str, argument: &str) -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let ingress = |name: &str, size: &str, path: &str| {
        let ingress = Ingress::new("default", name).annotation("proxy-body-size", size);
        ingress.host(HOST).path(path, "web", 80)
    };
    let moved = ingress("moved", "10", "/moved");
    for ingress in [
        ingress("web", "10", "/docs/"),
        ingress("wide", "3m", "/wide/"),
        ingress("any", "0", "/any/"),
        moved.annotation("permanent-redirect", "http://there.test/"),
    ] {
        fixture.manifests.ingress(&ingress)?;
    }
    let options = Options::new(&fixture.manifests).data_plane(data_plane);
    let sluice = options.arguments(vec![argument.to_owned()]).start().await?;
    sluice.wait_for_status(HOST, "/docs", 301).await?;
    sluice.wait_for_status(HOST, "/moved", 301).await?;
    sluice.wait_for_status(HOST, "/docs/", 200).await?;
    let post = |path: &str| Request::new("POST", HOST, path);
    for (path, bytes, status) in STATED {
        let request = post(path).body(vec![b'x'; *bytes]);
        let answer = http::send(sluice.http(), &request).await?;
        ensure!(answer.status == *status, "{path} {bytes}: {answer:?}");
    }
    for (path, status) in CHUNKED {
        let request = post(path).header("transfer-encoding", "chunked");
        let request = request.body("b\r\nhello world\r\n0\r\n\r\n");
        let answer = http::send(sluice.http(), &request).await?;
        ensure!(answer.status == *status, "{path} in chunks: {answer:?}");
    }
    sluice.stop()
}
