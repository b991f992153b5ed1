//! Variables that `return` reads, and groups of the host.

use sluice_ir::{Comparison, Condition, RequestTest};

use super::tests::{responses, responses_of, shown};

#[test]
fn return_reads_what_a_variable_is_on_its_way() {
    let text = "set $to https://a.test; if ($http_b) { set $to https://b.test; } return 302 $to$request_uri;";
    assert_eq!(
        shown(text),
        [
            r#"!{"header":{"name":"b","value":{"equals":""}}} !{"header":{"name":"b","value":{"equals":"0"}}} 302 {"location":"https://b.test$request_uri"}"#,
            r#"{"header":{"name":"b","value":{"equals":""}}} 302 {"location":"https://a.test$request_uri"}"#,
            r#"{"header":{"name":"b","value":{"equals":"0"}}} 302 {"location":"https://a.test$request_uri"}"#,
        ]
    );
    let of_text = shown("set $a 'it is'; return 403 \"$a so\";");
    assert!(
        of_text[0].ends_with(r#""text":"it is so"}}"#),
        "{of_text:?}"
    );
}

#[test]
fn a_variable_has_groups_of_the_path() {
    let own = shown("if ($uri ~ ^/a/([^/]+)/(.*)$) { return 301 /$2/$1; }");
    let set = "if ($uri ~ ^/a/([^/]+)/(.*)$) { set $b $2/$1; set $c $b; return 301 /$c; }";
    // Both are read.
    let set = set.replace("set $c $b; return 301 /$c", "return 301 /$b");
    assert_eq!(shown(&set), own);
    for bad in [
        // It is compared.
        "if ($uri ~ ^/a/(.*)$) { set $b $1; if ($b) { return 301 /$b; } }",
        // Groups of two conditions.
        "if ($uri ~ ^/a/(.*)$) { set $b $1; if ($uri ~ (c)) { return 301 /$b/$1; } }",
        // There is no condition.
        "set $b $1; return 301 /$b;",
        "if ($uri ~ ^/a/(.*)$) { set $b $1; return 200 $b; }",
        "if ($uri ~ ^/a/(.*)$) { set $b $1$host; return 301 /$b; }",
        "if ($uri ~ ^/a/(.*)$) { set $b $1; return 301 https://$b/; }",
    ] {
        assert!(responses(bad).is_err(), "{bad}");
    }
}

/// Statuses on three paths, of which one sets `$a` to `1` and one `$b` to `0`.
fn statuses(text: &str) -> [u16; 3] {
    let begin = "if ($uri = /a) { set $a 1; } if ($uri = /b) { set $b 0; }";
    let all = responses(&format!("{begin} {text}")).unwrap();
    ["/a", "/b", "/c"].map(|path| {
        let holds = |condition: &Condition| {
            let RequestTest::Path(Comparison::Equals(text)) = &condition.test else {
                panic!("{condition:?}")
            };
            (text == path) != condition.negated
        };
        let mut found = all.iter().filter(|it| it.conditions.iter().all(holds));
        found.next().map_or(200, |it| it.status)
    })
}

/// As nginx has one that is set on some ways alone.
#[test]
fn a_variable_that_is_not_set_is_empty() {
    for (condition, expected) in [
        ("$a", [403, 200, 200]),
        ("$a = 1", [403, 200, 200]),
        ("$a != 1", [200, 403, 403]),
        ("$a = \"\"", [200, 403, 403]),
        ("$a != \"\"", [403, 200, 200]),
        ("$b", [200, 200, 200]),
        ("$b = 0", [200, 403, 200]),
        ("$b != 0", [403, 200, 403]),
        ("$b = \"\"", [403, 200, 403]),
    ] {
        let text = format!("if ({condition}) {{ return 403; }}");
        assert_eq!(statuses(&text), expected, "{condition}");
    }
    for (text, expected) in [
        ("set $c $a$b; if ($c = 1) { return 403; }", [403, 200, 200]),
        ("set $c x$a; if ($c = x) { return 403; }", [200, 403, 403]),
        (
            "set $a ${a}2; if ($a = 12) { return 403; }",
            [403, 200, 200],
        ),
        ("set $c ${c}2; if ($c = 2) { return 403; }", [403, 403, 403]),
        (
            "if ($a) { if ($b = \"\") { return 403; } }",
            [403, 200, 200],
        ),
    ] {
        assert_eq!(statuses(text), expected, "{text}");
    }
}

#[test]
fn a_variable_that_is_not_set_is_empty_in_texts_and_its_own_to_set() {
    let texts = shown("if ($http_a = 1) { set $a b; } return 302 /$a;");
    assert!(
        texts[0].ends_with("/b\"}") && texts[1].ends_with("/\"}"),
        "{texts:?}"
    );
    // No directive has set it: something else may.
    for bad in [
        "if ($a) { return 403; }",
        "if ($a) { return 403; } set $a 1;",
    ] {
        assert_eq!(responses(bad), Err(1), "{bad}");
    }
    for unread in [
        "set $a 1;",
        "set $a 1; set $b $a;",
        "if ($http_a) { set $a 1; }",
    ] {
        assert_eq!(responses(unread), Ok(Vec::new()), "{unread}");
    }
}

#[test]
fn a_variable_has_groups_of_known_hosts() {
    let text = r#"set $n ""; if ($host ~ ^(.+)\.old\.test$) { set $n $1; } if ($n) { return 301 https://$n.new.test; }"#;
    let all = shown(text);
    assert_eq!(
        all,
        [
            r#"{"host":{"matches":"^(.+)\\.old\\.test$"}} !{"host":{"equals":"shop.old.test"}} 503 "page""#,
            r#"{"host":{"equals":"shop.old.test"}} 301 {"location":"https://shop.new.test"}"#,
        ]
    );
    assert!(responses_of(text, false).is_err());
}

#[test]
fn groups_of_the_host_are_constants_where_the_hosts_are_known() {
    let text = r#"if ($host ~ ^(.+\.)?old\.test$) { return 301 https://$1new.test$request_uri; }"#;
    assert_eq!(
        shown(text),
        [
            r#"{"host":{"equals":"shop.old.test"}} 301 {"location":"https://shop.new.test$request_uri"}"#,
            r#"{"host":{"equals":"old.test"}} 301 {"location":"https://new.test$request_uri"}"#,
            r#"{"host":{"matches":"^(.+\\.)?old\\.test$"}} 503 "page""#,
        ]
    );
    assert_eq!(responses_of(text, false), Err(1));
    let of_one = shown(r#"if ($host ~* ^(SHOP)\.) { return 302 /$1; }"#);
    assert_eq!(
        (of_one.len(), of_one[0].ends_with("$host/shop\"}")),
        (2, true)
    );
    for text in [
        r#"if ($host !~ ^(.+)\.old) { return 301 https://$1.new.test; }"#,
        r#"if ($host ~ ^(.+)\.old) { return 301 https://$2.new.test; }"#,
        r#"if ($host ~ ^(.+)\.old) { if ($http_a) { return 301 https://$1.new.test; } }"#,
        r#"if ($host ~ ^(.+)\.old) { rewrite ^/a /b redirect; return 301 https://$1.new.test; }"#,
        r#"if ($host ~ ^(.+)\.old) { return 301 https://$1.new.test$arg_a; }"#,
        "return 301 https://$1.new.test;",
    ] {
        assert!(responses(text).is_err(), "{text}");
    }
}
