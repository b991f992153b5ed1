//! Changes of everything that a rendering depends on.

use std::num::NonZeroU16;
use std::sync::Arc;

use proptest::prelude::*;
use sluice_ir::{
    Action, AddedHeader, AllowedOrigins, Authentication, Backend, BackendId, ClientCertificates,
    ClientLimits, ClientValidation, Config, Cors, ErrorPages, Expression, Filter, Fraction, Header,
    HeaderModification, HeaderName, HostTls, Hostname, HttpRoute, HttpsRedirect, L4Protocol,
    Listener, ListenerName, Mirror, PasswordAuth, PasswordScheme, PathMatch, PathRegex, Policy,
    Protocol, Rate, SecretId, SecretValue, Sensitive, Server, ServerName, Stream, StreamPort,
    Transport, UpstreamTls, Verify, VerifyClient, Waf, waf,
};

/// Hosts, wildcards over some of them, and the catch-all host.
pub const NAMES: [&str; 8] = [
    "",
    "a.test",
    "b.test",
    "*.w.test",
    "x.w.test",
    "y.x.w.test",
    "*.x.w.test",
    "z.w.test",
];
const BACKENDS: usize = 4;
const SECRETS: usize = 3;

/// One change. Numbers are of names, of variants, or of ids.
#[derive(Clone, Debug)]
pub enum Change {
    Server(usize, Option<usize>),
    Backend(usize, Option<usize>),
    Secret(usize, Option<usize>),
    Tls(usize, Option<usize>),
    DefaultCertificate(Option<usize>),
    Global(usize),
    Passthrough(usize, Option<usize>),
    Port(Option<usize>),
    Listener(Option<usize>),
}

pub fn any() -> impl Strategy<Value = Change> {
    let (name, id) = (0..NAMES.len(), 0..BACKENDS);
    let some = |most: usize| prop::option::weighted(0.8, 0..most);
    prop_oneof![
        8 => (name.clone(), some(POLICIES + 9)).prop_map(|(n, v)| Change::Server(n, v)),
        3 => (id, some(6)).prop_map(|(n, v)| Change::Backend(n, v)),
        3 => (0..SECRETS, some(5)).prop_map(|(n, v)| Change::Secret(n, v)),
        3 => (name.clone(), some(6)).prop_map(|(n, v)| Change::Tls(n, v)),
        1 => some(SECRETS).prop_map(Change::DefaultCertificate),
        1 => (0..8usize).prop_map(Change::Global),
        1 => (name, some(BACKENDS)).prop_map(|(n, v)| Change::Passthrough(n, v)),
        1 => some(BACKENDS).prop_map(Change::Port),
        1 => some(POLICIES).prop_map(Change::Listener),
    ]
}

fn name(number: usize) -> ServerName {
    ServerName::parse(NAMES[number]).unwrap()
}

fn backend_id(number: usize) -> BackendId {
    BackendId::new(format!("default/s{number}/80"))
}

fn secret_id(number: usize) -> SecretId {
    SecretId::new(format!("default/secret{number}"))
}

impl Change {
    pub fn apply(&self, config: &mut Config) {
        match *self {
            Change::Server(n, Some(variant)) => {
                let server = server(&name(n), variant);
                config.servers.insert(name(n), server.into());
            }
            Change::Server(n, None) => drop(config.servers.remove(&name(n))),
            Change::Backend(n, Some(variant)) => {
                config
                    .backends
                    .insert(backend_id(n), backend(variant).into());
            }
            Change::Backend(n, None) => drop(config.backends.remove(&backend_id(n))),
            Change::Secret(n, Some(variant)) => {
                config.secrets.insert(secret_id(n), secret(variant));
            }
            Change::Secret(n, None) => drop(config.secrets.remove(&secret_id(n))),
            Change::Tls(n, Some(variant)) => {
                config.tls.insert(name(n), tls(variant));
            }
            Change::Tls(n, None) => drop(config.tls.remove(&name(n))),
            Change::DefaultCertificate(n) => config.default_certificate = n.map(secret_id),
            Change::Global(variant) => set_global(config, variant),
            Change::Passthrough(n, id) => {
                let Ok(host) = Hostname::parse(NAMES[n]) else {
                    return;
                };
                match id {
                    Some(id) => drop(config.passthrough.insert(host, backend_id(id))),
                    None => drop(config.passthrough.remove(&host)),
                }
            }
            Change::Port(id) => set_port(config, id),
            Change::Listener(variant) => set_listener(config, variant),
        }
    }
}

