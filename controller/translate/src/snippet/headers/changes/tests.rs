use super::*;
use crate::snippet::headers::reserved::OF_RESPONSES;
use crate::snippet::{
    Block, Comparable, CompileOptions, Compiled, Satisfy, SnippetErrors, compile,
};

pub(super) fn compiled(text: &str) -> Result<Compiled, SnippetErrors> {
    compiled_for(text, false)
}

fn compiled_for(text: &str, speaks_grpc: bool) -> Result<Compiled, SnippetErrors> {
    let forwarded = Forwarded::default();
    let headers = HeaderOptions {
        is_set_elsewhere: &|name| name.is_alike("x-taken"),
        speaks_grpc,
        knows_users: true,
        hidden: &[HeaderName::from_static("server")],
        ..HeaderOptions::new(&forwarded)
    };
    let options = CompileOptions {
        has_auth_service: true,
        ..CompileOptions::new(headers, Comparable::ALL)
    };
    compile(text, Block::Location, options)
}

pub(super) fn shown(text: &str) -> String {
    serde_json::to_string(&compiled(text).unwrap().filters).unwrap()
}

#[test]
fn changes_of_headers_become_filters() {
    assert_eq!(
        shown(
            "more_set_headers 'X-A: b' \"X-C: $http_origin\";\nmore_clear_headers Via X-Runtime 'X-Powered-By: any';"
        ),
        r#"[{"response_headers":{"set":[{"name":"X-A","value":"b"},{"name":"X-C","value":"${header origin}"}],"remove":["Via","X-Runtime","X-Powered-By"]}}]"#
    );
    assert_eq!(
        shown("proxy_set_header X-A $scheme; proxy_set_header X-B ''; proxy_hide_header Via;"),
        r#"[{"request_headers":{"set":[{"name":"X-A","value":"$scheme"}],"remove":["X-B"]}},{"response_headers":{"hide":["Via"]}}]"#
    );
    assert_eq!(
        shown("more_set_headers 'Server: shop'; more_clear_headers X-Secret;"),
        r#"[{"response_headers":{"set":[{"name":"Server","value":"shop"}],"remove":["X-Secret"]}}]"#
    );
    assert_eq!(
        shown("add_header X-A 1 always; add_header x-a 2 always;"),
        r#"[{"response_headers":{"add":[{"name":"X-A","value":"1"},{"name":"x-a","value":"2"}]}}]"#
    );
}

#[test]
fn what_is_so_anyway_needs_no_filter() {
    for text in [
        "",
        "# nothing",
        "proxy_ssl_verify off;",
        "proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection \"upgrade\";",
    ] {
        assert_eq!(compiled(text), Ok(Compiled::default()), "{text}");
    }
}

#[test]
fn nginx_adds_headers_to_errors_with_always_alone() {
    let differs = |text| !compiled(text).unwrap().differences.is_empty();
    assert!(differs("add_header X-A $remote_addr;"));
    assert!(!differs("add_header X-A $remote_addr always;") && !differs("add_header X-A b;"));
}

#[test]
fn nothing_replaces_what_expires_writes() {
    assert_eq!(
        shown("expires 1h; add_header Cache-Control public; more_set_headers 'X-A: b';"),
        r#"[{"response_headers":{"set":[{"name":"X-A","value":"b"}],"add":[{"name":"Cache-Control","value":"public","unless_error":true}],"expires":{"seconds":3600}}}]"#
    );
    for bad in [
        "expires 1h; more_set_headers 'Cache-Control: public';",
        "expires 1h; more_clear_headers Cache-Control;",
        "more_clear_headers Strict-Transport-Security;",
        "more_set_headers 'Expires: 0'; expires max;",
        "expires 1h; expires 1h;",
        "expires modified 1h;",
        "expires @1h;",
        "expires $http_x_a;",
    ] {
        assert!(compiled(bad).is_err(), "{bad}");
    }
}

/// As nginx: of the content's version there is one header, and none that is empty.
#[test]
fn added_headers_are_those_that_nginx_adds() {
    assert_eq!(
        shown(
            "add_header ETag a; add_header last-modified ''; add_header X-A ''; add_header X-B b;"
        ),
        r#"[{"response_headers":{"set":[{"name":"ETag","value":"a"}],"add":[{"name":"X-B","value":"b","unless_error":true}],"remove":["last-modified"]}}]"#
    );
    assert_eq!(shown("add_header X-A '';"), "[]");
    assert!(compiled("add_header Location '';").is_err());
}

