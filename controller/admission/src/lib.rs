//! The validating webhook: the API server asks before it stores an Ingress.
//!
//! ```text
//!   API server --TLS--> limits --> turn --> review.rs --> sluice_translate::admit(Ingress, View) --> review.rs --> answer
//! ```
//!
//! Everybody who reaches the port is answered, so a question costs others nothing that matters: it is judged on a thread of its own, one
//! small and one large question at a time. The objects are locked meanwhile, which the publisher waits for: for one judgement, at most.
//!
//! Nothing but the View is read to answer; nothing is written. What the translation would report as an error is
//! refused, what it would warn of is let in with a warning.

mod flags;
mod refusal_log;
mod review;

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use sluice_listener::{
    HandshakeLimits, ListenerLimits, ServerTls, TlsFile, TlsFiles, serve_router, with_write_timeout,
};
use sluice_translate::{Admission, Ingress, Object, Options, Rules, admit};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;
use tracing::info;

pub use flags::WebhookFlags;
use refusal_log::RefusalLog;
use review::{Request, Review, ReviewResponse, joined};
use sluice_state::View;
use sluice_tasks::Tasks;

/// ingress-nginx' limit, 9 MiB less one byte. Two Ingresses of the largest size that is stored fit.
const LARGEST_BODY: usize = (9 << 20) - 1;
/// Bytes of a body that waits for nobody. Nearly all questions are smaller.
const SMALL_BODY: usize = 64 << 10;
/// Larger bodies read at the same time, until they are judged: what hostile ones can make us hold.
const MOST_BODIES: usize = 16;
/// Time between two parts of a body.
const PAUSE: Duration = Duration::from_secs(2);
/// Time for a whole question to arrive. The API server itself gives up after `timeoutSeconds`, at most 30.
const TIME: Duration = Duration::from_secs(10);
/// Longest reason in the log, in bytes. The answer has more.
const LONGEST_LINE: usize = 1024;
/// Path of ingress-nginx's webhook. Any other path works as well, for webhook configurations of one's own.
const PATH: &str = "/networking/v1/ingresses";

/// Reviewer of admission requests.
#[derive(Clone)]
pub struct Judge {
    /// Objects and their translation.
    pub view: View,
    /// Options of the translation.
    pub options: Arc<Options>,
    /// Rules of the review.
    pub rules: Arc<Rules>,
    /// Counters.
    pub metrics: sluice_metrics::Admission,
}

/// Serves in the background for as long as the runtime lives, when the flags ask for it.
pub async fn serve(flags: &WebhookFlags, judge: Judge, tasks: &Tasks) -> anyhow::Result<()> {
    let Some(address) = &flags.validating_webhook else {
        return Ok(());
    };
    let (Some(certificate), Some(key)) = (
        &flags.validating_webhook_certificate,
        &flags.validating_webhook_key,
    ) else {
        anyhow::bail!(
            "--validating-webhook: expected --validating-webhook-certificate and --validating-webhook-key"
        );
    };
    let files = TlsFiles {
        listener: "admission",
        certificate: TlsFile {
            path: certificate.clone(),
            flag: "--validating-webhook-certificate",
        },
        key: TlsFile {
            path: key.clone(),
            flag: "--validating-webhook-key",
        },
        authority: None,
        advice,
    };
    let tls = ServerTls::follow(files, tasks)?;
    let address = address.as_str();
    let listener = tokio::net::TcpListener::bind(
        address
            .strip_prefix(':')
            .map_or_else(|| address.to_owned(), |port| format!("[::]:{port}")),
    );
    let listener = listener
        .await
        .with_context(|| format!("--validating-webhook {address}"))?;
    info!("admission is served on {address}");
    let listener = with_write_timeout(listener, ListenerLimits::WRITE_TIMEOUT);
    let listener = tls.listen(listener, HandshakeLimits::API_SERVERS, tasks);
    // HTTP/2 is off, as in ingress-nginx: one connection, one question.
    tasks.spawn(
        "admission server",
        serve_router(listener, router(judge), ListenerLimits::API_SERVERS),
    );
    Ok(())
}

fn advice(error: &str) -> &'static str {
    if error.contains("UnknownCA") || error.contains("BadCertificate") {
        "; caBundle of the ValidatingWebhookConfiguration has to be the authority of this certificate"
    } else {
        ""
    }
}

fn router(judge: Judge) -> Router {
    Router::new()
        .route(PATH, post(answer))
        .fallback(post(answer))
        .with_state(Desk::new(judge))
}

/// Turns of questions.
#[derive(Clone)]
struct Desk {
    judge: Judge,
    refusals: Arc<RefusalLog>,
    /// Large bodies that are read or judged.
    bodies: Arc<Semaphore>,
    /// Turns to be judged, of small questions and of large ones: small ones wait for small ones only.
    small: Arc<Semaphore>,
    large: Arc<Semaphore>,
}

