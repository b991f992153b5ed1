//! The gRPC service: one task for each stream.

use std::future::pending;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::Ordering;
use std::time::Instant;

use envoy_types::pb::envoy::service::discovery::v3::aggregated_discovery_service_server::{
    AggregatedDiscoveryService, AggregatedDiscoveryServiceServer,
};
use envoy_types::pb::envoy::service::discovery::v3::{
    DeltaDiscoveryRequest, DeltaDiscoveryResponse, DiscoveryRequest, DiscoveryResponse,
};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use futures::stream::Empty;
use sluice_xds::ResourceType;
use sluice_xds::is_probe;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::service::Routes;
use tonic::{Request, Response, Status, Streaming};
use tracing::{debug, info, warn};

use crate::cache::Cache;
use crate::client::Client;
use crate::nack::shortened;
use crate::store::{OpenStream, Store};
use crate::subscription::{Acknowledgement, Sent};

/// Responses that wait for a slow client. There is one in flight for each type, so more never come.
const WAITING: usize = 8;
/// A client that reconnects lists all that it has; 100,000 resources are about 10 MB.
const LARGEST_REQUEST: usize = 64 * 1024 * 1024;

/// One stream, from its first request to its end.
pub type Session = BoxFuture<'static, ()>;

/// The service over a store, to be mounted in a router. `spawn` starts a session: it takes as long as a client is there.
#[must_use]
pub fn discovery_service(store: &Store, spawn: impl Fn(Session) + Send + Sync + 'static) -> Routes {
    let server = AggregatedDiscoveryServiceServer::new(Service {
        store: store.clone(),
        spawn,
    });
    Routes::new(server.max_decoding_message_size(LARGEST_REQUEST))
}

struct Service<S> {
    store: Store,
    spawn: S,
}

#[tonic::async_trait]
impl<S: Fn(Session) + Send + Sync + 'static> AggregatedDiscoveryService for Service<S> {
    type StreamAggregatedResourcesStream = Empty<Result<DiscoveryResponse, Status>>;
    type DeltaAggregatedResourcesStream = ReceiverStream<Result<DeltaDiscoveryResponse, Status>>;

    async fn stream_aggregated_resources(
        &self,
        _: Request<Streaming<DiscoveryRequest>>,
    ) -> Result<Response<Self::StreamAggregatedResourcesStream>, Status> {
        Err(Status::unimplemented(
            "only delta xDS is served: set api_type DELTA_GRPC in ads_config",
        ))
    }

    async fn delta_aggregated_resources(
        &self,
        requests: Request<Streaming<DeltaDiscoveryRequest>>,
    ) -> Result<Response<Self::DeltaAggregatedResourcesStream>, Status> {
        let (responses, waiting) = mpsc::channel(WAITING);
        let generation = self.store.read(Cache::generation);
        let (client, open) = (Client::new(generation, seed()), self.store.open(generation));
        let stream = Stream {
            store: self.store.clone(),
            client,
            open,
            responses,
        };
        (self.spawn)(stream.run(requests.into_inner()).boxed());
        Ok(Response::new(ReceiverStream::new(waiting)))
    }
}

/// One stream.
struct Stream {
    store: Store,
    client: Client,
    open: OpenStream,
    responses: mpsc::Sender<Result<DeltaDiscoveryResponse, Status>>,
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

    async fn send(&self, response: DeltaDiscoveryResponse) -> Result<(), Gone> {
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
