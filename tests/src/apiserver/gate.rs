//! The door to an API server: it counts who comes, and plays faults.
//!
//! An HTTP/1 reverse proxy. What a fault looks like from the controller is what matters, not what is wrong behind it;
//! so the same faults are played in front of the fake and of a real API server.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::http::request::Parts;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};

use super::fake::Reply;
use super::reply;
use crate::ports::Port;

/// A fault that is injected into a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An answer with this status.
    Status(u16),
    /// The answer comes later.
    Delay(Duration),
    /// There is never an answer.
    Silence,
}

/// One request that came.
#[derive(Clone, Debug)]
pub struct Asked {
    /// `GET`, `PUT` ...
    pub method: String,
    /// Path and query, as they came.
    pub target: String,
    /// Only metadata was requested.
    pub metadata_only: bool,
}

#[derive(Debug)]
struct Rule {
    id: u64,
    method: String,
    part: String,
    fault: Fault,
}

#[derive(Debug)]
struct Shared {
    upstream: SocketAddr,
    rules: Mutex<Vec<Rule>>,
    asked: Mutex<Vec<Asked>>,
    /// Everything that is open breaks off.
    cuts: watch::Sender<()>,
    /// Open watches are told that their version is too old.
    expiries: watch::Sender<()>,
}

/// The door.
#[derive(Debug)]
pub struct Gate {
    shared: Arc<Shared>,
    port: Port,
    closed: watch::Sender<bool>,
}

/// A fault that lasts until this is dropped.
#[derive(Debug)]
#[must_use = "the fault ends when this is dropped"]
pub struct Lasting {
    shared: Arc<Shared>,
    id: u64,
}

impl Drop for Lasting {
    fn drop(&mut self) {
        held(&self.shared.rules).retain(|rule| rule.id != self.id);
    }
}

impl Gate {
    /// A door to this API server, which speaks HTTP without TLS.
    pub async fn start(upstream: SocketAddr) -> Result<Gate> {
        let (rules, asked) = (Mutex::default(), Mutex::default());
        let (cuts, expiries) = (watch::Sender::new(()), watch::Sender::new(()));
        let shared = Shared {
            upstream,
            rules,
            asked,
            cuts,
            expiries,
        };
        let gate = Gate {
            shared: Arc::new(shared),
            port: Port::reserve()?,
            closed: watch::Sender::new(true),
        };
        gate.open().await?;
        Ok(gate)
    }

    /// The listening address.
    pub fn addr(&self) -> SocketAddr {
        self.port.addr()
    }

    /// Lets nobody in and throws everybody out: the API server is gone.
    pub fn close(&self) {
        self.closed.send_replace(true);
        self.cut();
    }

    /// Lets people in again.
    pub async fn open(&self) -> Result<()> {
        let listener = TcpListener::bind(self.addr()).await.context("gate")?;
        self.closed.send_replace(false);
        tokio::spawn(accept(
            listener,
            Arc::clone(&self.shared),
            self.closed.subscribe(),
        ));
        Ok(())
    }

    /// Breaks off everything that is under way; who comes again is let in.
    pub fn cut(&self) {
        self.shared.cuts.send_replace(());
    }

    /// Tells every open watch that its version is too old.
    pub fn expire_watches(&self) {
        self.shared.expiries.send_replace(());
    }

    /// From now on, requests of this method (`""`: any) with this text in their target go wrong.
    pub fn fail(&self, method: &str, part: &str, fault: Fault) -> Lasting {
        let mut rules = held(&self.shared.rules);
        let id = rules.last().map_or(0, |rule| rule.id + 1);
        rules.push(Rule {
            id,
            method: method.to_owned(),
            part: part.to_owned(),
            fault,
        });
        Lasting {
            shared: Arc::clone(&self.shared),
            id,
        }
    }

    /// Everything that was asked so far, also what went wrong.
    pub fn asked(&self) -> Vec<Asked> {
        held(&self.shared.asked).clone()
    }

    /// How many requests of this method (`""`: any) had this text in their target.
    pub fn count(&self, method: &str, part: &str) -> usize {
        let asked = held(&self.shared.asked);
        let is_meant = |asked: &&Asked| method.is_empty() || asked.method == method;
        asked
            .iter()
            .filter(is_meant)
            .filter(|asked| asked.target.contains(part))
            .count()
    }

