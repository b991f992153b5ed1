//! One client: all types of one stream, in the order in which a change is safe.
//!
//! ```text
//!   make    clusters, endpoints
//!   route   listeners, routes, secrets, extensions    when every new cluster was given its endpoints
//!   break   clusters and endpoints that are gone      when the client has answered all of the above
//! ```
//!
//! Envoy answers 503 for a route to a cluster that still waits for its endpoints, so routes wait for the subscription
//! that a new cluster leads to; not for ever, because not every client subscribes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use envoy_types::pb::envoy::service::discovery::v3::{
    DeltaDiscoveryRequest, DeltaDiscoveryResponse,
};

use super::contents::{Contents, Generation};
use super::progress::Progress;
use super::refusal::shortened;
use super::response::Part;
use super::subscription::{Subscription, TooManyNames, Verdict};
use crate::probe::{PROBE, TLS_PROBE};
use crate::{Name, ResourceType};

/// Timeout of routes that wait for a new cluster's endpoints.
const PATIENCE: Duration = Duration::from_secs(1);
const ROUTING: [ResourceType; 5] = [
    ResourceType::Listener,
    ResourceType::Route,
    ResourceType::Scope,
    ResourceType::Secret,
    ResourceType::Extension,
];

/// Clusters that were sent and whose endpoints were not.
#[derive(Debug)]
struct Awaiting {
    names: BTreeSet<Name>,
    from: Generation,
    until: Instant,
}

/// The other side of one stream.
#[derive(Debug)]
pub(super) struct Client {
    node: String,
    subscriptions: BTreeMap<ResourceType, Subscription>,
    /// Changes up to here have been looked at.
    cursor: Generation,
    /// Of this stream and no other.
    seed: u64,
    responses: u64,
    awaiting: Option<Awaiting>,
}

impl Client {
    /// `seed` is a number that no stream had before.
    pub(super) fn new(cursor: Generation, seed: u64) -> Self {
        let (node, subscriptions) = (String::new(), BTreeMap::new());
        Client {
            node,
            subscriptions,
            cursor,
            seed,
            responses: 0,
            awaiting: None,
        }
    }

    /// The client's own name for itself; empty until its first request.
    pub(super) fn node(&self) -> &str {
        &self.node
    }

    /// Takes a request of a type that we serve.
    pub(super) fn request(
        &mut self,
        kind: ResourceType,
        request: &DeltaDiscoveryRequest,
        contents: &Contents,
    ) -> Result<Verdict, TooManyNames> {
        if let Some(node) = &request.node {
            self.node = shortened(&node.id).to_owned();
        }
        // What the subscription is told from here on must be what it has not seen.
        self.catch_up(contents);
        let Some(subscription) = self.subscriptions.get_mut(&kind) else {
            self.subscriptions
                .insert(kind, Subscription::begin(kind, request, contents)?);
            return Ok(Verdict::None);
        };
        let verdict = subscription.request(request, contents)?;
        if let (ResourceType::Cluster, Verdict::Refused(sent)) = (kind, &verdict) {
            sent.iter().for_each(|(name, _)| self.no_longer_await(name));
        }
        Ok(verdict)
    }

    /// Answers a request of a type that we do not serve: nothing of it exists.
    pub(super) fn nothing(
        &mut self,
        request: &DeltaDiscoveryRequest,
    ) -> Option<DeltaDiscoveryResponse> {
        (!request.resource_names_subscribe.is_empty()).then(|| {
            self.responses += 1;
            DeltaDiscoveryResponse {
                type_url: request.type_url.clone(),
                nonce: nonce(self.seed, self.responses),
                removed_resources: request.resource_names_subscribe.clone(),
                ..DeltaDiscoveryResponse::default()
            }
        })
    }

