//! Copies for a Service of the cluster go to its own address: the filter chooses a pod once for each request.

use anyhow::{Result, ensure};
use sluice_tests::echo::{Echo, EchoIdentity, Journal, Received, Setup};
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::{self, Ingress};
use sluice_tests::ports::Network;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;

use crate::fixture::{Fixture, HOST};

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
        let mut service = manifests::service("default", "copies", pod.addr().port(), &[]);
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

    async fn serve(&self) -> Result<Sluice> {
        let sluice = Options::new(&self.fixture.manifests)
            .data_plane("nginx")
            .start()
            .await?;
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
        let answer = http::send(sluice.http(), &request).await?;
        ensure!(
            answer.pod() == Some("web-0") && answer.json()?["body_bytes"] == 4,
            "{answer:?}"
        );
        let copied = async || {
            self.journal
                .since(0)
                .into_iter()
                .find(|copy| copy.path == copied_to && copy.query.is_some())
        };
        wait::until("the copy", copied).await.map(|(copy, _)| copy)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mirror_gets_a_copy_and_the_client_the_pods_response() -> Result<()> {
    let mirrored = Mirrored::start().await?;
    mirrored
        .fixture
        .manifests
        .ingress(&mirrored.ingress("web", HOST))?;
    let heads = mirrored
        .ingress("heads", "heads.test")
        .annotation("mirror-request-body", "off");
    mirrored.fixture.manifests.ingress(&heads)?;
    let sluice = mirrored.serve().await?;
    let copy = mirrored.copy_of_a_request(&sluice, HOST, "/some").await?;
    ensure!(
        copy.body_bytes == 4 && copy.query.as_deref() == Some("a=1"),
        "{copy:?}"
    );
    let copy = mirrored
        .copy_of_a_request(&sluice, "heads.test", "/heads")
        .await?;
    ensure!(
        copy.body_bytes == 0 && copy.header("content-length").is_none(),
        "{copy:?}"
    );
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copy_goes_to_the_path_of_its_target() -> Result<()> {
    let mirrored = Mirrored::start().await?;
    for ingress in [
        mirrored.ingress("web", HOST),
        mirrored.to_path("fixed", "fixed.test", "/fixed"),
        mirrored.to_path("slash", "slash.test", "/"),
        mirrored.to_path("below", "below.test", "/below$request_uri"),
        mirrored.to_path("foreign", "foreign.test", "/below;}$request_uri"),
    ] {
        mirrored.fixture.manifests.ingress(&ingress)?;
    }
    let sluice = mirrored.serve().await?;
    for (host, fixed) in [("fixed.test", "/fixed"), ("slash.test", "/")] {
        let copy = mirrored
            .copy_at(&sluice, host, "/some%2fpath", fixed)
            .await?;
        ensure!(
            copy.query.as_deref() == Some("a=1") && copy.body_bytes == 4,
            "{copy:?}"
        );
    }
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
