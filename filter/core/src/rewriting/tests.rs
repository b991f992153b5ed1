use super::*;
use crate::testing::FakeRequest;

fn replaced(from: &str, to: &str) -> Option<wire::Replaced> {
    let key = |text| wire::HashKey::parse(text).0;
    Some(wire::Replaced::Text(wire::ReplacedText {
        from: key(from),
        to: key(to),
    }))
}

/// With these rules: of redirects, of domains, of paths.
fn rewrites(rules: [(&str, &str); 3], request: &FakeRequest) -> Rc<Rewrites> {
    let [redirects, cookie_domains, cookie_paths] = rules.map(|(from, to)| replaced(from, to));
    Rewriting::from(&wire::Rewriting {
        redirects,
        cookie_domains,
        cookie_paths,
    })
    .compile(request)
}

fn usual() -> Rc<Rewrites> {
    let rules = [
        ("http://pod:8080/", "https://shop/"),
        ("pod", "shop.example"),
        ("/app/", "/shop/"),
    ];
    rewrites(rules, &FakeRequest::default())
}

fn shown(rewrites: &Rewrites, header: &str, value: &str) -> String {
    let rewritten = rewrites.rewrite(header, value.as_bytes(), &mut Matching::default());
    rewritten.map_or_else(
        || "as it was".to_owned(),
        |value| String::from_utf8(value).unwrap(),
    )
}

#[test]
fn what_a_redirect_begins_with_is_replaced_and_nothing_else() {
    let location = |value| shown(&usual(), "location", value);
    assert_eq!(
        location("http://pod:8080/a?b=http://pod:8080/"),
        "https://shop/a?b=http://pod:8080/"
    );
    assert_eq!(location("http://pod:8080/"), "https://shop/");
    for other in [
        "http://pod:8080",
        "HTTP://pod:8080/",
        "/a",
        "http://other/",
        "",
    ] {
        assert_eq!(location(other), "as it was", "{other}");
    }
}

#[test]
fn the_url_of_a_refresh_is_found_in_any_case() {
    let refresh = |value| shown(&usual(), "refresh", value);
    assert_eq!(refresh("5; URL=http://pod:8080/x"), "5; URL=https://shop/x");
    for other in ["5", "5; url=", "5; url=/x", "http://pod:8080/"] {
        assert_eq!(refresh(other), "as it was", "{other}");
    }
}

#[test]
fn a_domain_is_replaced_whole_in_any_case_and_keeps_its_dot() {
    let cookie = |value| shown(&usual(), "set-cookie", value);
    assert_eq!(cookie("a=1; Domain=POD"), "a=1; Domain=shop.example");
    assert_eq!(
        cookie("a=1;domain = .pod ;Secure"),
        "a=1; domain=.shop.example; Secure"
    );
    for other in [
        "a=1; Domain=x.pod",
        "a=1; Domain=..pod",
        "Domain=pod",
        "a=1; Domain",
        "a=1",
    ] {
        assert_eq!(cookie(other), "as it was", "{other}");
    }
}

#[test]
fn what_a_path_begins_with_is_replaced_and_the_rest_of_the_cookie_stays() {
    let cookie = |value| shown(&usual(), "set-cookie", value);
    let (before, after) = (
        "a=1=2; HttpOnly; Path=/app/x; Max-Age=3",
        "a=1=2; HttpOnly; Path=/shop/x; Max-Age=3",
    );
    assert_eq!(cookie(before), after);
    assert_eq!(
        cookie("a=/app/; path=/app/; domain=pod"),
        "a=/app/; path=/shop/; domain=shop.example"
    );
    for other in [
        "a=1; Path=/",
        "a=1; Path=/App/",
        "Path=/app/",
        "a=1; Pathx=/app/",
        "a; Path=/app/",
    ] {
        assert_eq!(cookie(other), "as it was", "{other}");
    }
}

#[test]
fn variables_are_those_of_the_request_and_end_no_line() {
    let rules = [
        ("http://$http_host/", "https://$host$uri/"),
        ("$http_none", "x"),
        ("/", "/$arg_x"),
    ];
    let ask = |path: &str| {
        FakeRequest::default()
            .with(":authority", "Shop:80")
            .with(":path", path)
    };
    let good = rewrites(rules, &ask("/a?x=1"));
    assert_eq!(
        shown(&good, "location", "http://Shop:80/b"),
        "https://shop/a/b"
    );
    assert_eq!(
        shown(&good, "set-cookie", "a=1; path=/; domain=y"),
        "a=1; path=/1; domain=y"
    );
    let bad = rewrites(rules, &ask("/a%0d%0aSet-Cookie:b"));
    assert_eq!(shown(&bad, "location", "http://Shop:80/b"), "as it was");
}

