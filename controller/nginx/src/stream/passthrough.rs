//! Hosts whose TLS ends at the pods.
//!
//! ```text
//!   client --> stream {}: the https port, the name in the handshake --> https.sock: http {}, as without it
//!                                                                \--> tls-<hash>.sock: stream {} --> a pod of that Service
//! ```
//!
//! All sockets get a PROXY header in front, which nginx writes for all or for nobody: `http {}` learns from it who the client is,
//! and the second `stream {}` server takes it off, because a pod expects the handshake. Each Service has a server, and with it a
//! limit of its own: who fills it shuts out nobody else.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use sluice_ir::{BackendId, Cidr, Config, Forwarded, Hostname, SharedMap};

use crate::LONGEST_SOCKET;
use crate::conf::{Value, Word, map_key, unix, value};
use crate::files::names::hash;
use crate::settings::{Settings, Streams};
use crate::stream::backends::{most, upstream};

const KONGS: &str = "ssl-passthrough";
const NO_MODULE: &str = "ssl-passthrough, which needs nginx's stream module with ssl_preread: install it (Debian: \
                         libnginx-mod-stream)";
const NO_HEADERS: &str =
    "ssl-passthrough, without nginx's stream_realip module, which reads the PROXY header";
const LONG_FOLDER: &str =
    "ssl-passthrough, with a run directory whose path is too long for sockets in it";

/// The servers of `stream {}` that take the https port, and what passes through it.
pub(crate) struct Passthrough {
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) reads_header: bool,
    /// Peers whose header is believed.
    pub(crate) believed_peers: Vec<String>,
    pub(crate) https: Word,
    pub(crate) hosts: Vec<PassedHost>,
    pub(crate) services: Vec<PassedService>,
}

/// A host, as the client may write it.
pub(crate) struct PassedHost {
    pub(crate) names: [Word; 2],
    pub(crate) socket: Word,
}

/// Pods that TLS ends at.
pub(crate) struct PassedService {
    pub(crate) socket: Word,
    pub(crate) upstream: String,
    pub(crate) backend: Value,
    pub(crate) connect: u32,
    /// Connections at a time.
    pub(crate) most: u32,
}

impl Passthrough {
    /// `None` where no TLS passes through.
    pub(crate) fn new(config: &Config, settings: &Settings) -> Option<Self> {
        let https = https((&config.passthrough, &config.global.forwarded), settings)?;
        let hosts = config.passthrough.iter().map(|(host, backend)| PassedHost {
            names: [
                map_key(host.as_str()),
                map_key(&format!("{}.", host.as_str())),
            ],
            socket: unix(&service_socket(&settings.folder, backend)),
        });
        let services: BTreeSet<&BackendId> = config.passthrough.values().collect();
        let services = services
            .into_iter()
            .filter_map(|id| PassedService::new(id, config, settings));
        Some(Passthrough {
            addresses: settings.on_port(settings.https.port()),
            reads_header: config.global.forwarded.proxy_protocol,
            believed_peers: believed_peers(&config.global.forwarded),
            https,
            hosts: hosts.collect(),
            services: services.collect(),
        })
    }
}

impl PassedService {
    /// `None` where there is no such Service: connections to its hosts end.
    fn new(id: &BackendId, config: &Config, settings: &Settings) -> Option<Self> {
        let backend = config.backends.get(id)?;
        Some(PassedService {
            socket: unix(&service_socket(&settings.folder, id)),
            upstream: upstream(id),
            backend: value(config.without_variant(id)),
            connect: backend.transport.connect_timeout.max(1),
            // Each takes four connections of a worker, and what comes back to us leaves it half of them.
            most: (most(backend) / 8).max(1),
        })
    }
}

/// Peers whose PROXY header is believed, as nginx writes networks.
pub(crate) fn believed_peers(forwarded: &Forwarded) -> Vec<String> {
    match &forwarded.proxy_protocol_peers {
        None => ["0.0.0.0/0", "::/0"].map(str::to_owned).into(),
        Some(peers) => peers.iter().map(Cidr::to_string).collect(),
    }
}

