//! Requests over HTTP/2, as a browser or a gRPC client sends them; and as nobody should.

use std::sync::Arc;

use anyhow::{Context, Result};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{self, SendRequest};
use hyper::header::{CONTENT_TYPE, HOST, TE};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::AbortHandle;

use crate::dial::Stream;
use crate::http::{Request, Response};

/// A gRPC message without content: not compressed, no bytes.
const EMPTY_MESSAGE: &[u8] = &[0; 5];

/// Kinds of frames.
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;

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

/// Sends a request without a body whose fields, also those that begin with a colon, are exactly these; each is shorter than 127 bytes.
/// Returns once the server has said something to it, or has ended the connection.
pub async fn send_fields(mut stream: Box<dyn Stream>, fields: &[(&str, &str)]) -> Result<()> {
    /// Literals without a table, not compressed.
    const LITERAL: u8 = 0;
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(LITERAL);
        for text in [name, value] {
            let length = u8::try_from(text.len()).ok().filter(|length| *length < 127);
            block.push(length.context("a long text")?);
            block.extend_from_slice(text.as_bytes());
        }
    }
    let mut sent = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    let (whole, stream_id) = (5, 1);
    sent.extend(frame(SETTINGS, 0, 0, &[])?);
    sent.extend(frame(HEADERS, whole, stream_id, &block)?);
    stream.write_all(&sent).await?;
    loop {
        let mut head = [0; 9];
        if stream.read_exact(&mut head).await.is_err() {
            return Ok(());
        }
        let [high, middle, low, kind, ..] = head;
        let length = u32::from_be_bytes([0, high, middle, low]);
        let mut payload = vec![0; length.try_into()?];
        let is_whole = stream.read_exact(&mut payload).await.is_ok();
        if !is_whole || [HEADERS, RST_STREAM, GOAWAY].contains(&kind) {
            return Ok(());
        }
    }
}

fn frame(kind: u8, flags: u8, stream_id: u32, payload: &[u8]) -> Result<Vec<u8>> {
    let [_, length @ ..] = u32::try_from(payload.len())?.to_be_bytes();
    let mut frame = length.to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream_id.to_be_bytes());
    frame.extend_from_slice(payload);
    Ok(frame)
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

    #[tokio::test]
    async fn fields_arrive_as_they_are() {
        let network = Network::reserve().unwrap();
        let pods = Echo::start_all("grpcbin", &network.pods(1)).await.unwrap();
        for (scheme, is_taken) in [("http", true), ("a\nb", false)] {
            let fields = [
                (":method", "GET"),
                (":scheme", scheme),
                (":authority", "echo"),
                (":path", "/"),
            ];
            let before = pods[0].hits();
            let dialled = Dial::plain(pods[0].addr()).connect().await.unwrap();
            send_fields(dialled.stream, &fields).await.unwrap();
            assert_eq!(pods[0].hits() > before, is_taken, "{scheme:?}");
        }
    }
}
