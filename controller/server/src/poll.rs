//! The filter's log over HTTP: `GET /v1/plugin-config?since=VERSION`.
//!
//! | answer | when |
//! |---|---|
//! | 200, a document; for nginx, with the hash of the index of its host table in `sluice-host-table` | there is something newer than `since`, or no `since` was given |
//! | 204 | nothing new for [`HOLD`]; ask again |
//! | 400 | `since` is not a version |
//! | 503 | nothing has been published yet |

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use sluice_filter_config::{HOST_TABLE_HEADER, Version};
use sluice_plugin::{Log, PollResponse};
use tokio::sync::{Mutex, watch};

/// How long a poll is held when there is nothing to say. Shorter than the filter waits.
const HOLD: Duration = Duration::from_secs(25);

/// The log, shared by the publisher and every poll.
#[derive(Clone, Debug, Default)]
pub struct SharedLog {
    /// Polls wait for it without a thread: bringing the log up to date takes a while where there is much.
    log: Arc<Mutex<Log>>,
    publications: watch::Sender<u64>,
}

impl SharedLog {
    /// Changes the log; `change` says whether there is something new to tell. Blocks its thread.
    pub fn publish(&self, change: impl FnOnce(&mut Log) -> bool) {
        let news = change(&mut self.log.blocking_lock());
        self.publications.send_if_modified(|count| {
            let first = *count == 0;
            *count += u64::from(news || first);
            news || first
        });
    }

    /// The content hash of what is published. Blocks its thread.
    pub fn content(&self) -> u128 {
        self.log.blocking_lock().version().content()
    }

    async fn answer(&self, since: Option<Version>) -> PollResponse {
        self.log.lock().await.answer(since)
    }

    async fn wait(&self, since: Option<Version>) -> PollResponse {
        let mut publications = self.publications.subscribe();
        loop {
            publications.mark_unchanged();
            let answer = self.answer(since).await;
            if matches!(answer, PollResponse::Document { .. })
                || publications.changed().await.is_err()
            {
                return answer;
            }
        }
    }
}

/// Answers one poll.
pub async fn plugin_config(State(log): State<SharedLog>, RawQuery(query): RawQuery) -> Response {
    let since = match since(query.as_deref()) {
        Ok(since) => since,
        Err(reason) => return (StatusCode::BAD_REQUEST, reason).into_response(),
    };
    // Empty tables from a controller that has only just started would take away what a worker has.
    if *log.publications.borrow() == 0 {
        return (
            StatusCode::SERVICE_UNAVAILABLE,
            "nothing has been published yet\n",
        )
            .into_response();
    }
    match tokio::time::timeout(HOLD, log.wait(since)).await {
        Ok(PollResponse::Document {
            json,
            host_table_hash,
        }) => {
            let table = host_table_hash.map(|hash| [(HOST_TABLE_HEADER, format!("{hash:032x}"))]);
            let content_type = [(header::CONTENT_TYPE, "application/json")];
            (content_type, table, json).into_response()
        }
        Ok(PollResponse::Current) | Err(_) => StatusCode::NO_CONTENT.into_response(),
    }
}

fn since(query: Option<&str>) -> Result<Option<Version>, String> {
    let Some(query) = query else { return Ok(None) };
    let Some(version) = query.strip_prefix("since=") else {
        return Err("query: expected since=VERSION\n".to_owned());
    };
    version
        .parse()
        .map(Some)
        .map_err(|error| format!("since: {error}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_since_is_understood() {
        let version = Version::new(3, 7);
        assert_eq!(since(None), Ok(None));
        assert_eq!(since(Some(&format!("since={version}"))), Ok(Some(version)));
        for bad in ["", "since=", "since=3", "until=3", "since=3-x"] {
            assert!(since(Some(bad)).is_err(), "{bad:?}");
        }
    }
}