/// The module that looks at the handshake; `None` where none has to. An error is why hosts are closed.
pub(crate) fn stream_module<'a>(
    (hosts, forwarded): (&SharedMap<Hostname, BackendId>, &Forwarded),
    settings: &'a Settings,
) -> Result<Option<&'a Streams>, &'static str> {
    if hosts.is_empty() {
        return Ok(None);
    }
    if settings.engine.is_kongs() {
        return Err(KONGS);
    }
    let streams = settings.streams.as_ref();
    let streams = streams
        .filter(|streams| streams.reads_names)
        .ok_or(NO_MODULE)?;
    let longest = service_socket(&settings.folder, &BackendId::new(""));
    if longest.as_os_str().len() > LONGEST_SOCKET {
        Err(LONG_FOLDER)
    } else if !streams.believes_headers {
        Err(NO_HEADERS)
    } else if forwarded.has_two_addresses() {
        Err(Forwarded::PASSTHROUGH_BESIDE_HEADERS)
    } else {
        Ok(Some(streams))
    }
}

/// The socket that `http {}` takes TLS from, in the place of the https port; `None` where it has that.
pub(crate) fn https(
    passed: (&SharedMap<Hostname, BackendId>, &Forwarded),
    settings: &Settings,
) -> Option<Word> {
    stream_module(passed, settings).ok()??;
    Some(unix(&https_socket(&settings.folder)))
}

/// The socket from `stream {}` to `http {}`.
fn https_socket(folder: &Path) -> PathBuf {
    folder.join("https.sock")
}

/// The socket from one server of `stream {}` to that of a Service.
fn service_socket(folder: &Path, backend: &BackendId) -> PathBuf {
    folder.join(format!("tls-{}.sock", hash(backend.as_str())))
}

#[cfg(test)]
mod tests {
    use sluice_ir::{Config, Hostname};

    use super::*;
    use crate::settings::Engine;

    fn settings(streams: Option<Streams>) -> Settings {
        let engine = Engine::Sluice {
            module: "m".into(),
            wasm: None,
        };
        let address = SocketAddr::from(([127, 0, 0, 1], 443));
        Settings {
            streams,
            ..Settings::new(engine, address, address)
        }
    }

    fn refusal(config: &Config, settings: &Settings) -> Option<&'static str> {
        let passed = (&config.passthrough, &config.global.forwarded);
        let refusal = stream_module(passed, settings).err();
        // All or nothing: http {} has the https port exactly where nothing passes through.
        assert_eq!(https(passed, settings).is_some(), refusal.is_none());
        assert_eq!(
            Passthrough::new(config, settings).is_some(),
            refusal.is_none()
        );
        refusal
    }

    #[test]
    fn an_nginx_that_cannot_pass_tls_through_says_why() {
        let mut config = Config::default();
        let host = Hostname::parse("a.test").unwrap();
        config.passthrough.insert(host, BackendId::new("b"));
        let whole = Streams {
            module: None,
            believes_headers: true,
            reads_names: true,
        };
        let with = |streams| refusal(&config, &settings(streams));
        assert_eq!(with(Some(whole.clone())), None);
        assert_eq!(with(None), Some(NO_MODULE));
        let blind = Streams {
            reads_names: false,
            ..whole.clone()
        };
        assert_eq!(with(Some(blind)), Some(NO_MODULE));
        let deaf = Streams {
            believes_headers: false,
            ..whole.clone()
        };
        assert_eq!(with(Some(deaf)), Some(NO_HEADERS));
        let mut deep = settings(Some(whole.clone()));
        deep.folder = "f".repeat(LONGEST_SOCKET).into();
        assert_eq!(refusal(&config, &deep), Some(LONG_FOLDER));
        config.global.forwarded.client_header = Some("X-Forwarded-For".to_owned());
        let settings = settings(Some(whole));
        let reason = Forwarded::PASSTHROUGH_BESIDE_HEADERS;
        assert_eq!(refusal(&config, &settings), Some(reason));
        config.global.forwarded.proxy_protocol = true;
        assert_eq!(refusal(&config, &settings), None);
    }
}
