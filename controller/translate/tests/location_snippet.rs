//! `location-snippet` of the ConfigMap: it is in every location of an Ingress behind its own snippet, and in that of the default backend (R6
//! of the security rules).

mod configmap;

use serde_json::{Value, json};
use sluice_ir::{Action, Filter, HttpRoute, PathMatch, ResponseContent, response_header_changes};
use sluice_translate::Translation;

use crate::configmap::{ingress, routes, translated};

const SNIPPET: &str = "more_set_headers \"X-Operator: yes\"; proxy_set_header X-Zone operator; deny 10.0.0.0/8; access_log off;
if ($http_x_bad) { return 403; }";

fn with(snippet: &str, ingresses: &[Value]) -> Translation {
    translated(&json!({"location-snippet": snippet}), ingresses)
}

fn reports(translation: &Translation) -> Vec<String> {
    let reports = translation.reports();
    let is_about_backends = |report: &String| report.contains("endpoints");
    let reports = reports.iter().map(ToString::to_string);
    reports.filter(|it| !is_about_backends(it)).collect()
}

/// Statuses of the responses of a route, in their order.
fn statuses(route: &HttpRoute) -> Vec<u16> {
    let responses = route.direct_responses.iter();
    responses.map(|response| response.status).collect()
}

fn request_headers(route: &HttpRoute) -> Vec<String> {
    let of_requests = route.filters.iter().filter_map(Filter::request_headers);
    let set = of_requests.flat_map(|headers| &headers.set);
    set.map(|header| header.name.as_str().to_owned()).collect()
}

/// `NAME=VALUE`, or `NAME` of one that is taken away.
fn response_headers(route: &HttpRoute) -> Vec<String> {
    let changes = response_header_changes(&route.filters);
    let mut all: Vec<String> = changes
        .iter()
        .flat_map(|change| {
            let name = change.name.as_str().to_ascii_lowercase();
            let values = change.values.iter();
            let values: Vec<String> = values.map(|it| format!("{name}={}", it.value)).collect();
            if values.is_empty() {
                vec![name]
            } else {
                values
            }
        })
        .collect();
    all.sort();
    all
}

/// Annotations that change how a path is served.
fn annotations() -> Vec<Value> {
    vec![
        json!({}),
        json!({"use-regex": "true"}),
        json!({"app-root": "/app"}),
        json!({"server-alias": "alias.test"}),
        json!({"custom-http-errors": "404"}),
        json!({"default-backend": "web"}),
        json!({"enable-cors": "true"}),
        json!({"custom-headers": "a/none"}),
        json!({"ssl-redirect": "false", "rewrite-target": "/"}),
        json!({"backend-protocol": "GRPC"}),
        json!({"auth-url": "http://auth.test/", "auth-snippet": "proxy_set_header X-A b;"}),
        json!({"server-snippet": "if ($http_x_own) { return 410; }"}),
        json!({"configuration-snippet": "add_header X-Own 1;"}),
        json!({"configuration-snippet": "more_set_headers \"X-Operator: no\";"}),
        json!({"configuration-snippet": "deny 10.1.0.0/16;"}),
        json!({"configuration-snippet": "nonsense_of_nobody on;"}),
        json!({"denylist-source-range": "10.1.0.0/16"}),
    ]
}

#[test]
fn every_open_path_has_all_of_it() {
    for annotations in annotations() {
        let ingresses = [ingress("a", "a.test", &annotations, &["/", "/docs/"])];
        let translation = with(SNIPPET, &ingresses);
        let mut served = 0;
        for route in routes(translation.config(), "a.test") {
            let said = format!("{annotations}: {route:?}");
            // nginx redirects to `/docs/` before it is in a location.
            let is_redirect = matches!(route.action, Action::Redirect(_));
            if route.action == Action::Denied || is_redirect {
                continue;
            }
            served += 1;
            assert_eq!(statuses(route).last(), Some(&403), "{said}");
            let headers = response_headers(route);
            assert!(headers.contains(&"x-operator=yes".to_owned()), "{said}");
            let is_grpc = annotations["backend-protocol"] == "GRPC";
            assert_eq!(request_headers(route).is_empty(), is_grpc, "{said}");
            let denied = route.policy.ip_access.deny.last().map(ToString::to_string);
            assert_eq!(denied.as_deref(), Some("10.0.0.0/8"), "{said}");
            assert!(route.policy.access_log_off, "{said}");
        }
        let is_closed = reports(&translation)
            .iter()
            .any(|it| it.contains("answer 503"));
        assert_eq!(served == 0, is_closed, "{annotations}");
    }
}

