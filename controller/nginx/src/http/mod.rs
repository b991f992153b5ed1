//! Directives for all hosts.

pub(crate) mod blocked;
pub(crate) mod needs;

use std::collections::BTreeSet;

use askama::Template;
use sluice_ir::{Cidr, CompressionSettings, Config, GlobalConfig, MAX_LOOPS, NoGzip};
use sluice_pattern::Subject;

use crate::access_log::AccessLogConf;
use crate::checks;
use crate::conf::{Text, Value, Word, unix, word};
use crate::files::cert_links::CertLinks;
use crate::http::blocked::BlockedConf;
use crate::http::needs::Needs;
use crate::kong::{self, KongConf};
use crate::location::buffering::{self, Directive};
use crate::location::cors;
use crate::location::headers::{Line, client_header};
use crate::location::joined_headers;
use crate::location::limits::Zone;
use crate::location::mirror::{self, Relay, Sampled};
use crate::location::response_headers::{self, ResponseHeaders};
use crate::settings::{Engine, Settings};
use crate::stream::{self, StreamConf, passthrough};
use crate::tls::{TlsConf, version_names};
use crate::traces::TracesConf;
use crate::tracked_config::TrackedConfig;
use crate::transports::Transports;
use crate::unsupported::Unsupported;
use crate::upstream::{self, Upstream};
use crate::waf as firewall;

/// nginx reads at most 4096 bytes as one word.
const PART: usize = 1000;

/// ingress-nginx's, in its order.
const USUAL_CIPHERS: &str = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:\
    ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305:\
    DHE-RSA-AES128-GCM-SHA256:DHE-RSA-AES256-GCM-SHA384";

/// nginx.conf.
#[derive(Template)]
#[template(path = "http/main.conf")]
struct MainConf<'a> {
    settings: &'a Settings,
    module: Option<Word>,
    /// The wasm that our module runs, if it is not to run the filter in itself.
    wasm: Option<Word>,
    kong: Option<KongConf>,
    bootstrap_config: Vec<Word>,
    user: Option<Word>,
    workers: String,
    worker_connections: u32,
    pid: Word,
    no_endpoint: Word,
    relays: Vec<Relay>,
    copies_socket: Word,
    sampled: BTreeSet<Sampled>,
    appended: BTreeSet<String>,
    /// A route has `X-Forwarded-Prefix` with captured groups in it.
    captured_prefix: bool,
    cors: BTreeSet<cors::Sent>,
    requests: Option<Word>,
    /// Library of ModSecurity's module, where a route has a firewall.
    waf_module: Option<Word>,
    /// Rules of firewalls around all servers.
    waf_files: Vec<Word>,
    /// Socket of nginx's counters.
    status: Option<Word>,
    access_log: Option<AccessLogConf>,
    traces: Option<TracesConf>,
    global: GlobalConf<'a>,
    tls: TlsConf,
    blocked: Option<BlockedConf<'a>>,
    zones: Vec<Zone>,
    upstreams: Vec<Upstream>,
    servers: &'static str,
    streams: Option<StreamConf>,
}

/// The edge.
#[derive(Template)]
#[template(path = "http/global.conf")]
struct GlobalConf<'a> {
    global: &'a GlobalConfig,
    /// Of TLS with clients.
    versions: Vec<&'static str>,
    ciphers: Word,
    curves: Option<Word>,
    gzip: Option<&'a CompressionSettings>,
    types: Vec<Word>,
    /// Clients that do not get gzip.
    no_gzip: Option<Word>,
    hsts: Option<Value>,
    trusted: Vec<Cidr>,
    /// Peers whose PROXY header is believed.
    believed_peers: Vec<String>,
    pods: Vec<Line>,
    /// Those that our module writes as one text.
    joined: Vec<Line>,
    clients: ResponseHeaders,
    buffering: Vec<Directive>,
    /// Request ID of a request that brings none.
    random_id: Value,
    /// Has all lines of that header.
    cdn_loop: Value,
    /// The same with our own mark behind it.
    marks: Value,
    loops: Word,
    returns: Word,
    /// Our module chooses peers.
    has_peers: bool,
    /// TLS comes by a socket, with a PROXY header.
    comes_by_socket: bool,
}

/// Stands for the servers. No text that is rendered has a control character in it.
pub(crate) const SERVERS: &str = "\u{1}";

