//! What holds for all hosts.

use std::net::IpAddr;

use askama::Template;
use sluice_ir::{Cidr, Compressed, Config, Edge, Server, ServerName};

use crate::Unserved;
use crate::access_log::Written;
use crate::blocked::BlockedConf;
use crate::buffering::{self, Directive};
use crate::conf::{Value, Word, word};
use crate::kong::{self, KongConf};
use crate::limits::{self, Zone};
use crate::server::{Scene, ServerConf};
use crate::settings::{Engine, Settings};
use crate::streams::StreamConf;
use crate::tls::TlsConf;
use crate::told::{self, Clients, Line, client_header, client_variable};
use crate::upstream::{self, Upstream};

/// nginx reads at most 4096 bytes as one word.
const PART: usize = 2000;

/// ingress-nginx's, in its order.
const USUAL_CIPHERS: &str = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:\
    ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305:\
    DHE-RSA-AES128-GCM-SHA256:DHE-RSA-AES256-GCM-SHA384";

/// nginx.conf.
#[derive(Template)]
#[template(path = "main.conf")]
struct MainConf<'a> {
    settings: &'a Settings,
    module: Option<Word>,
    /// Our module's filter; `None` where Kong's host has it.
    filter: Option<Word>,
    kong: Option<KongConf>,
    checkpoint: Vec<Word>,
    user: Option<Word>,
    workers: String,
    pid: Word,
    nobody: Word,
    resolvers: Vec<String>,
    requests: Option<Word>,
    access_log: Option<Written>,
    edge: EdgeConf<'a>,
    tls: TlsConf,
    blocked: Option<BlockedConf<'a>>,
    zones: Vec<Zone>,
    upstreams: Vec<Upstream>,
    servers: Vec<ServerConf<'a>>,
    streams: Option<StreamConf>,
}

/// The edge.
#[derive(Template)]
#[template(path = "edge.conf")]
struct EdgeConf<'a> {
    edge: &'a Edge,
    ciphers: Word,
    curves: Option<Word>,
    gzip: Option<&'a Compressed>,
    types: Vec<Word>,
    hsts: Option<Value>,
    trusted: Vec<Cidr>,
    pods: Vec<Line>,
    clients: Clients,
    buffering: Vec<Directive>,
}

pub(crate) fn render(config: &Config, settings: &Settings, unserved: &mut Vec<Unserved>) -> String {
    let default = Server::default();
    let named = config.servers.iter().map(|(name, server)| (name, server.as_ref()));
    let named = named.filter(|(name, _)| **name != ServerName::CatchAll);
    let catch_all = config.servers.get(&ServerName::CatchAll).map_or(&default, AsRef::as_ref);
    let servers = std::iter::once((&ServerName::CatchAll, catch_all)).chain(named);
    let zones = limits::zones(config);
    let access_log = Written::of_requests(&config.edge.log, settings);
    let scene = Scene { config, settings, logs: access_log.is_some() };
    let servers = servers.map(|(name, server)| ServerConf::new(name, server, scene, unserved)).collect();
    unserved.extend(kong::unserved_of_all(config, settings));
    let file = |path: &std::path::Path| word(path.display());
    let (module, filter) = match &settings.engine {
        Engine::Sluice { module, filter } => (Some(file(module)), Some(file(filter))),
        Engine::Kong { module, .. } => (module.as_deref().map(file), None),
    };
    let main = MainConf {
        settings,
        module,
        filter,
        kong: KongConf::of(config, settings),
        checkpoint: parts(&settings.checkpoint),
        user: settings.user.as_ref().map(word),
        workers: settings.workers.map_or_else(|| "auto".to_owned(), |workers| workers.to_string()),
        pid: file(&settings.folder.join("nginx.pid")),
        nobody: word(format!("unix:{}", crate::nobody(&settings.folder).display())),
        resolvers: settings.resolvers.iter().map(resolver).collect(),
        requests: settings.requests.as_deref().map(file),
        access_log,
        edge: EdgeConf::new(&config.edge),
        tls: TlsConf::new(config, settings),
        blocked: BlockedConf::of(&config.edge.blocked),
        zones,
        upstreams: upstream::all(config, settings),
        servers,
        streams: StreamConf::of(config, settings, unserved),
    };
    // Nothing in the templates can fail, and a String takes everything.
    main.render().unwrap_or_default() + "\n"
}

/// An address where nginx asks for others.
pub(crate) fn resolver(address: &IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

/// HTML is always compressed, and nginx warns when it is named.
fn types(gzip: &Compressed) -> Vec<Word> {
    let Some(types) = &gzip.types else { return vec![word("*")] };
    types.iter().filter(|name| *name != "text/html").map(word).collect()
}

/// The checkpoint knows no variables; `sluice_filter` joins its words.
fn parts(text: &str) -> Vec<Word> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(PART).map(|part| word(part.iter().collect::<String>())).collect()
}

impl<'a> EdgeConf<'a> {
    /// Every field is named, so that a new one cannot be forgotten here.
    fn new(edge: &'a Edge) -> Self {
        let Edge {
            hsts,
            tls,
            // In the templates, `told.rs` and `blocked.rs`.
            forwarded: _,
            request_headers: _,
            response_headers: _,
            hidden_headers: _,
            request_id: _,
            underscores: _,
            largest_body: _,
            buffering,
            blocked: _,
            // The distribution's nginx has no Brotli: who takes that takes gzip as well.
            compression,
            // In the template, `access_log.rs`.
            log: _,
            http: _,
            // Reported with its keys: this nginx has no spans.
            tracing: _,
        } = edge;
        EdgeConf {
            edge,
            ciphers: word(if tls.ciphers.is_empty() {
                USUAL_CIPHERS.to_owned()
            } else {
                tls.ciphers.join(":")
            }),
            curves: (!tls.curves.is_empty()).then(|| word(tls.curves.join(":"))),
            gzip: compression.gzip.as_ref(),
            types: compression.gzip.as_ref().map(types).unwrap_or_default(),
            hsts: hsts.as_ref().map(told::hsts),
            trusted: edge.forwarded.client.iter().flat_map(|_| edge.forwarded.trusted.clone()).collect(),
            pods: told::pods(edge, Vec::new()),
            clients: Clients::of_all(edge),
            buffering: buffering::of_all(buffering),
        }
    }

    fn client_variable(&self) -> Value {
        client_variable(self.edge).quoted()
    }

    fn chain(&self) -> Value {
        client_variable(self.edge).then(", ").variable("realip_remote_addr").quoted()
    }

    fn client_header(&self) -> Word {
        word(client_header(self.edge))
    }
}