    /// The next response to send, if there is one.
    pub(super) fn next(
        &mut self,
        contents: &Contents,
        now: Instant,
    ) -> Option<DeltaDiscoveryResponse> {
        self.catch_up(contents);
        self.awaiting
            .take_if(|awaiting| awaiting.names.is_empty() || awaiting.until <= now);
        let make = self
            .clusters(contents, now)
            .or_else(|| self.endpoints(contents));
        make.or_else(|| self.routing(contents))
            .or_else(|| self.removals(contents))
    }

    /// When to ask again although nothing came.
    pub(super) fn wakes_at(&self) -> Option<Instant> {
        self.awaiting.as_ref().map(|awaiting| awaiting.until)
    }

    /// Progress of this client.
    pub(super) fn progress(&self, contents: &Contents) -> Progress {
        let asks_for = |kind| self.subscriptions.contains_key(&kind);
        let probed = |kind, name| self.subscriptions.get(&kind)?.verdict_on(name, contents);
        Progress {
            settled: self.settled(contents),
            has_listeners: asks_for(ResourceType::Listener),
            has_routes: asks_for(ResourceType::Route) || asks_for(ResourceType::Scope),
            probes: [
                probed(ResourceType::Route, PROBE),
                probed(ResourceType::Listener, TLS_PROBE),
            ],
        }
    }

    /// Everything up to here was answered by the client.
    fn settled(&self, contents: &Contents) -> Generation {
        let answered = self
            .subscriptions
            .values()
            .map(|subscription| subscription.answered(contents));
        let awaited = self
            .awaiting
            .as_ref()
            .map(|awaiting| awaiting.from.previous());
        answered.chain(awaited).fold(self.cursor, Generation::min)
    }

    fn catch_up(&mut self, contents: &Contents) {
        match contents.since(self.cursor) {
            Some(changes) => {
                for (kind, name) in changes {
                    if let Some(subscription) = self.subscriptions.get_mut(kind) {
                        subscription.changed(name);
                    }
                }
            }
            None => {
                self.subscriptions
                    .values_mut()
                    .for_each(|subscription| subscription.changed_all(contents));
            }
        }
        self.cursor = contents.generation();
    }

    fn clusters(&mut self, contents: &Contents, now: Instant) -> Option<DeltaDiscoveryResponse> {
        let response = self.response(ResourceType::Cluster, Part::Sets, contents)?;
        let from = contents.generation();
        let mut awaiting = self.awaiting.take().unwrap_or(Awaiting {
            names: BTreeSet::new(),
            from,
            until: now,
        });
        awaiting.until = now + PATIENCE;
        for cluster in &response.resources {
            let name = Name::from(cluster.name.as_str());
            if contents.find(ResourceType::Endpoints, &name).is_none() {
                continue;
            }
            // A cluster that changed waits for endpoints, too, and does not ask for what it asked for before.
            if let Some(endpoints) = self.subscriptions.get_mut(&ResourceType::Endpoints)
                && endpoints.wants(&name)
            {
                endpoints.force(name.clone());
            }
            awaiting.names.insert(name);
        }
        self.awaiting = Some(awaiting);
        Some(response)
    }

    fn endpoints(&mut self, contents: &Contents) -> Option<DeltaDiscoveryResponse> {
        let response = self.response(ResourceType::Endpoints, Part::Sets, contents)?;
        response
            .resources
            .iter()
            .for_each(|endpoints| self.no_longer_await(&endpoints.name));
        Some(response)
    }

    fn no_longer_await(&mut self, name: &str) {
        if let Some(awaiting) = &mut self.awaiting {
            awaiting.names.remove(name);
        }
    }

    fn routing(&mut self, contents: &Contents) -> Option<DeltaDiscoveryResponse> {
        let awaiting = self
            .awaiting
            .as_ref()
            .is_some_and(|awaiting| !awaiting.names.is_empty());
        let clusters = self.subscriptions.get(&ResourceType::Cluster);
        if awaiting || clusters.is_some_and(|clusters| clusters.is_pending(Part::Sets, contents)) {
            return None;
        }
        ROUTING
            .into_iter()
            .find_map(|kind| self.response(kind, Part::Both, contents))
    }

