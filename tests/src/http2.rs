//! Requests over HTTP/2, as a browser or a gRPC client sends them.

use std::sync::Arc;

use anyhow::{Context, Result};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{self, SendRequest};
use hyper::header::{CONTENT_TYPE, HOST, TE};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::task::AbortHandle;

use crate::dial::Stream;
use crate::http::{Request, Response};

/// A gRPC message without content: not compressed, no bytes.
const EMPTY_MESSAGE: &[u8] = &[0; 5];

/// An open connection, for one request after the other; a clone sends its own beside them. It ends with the last of them.
#[derive(Clone, Debug)]
pub struct Connection {
    sender: SendRequest<Full<Bytes>>,
    _running: Arc<Task>,
}

/// Ends when this is dropped.
#[derive(Debug)]
struct Task(AbortHandle);

impl Connection {
    /// Begins HTTP/2 on a stream.
    pub async fn open(stream: Box<dyn Stream>) -> Result<Connection> {
        let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .context("HTTP/2")?;
        Ok(Connection {
            sender,
            _running: Arc::new(Task(tokio::spawn(connection).abort_handle())),
        })
    }

    /// Sends a request and reads the answer; trailers end up among the headers. `grpc` makes it a unary call.
    pub async fn send(&mut self, request: &Request, secure: bool, grpc: bool) -> Result<Response> {
        let sent = self.sender.send_request(to_hyper(request, secure, grpc)?);
        let mut response = sent.await.context("send")?;
        let mut answer = Response {
            status: response.status().as_u16(),
            ..Response::default()
        };
        answer.headers.extend(pairs(response.headers()));
        while let Some(frame) = response.body_mut().frame().await {
            let frame = frame.context("receive")?;
            if let Some(data) = frame.data_ref() {
                answer.body.extend_from_slice(data);
            } else if let Some(trailers) = frame.trailers_ref() {
                answer.headers.extend(pairs(trailers));
            }
        }
        Ok(answer)
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Sends one request on a connection of its own.
pub async fn send(
    stream: Box<dyn Stream>,
    request: &Request,
    secure: bool,
    grpc: bool,
) -> Result<Response> {
    Connection::open(stream)
        .await?
        .send(request, secure, grpc)
        .await
}

/// The first `Host` is the `:authority`; others go out as they are.
fn to_hyper(request: &Request, secure: bool, grpc: bool) -> Result<hyper::Request<Full<Bytes>>> {
    let authority = request
        .headers
        .iter()
        .position(|(name, _)| name.eq_ignore_ascii_case(HOST.as_str()));
    let host = authority.map_or("localhost", |place| request.headers[place].1.as_str());
    let scheme = if secure { "https" } else { "http" };
    let uri = format!("{scheme}://{host}{}", request.target);
    let mut builder = hyper::Request::builder()
        .method(request.method.as_str())
        .uri(uri);
    let headers = request
        .headers
        .iter()
        .enumerate()
        .filter(|(place, _)| Some(*place) != authority);
    for (_, (name, value)) in headers {
        builder = builder.header(name, value);
    }
    let mut body = Bytes::from(request.body.clone());
    if grpc {
        builder = builder
            .header(CONTENT_TYPE, "application/grpc")
            .header(TE, "trailers");
        if body.is_empty() {
            body = Bytes::from_static(EMPTY_MESSAGE);
        }
    }
    builder.body(Full::new(body)).context("request")
}

fn pairs(headers: &hyper::HeaderMap) -> impl Iterator<Item = (String, String)> {
    let text =
        |value: &hyper::header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers
        .iter()
        .map(move |(name, value)| (name.as_str().to_owned(), text(value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dial::Dial;
    use crate::echo::Echo;
    use crate::ports::Network;

    #[tokio::test]
    async fn a_unary_call_ends_with_its_status() {
        let network = Network::reserve().unwrap();
        let pods = Echo::start_all("grpcbin", &network.pods(1)).await.unwrap();
        let dialled = Dial::plain(pods[0].addr()).connect().await.unwrap();
        let call = Request::new("POST", "echo", "/grpcbin.GRPCBin/HeadersUnary");
        let answer = send(dialled.stream, &call, false, true).await.unwrap();
        assert_eq!(
            (answer.status, answer.header("grpc-status")),
            (200, Some("0"))
        );
        assert_eq!((answer.pod(), answer.body.len()), (Some("grpcbin-0"), 5));
    }
}
