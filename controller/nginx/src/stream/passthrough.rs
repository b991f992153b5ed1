//! Hosts whose TLS ends at the pods.
//!
//! ```text
//!   client --> stream {}: the https port, the name in the handshake --> https.sock: http {}, as without it
//!                                                                \--> passthrough.sock: stream {} --> a pod
//! ```
//!
//! Both sockets get a PROXY header in front, which nginx writes for all or for nobody: `http {}` learns from it who the client is,
//! and the second `stream {}` server takes it off, because a pod expects the handshake.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use sluice_ir::Config;

use crate::conf::{Value, Word, unix, value, word};
use crate::settings::{Settings, Streams};
use crate::stream::backends::{most_of_all, upstream};

const KONGS: &str = "ssl-passthrough";
const NO_MODULE: &str = "ssl-passthrough, without nginx's stream module and its ssl_preread (Debian: libnginx-mod-stream)";
const NO_HEADERS: &str =
    "ssl-passthrough, without nginx's stream_realip module, which reads the PROXY header";
const TWO_ADDRESSES: &str =
    "ssl-passthrough beside use-forwarded-headers and without use-proxy-protocol";

/// The servers of `stream {}` that take the https port.
pub(crate) struct Passthrough {
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) reads_header: bool,
    pub(crate) believes_headers: bool,
    pub(crate) https: Word,
    pub(crate) socket: Word,
    pub(crate) hosts: Vec<PassedHost>,
    /// Connections at a time.
    pub(crate) most: u32,
}

/// A host, as the client may write it.
pub(crate) struct PassedHost {
    pub(crate) names: [Word; 2],
    pub(crate) upstream: String,
    pub(crate) backend: Value,
}

impl Passthrough {
    /// `None` where no TLS passes through.
    pub(crate) fn new(config: &Config, settings: &Settings) -> Option<Self> {
        let streams = stream_module(config, settings).ok()??;
        let hosts = config.passthrough.iter().map(|(host, backend)| PassedHost {
            names: [word(host.as_str()), word(format!("{}.", host.as_str()))],
            upstream: upstream(backend),
            backend: value(config.without_variant(backend)),
        });
        Some(Passthrough {
            addresses: settings.on_port(settings.https.port()),
            reads_header: config.global.forwarded.proxy_protocol,
            believes_headers: streams.believes_headers,
            https: https(config, settings)?,
            socket: unix(&passthrough_socket(&settings.folder)),
            hosts: hosts.collect(),
            // Each takes four connections of a worker, and what comes back to us leaves it half of them.
            most: (most_of_all(config) / 8).max(1),
        })
    }
}

/// The module that looks at the handshake; `None` where none has to. An error is why hosts are served without.
pub(crate) fn stream_module<'a>(
    config: &Config,
    settings: &'a Settings,
) -> Result<Option<&'a Streams>, &'static str> {
    let forwarded = &config.global.forwarded;
    if config.passthrough.is_empty() {
        return Ok(None);
    }
    if settings.engine.is_kongs() {
        return Err(KONGS);
    }
    let streams = settings.streams.as_ref();
    let streams = streams
        .filter(|streams| streams.reads_names)
        .ok_or(NO_MODULE)?;
    match forwarded {
        forwarded if forwarded.proxy_protocol && !streams.believes_headers => Err(NO_HEADERS),
        // nginx takes the client's address from one place, and here it is in two: the PROXY header and the client's.
        forwarded if !forwarded.proxy_protocol && forwarded.client_header.is_some() => {
            Err(TWO_ADDRESSES)
        }
        _ => Ok(Some(streams)),
    }
}

/// The socket that `http {}` takes TLS from, in the place of the https port; `None` where it has that.
pub(crate) fn https(config: &Config, settings: &Settings) -> Option<Word> {
    stream_module(config, settings).ok()??;
    Some(unix(&https_socket(&settings.folder)))
}

/// The socket from `stream {}` to `http {}`.
pub(crate) fn https_socket(folder: &Path) -> PathBuf {
    folder.join("https.sock")
}

/// The socket from one server of `stream {}` to the other.
pub(crate) fn passthrough_socket(folder: &Path) -> PathBuf {
    folder.join("passthrough.sock")
}
