use sluice_ir::{Forwarded, ResponseContent, UpstreamHeader};

use super::*;
use crate::snippet::headers::changes::HeaderOptions;

pub(super) fn compiled(text: &str, block: Block) -> Result<Compiled, SnippetErrors> {
    compiled_for(None, text, block)
}

fn compiled_for(
    data_plane: Option<DataPlane>,
    text: &str,
    block: Block,
) -> Result<Compiled, SnippetErrors> {
    let forwarded = Forwarded::default();
    let options = CompileOptions {
        has_auth_service: true,
        data_plane,
        ..CompileOptions::new(HeaderOptions::new(&forwarded), Comparable::ALL)
    };
    compile(text, block, options)
}

pub(super) fn errors(text: &str, block: Block) -> Vec<SnippetError> {
    let errors = compiled(text, block).err().unwrap_or_default();
    errors.by_line()
}

pub(super) fn line_of_error(text: &str, block: Block) -> Option<usize> {
    errors(text, block).first().map(|error| error.line)
}

#[test]
fn a_snippet_is_taken_as_a_whole() {
    let text =
        "more_set_headers 'X-A: b';\ndeny 10.0.0.0/8;\nif ($http_a = b) { return 403; }\netag on;";
    let all = compiled(text, Block::Location).unwrap();
    let counts = (
        all.filters.len(),
        all.direct_responses.len(),
        all.access.deny.len(),
    );
    assert_eq!(counts, (1, 1, 1));
    for bad in [
        "gzip on;",
        "location @a { deny all; }",
        "if ($a) { deny all; }",
        "deny a.test;",
    ] {
        let text = format!("{text}\n{bad}");
        assert_eq!(line_of_error(&text, Block::Location), Some(5), "{bad}");
    }
}

#[test]
fn errors_say_what_is_wrong_and_where() {
    for (text, error) in [
        ("etag on;\ngzip  on;", (2, "`gzip  on` is not supported")),
        (
            "etag on;\ndeny all",
            (
                2,
                "invalid nginx configuration: a directive or a quote does not end, or a quote ends within a word",
            ),
        ),
        (
            "if ($a) {",
            (1, "invalid nginx configuration: a brace is not closed"),
        ),
        (
            "etag on;\n}",
            (1, "invalid nginx configuration: a brace closes nothing"),
        ),
        (
            "default_type a/b;\ndefault_type a/b;",
            (2, "`default_type a/b` is not supported"),
        ),
    ] {
        let SnippetError { line, reason, .. } = &errors(text, Block::Location)[0];
        assert_eq!((*line, reason.as_ref()), error, "{text}");
    }
}

#[test]
fn a_reason_is_that_of_the_line_that_has_to_change() {
    let said = |text: &str| -> Vec<(usize, String)> {
        let errors = errors(text, Block::Location).into_iter();
        errors.map(|it| (it.line, it.reason.into_owned())).collect()
    };
    for name in ["target", "status", "Service_Name", "http_a", "host"] {
        let reason = format!("`${}` is a variable", name.to_lowercase());
        for reads in [
            format!("return 301 ${name};"),
            format!("if (${name}) {{ return 403; }}"),
            format!("if ($http_b) {{ set ${name} b; }} return 301 ${name};"),
            format!("set $own ${name}; return 301 $own;"),
        ] {
            let all = said(&format!("set ${name} https://a.test;\n{reads}"));
            assert!(all[0].0 == 1 && all[0].1.starts_with(&reason), "{all:?}");
            assert!(all.iter().all(|it| it.1.starts_with(&reason)), "{all:?}");
        }
    }
    for block in [
        "more_set_headers 'X-A: b';",
        "add_header X-A b; return 204;",
        "return 301 https://$1$request_uri;",
        "expires 1h;",
        "set $a 1;",
        "if ($http_b) { return 301 /$1; }",
    ] {
        let all = said(&format!(
            "set $a 0;\nif ($http_host ~ ^www\\.(.*)$) {{\n{block}\n}}\nif ($a) {{ return 403; }}"
        ));
        let lines: Vec<usize> = all.iter().map(|it| it.0).collect();
        assert_eq!(lines, [2], "{block}: {all:?}");
    }
    let host = "if ($host ~ ^www\\.(.*)$) {\nreturn 301 https://$1;\n}";
    let in_set = "if ($host ~ ^www\\.(.*)$) {\nset $a $1; return 301 https://$a;\n}";
    for text in [host, in_set] {
        let all = said(text);
        assert!(
            all[0].0 == 2 && all[0].1.starts_with("groups of $host"),
            "{all:?}"
        );
    }
}

