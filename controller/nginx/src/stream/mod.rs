//! TCP and UDP ports. Their pods are not in the configuration: nginx reads them from a file of their own when a client
//! comes, so another pod costs no reload. The same is true of hosts whose TLS ends at the pods: [`passthrough`].

mod backends;
pub(crate) mod passthrough;

use std::net::SocketAddr;

use askama::Template;
use sluice_ir::{Backend, BackendId, Config, L4Protocol, Stream, StreamPort};

use crate::access_log::AccessLogConf;
use crate::conf::{Value, Word, unix, value, word};
use crate::settings::Settings;
use crate::stream::backends::{most, upstream};
use crate::stream::passthrough::Passthrough;
use crate::unsupported::{Element, Unsupported};

pub(crate) use backends::most_of_all as worker_connections;
pub use backends::pods;

const NO_MODULE: &str = "nginx's stream module, which is not there: install it (Debian: libnginx-mod-stream), or use an \
    nginx that is built --with-stream";
const NOT_OURS: &str = "the module of Sluice, which chooses the pods of connections without HTTP";
const NO_HEADERS: &str =
    "an nginx that is built --with-stream_realip_module, because a PROXY header is to be read";
/// Idle timeout where none is configured.
const FOR_EVER: u32 = 365 * 24 * 3600;

/// `stream {}`.
#[derive(Template)]
#[template(path = "stream/stream.conf")]
pub(crate) struct StreamConf {
    pub(crate) module: Option<Word>,
    no_endpoint: Word,
    upstreams: Vec<Upstream>,
    ports: Vec<Port>,
    passthrough: Option<Passthrough>,
    /// It can tell who has connected from who is the client.
    knows_peers: bool,
    access_log: Option<AccessLogConf>,
}

struct Upstream {
    name: String,
    pods: Word,
}

/// `server {}`.
struct Port {
    number: u16,
    addresses: Vec<SocketAddr>,
    backend: Value,
    is_udp: bool,
    reads_header: bool,
    writes_header: bool,
    connect: u32,
    idle: u32,
    attempts: u32,
    within: u32,
    answers: Option<u32>,
    most: u32,
    upstream: String,
}

impl StreamConf {
    /// `None` where there are no such ports, and no TLS passes through.
    pub(crate) fn new(
        config: &Config,
        settings: &Settings,
        unsupported: &mut Vec<Unsupported>,
    ) -> Option<Self> {
        let mut ports = Vec::new();
        for (port, stream) in &config.streams {
            match Port::new(*port, stream, config, settings) {
                Ok(port) => ports.push(port),
                Err(what) => {
                    unsupported.push(Unsupported {
                        element: Element::Port(*port),
                        what: what.into(),
                        closes: true,
                    });
                }
            }
        }
        let passthrough = Passthrough::new(config, settings);
        let is_needed = !ports.is_empty() || passthrough.is_some();
        let streams = settings.streams.as_ref().filter(|_| is_needed)?;
        Some(StreamConf {
            module: streams.module.as_ref().map(|file| word(file.display())),
            no_endpoint: unix(&crate::no_endpoint_socket(&settings.folder)),
            upstreams: backends::all(config)
                .map(|(id, _)| Upstream::of(id, settings))
                .collect(),
            ports,
            passthrough,
            knows_peers: streams.believes_headers,
            access_log: AccessLogConf::of_connections(&config.global.log, settings),
        })
    }
}

impl Upstream {
    fn of(id: &BackendId, settings: &Settings) -> Self {
        Upstream {
            name: upstream(id),
            pods: word(settings.pods().join(backends::file(id)).display()),
        }
    }
}

impl Port {
    fn new(
        port: StreamPort,
        stream: &Stream,
        config: &Config,
        settings: &Settings,
    ) -> Result<Self, &'static str> {
        if settings.engine.is_kongs() {
            return Err(NOT_OURS);
        }
        let streams = settings.streams.as_ref().ok_or(NO_MODULE)?;
        if stream.proxy_protocol && !streams.believes_headers {
            return Err(NO_HEADERS);
        }
        let default = Backend::default();
        let backend = config
            .backends
            .get(&stream.backend)
            .map_or(&default, AsRef::as_ref);
        let is_udp = port.protocol == L4Protocol::Udp;
        Ok(Port {
            number: port.number.get(),
            addresses: settings.on_port(port.number.get()),
            backend: value(config.without_variant(&stream.backend)),
            is_udp,
            reads_header: stream.proxy_protocol,
            writes_header: backend.transport.proxy_protocol,
            connect: backend.transport.connect_timeout.max(1),
            idle: if stream.idle_timeout == 0 {
                FOR_EVER
            } else {
                stream.idle_timeout
            },
            attempts: stream.attempts.max(1),
            within: stream.attempts_timeout.map_or(0, Into::into),
            answers: stream.responses.filter(|_| is_udp).map(Into::into),
            // A worker has so many connections, and each that it passes on takes two: what comes back to us leaves it half of them.
            most: (most(backend) / 4).max(1),
            upstream: upstream(&stream.backend),
        })
    }
}