#[test]
fn a_header_of_the_client_is_passed_on_as_it_is() {
    assert_eq!(
        shown("proxy_set_header Authorization $http_authorization;"),
        "[]"
    );
    for other in [
        "proxy_set_header X-A $http_b;",
        "proxy_set_header Authorization $http_authorization; proxy_set_header Authorization b;",
        "proxy_set_header X-Taken $http_x_taken;",
        "proxy_set_header X-Forwarded-For $http_x_forwarded_for;",
    ] {
        assert!(compiled(other).is_err() || shown(other) != "[]", "{other}");
    }
}

#[test]
fn one_statement_that_is_no_change_of_headers_refuses_all_of_them() {
    let good = "more_set_headers 'X-A: b';";
    for bad in [
        "if ($a) { more_set_headers 'X-B: c'; }",
        "gzip on;",
        "more_set_headers -s 404 'X-B: c';",
        "more_set_headers;",
        "more_clear_headers 'X-*';",
        "more_clear_headers X-Taken;",
        "proxy_hide_header X-Taken;",
        "more_set_headers 'X-Taken:';",
        "add_header X-B;",
        "add_header X-B c sometimes;",
        "proxy_set_header X-B;",
        "proxy_set_header X-B $upstream_addr;",
        "proxy_set_header X-B $cookie_a;",
        "more_set_headers 'X-B: $uri';",
        "more_set_headers 'X-B: c",
    ] {
        let error = compiled(&format!("{good}\n{bad}")).unwrap_err();
        assert_eq!(error.by_line()[0].line, 2, "{bad}");
    }
}

#[test]
fn a_block_that_nobody_opened_is_refused() {
    let error = compiled("more_clear_headers Via; }").unwrap_err();
    assert_eq!(error.by_line()[0].line, 1);
}

#[test]
fn headers_of_others_are_neither_changed_nor_read() {
    for name in [
        "Host",
        "Content-Length",
        "Transfer_Encoding",
        "Connection",
        "X-Sluice-Trust",
        "x-envoy-retry-on",
        "CDN-Loop",
        "X-Forwarded-For",
        "x_forwarded_proto",
        "X-Real_IP",
        "SSL-Client-Verify",
        "X-Taken",
        "x_taken",
        "X-Original-Forwarded-For",
        "X_Forwarded-Client-Cert",
    ] {
        let variable = name.to_ascii_lowercase().replace('-', "_");
        for text in [
            format!("proxy_set_header '{name}' evil;"),
            format!("more_set_input_headers '{name}: evil';"),
            format!("proxy_set_header X-B $http_{variable};"),
        ] {
            // `$http_host` is a variable of its own.
            assert!(
                compiled(&text).is_err() || text.contains("$http_host;"),
                "{text}"
            );
        }
    }
    let taken = ["Host", "Content-Length", "X-Sluice-Trust", "X-Taken", "a,b"];
    for name in OF_RESPONSES.iter().chain(&taken) {
        for text in [
            format!("more_set_headers '{name}: evil';"),
            format!("add_header '{name}' evil always;"),
            format!("proxy_hide_header '{name}';"),
        ] {
            assert!(compiled(&text).is_err(), "{text}");
        }
    }
}

#[test]
fn a_header_is_changed_once_and_never_read_where_it_is_changed() {
    for bad in [
        "more_set_headers 'X-A: 1' 'x-a: 2';",
        "more_set_headers 'Via: 1'; more_clear_headers Via;",
        "add_header X-A 1 always; more_set_headers 'X-A: 2';",
        "more_set_headers 'X-A: 2'; add_header X-A 1 always;",
        "proxy_set_header X-A 1; proxy_set_header X-A 2;",
        "proxy_set_header X-A $http_x_b; proxy_set_header X-B '';",
        "proxy_set_header X-A '$http_x_a, more';",
        "proxy_set_header X-A 1; more_set_headers 'X-B: $http_x_a';",
    ] {
        assert!(compiled(bad).is_err(), "{bad}");
    }
    let many = |n: usize| -> String {
        let lines = (0..n).map(|i| format!("proxy_set_header X-{i} 1;"));
        lines.collect()
    };
    assert!(compiled(&many(HeaderChanges::MAX)).is_ok());
    assert!(compiled(&many(HeaderChanges::MAX + 1)).is_err());
}

