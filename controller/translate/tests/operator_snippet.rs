//! `server-snippet` of the ConfigMap: it is that of every server, whether an Ingress names it or not (R6 of the security rules).

mod configmap;

use serde_json::{Value, json};
use sluice_ir::{Action, Filter, HttpRoute, PathMatch};

use crate::configmap::{ingress, routes, translated};

const SNIPPET: &str = "more_set_headers \"X-Operator: yes\"; access_log off; deny 10.0.0.0/8;
if ($http_x_block = 1) { return 418; }
location /metrics { deny all; }
location ^~ /internal/ { return 404; }
location ~ \\.php$ { return 403; }
location = /exact { return 410; }";

/// All that is of snippets, in the order of the routes.
fn of_snippet(routes: &[&HttpRoute]) -> Vec<String> {
    let shown = |route: &&HttpRoute| {
        let HttpRoute {
            matches,
            direct_responses,
            filters,
            policy,
            ..
        } = route;
        let answers = matches!(route.action, Action::Respond(_));
        format!(
            "{matches:?} {answers} {direct_responses:?} {filters:?} {:?} {}",
            policy.ip_access, policy.access_log_off
        )
    };
    routes.iter().map(shown).collect()
}

#[test]
fn default_backend_has_all_of_it_as_a_path_of_an_ingress_has() {
    let keys = json!({"server-snippet": SNIPPET});
    let none = json!({});
    let one = [ingress("a", "a.test", &none, &["/"])];
    let translation = translated(&keys, &one);
    let config = translation.config();
    let expected = of_snippet(&routes(config, "a.test"));
    assert_eq!(expected.len(), 5, "{expected:?}");
    let unowned = routes(config, "");
    assert_eq!(of_snippet(&unowned), expected);
    for route in unowned {
        assert_eq!(translation.owners().get(&route.id), None);
    }
    // A host without paths, of one namespace and of two; with paths, patterns and none of the catch-all.
    let rows: [(&str, &[Value]); 5] = [
        ("a.test", &[ingress("a", "a.test", &none, &[])]),
        (
            "a.test",
            &[
                ingress("a", "a.test", &none, &[]),
                ingress("b", "a.test", &none, &[]),
            ],
        ),
        (
            "a.test",
            &[
                ingress("a", "a.test", &none, &[]),
                ingress("b", "a.test", &none, &["/b"]),
            ],
        ),
        ("", &[ingress("a", "", &none, &["/b"])]),
        (
            "",
            &[
                ingress("a", "", &json!({"use-regex": "true"}), &["/b(.*)"]),
                ingress("b", "", &none, &["/c"]),
            ],
        ),
    ];
    for (host, ingresses) in rows {
        let translation = translated(&keys, ingresses);
        let routes = routes(translation.config(), host);
        let all = of_snippet(&routes);
        for location in &expected[..4] {
            assert!(
                all.contains(location),
                "{ingresses:?}: {location}: {all:#?}"
            );
        }
        let rest = routes.last().unwrap();
        assert!(matches!(rest.action, Action::Forward(_)), "{rest:?}");
        assert_eq!(rest.direct_responses.len(), 1, "{rest:?}");
        assert!(rest.policy.access_log_off, "{rest:?}");
        assert_eq!(rest.policy.ip_access.deny.len(), 1, "{rest:?}");
    }
}

#[test]
fn something_that_guards_and_cannot_be_read_closes_every_route() {
    let www = json!({"from-to-www-redirect": "true", "app-root": "/app"});
    let located = json!({"server-snippet": "location /open { return 200 open; }"});
    let redirect = json!({"permanent-redirect": "https://elsewhere.test"});
    let ingresses = [
        ingress("a", "a.test", &www, &["/docs/"]),
        ingress("b", "b.test", &located, &["/"]),
        ingress("b", "c.test", &redirect, &["/", "/c/"]),
        ingress("a", "d.test", &json!({"use-regex": "true"}), &["/d(.*)"]),
        ingress("a", "e.test", &json!({}), &[]),
    ];
    let open = translated(&json!({}), &ingresses);
    assert!(open.config().routes().any(|it| it.action != Action::Denied));
    for keys in [
        json!({"server-snippet": "satisfy any; deny all;"}),
        json!({"server-snippet": "nonsense_of_nobody on;"}),
        json!({"location-snippet": "satisfy any; deny all;"}),
        json!({"location-snippet": "nonsense_of_nobody on;"}),
        json!({"location-snippet": "rewrite ^/a /b break;"}),
        json!({"location-snippet": "if ($host ~ ^(.*)$) { return 302 https://a.test/$1; }"}),
        json!({"location-snippet": "return 403; }"}),
        json!({"http-snippet": "deny all;"}),
        json!({"block-cidrs": "nonsense"}),
        json!({"server-snippet": "location /x { return 200 x; }", "block-cidrs": "nonsense"}),
    ] {
        let translation = translated(&keys, &ingresses);
        let config = translation.config();
        assert_eq!(config.servers.len(), open.config().servers.len());
        for (name, server) in &config.servers {
            assert_eq!(server.app_root, None, "{keys}: {name}");
            // The port is alive.
            let is_health = |path: &PathMatch| *path == PathMatch::Exact("/healthz".to_owned());
            let routes = server.routes.iter();
            for route in routes.filter(|route| !is_health(&route.matches.path)) {
                assert_eq!(route.action, Action::Denied, "{keys}: {name}: {route:?}");
                assert!(route.direct_responses.is_empty(), "{keys}: {name}");
            }
        }
    }
}

