//! A location that nginx cannot read is closed, with all that is beside it in its server: nginx refuses a variable that nobody
//! sets.

use std::collections::BTreeSet;
use std::sync::Arc;

use sluice_ir::{
    Action, Authentication, Backend, BackendId, Config, ErrorPages, Expression, ExternalAuth,
    Hostname, HttpRoute, Mirror, PasswordAuth, PasswordScheme, PathMatch, Policy, SecretId, Server,
    ServerName,
};
use sluice_nginx::render;

mod common;

use common::settings;

fn question() -> ExternalAuth {
    ExternalAuth {
        url: Expression::literal("https://auth.test/"),
        backend: None,
        method: None,
        signin_url: Some(Expression::literal("https://auth.test/start")),
        upstream_headers: vec![],
        host: None,
        headers: Vec::new(),
        redirect_url: Expression::literal(""),
        always_set_cookie: false,
        cache: None,
    }
}

/// A location that has something beside it in its server, for each kind of that.
fn location(path: &str, copies: &BackendId) -> [HttpRoute; 4] {
    let name = ServerName::parse("shop.test").unwrap();
    let guarded = |passwords, question| Policy {
        authentication: Some(Authentication {
            tenant: "d".to_owned(),
            passwords,
            external: question,
            satisfy_any: false,
        }),
        ..Policy::default()
    };
    let passwords = PasswordAuth {
        scheme: PasswordScheme::Basic,
        realm: "r".to_owned(),
        users: SecretId::new("d/users/ca"),
        user_headers: Vec::new(),
    };
    let mirror = Mirror {
        backend: copies.clone(),
        host: Some("copies.test".to_owned()),
        address: None,
        path: None,
        fraction: None,
    };
    let policies = [
        guarded(None, Some(question())),
        guarded(Some(passwords), None),
        Policy {
            mirrors: vec![mirror],
            ..Policy::default()
        },
        Policy::default(),
    ];
    let path = PathMatch::Exact(path.to_owned());
    let pages = ErrorPages {
        keeps_upstreams: false,
        statuses: [404].into(),
        backend: Some(copies.clone()),
        headers: Vec::new(),
    };
    policies.map(|policy| {
        let forward = Action::to(BackendId::new("d/shop/80"));
        let is_plain = policy == Policy::default();
        let location = HttpRoute::new(&name, path.clone(), forward, Arc::new(policy));
        HttpRoute {
            error_pages: is_plain.then(|| Box::new(pages.clone())),
            ..location
        }
    })
}

fn config(locations: Vec<HttpRoute>, copies: &BackendId) -> Config {
    let server = Server {
        routes: locations,
        ..Server::default()
    };
    let backends = [BackendId::new("d/shop/80"), copies.clone()];
    Config {
        servers: [(ServerName::parse("shop.test").unwrap(), Arc::new(server))]
            .into_iter()
            .collect(),
        backends: backends
            .into_iter()
            .map(|id| (id, Arc::new(Backend::default())))
            .collect(),
        ..Config::default()
    }
}

/// The names that stand behind one of these words.
fn behind<'t>(text: &'t str, words: &[&str]) -> BTreeSet<&'t str> {
    let name = |rest: &'t str| {
        let end = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .unwrap_or(rest.len());
        &rest[..end]
    };
    words
        .iter()
        .flat_map(|word| {
            text.match_indices(word)
                .map(move |(at, word)| name(&text[at + word.len()..]))
        })
        .collect()
}

#[test]
fn what_is_closed_leaves_nothing_behind() {
    let copies = BackendId::new("external/copies.test:80");
    let beside = [
        "internal;",
        "location @",
        "$sluice_cookie_",
        "$sluice_sign_in",
    ];
    for (open, closed) in location("/a", &copies)
        .into_iter()
        .zip(location(&"/a".repeat(3000), &copies))
    {
        let rendered = render(&config(vec![open.clone()], &copies), &settings());
        assert!(
            rendered.unsupported.is_empty(),
            "{:?}",
            rendered.unsupported
        );
        assert!(
            beside.iter().any(|word| rendered.text.contains(word)),
            "{open:?} has something beside it"
        );

        let rendered = render(&config(vec![closed.clone()], &copies), &settings());
        assert!(
            rendered
                .unsupported
                .iter()
                .any(|unsupported| unsupported.closes),
            "{:?}",
            rendered.unsupported
        );
        assert!(
            !beside.iter().any(|word| rendered.text.contains(word)),
            "{closed:?}: {}",
            rendered.text
        );

        // And with all the others, which are open.
        let all = location("/b", &copies)
            .into_iter()
            .chain([closed])
            .collect();
        let text = render(&config(all, &copies), &settings()).text;
        let kept = behind(&text, &["auth_request_set $"]);
        let read: BTreeSet<_> = behind(&text, &["${"])
            .into_iter()
            .filter(|name| name.starts_with("sluice_cookie_") || *name == "sluice_sign_in")
            .collect();
        assert!(
            !read.is_empty() && read.is_subset(&kept),
            "{read:?} of {kept:?}"
        );
    }
}

/// TLS that was to end at pods is not decrypted for them.
#[test]
fn host_whose_tls_cannot_pass_through_is_closed() {
    let copies = BackendId::new("external/copies.test:80");
    let [.., plain] = location("/a", &copies);
    let mut config = config(vec![plain], &copies);
    let leads = |config: &Config| {
        let rendered = render(config, &settings());
        let closes = rendered.unsupported.iter().any(|it| it.closes);
        (rendered.text.contains("proxy_pass http://"), closes)
    };
    let (leads_before, closes_before) = leads(&config);
    assert!(leads_before && !closes_before);
    let host = Hostname::parse("shop.test").unwrap();
    let pods = BackendId::new("d/shop/80");
    config.passthrough.insert(host, pods);
    assert_eq!(leads(&config), (false, true));
    let said = render(&config, &settings()).unsupported[0].to_string();
    assert!(said.contains("libnginx-mod-stream"), "{said}");
    assert!(said.ends_with("the route answers 503"), "{said}");
}
