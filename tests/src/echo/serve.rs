//! The connections of a pod: what speaks on them is found out by looking at the first bytes.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use super::received::{Received, Transport};
use super::{Behaviour, Pod, Speaks};
use crate::script::Answer;
use crate::{dns, fastcgi};

/// A pod whose client says nothing is not kept waiting for ever.
const FIRST_BYTES: Duration = Duration::from_secs(10);
/// The longest line of the PROXY protocol, version 1.
const PROXY_LINE: usize = 107;
const TLS_HANDSHAKE: u8 = 0x16;
/// How a message of DNS over TCP begins, when it is shorter than 256 bytes.
const DNS_LENGTH: u8 = 0;
/// How a record of FastCGI begins.
const FASTCGI_VERSION: u8 = 1;
/// Headers that a pod takes.
const MOST_HEADERS: usize = 1000;

type Body = BoxBody<Bytes, std::convert::Infallible>;

pub(super) async fn accept(listener: TcpListener, pod: Arc<Pod>, mut stopped: watch::Receiver<()>) {
    loop {
        tokio::select! {
            _ = stopped.changed() => return,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    pod.connections.fetch_add(1, Ordering::Relaxed);
                    tokio::spawn(serve(stream, Arc::clone(&pod), stopped.clone()));
                }
                // Out of file descriptors; the clients see it, and it may pass.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            },
        }
    }
}

async fn serve(stream: TcpStream, pod: Arc<Pod>, mut stopped: watch::Receiver<()>) {
    // Without it, small answers wait for the client's delayed acknowledgement; a failure costs only time.
    let _ = stream.set_nodelay(true);
    tokio::select! {
        _ = stopped.changed() => {}
        // A client that hangs up, or a script that does, ends the connection with an error; nobody needs it.
        _ = converse(stream, pod) => {}
    }
}

async fn converse(mut stream: TcpStream, pod: Arc<Pod>) -> Result<()> {
    let mut transport = Transport {
        proxy_line: proxy_line(&mut stream).await?,
        ..Transport::default()
    };
    let mut first = [0];
    let peeked = tokio::time::timeout(FIRST_BYTES, stream.peek(&mut first)).await??;
    let wants_tls = peeked == 1 && first == [TLS_HANDSHAKE];
    if let (Some(address), 1, [DNS_LENGTH]) = (pod.setup.dns, peeked, first) {
        pod.hits.fetch_add(1, Ordering::Relaxed);
        return dns::answer(stream, address).await;
    }
    if peeked == 1 && first == [FASTCGI_VERSION] && pod.setup.speaks != Speaks::Tls {
        return speak_fastcgi(stream, pod, transport).await;
    }
    match (&pod.setup.tls, wants_tls) {
        (Some(config), true) if pod.setup.speaks != Speaks::Plain => {
            let stream = TlsAcceptor::from(Arc::clone(config)).accept(stream).await?;
            let (_, session) = stream.get_ref();
            transport.tls = true;
            transport.sni = session.server_name().map(str::to_owned);
            let client = session.peer_certificates().and_then(<[_]>::first);
            transport.client_certificate = client.map(|certificate| certificate.to_vec());
            speak_http(stream, pod, transport).await
        }
        (_, false) if pod.setup.speaks != Speaks::Tls => speak_http(stream, pod, transport).await,
        _ => bail!("a pod that does not speak that"),
    }
}

async fn proxy_line(stream: &mut TcpStream) -> Result<Option<String>> {
    const START: &[u8] = b"PROXY ";
    let mut start = [0; START.len()];
    loop {
        let length = tokio::time::timeout(FIRST_BYTES, stream.peek(&mut start)).await??;
        let seen = start.get(..length).unwrap_or_default();
        if length == 0 || !START.starts_with(seen) {
            return Ok(None);
        }
        if length == START.len() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") && line.len() <= PROXY_LINE {
        line.push(stream.read_u8().await?);
    }
    Ok(Some(String::from_utf8_lossy(&line).trim_end().to_owned()))
}

async fn speak_http<S>(stream: S, pod: Arc<Pod>, transport: Transport) -> Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let transport = Arc::new(transport);
    let service = service_fn(|request| answer(request, Arc::clone(&pod), Arc::clone(&transport)));
    let mut server = auto::Builder::new(TokioExecutor::new());
    // As many as a proxy lets through: nginx does not count them.
    server.http1().max_headers(MOST_HEADERS);
    server
        .serve_connection(TokioIo::new(stream), service)
        .await
        .map_err(|error| anyhow!(error))
}

