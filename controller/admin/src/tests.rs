use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt;
use sluice_tasks::Tasks;
use tower::ServiceExt;

use super::*;

use sluice_metrics::DataPlane;
use sluice_state::View;

fn local(view: &View) -> Router {
    let progress = view.progress().clone();
    let health = Health::new(
        Tasks::default(),
        progress,
        Probe::None,
        Duration::from_secs(1),
    );
    let data_plane = DataPlane::new(None).unwrap();
    let local = Local {
        dashboard: None,
        posts: None,
        view: view.clone(),
        health,
        data_plane,
        default_chain: "PEM".to_owned(),
        default_service: None,
        store: sluice_xds_server::Store::new(),
    };
    local::router(local, "/healthz")
}

async fn ask(router: Router, method: &str, path: &str) -> (u16, String) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .body(Body::empty())
        .unwrap();
    let response = router.oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8_lossy(&body).into_owned())
}

/// Cases `conf-method`, `conf-post-unreadable`, `conf-unknown` and `conf-servers-method`, and configuration.lua.
const ANSWERS: [(&str, &str, u16, &str); 14] = [
    (
        "PUT",
        "/configuration/backends",
        400,
        "Only POST and GET requests are allowed!",
    ),
    (
        "PUT",
        "/configuration/nope",
        400,
        "Only POST and GET requests are allowed!",
    ),
    (
        "GET",
        "/configuration/servers",
        400,
        "Only POST requests are allowed!",
    ),
    (
        "POST",
        "/configuration/certs",
        400,
        "Only GET requests are allowed!",
    ),
    (
        "GET",
        "/configuration/certs",
        400,
        "Hostname must be specified.",
    ),
    (
        "GET",
        "/configuration/certs?hostname=a.b",
        404,
        "No key associated with this hostname.",
    ),
    ("GET", "/configuration/certs?hostname=_", 200, "PEM"),
    (
        "POST",
        "/configuration/backends",
        403,
        "Backends are read only: start the controller with --admin-writes.",
    ),
    (
        "POST",
        "/configuration/servers",
        400,
        "Read only: configuration comes from the API server.",
    ),
    ("GET", "/configuration/nope", 404, "Not found!"),
    ("GET", "/configuration/general", 200, "{}"),
    ("GET", "/nope", 404, ""),
    ("GET", "/stop", 404, ""),
    ("POST", "/stop", 404, ""),
];

#[tokio::test]
async fn methods_and_paths_are_answered_as_ingress_nginx_answers_them() {
    let view = View::default();
    for (method, path, status, text) in ANSWERS {
        assert_eq!(
            ask(local(&view), method, path).await,
            (status, text.to_owned()),
            "{method} {path}"
        );
    }
    let (status, backends) = ask(local(&view), "GET", "/configuration/backends").await;
    assert!(
        status == 200 && backends.starts_with(r#"[{"name":"upstream-default-backend""#),
        "{backends}"
    );
}

#[tokio::test]
async fn a_load_balancer_is_initialized_by_the_first_publication() {
    let view = View::default();
    assert_eq!(
        ask(local(&view), "GET", "/is-dynamic-lb-initialized")
            .await
            .0,
        500
    );
    assert_eq!(ask(local(&view), "GET", "/healthz").await.0, 500);
    view.progress().note_published();
    assert_eq!(
        ask(local(&view), "GET", "/is-dynamic-lb-initialized").await,
        (200, "OK".to_owned())
    );
    let ok = "ok\nlast publication 0 s ago\n".to_owned();
    assert_eq!(ask(local(&view), "GET", "/healthz").await, (200, ok));
}

#[tokio::test]
async fn a_status_without_a_data_plane_is_an_error() {
    assert_eq!(
        ask(local(&View::default()), "GET", "/nginx_status").await.0,
        503
    );
}

#[tokio::test]
async fn a_stop_is_asked_for_once_and_heard_however_late() {
    let stop = Stop::default();
    let (status, pid) = ask(control::router(stop.clone()), "POST", "/stop").await;
    assert_eq!(status, StatusCode::ACCEPTED.as_u16());
    assert_eq!(pid.trim().parse(), Ok(std::process::id()));
    tokio::time::timeout(Duration::from_secs(5), stop.asked())
        .await
        .unwrap();
}