    /// How often the objects of this kind, as in `/ingresses`, were listed.
    pub fn lists(&self, kind: &str) -> usize {
        let asked = held(&self.shared.asked);
        let path = |asked: &Asked| {
            asked
                .target
                .split('?')
                .next()
                .is_some_and(|path| path.ends_with(kind))
        };
        let is_list = |asked: &&Asked| path(asked) && !asked.target.contains("watch=true");
        asked.iter().filter(is_list).count()
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.close();
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, mut closed: watch::Receiver<bool>) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = closed.wait_for(|closed| *closed) => return,
        };
        if let Ok((stream, _)) = accepted {
            tokio::spawn(serve(stream, Arc::clone(&shared)));
        }
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let _ = stream.set_nodelay(true);
    let mut cuts = shared.cuts.subscribe();
    let service = service_fn(|request| answer(request, Arc::clone(&shared)));
    let server = auto::Builder::new(TokioExecutor::new());
    let connection = server.serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        // Whoever hangs up ends the connection with an error; nobody needs it.
        _ = connection => {}
        _ = cuts.changed() => {}
    }
}

async fn answer(request: Request<Incoming>, shared: Arc<Shared>) -> Result<Response<Reply>> {
    let (parts, body) = request.into_parts();
    let target = parts
        .uri
        .path_and_query()
        .map_or("", |target| target.as_str())
        .to_owned();
    let accept = parts
        .headers
        .get("accept")
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let metadata_only = accept.contains("PartialObjectMetadata");
    let method = parts.method.to_string();
    held(&shared.asked).push(Asked {
        method: method.clone(),
        target: target.clone(),
        metadata_only,
    });
    let fault = held(&shared.rules)
        .iter()
        .find(|rule| {
            (rule.method.is_empty() || rule.method == method) && target.contains(&rule.part)
        })
        .map(|rule| rule.fault);
    match fault {
        Some(Fault::Status(code)) => return refusal(code),
        Some(Fault::Silence) => std::future::pending().await,
        Some(Fault::Delay(delay)) => tokio::time::sleep(delay).await,
        None => {}
    }
    forward(parts, body, &target, &shared).await
}

fn refusal(code: u16) -> Result<Response<Reply>> {
    let reason = match code {
        403 => "Forbidden",
        410 => "Expired",
        429 => "TooManyRequests",
        _ => "InternalError",
    };
    let body = reply::status(code, reason, "the gate says so").to_string();
    let response = Response::builder()
        .status(code)
        .header("content-type", "application/json");
    Ok(response.body(Reply::Whole(Some(Bytes::from(body))))?)
}

async fn forward(
    parts: Parts,
    body: Incoming,
    target: &str,
    shared: &Arc<Shared>,
) -> Result<Response<Reply>> {
    let stream = TcpStream::connect(shared.upstream).await?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let mut request = Request::builder().method(parts.method).uri(target);
    for (name, value) in &parts.headers {
        request = request.header(name, value);
    }
    let body = body.collect().await?.to_bytes();
    let response = sender.send_request(request.body(Full::new(body))?).await?;
    let (parts, body) = response.into_parts();
    let (lines, stream) = mpsc::channel(64);
    let is_watch = target.contains("watch=true");
    tokio::spawn(pass(body, lines, is_watch, shared.expiries.subscribe()));
    let mut response = Response::builder().status(parts.status);
    for (name, value) in parts
        .headers
        .iter()
        .filter(|(name, _)| *name != "transfer-encoding")
    {
        response = response.header(name, value);
    }
    Ok(response.body(Reply::Stream(stream))?)
}

/// Passes a body on, piece by piece, until somebody interferes.
async fn pass(
    mut body: Incoming,
    lines: mpsc::Sender<Bytes>,
    is_watch: bool,
    mut expiries: watch::Receiver<()>,
) {
    loop {
        let frame = tokio::select! {
            frame = body.frame() => frame,
            _ = expiries.changed(), if is_watch => {
                let status = reply::status(410, "Expired", "too old resource version");
                let event = json!({ "type": "ERROR", "object": status });
                lines.send(Bytes::from(format!("{event}\n"))).await.ok();
                return;
            }
            () = lines.closed() => return,
        };
        let Some(Ok(frame)) = frame else { return };
        if let Ok(data) = frame.into_data()
            && lines.send(data).await.is_err()
        {
            return;
        }
    }
}
