//! Hosts that are in a table change nothing in nginx.conf, and the others are still there.

use std::collections::BTreeSet;
use std::sync::Arc;

use sluice_host_table::Shard;
use sluice_ir::{
    Action, Authentication, BackendId, Config, ConnectionSettings, ErrorPages, Expression,
    HttpRoute, HttpsRedirect, Mirror, PasswordAuth, PasswordScheme, PathMatch, Policy, SecretId,
    Server, ServerName,
};
use sluice_nginx::{Engine, Rendered, Settings, render};

mod common;

fn settings() -> Settings {
    Settings {
        host_table: true,
        ..common::settings()
    }
}

fn name(text: &str) -> ServerName {
    ServerName::parse(text).unwrap()
}

fn backend() -> BackendId {
    BackendId::new("default/shop/80")
}

fn route(host: &str, path: PathMatch) -> HttpRoute {
    HttpRoute::new(&name(host), path, Action::to(backend()), Arc::default())
}

fn prefix(path: &str) -> PathMatch {
    PathMatch::Prefix(path.to_owned())
}

fn pattern(path: &str) -> PathMatch {
    PathMatch::Regex(sluice_ir::PathRegex::plain(path.to_owned()))
}

fn server(routes: Vec<HttpRoute>) -> Server {
    Server {
        routes,
        ..Server::default()
    }
}

fn config(servers: Vec<(&str, Server)>) -> Config {
    let servers = servers
        .into_iter()
        .map(|(host, server)| (name(host), Arc::new(server)));
    Config {
        servers: servers.collect(),
        backends: [(backend(), Arc::default())].into_iter().collect(),
        ..Config::default()
    }
}

fn rendered(servers: Vec<(&str, Server)>) -> Rendered {
    render(&config(servers), &settings())
}

/// Hosts of its table, none where there is no table.
fn in_table(rendered: &Rendered) -> Vec<String> {
    let shards = rendered.table.iter().flat_map(|table| &table.shards);
    let shards = shards.map(|shard| Shard::parse(shard.text.as_bytes()).unwrap());
    let hosts = shards.flat_map(|shard| shard.hosts.into_keys());
    let hosts: BTreeSet<String> = hosts.filter(|host| !host.is_empty()).collect();
    hosts.into_iter().collect()
}

fn in_conf(rendered: &Rendered, host: &str) -> bool {
    rendered.text.contains(&format!("server_name \"{host}\""))
}

/// Routes of a host with settings that nginx fixes when it loads its configuration.
fn settings_of_routes() -> Vec<fn(&mut HttpRoute)> {
    fn policy(route: &mut HttpRoute) -> &mut Policy {
        Arc::make_mut(&mut route.policy)
    }
    vec![
        |_| {},
        |route| policy(route).timeouts.read = 77,
        |route| policy(route).max_body_size = Some(77),
        |route| policy(route).access_log_off = true,
        |route| route.action = Action::Denied,
        |route| route.action = Action::Respond(404),
        |route| {
            route.https_redirect = Some(HttpsRedirect {
                status: 308,
                port: None,
                keep_trailing_slash: false,
            });
        },
    ]
}

#[test]
fn a_host_whose_profiles_are_known_changes_nothing_but_the_table() {
    for (number, set) in settings_of_routes().into_iter().enumerate() {
        let host = |name: &str, path: &str| {
            let mut route = route(name, prefix(path));
            set(&mut route);
            server(vec![route])
        };
        let one = rendered(vec![("a.test", host("a.test", "/"))]);
        let two = rendered(vec![
            ("a.test", host("a.test", "/")),
            ("*.b.test", host("*.b.test", "/other")),
        ]);
        assert_eq!(in_table(&one), ["a.test"], "{number}");
        assert_eq!(in_table(&two), ["*.b.test", "a.test"], "{number}");
        let [one_table, two_table] = [&one, &two].map(|it| it.table.as_ref().unwrap());
        assert_eq!(one.text, two.text, "{number}");
        assert_eq!(one_table.identity.name, two_table.identity.name, "{number}");
        assert_ne!(one_table.shards, two_table.shards, "{number}");
        // With a profile more, and again without it.
        let mut slow = route("c.test", prefix("/"));
        Arc::make_mut(&mut slow.policy).timeouts.send = 78;
        let more = rendered(vec![
            ("a.test", host("a.test", "/")),
            ("c.test", server(vec![slow])),
        ]);
        let more_table = more.table.as_ref().unwrap();
        assert_ne!(
            (&more.text, &more_table.identity.name),
            (&one.text, &one_table.identity.name)
        );
        assert!(
            one_table.identity.is_served_with(&more_table.identity),
            "{number}"
        );
        assert!(
            !more_table.identity.is_served_with(&one_table.identity),
            "{number}"
        );
    }
}

