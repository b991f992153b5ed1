//! `ssl-passthrough`: clients shake hands with the pods.

use anyhow::{Context, Result, ensure};
use serde_json::json;
use sluice_tests::certificate::{Pair, presented, presents};
use sluice_tests::connection::Connection;
use sluice_tests::dial::Dial;
use sluice_tests::echo::{Echo, EchoIdentity, Journal, Setup, Speaks};
use sluice_tests::http::Request;
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Network;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::tls::server_config;
use sluice_tests::wait;

const SECURE: &str = "secure.test";
const WEB: &str = "web.test";

/// `secure.test` with a pod for https and one for http, and `web.test`, whose TLS ends at Sluice.
struct Vault {
    secure: Pair,
    web: Pair,
    journal: Journal,
    manifests: Manifests,
    _pods: [Echo; 2],
    _network: Network,
}

impl Vault {
    async fn start() -> Result<Vault> {
        let (network, manifests, journal) =
            (Network::reserve()?, Manifests::new()?, Journal::default());
        let (secure, web) = (Pair::of(&[SECURE])?, Pair::of(&[WEB])?);
        let tls = Some(server_config(secure.identity()?)?);
        let setup = Setup {
            tls,
            speaks: Speaks::Tls,
            journal: Some(journal.clone()),
            ..Setup::default()
        };
        let pod =
            Echo::start_with(network.pod(0), EchoIdentity::of("vault", "vault-0"), setup).await?;
        let plain = Echo::start(network.pod(1), EchoIdentity::of("web", "web-0")).await?;
        manifests.service("default", "vault", 443, &[pod.addr()])?;
        manifests.service("default", "web", 80, &[plain.addr()])?;
        web.store(&manifests, "web")?;
        manifests.object(&presented("web", WEB, "web"))?;
        let ingress = Ingress::new("default", "secure")
            .host(SECURE)
            .path("/", "vault", 443);
        let ingress = ingress
            .annotation("ssl-passthrough", "true")
            .annotation("backend-protocol", "HTTPS");
        let mut ingress = ingress.annotation("ssl-redirect", "false").to_json();
        // A certificate of the host is nobody's to see: the pods have their own.
        ingress["spec"]["tls"] = json!([{"hosts": [SECURE], "secretName": "web"}]);
        manifests.object(&ingress)?;
        Ok(Vault {
            secure,
            web,
            journal,
            manifests,
            _pods: [pod, plain],
            _network: network,
        })
    }

    async fn serve(&self, flags: &[&str]) -> Result<Sluice> {
        let flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        Options::new(&self.manifests).arguments(flags).start().await
    }
}

#[tokio::test]
async fn passthrough_presents_the_pods_certificate_and_leaves_other_hosts_alone() -> Result<()> {
    let vault = Vault::start().await?;
    let sluice = vault.serve(&["--enable-ssl-passthrough"]).await?;
    presents(&sluice, SECURE, &vault.secure).await?;
    presents(&sluice, WEB, &vault.web).await?;
    let mut connection = Connection::open_tls(sluice.https(), SECURE).await?;
    let answer = connection.send(&Request::get(SECURE, "/anything")).await?;
    ensure!(answer.pod() == Some("vault-0"), "{answer:?}");
    let received = vault.journal.since(0).pop().context("nothing arrived")?;
    ensure!(
        !received
            .headers
            .keys()
            .any(|name| name.starts_with("x-forwarded")),
        "{received:?}"
    );
    ensure!(received.connection.proxy_line.is_none(), "{received:?}");
    let mut connection = Connection::open_tls(sluice.https(), WEB).await?;
    ensure!(connection.send(&Request::get(WEB, "/")).await?.pod() == Some("web-0"));
    // Plain http is served as for any host: to the same pods, as the annotations say.
    ensure!(sluice.get(SECURE, "/").await?.pod() == Some("vault-0"));

    vault
        .manifests
        .object(&presented("secure", SECURE, "web"))?;
    let ends_here = async || {
        let shown = Connection::open_tls(sluice.https(), SECURE)
            .await
            .ok()?
            .certificate()?
            .to_vec();
        (shown != vault.secure.der).then_some(())
    };
    wait::until("TLS to end at the data plane again", ends_here).await?;
    sluice.stop()
}

#[tokio::test]
async fn passthrough_strips_the_clients_proxy_header() -> Result<()> {
    let vault = Vault::start().await?;
    let metadata = json!({"name": "settings", "namespace": "default"});
    let data = json!({"use-proxy-protocol": "true"});
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data});
    vault.manifests.object(&object)?;
    let sluice = vault
        .serve(&[
            "--enable-ssl-passthrough",
            "--configmap",
            "default/settings",
        ])
        .await?;
    let proxy_line = Some("PROXY TCP4 192.0.2.7 192.0.2.8 1234 443".to_owned());
    let dial = Dial {
        proxy_line,
        ..Dial::tls(sluice.https(), SECURE)
    };
    let open = async || Connection::dial(&dial).await.ok();
    let (mut connection, _) = wait::until("the host to be there", open).await?;
    ensure!(connection.certificate() == Some(vault.secure.der.as_slice()));
    ensure!(connection.send(&Request::get(SECURE, "/")).await?.pod() == Some("vault-0"));
    let received = vault.journal.since(0).pop().context("nothing arrived")?;
    ensure!(received.connection.proxy_line.is_none(), "{received:?}");
    sluice.stop()
}

#[tokio::test]
async fn passthrough_without_the_flag_terminates_tls_and_is_reported() -> Result<()> {
    let vault = Vault::start().await?;
    let sluice = vault.serve(&[]).await?;
    presents(&sluice, WEB, &vault.web).await?;
    let mut connection = Connection::open_tls(sluice.https(), SECURE).await?;
    ensure!(connection.certificate() != Some(vault.secure.der.as_slice()));
    ensure!(connection.send(&Request::get(SECURE, "/")).await?.pod() == Some("vault-0"));
    let said = sluice.log().tail();
    ensure!(said.contains("--enable-ssl-passthrough"), "{said}");
    sluice.stop()
}
