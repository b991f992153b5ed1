//! Mutating operations: a controlled stop.

use std::process;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use tokio::sync::watch;

/// Asks for an orderly end, as SIGTERM does. A handle, cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Stop(watch::Sender<bool>);

impl Stop {
    /// A stop was requested.
    fn ask(&self) {
        self.0.send_replace(true);
    }

    /// Waits for a request.
    pub async fn asked(&self) {
        // The sender is `self`: the channel does not end while this waits.
        self.0.subscribe().wait_for(|asked| *asked).await.ok();
    }
}

pub(super) fn router(stop: Stop) -> Router {
    Router::new().route("/stop", post(begin)).with_state(stop)
}

/// Answers with the process id, so that who asked can wait for the end.
async fn begin(State(stop): State<Stop>) -> (StatusCode, String) {
    stop.ask();
    (StatusCode::ACCEPTED, format!("{}\n", process::id()))
}
