//! Limits of what the ConfigMap's snippets add to an Ingress (docs/limits.md).

mod configmap;

use serde_json::{Value, json};
use sluice_ir::{Action, HttpRoute};

use crate::configmap::{ingress, routes, translated};

/// An Ingress with so many paths on so many hosts.
fn large(annotations: &Value, paths: usize, hosts: usize) -> Value {
    let texts: Vec<String> = (0..paths).map(|n| format!("/p{n}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut large = ingress("a", "0.test", annotations, &texts);
    let rule = large["spec"]["rules"][0].clone();
    let rules = (0..hosts).map(|n| {
        let mut rule = rule.clone();
        rule["host"] = json!(format!("{n}.test"));
        rule
    });
    large["spec"]["rules"] = rules.collect();
    large
}

#[test]
fn paths_that_have_too_much_of_it_are_closed_and_their_ingress_is_told() {
    let each = |n| format!("if ($http_x_k{n} = a) {{ return 403; }}\n");
    let ifs = |n: usize| -> String { (0..n).map(each).collect() };
    let cors_of = |count| {
        let origins: Vec<String> = (0..count).map(|n| format!("https://o{n}.test")).collect();
        json!({"enable-cors": "true", "cors-allow-origin": origins.join(",")})
    };
    let cors = cors_of(50);
    let located = format!("location /x {{ {} }}", ifs(6));
    let headers = "more_set_headers \"X-A: b\";".to_owned();
    const SERVER: &str = "server-snippet";
    const LOCATION: &str = "location-snippet";
    let rows = [
        (SERVER, ifs(10), json!({}), 20, 1, false),
        (SERVER, ifs(10), json!({}), 500, 1, true),
        (SERVER, ifs(10), cors.clone(), 2, 1, false),
        (SERVER, ifs(10), cors, 50, 1, true),
        (SERVER, located.clone(), json!({}), 1, 100, false),
        (SERVER, located, json!({}), 1, 500, true),
        (SERVER, headers.clone(), json!({}), 500, 1, false),
        (LOCATION, ifs(10), json!({}), 20, 1, false),
        (LOCATION, ifs(10), json!({}), 500, 1, true),
        (LOCATION, ifs(10), cors_of(50), 50, 1, true),
        (LOCATION, headers, json!({}), 500, 1, false),
    ];
    for (key, snippet, annotations, paths, hosts, is_beyond) in rows {
        let other = ingress("b", "other.test", &json!({}), &["/"]);
        let objects = [large(&annotations, paths, hosts), other];
        let translation = translated(&json!({key: snippet}), &objects);
        let said = format!("{key}: {paths} paths, {hosts} hosts, {annotations}");
        let reports = translation.reports();
        let reports: Vec<String> = reports.iter().map(ToString::to_string).collect();
        let told = |report: &&String| {
            report.starts_with("Ingress a/0.test: spec.rules: expected at most 5000")
                && report.contains(&format!("{key} of ConfigMap sys/cm"))
        };
        let told = reports.iter().filter(told).count();
        assert_eq!(told, usize::from(is_beyond), "{said}: {reports:?}");
        let is_closed = |route: &&HttpRoute| route.action == Action::Denied;
        let of_large = routes(translation.config(), "0.test");
        let closed = of_large.iter().copied().filter(is_closed).count();
        let expected = if is_beyond { of_large.len() } else { 0 };
        assert_eq!(closed, expected, "{said}: {of_large:?}");
        let others = routes(translation.config(), "other.test");
        assert!(others.iter().copied().all(|it| !is_closed(&it)), "{said}");
    }
}
