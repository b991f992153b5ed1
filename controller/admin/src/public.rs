//! Endpoints for the kubelet and Prometheus on `--healthz-port`: health and metrics, read only.

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::health::Health;
use sluice_metrics::Metrics;

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
        Ok(page) => page.into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}
