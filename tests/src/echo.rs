//! Pods on loopback that answer with what they received.
//!
//! HTTP/1.1 and HTTP/2 without TLS on one port. A pod is one listener and one task, so a test starts hundreds of them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, anyhow};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::http::request::Parts;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::script::{Answer, Script};

/// Who a pod says it is.
#[derive(Clone, Debug)]
pub struct EchoIdentity {
    /// The pod, also in the header `x-pod` of every answer.
    pub pod: String,
    /// Its Service.
    pub service: String,
    /// Its namespace.
    pub namespace: String,
}

impl EchoIdentity {
    /// A pod of a Service in the namespace `default`.
    pub fn of(service: &str, pod: &str) -> EchoIdentity {
        EchoIdentity { pod: pod.to_owned(), service: service.to_owned(), namespace: "default".to_owned() }
    }
}

/// A pod; it ends when this is dropped.
pub struct Echo {
    addr: SocketAddr,
    pod: Arc<Pod>,
    serving: Option<Serving>,
}

/// Dropping `stop` closes the listener and all connections.
struct Serving {
    stop: watch::Sender<()>,
    task: JoinHandle<()>,
}

struct Pod {
    identity: EchoIdentity,
    hits: AtomicU64,
    behaviour: Mutex<Arc<Behaviour>>,
}

#[derive(Default)]
struct Behaviour {
    script: Script,
    /// Requests since the script was set.
    requests: AtomicU64,
}

impl Echo {
    /// Listens and echoes.
    pub async fn start(addr: SocketAddr, identity: EchoIdentity) -> Result<Echo> {
        let pod = Arc::new(Pod { identity, hits: AtomicU64::new(0), behaviour: Mutex::default() });
        let mut echo = Echo { addr, pod, serving: None };
        echo.start_again().await?;
        Ok(echo)
    }

    /// Starts pods SERVICE-0, SERVICE-1 ... on these addresses.
    pub async fn start_all(service: &str, addrs: &[SocketAddr]) -> Result<Vec<Echo>> {
        let mut pods = Vec::new();
        for (n, addr) in addrs.iter().enumerate() {
            let identity = EchoIdentity::of(service, &format!("{service}-{n}"));
            pods.push(Echo::start(*addr, identity).await?);
        }
        Ok(pods)
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The pod's name.
    pub fn name(&self) -> &str {
        &self.pod.identity.pod
    }

    /// Requests so far, also those that a script failed.
    pub fn hits(&self) -> u64 {
        self.pod.hits.load(Ordering::Relaxed)
    }

    /// Changes the behaviour for the requests from now on.
    pub fn script(&self, script: Script) {
        *self.pod.behaviour() = Arc::new(Behaviour { script, requests: AtomicU64::new(0) });
    }

    /// Closes the listener and every connection, as a pod that is killed does.
    pub async fn stop(&mut self) {
        if let Some(Serving { stop, task }) = self.serving.take() {
            drop(stop);
            // The task has nothing to return; what matters is that the listener is closed.
            let _ = task.await;
        }
    }

    /// Listens on the same address again; nothing to do while it does.
    pub async fn start_again(&mut self) -> Result<()> {
        if self.serving.is_none() {
            let listener = TcpListener::bind(self.addr).await;
            let listener = listener.with_context(|| format!("pod {} on {}", self.name(), self.addr))?;
            let (stop, stopped) = watch::channel(());
            let task = tokio::spawn(accept(listener, Arc::clone(&self.pod), stopped));
            self.serving = Some(Serving { stop, task });
        }
        Ok(())
    }
}

impl Pod {
    fn behaviour(&self) -> MutexGuard<'_, Arc<Behaviour>> {
        self.behaviour.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn accept(listener: TcpListener, pod: Arc<Pod>, mut stopped: watch::Receiver<()>) {
    loop {
        tokio::select! {
            _ = stopped.changed() => return,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    tokio::spawn(serve(stream, Arc::clone(&pod), stopped.clone()));
                }
                // Out of file descriptors; the clients see it, and it may pass.
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
            },
        }
    }
}

async fn serve(stream: TcpStream, pod: Arc<Pod>, mut stopped: watch::Receiver<()>) {
    // Without it, small answers wait for the client's delayed acknowledgement; a failure costs only time.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| answer(request, Arc::clone(&pod)));
    let server = auto::Builder::new(TokioExecutor::new());
    let connection = server.serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        _ = stopped.changed() => {}
        // A client that hangs up, or a script that does, ends the connection with an error; nobody needs it.
        _ = connection => {}
    }
}

