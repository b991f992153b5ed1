//! `location ^~` of a `server-snippet` comes before patterns, whatever else is below it: a guard is not gone round.

mod configmap;

use serde_json::{Value, json};
use sluice_ir::{Action, HttpRoute, PathMatch};

use crate::configmap::{ingress, routes, translated};

const GUARD: &str = "location ^~ /admin { deny all; }";

/// Place of the first route whose path is this prefix as the snippet has it, and of the first pattern of others.
fn place(all: &[&HttpRoute], text: &str) -> Option<usize> {
    let is_it = |route: &&HttpRoute| match &route.matches.path {
        PathMatch::Regex(regex) => regex.pattern == text,
        PathMatch::Exact(_) | PathMatch::Prefix(_) => false,
    };
    all.iter().position(is_it)
}

fn annotations(own: &str, use_regex: bool) -> Value {
    match use_regex {
        true => json!({"server-snippet": own, "use-regex": "true"}),
        false => json!({"server-snippet": own}),
    }
}

#[test]
fn a_guard_stays_before_patterns_whatever_is_below_it() {
    let proxy = "proxy_pass http://web.a.svc.cluster.local:80;";
    let pattern = format!("location ~ ^/admin/b {{ {proxy} }}");
    for (below, is_closed) in [
        (String::new(), None),
        ("location /admin/x { return 404; }".to_owned(), Some(false)),
        (format!("location /admin/x {{ {proxy} }}"), Some(true)),
    ] {
        for (own, operators) in [
            (format!("{GUARD} {below} {pattern}"), String::new()),
            (format!("{below} {pattern}"), GUARD.to_owned()),
        ] {
            let keys = json!({"server-snippet": operators});
            let one = ingress("a", "a.test", &annotations(&own, false), &["/"]);
            let translation = translated(&keys, &[one]);
            let all = routes(translation.config(), "a.test");
            let guard = place(&all, "^/admin").expect("a guard");
            let first = place(&all, "^/admin/b").expect("a pattern");
            assert!(guard < first, "{own}: {all:#?}");
            let longer = place(&all, "^/admin/x");
            assert_eq!(longer.is_some(), is_closed.is_some(), "{own}");
            let Some((longer, is_closed)) = longer.zip(is_closed) else {
                continue;
            };
            assert!(longer < guard, "{own}: {all:#?}");
            assert_eq!(all[longer].action == Action::Denied, is_closed, "{own}");
            let reports = translation.reports();
            let reports = reports.iter().map(ToString::to_string);
            let told = reports.filter(|it| it.contains("is longer than location ^~ /admin"));
            assert_eq!(told.count(), usize::from(is_closed), "{own}");
        }
    }
}

#[test]
fn a_path_below_a_guard_is_closed_where_patterns_would_come_first() {
    let pattern = "location ~ \\.php$ { return 403; }";
    for (own, is_closed) in [
        (format!("{GUARD} {pattern}"), true),
        // Without patterns the longest prefix takes its paths.
        (GUARD.to_owned(), false),
    ] {
        let one = ingress(
            "a",
            "a.test",
            &annotations(&own, false),
            &["/", "/admin/public"],
        );
        let translation = translated(&json!({}), &[one]);
        let all = routes(translation.config(), "a.test");
        let closed = place(&all, "^/admin/public/");
        assert_eq!(closed.is_some(), is_closed, "{all:#?}");
        if let Some(closed) = closed {
            assert_eq!(all[closed].action, Action::Denied);
            assert!(closed < place(&all, "^/admin").expect("a guard"));
        }
    }
}

#[test]
fn a_guard_stays_before_the_patterns_of_an_ingress() {
    let own = format!("{GUARD} location /admin/x/y {{ return 404; }}");
    let one = ingress("a", "a.test", &annotations(&own, true), &["/.*"]);
    let translation = translated(&json!({}), &[one]);
    let all = routes(translation.config(), "a.test");
    let guard = place(&all, "^/admin").expect("a guard");
    let forwards = |route: &&HttpRoute| matches!(route.action, Action::Forward(_));
    let first = all.iter().position(forwards).expect("a path");
    assert!(guard < first, "{all:#?}");
    assert!(place(&all, "^/admin/x/y").is_some_and(|it| it < guard));
}
