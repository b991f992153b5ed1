//! One delta ADS stream, as a task.

use std::future::pending;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::Ordering;
use std::time::Instant;

use envoy_types::pb::envoy::service::discovery::v3::DeltaDiscoveryRequest;
use sluice_xds::{ResourceType, TESTED_ENVOY, flaw_of_envoy, is_probe};
use sluice_xds_delta::{Acknowledgement, Cache, Client, Response, Sent, shortened};
use tokio::sync::mpsc;
use tonic::{Status, Streaming};
use tracing::{debug, info, warn};

use crate::store::{OpenStream, Store};

/// One stream.
pub(crate) struct Stream {
    store: Store,
    client: Client,
    open: OpenStream,
    responses: mpsc::Sender<Result<Response, Status>>,
}

impl Stream {
    /// A stream of a client that has said nothing yet.
    pub(crate) fn new(store: &Store, responses: mpsc::Sender<Result<Response, Status>>) -> Self {
        let generation = store.read(Cache::generation);
        Stream {
            store: store.clone(),
            client: Client::new(generation, seed()),
            open: store.open(generation),
            responses,
        }
    }

    /// Until the client is gone, or a message of it ends the stream.
    pub(crate) async fn run(mut self, mut requests: Streaming<DeltaDiscoveryRequest>) {
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
        let set = response.set_names().count();
        debug!(
            "to {:?}: {set} set, {} removed of {}",
            self.client.node(),
            response.sent.len() - set,
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
            let version = self.client.version();
            if let Some(flaw) = flaw_of_envoy(version) {
                let node = self.client.node();
                warn!("xds client {node:?}: Envoy {version} {flaw}; use Envoy {TESTED_ENVOY}");
            }
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
                self.open.forget_refusals(kind, &sent);
            }
            Acknowledgement::Refused(sent) => {
                // A probe asks; only what is published is an error when it is refused.
                if sent.iter().any(|(name, _)| !is_probe(name)) {
                    counters.nacks.fetch_add(1, Ordering::Relaxed);
                }
                self.refused(kind, &sent, reason(request), true);
            }
            // Another client may have accepted it meanwhile, and the refusal was forgotten.
            Acknowledgement::RefusedAgain(sent) => {
                self.refused(kind, &sent, reason(request), false);
            }
        }
    }

    /// Warns of a resource once: when it is refused alone. Before, it is not known which of them it is.
    fn refused(&self, kind: ResourceType, sent: &Sent, reason: &str, is_first: bool) {
        let node = self.client.node();
        match &**sent {
            [(name, version)] => {
                let add = |version| self.open.add_refusal((kind, name), version, node, reason);
                let is_new = version.is_some_and(add);
                if !is_probe(name) && (is_first || is_new) {
                    warn!("NACK from {node:?} for {kind} {name}, previous version kept: {reason}");
                }
            }
            many => info!(
                "NACK from {node:?} for one of {} of {kind}, sending them in parts: {reason}",
                many.len()
            ),
        }
    }
}

fn reason(request: &DeltaDiscoveryRequest) -> &str {
    let status = request.error_detail.as_ref();
    shortened(status.map_or("", |status| status.message.as_str()))
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