fn set_global(config: &mut Config, variant: usize) {
    let global = &mut config.global;
    match variant {
        0 => *global = Config::default().global,
        1 => global.max_body_size = Some(7),
        2 => global.tls.reject_unknown_names = !global.tls.reject_unknown_names,
        3 => {
            global.waf = Some(Waf {
                core_rules: true,
                ..Waf::default()
            });
        }
        4 => global.forwarded.proxy_protocol = !global.forwarded.proxy_protocol,
        5 => global.waf = Some(with_rules("900120")),
        // It is the core rules' own.
        6 => global.waf = Some(with_rules("942100")),
        // Longer than nginx reads.
        _ => global.request_headers = vec![header(&"v".repeat(5000)), header("v")],
    }
}

fn set_port(config: &mut Config, id: Option<usize>) {
    let port = StreamPort {
        protocol: L4Protocol::Tcp,
        number: NonZeroU16::MIN,
    };
    let stream = |id| Stream {
        backend: backend_id(id),
        proxy_protocol: false,
        idle_timeout: 1,
        attempts: 1,
        attempts_timeout: None,
        responses: None,
    };
    let ports = id.map(|id| (port, stream(id)));
    config.streams = ports.into_iter().collect();
}

fn set_listener(config: &mut Config, variant: Option<usize>) {
    let listener = |variant| Listener {
        port: NonZeroU16::MAX,
        tls: None,
        servers: [(name(1), Arc::new(server(&name(1), variant)))]
            .into_iter()
            .collect(),
    };
    let listeners = variant.map(|variant| (ListenerName::new("l"), listener(variant)));
    config.listeners = listeners.into_iter().collect();
}

fn header(value: &str) -> Header {
    Header {
        name: HeaderName::parse("x-a").unwrap(),
        value: Expression::literal(value),
    }
}

fn backend(variant: usize) -> Backend {
    let mut backend = Backend::default();
    let transport = Arc::make_mut(&mut backend.transport);
    let tls = |verified: bool| UpstreamTls {
        certificate: Some(secret_id(1)),
        verify: verified.then(|| Verify {
            ca: secret_id(0),
            name: "n".to_owned(),
            depth: 1,
        }),
        ..UpstreamTls::default()
    };
    match variant {
        0 => {}
        1 => transport.protocol = Protocol::Http2,
        2 => transport.tls = Some(tls(true)),
        3 => transport.tls = Some(tls(false)),
        4 => transport.connect_timeout = 9,
        _ => {
            *transport = Transport::default();
            transport.keep_alive.idle_timeout = 9;
            backend.variant_of = Some(backend_id(0));
        }
    }
    backend
}

fn secret(variant: usize) -> SecretValue {
    match variant {
        0..=2 => SecretValue::Certificate {
            chain: format!("chain {}", variant / 2),
            key: Sensitive::new(format!("key {variant}")),
        },
        _ => SecretValue::Authorities {
            certificates: "authorities".to_owned(),
            revoked: (variant == 4).then(|| "revoked".to_owned()),
        },
    }
}

fn tls(variant: usize) -> HostTls {
    HostTls {
        certificate: (variant < 3).then(|| secret_id(variant)),
        no_wildcard_certificate: variant == 3,
        client_validation: (variant == 4).then(validation),
        ..HostTls::default()
    }
}

fn validation() -> ClientValidation {
    ClientValidation {
        ca: secret_id(0),
        depth: 1,
    }
}

/// Variants of [`policy`].
const POLICIES: usize = 10;

