//! The configuration, and the pods behind it.

use std::num::{NonZeroU8, NonZeroU16};
use std::sync::Arc;

use anyhow::{Context, Result};
use sluice_filter_config::{Host, PluginConfig, Tables};
use sluice_ir::{
    Action, Backend, BackendId, Config, Endpoint, HostTls, HttpRoute, Listener, ListenerName,
    ListenerTls, PathMatch, SecretId, SecretValue, Sensitive, Server, ServerName,
};
use sluice_tests::certificate::Pair;
use sluice_tests::echo::{Echo, EchoIdentity, Journal, Setup};
use sluice_tests::ports::{Network, Port};

use crate::routes;

pub(crate) const HOST: &str = "model.test";

/// Backends, each with one pod.
const SERVICES: [&str; 11] = [
    "plain",
    "exact",
    "method",
    "header",
    "pattern",
    "query",
    "five",
    "three",
    "two",
    "all-copies",
    "half-of-copies",
];

/// Pods, and the ports and certificates of the listeners.
pub(crate) struct Site {
    pods: Vec<Echo>,
    pub(crate) all_copies: Journal,
    pub(crate) half_of_copies: Journal,
    pub(crate) secure: Port,
    pub(crate) plain: Port,
    pub(crate) certificate: Pair,
    pub(crate) named_certificate: Pair,
    _network: Network,
}

impl Site {
    pub(crate) async fn start() -> Result<Site> {
        let network = Network::reserve()?;
        let (all_copies, half_of_copies) = (Journal::default(), Journal::default());
        let mut pods = Vec::new();
        for (n, service) in (0..).zip(SERVICES) {
            let journal = match service {
                "all-copies" => Some(all_copies.clone()),
                "half-of-copies" => Some(half_of_copies.clone()),
                _ => None,
            };
            let setup = Setup {
                journal,
                ..Setup::default()
            };
            let identity = EchoIdentity::of(service, service);
            pods.push(Echo::start_with(network.pod(n), identity, setup).await?);
        }
        Ok(Site {
            pods,
            all_copies,
            half_of_copies,
            secure: Port::reserve()?,
            plain: Port::reserve()?,
            certificate: Pair::of(&["secure.test"])?,
            named_certificate: Pair::of(&["named.test"])?,
            _network: network,
        })
    }

    /// All of it.
    pub(crate) fn config(&self) -> Result<Config> {
        let mut config = Config::default();
        for pod in &self.pods {
            let backend = Backend {
                attempts: NonZeroU8::MIN,
                endpoints: vec![Endpoint::at(pod.addr())],
                ..Backend::default()
            };
            config.backends.insert(id(pod.name()), Arc::new(backend));
        }
        config
            .servers
            .insert(name(HOST)?, Arc::new(server(routes::routes()?)));
        config.servers.insert(ServerName::CatchAll, Arc::default());
        for (secret, pair) in [
            ("own", &self.certificate),
            ("named", &self.named_certificate),
        ] {
            let value = SecretValue::Certificate {
                chain: pair.pem.clone(),
                key: Sensitive::new(pair.key.clone()),
            };
            config.secrets.insert(certificate(secret), value);
        }
        for (name, listener) in self.listeners()? {
            config.listeners.insert(ListenerName::new(name), listener);
        }
        Ok(config)
    }

    fn listeners(&self) -> Result<[(&'static str, Listener); 2]> {
        let only = |host: &str, service: &str| -> Result<(ServerName, Arc<Server>)> {
            let path = PathMatch::Prefix("/".to_owned());
            let to = Action::to(id(service));
            let name = name(host)?;
            let route = HttpRoute::new(&name, path, to, Arc::default());
            Ok((name, Arc::new(server(vec![route]))))
        };
        let port = |port: &Port| NonZeroU16::new(port.number()).context("port 0");
        let named = HostTls {
            certificate: Some(certificate("named")),
            ..HostTls::default()
        };
        let tls = ListenerTls {
            hosts: [(name("named.test")?, named)].into_iter().collect(),
            default_certificate: Some(certificate("own")),
        };
        let secure = Listener {
            port: port(&self.secure)?,
            tls: Some(tls),
            servers: [only("secure.test", "five")?, only("named.test", "three")?]
                .into_iter()
                .collect(),
        };
        let plain = Listener {
            port: port(&self.plain)?,
            tls: None,
            servers: [only("plain.test", "two")?].into_iter().collect(),
        };
        Ok([("secure", secure), ("plain", plain)])
    }
}

/// The filter's tables, whole and without anybody to ask for changes.
pub(crate) fn bootstrap_config(config: &Config, host: Host) -> Vec<u8> {
    let mut log = sluice_plugin::Log::default();
    log.replace(config);
    let tables = Tables::Snapshot(log.snapshot());
    PluginConfig {
        host: Some(host),
        tables: Some(tables),
        ..PluginConfig::empty()
    }
    .to_json()
}

pub(crate) fn id(service: &str) -> BackendId {
    BackendId::new(format!("model/{service}/80"))
}

fn certificate(name: &str) -> SecretId {
    SecretId::new(format!("model/{name}"))
}

fn name(host: &str) -> Result<ServerName> {
    ServerName::parse(host)
        .ok()
        .with_context(|| host.to_owned())
}

fn server(routes: Vec<HttpRoute>) -> Server {
    Server {
        routes,
        ..Server::default()
    }
}
