//! The gRPC service: one task for each stream.

use std::convert::Infallible;
use std::future::{Ready, pending, ready};
use std::hash::{BuildHasher as _, RandomState};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use envoy_types::pb::envoy::service::discovery::v3::DeltaDiscoveryRequest;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http_body::Frame;
use prost::Message as _;
use sluice_xds::ResourceType;
use sluice_xds::is_probe;
use tokio::sync::mpsc;
use tonic::body::Body;
use tonic::codec::{DecodeBuf, Decoder};
use tonic::codegen::http::header::CONTENT_TYPE;
use tonic::codegen::http::{HeaderMap, HeaderValue, Request, Response as HttpResponse};
use tonic::codegen::{Body as HttpBody, Service as HttpService};
use tonic::server::NamedService;
use tonic::service::Routes;
use tonic::{Status, Streaming};
use tracing::{debug, info, warn};

use crate::acknowledgement::{Acknowledgement, Sent};
use crate::cache::Cache;
use crate::client::Client;
use crate::encode::Encoder;
use crate::nack::shortened;
use crate::response::Response;
use crate::store::{OpenStream, Store};

const NAME: &str = "envoy.service.discovery.v3.AggregatedDiscoveryService";
const DELTA: &str =
    "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";
/// Responses that wait for a slow client. There is one in flight for each type, so more never come.
const WAITING: usize = 8;
/// A client that reconnects lists all that it has; 100,000 resources are about 10 MB.
const LARGEST_REQUEST: usize = 64 * 1024 * 1024;

/// One stream, from its first request to its end.
pub type Session = BoxFuture<'static, ()>;

/// The service over a store, to be mounted in a router. `spawn` starts a session: it takes as long as a client is there.
#[must_use]
pub fn discovery_service(store: &Store, spawn: impl Fn(Session) + Send + Sync + 'static) -> Routes {
    Routes::new(Service {
        store: store.clone(),
        spawn: Arc::new(spawn),
    })
}

/// In the place of tonic's own, which encodes a response as a whole before the client has read any of it.
struct Service<S> {
    store: Store,
    spawn: Arc<S>,
}

impl<S> Clone for Service<S> {
    fn clone(&self) -> Self {
        Service {
            store: self.store.clone(),
            spawn: Arc::clone(&self.spawn),
        }
    }
}

impl<S> NamedService for Service<S> {
    const NAME: &'static str = NAME;
}

impl<S: Fn(Session)> HttpService<Request<Body>> for Service<S> {
    type Response = HttpResponse<Body>;
    type Error = Infallible;
    type Future = Ready<Result<HttpResponse<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let response = if request.uri().path() == DELTA {
            self.open(request.into_body())
        } else {
            let status = "only delta xDS is served: set api_type DELTA_GRPC in ads_config";
            Status::unimplemented(status).into_http()
        };
        ready(Ok(response))
    }
}

impl<S: Fn(Session)> Service<S> {
    fn open(&self, requests: Body) -> HttpResponse<Body> {
        let (responses, waiting) = mpsc::channel(WAITING);
        let generation = self.store.read(Cache::generation);
        let (client, open) = (Client::new(generation, seed()), self.store.open(generation));
        let stream = Stream {
            store: self.store.clone(),
            client,
            open,
            responses,
        };
        let requests = Streaming::new_request(Requests, requests, None, Some(LARGEST_REQUEST));
        (self.spawn)(stream.run(requests).boxed());
        let body = Body::new(Responses {
            waiting,
            current: None,
            has_ended: false,
        });
        let mut response = HttpResponse::new(body);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        response
    }
}

/// Decodes what a client sends.
struct Requests;

impl Decoder for Requests {
    type Item = DeltaDiscoveryRequest;
    type Error = Status;

    fn decode(&mut self, bytes: &mut DecodeBuf<'_>) -> Result<Option<Self::Item>, Status> {
        let request = DeltaDiscoveryRequest::decode(bytes);
        request
            .map(Some)
            .map_err(|error| Status::internal(error.to_string()))
    }
}

/// What a client is sent, encoded as fast as it reads.
struct Responses {
    waiting: mpsc::Receiver<Result<Response, Status>>,
    current: Option<Encoder>,
    has_ended: bool,
}

impl Responses {
    fn end(&mut self, status: &Status) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        self.has_ended = true;
        let mut trailers = HeaderMap::new();
        let added = status.add_header(&mut trailers);
        Poll::Ready(Some(added.map(|()| Frame::trailers(trailers))))
    }
}