/// Inputs of what is around servers.
pub(crate) struct Frame<'a> {
    pub(crate) config: &'a Config,
    pub(crate) settings: &'a Settings,
    pub(crate) tracked: &'a TrackedConfig<'a>,
    pub(crate) transports: &'a Transports,
    /// Of servers of this listener.
    pub(crate) needs: Needs,
    pub(crate) links: &'a CertLinks,
    /// Clients of some hosts have to have certificates.
    pub(crate) validates: bool,
    pub(crate) has_table: bool,
}

/// True if requests are written down.
pub(crate) fn logs(config: &Config, settings: &Settings) -> bool {
    AccessLogConf::of_requests(&config.global.log, settings).is_some()
}

impl Frame<'_> {
    /// nginx.conf, with [`SERVERS`] in their place.
    pub(crate) fn render(mut self, unsupported: &mut Vec<Unsupported>) -> String {
        let Frame {
            config,
            settings,
            tracked,
            ..
        } = self;
        unsupported.extend(checks::check_listeners(config));
        unsupported.extend(kong::unsupported_globally(self.transports, settings));
        let needs = self.all_needs();
        let file = |path: &std::path::Path| word(path.display());
        let (module, wasm) = libraries(&settings.engine);
        let waf = settings.modsecurity.as_ref();
        let waf_module = waf.filter(|_| tracked.shared().waf.is_used);
        let relays = needs.relayed.iter().map(|id| Relay::new(id, tracked));
        let main = MainConf {
            settings,
            module,
            wasm,
            kong: KongConf::new(needs.retries, settings),
            bootstrap_config: parts(&settings.bootstrap_config),
            user: settings.user.as_ref().map(word),
            workers: settings
                .workers
                .map_or_else(|| "auto".to_owned(), |workers| workers.to_string()),
            worker_connections: stream::worker_connections(config),
            pid: file(&settings.folder.join("nginx.pid")),
            no_endpoint: unix(&crate::no_endpoint_socket(&settings.folder)),
            relays: relays.collect(),
            copies_socket: unix(&mirror::socket(&settings.folder)),
            sampled: needs.sampled,
            appended: needs.appended,
            captured_prefix: needs.captured_prefix,
            cors: needs.cors,
            requests: settings.requests.as_deref().map(file),
            waf_module: waf_module.map(|waf| file(&waf.module)),
            waf_files: firewall::around_all(&tracked.shared().waf, &config.global, settings),
            status: settings.status.as_deref().map(unix),
            access_log: AccessLogConf::of_requests(&config.global.log, settings),
            traces: TracesConf::new(config, settings),
            global: GlobalConf::new(config, settings),
            tls: TlsConf::new(self.links, self.validates, settings, self.has_table),
            blocked: BlockedConf::new(&config.global.blocked),
            zones: needs.zones.into_values().collect(),
            upstreams: upstream::all(self.transports, settings),
            servers: SERVERS,
            streams: StreamConf::new(config, settings, unsupported),
        };
        // Nothing in the templates can fail, and a String takes everything.
        main.render().unwrap_or_default() + "\n"
    }

    /// Needs of all listeners.
    fn all_needs(&mut self) -> Needs {
        let mut needs = std::mem::take(&mut self.needs);
        let listeners = self.config.listeners.values();
        for server in listeners.flat_map(|listener| listener.servers.values()) {
            needs.merge(&Needs::of_server(server, self.tracked, self.settings));
        }
        needs
    }
}

/// The module of the filter, and the wasm that it runs.
fn libraries(engine: &Engine) -> (Option<Word>, Option<Word>) {
    let file = |path: &std::path::Path| word(path.display());
    match engine {
        Engine::Sluice { module, wasm } => (Some(file(module)), wasm.as_deref().map(file)),
        Engine::Kong { module, .. } => (module.as_deref().map(file), None),
    }
}

/// Proxies whose header says who the client is.
fn trusted(global: &GlobalConfig) -> Vec<Cidr> {
    let forwarded = &global.forwarded;
    let header = forwarded.client_header.iter();
    header
        .flat_map(|_| forwarded.trusted_proxies.clone())
        .collect()
}

fn ciphers(names: &[String]) -> Word {
    word(if names.is_empty() {
        USUAL_CIPHERS.to_owned()
    } else {
        names.join(":")
    })
}

