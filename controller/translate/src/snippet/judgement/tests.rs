use std::collections::BTreeSet;

use super::harmless::harmless_directives;
use super::*;
use crate::annotations::alternatives;

/// Those of the list.
fn listed() -> BTreeSet<&'static str> {
    harmless_directives()
        .into_iter()
        .flat_map(|(_, directives)| directives)
        .map(|(name, _)| name)
        .collect()
}

const USUAL: Effective = Effective {
    largest_body: Some(1 << 20),
};

/// Every directive that ingress-nginx takes.
fn all() -> impl Iterator<Item = &'static str> {
    let lines = include_str!("directives.txt")
        .lines()
        .filter(|line| !line.starts_with('#'));
    lines.flat_map(str::split_whitespace)
}

fn closes(text: &str, place: SnippetContext) -> Option<String> {
    let found = closing(text, place, USUAL);
    found.into_iter().next().map(|guard| match guard {
        Guard::Directive(name, _) => name,
        unreadable @ Guard::Unreadable(_) => unreadable.shown(),
    })
}

const PLACES: [SnippetContext; 4] = [
    SnippetContext::Location,
    SnippetContext::Http,
    SnippetContext::Main,
    SnippetContext::Stream,
];

#[test]
fn every_directive_that_is_said_to_be_harmless_is_one() {
    let known: BTreeSet<&str> = all().collect();
    let unknown: Vec<_> = listed()
        .into_iter()
        .filter(|name| !known.contains(name))
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn ports_for_tcp_and_udp_have_flags_whatever_a_stream_snippet_says() {
    for directive in all() {
        let judged = judge(
            &format!("server {{ listen 9000; {directive} a; }}"),
            Language::Nginx(SnippetContext::Stream),
            USUAL,
            None,
            alternatives,
        );
        assert_eq!(judged.advice, NO_STREAM_SNIPPETS);
    }
}

/// Of all that there are, and of whatever else somebody writes.
#[test]
fn a_directive_that_is_not_listed_closes_wherever_it_stands() {
    let listed = listed();
    let others = all().filter(|name| !listed.contains(name)).chain([
        "nobody_knows_this",
        "Gzip",
        "",
        "\u{e9}",
    ]);
    let mut count = 0;
    for name in others.filter(|name| !name.is_empty()) {
        count += 1;
        for place in PLACES {
            assert_eq!(
                closes(&format!("{name} a b;"), place).as_deref(),
                Some(name)
            );
            assert_eq!(
                closes(&format!("{name} a {{ gzip on; }}"), place).as_deref(),
                Some(name)
            );
        }
        for text in [
            format!("gzip on; {name} a;"),
            format!("# gzip\ngzip on;{name} a;"),
            format!("if ($a) {{ gzip on; {name} a; }}"),
            format!("add_header A 'b'; if ($a = \"b c\") {{ }} {name};"),
            format!("types {{ {name} a; }} {name} b;"),
        ] {
            assert_eq!(
                closes(&text, SnippetContext::Location).as_deref(),
                Some(name),
                "{text}"
            );
        }
    }
    assert!(count > 400, "{count}");
}

/// Those that never guard, whatever is behind them; and a block behind one is none that nginx knows.
#[test]
fn a_directive_of_the_list_closes_nothing_and_with_braces_it_does() {
    for name in [
        "gzip",
        "expires",
        "add_header",
        "proxy_read_timeout",
        "access_log",
    ] {
        assert_eq!(
            closes(
                &format!("{name} on; if ($a) {{ {name} off; }}"),
                SnippetContext::Location
            ),
            None
        );
        assert_eq!(
            closes(&format!("{name} {{ }}"), SnippetContext::Location).as_deref(),
            Some(name)
        );
        assert_eq!(
            closes(&format!("{name} on;"), SnippetContext::Main).is_some(),
            name != "error_log",
            "{name}"
        );
    }
}

#[test]
fn headers_count_when_a_client_could_say_them_or_would_see_them() {
    for harmless in [
        "proxy_set_header Host $host;",
        "proxy_set_header X-Forwarded-For ${proxy_add_x_forwarded_for};",
        "proxy_set_header connection \"upgrade\";",
        "proxy_set_header Accept-Encoding \"\";",
        "more_set_input_headers 'X-Real-IP: $remote_addr';",
        "proxy_hide_header x-powered-by;",
        "more_clear_headers Server 'X-Powered-By';",
        "more_set_headers -s '404 500' 'X-A: b' -t text/html \"X-B: c: d\";",
        "more_set_headers 'Access-Control-Allow-Origin: *';",
        "underscores_in_headers on;",
        "proxy_ignore_headers Set-Cookie Vary;",
    ] {
        assert_eq!(
            closes(harmless, SnippetContext::Location),
            None,
            "{harmless}"
        );
    }
    for guarding in [
        "proxy_set_header X-Remote-User \"\";",
        "proxy_set_header Host internal.example;",
        "proxy_set_header X-Real-IP $http_x_real_ip;",
        "proxy_set_header X-Forwarded-Prefix /admin;",
        "proxy_set_header Host;",
        "grpc_set_header X-Remote-User $remote_user;",
        "more_set_input_headers 'X-Real-IP: $remote_addr' 'X-Remote-User:';",
        "more_clear_input_headers Host;",
        "proxy_hide_header X-Secret;",
        "more_clear_headers X-*;",
        "more_clear_headers Server 'X-Powered-By X-Secret';",
        "more_set_headers 'X-Secret:';",
        "more_set_headers X-Secret;",
        "more_set_headers 'X-A: b' 'X-Secret: ';",
        "more_set_headers 'Access-Control-Allow-Origin: https://a.example';",
        "underscores_in_headers off;",
        "proxy_ignore_headers X-Accel-Redirect;",
    ] {
        assert!(
            closes(guarding, SnippetContext::Location).is_some(),
            "{guarding}"
        );
    }
}

#[test]
fn a_limit_of_bodies_counts_when_it_is_lower_than_the_one_that_holds() {
    let closes = |text: &str, largest_body| {
        !closing(text, SnippetContext::Location, Effective { largest_body }).is_empty()
    };
    for (text, largest, expected) in [
        ("client_max_body_size 50m;", Some(1 << 20), false),
        ("client_max_body_size 1m;", Some(1 << 20), false),
        ("client_max_body_size 0;", None, false),
        ("client_max_body_size 1m;", Some(8 << 20), true),
        ("client_max_body_size 1m;", None, true),
        ("client_max_body_size many;", Some(1), true),
        ("client_max_body_size 1m 2m;", Some(1), true),
    ] {
        assert_eq!(closes(text, largest), expected, "{text} {largest:?}");
    }
}

#[test]
fn definitions_of_the_operator_close_nothing_and_servers_do() {
    let text = "map $a $b { default 1; deny all; }\nlimit_req_zone $b zone=b:1m rate=1r/s; geo $c { 10.0.0.0/8 1; }";
    assert_eq!(closes(text, SnippetContext::Http), None);
    assert_eq!(
        closes(text, SnippetContext::Location).as_deref(),
        Some("map")
    );
    assert_eq!(
        closes("server { listen 9000; deny all; }", SnippetContext::Stream),
        None
    );
    assert_eq!(
        closes("server { listen 80; return 444; }", SnippetContext::Http).as_deref(),
        Some("server")
    );
    assert_eq!(
        closes("upstream a { server b; } deny all;", SnippetContext::Http).as_deref(),
        Some("deny")
    );
}

/// A server of the ConfigMap guards paths of Ingresses where it listens, and takes nothing from them elsewhere.
#[test]
fn a_server_guards_on_the_ports_of_ingresses() {
    let http = |block: &str| closes(&format!("server {{ {block} }}"), SnippetContext::Http);
    for elsewhere in [
        "listen 2443; return 308 https://$host$request_uri;",
        "listen [::]:8080 default_server; listen 127.0.0.1:8081; deny all; location / { return 403; }",
        "listen unix:/tmp/x; access_log off;",
    ] {
        assert_eq!(http(elsewhere), None, "{elsewhere}");
    }
    for here in [
        "return 444;",
        "listen 80; return 444;",
        "listen 2443; listen [::]:443 ssl; return 444;",
        "listen 127.0.0.1; return 444;",
        "listen $port; return 444;",
        "location / { listen 2443; }",
    ] {
        assert_eq!(http(here).as_deref(), Some("server"), "{here}");
    }
    let second = "server { listen 2443; } server { deny all; }";
    assert_eq!(
        closes(second, SnippetContext::Http).as_deref(),
        Some("server")
    );
}

#[test]
fn what_nginx_would_not_take_closes() {
    for text in [
        "gzip on",
        "gzip on; }",
        "if ($a) { gzip on;",
        "gzip 'on;",
        "{ }",
    ] {
        let said = closes(text, SnippetContext::Location).unwrap_or_default();
        let expected = "a directive that cannot be read (line 1)";
        assert_eq!(said, expected, "{text}");
    }
}

#[test]
fn a_judgement_names_the_directive_its_line_and_what_to_use() {
    let language = language("server-snippet").unwrap();
    let judgement = judge(
        "gzip on;\n\n  deny all; location / { deny all; }\nproxy_hide_header X-Secret;",
        language,
        USUAL,
        None,
        alternatives,
    );
    assert_eq!(
        judgement.closing.as_deref(),
        Some(
            "`deny` (line 3), `location` (line 3), `proxy_hide_header` (line 4) may be access control, which cannot be \
             enforced"
        )
    );
    assert!(
        judgement.advice.contains("allowlist-source-range for deny"),
        "{}",
        judgement.advice
    );
    assert_eq!(
        judge("gzip on;", language, USUAL, None, alternatives).closing,
        None
    );
}

#[test]
fn of_many_lines_the_first_are_named() {
    let language = language("configuration-snippet").unwrap();
    let judgement = judge(
        &"deny all;\n".repeat(7),
        language,
        USUAL,
        None,
        alternatives,
    );
    let closing = judgement.closing.unwrap();
    assert!(
        closing.contains("`deny` (line 5) and 2 more may be access control"),
        "{closing}"
    );
}