#[test]
fn default_backend_has_it_and_other_answers_have_not() {
    let located = json!({"server-snippet": "location /open { return 200 open; }"});
    let ingresses = [ingress("a", "a.test", &located, &["/docs/"])];
    let translation = with(SNIPPET, &ingresses);
    let config = translation.config();
    let all = [routes(config, "a.test"), routes(config, "")].concat();
    let mut forwarded = 0;
    for route in all {
        let has_it = statuses(route).contains(&403);
        assert_eq!(
            has_it,
            matches!(route.action, Action::Forward(_)),
            "{route:?}"
        );
        forwarded += usize::from(has_it);
    }
    assert_eq!(forwarded, 3);
    let health = PathMatch::Exact("/healthz".to_owned());
    let mut health = config.routes().filter(|it| it.matches.path == health);
    let health = health.next().unwrap();
    assert!(health.direct_responses.is_empty(), "{health:?}");
}

/// Statuses and headers of a path with both snippets.
fn served(own: &str, operators: &str) -> (Vec<u16>, Vec<String>) {
    let annotations = json!({"configuration-snippet": own});
    let ingresses = [ingress("a", "a.test", &annotations, &["/"])];
    let translation = with(operators, &ingresses);
    assert_eq!(
        reports(&translation),
        Vec::<String>::new(),
        "{own} {operators}"
    );
    let route = routes(translation.config(), "a.test")[0].clone();
    (statuses(&route), response_headers(&route))
}

/// Snippets of an Ingress and of the ConfigMap; statuses and headers of the path.
type Row = (
    &'static str,
    &'static str,
    &'static [u16],
    &'static [&'static str],
);

const BEHIND: &[Row] = &[
    (
        "if ($http_x_a) { return 410; }",
        "if ($http_x_b) { return 403; }",
        &[410, 403],
        &[],
    ),
    (
        "set $a 1; if ($a) { return 410; }",
        "set $a 0; if ($http_x_b) { set $a 1; } if ($a) { return 403; }",
        &[410],
        &[],
    ),
    (
        "more_set_headers 'X-A: own';",
        "more_set_headers 'x-a: all';",
        &[],
        &["x-a=all"],
    ),
    (
        "more_set_headers 'X-A: own';",
        "add_header X-A all always;",
        &[],
        &["x-a=all", "x-a=own"],
    ),
    (
        "add_header X-A own always;",
        "add_header X-A all always;",
        &[],
        &["x-a=all", "x-a=own"],
    ),
    (
        "more_set_headers 'X-Powered-By: own';",
        "more_clear_headers X-Powered-By;",
        &[],
        &["x-powered-by"],
    ),
    (
        "add_header X-A own always;",
        "more_set_headers 'X-A: all';",
        &[],
        &["x-a=all", "x-a=own"],
    ),
    (
        "more_clear_headers X-Powered-By;",
        "add_header X-Powered-By all always;",
        &[],
        &["x-powered-by=all"],
    ),
    (
        "more_clear_headers X-Powered-By;",
        "more_set_headers 'X-Powered-By: all';",
        &[],
        &["x-powered-by=all"],
    ),
];

/// In nginx all are directives of one location, in this order.
#[test]
fn it_comes_behind_the_snippet_of_the_ingress() {
    for (own, operators, responses, headers) in BEHIND {
        let headers: Vec<String> = headers.iter().map(|it| (*it).to_owned()).collect();
        assert_eq!(
            served(own, operators),
            (responses.to_vec(), headers),
            "{own} {operators}"
        );
    }
}

/// The snippet of the Ingress is not served, and closes its paths if it may guard; that of the ConfigMap never is the one to go.
#[test]
fn snippets_that_cannot_be_combined_are_reported_to_the_ingress() {
    for (own, operators, is_closed) in [
        ("expires 1h;", "expires 2h; return 403;", false),
        ("limit_rate 100k;", "limit_rate 200k; return 403;", true),
        (
            "proxy_set_header X-A b;",
            "proxy_set_header X-A c; return 403;",
            true,
        ),
        ("rewrite ^/a/(.*)$ /b/$1 break;", "return 403;", true),
        (
            "rewrite ^/a/(.*)$ /b/$1 last;",
            "if ($http_x_b) { return 403; }",
            true,
        ),
        (
            "if ($http_x_a) { add_header X-A b; }",
            "set $c 0; if ($http_x_b) { set $c 1; } if ($c) { return 403; }",
            false,
        ),
    ] {
        let annotations = json!({"configuration-snippet": own});
        let ingresses = [ingress("a", "a.test", &annotations, &["/"])];
        let translation = with(operators, &ingresses);
        let mut reports = reports(&translation);
        reports.retain(|report| report.starts_with("Ingress"));
        let [report] = reports.as_slice() else {
            panic!("{own}: {reports:?}")
        };
        let expected = "Ingress a/a.test: annotation configuration-snippet: not supported together with location-snippet of ConfigMap sys/cm: ";
        assert!(report.starts_with(expected), "{report}");
        let route = routes(translation.config(), "a.test")[0].clone();
        assert_eq!(route.action == Action::Denied, is_closed, "{own}: {report}");
        assert_eq!(statuses(&route) == [403], !is_closed, "{own}: {route:?}");
    }
}