#[test]
fn every_line_that_is_not_supported_is_named() {
    let text = "gzip on;\nmore_set_headers 'X-A: b';\nset $a b;\nif ($a = b) {\n  deny all;\n  return 403;\n}\n\
                if ($ssl_protocol = x) {\n  expires 1h;\n}\nproxy_pass http://b;";
    let lines = |text, block| -> Vec<usize> {
        let errors = errors(text, block);
        errors.iter().map(|error| error.line).collect()
    };
    assert_eq!(lines(text, Block::Location), [1, 5, 8, 11]);
    let within = format!("location = /a {{\n{text}\n}}\nreturn 403;\nalias /a;");
    assert_eq!(lines(&within, Block::Server), [2, 6, 9, 12, 15]);
    // Text behind a syntax error or a limit is not read.
    assert_eq!(lines("gzip on;\nset $a b;\n}", Block::Location), [2]);
}

#[test]
fn a_server_changes_no_request_and_its_locations_override_the_rest() {
    let all = compiled(
        "more_set_headers 'X-A: b'; proxy_read_timeout 5; proxy_set_header X-A b; return 403;",
        Block::Server,
    );
    assert_eq!(all.unwrap().filters.len(), 1);
    assert!(compiled("more_set_input_headers 'X-A: b';", Block::Server).is_err());
    assert!(compiled("proxy_read_timeout 5;", Block::Location).is_err());
}

#[test]
fn texts_have_the_type_that_is_said_once() {
    let media_type =
        |text: &str| match &compiled(text, Block::Location).unwrap().direct_responses[0].content {
            ResponseContent::Text { media_type, .. } => media_type.clone(),
            other => panic!("{other:?}"),
        };
    assert_eq!(media_type("return 200 a;"), "text/html");
    assert_eq!(
        media_type("default_type text/plain; return 200 a;"),
        "text/plain"
    );
    assert_eq!(
        media_type("return 200 a; default_type 'application/json';"),
        "application/json"
    );
}

fn locations(text: &str) -> Result<Vec<Location>, SnippetErrors> {
    compiled(text, Block::Server).map(|compiled| compiled.locations)
}

#[test]
fn a_location_answers_all_of_its_requests() {
    let text = "
        location = /health { auth_basic off; access_log off; default_type text/plain;
            add_header Content-Type text/plain; log_not_found off; return 200 OK; }
        location /metrics { allow 10.0.0.0/8; deny all; }
        location ~* ^/(a|b) { if ($request_method = POST) { return 405; } }";
    let all = locations(text).unwrap();
    let counts: Vec<_> = all
        .iter()
        .map(|one| (one.direct_responses.len(), one.access.allow.len()))
        .collect();
    assert_eq!(counts, [(1, 0), (0, 1), (1, 0)]);
    assert!(all[0].access_log_off && !all[1].access_log_off);
}

