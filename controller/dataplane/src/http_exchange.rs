//! One HTTP/1 request on a connection of its own.

use anyhow::Context;
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

/// Sends a request without a body. Returns the status and the body of the response.
///
/// # Errors
///
/// The request is malformed, or the connection fails before the whole response is read.
pub async fn exchange<S>(
    stream: S,
    method: Method,
    host: &str,
    path: &str,
) -> anyhow::Result<(StatusCode, String)>
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
        let body = response.into_body().collect().await?.to_bytes();
        anyhow::Ok((status, String::from_utf8_lossy(&body).into_owned()))
    };
    let (response, _) = tokio::join!(response, connection);
    response
}
