use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use serde_json::json;
use sluice_translate::{Object, ObjectKey, Options, Resources, translate};
use tower::ServiceExt;

use super::*;

mod states;

const TOKEN: &str = "secret";

fn object(value: serde_json::Value) -> Object {
    Object::from_value(value).unwrap()
}

/// An Ingress of this name, whose annotation is not supported.
fn ingress(name: &str, host: &str) -> Object {
    annotated(name, host, &[("proxy-body-size", "<b>much</b>")])
}

fn annotated(name: &str, host: &str, annotations: &[(&str, &str)]) -> Object {
    serving(name, host, "web", annotations)
}

fn serving(name: &str, host: &str, service: &str, annotations: &[(&str, &str)]) -> Object {
    let annotations: serde_json::Map<_, _> = annotations
        .iter()
        .map(|(name, value)| (format!("nginx.ingress.kubernetes.io/{name}"), json!(value)))
        .collect();
    object(json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": { "name": name, "namespace": "shop", "annotations": annotations },
        "spec": { "ingressClassName": "nginx", "rules": [{ "host": host, "http": { "paths": [
            { "path": "/a", "pathType": "Prefix", "backend": { "service": { "name": service, "port": { "number": 80 } } } },
        ] } }] },
    }))
}

fn dashboard(ingresses: &[(&str, &str)]) -> Dashboard {
    let ingresses = ingresses.iter().map(|(name, host)| ingress(name, host));
    dashboard_of(ingresses.collect())
}

/// Of these objects, with snippets.
fn dashboard_of(objects: Vec<Object>) -> Dashboard {
    let mut resources = Resources::default();
    resources.apply(object(json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": { "name": "nginx" },
        "spec": { "controller": "k8s.io/ingress-nginx" },
    })));
    resources.apply(object(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "settings", "namespace": "sluice" },
        "data": { "allow-snippet-annotations": "true", "annotations-risk-level": "Critical" },
    })));
    for object in objects {
        resources.apply(object);
    }
    let options = Options {
        configmap: ObjectKey::parse("sluice/settings"),
        ..Options::default()
    };
    let snapshot = translate(&resources, &options).snapshot();
    let view = View::default();
    *view.resources_mut() = resources;
    view.show(Arc::new(snapshot));
    Dashboard {
        view,
        options: Arc::new(options),
        store: Store::new(),
        nginx: None,
        traffic: None,
    }
}

