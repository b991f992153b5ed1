//! One request over one connection of its own.

use anyhow::Context;
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

/// Sends a request without a body; the status and the body of what comes back.
pub(crate) async fn exchange<S>(
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
    let answer = async move {
        let response = sender.send_request(request).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        anyhow::Ok((status, String::from_utf8_lossy(&body).into_owned()))
    };
    // The connection ends when the answer is there: nobody can send anything more.
    let (answer, _) = tokio::join!(answer, connection);
    answer
}