#[test]
fn a_place_without_a_rule_is_left_alone() {
    let rewriting = wire::Rewriting {
        cookie_paths: replaced("/", "/x/"),
        ..wire::Rewriting::default()
    };
    let rewrites = Rewriting::from(&rewriting).compile(&FakeRequest::default());
    assert_eq!(shown(&rewrites, "location", "/"), "as it was");
    assert_eq!(
        shown(&rewrites, "set-cookie", "a=1; domain=pod; path=/"),
        "a=1; domain=pod; path=/x/"
    );
    assert_eq!(shown(&rewrites, "x-other", "/"), "as it was");
}

/// A rule of one place, whose groups are written `$1`.
fn substitution(pattern: &str, any_case: bool, to: &str) -> Option<wire::Replaced> {
    let part = |text: &str| match text.strip_prefix('$').map(str::parse) {
        Some(Ok(group)) => wire::SubstitutionPart::Group(group),
        _ => wire::SubstitutionPart::Text(wire::HashKey::parse(text).0),
    };
    Some(wire::Replaced::Pattern(wire::ReplacedPattern {
        pattern: pattern.into(),
        any_case,
        backtracking: false,
        to: to.split('|').map(part).collect(),
    }))
}

fn with_patterns(rewriting: &wire::Rewriting) -> Rc<Rewrites> {
    let request = FakeRequest::default().with(":authority", "shop.example");
    Rewriting::from(rewriting).compile(&request)
}

#[test]
fn what_a_pattern_is_found_in_is_replaced_whole() {
    let rewrites = with_patterns(&wire::Rewriting {
        redirects: substitution(
            "^http://([^/]+)/(.*)$",
            false,
            "https://|$http_host|/|$1|/|$2|$3",
        ),
        cookie_domains: substitution(r"\.(internal)", true, "$1|.test"),
        cookie_paths: substitution("^/user/(.+)", false, "/u/|$1"),
    });
    for (header, value, expected) in [
        (
            "location",
            "http://pod:80/a?b",
            "https://shop.example/pod:80/a?b",
        ),
        (
            "location",
            "http://pod/\u{e9}",
            "https://shop.example/pod/\u{e9}",
        ),
        ("location", "HTTP://pod/a", "as it was"),
        (
            "refresh",
            "3; url=http://pod/a",
            "3; url=https://shop.example/pod/a",
        ),
        (
            "set-cookie",
            "a=1; Domain=.web.INTERNAL.x; Path=/user/me",
            "a=1; Domain=INTERNAL.test; Path=/u/me",
        ),
        ("set-cookie", "a=1; Path=/x/user/me", "as it was"),
    ] {
        assert_eq!(shown(&rewrites, header, value), expected, "{value}");
    }
}

#[test]
fn to_a_pattern_a_byte_is_a_character() {
    let rewrites = with_patterns(&wire::Rewriting {
        redirects: substitution("^/(.)\u{e9}(..)$", false, "$2|-|$1"),
        ..wire::Rewriting::default()
    });
    let rewrite = |value: &[u8]| rewrites.rewrite("location", value, &mut Matching::default());
    assert_eq!(
        rewrite(b"/\xff\xc3\xa9\xc3\xa9"),
        Some(b"\xc3\xa9-\xff".to_vec())
    );
    assert_eq!(rewrite(b"/\xff\xe9\xc3\xa9"), None);
}

#[test]
fn values_of_one_response_share_what_matching_may_take() {
    const LONGEST: usize = wire::MOST_MATCHING / (wire::LARGEST_PATTERN / 16);
    let rewrites = with_patterns(&wire::Rewriting {
        redirects: substitution("^/a*$", false, "/b"),
        ..wire::Rewriting::default()
    });
    let value = |length: usize| format!("/{}", "a".repeat(length - 1)).into_bytes();
    let mut matching = Matching::default();
    let mut rewrite = |length| {
        rewrites
            .rewrite("location", &value(length), &mut matching)
            .is_some()
    };
    assert!(!rewrite(LONGEST + 1));
    assert!(rewrite(LONGEST - 10));
    assert!(!rewrite(11));
    assert!(rewrite(10));
    // One that is too large is found nowhere.
    let rewrites = with_patterns(&wire::Rewriting {
        redirects: substitution("(a{50}){50}|", false, "/b"),
        ..wire::Rewriting::default()
    });
    assert_eq!(shown(&rewrites, "location", "/"), "as it was");
}

#[test]
fn a_group_ends_no_line() {
    let rewrites = with_patterns(&wire::Rewriting {
        redirects: substitution("^/(.)", false, "/|$1"),
        ..wire::Rewriting::default()
    });
    assert_eq!(shown(&rewrites, "location", "/\r\n"), "as it was");
}