fn with_policy(policy: Policy) -> Server {
    let mut route = route("b.test", prefix("/"));
    route.policy = Arc::new(policy);
    server(vec![route])
}

/// Hosts `b.test` with locations that need something beside them.
fn with_more_in_locations() -> Vec<(&'static str, Server)> {
    let passwords = PasswordAuth {
        scheme: PasswordScheme::Basic,
        realm: "r".to_owned(),
        users: SecretId::new("d/users/ca"),
        user_headers: Vec::new(),
    };
    let authentication = Authentication {
        tenant: "d".to_owned(),
        passwords: Some(passwords),
        external: None,
        satisfy_any: false,
    };
    let mirror = Mirror {
        backend: backend(),
        host: Some("copies.test".to_owned()),
        address: None,
        path: None,
        fraction: None,
    };
    let mut pages = route("b.test", prefix("/"));
    pages.error_pages = Some(Box::new(ErrorPages {
        keeps_upstreams: false,
        statuses: [404].into(),
        backend: Some(backend()),
        headers: Vec::new(),
    }));
    let guarded = Policy {
        authentication: Some(authentication),
        ..Policy::default()
    };
    let mirrored = Policy {
        mirrors: vec![mirror],
        ..Policy::default()
    };
    let patterns = route("b.test", pattern("/[a-z]+"));
    vec![
        ("patterns", server(vec![patterns])),
        (
            "a redirect",
            server(vec![route("b.test", prefix("/docs/"))]),
        ),
        ("authentication", with_policy(guarded)),
        ("mirrors", with_policy(mirrored)),
        ("error pages", server(vec![pages])),
    ]
}

/// Hosts `b.test` with settings of their own.
fn with_more_in_servers() -> Vec<(&'static str, Server)> {
    let plain = || server(vec![route("b.test", prefix("/"))]);
    let aliases = Server {
        aliases: vec![name("alias.test")],
        ..plain()
    };
    let app_root = Server {
        app_root: Some(Expression::literal("/app")),
        ..plain()
    };
    let ciphers = Server {
        ciphers: vec!["ECDHE-RSA-AES128-GCM-SHA256".to_owned()],
        ..plain()
    };
    let order = Server {
        prefer_server_ciphers: Some(false),
        ..plain()
    };
    let connections = Server {
        connections: ConnectionSettings {
            header_buffer: Some(4096),
            ..ConnectionSettings::default()
        },
        ..plain()
    };
    vec![
        ("aliases", aliases),
        ("settings of connections", connections),
        ("app-root", app_root),
        ("ciphers", ciphers),
        ("the order of ciphers", order),
    ]
}

#[test]
fn a_host_that_needs_more_than_locations_stays_and_the_others_do_not_mind() {
    let plain = |host: &str| server(vec![route(host, prefix("/"))]);
    let others = with_more_in_locations()
        .into_iter()
        .chain(with_more_in_servers());
    for (what, other) in others {
        let all = rendered(vec![("a.test", plain("a.test")), ("b.test", other.clone())]);
        assert_eq!(in_table(&all), ["a.test"], "{what}");
        assert!(
            in_conf(&all, "b.test") && !in_conf(&all, "a.test"),
            "{what}"
        );
        // nginx looks at its own wildcards first.
        let below = rendered(vec![
            ("a.test", plain("a.test")),
            ("*.w.test", other.clone()),
            ("x.w.test", plain("x.w.test")),
            ("y.x.w.test", plain("y.x.w.test")),
        ]);
        assert_eq!(in_table(&below), ["a.test", "y.x.w.test"], "{what}");
        assert!(in_conf(&below, "x.w.test"), "{what}");
        // Names that no host has are the first server's.
        let catch_all = rendered(vec![("", other), ("a.test", plain("a.test"))]);
        assert!(
            catch_all.table.is_none() && in_conf(&catch_all, "a.test"),
            "{what}"
        );
    }
}

#[test]
fn there_is_no_table_where_nobody_reads_it() {
    let servers = || vec![("a.test", server(vec![route("a.test", prefix("/"))]))];
    let mut rejecting = config(servers());
    rejecting.global.tls.reject_unknown_names = true;
    let kong = Settings {
        engine: Engine::Kong {
            module: None,
            filter: "f.wasm".into(),
            cache: "c.toml".into(),
        },
        ..settings()
    };
    let plain = config(servers());
    for (config, settings) in [
        (&rejecting, &settings()),
        (&plain, &kong),
        (&plain, &common::settings()),
    ] {
        let rendered = render(config, settings);
        assert!(rendered.table.is_none() && in_conf(&rendered, "a.test"));
    }
}
