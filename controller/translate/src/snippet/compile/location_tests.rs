//! Redirects of a `location` within a `server-snippet`.

use super::tests::{compiled, line_of_error};
use super::*;

fn contents(block: &str, path: &str) -> Option<Vec<String>> {
    let text = format!("location {path} {{ {block} }}");
    let compiled = compiled(&text, Block::Server).ok()?;
    let responses = compiled
        .locations
        .iter()
        .flat_map(|it| &it.direct_responses);
    let shown = responses.map(|it| serde_json::to_string(&it.content).unwrap());
    Some(shown.collect())
}

#[test]
fn a_location_redirects_with_the_groups_of_its_own_pattern() {
    let captured = |path: &str, block: &str| {
        let all = contents(block, path).unwrap_or_else(|| panic!("{path} {block}"));
        all.last().is_some_and(|it| it.contains("captured"))
    };
    for (path, block) in [
        ("~ ^/x/(.*)$", "return 301 /y/$1;"),
        (
            "~* ^/(x|z)/(.*)$",
            "return 302 https://b.test/$2/$1$is_args$args;",
        ),
        (
            "~ ^/x/(.*)$",
            "if ($request_method = POST) { return 301 /y/$1; }",
        ),
        (
            "~ ^/x/(.*)$",
            "if ($request_method = POST) { return 405; } return 301 /y/$1;",
        ),
        ("~ ^/x/(.*)$", "return 301 https://b.test$uri;"),
    ] {
        assert!(captured(path, block), "{path} {block}");
    }
    for (path, block) in [
        ("/x/", "return 301 /y/$1;"),
        ("~ ^/x/(.*)$", "return 301 /y/$2;"),
        ("~ ^/x/(.*)$", "return 200 $1;"),
        // nginx has compared another pattern by then.
        (
            "~ ^/x/(.*)$",
            "if ($http_a ~ b) { return 403; } return 301 /y/$1;",
        ),
        ("~ ^/x/(.*)$", "if ($http_a ~ b) { return 301 /y/$1; }"),
        (
            "~ ^/x/(.*)$",
            "rewrite ^/x/a /b redirect; return 301 /y/$1;",
        ),
        (
            "~ ^/x/(.*)$",
            "if ($http_a = b) { rewrite ^/x/a /b redirect; } return 301 /y/$1;",
        ),
    ] {
        assert_eq!(contents(block, path), None, "{path} {block}");
    }
    // Groups are of one location alone.
    let text = "location ~ ^/x/(.*)$ { return 404; }\nreturn 301 /y/$1;";
    assert_eq!(line_of_error(text, Block::Server), Some(2));
}

#[test]
fn a_location_rewrites_to_redirect() {
    for (path, block) in [
        ("/x/", "rewrite ^/x/(.*)$ /y/$1 permanent;"),
        ("= /x", "rewrite ^ https://b.test/y redirect; return 404;"),
        (
            "~ \\.php$",
            "if ($http_a) { rewrite ^/(.*)\\.php$ /$1 permanent; }",
        ),
    ] {
        let all = contents(block, path).unwrap_or_else(|| panic!("{path} {block}"));
        assert!(all[0].contains("rewritten"), "{all:?}");
    }
    for (path, block) in [
        ("/x/", "rewrite ^/x/(.*)$ /y/$1 last;"),
        ("/x/", "rewrite ^/x/(.*)$ /y/$1 break;"),
        ("/x/", "rewrite ^/x/(.*)$ /y/$1;"),
        // Envoy compares both patterns, and this one is as long as RE2 takes alone.
        ("~ \".{177}\"", "rewrite ^/a /b redirect;"),
    ] {
        assert_eq!(contents(block, path), None, "{path} {block}");
    }
}

