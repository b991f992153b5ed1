//! `/xds`: what Envoys are to have, and how far they are, to be held against their `/config_dump`.

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use serde_json::{Value, json};
use sluice_xds_server::{DataPlane, Nack, Store};

use super::reply;

pub(super) fn router(store: Store) -> Router {
    Router::new().route("/xds", get(xds)).with_state(store)
}

async fn xds(State(store): State<Store>) -> Response {
    let status = store.status();
    let versions: serde_json::Map<String, Value> = status
        .versions
        .iter()
        .map(|(kind, versions)| (kind.to_string(), json!(versions)))
        .collect();
    reply::json(&json!({
        "generation": status.generation,
        "answered": status.answered,
        "data_planes": status.data_planes.iter().map(connected).collect::<Vec<_>>(),
        "versions": versions,
        "refused": store.refusals().iter().map(refused).collect::<Vec<_>>(),
    }))
}

fn connected(data_plane: &DataPlane) -> Value {
    json!({
        "node": data_plane.node,
        "version": data_plane.version,
        "answered": data_plane.answered,
    })
}

fn refused(refusal: &Nack) -> Value {
    json!({
        "type": refusal.kind.to_string(),
        "name": refusal.name,
        "version": refusal.version,
        "node": refusal.node,
        "message": refusal.message,
    })
}