impl Desk {
    fn new(judge: Judge) -> Self {
        Desk {
            judge,
            refusals: Arc::default(),
            bodies: Arc::new(Semaphore::new(MOST_BODIES)),
            small: Arc::new(Semaphore::new(1)),
            large: Arc::new(Semaphore::new(1)),
        }
    }

    fn answer(&self, body: &[u8], started: Instant) -> Response {
        let request = match Review::parse(body) {
            Ok(request) => request,
            Err(reason) => return (StatusCode::BAD_REQUEST, reason).into_response(),
        };
        if !request.is_ingress() {
            let reason = format!(
                "expected a networking.k8s.io/v1 Ingress, got {}",
                request.described()
            );
            return (StatusCode::INTERNAL_SERVER_ERROR, reason).into_response();
        }
        let (uid, object) = (request.uid.clone(), request.described());
        let admission = self.judge.judge(request);
        if !admission.is_allowed() {
            let reason = joined(&admission.errors, LONGEST_LINE);
            self.refusals.refused(&object, &reason);
        }
        self.judge.metrics.answered(started.elapsed());
        match serde_json::to_vec(&ReviewResponse::new(uid, admission)) {
            Ok(text) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
        }
    }
}

async fn answer(State(desk): State<Desk>, body: Body) -> Response {
    let started = Instant::now();
    if !desk.judge.view.progress().is_published() {
        // What conflicts with it may not have been read yet.
        return (
            StatusCode::SERVICE_UNAVAILABLE,
            "the cluster has not been read yet\n",
        )
            .into_response();
    }
    let (body, place) = match tokio::time::timeout(TIME, read(body, &desk.bodies)).await {
        Ok(Ok(read)) => read,
        Ok(Err((status, reason))) => return (status, reason).into_response(),
        Err(_) => return too_slow().into_response(),
    };
    let is_small = body.len() <= SMALL_BODY;
    let turns = if is_small { &desk.small } else { &desk.large };
    // The semaphore is never closed.
    let turn = Arc::clone(turns).acquire_owned().await.ok();
    // Workers of the runtime answer for access control, too.
    let judged = spawn_blocking(move || {
        let response = desk.answer(&body, started);
        // Whether or not somebody still waits for it.
        drop((turn, place));
        response
    });
    judged.await.unwrap_or_else(|_| {
        // A panic has been logged.
        (StatusCode::INTERNAL_SERVER_ERROR, "internal error\n").into_response()
    })
}

type HttpError = (StatusCode, String);

/// A body, with its place among the large ones. A slow one holds up no other small one.
async fn read(
    body: Body,
    bodies: &Arc<Semaphore>,
) -> Result<(Vec<u8>, Option<OwnedSemaphorePermit>), HttpError> {
    let (mut body, mut bytes, mut place) = (Limited::new(body, LARGEST_BODY), Vec::new(), None);
    loop {
        let Ok(frame) = tokio::time::timeout(PAUSE, body.frame()).await else {
            return Err(too_slow());
        };
        let Some(frame) = frame else {
            return Ok((bytes, place));
        };
        let frame = frame.map_err(|error| {
            let status = if error.is::<LengthLimitError>() {
                StatusCode::PAYLOAD_TOO_LARGE
            } else {
                StatusCode::BAD_REQUEST
            };
            (status, error.to_string())
        })?;
        if let Ok(data) = frame.into_data() {
            bytes.extend_from_slice(&data);
        }
        if bytes.len() > SMALL_BODY && place.is_none() {
            // The semaphore is never closed.
            place = Arc::clone(bodies).acquire_owned().await.ok();
        }
    }
}

fn too_slow() -> HttpError {
    (
        StatusCode::REQUEST_TIMEOUT,
        "the question took too long\n".to_owned(),
    )
}

impl Judge {
    fn judge(&self, mut request: Request) -> Admission {
        // Nothing will be written: a deletion has no object.
        if request.object.is_null() {
            return Admission::default();
        }
        let started = Instant::now();
        let object = std::mem::take(&mut request.object);
        let (namespace, name) = (request.namespace.as_str(), request.name.as_str());
        let admission = match ingress(object, namespace) {
            Ok(ingress) => admit(&ingress, &self.view.resources(), &self.options, &self.rules),
            Err(reason) => Admission {
                errors: vec![reason],
                ..Admission::default()
            },
        };
        self.metrics
            .checked(namespace, name, &admission, started.elapsed());
        admission
    }
}

fn ingress(mut object: serde_json::Value, namespace: &str) -> Result<Ingress, String> {
    if let Some(metadata) = object
        .get_mut("metadata")
        .and_then(serde_json::Value::as_object_mut)
    {
        metadata
            .entry("namespace")
            .or_insert_with(|| namespace.into());
    }
    match Object::from_value(object) {
        Ok(Object::Ingress(ingress)) => Ok(Arc::unwrap_or_clone(ingress)),
        Ok(other) => Err(format!("expected an Ingress, got {}", other.reference())),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests;
