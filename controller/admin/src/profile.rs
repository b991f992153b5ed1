//! CPU profiles of the controller, in the format and at the path of Go's pprof, as in ingress-nginx:
//! `curl --unix-socket /run/sluice/admin.sock -o profile http://sluice/debug/pprof/profile?seconds=10`, and then
//! `go tool pprof profile`.
//!
//! Nothing is measured until a profile is requested, and one at a time: the kernel has one such timer per process.

mod proto;

use std::time::Duration;

use axum::Router;
use axum::extract::RawQuery;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use pprof::ProfilerGuardBuilder;
use prost::Message;

/// Samples in a second of CPU time: as Go's.
const FREQUENCY: i32 = 100;
/// Default duration, as Go's.
const DEFAULT: Duration = Duration::from_secs(30);
const LONGEST: Duration = Duration::from_secs(300);
/// A signal within these must not walk the stack: they may hold the locks that this needs.
const NOT_WITHIN: &[&str] = &["libc", "libgcc", "pthread", "vdso"];

const INDEX: &str =
    "profile?seconds=N: CPU time for N seconds (30), at most 300, for `go tool pprof`\n";

pub(super) fn router() -> Router {
    Router::new()
        .route("/debug/pprof", get(INDEX))
        .route("/debug/pprof/", get(INDEX))
        .route("/debug/pprof/profile", get(profile))
        .route("/debug/pprof/{*rest}", get((StatusCode::NOT_FOUND, INDEX)))
}

async fn profile(RawQuery(query): RawQuery) -> Response {
    let refused = |status, text: String| (status, format!("{text}\n")).into_response();
    let duration = match duration(query.as_deref().unwrap_or_default()) {
        Ok(duration) => duration,
        Err(error) => return refused(StatusCode::BAD_REQUEST, error),
    };
    static ONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
    let Ok(_one) = ONE.try_lock() else {
        return refused(
            StatusCode::CONFLICT,
            "another profile is being taken".to_owned(),
        );
    };
    match taken(duration).await {
        Ok(bytes) => {
            let name = (
                header::CONTENT_DISPOSITION,
                "attachment; filename=\"profile\"",
            );
            (
                [(header::CONTENT_TYPE, "application/octet-stream"), name],
                bytes,
            )
                .into_response()
        }
        Err(error) => refused(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("profile: {error:#}"),
        ),
    }
}

/// Measures for so long; a client that hangs up ends it.
async fn taken(duration: Duration) -> anyhow::Result<Vec<u8>> {
    let guard = ProfilerGuardBuilder::default()
        .frequency(FREQUENCY)
        .blocklist(NOT_WITHIN)
        .build()?;
    tokio::time::sleep(duration).await;
    // Names of functions are looked up in the binary, which takes a while.
    let encode = move || Ok(proto::from_report(&guard.report().build()?).encode_to_vec());
    tokio::task::spawn_blocking(encode).await?
}

fn duration(query: &str) -> Result<Duration, String> {
    let Some(text) = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("seconds="))
    else {
        return Ok(DEFAULT);
    };
    match text.parse().map(Duration::from_secs) {
        Ok(duration) if !duration.is_zero() && duration <= LONGEST => Ok(duration),
        _ => Err(format!(
            "seconds: expected from 1 to {}, got {text:?}",
            LONGEST.as_secs()
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use axum::body::{Body, to_bytes};
    use axum::http::Request;
    use tower::ServiceExt;

    use super::proto::Profile;
    use super::*;

    #[inline(never)]
    fn something_that_takes_long(until: &AtomicBool) -> u64 {
        let mut sum = 0_u64;
        while !until.load(Ordering::Relaxed) {
            sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(7));
        }
        sum
    }

    async fn ask(query: &str) -> (StatusCode, Vec<u8>) {
        let request = Request::get(format!("/debug/pprof/{query}"))
            .body(Body::empty())
            .unwrap();
        let answer = router().oneshot(request).await.unwrap();
        (
            answer.status(),
            to_bytes(answer.into_body(), usize::MAX)
                .await
                .unwrap()
                .to_vec(),
        )
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_profile_names_what_the_process_was_busy_with_and_one_is_taken_at_a_time() {
        let done = Arc::new(AtomicBool::new(false));
        let busy = std::thread::spawn({
            let done = Arc::clone(&done);
            move || something_that_takes_long(&done)
        });
        let first = tokio::spawn(ask("profile?seconds=2"));
        tokio::time::sleep(Duration::from_millis(500)).await;
        let (second, _) = ask("profile?seconds=1").await;
        let (status, bytes) = first.await.unwrap();
        done.store(true, Ordering::Relaxed);
        busy.join().unwrap();
        assert_eq!((status, second), (StatusCode::OK, StatusCode::CONFLICT));
        let profile = Profile::decode(bytes.as_slice()).unwrap();
        assert!(
            profile
                .string_table
                .iter()
                .any(|name| name.contains("something_that_takes_long"))
        );
    }

    #[tokio::test]
    async fn what_is_not_there_or_cannot_be_is_refused_by_name() {
        assert_eq!(
            ask("heap").await,
            (StatusCode::NOT_FOUND, INDEX.as_bytes().to_vec())
        );
        for bad in ["0", "301", "ten", ""] {
            let (status, text) = ask(&format!("profile?seconds={bad}")).await;
            let text = String::from_utf8(text).unwrap();
            assert_eq!(status, StatusCode::BAD_REQUEST, "{bad}");
            assert_eq!(
                text,
                format!("seconds: expected from 1 to 300, got {bad:?}\n")
            );
        }
    }
}
