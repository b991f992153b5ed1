use super::tests::{compiled, shown};
use super::*;

#[test]
fn values_have_what_came_of_the_request() {
    let value = |text: &str| shown(&format!("more_set_headers 'X-A: {text}';"));
    for (text, value_of) in [
        ("$request_uri ?$args", "$request_uri ?$args"),
        ("$is_args$query_string", "$is_args$args"),
        ("$arg_a ${cookie_Sid}", "${argument a} ${cookie Sid}"),
        ("$status $upstream_status", "$status $upstream_status"),
        (
            "$upstream_addr $time_iso8601",
            "$upstream_addr $time_iso8601",
        ),
    ] {
        let expected = format!(
            r#"[{{"response_headers":{{"set":[{{"name":"X-A","value":"{value_of}"}}]}}}}]"#
        );
        assert_eq!(value(text), expected);
    }
    for bad in [
        "more_set_headers 'X-A: $uri';".to_owned(),
        "more_set_headers 'X-A: $upstream_response_time';".to_owned(),
        format!("add_header X-A $arg_{};", "a".repeat(49)),
        format!("add_header X-A {};", "$status".repeat(17)),
        "add_header X-A $cookie_a; more_set_input_headers 'Cookie: b=c';".to_owned(),
        "proxy_set_header X-A $status;".to_owned(),
    ] {
        assert!(compiled(&bad).is_err(), "{bad}");
    }
}

/// As nginx: `proxy_hide_header` is for pods' responses, and headers are added behind all that takes them away.
#[test]
fn a_header_that_is_taken_from_pods_may_be_set_anew() {
    let hidden = r#""hide":["X-A"]"#;
    let set = r#""set":[{"name":"X-A","value":"1"}]"#;
    let added = r#""add":[{"name":"X-A","value":"1"}]"#;
    for (one, other, with, rest) in [
        (
            "proxy_hide_header X-A;",
            "more_set_headers 'X-A: 1';",
            set,
            hidden,
        ),
        (
            "proxy_hide_header X-A;",
            "add_header X-A 1 always;",
            added,
            hidden,
        ),
        (
            "more_clear_headers X-A;",
            "add_header X-A 1 always;",
            added,
            r#""remove":["X-A"]"#,
        ),
    ] {
        for text in [format!("{one}{other}"), format!("{other}{one}")] {
            let filters = shown(&text);
            assert_eq!(
                filters,
                format!("[{{\"response_headers\":{{{with},{rest}}}}}]"),
                "{text}"
            );
        }
    }
    assert_eq!(
        shown("proxy_hide_header Strict-Transport-Security;"),
        r#"[{"response_headers":{"hide":["Strict-Transport-Security"]}}]"#
    );
    for bad in [
        "more_clear_headers X-A; more_set_headers 'X-A: 1';",
        "more_set_headers 'X-A: 1'; more_clear_headers X-A;",
        "proxy_hide_header X-A; more_clear_headers X-A; more_set_headers 'X-A: 1';",
        "more_clear_headers X-A; proxy_hide_header X-A; more_set_headers 'X-A: 1';",
        "proxy_hide_header X-A; more_set_headers 'X-A: 1' 'X-A: 2';",
    ] {
        assert!(compiled(bad).is_err(), "{bad}");
    }
}

/// `ngx_http_headers_more_parse_header`
#[test]
fn each_word_is_a_header_whose_name_ends_at_a_colon_or_a_blank() {
    for (text, same) in [
        (
            "more_set_headers X-From: shop;",
            "more_clear_headers X-From shop;",
        ),
        (
            "more_set_headers 'X-From shop';",
            "more_set_headers 'X-From: shop';",
        ),
        (
            "more_set_headers 'X-From:  : shop ' '';",
            "more_set_headers 'X-From: shop';",
        ),
        (
            "more_clear_headers 'X-From X-Other';",
            "more_clear_headers X-From;",
        ),
        (
            "more_set_input_headers X-From: shop;",
            "more_clear_input_headers X-From shop;",
        ),
    ] {
        assert_eq!(shown(text), shown(same), "{text}");
    }
    for bad in [
        "more_set_headers ' X-From: shop';",
        "more_set_headers ': shop';",
        "more_clear_headers -s 404 X-From;",
        "more_clear_headers X-A,X-B;",
    ] {
        assert!(compiled(bad).is_err(), "{bad}");
    }
}

/// Envoy would write both in one line.
#[test]
fn a_server_is_added_where_pods_have_none() {
    assert!(compiled("add_header Server shop always;").is_ok());
    let forwarded = Forwarded::default();
    let options = HeaderOptions::new(&forwarded);
    let mut changes = HeaderChanges::new(AuthVariables::default(), options);
    let added = changes.add(&["add_header", "Server", "shop", "always"], Block::Location);
    assert_eq!(added, None);
    let set = changes.add(&["more_set_headers", "server: shop"], Block::Location);
    assert_eq!(set, Some(()));
}