fn server(name: &ServerName, variant: usize) -> Server {
    let route = |path: PathMatch, id| {
        HttpRoute::new(name, path, Action::to(backend_id(id)), Arc::default())
    };
    let prefix = || PathMatch::Prefix("/".to_owned());
    let mut route = match variant {
        0 => route(prefix(), 0),
        1 => route(prefix(), 1),
        2 => route(PathMatch::Regex(PathRegex::plain("/[a-z]+".to_owned())), 2),
        _ => route(prefix(), variant % BACKENDS),
    };
    let mut server = Server::default();
    match variant.checked_sub(POLICIES) {
        None => route.policy = policy(variant).into(),
        Some(0) => server.aliases = vec![ServerName::parse("*.x.w.test").unwrap()],
        Some(1) => server.app_root = Some(Expression::literal("/app")),
        Some(2) => server.client_certificates = Some(client_certificates()),
        Some(3) => route.action = Action::Respond(404),
        Some(4) => route.https_backend = Some(backend_id(3)),
        Some(5) => {
            route.https_redirect = Some(HttpsRedirect {
                status: 308,
                port: None,
                keep_trailing_slash: false,
            });
        }
        Some(6) => {
            route.error_pages = Some(Box::new(ErrorPages {
                keeps_upstreams: false,
                statuses: [404].into(),
                backend: Some(backend_id(2)),
                headers: Vec::new(),
            }));
        }
        Some(7) => {
            route.filters = vec![Filter::RequestHeaders(HeaderModification {
                add: vec![AddedHeader {
                    header: header("v"),
                    unless_error: false,
                }],
                ..HeaderModification::default()
            })];
        }
        Some(_) => route.matches.method = Some("GET".into()),
    }
    server.routes = vec![route];
    server
}

fn client_certificates() -> ClientCertificates {
    ClientCertificates {
        validation: validation(),
        verify: VerifyClient::Required,
        subject: None,
        error_page: None,
        forward_certificate: false,
    }
}

fn policy(variant: usize) -> Policy {
    let mut policy = Policy::default();
    match variant {
        3 => policy.timeouts.read = 77,
        4 => policy.mirrors = [None, Fraction::new(1, 2)].map(mirror).into(),
        5 => {
            policy.cors = Some(Cors {
                origins: AllowedOrigins::Any,
                allow_methods: "GET".to_owned(),
                allow_headers: String::new(),
                allow_credentials: false,
                expose_headers: None,
                max_age: 1,
            });
        }
        6 => policy.limits = Some(limits()),
        7 => {
            policy.waf = Some(Waf {
                recommended: true,
                core_rules: true,
                ..Waf::default()
            });
        }
        8 => policy.waf = Some(with_rules("900110")),
        9 => {
            policy.authentication = Some(Authentication {
                tenant: "d".to_owned(),
                passwords: Some(PasswordAuth {
                    scheme: PasswordScheme::Basic,
                    realm: "r".to_owned(),
                    users: SecretId::new("d/users"),
                    user_headers: Vec::new(),
                }),
                external: None,
                satisfy_any: false,
            });
        }
        _ => {}
    }
    policy
}

/// A firewall without the core rules, with a rule of this id.
fn with_rules(id: &str) -> Waf {
    let id = waf::Action::Word("id", waf::Token::new(id).unwrap());
    Waf {
        rules: vec![waf::Directive::Action(vec![id])],
        ..Waf::default()
    }
}

fn mirror(fraction: Option<Fraction>) -> Mirror {
    Mirror {
        backend: backend_id(1),
        host: Some("copies.test".to_owned()),
        address: None,
        path: None,
        fraction,
    }
}

fn limits() -> ClientLimits {
    ClientLimits {
        zone: "d/limited".to_owned(),
        per_second: Some(Rate {
            requests: std::num::NonZeroU32::MIN,
            burst: 5,
        }),
        per_minute: None,
        connections: None,
        exempt: Vec::new(),
        status: 429,
    }
}
