//! A real Envoy with the filter as it is shipped, on our server of its resources.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sluice_filter_config::Host;
use sluice_ir::Config;
use sluice_tests::certificate::Pair;
use sluice_tests::envoy::Envoy;
use sluice_tests::ports::Port;
use sluice_tests::{artifacts, http, wait};
use sluice_xds::{
    BootstrapSettings, Certificate, ControllerAddress, FilterCode, Https, Settings, bootstrap,
    publication,
};
use sluice_xds_server::Store;
use tempfile::TempDir;
use tokio::net::UnixListener;
use tokio_stream::wrappers::UnixListenerStream;

use crate::site::{HOST, Site, bootstrap_config};

/// An answer takes milliseconds; a machine may be busy.
const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct RunningEnvoy {
    envoy: Envoy,
    store: Store,
    settings: Settings,
    ports: [Port; 2],
    _folder: TempDir,
}

impl RunningEnvoy {
    /// Starts it, and waits until it serves the site.
    pub(crate) async fn start(site: &Site) -> Result<RunningEnvoy> {
        let (store, folder) = (Store::new(), tempfile::tempdir()?);
        let socket = folder.path().join("controller.sock");
        let listener = UnixListenerStream::new(UnixListener::bind(&socket)?);
        let routes =
            sluice_xds_server::discovery_service(&store, |session| drop(tokio::spawn(session)));
        let serving = tonic::transport::Server::builder()
            .add_routes(routes)
            .serve_with_incoming(listener);
        tokio::spawn(serving);
        let bootstrap = bootstrap(&BootstrapSettings {
            node_id: "model".to_owned(),
            zone: None,
            admin_socket: folder.path().join("admin.sock"),
            controller: ControllerAddress::Unix(socket),
            filter: sluice_xds::FilterForm::Wasm,
            max_connections: None,
            memory: None,
        });
        let ports = [Port::reserve()?, Port::reserve()?];
        let config = site.config()?;
        let running = RunningEnvoy {
            envoy: Envoy::start(&bootstrap.to_string()).await?,
            store,
            settings: settings(&config, &ports)?,
            ports,
            _folder: folder,
        };
        running.publish(&Config::default(), &config).await?;
        let serves = async || {
            let answer = http::get(running.http(), HOST, "/weights").await.ok()?;
            (answer.status == 200).then_some(())
        };
        wait::until("Envoy to serve", serves)
            .await
            .with_context(|| running.envoy.log().tail())?;
        Ok(running)
    }

    /// Address for http.
    pub(crate) fn http(&self) -> SocketAddr {
        self.ports[0].addr()
    }

    /// A listener that is gone is closed, and one that stays goes on.
    pub(crate) async fn takes_another(&mut self, site: &Site) -> Result<()> {
        let before = site.config()?;
        let mut now = before.clone();
        now.listeners.retain(|name, _| name.to_string() == "plain");
        self.publish(&before, &now).await?;
        let closed = async || {
            let answer = http::get(site.secure.addr(), "secure.test", "/").await;
            answer.is_err().then_some(())
        };
        wait::until("the listener to close", closed).await?;
        let plain = http::get(site.plain.addr(), "plain.test", "/").await?;
        ensure!(plain.status == 200, "{plain:?}");
        Ok(())
    }

    pub(crate) fn stop(self) -> Result<()> {
        self.envoy.stop()
    }

    /// As the publisher does, but all at once; Envoy has to take all of it.
    async fn publish(&self, before: &Config, now: &Config) -> Result<()> {
        self.store.apply(publication::additions(before, now));
        self.store.apply(publication::routing(now, &self.settings));
        let generation = self.store.apply(publication::removals(before, now));
        let answered = self.store.answered(generation, TIMEOUT).await;
        let refusals = self.store.refusals();
        ensure!(
            answered && refusals.is_empty(),
            "{refusals:?}\n{}",
            self.envoy.log().tail()
        );
        Ok(())
    }
}

fn settings(config: &Config, ports: &[Port; 2]) -> Result<Settings> {
    let pair = Pair::of(&["default.test"])?;
    let default_certificate = Certificate {
        chain: pair.pem,
        key: pair.key,
    };
    let filter = FilterCode::File(artifacts::filter()?);
    Ok(Settings {
        http: vec![ports[0].addr()],
        https: Some(Https {
            address: ports[1].addr(),
            default_certificate,
        }),
        ..Settings::new(filter, bootstrap_config(config, Host::ManagedEnvoy))
    })
}
