//! The fake: HTTP in front of the store.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskContext, Poll};

use anyhow::{Context, Result};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming};
use hyper::http::request::Parts;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::containers::{self, Container, Containers, ToPod};
use super::discovery;
use super::kinds::{self, Kind};
use super::reply::Refusal;
use super::reviews;
use super::store::{Part, Store};
use super::target::Target;
use super::validation;
use super::watch::{self, View};
use crate::ports::Port;

/// The fake's version in `/version`, so that nobody takes it for a real API server.
pub(super) const FAKE_VERSION: &str = "v0.0.0-sluice-fake";

/// A small API server on loopback; it ends when this is dropped.
pub struct Fake {
    shared: Shared,
    port: Port,
    task: JoinHandle<()>,
}

/// State that answers share.
#[derive(Clone)]
struct Shared {
    store: Arc<Mutex<Store>>,
    /// Rights that nobody has.
    denied: Arc<Mutex<BTreeSet<String>>>,
    containers: Arc<Mutex<Containers>>,
}

impl Fake {
    /// Starts one that has the namespace `default` and nothing else.
    pub async fn start() -> Result<Fake> {
        let port = Port::reserve()?;
        let listener = TcpListener::bind(port.addr())
            .await
            .context("fake API server")?;
        let shared = Shared {
            store: Arc::new(Mutex::new(Store::new())),
            denied: Arc::default(),
            containers: Arc::default(),
        };
        let task = tokio::spawn(accept(listener, shared.clone()));
        let fake = Fake { shared, port, task };
        fake.put(
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}),
        )?;
        Ok(fake)
    }

    /// The listening address, without TLS.
    pub fn addr(&self) -> SocketAddr {
        self.port.addr()
    }

    /// From now on nobody may do this, as access reviews say: `verb resource`.
    pub fn deny(&self, right: &str) {
        lock(&self.shared.denied).insert(right.to_owned());
    }

    /// Gives a pod (`namespace/name`) its container.
    pub fn contain(&self, pod: &str, container: Container) {
        lock(&self.shared.containers).insert(pod.to_owned(), container);
    }

    /// Stores an object as it is, however wrong: a real API server would refuse some.
    pub fn put(&self, object: Value) -> Result<()> {
        let kind = kind_of(&object)?;
        let mut store = lock(&self.shared.store);
        let stored = match store.create(kind, object.clone()) {
            Err(refusal) if refusal.code == 409 => store.replace(kind, object, Part::Main),
            other => other,
        };
        stored
            .map(drop)
            .map_err(|refusal| anyhow::anyhow!("{refusal:?}"))
    }

    /// Takes an object away.
    pub fn remove(&self, object: &Value) -> Result<()> {
        let removed = lock(&self.shared.store).remove(kind_of(object)?, object);
        removed
            .map(drop)
            .map_err(|refusal| anyhow::anyhow!("{refusal:?}"))
    }

    /// Forgets the past, as etcd does every few minutes: who watches from before must list again.
    pub fn compact(&self) {
        lock(&self.shared.store).compact();
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn kind_of(object: &Value) -> Result<&'static Kind> {
    let text = |name: &str| object[name].as_str().unwrap_or_default();
    kinds::by_name(text("apiVersion"), text("kind")).context("a kind that the fake has not")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, shared: Shared) {
    // Connections end with the server.
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let shared = shared.clone();
        connections.spawn(async move {
            // A failure costs only time.
            let _ = stream.set_nodelay(true);
            let service = service_fn(|request| answer(request, shared.clone()));
            let server = auto::Builder::new(TokioExecutor::new());
            // A client that hangs up ends the connection with an error; nobody needs it.
            let _ = server
                .serve_connection_with_upgrades(TokioIo::new(stream), service)
                .await;
        });
    }
}

/// A body of one piece, or one that goes on.
pub(super) enum Reply {
    Whole(Option<Bytes>),
    Stream(mpsc::Receiver<Bytes>),
}