fn no_gzip(clients: &NoGzip) -> Word {
    match clients {
        NoGzip::OldInternetExplorer => word("msie6"),
        NoGzip::Regex(pattern) => {
            word(sluice_pattern::pcre(pattern, Subject::TextInAnyCase, false))
        }
    }
}

/// HTML is always compressed, and nginx warns when it is named.
fn types(gzip: &CompressionSettings) -> Vec<Word> {
    let Some(types) = &gzip.types else {
        return vec![word("*")];
    };
    types
        .iter()
        .filter(|name| *name != "text/html")
        .map(word)
        .collect()
}

/// A `CDN-Loop` with so many of these. As few as are left over cannot make PCRE look back far.
fn marked(cdn_id: &str, times: u32) -> Word {
    word(format!(
        "~(?:{}.*?){{{times}}}",
        sluice_pattern::escape(cdn_id)
    ))
}

/// The bootstrap configuration knows no variables; `sluice_filter` joins its words.
fn parts(text: &str) -> Vec<Word> {
    let letters: Vec<char> = text.chars().collect();
    letters
        .chunks(PART)
        .map(|part| word(part.iter().collect::<String>()))
        .collect()
}

/// Lines of `CDN-Loop`, and an identifier for a request. Kong's nginx joins the lines itself.
fn variables(is_kongs: bool) -> [Text; 2] {
    let names = match is_kongs {
        true => ["http_cdn_loop", "request_id"],
        false => ["sluice_all_cdn_loop", "sluice_random_id"],
    };
    names.map(|name| Text::default().variable(name))
}

impl<'a> GlobalConf<'a> {
    /// Every field is named, so that a new one cannot be forgotten here.
    fn new(config: &'a Config, settings: &Settings) -> Self {
        let (global, is_kongs) = (&config.global, settings.engine.is_kongs());
        let GlobalConfig {
            hsts,
            tls,
            // In the templates, `headers.rs` and `blocked.rs`.
            forwarded: _,
            host: _,
            request_headers: _,
            response_headers: _,
            hidden_headers: _,
            generate_request_id: _,
            underscores_in_headers: _,
            // nginx has them as they were sent.
            compares_sent_headers: _,
            max_body_size: _,
            buffering,
            blocked: _,
            // The distribution's nginx has no Brotli: who takes that takes gzip as well.
            compression,
            // In the template, `access_log.rs`.
            log: _,
            http: _,
            // In `traces.rs`.
            tracing: _,
            // In `waf/`.
            waf: _,
            cdn_id,
            // nginx keeps bodies in files.
            kept_body: _,
            // The filter balances.
            native_balancing: _,
        } = global;
        let [cdn_loop, random_id] = variables(is_kongs);
        GlobalConf {
            global,
            versions: version_names(tls.versions),
            ciphers: ciphers(&tls.ciphers),
            curves: (!tls.curves.is_empty()).then(|| word(tls.curves.join(":"))),
            gzip: compression.gzip.as_ref(),
            types: compression.gzip.as_ref().map(types).unwrap_or_default(),
            no_gzip: compression.no_gzip.as_ref().map(no_gzip),
            hsts: hsts.as_ref().map(response_headers::hsts),
            trusted: trusted(global),
            believed_peers: passthrough::believed_peers(&global.forwarded),
            pods: joined_headers::for_pods(global, Vec::new(), settings),
            joined: joined_headers::lines(global, settings),
            clients: ResponseHeaders::for_server(global),
            buffering: buffering::of_all(buffering),
            random_id: random_id.quoted(),
            cdn_loop: cdn_loop.clone().quoted(),
            marks: cdn_loop.then(", ").then(cdn_id).quoted(),
            loops: marked(cdn_id, MAX_LOOPS + 1),
            returns: marked(cdn_id, 1),
            has_peers: !is_kongs,
            comes_by_socket: passthrough::https((&config.passthrough, &global.forwarded), settings)
                .is_some(),
        }
    }

    /// As ingress-nginx, whatever header names the client.
    fn chain(&self) -> Value {
        Text::default()
            .variable("http_x_forwarded_for")
            .then(", ")
            .variable("sluice_peer")
            .quoted()
    }

    fn client_header(&self) -> Word {
        word(client_header(self.global))
    }
}
