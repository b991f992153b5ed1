//! Requests of data planes, handed on to the process.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use tracing::debug;

use crate::firewall::Firewall;

/// Hands a stream on. One that breaks ends with an error here, too, so nothing is let through.
pub async fn relay(State(firewall): State<Firewall>, request: Request) -> Response {
    match firewall.connection().send(request).await {
        Ok(response) => response.map(Body::new),
        Err(error) => {
            debug!("firewall: {error:#}");
            StatusCode::SERVICE_UNAVAILABLE.into_response()
        }
    }
}
