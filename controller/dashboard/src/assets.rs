//! The style and the script of all pages.

use axum::Router;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;

const STYLE: &str = include_str!("../assets/style.css");
const SCRIPT: &str = include_str!("../assets/live.js");

pub(crate) fn router() -> Router {
    Router::new()
        .route(
            "/style.css",
            get(|| asset("text/css; charset=utf-8", STYLE)),
        )
        .route(
            "/live.js",
            get(|| asset("text/javascript; charset=utf-8", SCRIPT)),
        )
}

async fn asset(media_type: &'static str, text: &'static str) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, media_type)], text)
}