async fn answer(request: Request<Incoming>, pod: Arc<Pod>) -> Result<Response<Full<Bytes>>> {
    pod.hits.fetch_add(1, Ordering::Relaxed);
    let behaviour = Arc::clone(&pod.behaviour());
    let (parts, body) = request.into_parts();
    let body_bytes = count(body).await?;
    let n = behaviour.requests.fetch_add(1, Ordering::Relaxed);
    let answer = behaviour.script.answer_to(n, parts.uri.path());
    let delay = behaviour.script.delay + answer.delay;
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    if behaviour.script.hang_up {
        return Err(anyhow!("the script hangs up"));
    }
    response(answer, &pod.identity, &parts, body_bytes)
}

async fn count(mut body: Incoming) -> Result<usize> {
    let mut bytes = 0;
    while let Some(frame) = body.frame().await {
        bytes += frame?.data_ref().map_or(0, Bytes::len);
    }
    Ok(bytes)
}

fn response(
    answer: Answer,
    identity: &EchoIdentity,
    parts: &Parts,
    body_bytes: usize,
) -> Result<Response<Full<Bytes>>> {
    let mut builder = Response::builder().status(answer.status).header("x-pod", &identity.pod);
    for (name, value) in &answer.headers {
        builder = builder.header(name, value);
    }
    let body = match answer.body {
        Some(body) => Bytes::from(body),
        None => {
            builder = builder.header(CONTENT_TYPE, "application/json");
            Bytes::from(received(identity, parts, body_bytes).to_string())
        }
    };
    Ok(builder.body(Full::new(body))?)
}

/// What the pod saw.
fn received(identity: &EchoIdentity, parts: &Parts, body_bytes: usize) -> Value {
    let mut headers: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (name, value) in &parts.headers {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        headers.entry(name.as_str()).or_default().push(value);
    }
    let authority = parts.uri.authority().map(|authority| authority.as_str().to_owned());
    let host = parts.headers.get(HOST).map(|host| String::from_utf8_lossy(host.as_bytes()).into_owned());
    json!({
        "pod": identity.pod,
        "service": identity.service,
        "namespace": identity.namespace,
        "method": parts.method.as_str(),
        "path": parts.uri.path(),
        "query": parts.uri.query(),
        "headers": headers,
        "host": authority.or(host),
        "http": format!("{:?}", parts.version),
        "body_bytes": body_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::{self, Request};
    use crate::ports::Network;
    use std::time::{Duration, Instant};

    async fn pod() -> (Network, Echo) {
        let network = Network::reserve().unwrap();
        let echo = Echo::start(network.pod(0), EchoIdentity::of("web", "web-0")).await.unwrap();
        (network, echo)
    }

    #[tokio::test]
    async fn a_pod_tells_what_it_received() {
        let (_network, echo) = pod().await;
        let request =
            Request::new("POST", "a.example:80", "/x/../y%2F?q=1").header("a", "1").header("A", "2");
        let response = http::send(echo.addr(), &request.body("hello")).await.unwrap();
        let seen = response.json().unwrap();
        assert_eq!((response.status, response.pod()), (200, Some("web-0")));
        assert_eq!((&seen["path"], &seen["query"]), (&json!("/x/../y%2F"), &json!("q=1")));
        assert_eq!((&seen["headers"]["a"], &seen["host"]), (&json!(["1", "2"]), &json!("a.example:80")));
        assert_eq!((&seen["method"], &seen["body_bytes"]), (&json!("POST"), &json!(5)));
    }

    #[tokio::test]
    async fn a_script_decides_by_path_and_may_hang_up() {
        let (_network, echo) = pod().await;
        let slow = Answer { status: 418, body: Some("tea".to_owned()), ..Answer::default() };
        echo.script(Script::status(404).answer("/tea", slow).delay(Duration::from_millis(20)));
        let start = Instant::now();
        let tea = http::get(echo.addr(), "h", "/tea").await.unwrap();
        assert!(start.elapsed() >= Duration::from_millis(20));
        assert_eq!((tea.status, tea.text().as_str()), (418, "tea"));
        assert_eq!(http::get(echo.addr(), "h", "/").await.unwrap().status, 404);
        echo.script(Script::hang_up());
        assert!(http::get(echo.addr(), "h", "/").await.is_err());
    }
}