#[test]
fn what_leads_somewhere_is_not_served() {
    for bad in [
        "location /a { proxy_pass http://b; }",
        "location /a { alias /var/run; }",
        "location /a { auth_basic on; }",
        "location /a { location /a/b { } }",
        "location /a { return 404; } location /a { return 403; }",
        "rewrite ^/a /b redirect; location ~ \".{177}\" { return 404; }",
        "location /a;",
    ] {
        assert!(locations(bad).is_err(), "{bad}");
    }
    let many: String = (0..17)
        .map(|n| format!("location /{n} {{ return 404; }}\n"))
        .collect();
    assert_eq!(locations(&many).unwrap_err().by_line()[0].line, 17);
}

#[test]
fn a_service_that_is_asked_sets_headers_under_other_names() {
    let text = "auth_request_set $user $upstream_http_x_auth_user;\nproxy_set_header X-User $user;";
    let header = |name: &str| sluice_ir::HeaderName::parse(name).unwrap();
    let of_user = UpstreamHeader {
        name: header("x-user"),
        source: header("x-auth-user"),
    };
    assert_eq!(
        compiled(text, Block::Location).unwrap().auth_headers,
        [of_user]
    );
    let cookie = "auth_request_set $auth_cookie $upstream_http_set_cookie;\nadd_header Set-Cookie $auth_cookie;";
    assert_eq!(
        compiled(cookie, Block::Location).unwrap(),
        Compiled::default()
    );
    for (bad, line) in [
        ("proxy_set_header X-User a$user;", 3),
        ("proxy_set_header X-User b;", 3),
        ("more_set_headers \"X-A: $user\";", 3),
        ("auth_request_set $user $upstream_http_b;", 1),
        ("add_header Set-Cookie $user;", 3),
    ] {
        let text = format!("{text}\n{bad}");
        assert_eq!(line_of_error(&text, Block::Location), Some(line), "{bad}");
    }
    for block in [Block::Server, Block::LocationOfServer] {
        assert_eq!(line_of_error(text, block), Some(1), "{block:?}");
    }
}

#[test]
fn tuning_is_not_needed() {
    let text = "tcp_nodelay on;\nchunked_transfer_encoding off;\nproxy_cache off;\nsendfile on;";
    for block in [Block::Location, Block::Server] {
        let not_needed = compiled(text, block).unwrap().not_needed;
        assert_eq!(not_needed.len(), 4, "{block:?}: {not_needed:?}");
    }
    assert_eq!(line_of_error("proxy_cache zone;", Block::Location), Some(1));
}

#[test]
fn a_named_location_is_one_response() {
    let text = "more_set_headers 'X-A: b';\n\
                location @a { return 302 https://login.test/?b=c; }\n\
                location @b-1 { default_type text/plain; more_set_headers 'X-B: c'; return 403 'no'; }";
    let named = compiled(text, Block::Server).unwrap().named;
    let shown: Vec<_> = named
        .iter()
        .map(|it| {
            let headers = it.response.headers.as_ref().unwrap();
            let first = headers.set[0].name.as_str();
            (it.name.as_str(), it.response.status, first)
        })
        .collect();
    assert_eq!(shown, [("@a", 302, "X-A"), ("@b-1", 403, "X-B")]);
    let long = format!("return 403 '{}';", "\"".repeat(1900));
    for block in [
        "",
        "deny all;",
        "deny all; return 403;",
        "if ($http_a) { return 403; }",
        "if ($http_a) { return 403; } return 404;",
        "return 444;",
        "access_log off; return 403;",
        "rewrite ^/(.*) /b/$1 redirect;",
        "proxy_pass http://a;",
        &long,
    ] {
        let text = format!("etag on;\nlocation @a {{ {block} }}");
        assert!(compiled(&text, Block::Server).is_err(), "{block}");
    }
    let twice = "location @a { return 403; }\nlocation @a { return 404; }";
    assert_eq!(line_of_error(twice, Block::Server), Some(2));
    for name in ["@", "@a/b", "@a$b", "@a\"b"] {
        let text = format!("location '{name}' {{ return 403; }}");
        assert!(compiled(&text, Block::Server).is_err(), "{name}");
    }
    assert!(compiled("location @a { return 403; }", Block::Location).is_err());
}

