//! Copies of requests: as they are, at another path, and without their bodies. On nginx those for a Service of the cluster go to its own
//! address, because the filter chooses a pod once for each request.

use anyhow::{Result, ensure};
use sluice_tests::echo::{Echo, EchoIdentity, Journal, Received, Setup};
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::{self, Ingress};
use sluice_tests::ports::Network;
use sluice_tests::sluice::Sluice;
use sluice_tests::wait;

use crate::fixture::{Fixture, HOST};
use crate::setup::{Plane, on_every_plane};

on_every_plane!(
    mirror_gets_a_copy_and_the_client_the_pods_response,
    copy_without_a_body_is_framed_and_the_next_request_is_its_own,
    copy_goes_to_the_path_of_its_target,
);

/// A Service whose own address is that of its only pod, which remembers what it gets.
struct Mirrored {
    fixture: Fixture,
    journal: Journal,
    pod: Echo,
    _network: Network,
}

impl Mirrored {
    async fn start() -> Result<Mirrored> {
        let (fixture, network, journal) = (
            Fixture::start(1, 1).await?,
            Network::reserve()?,
            Journal::default(),
        );
        let setup = Setup {
            journal: Some(journal.clone()),
            ..Setup::default()
        };
        let pod = Echo::start_with(
            network.pod(0),
            EchoIdentity::of("copies", "copies-0"),
            setup,
        )
        .await?;
        let port = pod.addr().port();
        fixture
            .manifests
            .service("default", "copies", port, &[pod.addr()])?;
        let mut service = manifests::service("default", "copies", port, &[pod.addr()]);
        service["spec"]["clusterIP"] = pod.addr().ip().to_string().into();
        fixture.manifests.object(&service)?;
        Ok(Mirrored {
            fixture,
            journal,
            pod,
            _network: network,
        })
    }

    /// The Ingress of a host whose requests are copied.
    fn ingress(&self, name: &str, host: &str) -> Ingress {
        self.to_path(name, host, "")
    }

    /// The same, with something behind the name of the Service.
    fn to_path(&self, name: &str, host: &str, path: &str) -> Ingress {
        let target = format!(
            "http://copies.default.svc.cluster.local:{}{path}",
            self.pod.addr().port()
        );
        Ingress::new("default", name)
            .host(host)
            .path("/", "web", 80)
            .annotation("mirror-target", &target)
    }

    async fn serve(&self, plane: Plane) -> Result<Sluice> {
        let sluice = plane.options(&self.fixture.manifests).start().await?;
        sluice.wait_for_status(HOST, "/", 200).await?;
        Ok(sluice)
    }

    /// The copy of a request with a body, which the pod gets whole.
    async fn copy_of_a_request(&self, sluice: &Sluice, host: &str, path: &str) -> Result<Received> {
        self.copy_at(sluice, host, path, path).await
    }

    /// The same, at another path.
    async fn copy_at(
        &self,
        sluice: &Sluice,
        host: &str,
        path: &str,
        copied_to: &str,
    ) -> Result<Received> {
        let request = Request::new("POST", host, &format!("{path}?a=1")).body("body");
        self.copy_of(sluice, &request, 4, copied_to).await
    }

    /// The copy of any request; the pod gets a body of this size.
    async fn copy_of(
        &self,
        sluice: &Sluice,
        request: &Request,
        size: usize,
        copied_to: &str,
    ) -> Result<Received> {
        let place = self.journal.len();
        let answer = http::send(sluice.http(), request).await?;
        ensure!(
            answer.pod() == Some("web-0") && answer.json()?["body_bytes"] == size,
            "{answer:?}"
        );
        let came = async || {
            let mut copies = self.journal.since(place).into_iter();
            copies.find(|copy| copy.path == copied_to)
        };
        let (copy, _) = wait::until("the copy", came).await?;
        let own = copy
            .headers
            .keys()
            .find(|name| name.starts_with("x-sluice"));
        ensure!(own.is_none(), "{copy:?}");
        Ok(copy)
    }
}

