//! Configuration that data planes have refused.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use super::shown;
use crate::index::Indexed;

#[derive(Template)]
#[template(path = "refused.html")]
struct Refused {
    rows: Vec<Row>,
}

struct Row {
    kind: String,
    name: String,
    node: String,
    message: String,
}

pub(crate) async fn page(State(indexed): State<Arc<Indexed>>) -> Response {
    let refusals = indexed.dashboard.store.refusals().into_iter();
    let rows = refusals.map(|refusal| Row {
        kind: refusal.kind.to_string(),
        name: refusal.name.to_string(),
        node: refusal.node,
        message: refusal.message,
    });
    shown(&Refused {
        rows: rows.collect(),
    })
}