async fn ask(
    dashboard: &Dashboard,
    method: Method,
    target: &str,
    headers: &[(&str, &str)],
) -> (StatusCode, HeaderMap, String) {
    let request = Request::builder().method(method).uri(target);
    let request = headers.iter().fold(request, |request, (name, value)| {
        request.header(*name, *value)
    });
    let indexed = Arc::new(Indexed::new(dashboard.clone()));
    let router = router(indexed, Token::of(TOKEN));
    let response = router
        .oneshot(request.body(Body::empty()).unwrap())
        .await
        .unwrap();
    let (head, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    (
        head.status,
        head.headers,
        String::from_utf8(body.to_vec()).unwrap(),
    )
}

/// With the token.
async fn page(dashboard: &Dashboard, target: &str) -> String {
    let cookie = format!("other=1; sluice_dashboard_8080={TOKEN}");
    let headers = [("host", "127.0.0.1:8080"), ("cookie", &cookie)];
    let (status, _, text) = ask(dashboard, Method::GET, target, &headers).await;
    assert!(
        status == StatusCode::OK || status == StatusCode::NOT_FOUND,
        "{status}: {text}"
    );
    text
}

const PAGES: [&str; 8] = [
    "/",
    "/ingresses",
    "/ingresses/shop/web",
    "/certificates",
    "/refused",
    "/explain",
    "/style.css",
    "/changes",
];

#[tokio::test]
async fn nobody_sees_anything_without_the_token() {
    let dashboard = dashboard(&[("web", "a.example")]);
    for target in PAGES.iter().chain(&["/nothing"]) {
        for (headers, expected) in [
            (vec![("host", "127.0.0.1:1")], StatusCode::FORBIDDEN),
            (vec![], StatusCode::MISDIRECTED_REQUEST),
            (
                vec![("host", "localhost"), ("cookie", "sluice_dashboard_80=")],
                StatusCode::FORBIDDEN,
            ),
            (
                vec![
                    ("host", "localhost"),
                    ("cookie", "sluice_dashboard_80=secret2"),
                ],
                StatusCode::FORBIDDEN,
            ),
            (
                vec![
                    ("host", "rebound.example"),
                    ("cookie", "sluice_dashboard_80=secret"),
                ],
                StatusCode::MISDIRECTED_REQUEST,
            ),
        ] {
            let (status, _, text) = ask(&dashboard, Method::GET, target, &headers).await;
            assert_eq!(status, expected, "{target} {headers:?}");
            assert!(!text.contains("a.example"));
        }
    }
    let given = [("host", "localhost:1")];
    let (status, ..) = ask(&dashboard, Method::GET, "/?token=other", &given).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn the_token_goes_from_the_url_into_a_cookie() {
    let dashboard = dashboard(&[]);
    let given = [("host", "localhost:1")];
    let (status, headers, _) = ask(&dashboard, Method::GET, "/?token=secret", &given).await;
    assert_eq!(status, StatusCode::SEE_OTHER);
    assert_eq!(headers[header::LOCATION], "/");
    let cookie = headers[header::SET_COOKIE].to_str().unwrap();
    assert_eq!(
        cookie,
        "sluice_dashboard_1=secret; Path=/; HttpOnly; SameSite=Strict"
    );
}

#[tokio::test]
async fn nothing_can_be_changed_nor_framed() {
    let dashboard = dashboard(&[]);
    let headers = [("host", "[::1]:1"), ("cookie", "sluice_dashboard_1=secret")];
    for method in [Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS] {
        let (status, ..) = ask(&dashboard, method, "/", &headers).await;
        assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED);
    }
    for target in PAGES.iter().filter(|target| **target != "/changes") {
        let (_, headers, _) = ask(&dashboard, Method::GET, target, &headers).await;
        let policy = headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"));
        assert_eq!(headers[header::CACHE_CONTROL], "no-store");
    }
}

#[tokio::test]
async fn texts_of_tenants_are_texts() {
    let dashboard = dashboard(&[("web", "a.example")]);
    let text = page(&dashboard, "/ingresses/shop/web").await;
    assert!(text.contains("proxy-body-size"), "{text}");
    assert!(text.contains("much") && !text.contains("<b>"), "{text}");
    for target in [
        "/ingresses?q=%3Cscript%3E",
        "/ingresses/%3Cscript%3E/x",
        "/explain?url=http://%3Cscript%3E/&method=%3Cscript%3E&headers=%3Cscript%3E",
    ] {
        let text = page(&dashboard, target).await;
        assert!(!text.to_ascii_lowercase().contains("<script>"), "{text}");
    }
}

#[tokio::test]
async fn an_ingress_is_found_by_its_name_and_by_its_hosts() {
    let dashboard = dashboard(&[("one", "a.example"), ("two", "b.example")]);
    for (asked, found, other) in [
        ("ONE", "shop/one", "shop/two"),
        ("b.exam", "shop/two", "shop/one"),
    ] {
        let text = page(&dashboard, &format!("/ingresses?q={asked}")).await;
        assert!(text.contains(found) && !text.contains(other), "{text}");
    }
    let text = page(&dashboard, "/ingresses?q=shop").await;
    assert!(text.contains("Ingresses: 2"), "{text}");
}

#[tokio::test]
async fn long_lists_have_pages() {
    let names: Vec<String> = (0..120).map(|n| format!("i{n:03}")).collect();
    let hosts: Vec<String> = names.iter().map(|name| format!("{name}.example")).collect();
    let all: Vec<_> = names.iter().zip(&hosts).collect();
    let all: Vec<_> = all
        .iter()
        .map(|(name, host)| (name.as_str(), host.as_str()))
        .collect();
    let dashboard = dashboard(&all);
    let last = page(&dashboard, "/ingresses?q=shop%2Fi&page=3").await;
    assert!(last.contains("i119") && !last.contains("i099"), "{last}");
    assert!(last.contains("?q=shop%2Fi&amp;page=2"), "{last}");
}

#[tokio::test]
async fn whatever_applies_to_a_route_is_listed() {
    for (annotation, value, expected) in [
        ("app-root", "/start", "/ redirects to /start"),
        ("configuration-snippet", "expires 1h;", "3600"),
        ("configuration-snippet", "add_header X-Edge blue;", "blue"),
        ("rewrite-target", "/inside", "/inside"),
        ("force-ssl-redirect", "true", "redirect to https 308"),
        (
            "permanent-redirect",
            "https://a.b/x",
            "301 to https://a.b/x",
        ),
        (
            "configuration-snippet",
            "return 302 https://a.b/x;",
            "302 to https://a.b/x",
        ),
        ("configuration-snippet", "return 418;", ">418<"),
    ] {
        let dashboard = dashboard_of(vec![annotated("web", "a.example", &[(annotation, value)])]);
        let text = page(&dashboard, "/ingresses/shop/web").await;
        assert!(text.contains(expected), "{annotation}: {text}");
    }
}

#[tokio::test]
async fn a_request_is_explained() {
    let dashboard = dashboard(&[("web", "a.example")]);
    let text = page(&dashboard, "/explain?url=http://a.example/a/b").await;
    assert!(text.contains("Service shop/web port 80"), "{text}");
    assert!(text.contains(r#"href="/ingresses/shop/web""#), "{text}");
    let wrong = page(&dashboard, "/explain?url=ftp://a.example/").await;
    assert!(wrong.contains("http:// or https://"), "{wrong}");
}

/// Those that have a part in it, as they are written, and no others.
#[tokio::test]
async fn an_explanation_names_annotations() {
    let annotations = [("limit-rps", "5"), ("proxy-body-size", "much")];
    let dashboard = dashboard_of(vec![annotated("web", "a.example", &annotations)]);
    let text = page(&dashboard, "/explain?url=http://a.example/a/b").await;
    let limit = "nginx.ingress.kubernetes.io/limit-rps: &#34;5&#34;  (Ingress shop/web)";
    assert!(text.contains(limit), "{text}");
    assert!(
        !text.contains("nginx.ingress.kubernetes.io/proxy-body-size"),
        "{text}"
    );
}

/// Screen readers say the name of each row.
#[tokio::test]
async fn no_row_is_without_a_name() {
    let dashboard = dashboard(&[("web", "a.example")]);
    let text = page(&dashboard, "/explain?url=http://a.example/a/b").await;
    assert!(text.contains(r#"<th scope="row" rowspan="#), "{text}");
    assert!(!text.contains("></th>"), "{text}");
}

/// On the page of the main Ingress and where a request is explained.
#[tokio::test]
async fn rules_of_canaries_are_the_same_words_everywhere() {
    let canary = object(json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": { "name": "new", "namespace": "shop", "annotations": {
            "nginx.ingress.kubernetes.io/canary": "true",
            "nginx.ingress.kubernetes.io/canary-by-header": "X-Beta",
            "nginx.ingress.kubernetes.io/canary-by-header-pattern": "^(?!a)<b>",
            "nginx.ingress.kubernetes.io/canary-weight": "20",
        } },
        "spec": { "ingressClassName": "nginx", "rules": [{ "host": "a.example", "http": { "paths": [
            { "path": "/a", "pathType": "Prefix", "backend": { "service": { "name": "new", "port": { "number": 80 } } } },
        ] } }] },
    }));
    let dashboard = dashboard_of(vec![ingress("web", "a.example"), canary]);
    for target in ["/ingresses/shop/web", "/explain?url=http://a.example/a"] {
        let text = page(&dashboard, target).await;
        for expected in [
            "Service shop/new port 80",
            "header x-beta: a value that matches ^&#60;b&#62; and does not match",
            "weight: 20 of 100 requests that no other rule decides",
        ] {
            assert!(text.contains(expected), "{target}: {expected}: {text}");
        }
        assert!(!text.contains("matches_all"), "{text}");
    }
    let text = page(&dashboard, "/explain?url=http://a.example/a").await;
    let parts =
        "by weight: 20% canary Service shop/new port 80, 80% main backend Service shop/web port 80";
    assert!(text.contains(parts), "{text}");
}

#[tokio::test]
async fn what_is_not_there_is_404() {
    let dashboard = dashboard(&[]);
    let headers = [
        ("host", "localhost"),
        ("cookie", "sluice_dashboard_80=secret"),
    ];
    for target in ["/ingresses/shop/none", "/nothing"] {
        let (status, ..) = ask(&dashboard, Method::GET, target, &headers).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{target}");
    }
}

#[tokio::test]
async fn a_browser_learns_of_a_change() {
    let dashboard = dashboard(&[]);
    let router = router(Arc::new(Indexed::new(dashboard.clone())), Token::of(TOKEN));
    let request = Request::get("/changes")
        .header("host", "localhost")
        .header("cookie", "sluice_dashboard_80=secret");
    let response = router
        .oneshot(request.body(Body::empty()).unwrap())
        .await
        .unwrap();
    let mut events = response.into_body();
    dashboard
        .view
        .show(Arc::new(sluice_translate::Snapshot::clone(
            &dashboard.view.snapshot(),
        )));
    let frame = events.frame().await.unwrap().unwrap();
    let text = String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap();
    assert!(text.starts_with("event: change"), "{text}");
}
