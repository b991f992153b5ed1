//! Whatever a text says, the configuration has the same structure: the words of nginx are ours alone.

use std::sync::Arc;

use sluice_ir::{
    Action, Backend, BackendId, Blocked, Config, Copies, ErrorPages, ErrorRequest, Expression,
    Fraction, GlobalConfig, Header, HeaderName, HttpRoute, Mirror, MirrorPath, PathMatch,
    PathRegex, PathRewrite, Policy, Redirect, RedirectTo, Replacement, ResponseRewrite, SecretId,
    SecretValue, Server, ServerName, ServerTls, Shared, Substitution, SubstitutionPart, Template,
    TemplatePart, TextMatch, Transport, UpstreamTls, Verify,
};
use sluice_nginx::{Element, OpenSsl, Settings, render};

mod common;

use common::settings;

fn shared<const N: usize>(backends: [(BackendId, Backend); N]) -> Shared<BackendId, Backend> {
    backends
        .map(|(id, backend)| (id, Arc::new(backend)))
        .into_iter()
        .collect()
}

/// A configuration with this text wherever a tenant or the operator can put one.
fn config(text: &str) -> Config {
    let name = ServerName::parse("shop.test").unwrap();
    let id = BackendId::new("default/shop/80");
    let copies = BackendId::new("external/copies.test:80");
    let pages = BackendId::new("default/pages/80");
    let server = server(text, &name, [&id, &copies, &pages]);
    Config {
        global: global(text),
        servers: [(name, Arc::new(server))].into_iter().collect(),
        backends: shared([
            (id, of_pods(text)),
            (copies, bodiless()),
            (pages, Backend::default()),
        ]),
        secrets: [(SecretId::new(format!("n/{text}/ca")), authorities())]
            .into_iter()
            .collect(),
        ..Config::default()
    }
}

fn server(text: &str, name: &ServerName, [id, copies, pages]: [&BackendId; 3]) -> Server {
    let regex = PathRegex {
        pattern: format!("/r-{text}"),
        groups: 1,
        ..PathRegex::plain(String::new())
    };
    let template = Template(vec![
        TemplatePart::Text(format!("/{text}")),
        TemplatePart::Group(1),
    ]);
    let policy = Arc::new(policy(text, copies));
    let headers = vec![Header {
        name: HeaderName::parse("X-Namespace").unwrap(),
        value: Expression::literal(text),
    }];
    let error_pages = Some(Box::new(ErrorPages {
        statuses: [404].into(),
        keeps_upstreams: false,
        backend: Some(pages.clone()),
        headers: headers.clone(),
    }));
    let location = |path, action| HttpRoute::new(name, path, action, Arc::clone(&policy));
    let to_url = Redirect {
        status: 301,
        to: RedirectTo::Url(Expression::literal(text)),
    };
    let to_url = Action::Redirect(to_url.into());
    let rewritten = HttpRoute {
        rewrite: Some(PathRewrite::Template(template.clone())),
        forwarded_prefix: Some(template),
        ..location(PathMatch::Regex(regex), Action::to(id.clone()))
    };
    Server {
        app_root: Some(Expression::literal(&format!("/{text}"))),
        ciphers: vec![text.to_owned()],
        routes: vec![
            location(PathMatch::Exact(format!("/e{text}")), to_url),
            rewritten,
            HttpRoute {
                error_pages,
                error_request: Some(Box::new(ErrorRequest {
                    status: 503,
                    headers,
                })),
                ..location(
                    PathMatch::Prefix(format!("/p{text}")),
                    Action::to(id.clone()),
                )
            },
        ],
        ..Server::default()
    }
}

fn global(text: &str) -> GlobalConfig {
    let header_name = HeaderName::parse("x-a").unwrap();
    let header = || Header {
        name: header_name.clone(),
        value: Expression::literal(text),
    };
    GlobalConfig {
        request_headers: vec![header()],
        response_headers: vec![header()],
        blocked: Blocked {
            user_agents: vec![
                TextMatch::ExactIgnoreCase(text.to_owned()),
                TextMatch::Regex(text.to_owned()),
            ],
            referers: vec![TextMatch::RegexIgnoreCase(text.to_owned())],
            ..Blocked::default()
        },
        tls: ServerTls {
            ciphers: vec![text.to_owned()],
            ..ServerTls::default()
        },
        ..GlobalConfig::default()
    }
}

fn policy(text: &str, copies: &BackendId) -> Policy {
    let replaced = || {
        Some(Replacement::Text {
            from: Expression::literal(text),
            to: Expression::literal(text),
        })
    };
    let substituted = Replacement::Pattern {
        pattern: text.to_owned(),
        any_case: false,
        backtracking: false,
        to: Substitution(vec![SubstitutionPart::Text(Expression::literal(text))]),
    };
    Policy {
        host: Some(Expression::literal(text)),
        connection: Some(text.to_owned()),
        response_rewrite: ResponseRewrite {
            redirects: replaced(),
            cookie_domains: replaced(),
            cookie_paths: Some(substituted),
        },
        mirrors: vec![Mirror {
            backend: copies.clone(),
            host: Some(text.to_owned()),
            address: None,
            path: Some(MirrorPath {
                literal: text.to_owned(),
                request_uri: true,
            }),
            fraction: Fraction::new(1, 3),
        }],
        ..Policy::default()
    }
}