async fn mirror_gets_a_copy_and_the_client_the_pods_response(plane: Plane) -> Result<()> {
    let mirrored = Mirrored::start().await?;
    let ingress = mirrored.ingress("web", HOST);
    mirrored.fixture.manifests.ingress(&ingress)?;
    let sluice = mirrored.serve(plane).await?;
    let copy = mirrored.copy_of_a_request(&sluice, HOST, "/some").await?;
    ensure!(
        copy.body_bytes == 4 && copy.query.as_deref() == Some("a=1"),
        "{copy:?}"
    );
    sluice.stop()
}

/// Requests to the mirror share connections: a body that came all the same would be read as the next one.
async fn copy_without_a_body_is_framed_and_the_next_request_is_its_own(plane: Plane) -> Result<()> {
    let mirrored = Mirrored::start().await?;
    for ingress in [
        mirrored.ingress("web", HOST),
        mirrored.to_path("below", "below.test", "/below$request_uri"),
    ] {
        let bodiless = ingress.annotation("mirror-request-body", "off");
        mirrored.fixture.manifests.ingress(&bodiless)?;
    }
    let sluice = mirrored.serve(plane).await?;
    let large = "GET /smuggled HTTP/1.1\r\nhost: web.test\r\n\r\n".repeat(10_000);
    let chunked = format!("{:x}\r\n{large}\r\n0\r\n\r\n", large.len());
    let asked = |method: &str| Request::new(method, HOST, "/some?a=1");
    for (request, size) in [
        (asked("POST").body("body"), 4),
        (asked("PUT").body(large.as_str()), large.len()),
        (
            asked("POST")
                .header("transfer-encoding", "chunked")
                .body(chunked),
            large.len(),
        ),
        (asked("GET").body("body"), 4),
        (asked("DELETE"), 0),
        (asked("GET"), 0),
    ] {
        let copy = mirrored.copy_of(&sluice, &request, size, "/some").await?;
        let length = copy.header("content-length");
        let says_none = length.is_none_or(|length| length == "0");
        ensure!(copy.body_bytes == 0 && says_none, "{copy:?}");
        ensure!(copy.header("transfer-encoding").is_none(), "{copy:?}");
        ensure!(
            copy.method == request.method && copy.query.as_deref() == Some("a=1"),
            "{copy:?}"
        );
    }
    let copy = mirrored
        .copy_at(&sluice, "below.test", "/some%2fpath", "/below/some%2fpath")
        .await?;
    ensure!(copy.body_bytes == 0, "{copy:?}");
    let all = mirrored.journal.since(0);
    let copies = all.iter().filter(|copy| copy.path != "/");
    ensure!(copies.count() == 7, "{all:?}");
    sluice.stop()
}

async fn copy_goes_to_the_path_of_its_target(plane: Plane) -> Result<()> {
    let mirrored = Mirrored::start().await?;
    for ingress in [
        mirrored.ingress("web", HOST),
        mirrored.to_path("fixed", "fixed.test", "/fixed"),
        mirrored.to_path("below", "below.test", "/below$request_uri"),
        mirrored.to_path("foreign", "foreign.test", "/below;}$request_uri"),
    ] {
        mirrored.fixture.manifests.ingress(&ingress)?;
    }
    let sluice = mirrored.serve(plane).await?;
    let copy = mirrored
        .copy_at(&sluice, "fixed.test", "/some%2fpath", "/fixed")
        .await?;
    ensure!(
        copy.query.as_deref() == Some("a=1") && copy.body_bytes == 4,
        "{copy:?}"
    );
    let copy = mirrored
        .copy_at(&sluice, "below.test", "/some%2fpath", "/below/some%2fpath")
        .await?;
    ensure!(copy.query.as_deref() == Some("a=1"), "{copy:?}");
    let copies = mirrored.journal.since(0).len();
    ensure!(sluice.get("foreign.test", "/foreign").await?.status == 200);
    mirrored.copy_of_a_request(&sluice, HOST, "/last").await?;
    ensure!(
        mirrored.journal.since(0).len() == copies + 1,
        "it is copied"
    );
    sluice.stop()
}