/// Settings that do not let it do something close the paths if it may guard.
#[test]
fn annotations_in_its_way_are_reported_and_close_what_it_may_guard() {
    for (operators, annotations, is_closed) in [
        (
            "proxy_set_header X-Forwarded-Prefix /a;",
            json!({"x-forwarded-prefix": "/b"}),
            true,
        ),
        (
            "proxy_set_header X-User '';",
            json!({"auth-url": "http://a.test/", "auth-response-headers": "X-User"}),
            true,
        ),
        (
            "limit_rate 100k; deny 10.0.0.0/8;",
            json!({"limit-rate": "200"}),
            true,
        ),
    ] {
        let ingresses = [
            ingress("a", "a.test", &annotations, &["/"]),
            ingress("b", "b.test", &json!({}), &["/"]),
        ];
        let translation = with(operators, &ingresses);
        let reports = reports(&translation);
        let expected = "Ingress a/a.test: metadata.annotations: location-snippet of ConfigMap sys/cm is not supported beside these annotations: ";
        assert!(
            reports.iter().any(|it| it.starts_with(expected)),
            "{reports:?}"
        );
        let is_denied = |host| routes(translation.config(), host)[0].action == Action::Denied;
        assert_eq!(
            (is_denied("a.test"), is_denied("b.test")),
            (is_closed, false),
            "{operators}"
        );
    }
}

/// As in nginx: a `return` of a redirect is behind the snippet, addresses are asked behind both.
#[test]
fn redirects_of_all_requests_come_behind_it() {
    for name in ["permanent-redirect", "temporal-redirect"] {
        let annotations = json!({name: "https://elsewhere.test"});
        let ingresses = [ingress("a", "a.test", &annotations, &["/"])];
        let translation = with(SNIPPET, &ingresses);
        let route = routes(translation.config(), "a.test")[0].clone();
        assert!(matches!(route.action, Action::Redirect(_)), "{route:?}");
        assert_eq!(statuses(&route), [403]);
        assert_eq!(response_headers(&route), ["x-operator=yes"]);
        assert_eq!(request_headers(&route), Vec::<String>::new());
    }
}

#[test]
fn lists_of_annotations_are_asked_first_as_in_nginx() {
    for (annotations, allow, deny) in [
        (json!({}), "10.2.0.0/16", "10.0.0.0/8"),
        (
            json!({"denylist-source-range": "10.1.0.0/16"}),
            "10.2.0.0/16",
            "10.1.0.0/16 10.0.0.0/8",
        ),
        (
            json!({"allowlist-source-range": "10.1.0.0/16"}),
            "10.1.0.0/16",
            "",
        ),
    ] {
        let ingresses = [ingress("a", "a.test", &annotations, &["/"])];
        let translation = with("deny 10.0.0.0/8; allow 10.2.0.0/16; deny all;", &ingresses);
        let lists = &routes(translation.config(), "a.test")[0].policy.ip_access;
        let shown = |list: &[sluice_ir::Cidr]| {
            let all: Vec<String> = list.iter().map(ToString::to_string).collect();
            all.join(" ")
        };
        assert_eq!(
            (shown(&lists.allow), shown(&lists.deny)),
            (allow.to_owned(), deny.to_owned())
        );
    }
}

#[test]
fn directives_that_cannot_be_served_are_named_with_their_line() {
    for (snippet, line) in [
        ("more_set_headers 'X-A: b';\nnonsense on;", 2),
        ("rewrite ^/a /b permanent;", 1),
        ("if ($http_a) {\n rewrite ^/a /b permanent;\n}", 2),
        ("proxy_set_header X-Sluice-A b;", 1),
        ("access_log off;\ngrpc_set_header X-Sluice-A b;", 2),
        ("location /a { return 403; }", 1),
        ("return 200 $1;", 1),
    ] {
        let translation = with(snippet, &[ingress("a", "a.test", &json!({}), &["/"])]);
        let reports = reports(&translation);
        let expected = format!("ConfigMap sys/cm: data.location-snippet: line {line}: ");
        assert!(
            reports.iter().any(|it| it.starts_with(&expected)),
            "{snippet}: {reports:?}"
        );
        let route = routes(translation.config(), "a.test")[0].clone();
        assert_eq!(route.action, Action::Denied, "{snippet}");
    }
    let text = |route: &HttpRoute| route.direct_responses.first().map(|it| it.content.clone());
    let translation = with(
        "return 200 a;",
        &[ingress("a", "a.test", &json!({}), &["/"])],
    );
    let route = routes(translation.config(), "a.test")[0].clone();
    assert!(
        matches!(text(&route), Some(ResponseContent::Text { .. })),
        "{route:?}"
    );
}
