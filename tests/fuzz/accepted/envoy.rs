//! A real Envoy that runs on our bootstrap and follows our server, from one world to the next.

use std::time::Duration;

use sluice_filter_config::Host;
use sluice_ir::Config;
use sluice_tests::certificate::Pair;
use sluice_tests::envoy::Envoy;
use sluice_tests::ports::Port;
use sluice_tests::{artifacts, wait};
use sluice_xds::{
    BootstrapSettings, CONTROLLER_CLUSTER, Certificate, ControllerAddress, FilterCode, Https,
    Settings, bootstrap, publication,
};
use sluice_xds_server::Store;
use tempfile::TempDir;
use tokio::net::UnixListener;
use tokio::runtime::Runtime;
use tokio_stream::wrappers::UnixListenerStream;

/// An answer takes milliseconds; a machine may be busy.
const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct Live {
    runtime: Runtime,
    store: Store,
    envoy: Envoy,
    settings: Settings,
    before: Config,
    /// As many as there were before anything was refused.
    nacks: u64,
    _ports: [Port; 2],
    _folder: TempDir,
}

impl Live {
    pub(crate) fn start(scopes_from: usize) -> Live {
        let (runtime, store, folder) = (
            Runtime::new().unwrap(),
            Store::new(),
            tempfile::tempdir().unwrap(),
        );
        let socket = folder.path().join("controller.sock");
        let listener = {
            let _inside = runtime.enter();
            UnixListenerStream::new(UnixListener::bind(&socket).unwrap())
        };
        let routes =
            sluice_xds_server::discovery_service(&store, |session| drop(tokio::spawn(session)));
        runtime.spawn(async move {
            tonic::transport::Server::builder()
                .add_routes(routes)
                .serve_with_incoming(listener)
                .await
        });
        let ports = [Port::reserve().unwrap(), Port::reserve().unwrap()];
        let settings = settings(&ports, scopes_from);
        let mut live = Live {
            envoy: runtime
                .block_on(Envoy::start(&bootstrap_on(&folder, socket)))
                .unwrap(),
            runtime,
            store,
            settings,
            before: Config::default(),
            nacks: 0,
            _ports: ports,
            _folder: folder,
        };
        live.publish(Config::default());
        let follows = async || (live.store.stats().streams == 1).then_some(());
        live.runtime
            .block_on(wait::until("Envoy to follow", follows))
            .unwrap();
        live.takes(Config::default()).unwrap();
        live
    }

    /// Sends a configuration in the place of the one before; an error is Envoy's refusal.
    pub(crate) fn takes(&mut self, config: Config) -> Result<(), String> {
        let generation = self.publish(config);
        let answered = self
            .runtime
            .block_on(self.store.answered(generation, TIMEOUT));
        let stats = self.store.stats();
        if stats.streams != 1 {
            return Err(format!(
                "Envoy went away; its log ends\n{}",
                self.envoy.log().tail()
            ));
        }
        let refusals: Vec<String> = self
            .store
            .refusals()
            .into_iter()
            .map(|refusal| format!("{} {}: {}", refusal.kind, refusal.name, refusal.message))
            .collect();
        let has_refused = stats.nacks > std::mem::replace(&mut self.nacks, stats.nacks);
        match (answered, has_refused) {
            (true, false) if refusals.is_empty() => Ok(()),
            (true, _) => Err(format!("Envoy refused\n{}", refusals.join("\n"))),
            (false, _) => Err(format!(
                "Envoy did not answer; its log ends\n{}",
                self.envoy.log().tail()
            )),
        }
    }

    /// As the publisher does, but all at once.
    fn publish(&mut self, now: Config) -> sluice_xds_server::Generation {
        let before = std::mem::replace(&mut self.before, now);
        self.store
            .apply(publication::additions(&before, &self.before));
        self.store
            .apply(publication::routing(&self.before, &self.settings));
        self.store
            .apply(publication::removals(&before, &self.before))
    }
}

fn settings(ports: &[Port; 2], scopes_from: usize) -> Settings {
    let pair = Pair::of(&["default.test"]).unwrap();
    let bootstrap_config =
        sluice_plugin::bootstrap_config(Host::ManagedEnvoy, CONTROLLER_CLUSTER, "sluice").to_json();
    let certificate = Certificate {
        chain: pair.pem,
        key: pair.key,
    };
    Settings {
        http: vec![ports[0].addr()],
        https: Some(Https {
            address: ports[1].addr(),
            default_certificate: certificate,
        }),
        access_log: true,
        request_log: true,
        scopes_from,
        ..Settings::new(
            FilterCode::File(artifacts::filter().unwrap()),
            bootstrap_config,
        )
    }
}

fn bootstrap_on(folder: &TempDir, socket: std::path::PathBuf) -> String {
    let settings = BootstrapSettings {
        node_id: "fuzz".to_owned(),
        zone: None,
        admin_socket: folder.path().join("admin.sock"),
        controller: ControllerAddress::Unix(socket),
        filter: sluice_xds::FilterForm::Wasm,
        max_connections: None,
        memory: None,
    };
    bootstrap(&settings).to_string()
}
