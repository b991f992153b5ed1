//! One HTTP/1 request on a connection of its own.

use anyhow::Context;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

/// Longest response that is read, in bytes: the statistics of an Envoy with a hundred thousand clusters.
const LONGEST: usize = 256 << 20;

/// Sends a request without a body. Returns the status and the body of the response.
///
/// # Errors
///
/// The request is malformed, the response is longer than 256 MiB, or the connection fails before the whole of it is read.
pub async fn exchange<S>(
    stream: S,
    method: Method,
    host: &str,
    path: &str,
) -> anyhow::Result<(StatusCode, String)>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (status, body) = exchange_bytes(stream, method, host, path).await?;
    Ok((status, text(body)))
}

/// A body as text. What is no UTF-8 is replaced.
#[must_use]
pub fn text(body: Bytes) -> String {
    String::from_utf8(body.into())
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// The same, of a body that nobody here reads.
///
/// # Errors
///
/// As above.
pub async fn exchange_bytes<S>(
    stream: S,
    method: Method,
    host: &str,
    path: &str,
) -> anyhow::Result<(StatusCode, Bytes)>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", host);
    let request = request.body(Empty::<Bytes>::new()).context("request")?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    // The sender is dropped with this block, which closes the connection.
    let response = async move {
        let response = sender.send_request(request).await?;
        let status = response.status();
        let body = Limited::new(response.into_body(), LONGEST);
        let body = body.collect().await.map_err(anyhow::Error::from_boxed)?;
        anyhow::Ok((status, body.to_bytes()))
    };
    let (response, _) = tokio::join!(response, connection);
    response
}