#[test]
fn pods_are_told_once_of_the_client() {
    assert_eq!(
        shown("proxy_set_header X-Forwarded-Proto https; proxy_set_header X-Forwarded-Port 443;"),
        r#"[{"request_headers":{"set":[{"name":"x-forwarded-port","value":"443"},{"name":"x-forwarded-proto","value":"https"},{"name":"x-forwarded-scheme","value":"https"},{"name":"x-scheme","value":"https"}]}}]"#
    );
    assert_eq!(
        shown("more_set_input_headers 'X-Scheme: http' 'x-forwarded-proto: http';"),
        r#"[{"request_headers":{"set":[{"name":"x-forwarded-proto","value":"http"},{"name":"x-forwarded-scheme","value":"http"},{"name":"x-scheme","value":"http"}]}}]"#
    );
    assert_eq!(
        shown(
            "proxy_set_header X-Forwarded-Prefix /a; proxy_set_header X-Original-URI $request_uri;"
        ),
        r#"[{"request_headers":{"set":[{"name":"X-Forwarded-Prefix","value":"/a"},{"name":"X-Original-URI","value":"$request_uri"}]}}]"#
    );
    let chain = compiled("proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;").unwrap();
    assert_eq!(
        chain,
        Compiled {
            differences: [Difference::WithoutChain].into(),
            ..Compiled::default()
        }
    );
    for bad in [
        "proxy_set_header X-Forwarded-Proto '';",
        "proxy_set_header X-Forwarded-Proto $http_x_forwarded_proto;",
        "proxy_set_header X-Forwarded-Proto https; proxy_set_header X-Forwarded-Proto https;",
        "proxy_set_header X-Forwarded-Proto https; proxy_set_header X-Scheme http;",
        "proxy_set_header X-Scheme https;",
        "proxy_set_header X-Forwarded-Proto https; proxy_set_header X-A $scheme;",
        "more_set_headers 'X-A: $scheme'; proxy_set_header X-Forwarded-Proto https;",
        "proxy_set_header X-Forwarded-Port 443; proxy_set_header X-A $server_port;",
        "proxy_set_header X-Forwarded-Host evil.test;",
        "proxy_set_header X-Forwarded-For $http_x_forwarded_for;",
        "proxy_set_header X-Real-IP $http_x_real_ip;",
    ] {
        assert!(compiled(bad).is_err(), "{bad}");
    }
}

/// Linkerd's documentation has both.
#[test]
fn pods_have_the_headers_of_their_protocol() {
    let text = "proxy_set_header X-A http;\ngrpc_set_header X-A grpc;";
    for (speaks_grpc, value) in [(false, "http"), (true, "grpc")] {
        let filters = compiled_for(text, speaks_grpc).unwrap().filters;
        let shown = serde_json::to_string(&filters).unwrap();
        assert!(
            shown.contains(&format!("\"{value}\"")) && filters.len() == 1,
            "{shown}"
        );
    }
}

#[test]
fn pods_are_told_the_user_and_the_time() {
    let users = |text| compiled(text).map(|it| it.user_headers);
    assert_eq!(
        users("proxy_set_header X-Remote-User ${remote_user};").unwrap(),
        [HeaderName::from_static("x-remote-user")]
    );
    assert_eq!(
        shown("proxy_set_header X-Request-Start \"t=${msec}\";"),
        r#"[{"request_headers":{"set":[{"name":"X-Request-Start","value":"t=$msec"}]}}]"#
    );
    for bad in [
        "proxy_set_header X-A 'by $remote_user';",
        "proxy_set_header X-A $remote_user; proxy_set_header x-a b;",
        "proxy_set_header X-Real-IP $remote_user;",
        "more_set_headers 'X-A: $remote_user';",
        "more_set_headers 'X-A: $msec';",
        "satisfy any; proxy_set_header X-A $remote_user;",
        "satisfy any; satisfy any;",
        "satisfy some;",
    ] {
        assert!(compiled(bad).is_err(), "{bad}");
    }
    let satisfy = |text| compiled(text).unwrap().satisfy;
    assert_eq!(satisfy("satisfy any;"), Some(Satisfy::Any));
    assert_eq!(satisfy("satisfy all; deny all;"), Some(Satisfy::All));
}