/// One request; its parameters stand where headers do.
async fn speak_fastcgi(mut stream: TcpStream, pod: Arc<Pod>, transport: Transport) -> Result<()> {
    let (params, body_bytes) = fastcgi::request(&mut stream).await?;
    let turn = Turn::of_next_request(&pod);
    let received = Received::from_params(&pod.identity, &params, body_bytes, &transport);
    let answer = turn.take(&pod, &received).await?;
    let mut text = format!("Status: {}\r\nX-Pod: {}\r\n", answer.status, received.pod);
    for (name, value) in &answer.headers {
        text += &format!("{name}: {value}\r\n");
    }
    text += "\r\n";
    text += &answer
        .body
        .unwrap_or_else(|| received.to_json().to_string());
    stream.write_all(&fastcgi::response(&text)).await?;
    stream.shutdown().await?;
    Ok(())
}

async fn answer(
    request: Request<Incoming>,
    pod: Arc<Pod>,
    transport: Arc<Transport>,
) -> Result<Response<Body>> {
    let turn = Turn::of_next_request(&pod);
    let (parts, body) = request.into_parts();
    let body_bytes = count(body).await?;
    let received = Received::of(&pod.identity, &parts, body_bytes, &transport);
    let answer = turn.take(&pod, &received).await?;
    let is_grpc = |kind: String| kind.starts_with("application/grpc");
    match received.header("content-type").is_some_and(is_grpc) && received.http == "HTTP/2.0" {
        true => grpc_response(&answer, &pod.identity.pod),
        false => response(answer, &received),
    }
}

/// The place of a request among those of a script.
struct Turn {
    behaviour: Arc<Behaviour>,
    n: u64,
}

impl Turn {
    fn of_next_request(pod: &Pod) -> Turn {
        pod.hits.fetch_add(1, Ordering::Relaxed);
        let behaviour = Arc::clone(&pod.behaviour());
        let n = behaviour.requests.fetch_add(1, Ordering::Relaxed);
        Turn { behaviour, n }
    }

    /// The answer, when it is time. The journal is in the order of arrival, also of requests whose answers are slow.
    async fn take(self, pod: &Pod, received: &Received) -> Result<Answer> {
        let script = &self.behaviour.script;
        if let Some(journal) = &pod.setup.journal {
            journal.add(received.clone());
        }
        let reflex = || pod.setup.reflex.and_then(|reflex| reflex(received));
        let answer = script.answer_to(self.n, &received.path, reflex);
        let delay = script.delay + answer.delay;
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        if script.hang_up {
            return Err(anyhow!("the script hangs up"));
        }
        Ok(answer)
    }
}

async fn count(mut body: Incoming) -> Result<usize> {
    let mut bytes = 0;
    while let Some(frame) = body.frame().await {
        bytes += frame?.data_ref().map_or(0, Bytes::len);
    }
    Ok(bytes)
}

fn response(answer: Answer, received: &Received) -> Result<Response<Body>> {
    let mut builder = Response::builder()
        .status(answer.status)
        .header("x-pod", &received.pod);
    for (name, value) in &answer.headers {
        builder = builder.header(name, value);
    }
    let body = match answer.body {
        Some(body) => Bytes::from(body),
        None => {
            builder = builder.header(CONTENT_TYPE, "application/json");
            Bytes::from(received.to_json().to_string())
        }
    };
    builder.body(Full::new(body).boxed()).context("answer")
}

/// One empty message and `grpc-status`, as a unary call that went well; a script's header may say another status.
fn grpc_response(answer: &Answer, pod: &str) -> Result<Response<Body>> {
    const EMPTY_MESSAGE: &[u8] = &[0; 5];
    let mut builder = Response::builder()
        .status(answer.status)
        .header("x-pod", pod);
    builder = builder.header(CONTENT_TYPE, "application/grpc");
    let mut trailers = HeaderMap::from_iter([(
        hyper::header::HeaderName::from_static("grpc-status"),
        HeaderValue::from_static("0"),
    )]);
    for (name, value) in &answer.headers {
        match name.to_ascii_lowercase().as_str() {
            "grpc-status" => drop(trailers.insert("grpc-status", HeaderValue::from_str(value)?)),
            _ => builder = builder.header(name, value),
        }
    }
    let body = Full::new(Bytes::from_static(EMPTY_MESSAGE));
    Ok(builder.body(
        body.with_trailers(async move { Some(Ok(trailers)) })
            .boxed(),
    )?)
}
