//! Certificates that change while clients are connected. Of both data planes.

use anyhow::{Context, Result, bail, ensure};
use sluice_tests::certificate::{Pair, presented, presents, store};
use sluice_tests::connection::Connection;
use sluice_tests::dial::Dial;
use sluice_tests::http2;
use sluice_tests::sluice::{Options, Sluice};
use tokio::task::JoinSet;

use crate::fixture::{Fixture, HOST, page};

/// A certificate of last resort that is known, and a host whose certificate is in the Secret `web`.
pub(crate) struct Rotation {
    fixture: Fixture,
    default: Pair,
    first: Pair,
}

/// Clients that stay connected.
pub(crate) struct Clients {
    http1: Connection,
    http2: http2::Connection,
}

impl Rotation {
    pub(crate) async fn start() -> Result<Rotation> {
        let fixture = Fixture::start(1, 1).await?;
        fixture.manifests.object(&presented("web", HOST, "web"))?;
        let default = Pair::renew(&fixture.manifests, "default", &["default.test"])?;
        let first = Pair::renew(&fixture.manifests, "web", &[HOST])?;
        Ok(Rotation {
            fixture,
            default,
            first,
        })
    }

    pub(crate) fn options(&self) -> Options {
        let arguments = ["--default-ssl-certificate", "default/default"]
            .map(str::to_owned)
            .into();
        Options::new(&self.fixture.manifests).arguments(arguments)
    }

    /// Whoever is connected goes on, and whoever connects sees the new one.
    pub(crate) async fn renews_without_closing_connections(&self, sluice: &Sluice) -> Result<()> {
        presents(sluice, HOST, &self.first).await?;
        let mut old = vec![Clients::connect(sluice).await?];
        for _ in 0..3 {
            let new = Pair::renew(&self.fixture.manifests, "web", &[HOST])?;
            presents(sluice, HOST, &new).await?;
            old.push(Clients::connect(sluice).await?);
            for clients in &mut old {
                clients.are_served().await?;
            }
        }
        Ok(())
    }

    /// A host whose Secret is malformed or missing presents the default certificate, and a good one again later. Connected
    /// clients do not notice.
    pub(crate) async fn falls_back_and_recovers(
        &self,
        sluice: &Sluice,
        mut clients: Clients,
    ) -> Result<()> {
        let (manifests, other) = (&self.fixture.manifests, Pair::of(&["other.test"])?);
        let spoiled = [
            ("nonsense", "not a certificate", self.first.key.as_str()),
            ("the key of another", &self.first.pem, &other.key),
            ("of another host", &other.pem, &other.key),
        ];
        for (what, certificate, key) in spoiled {
            store(manifests, "web", certificate, key)?;
            presents(sluice, HOST, &self.default).await.context(what)?;
            clients.are_served().await.context(what)?;
            self.first.store(manifests, "web")?;
            presents(sluice, HOST, &self.first).await.context(what)?;
        }
        manifests.remove("secret-default-web.yaml")?;
        presents(sluice, HOST, &self.default).await?;
        clients.are_served().await.context("without the Secret")?;
        Clients::connect(sluice).await?;
        self.first.store(manifests, "web")?;
        presents(sluice, HOST, &self.first).await?;
        clients.are_served().await
    }
}

impl Clients {
    pub(crate) async fn connect(sluice: &Sluice) -> Result<Clients> {
        let mut dial = Dial::tls(sluice.https(), HOST);
        if let Some(tls) = &mut dial.tls {
            tls.http2 = true;
        }
        let http2 = http2::Connection::open(dial.connect().await?.stream).await?;
        let mut clients = Clients {
            http1: Connection::open_tls(sluice.https(), HOST).await?,
            http2,
        };
        clients.are_answered().await?;
        Ok(clients)
    }

    /// On the connections that they have, which they keep.
    pub(crate) async fn are_served(&mut self) -> Result<()> {
        self.are_answered().await?;
        ensure!(self.http1.is_reusable(), "HTTP/1.1: the connection ends");
        Ok(())
    }

    async fn are_answered(&mut self) -> Result<()> {
        let answer = self.http1.send(&page()).await.context("HTTP/1.1")?;
        ensure!(answer.status == 200, "HTTP/1.1: {answer:?}");
        let answer = self.http2.send(&page(), true, false).await?;
        ensure!(answer.status == 200, "HTTP/2: {answer:?}");
        Ok(())
    }
}

/// Hosts with certificates of their own, and what is beside one of them: its wildcard.
pub(crate) struct ManyHosts {
    pub(crate) fixture: Fixture,
    hosts: Vec<(String, Pair)>,
}

impl ManyHosts {
    const HOSTS: usize = 1000;
    const HANDSHAKES: usize = 8;

    pub(crate) async fn start() -> Result<ManyHosts> {
        let fixture = Fixture::start(1, 1).await?;
        let mut hosts = Vec::new();
        for n in 0..Self::HOSTS {
            let (name, host) = match n {
                // The host of every other one is one that the wildcard would be good for.
                0 => ("wild".to_owned(), "*.many.test".to_owned()),
                n if n % 2 == 0 => (format!("h{n}"), format!("h{n}.many.test")),
                n => (format!("h{n}"), format!("h{n}.test")),
            };
            let pair = Pair::renew(&fixture.manifests, &name, &[&host])?;
            fixture.manifests.object(&presented(&name, &host, &name))?;
            hosts.push((host, pair));
        }
        Ok(ManyHosts { fixture, hosts })
    }

    /// Each host presents its own certificate, and names under the wildcard that nobody has, the wildcard's.
    pub(crate) async fn present_own_certificates(&self, sluice: &Sluice) -> Result<()> {
        let last = self.hosts.last().context("a host")?;
        presents(sluice, &last.0, &last.1).await?;
        let mut running = JoinSet::new();
        for (host, pair) in &self.hosts {
            let (name, expected) = (host.replace('*', "nobodys"), pair.der.clone());
            if running.len() == Self::HANDSHAKES {
                finished(&mut running).await?;
            }
            let addr = sluice.https();
            running.spawn(async move {
                let connection = Connection::open_tls(addr, &name)
                    .await
                    .context(name.clone())?;
                ensure!(
                    connection.certificate() == Some(expected.as_slice()),
                    "{name} presents another's"
                );
                Ok(())
            });
        }
        while !running.is_empty() {
            finished(&mut running).await?;
        }
        Ok(())
    }
}

async fn finished(running: &mut JoinSet<Result<()>>) -> Result<()> {
    match running.join_next().await {
        Some(done) => done?,
        None => bail!("nothing runs"),
    }
}
