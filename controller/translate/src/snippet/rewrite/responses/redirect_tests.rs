//! `rewrite` redirects to where nginx 1.22 does.

use sluice_ir::GlobalConfig;

use super::tests::{responses, shown};
use crate::snippet::rewrite::comparable::Comparable;
use crate::snippet::rewrite::conditions;
use crate::support::DataPlane;

/// All patterns and targets, and what `return` would have in an `if` around it.
#[test]
fn a_rewrite_is_a_return_where_its_pattern_matches() {
    for (pattern, urls) in [
        ("^/a$", &["https://h.test/b", "$scheme://$host/b"][..]),
        ("/old$", &["https://h.test/new", "http://h.test:81/"]),
        (
            "^/a/(.*)$",
            &["https://h.test/b/$1", "$scheme://$http_host/$1", "/b/$1"],
        ),
        (
            "^(.*)$",
            &["https://h.test$1", "https://$host$1", "https://h.test/x$1"],
        ),
        ("^(.*)", &["https://h.test:8443$1"]),
        ("^(/.*)$", &["https://h.test$1", "$scheme://$host/b$1"]),
        ("^(/old/[a-z]+)/x", &["https://h.test$1"]),
        ("^($|/)", &["https://m.h.test$1"]),
        ("(?i)^(.*)$", &["https://h.test$1"]),
    ] {
        for url in urls {
            for (flag, status) in [("permanent", 301), ("redirect", 302)] {
                let is_same = |rewrite: &str, url: &str| {
                    let returned = format!("if ($uri ~ {pattern}) {{ return {status} {url}; }}");
                    assert_eq!(shown(rewrite), shown(&returned), "{rewrite}");
                };
                let dropped = format!("rewrite {pattern} {url}? {flag};");
                is_same(&dropped, url);
                // The query goes along, in one form or the other.
                let kept = format!("rewrite {pattern} {url} {flag};");
                let all = shown(&kept);
                if !all[0].contains("\"rewritten\"") {
                    is_same(&kept, &format!("{url}$is_args$args"));
                }
                assert!(all[0].contains(&format!("{status} ")), "{}", all[0]);
            }
        }
    }
}

#[test]
fn every_data_plane_has_words_for_patterns_of_paths() {
    for plane in [None, Some(DataPlane::Envoy), Some(DataPlane::Nginx)] {
        let comparable = Comparable::by(plane, &GlobalConfig::default());
        for pattern in [
            "^",
            "^(.*)$",
            "^(.*)",
            "^(/.*)$",
            "^/a/(.*)$",
            "/old$",
            "^($|/)",
            "(?i)^/A$|b",
            "^/[^/]+/(\\d+)",
        ] {
            assert!(
                conditions::of_path(pattern, comparable).is_some(),
                "{pattern}"
            );
        }
    }
}

#[test]
fn a_rewrite_of_every_path_is_a_return() {
    for url in [
        "https://h.test$request_uri",
        "$scheme://h.test$request_uri",
        "https://www.$host$request_uri",
        "https://h.test/?from=$request_uri",
        "https://h.test/b?x=1",
    ] {
        assert_eq!(
            shown(&format!("rewrite ^ {url}? permanent;")),
            shown(&format!("return 301 {url};"))
        );
    }
    // Groups are the pattern's own: nothing is left of those around it.
    assert!(responses("if ($uri ~ ^/(a)) { rewrite ^ https://h.test/$1? permanent; }").is_err());
    let behind = "rewrite ^/b https://h.test/? permanent; return 301 /$1;";
    assert!(responses(&format!("if ($uri ~ ^/(a)) {{ {behind} }}")).is_err());
}

/// nginx redirects to a URL also where it is not told to, and to nothing else.
#[test]
fn a_url_is_a_redirect_whatever_the_flag() {
    for url in [
        "https://h.test/b/$1",
        "http://h.test$request_uri?",
        "$scheme://$host/b",
    ] {
        let told = shown(&format!("rewrite ^/a/(.*)$ {url} redirect;"));
        for flag in ["", " last", " break"] {
            assert_eq!(shown(&format!("rewrite ^/a/(.*)$ {url}{flag};")), told);
        }
    }
}

#[test]
fn what_has_another_meaning_is_refused() {
    for bad in [
        // nginx has the query twice.
        "^ https://h.test$request_uri permanent",
        "^ https://h.test/$args permanent",
        "^ https://h.test/b$is_args$args permanent",
        // With `&` between both.
        "^ https://h.test/b?x=1 permanent",
        "^/(.*)$ https://h.test/b?x=$1 permanent",
        "^/(.*)$ https://h.test/b?x=$1? permanent",
        // The host.
        "^/(.*)$ https://$1.h.test/ permanent",
        "^/(.*)$ https://h.test$1 permanent",
        "^(.*)/a$ https://h.test$1 permanent",
        "^(.*?) https://h.test$1? permanent",
        "^(.*)$|b https://h.test$1? permanent",
        "^ https://h.test$http_a? permanent",
        "^ https://h.test/$cookie_a permanent",
        "^/a(?!b) https://h.test/? permanent",
        "^/a(?i)b https://h.test/? permanent",
    ] {
        assert_eq!(responses(&format!("rewrite {bad};")), Err(1), "{bad}");
    }
}