impl Body for Reply {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut TaskContext<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let next = match self.get_mut() {
            Reply::Whole(bytes) => Poll::Ready(bytes.take()),
            Reply::Stream(lines) => lines.poll_recv(context),
        };
        next.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

async fn answer(request: Request<Incoming>, shared: Shared) -> Result<Response<Reply>> {
    if let Some(to_pod) = ToPod::parse(request.uri().path()) {
        return of_pod(to_pod, request, &shared).await;
    }
    let (parts, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    if parts.uri.path() == "/version" {
        return whole(200, &json!({ "gitVersion": FAKE_VERSION }));
    }
    if let Some(review) = reviews::answer(parts.uri.path(), &body, &lock(&shared.denied)) {
        return whole(201, &review);
    }
    if let Some(found) = discovery::answer(parts.uri.path()) {
        return whole(200, &found);
    }
    let store = shared.store;
    let Some(target) = Target::parse(parts.uri.path(), parts.uri.query().unwrap_or_default())
    else {
        return whole(404, &Refusal::not_found("path", parts.uri.path()).status());
    };
    if parts.method == Method::GET && target.is_set("watch") {
        let view = View::new(&target, is_metadata_only(&parts));
        let (sender, lines) = mpsc::channel(64);
        tokio::spawn(watch::watch(store, target, view, sender));
        return Ok(json_response(200).body(Reply::Stream(lines))?);
    }
    match handle(&mut lock(&store), &parts, &target, &body) {
        Ok((code, value)) => whole(code, &value),
        Err(refusal) => whole(refusal.code, &refusal.status()),
    }
}

async fn of_pod(
    ToPod { pod, part }: ToPod,
    request: Request<Incoming>,
    shared: &Shared,
) -> Result<Response<Reply>> {
    let container = lock(&shared.containers).get(&pod).cloned();
    let Some(container) = container else {
        return whole(404, &Refusal::not_found("pods", &pod).status());
    };
    let text = match part {
        containers::Part::Log => Ok(Bytes::from(container.log)),
        containers::Part::Page(path) => containers::page(&container, &path).await,
        containers::Part::Exec => match containers::exec(container, request) {
            Some(switched) => return Ok(switched),
            None => Err(Refusal::bad_request("expected an upgrade to a WebSocket")),
        },
    };
    match text {
        Ok(text) => Ok(Response::new(Reply::Whole(Some(text)))),
        Err(refusal) => whole(refusal.code, &refusal.status()),
    }
}

fn whole(code: u16, value: &Value) -> Result<Response<Reply>> {
    Ok(json_response(code).body(Reply::Whole(Some(Bytes::from(value.to_string()))))?)
}

fn json_response(code: u16) -> hyper::http::response::Builder {
    Response::builder()
        .status(code)
        .header("content-type", "application/json")
}

fn is_metadata_only(parts: &Parts) -> bool {
    let accept = parts
        .headers
        .get("accept")
        .and_then(|value| value.to_str().ok());
    accept.is_some_and(|accept| accept.contains("as=PartialObjectMetadata"))
}

type Answered = Result<(u16, Value), Refusal>;

fn handle(store: &mut Store, parts: &Parts, target: &Target, body: &[u8]) -> Answered {
    let part = match target.subresource.as_deref() {
        None => Part::Main,
        Some("status") if target.kind.has_status => Part::Status,
        Some(other) => return Err(Refusal::not_found("subresource", other)),
    };
    let namespace = target.namespace.clone().unwrap_or_default();
    match (&parts.method, &target.name) {
        (&Method::GET, Some(name)) => {
            let object = store.get(target.kind, &namespace, name);
            let object = object.ok_or_else(|| Refusal::not_found(target.kind.plural, name))?;
            Ok((
                200,
                View::new(target, is_metadata_only(parts)).form(&object),
            ))
        }
        (&Method::GET, None) => list(store, target, is_metadata_only(parts)),
        (&Method::POST, None) => {
            let object = named(parsed(body)?, target, &namespace);
            validation::of_a_new_object(target.kind, &object)?;
            store
                .create(target.kind, object)
                .map(|object| (201, (*object).clone()))
        }
        (&Method::PUT, Some(_)) => {
            let object = named(parsed(body)?, target, &namespace);
            validation::of_a_replacement(target.kind, &object)?;
            store
                .replace(target.kind, object, part)
                .map(|object| (200, (*object).clone()))
        }
        (&Method::PATCH, Some(name)) => patch(
            store,
            parts,
            target,
            (&namespace, name),
            (&parsed(body)?, part),
        ),
        (&Method::DELETE, Some(name)) => {
            let place = (target.kind, namespace, name.clone());
            store.delete(&place).map(|object| (200, (*object).clone()))
        }
        _ => Err(Refusal::bad_request(
            "a verb that the fake does not speak here",
        )),
    }
}

fn patch(
    store: &mut Store,
    parts: &Parts,
    target: &Target,
    (namespace, name): (&str, &str),
    (patch, part): (&Value, Part),
) -> Answered {
    let place = (target.kind, namespace.to_owned(), name.to_owned());
    let content = parts
        .headers
        .get("content-type")
        .and_then(|value| value.to_str().ok());
    let patched = match content.unwrap_or_default() {
        "application/apply-patch+yaml" => {
            let manager = target.parameter("fieldManager");
            let manager =
                manager.ok_or_else(|| Refusal::bad_request("fieldManager: required for apply"))?;
            store.apply(place, patch, manager, target.is_set("force"), part)
        }
        // No list that the controller patches has a strategy of its own.
        "application/merge-patch+json" | "application/strategic-merge-patch+json" => {
            store.merge(place, patch, part)
        }
        other => Err(Refusal::bad_request(&format!("content-type {other:?}"))),
    };
    patched.map(|object| (200, (*object).clone()))
}

/// The path says where an object belongs.
fn named(mut object: Value, target: &Target, namespace: &str) -> Value {
    if target.kind.is_namespaced {
        object["metadata"]["namespace"] = namespace.into();
    }
    if let Some(name) = &target.name {
        object["metadata"]["name"] = name.as_str().into();
    }
    object
}

/// Apply patches are YAML by name; clients of Kubernetes write JSON.
fn parsed(body: &[u8]) -> Result<Value, Refusal> {
    serde_json::from_slice(body).map_err(|error| Refusal::bad_request(&error.to_string()))
}

/// One page. A token for the next one says where to go on, and of which version the first page was.
fn list(store: &Store, target: &Target, metadata_only: bool) -> Answered {
    let view = View::new(target, metadata_only);
    let limit = target
        .parameter("limit")
        .and_then(|limit| limit.parse().ok())
        .unwrap_or(usize::MAX);
    let (revision, after) = match target
        .parameter("continue")
        .and_then(|token| token.split_once('.'))
    {
        Some((revision, after)) => (revision.parse().unwrap_or_default(), after.to_owned()),
        None => (store.revision(), String::new()),
    };
    if revision < store.oldest() {
        return Err(Refusal::expired());
    }
    let place = |namespace: &str, name: &str| format!("{namespace}/{name}");
    let objects = store.list(target.kind, target.namespace.as_deref());
    let objects = objects.filter(|(_, _, object)| view.selector.matches(object));
    let mut rest = objects.skip_while(|(namespace, name, _)| {
        // In the order of the store, which is not that of the joined text.
        !after.is_empty()
            && after
                .split_once('/')
                .is_some_and(|last| (*namespace, *name) <= last)
    });
    let page: Vec<_> = rest.by_ref().take(limit).collect();
    let items: Vec<Value> = page
        .iter()
        .map(|(_, _, object)| item(view.form(object)))
        .collect();
    let mut metadata = json!({ "resourceVersion": revision.to_string() });
    if let Some((namespace, name, _)) = page.last()
        && rest.next().is_some()
    {
        metadata["continue"] = format!("{revision}.{}", place(namespace, name)).into();
    }
    let (api_version, kind) = match metadata_only {
        true => ("meta.k8s.io/v1", "PartialObjectMetadataList".to_owned()),
        false => (target.kind.api_version, format!("{}List", target.kind.name)),
    };
    Ok((
        200,
        json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata, "items": items }),
    ))
}

/// The items of a list do not say what they are.
fn item(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|name, _| !matches!(name.as_str(), "apiVersion" | "kind"));
    }
    object
}
