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

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use envoy_types::pb::envoy::config::core::v3::Node;
use envoy_types::pb::envoy::config::core::v3::node::UserAgentVersionType;
use envoy_types::pb::envoy::service::discovery::v3::DeltaDiscoveryRequest;
use envoy_types::pb::google::protobuf::value::Kind;
use sluice_xds_resource::{
    FILTER_METADATA, FilterForm, MODULE_FORM, Name, PROBE, ResourceType, TLS_PROBE,
};

use crate::acknowledgement::{Acknowledgement, TooManyNames};
use crate::cache::Cache;
use crate::history::Generation;
use crate::progress::Progress;
use crate::response::{ChangeSet, Response};
use crate::subscription::Subscription;
use crate::text::shortened;

/// Timeout of routes that wait for a new cluster's endpoints.
const TIMEOUT: Duration = Duration::from_secs(1);
/// Time until a refused listener is sent again, twice as long each time: its port may be free by then. No other type depends on
/// anything outside of the resource.
const RETRY: Duration = Duration::from_secs(5);
const LONGEST_RETRY: Duration = Duration::from_secs(60);
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

/// When refused listeners are sent again, and how long after the time before.
#[derive(Debug)]
struct Retry {
    at: Instant,
    after: Duration,
}

/// The other side of one stream.
#[derive(Debug)]
pub struct Client {
    node: String,
    version: String,
    form: FilterForm,
    subscriptions: BTreeMap<ResourceType, Subscription>,
    /// Changes up to here have been looked at.
    cursor: Generation,
    /// Of this stream and no other.
    seed: u64,
    responses: u64,
    awaiting: Option<Awaiting>,
    /// If there are refused listeners.
    retry: Option<Retry>,
}

impl Client {
    /// `seed` is a number that no stream had before.
    pub fn new(cursor: Generation, seed: u64) -> Self {
        let (node, subscriptions) = (String::new(), BTreeMap::new());
        Client {
            node,
            version: String::new(),
            form: FilterForm::default(),
            subscriptions,
            cursor,
            seed,
            responses: 0,
            awaiting: None,
            retry: None,
        }
    }

    /// The client's own name for itself; empty until its first request.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// The client's version, such as `1.40.0`; empty when it names none.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Takes a request of a type that we serve.
    pub fn request(
        &mut self,
        kind: ResourceType,
        request: &DeltaDiscoveryRequest,
        cache: &Cache,
    ) -> Result<Acknowledgement, TooManyNames> {
        if let Some(node) = &request.node {
            self.node = shortened(&node.id).to_owned();
            self.version = version(node);
            self.form = filter_form(node);
        }
        // What the subscription is told from here on must be what it has not seen.
        self.catch_up(cache);
        let Some(subscription) = self.subscriptions.get_mut(&kind) else {
            self.subscriptions
                .insert(kind, Subscription::begin(kind, self.form, request, cache)?);
            return Ok(Acknowledgement::None);
        };
        let verdict = subscription.request(request, cache)?;
        if let (ResourceType::Cluster, Acknowledgement::Refused(sent)) = (kind, &verdict) {
            sent.iter().for_each(|(name, _)| self.no_longer_await(name));
        }
        if let (ResourceType::Listener, Acknowledgement::Refused(_)) = (kind, &verdict) {
            // Whatever else was refused before.
            self.retry = None;
        }
        Ok(verdict)
    }

    /// Answers a request of a type that we do not serve: nothing of it exists.
    pub fn nothing(&mut self, request: &DeltaDiscoveryRequest) -> Option<Response> {
        let removed = request.resource_names_subscribe.iter();
        (removed.len() > 0).then(|| {
            self.responses += 1;
            Response {
                type_url: request.type_url.clone(),
                nonce: nonce(self.seed, self.responses),
                sent: removed.map(|name| (name.as_str().into(), None)).collect(),
                ..Response::default()
            }
        })
    }

    /// The next response to send, if there is one.
    pub fn next(&mut self, cache: &Cache, now: Instant) -> Option<Response> {
        self.catch_up(cache);
        self.awaiting
            .take_if(|awaiting| awaiting.names.is_empty() || awaiting.until <= now);
        self.offer_listeners_again(cache, now);
        let make = self.clusters(cache, now).or_else(|| self.endpoints(cache));
        make.or_else(|| self.routing(cache))
            .or_else(|| self.removals(cache))
    }

    /// When to ask again although nothing came.
    pub fn wakes_at(&self) -> Option<Instant> {
        let awaiting = self.awaiting.as_ref().map(|awaiting| awaiting.until);
        let retry = self.retry.as_ref().map(|retry| retry.at);
        awaiting.into_iter().chain(retry).min()
    }

    fn offer_listeners_again(&mut self, cache: &Cache, now: Instant) {
        let listeners = self.subscriptions.get_mut(&ResourceType::Listener);
        let Some(listeners) = listeners.filter(|listeners| listeners.has_refusals()) else {
            self.retry = None;
            return;
        };
        let first = Retry {
            at: now + RETRY,
            after: RETRY,
        };
        let retry = self.retry.get_or_insert(first);
        if retry.at <= now {
            listeners.offer_again(cache);
            retry.after = (retry.after * 2).min(LONGEST_RETRY);
            retry.at = now + retry.after;
        }
    }