impl HttpBody for Responses {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        loop {
            if self.has_ended {
                return Poll::Ready(None);
            }
            if let Some(piece) = self.current.as_mut().and_then(Iterator::next) {
                return Poll::Ready(Some(Ok(Frame::data(piece))));
            }
            self.current = None;
            match std::task::ready!(self.waiting.poll_recv(context)) {
                Some(Ok(response)) => match Encoder::new(response) {
                    Some(encoder) => self.current = Some(encoder),
                    None => return self.end(&Status::out_of_range("a response of 4 GiB")),
                },
                Some(Err(status)) => return self.end(&status),
                None => return self.end(&Status::ok("")),
            }
        }
    }
}

/// One stream.
struct Stream {
    store: Store,
    client: Client,
    open: OpenStream,
    responses: mpsc::Sender<Result<Response, Status>>,
}

impl Stream {
    /// Until the client is gone, or a message of it ends the stream.
    async fn run(mut self, mut requests: Streaming<DeltaDiscoveryRequest>) {
        let mut news = self.store.news();
        loop {
            if self.send_pending().await.is_err() {
                break;
            }
            let wake = self.client.wakes_at();
            tokio::select! {
                request = requests.message() => match request {
                    Ok(Some(request)) => if self.take(&request).await.is_err() { break },
                    Ok(None) | Err(_) => break,
                },
                changed = news.changed() => if changed.is_err() { break },
                () = until(wake) => {}
                () = self.responses.closed() => break,
            }
        }
        info!("xds client {:?} is gone", self.client.node());
    }

    /// Sends all that can be sent without an answer. Waits for a slow client, and reads nothing from it meanwhile.
    async fn send_pending(&mut self) -> Result<(), Gone> {
        loop {
            let client = &mut self.client;
            let (response, progress) = self.store.read(|cache| {
                let response = client.next(cache, Instant::now());
                (response, client.progress(cache))
            });
            self.open.advance(progress);
            let Some(response) = response else {
                return Ok(());
            };
            self.send(response).await?;
        }
    }

    async fn send(&self, response: Response) -> Result<(), Gone> {
        debug!(
            "to {:?}: {} set, {} removed of {}",
            self.client.node(),
            response.resources.len(),
            response.removed_resources.len(),
            response.type_url
        );
        self.store.counters().pushes.fetch_add(1, Ordering::Relaxed);
        self.responses.send(Ok(response)).await.map_err(|_| Gone)
    }

    async fn take(&mut self, request: &DeltaDiscoveryRequest) -> Result<(), Gone> {
        let Some(kind) = ResourceType::from_type_url(&request.type_url) else {
            return match self.client.nothing(request) {
                Some(response) => self.send(response).await,
                None => Ok(()),
            };
        };
        let client = &mut self.client;
        let known = !client.node().is_empty();
        match self
            .store
            .read(|cache| client.request(kind, request, cache))
        {
            Ok(acknowledgement) => self.note(kind, acknowledgement, request),
            Err(error) => {
                warn!("xds client {:?}: {error}; stream ended", self.client.node());
                self.responses
                    .send(Err(Status::resource_exhausted(error.to_string())))
                    .await
                    .ok();
                return Err(Gone);
            }
        }
        if !known && !self.client.node().is_empty() {
            self.open
                .introduce(self.client.node(), self.client.version());
            info!("xds client {:?} connected", self.client.node());
        }
        Ok(())
    }

    fn note(
        &self,
        kind: ResourceType,
        acknowledgement: Acknowledgement,
        request: &DeltaDiscoveryRequest,
    ) {
        let counters = self.store.counters();
        match acknowledgement {
            Acknowledgement::None => {}
            Acknowledgement::Accepted(sent) => {
                counters.acks.fetch_add(1, Ordering::Relaxed);
                self.store.forget_refusals(kind, &sent);
            }
            Acknowledgement::Refused(sent) => {
                let reason = request
                    .error_detail
                    .as_ref()
                    .map_or("", |status| status.message.as_str());
                // A probe asks; only what is published is an error when it is refused.
                if sent.iter().any(|(name, _)| !is_probe(name)) {
                    counters.nacks.fetch_add(1, Ordering::Relaxed);
                }
                self.refused(kind, &sent, shortened(reason));
            }
        }
    }

    /// Warns of a resource once: when it is refused alone. Before, it is not known which of them it is.
    fn refused(&self, kind: ResourceType, sent: &Sent, reason: &str) {
        let node = self.client.node();
        match sent.as_slice() {
            [(name, version)] => {
                if !is_probe(name) {
                    warn!("NACK from {node:?} for {kind} {name}, previous version kept: {reason}");
                }
                if let Some(version) = version {
                    self.store.add_refusal((kind, name), *version, node, reason);
                }
            }
            many => info!(
                "NACK from {node:?} for one of {} of {kind}, sending them in parts: {reason}",
                many.len()
            ),
        }
    }
}

/// Of all streams of all controllers.
fn seed() -> u64 {
    RandomState::new().hash_one(())
}

/// The client does not listen any more.
struct Gone;

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => pending().await,
    }
}