/// Mirror whose copies have no body.
fn bodiless() -> Backend {
    Backend {
        transport: Arc::new(Transport {
            copies: Some(Copies::Bodiless),
            ..Transport::default()
        }),
        ..Backend::default()
    }
}

/// Pods that must have this name, of authorities in a Secret of this name.
fn of_pods(text: &str) -> Backend {
    let authorities = SecretId::new(format!("n/{text}/ca"));
    let verify = Verify {
        ca: authorities,
        name: text.to_owned(),
        depth: 1,
    };
    let (server_name, ciphers) = (Some(text.to_owned()), vec![text.to_owned()]);
    let tls = UpstreamTls {
        verify: Some(verify),
        server_name,
        ciphers,
        ..UpstreamTls::default()
    };
    Backend {
        transport: Arc::new(Transport {
            tls: Some(tls),
            ..Transport::default()
        }),
        ..Backend::default()
    }
}

fn authorities() -> SecretValue {
    SecretValue::Authorities {
        certificates: "C".to_owned(),
        revoked: None,
    }
}

/// The configuration with every quoted word as a `Q`, read as nginx reads it.
fn structure(conf: &str) -> String {
    let mut left = String::new();
    let mut letters = conf.chars();
    while let Some(letter) = letters.next() {
        if letter != '"' {
            left.push(letter);
            continue;
        }
        loop {
            match letters.next() {
                Some('\\') => drop(letters.next()),
                Some('"') => break,
                Some(_) => {}
                None => panic!("a quote is open"),
            }
        }
        left.push('Q');
    }
    without_hashes(&left)
}

/// Names that are made of hashes differ with what was hashed.
fn without_hashes(text: &str) -> String {
    let mut left = String::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let hash = rest
            .get(..32)
            .filter(|word| word.bytes().all(|byte| byte.is_ascii_hexdigit()));
        left.push(if hash.is_some() { 'H' } else { letter });
        rest = &rest[hash.map_or(letter.len_utf8(), str::len)..];
    }
    left
}

#[test]
fn no_text_changes_the_structure() {
    let plain = structure(&render(&config("plain"), &settings()).text);
    let hostile = [
        "\"",
        "\\",
        "\\\"",
        "a\";} load_module \"/x",
        "}",
        "{",
        ";",
        "#",
        "$host",
        "${",
        "$1",
        "\n",
        "\r\n\r\n",
        "\0",
        "'",
        " ",
        "\u{feff}",
        "日本",
        "\";\n}\nserver { listen 1; #",
        "include /etc/passwd;",
    ];
    for text in hostile {
        let rendered = render(&config(text), &settings());
        assert_eq!(structure(&rendered.text), plain, "{text:?}");
        assert!(rendered.unsupported.is_empty(), "{text:?}");
    }
}

#[test]
fn no_text_names_a_variable() {
    let rendered = render(&config("$http_cookie"), &settings());
    let replaces = |line: &&str| {
        let directives = ["set ", "return ", "add_header ", "proxy_set_header "];
        directives
            .iter()
            .any(|directive| line.trim_start().starts_with(directive))
    };
    // The name of a header is taken as it is.
    let values = rendered
        .text
        .lines()
        .filter(replaces)
        .filter_map(|line| line.rsplit_once(" \""));
    let naming: Vec<_> = values
        .filter(|(_, value)| value.contains("$http_cookie"))
        .collect();
    assert!(naming.is_empty(), "{naming:#?}");
    assert!(rendered.text.contains("${sluice_dollar}http_cookie"));
}

#[test]
fn a_text_that_nginx_cannot_read_costs_what_it_stands_in_only() {
    let rendered = render(&config(&"a".repeat(5000)), &settings());
    let of = |is_wanted: fn(&Element) -> bool| {
        rendered
            .unsupported
            .iter()
            .filter(|unsupported| is_wanted(&unsupported.element))
            .collect::<Vec<_>>()
    };
    assert_eq!(of(|part| matches!(part, Element::Route(_))).len(), 3);
    let keys = of(|part| matches!(part, Element::Setting(_)));
    let keys: Vec<_> = keys
        .into_iter()
        .map(|unsupported| unsupported.element.to_string())
        .collect();
    let expected = [
        "block-user-agents",
        "block-referers",
        "proxy-set-headers",
        "add-headers",
    ];
    assert_eq!(keys, expected.map(|key| format!("data.{key}")));
    assert!(rendered.text.contains("\"shop.test\""));
}

#[test]
fn a_curve_that_openssl_does_not_have_is_left_out_by_name() {
    let curves = ["X25519MLKEM768", "X25519"].map(str::to_owned).into();
    let global = GlobalConfig {
        tls: ServerTls {
            curves,
            ..ServerTls::default()
        },
        ..GlobalConfig::default()
    };
    let config = Config {
        global,
        ..Config::default()
    };
    let rendered = |minor| {
        render(
            &config,
            &Settings {
                openssl: Some(OpenSsl { major: 3, minor }),
                ..settings()
            },
        )
    };
    let (old, new) = (rendered(0), rendered(5));
    assert!(old.text.contains("ssl_ecdh_curve \"X25519\";"));
    assert!(
        old.unsupported[0]
            .to_string()
            .starts_with("data.ssl-ecdh-curve: X25519MLKEM768")
    );
    assert!(
        new.text
            .contains("ssl_ecdh_curve \"X25519MLKEM768:X25519\";")
            && new.unsupported.is_empty()
    );
}
