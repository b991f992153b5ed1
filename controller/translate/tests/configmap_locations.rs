//! Locations of the ConfigMap's `server-snippet` beside paths and snippets of Ingresses, and reports about both.

mod configmap;

use serde_json::{Value, json};
use sluice_ir::Filter;

use crate::configmap::{ingress, routes, translated};

/// Reports about the Ingress of `a.test`.
fn told(config_map: &str, annotations: &Value, path: (&str, &str)) -> Vec<String> {
    let mut ingress = ingress("a", "a.test", annotations, &[path.0]);
    ingress["spec"]["rules"][0]["http"]["paths"][0]["pathType"] = json!(path.1);
    let translation = translated(&json!({"server-snippet": config_map}), &[ingress]);
    let reports = translation.reports().into_iter().map(ToString::to_string);
    let is_about_it = |report: &String| report.starts_with("Ingress a/a.test: ");
    let is_of_backends = |report: &String| report.contains("endpoint");
    reports
        .filter(|it| is_about_it(it) && !is_of_backends(it))
        .collect()
}

#[test]
fn a_path_with_the_text_of_a_location_of_the_operator_is_reported() {
    for (location, path, consequence) in [
        ("= /x", ("/x", "Exact"), "this path is not used"),
        ("= /x", ("/x", "Prefix"), "those below it are served"),
        ("= /x/", ("/x/", "Exact"), "this path is not used"),
        ("/x/", ("/x", "Prefix"), "this path is not used"),
        ("^~ /x/", ("/x", "Prefix"), "this path is not used"),
        ("/x/", ("/x/", "Prefix"), "this path is not used"),
        ("/", ("/", "Prefix"), "this path is not used"),
    ] {
        let snippet = format!("location {location} {{ return 410; }}");
        let reports = told(&snippet, &json!({}), path);
        let [report] = reports.as_slice() else {
            panic!("{location} {path:?}: {reports:?}");
        };
        let expected = format!(
            "Ingress a/a.test: spec.rules[0].http.paths[0].path: server-snippet of ConfigMap sys/cm has a location with the same text \
             ({location:?})"
        );
        assert!(report.starts_with(&expected), "{report}");
        assert!(report.contains(consequence), "{report}");
    }
    for (location, path) in [
        ("= /x", ("/x/", "Prefix")),
        ("= /x", ("/y", "Exact")),
        ("/x", ("/x", "Prefix")),
        ("/x", ("/x", "Exact")),
        ("~ ^/x", ("/x", "Prefix")),
        ("/x/y/", ("/x", "Prefix")),
    ] {
        let snippet = format!("location {location} {{ return 410; }}");
        assert_eq!(
            told(&snippet, &json!({}), path),
            Vec::<String>::new(),
            "{location} {path:?}"
        );
    }
    let patterns = json!({"use-regex": "true"});
    let reports = told("location = /x { return 410; }", &patterns, ("/x", "Prefix"));
    assert_eq!(reports, Vec::<String>::new());
}

/// Envoy has both patterns in one route, and Sluice does not know how to write them there.
#[test]
fn a_rewrite_beside_a_long_location_of_the_operator_closes_and_names_it() {
    // Served alone, and too long for RE2 beside another one.
    let long = "~ \"^/(?:aa){645}$\"".to_owned();
    let rewrite = json!({"server-snippet": "rewrite ^/old/(.*)$ /new/$1 permanent;"});
    let of_path = json!({"configuration-snippet": "rewrite ^/old/(.*)$ /new/$1 permanent;"});
    for (location, annotations, is_closed) in [
        (long.as_str(), &rewrite, true),
        ("~ ^/short$", &rewrite, false),
        // Its responses are those of its paths alone.
        (long.as_str(), &of_path, false),
    ] {
        let snippet = format!("location {location} {{ return 410; }}");
        let reports = told(&snippet, annotations, ("/", "Prefix"));
        let named = reports.iter().any(|report| {
            report.contains("annotation server-snippet: rewrite is not supported")
                && report.contains("of server-snippet of ConfigMap sys/cm")
        });
        assert_eq!(named, is_closed, "{location} {annotations}: {reports:?}");
    }
}

#[test]
fn a_location_of_the_operator_in_the_way_of_last_is_named() {
    let last = json!({"configuration-snippet": "rewrite ^/old/(.*)$ /new/$1 last;"});
    let expected = "(location \"\\\\.php$\" of server-snippet of ConfigMap sys/cm)";
    let reports = told("location ~ \\.php$ { return 410; }", &last, ("/", "Prefix"));
    assert!(
        reports.iter().any(|it| it.contains(expected)),
        "{reports:?}"
    );
    // It is not in the way, and the path is not that of the pattern anyway.
    let reports = told("location = /x { return 410; }", &last, ("/", "Prefix"));
    assert_eq!(reports, Vec::<String>::new());
    let other = json!({"configuration-snippet": "rewrite ^/old/(.*)$ /old/$1 last;"});
    let reports = told(
        "location ~ \\.php$ { return 410; }",
        &other,
        ("/", "Prefix"),
    );
    assert!(
        reports.iter().all(|it| !it.contains("location \"")),
        "{reports:?}"
    );
    assert!(!reports.is_empty());
}

/// The ConfigMap's has no path that goes without it, whoever has it; on Envoy none of its headers is a program.
#[test]
fn no_path_goes_without_it_and_no_header_of_it_is_a_program_on_envoy() {
    let snippet = "add_header X-A b; deny 10.0.0.0/8; if ($http_x_bad) { return 403; }";
    let condition =
        json!({"configuration-snippet": "if ($http_x_a) { more_set_headers \"X-C: d\"; }"});
    let ingresses = [
        ingress("a", "a.test", &condition, &["/"]),
        ingress("b", "a.test", &json!({}), &["/b"]),
    ];
    for key in ["server-snippet", "location-snippet"] {
        let translation = translated(&json!({key: snippet}), &ingresses);
        let reports = translation.reports();
        assert!(
            reports
                .iter()
                .all(|it| !it.reason.contains("other namespaces")),
            "{key}: {reports:?}"
        );
        for route in routes(translation.config(), "a.test") {
            assert_eq!(route.direct_responses.len(), 1, "{key}: {route:?}");
            let of_route = route.filters.iter().filter_map(Filter::response_headers);
            let variants = route.header_variants.iter().map(|it| &it.headers);
            for headers in of_route.chain(variants) {
                assert_eq!(headers.programs(), 0, "{key}: {route:?}");
                assert_eq!(headers.add.len(), 1, "{key}: {route:?}");
            }
        }
    }
}