#[test]
fn differences_of_a_location_are_those_of_its_server() {
    const POD: &str = "proxy_pass http://web.default.svc.cluster.local;";
    for (directive, difference) in [
        ("add_header X-A $remote_addr;", Difference::AddsToErrors),
        ("expires 1h;", Difference::WithoutDate),
        (
            "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;",
            Difference::WithoutChain,
        ),
        ("proxy_connect_timeout 5s;", Difference::ConnectTimeout),
    ] {
        let text = format!("location /x {{ {directive} {POD} }}");
        let differences = compiled(&text, Block::Server).unwrap().differences;
        assert_eq!(differences, [difference].into(), "{directive}");
    }
    let named = "location @refused { add_header X-A $remote_addr; return 403; }";
    let differences = compiled(named, Block::Server).unwrap().differences;
    assert_eq!(differences, [Difference::AddsToErrors].into());
}

#[test]
fn an_internal_location_is_404_to_clients() {
    let auth = "internal; proxy_pass http://login.shop.svc.cluster.local:3000/validate; proxy_pass_request_body off;\n\
                proxy_set_header Content-Length ''; proxy_set_header X-Original-URI $request_uri;";
    let text = format!("location = /auth {{ {auth} }}\nlocation /x {{ return 403; }}");
    let locations = compiled(&text, Block::Server).unwrap().locations;
    assert_eq!(locations.len(), 2);
    let first = &locations[0];
    assert!(first.proxy.is_none() && first.direct_responses.is_empty() && first.filters.is_empty());
    for (bad, line) in [
        ("location /a {\ninternal; return 200;\n}", 2),
        ("location /a {\ninternal;\nif ($a) { return 403; }\n}", 3),
        ("location /a {\ninternal on;\n}", 2),
        ("location /a { internal; }\nrewrite ^/b /a last;", 2),
    ] {
        assert_eq!(line_of_error(bad, Block::Server), Some(line), "{bad}");
    }
}

/// nginx would let it: a header that is taken away would come back.
#[test]
fn a_location_to_pods_is_refused_where_it_would_inherit() {
    let location = "location /a { proxy_pass http://web.a.svc.cluster.local; }";
    for of_server in [
        "proxy_set_header X-User '';",
        "client_max_body_size 1k;",
        "proxy_read_timeout 5;",
    ] {
        let text = format!("{location}\n{of_server}");
        assert_eq!(line_of_error(&text, Block::Server), Some(2), "{of_server}");
        // Its own locations answer themselves, and the paths of Ingresses have their own.
        assert_eq!(line_of_error(of_server, Block::Server), None);
        let answering = format!("location /b {{ return 204; }}\n{of_server}");
        assert_eq!(line_of_error(&answering, Block::Server), None);
    }
    let told = format!("{location}\nproxy_set_header X-Real-IP $remote_addr;");
    assert_eq!(line_of_error(&told, Block::Server), None);
}

/// To nginx `^~` is how a prefix is looked for, not a part of it.
#[test]
fn locations_that_nginx_loads_no_second_time_are_refused_by_the_line_of_the_second() {
    for (first, second) in [
        ("/a", "^~ /a"),
        ("^~ /a", "/a"),
        ("/a", "/a"),
        ("= /a", "=/a"),
    ] {
        let text =
            format!("location {first} {{ return 200; }}\n\nlocation {second} {{ return 404; }}");
        assert_eq!(line_of_error(&text, Block::Server), Some(3), "{text}");
    }
    let both = "location = /a { return 200; }\nlocation /a { return 404; }";
    assert_eq!(line_of_error(both, Block::Server), None);
}

/// nginx puts it before the target as the client has sent it: the location's own path, dots and encoded letters are in it, and the query.
#[test]
fn a_path_before_the_whole_target_is_refused_by_its_line() {
    let snippet = |to: &str| {
        format!("location /old/ {{\n  proxy_pass http://web.demo.svc.cluster.local{to};\n}}")
    };
    for to in ["/new$request_uri", "/$request_uri", "/new/$request_uri"] {
        assert_eq!(line_of_error(&snippet(to), Block::Server), Some(2), "{to}");
    }
    // Alone it is what pods get without it.
    let (with, without) = (snippet("$request_uri"), snippet(""));
    let locations = |text: &str| compiled(text, Block::Server).unwrap().locations;
    assert_eq!(locations(&with), locations(&without));
}