    /// Progress of this client.
    pub fn progress(&self, cache: &Cache) -> Progress {
        let asks_for = |kind| self.subscriptions.contains_key(&kind);
        let probed = |kind, name| self.subscriptions.get(&kind)?.verdict_on(name, cache);
        Progress {
            settled: self.settled(cache),
            has_listeners: asks_for(ResourceType::Listener),
            has_routes: asks_for(ResourceType::Route) || asks_for(ResourceType::Scope),
            probes: [
                probed(ResourceType::Route, PROBE),
                probed(ResourceType::Listener, TLS_PROBE),
            ],
        }
    }

    /// Everything up to here was answered by the client.
    fn settled(&self, cache: &Cache) -> Generation {
        let answered = self
            .subscriptions
            .values()
            .map(|subscription| subscription.answered(cache));
        let awaited = self
            .awaiting
            .as_ref()
            .map(|awaiting| awaiting.from.previous());
        answered.chain(awaited).fold(self.cursor, Generation::min)
    }

    fn catch_up(&mut self, cache: &Cache) {
        match cache.since(self.cursor) {
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
                    .for_each(|subscription| subscription.changed_all(cache));
            }
        }
        self.cursor = cache.generation();
    }

    fn clusters(&mut self, cache: &Cache, now: Instant) -> Option<Response> {
        let response = self.response(ResourceType::Cluster, ChangeSet::Sets, cache)?;
        let from = cache.generation();
        let mut awaiting = self.awaiting.take().unwrap_or(Awaiting {
            names: BTreeSet::new(),
            from,
            until: now,
        });
        awaiting.until = now + TIMEOUT;
        for name in response.set_names().cloned() {
            if cache.find(ResourceType::Endpoints, &name).is_none() {
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

    fn endpoints(&mut self, cache: &Cache) -> Option<Response> {
        let response = self.response(ResourceType::Endpoints, ChangeSet::Sets, cache)?;
        response
            .set_names()
            .for_each(|name| self.no_longer_await(name));
        Some(response)
    }

    fn no_longer_await(&mut self, name: &str) {
        if let Some(awaiting) = &mut self.awaiting {
            awaiting.names.remove(name);
        }
    }

    fn routing(&mut self, cache: &Cache) -> Option<Response> {
        let awaiting = self
            .awaiting
            .as_ref()
            .is_some_and(|awaiting| !awaiting.names.is_empty());
        let clusters = self.subscriptions.get(&ResourceType::Cluster);
        if awaiting || clusters.is_some_and(|clusters| clusters.is_pending(ChangeSet::Sets, cache))
        {
            return None;
        }
        ROUTING
            .into_iter()
            .find_map(|kind| self.response(kind, ChangeSet::Both, cache))
    }

    fn removals(&mut self, cache: &Cache) -> Option<Response> {
        let routing = ROUTING
            .iter()
            .filter_map(|kind| self.subscriptions.get(kind));
        let mut unsettled = routing
            .filter(|routing| routing.is_in_flight() || routing.is_pending(ChangeSet::Both, cache));
        if unsettled.next().is_some() {
            return None;
        }
        if let Some(response) = self.response(ResourceType::Cluster, ChangeSet::Removals, cache) {
            return Some(response);
        }
        let clusters = self.subscriptions.get(&ResourceType::Cluster);
        // The removal of a cluster makes the client unsubscribe from its endpoints, and nothing is left to remove.
        if clusters.is_some_and(Subscription::is_in_flight) {
            return None;
        }
        self.response(ResourceType::Endpoints, ChangeSet::Removals, cache)
    }

    fn response(&mut self, kind: ResourceType, part: ChangeSet, cache: &Cache) -> Option<Response> {
        let (seed, responses) = (self.seed, &mut self.responses);
        self.subscriptions.get_mut(&kind)?.next(part, cache, || {
            *responses += 1;
            nonce(seed, *responses)
        })
    }
}

/// Names a response, among those of all streams.
fn nonce(seed: u64, response: u64) -> String {
    format!("{seed:x}-{response}")
}

/// The form of the filter that a node asks for. Any that is not known is none.
fn filter_form(node: &Node) -> FilterForm {
    let fields = node.metadata.as_ref().map(|metadata| &metadata.fields);
    let asked = fields.and_then(|fields| fields.get(FILTER_METADATA)?.kind.as_ref());
    match asked {
        Some(Kind::StringValue(form)) if form == MODULE_FORM => FilterForm::Module,
        _ => FilterForm::Wasm,
    }
}

/// The version of a node as Envoy sends it: in numbers.
fn version(node: &Node) -> String {
    let version = match &node.user_agent_version_type {
        Some(UserAgentVersionType::UserAgentBuildVersion(build)) => build.version.as_ref(),
        _ => None,
    };
    version.map_or_else(String::new, |version| {
        format!(
            "{}.{}.{}",
            version.major_number, version.minor_number, version.patch
        )
    })
}