#[test]
fn headers_within_an_if_are_those_of_its_requests() {
    let text = "add_header X-A a; more_set_headers 'X-B: b';\n\
                if ($http_a) { add_header X-C c; }\n\
                if ($http_b = 1) { more_set_headers 'X-D: d'; }\n\
                if ($http_c) { return 403; }";
    let all = compiled(text, Block::Location).unwrap();
    let name = |header: &sluice_ir::Header| header.name.as_str().to_owned();
    let shown: Vec<_> = all
        .header_variants
        .iter()
        .map(|it| {
            (
                it.conditions.len(),
                it.headers.set.iter().map(name).collect::<Vec<_>>(),
                it.headers
                    .add
                    .iter()
                    .map(|it| name(&it.header))
                    .collect::<Vec<_>>(),
            )
        })
        .collect();
    let texts = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    // The last one that holds counts.
    let expected = [
        (1, texts(&["X-B", "X-D"]), texts(&["X-A"])),
        (2, texts(&["X-B"]), texts(&["X-C"])),
    ];
    assert_eq!(shown, expected);
    let adds_to_errors = |text: &str| {
        let all = compiled(text, Block::Location).unwrap();
        all.differences.contains(&Difference::AddsToErrors)
    };
    assert!(!adds_to_errors(text));
    assert!(adds_to_errors("add_header X-A $remote_addr;"));
    assert!(compiled(text, Block::Server).is_err());
    let many = (0..5).map(|n| format!("if ($http_a{n}) {{ add_header X-A a; }}\n"));
    let many: String = many.collect();
    assert!(compiled(&many, Block::Location).is_err());
}

#[test]
fn nginx_changes_some_headers_for_all_responses_or_none() {
    let line = |data_plane, text: &str| {
        let errors = compiled_for(data_plane, text, Block::Location).err();
        errors.map(|errors| errors.by_line()[0].line)
    };
    for name in ["Refresh", "REFRESH", "ETag", "last-modified", "X_Under"] {
        let within = format!(
            "if ($http_a) {{\nmore_set_headers 'X-A: b';\nmore_set_headers '{name}: 1';\n}}"
        );
        for (data_plane, expected) in [
            (Some(DataPlane::Nginx), Some(3)),
            (Some(DataPlane::Envoy), None),
            (None, None),
        ] {
            assert_eq!(line(data_plane, &within), expected, "{name} {data_plane:?}");
        }
        // These have one line alone, which add_header replaces, as more_set_headers does.
        let is_single = ["ETag", "last-modified"].contains(&name);
        let for_all = format!("{within}\nmore_set_headers '{name}: 2';");
        let expected = is_single.then_some(3);
        assert_eq!(line(Some(DataPlane::Nginx), &for_all), expected, "{name}");
        let added = format!("if ($http_a) {{ add_header {name} 1; }}");
        let expected = is_single.then_some(1);
        assert_eq!(line(Some(DataPlane::Nginx), &added), expected, "{name}");
    }
    let plain = "if ($http_a) { more_set_headers 'X-A: b'; }";
    assert_eq!(line(Some(DataPlane::Nginx), plain), None);
}

#[test]
fn variables_that_envoy_computes_are_limited() {
    let headers = |count: usize| -> String {
        let header = |n| format!("add_header X-{n} $cookie_a always;\n");
        (0..count).map(header).collect()
    };
    assert!(compiled(&headers(16), Block::Location).is_ok());
    assert_eq!(line_of_error(&headers(17), Block::Location), Some(17));
    let one = format!("more_set_headers \"X-A: {}\";", "$arg_a".repeat(16));
    assert!(compiled(&one, Block::Location).is_ok());
    let two = format!("{one}\nadd_header X-B $status;");
    assert_eq!(line_of_error(&two, Block::Location), Some(2));
}