    fn removals(&mut self, contents: &Contents) -> Option<DeltaDiscoveryResponse> {
        let routing = ROUTING
            .iter()
            .filter_map(|kind| self.subscriptions.get(kind));
        let mut unsettled = routing
            .filter(|routing| routing.is_in_flight() || routing.is_pending(Part::Both, contents));
        if unsettled.next().is_some() {
            return None;
        }
        if let Some(response) = self.response(ResourceType::Cluster, Part::Removals, contents) {
            return Some(response);
        }
        let clusters = self.subscriptions.get(&ResourceType::Cluster);
        // The removal of a cluster makes the client unsubscribe from its endpoints, and nothing is left to remove.
        if clusters.is_some_and(Subscription::is_in_flight) {
            return None;
        }
        self.response(ResourceType::Endpoints, Part::Removals, contents)
    }

    fn response(
        &mut self,
        kind: ResourceType,
        part: Part,
        contents: &Contents,
    ) -> Option<DeltaDiscoveryResponse> {
        let (seed, responses) = (self.seed, &mut self.responses);
        self.subscriptions.get_mut(&kind)?.next(part, contents, || {
            *responses += 1;
            nonce(seed, *responses)
        })
    }
}

/// Names a response, among those of all streams.
fn nonce(seed: u64, response: u64) -> String {
    format!("{seed:x}-{response}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Update;
    use envoy_types::pb::google::rpc::Status;

    /// Clusters and listeners are subscribed to, endpoints are not.
    fn client(contents: &Contents) -> Client {
        let mut client = Client::new(contents.generation(), 1);
        for kind in [ResourceType::Cluster, ResourceType::Listener] {
            let request = DeltaDiscoveryRequest {
                type_url: kind.type_url(),
                ..Default::default()
            };
            client.request(kind, &request, contents).unwrap();
        }
        client
    }

    fn everything() -> Contents {
        let mut update = Update::default();
        for kind in [
            ResourceType::Cluster,
            ResourceType::Endpoints,
            ResourceType::Listener,
        ] {
            update.set(kind, "a", b"1".to_vec());
            update.complete.insert(kind);
        }
        let mut contents = Contents::default();
        let difference = contents.difference(update);
        contents.apply(difference);
        contents
    }

    fn answer(
        client: &mut Client,
        response: &DeltaDiscoveryResponse,
        refused: bool,
        contents: &Contents,
    ) {
        let kind = ResourceType::from_type_url(&response.type_url).unwrap();
        let request = DeltaDiscoveryRequest {
            type_url: response.type_url.clone(),
            response_nonce: response.nonce.clone(),
            error_detail: refused.then(Status::default),
            ..DeltaDiscoveryRequest::default()
        };
        client.request(kind, &request, contents).unwrap();
    }

    /// Sends the cluster, has it answered, and says what comes at once and what comes when nobody has asked for endpoints.
    fn after_the_cluster(refused: bool) -> [Option<String>; 2] {
        let (contents, now) = (everything(), Instant::now());
        let mut client = client(&contents);
        let cluster = client.next(&contents, now).unwrap();
        assert_eq!(cluster.type_url, ResourceType::Cluster.type_url());
        answer(&mut client, &cluster, refused, &contents);
        [now, now + PATIENCE].map(|now| {
            client
                .next(&contents, now)
                .map(|response| response.type_url)
        })
    }

    #[test]
    fn a_client_that_never_asks_for_endpoints_gets_its_routes_after_a_while() {
        assert_eq!(
            after_the_cluster(false),
            [None, Some(ResourceType::Listener.type_url())]
        );
    }

    #[test]
    fn a_refused_cluster_does_not_hold_the_routes() {
        assert_eq!(
            after_the_cluster(true)[0],
            Some(ResourceType::Listener.type_url())
        );
    }
}
