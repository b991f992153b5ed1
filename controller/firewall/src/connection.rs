//! The connection to the process, which all requests share.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use axum::body::Body;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use sluice_tasks::Tasks;
use tokio::net::UnixStream;
use tokio::sync::Mutex;

use crate::wire::{Loaded, RULES_PATH, Rules};

/// Bytes of bodies on their way: of one request, and of all.
pub(crate) const STREAM_WINDOW: u32 = 1 << 20;
pub(crate) const CONNECTION_WINDOW: u32 = 64 << 20;

/// A handle, cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    socket: PathBuf,
    open: Arc<Mutex<Option<SendRequest<Body>>>>,
    tasks: Tasks,
}

impl Connection {
    pub(crate) fn new(socket: PathBuf, tasks: &Tasks) -> Self {
        Connection {
            socket,
            open: Arc::default(),
            tasks: tasks.clone(),
        }
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Connects, unless it is connected.
    pub(crate) async fn connect(&self) -> anyhow::Result<()> {
        self.sender().await.map(drop)
    }

    /// Sends a request, over the connection that there is or a new one.
    pub(crate) async fn send(&self, request: Request<Body>) -> anyhow::Result<Response<Incoming>> {
        let mut sender = self.sender().await?;
        Ok(sender.send_request(request).await?)
    }

    /// Gives the process its rules.
    pub(crate) async fn load(&self, rules: &Rules) -> anyhow::Result<Loaded> {
        let body = Body::from(serde_json::to_vec(rules)?);
        let request = Request::put(format!("http://firewall{RULES_PATH}")).body(body)?;
        let response = self.send(request).await?;
        let status = response.status();
        let answer = response.into_body().collect().await?.to_bytes();
        anyhow::ensure!(
            status == StatusCode::OK,
            "{}",
            String::from_utf8_lossy(&answer)
        );
        serde_json::from_slice(&answer).context("answer of the firewall")
    }

    async fn sender(&self) -> anyhow::Result<SendRequest<Body>> {
        let mut open = self.open.lock().await;
        if let Some(sender) = open.as_ref().filter(|sender| !sender.is_closed()) {
            return Ok(sender.clone());
        }
        let stream = UnixStream::connect(&self.socket).await?;
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .initial_max_send_streams(None);
        let (sender, connection) = builder.handshake(TokioIo::new(stream)).await?;
        self.tasks.spawn_finite("firewall connection", async {
            connection.await.ok();
        });
        *open = Some(sender.clone());
        Ok(sender)
    }
}