/// The owner of the `location` that answers, by its text, and the reports about it.
fn answers(operators: &str, tenants: &str) -> (Vec<String>, Vec<String>) {
    let keys =
        json!({"server-snippet": format!("location {operators} {{ return 410 operator; }}")});
    let snippet = format!("location {tenants} {{ return 200 tenant; }}");
    let annotations = json!({"server-snippet": snippet});
    let ingresses = [
        ingress("a", "a.test", &annotations, &["/"]),
        ingress("a", "b.test", &json!({}), &["/"]),
    ];
    let translation = translated(&keys, &ingresses);
    let routes = routes(translation.config(), "a.test");
    let located = routes.iter().filter_map(|route| {
        let response = format!("{:?}", route.direct_responses.first()?.content);
        Some(
            if response.contains("operator") {
                "operator"
            } else {
                "tenant"
            }
            .to_owned(),
        )
    });
    let reports = translation.reports();
    let reports = reports.iter().map(ToString::to_string);
    (
        located.collect(),
        reports.filter(|it| it.contains("location")).collect(),
    )
}

#[test]
fn location_of_the_operator_keeps_its_place_and_who_wrote_the_same_is_told() {
    for (operators, tenants) in [
        ("/metrics", "/metrics"),
        ("/metrics", "^~ /metrics"),
        ("^~ /metrics", "/metrics"),
        ("^~ /metrics", "^~ /metrics"),
        ("= /metrics", "= /metrics"),
        ("~ \\.php$", "~ \\.php$"),
        ("~* \\.php$", "~*\\.php$"),
    ] {
        let (located, reports) = answers(operators, tenants);
        assert_eq!(located, ["operator"], "{operators}, {tenants}");
        let [report] = reports.as_slice() else {
            panic!("{operators}, {tenants}: {reports:?}");
        };
        assert!(
            report.starts_with("Ingress a/a.test: annotation server-snippet: location"),
            "{report}"
        );
        assert!(
            report.contains("server-snippet of ConfigMap sys/cm"),
            "{report}"
        );
    }
    // nginx loads both, and finds the first.
    for (operators, tenants, first) in [
        ("/metrics", "/metrics/", "tenant"),
        ("/metrics", "= /metrics", "tenant"),
        ("/metrics", "~ /metrics", "tenant"),
        ("/metrics/", "/metrics", "operator"),
        ("= /metrics", "/metrics", "operator"),
        ("^~ /metrics", "~ /metrics", "operator"),
        ("~ /metrics", "~* /metrics", "tenant"),
    ] {
        let (located, reports) = answers(operators, tenants);
        assert_eq!(located.len(), 2, "{operators}, {tenants}");
        assert_eq!(located[0], first, "{operators}, {tenants}");
        assert!(reports.is_empty(), "{reports:?}");
    }
}

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
    let long = format!("~ ^/{}$", ".".repeat(175));
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
            let of_route = route.filters.iter().filter_map(|filter| match filter {
                Filter::ResponseHeaders(all) => Some(all),
                Filter::RequestHeaders(_) => None,
            });
            let variants = route.header_variants.iter().map(|it| &it.headers);
            for headers in of_route.chain(variants) {
                assert_eq!(headers.programs(), 0, "{key}: {route:?}");
                assert_eq!(headers.add.len(), 1, "{key}: {route:?}");
            }
        }
    }
}
