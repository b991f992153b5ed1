//! GET over a unix socket: the admin interface of an Envoy that the controller runs, and the controller itself.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;

const TIMEOUT: Duration = Duration::from_secs(5);

/// The body of a page; any status but 200 is an error.
pub async fn get(socket: &Path, target: &str) -> Result<String> {
    let what = || format!("GET {target} from {}", socket.display());
    tokio::time::timeout(TIMEOUT, exchange(socket, target))
        .await
        .with_context(what)?
        .with_context(what)
}

async fn exchange(socket: &Path, target: &str) -> Result<String> {
    let stream = UnixStream::connect(socket).await?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let request = hyper::Request::get(target)
        .header("host", "unix")
        .body(Empty::<Bytes>::new())?;
    let response = sender.send_request(request).await?;
    let status = response.status();
    let body = response.into_body().collect().await?.to_bytes();
    connection.abort();
    let body = String::from_utf8_lossy(&body).into_owned();
    ensure!(status == 200, "{status}: {body}");
    Ok(body)
}
