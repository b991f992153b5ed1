//! The process with the engine.

mod inspection;
mod rule_book;
mod threads;

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::put;
use sluice_modsecurity::Library;
use sluice_tasks::Tasks;
use sluice_xds_server::{Exchange, Failed, Inspector, ProcessorService};
use tokio::net::UnixListener;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::service::Routes;
use tonic::transport::Server;

use crate::connection::{CONNECTION_WINDOW, STREAM_WINDOW};
use crate::wire::{RULES_PATH, Rules};
use inspection::Inspection;
use rule_book::RuleBook;
use threads::Threads;

/// Requests at a time: as many as Envoy lets in.
const REQUESTS: u32 = 1 << 20;

/// Settings of the process.
#[derive(Clone, Debug)]
pub struct ProcessSettings {
    /// Its unix socket, in a folder that nobody else can read.
    pub socket: PathBuf,
    /// File of libmodsecurity.
    pub library: PathBuf,
    /// The audit log is written to standard output.
    pub audit_log: bool,
}

#[derive(Clone)]
struct Served {
    rules: Arc<RuleBook>,
    /// `None`: there is no engine.
    threads: Option<Arc<Threads>>,
}

/// Serves until the controller closes standard input.
///
/// # Errors
///
/// It cannot listen, or a task has failed.
pub async fn serve(settings: &ProcessSettings) -> anyhow::Result<()> {
    let tasks = Tasks::default();
    let library = Library::load(&settings.library);
    let threads = match &library {
        Ok(library) => Some(Arc::new(Threads::start(library, &tasks)?)),
        Err(_) => None,
    };
    let rules = Arc::new(RuleBook::new(library, settings.audit_log));
    let served = Served { rules, threads };
    let listener = UnixListener::bind(&settings.socket).context("firewall socket")?;
    let (closing, closed) = tokio::sync::oneshot::channel();
    tasks.spawn_thread("standard input", move || {
        wait_for_end();
        closing.send(()).ok();
        std::thread::park();
    })?;
    let served = Server::builder()
        .max_concurrent_streams(REQUESTS)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .add_routes(routes(served))
        .serve_with_incoming(UnixListenerStream::new(listener));
    tokio::select! {
        ended = served => ended.context("firewall"),
        failure = tasks.failed() => Err(failure.into()),
        _ = closed => {
            tasks.stop();
            Ok(())
        }
    }
}

fn wait_for_end() {
    let mut input = std::io::stdin().lock();
    while input.read(&mut [0; 64]).is_ok_and(|read| read > 0) {}
}

fn routes(served: Served) -> Routes {
    let rules = put(load)
        .layer(DefaultBodyLimit::disable())
        .with_state(Arc::clone(&served.rules));
    let service = ProcessorService::new(move |exchange| begin(&served, exchange));
    service.merge_into(Routes::from(Router::new().route(RULES_PATH, rules)))
}

fn begin(served: &Served, exchange: Exchange) -> Result<Box<dyn Inspector>, Failed> {
    let rules = served.rules.named(&exchange.rules);
    let rules = rules.ok_or_else(|| Failed("unknown rules".to_owned()))?;
    let thread = served.threads.as_ref().and_then(|threads| threads.idlest());
    let thread = thread.ok_or_else(|| Failed("no engine".to_owned()))?;
    Ok(Box::new(Inspection::new(exchange, rules, thread)))
}

/// Requests with the rules that are there go on meanwhile.
async fn load(State(book): State<Arc<RuleBook>>, body: String) -> Response {
    let Ok(rules) = serde_json::from_str::<Rules>(&body) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let loaded = tokio::task::block_in_place(|| book.load(rules));
    let json = serde_json::to_vec(&loaded).unwrap_or_default();
    ([(header::CONTENT_TYPE, "application/json")], json).into_response()
}
