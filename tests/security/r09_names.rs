//! R9: the controller resolves every name that is dialled, and what a name leads to is judged like any other address.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::dns_server::DnsServer;
use sluice_tests::echo::{Echo, EchoIdentity, Journal, Setup};
use sluice_tests::http;
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Network;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;

use crate::setup::{Plane, on_every_plane};

on_every_plane!(
    names_follow_dns_but_never_to_forbidden_addresses,
    mirrors_and_auth_requests_follow_dns
);

const NAME: &str = "app.upstream.test";
const HOST: &str = "named.test";

/// Two pods in a network that the operator has opened; the rest of loopback is closed to names.
struct Fixture {
    manifests: Manifests,
    dns: DnsServer,
    network: Network,
    pods: Vec<Echo>,
    journal: Journal,
}

impl Fixture {
    async fn start() -> Result<Fixture> {
        let (network, manifests, journal) =
            (Network::reserve()?, Manifests::new()?, Journal::default());
        let mut pods = Vec::new();
        for n in 0..2 {
            let setup = Setup {
                journal: Some(journal.clone()),
                ..Setup::default()
            };
            let identity = EchoIdentity::of("app", &format!("app-{n}"));
            pods.push(Echo::start_with(network.pod(n), identity, setup).await?);
        }
        Ok(Fixture {
            manifests,
            dns: DnsServer::start().await?,
            network,
            pods,
            journal,
        })
    }

    fn ip(&self, n: usize) -> String {
        self.pods[n].addr().ip().to_string()
    }

    fn port(&self) -> u16 {
        self.pods[0].addr().port()
    }

    fn options(&self, plane: Plane) -> Options {
        let network = self.network.pod(0).ip().to_string();
        let second = network.split('.').nth(1).unwrap_or_default().to_owned();
        plane.options(&self.manifests).arguments(vec![
            "--dns-server".to_owned(),
            self.dns.addr().to_string(),
            "--allow-upstream-cidr".to_owned(),
            format!("127.{second}.0.0/16"),
        ])
    }

    fn service(&self, name: &str, external: &str) -> Result<()> {
        self.manifests.object(&external_name(name, external))?;
        self.manifests
            .ingress(
                &Ingress::new("default", name)
                    .host(HOST)
                    .path("/", name, self.port()),
            )
    }
}

fn external_name(name: &str, external: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": { "namespace": "default", "name": name },
        "spec": { "type": "ExternalName", "externalName": external },
    })
}

async fn wait_for_report(sluice: &Sluice, text: &str) -> Result<()> {
    let line = async || {
        sluice
            .log()
            .lines()
            .iter()
            .any(|line| line.contains(text))
            .then_some(())
    };
    wait::until(&format!("a report that says {text:?}"), line)
        .await
        .with_context(|| sluice.log().tail())?;
    Ok(())
}

async fn names_follow_dns_but_never_to_forbidden_addresses(plane: Plane) -> Result<()> {
    let fixture = Fixture::start().await?;
    fixture.dns.set(NAME, 1, &[&fixture.ip(0)])?;
    fixture.service("ext", NAME)?;
    let sluice = fixture.options(plane).start().await?;
    sluice.wait_for_pod(HOST, "app-0").await?;
    // It moves, and is followed after its TTL.
    fixture.dns.set(NAME, 1, &[&fixture.ip(1)])?;
    sluice.wait_for_pod(HOST, "app-1").await?;
    // Of a mixed answer what is allowed stays, and the other is named. Somebody listens on both.
    let secret = Echo::start(
        format!("127.0.0.1:{}", fixture.port()).parse()?,
        EchoIdentity::of("no", "no"),
    )
    .await?;
    fixture.dns.set(NAME, 1, &["127.0.0.1", &fixture.ip(1)])?;
    wait_for_report(
        &sluice,
        &format!(
            "{NAME} leads to 127.0.0.1:{}, a loopback address",
            fixture.port()
        ),
    )
    .await?;
    for _ in 0..4 {
        ensure!(sluice.get(HOST, "/").await?.pod() == Some("app-1"));
    }
    // A name that moves to a forbidden address is no endpoint any more.
    fixture.dns.set(
        NAME,
        1,
        &["127.0.0.1", "169.254.169.254", "100.100.100.200"],
    )?;
    sluice.wait_for_status(HOST, "/", 503).await?;
    wait_for_report(&sluice, "the metadata service of a cloud").await?;
    ensure!(secret.hits() == 0, "a forbidden address was asked");
    // It may come back, and what was known serves while nobody answers.
    fixture.dns.set(NAME, 1, &[&fixture.ip(0)])?;
    sluice.wait_for_pod(HOST, "app-0").await?;
    fixture.dns.be_silent(true);
    let before = fixture.dns.asked(NAME);
    wait::until("more questions", async || {
        (fixture.dns.asked(NAME) > before + 3).then_some(())
    })
    .await?;
    ensure!(sluice.get(HOST, "/").await?.pod() == Some("app-0"));
    fixture.dns.be_silent(false);
    fixture.dns.remove(NAME);
    sluice.wait_for_status(HOST, "/", 503).await?;
    sluice.stop()
}

async fn mirrors_and_auth_requests_follow_dns(plane: Plane) -> Result<()> {
    let fixture = Fixture::start().await?;
    fixture.dns.set(NAME, 1, &[&fixture.ip(0)])?;
    fixture
        .manifests
        .service("default", "web", 80, &[fixture.pods[1].addr()])?;
    let url = format!("http://{NAME}:{}", fixture.port());
    let ingress = |name: &str| Ingress::new("default", name).host(&format!("{name}.test"));
    let copied = ingress("copied").annotation("mirror-target", &format!("{url}$request_uri"));
    fixture.manifests.ingress(&copied.path("/", "web", 80))?;
    let asked = ingress("asked").annotation("auth-url", &format!("{url}/auth"));
    fixture.manifests.ingress(&asked.path("/", "web", 80))?;
    let sluice = fixture.options(plane).start().await?;
    sluice.wait_for_status("asked.test", "/", 200).await?;
    let seen = |path: &str| {
        fixture
            .journal
            .since(0)
            .into_iter()
            .filter(|request| request.path == path)
            .count()
    };
    ensure!(seen("/auth") > 0, "the service was not asked");
    let copies = async || {
        http::get(sluice.http(), "copied.test", "/copy")
            .await
            .ok()?;
        // Each request is seen by the pod, and by who gets the copy.
        (seen("/copy") > 1 && fixture.pods[0].hits() > 0).then_some(())
    };
    wait::until("a copy", copies)
        .await
        .with_context(|| sluice.log().tail())?;
    // Both lead to this machine now: nobody is let in, and nothing is copied.
    let secret = Echo::start(
        format!("127.0.0.1:{}", fixture.port()).parse()?,
        EchoIdentity::of("no", "no"),
    )
    .await?;
    fixture.dns.set(NAME, 1, &["127.0.0.1"])?;
    let closed = async || {
        let status = http::get(sluice.http(), "asked.test", "/")
            .await
            .ok()?
            .status;
        (status >= 500).then_some(())
    };
    wait::until("the host to close", closed)
        .await
        .with_context(|| sluice.log().tail())?;
    ensure!(sluice.get("copied.test", "/copy").await?.pod() == Some("app-1"));
    ensure!(secret.hits() == 0, "a forbidden address was asked");
    sluice.stop()
}
