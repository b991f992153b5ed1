//! `ssl-passthrough`: clients shake hands with the pods, the same for every data plane.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
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

use crate::scenarios::l4_ports::config_map;

pub(crate) const SECURE: &str = "secure.test";
pub(crate) const WEB: &str = "web.test";

/// `secure.test` with a pod for https and one for http, and `web.test`, whose TLS ends at Sluice.
pub(crate) struct Vault {
    pub(crate) secure: Pair,
    pub(crate) web: Pair,
    journal: Journal,
    manifests: Manifests,
    /// The Ingress that asks for it.
    passed: Value,
    data_plane: &'static str,
    _pods: [Echo; 2],
    _network: Network,
}

impl Vault {
    pub(crate) async fn start(data_plane: &'static str) -> Result<Vault> {
        let (network, manifests, journal) =
            (Network::reserve()?, Manifests::new()?, Journal::default());
        let (secure, web) = (Pair::of(&[SECURE])?, Pair::of(&[WEB])?);
        let tls = Some(server_config(secure.identity()?)?);
        let setup = |speaks, tls| Setup {
            tls,
            speaks,
            journal: Some(journal.clone()),
            ..Setup::default()
        };
        let (vault, web_pod) = (
            EchoIdentity::of("vault", "vault-0"),
            EchoIdentity::of("web", "web-0"),
        );
        let secured = setup(Speaks::Tls, tls);
        let pod = Echo::start_with(network.pod(0), vault, secured).await?;
        let open = setup(Speaks::default(), None);
        let plain = Echo::start_with(network.pod(1), web_pod, open).await?;
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
            passed: ingress,
            secure,
            web,
            journal,
            manifests,
            data_plane,
            _pods: [pod, plain],
            _network: network,
        })
    }

    pub(crate) async fn serve(&self, flags: &[&str]) -> Result<Sluice> {
        let flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        Options::new(&self.manifests)
            .arguments(flags)
            .data_plane(self.data_plane)
            .start()
            .await
    }

    /// With settings of the operator.
    pub(crate) async fn serve_with(&self, data: Value) -> Result<Sluice> {
        self.manifests.object(&config_map("settings", data))?;
        self.serve(&[
            "--enable-ssl-passthrough",
            "--access-log",
            "--configmap=sluice/settings",
        ])
        .await
    }

    /// Header of the last request that a pod got.
    fn received(&self, name: &str) -> Result<String> {
        let received = self.journal.since(0).pop().context("nothing arrived")?;
        let values = received.headers.get(name).cloned();
        Ok(values.unwrap_or_default().join(", "))
    }
}

/// The pod's certificate is presented, and other hosts are left alone.
pub(crate) async fn on(data_plane: &'static str) -> Result<()> {
    let vault = Vault::start(data_plane).await?;
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
    ensure!(vault.received("x-forwarded-for")? == "127.0.0.1");
    ensure!(vault.received("x-forwarded-port")? == "443");
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
    vault.manifests.object(&vault.passed)?;
    presents(&sluice, SECURE, &vault.secure).await?;
    presents(&sluice, WEB, &vault.web).await?;
    sluice.stop()
}

/// The client's PROXY header does not reach a pod, and says who the client of another host is.
pub(crate) async fn behind_proxy_protocol(data_plane: &'static str) -> Result<()> {
    let vault = Vault::start(data_plane).await?;
    let format = "passed $remote_addr $proxy_upstream_name";
    let settings = json!({"use-proxy-protocol": "true", "log-format-stream": format});
    let sluice = vault.serve_with(settings).await?;
    let dial = |host| Dial {
        proxy_line: Some("PROXY TCP4 192.0.2.7 192.0.2.8 1234 443".to_owned()),
        ..Dial::tls(sluice.https(), host)
    };
    let open = async || Connection::dial(&dial(SECURE)).await.ok();
    let (mut connection, _) = wait::until("the host to be there", open).await?;
    ensure!(connection.certificate() == Some(vault.secure.der.as_slice()));
    ensure!(connection.send(&Request::get(SECURE, "/")).await?.pod() == Some("vault-0"));
    let received = vault.journal.since(0).pop().context("nothing arrived")?;
    ensure!(received.connection.proxy_line.is_none(), "{received:?}");
    drop(connection);
    let written = sluice.log().wait_for("passed 192.0.2.7 ").await?;
    ensure!(written.contains("vault"), "{written}");
    let mut connection = Connection::dial(&dial(WEB)).await?;
    ensure!(connection.send(&Request::get(WEB, "/")).await?.pod() == Some("web-0"));
    ensure!(vault.received("x-forwarded-for")? == "192.0.2.7");
    ensure!(vault.received("x-forwarded-port")? == "443");
    sluice.stop()
}

/// Without the flag TLS ends at the data plane, and that is reported.
pub(crate) async fn off(data_plane: &'static str) -> Result<()> {
    let vault = Vault::start(data_plane).await?;
    let sluice = vault.serve(&[]).await?;
    presents(&sluice, WEB, &vault.web).await?;
    let mut connection = Connection::open_tls(sluice.https(), SECURE).await?;
    ensure!(connection.certificate() != Some(vault.secure.der.as_slice()));
    ensure!(connection.send(&Request::get(SECURE, "/")).await?.pod() == Some("vault-0"));
    let said = sluice.log().tail();
    ensure!(said.contains("--enable-ssl-passthrough"), "{said}");
    sluice.stop()
}
