//! `server-snippet` of the ConfigMap: it is that of every server, whether an Ingress names it or not (R6 of the security rules).

mod configmap;

use serde_json::{Value, json};
use sluice_ir::{Action, HttpRoute, PathMatch};
use sluice_translate::DataPlane;

use crate::configmap::{ingress, routes, translated, translated_for};

const SNIPPET: &str = "more_set_headers \"X-Operator: yes\"; access_log off; deny 10.0.0.0/8;
if ($http_x_block = 1) { return 418; }
location /metrics { deny all; }
location ^~ /internal/ { return 404; }
location ~ \\.php$ { return 403; }
location = /exact { return 410; }";

const PLANES: [Option<DataPlane>; 3] = [None, Some(DataPlane::Envoy), Some(DataPlane::Nginx)];

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

#[test]
fn headers_of_the_configmap_are_not_counted_as_those_of_an_ingress() {
    let headers = |name: &str, count: usize| -> String {
        let lines = (0..count).map(|n| format!("add_header X-{name}-{n} v;"));
        lines.collect()
    };
    let conditional = format!("if ($http_x_a) {{ {} }}", headers("All", 4));
    let keys = [
        json!({}),
        json!({"location-snippet": headers("All", 4)}),
        json!({"location-snippet": conditional}),
        json!({"server-snippet": headers("All", 4)}),
    ];
    let tenants = [
        (String::new(), false),
        ("more_set_headers \"X-Own: v\";".to_owned(), false),
        (headers("Own", 1), false),
        (headers("Own", 4), true),
    ];
    for annotation in ["configuration-snippet", "server-snippet"] {
        for (own, is_beyond) in &tenants {
            let ingresses = [large(&json!({annotation: own}), 500, 1)];
            for (plane, keys) in PLANES
                .iter()
                .flat_map(|it| keys.iter().map(move |keys| (*it, keys)))
            {
                let translation = translated_for(plane, keys, &ingresses);
                let reports = translation.reports();
                let told = reports
                    .iter()
                    .filter(|it| it.reason.contains("parts of add_header"));
                let said = format!("{plane:?}, {keys}, {annotation} {own}: {reports:?}");
                assert_eq!(told.count(), usize::from(*is_beyond), "{said}");
            }
        }
    }
}
