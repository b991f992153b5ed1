//! Endpoints for the kubelet and Prometheus on `--healthz-port`: health and metrics, read only.

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures::stream;

use super::health::Health;
use sluice_metrics::Metrics;

/// The content type of Prometheus' own text format.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

pub fn router(health_path: &str, health: Health, metrics: Metrics) -> Router {
    Router::new()
        .route(health_path, get(healthz).with_state(health))
        .route("/metrics", get(scrape).with_state(metrics))
}

/// `ok` and the age of the last publication, or what is wrong in the words that Kubernetes' own components use.
pub(super) async fn healthz(State(health): State<Health>) -> (StatusCode, String) {
    match health.check().await {
        Ok(age) => (
            StatusCode::OK,
            format!("ok\nlast publication {} s ago\n", age.as_secs()),
        ),
        Err(reason) => {
            let text = format!("[+]ping ok\n[-]sluice failed: {reason}\nhealthz check failed\n");
            (StatusCode::INTERNAL_SERVER_ERROR, text)
        }
    }
}

async fn scrape(State(metrics): State<Metrics>) -> Response {
    match metrics.page().await {
        Some(page) => {
            let body = Body::from_stream(stream::iter(page));
            ([(header::CONTENT_TYPE, TEXT)], body).into_response()
        }
        None => {
            let text = "metrics could not be read; the log says why\n";
            (StatusCode::INTERNAL_SERVER_ERROR, text).into_response()
        }
    }
}
