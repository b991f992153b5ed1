//! Requests of an xDS client, in any order: as bytes, and as answers to what it was sent. Beside it a model says what a client
//! of the delta protocol has, and in the end, when it takes everything, that is what there is.
//!
//! ```text
//!   input:  0 N BYTES     a request, decoded
//!           1 KIND FLAGS  an answer to the last response of this type
//!           2 KIND NAME   something is published
//!           3             whatever there is to send is sent
//!           4 SECONDS     time passes
//! ```
#![no_main]

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use envoy_types::pb::envoy::service::discovery::v3::{
    DeltaDiscoveryRequest, DeltaDiscoveryResponse,
};
use envoy_types::pb::google::rpc::Status;
use libfuzzer_sys::fuzz_target;
use prost::Message;
use sluice_xds_delta::{Acknowledgement, Cache, Client, Encoder, Response};
use sluice_xds_resource::{Change, PROBE, ResourceType, Update, is_probe};

#[path = "xds_requests/model.rs"]
mod model;

use model::{Answer, Model, RETRY};

/// The response as a client reads it: a gRPC message, not compressed, with its length.
fn received(response: Response) -> DeltaDiscoveryResponse {
    let pieces = Encoder::new(response).expect("a message of less than 4 GiB");
    let bytes: Vec<u8> = pieces.flatten().collect();
    let (head, message) = bytes.split_at(5);
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
    assert_eq!((head[0], length as usize), (0, message.len()));
    DeltaDiscoveryResponse::decode(message).expect("a message that can be read")
}

/// A port may be free later, and nothing else depends on the time.
fn is_retried(kind: ResourceType, name: &str) -> bool {
    kind == ResourceType::Listener && !is_probe(name)
}

/// One client, and what there is to serve.
struct Machine {
    client: Client,
    cache: Cache,
}

impl Machine {
    fn new() -> Self {
        let mut cache = Cache::default();
        let complete = ResourceType::ALL.into_iter().collect();
        let changes = BTreeMap::new();
        let difference = cache.difference(Update { changes, complete });
        cache.apply(difference);
        Machine {
            client: Client::new(cache.generation(), 7),
            cache,
        }
    }

    fn publish(&mut self, kind: ResourceType, name: &str, bytes: Option<Vec<u8>>) {
        let change = bytes.map_or(Change::Remove, Change::Set);
        let changes = [((kind, name.into()), change)].into();
        let difference = self.cache.difference(Update {
            changes,
            ..Update::default()
        });
        self.cache.apply(difference);
    }

    /// Sends a request; of an answer: what it is, and the number of resources.
    fn request(
        &mut self,
        kind: ResourceType,
        request: &DeltaDiscoveryRequest,
    ) -> Option<(Answer, usize)> {
        match self.client.request(kind, request, &self.cache) {
            Ok(Acknowledgement::Accepted(sent)) => Some((Answer::Accepted, sent.len())),
            Ok(Acknowledgement::Refused(sent)) => Some((Answer::Refused, sent.len())),
            Ok(Acknowledgement::RefusedAgain(sent)) => Some((Answer::RefusedAgain, sent.len())),
            Ok(Acknowledgement::None) => None,
            Err(error) => panic!("few names, and still: {error}"),
        }
    }

    fn nothing(&mut self, request: &DeltaDiscoveryRequest) -> Option<DeltaDiscoveryResponse> {
        self.client.nothing(request).map(received)
    }

    fn next(&mut self, now: Instant) -> Option<DeltaDiscoveryResponse> {
        let response = self.client.next(&self.cache, now);
        let settled = self.client.progress(&self.cache).settled;
        assert!(settled <= self.cache.generation());
        assert!(self.client.node().len() <= 2048);
        response.map(received)
    }

    /// All of it is answered.
    fn is_settled(&self) -> bool {
        self.client.progress(&self.cache).settled == self.cache.generation()
    }

    /// The client's answer about the probe as it is now.
    fn probed(&self) -> Option<bool> {
        self.client.progress(&self.cache).probes[0].map(|probed| probed.is_accepted)
    }

    fn version(&self, kind: ResourceType, name: &str) -> Option<String> {
        Some(self.cache.find(kind, name)?.version.to_string())
    }

    fn names(&self, kind: ResourceType) -> Vec<String> {
        let all = self.cache.versions().filter(|(it, _, _)| *it == kind);
        all.map(|(_, name, _)| name.to_string()).collect()
    }
}

struct World {
    machine: Machine,
    models: BTreeMap<ResourceType, Model>,
    now: Instant,
}

impl World {
    fn request(&mut self, request: &DeltaDiscoveryRequest) {
        let Some(kind) = ResourceType::from_type_url(&request.type_url) else {
            if let Some(response) = self.machine.nothing(request) {
                assert!(
                    response.resources.is_empty(),
                    "of a type that we do not serve"
                );
            }
            return;
        };
        let is_first = !self.models.contains_key(&kind);
        let model = self.models.entry(kind).or_default();
        let waiting = model
            .waiting
            .take_if(|waiting| !is_first && waiting.nonce == request.response_nonce);
        let verdict = self.machine.request(kind, request);
        let accepted = request.error_detail.is_none();
        let sent =
            |sent: &DeltaDiscoveryResponse| sent.resources.len() + sent.removed_resources.len();
        let expected = waiting.map(|waiting| {
            let sent = sent(&waiting);
            (model.answered(waiting, accepted, self.now), sent)
        });
        assert_eq!(verdict, expected, "what an answer means");
        let lists = matches!(
            kind,
            ResourceType::Cluster | ResourceType::Listener | ResourceType::Scope
        );
        model.all |= is_first && lists && request.resource_names_subscribe.is_empty();
        model.take(request);
        if is_first {
            let kept = request
                .initial_resource_versions
                .iter()
                .filter(|(name, _)| model.wants(name));
            model.has = kept
                .map(|(name, version)| (name.clone(), version.clone()))
                .collect();
        }
    }

    /// Everything that can be sent without an answer.
    fn send(&mut self) {
        for _ in 0..=ResourceType::ALL.len() {
            let Some(response) = self.machine.next(self.now) else {
                return;
            };
            let kind = ResourceType::from_type_url(&response.type_url).expect("a type of ours");
            let model = self
                .models
                .get_mut(&kind)
                .expect("a type that was asked for");
            assert!(model.waiting.is_none(), "two responses of {kind} at once");
            for resource in &response.resources {
                assert!(
                    model.wants(&resource.name),
                    "nobody has asked for {kind} {}",
                    resource.name
                );
                assert_eq!(
                    Some(&resource.version),
                    self.machine.version(kind, &resource.name).as_ref()
                );
                let refused = model.refused.get(&resource.name);
                let refused = refused.filter(|refused| refused.version == resource.version);
                assert!(
                    refused.is_none_or(|refused| {
                        is_retried(kind, &resource.name) && self.now >= refused.at + RETRY
                    }),
                    "{kind} {} was refused alone",
                    resource.name
                );
            }
            for name in &response.removed_resources {
                let is_there = model.wants(name) && self.machine.version(kind, name).is_some();
                assert!(!is_there, "{kind} {name} is there, and is said to be gone");
            }
            model.waiting = Some(response);
        }
        panic!("one response of each type is in flight at most");
    }

    fn answer(&mut self, kind: ResourceType, accepted: bool) {
        let Some(response) = self
            .models
            .get(&kind)
            .and_then(|model| model.waiting.as_ref())
        else {
            return;
        };
        let is_probe =
            response.resources.iter().any(|it| it.name == PROBE) && kind == ResourceType::Route;
        let alone = response.resources.len() == 1 && response.removed_resources.is_empty();
        let version = response.resources.first().map(|it| it.version.clone());
        let request = DeltaDiscoveryRequest {
            type_url: kind.type_url(),
            response_nonce: response.nonce.clone(),
            error_detail: (!accepted).then(Status::default),
            ..DeltaDiscoveryRequest::default()
        };
        self.request(&request);
        let is_current = version == self.machine.version(kind, PROBE);
        if is_probe && alone && is_current && self.models[&kind].wants(PROBE) {
            assert_eq!(self.machine.probed(), Some(accepted), "of the probe");
        }
    }

    /// A client that takes everything has everything in the end.
    fn settle(&mut self) {
        self.now += Duration::from_secs(3600);
        for _ in 0..2000 {
            self.send();
            let waiting: Vec<ResourceType> = self
                .models
                .iter()
                .filter(|(_, model)| model.waiting.is_some())
                .map(|(kind, _)| *kind)
                .collect();
            if waiting.is_empty() {
                self.now += Duration::from_secs(3600);
                self.send();
                if self.models.values().all(|model| model.waiting.is_none()) {
                    return self.check();
                }
            }
            for kind in waiting {
                self.answer(kind, true);
            }
        }
        panic!("it never ends");
    }

    fn check(&self) {
        assert!(
            self.machine.is_settled(),
            "nothing is sent, and something is waited for"
        );
        for (kind, model) in &self.models {
            let there: BTreeSet<String> = self.machine.names(*kind).into_iter().collect();
            for name in there.iter().filter(|name| model.wants(name)) {
                let version = self.machine.version(*kind, name);
                let is_known = model.has.get(name) == version.as_ref();
                let refused = model.refused.get(name).map(|refused| &refused.version);
                assert!(
                    is_known || refused == version.as_ref() && !is_retried(*kind, name),
                    "{kind} {name} is not sent"
                );
            }
            for name in model.has.keys() {
                let kept = model.refused.get(name);
                let kept = kept.is_some_and(|kept| kept.version.is_empty());
                assert!(
                    there.contains(name) || kept && !is_retried(*kind, name),
                    "{kind} {name} is not taken away"
                );
            }
        }
    }
}

const NAMES: [&str; 6] = ["a", "b", "c", "d/web/80", "sluice_probe", "*.test"];

fn step(world: &mut World, op: u8, input: &mut &[u8]) -> Option<()> {
    let mut byte = || {
        let (first, rest) = input.split_first()?;
        *input = rest;
        Some(*first)
    };
    match op % 5 {
        0 => {
            let length = usize::from(byte()?).min(input.len());
            let (request, rest) = input.split_at(length);
            *input = rest;
            if let Ok(request) = DeltaDiscoveryRequest::decode(request) {
                world.request(&request);
            }
        }
        1 => {
            let (kind, accepted) = (byte()?, byte()? % 2 == 0);
            world.answer(
                ResourceType::ALL[usize::from(kind) % ResourceType::ALL.len()],
                accepted,
            );
        }
        2 => {
            let (kind, what) = (byte()?, byte()?);
            let kind = ResourceType::ALL[usize::from(kind) % ResourceType::ALL.len()];
            let (name, content) = (NAMES[usize::from(what) % NAMES.len()], what / 16);
            // Some are so large that a response has room for two of them.
            let size = if content == 15 {
                600_000
            } else {
                usize::from(content)
            };
            let content = (content > 0).then(|| vec![b'x'; size]);
            let model = world.models.get_mut(&kind);
            let before = world.machine.version(kind, name);
            world.machine.publish(kind, name, content);
            // What changes is tried again.
            if let Some(model) = model.filter(|_| world.machine.version(kind, name) != before) {
                model.refused.remove(name);
            }
        }
        3 => world.send(),
        _ => world.now += Duration::from_secs(byte()?.into()),
    }
    Some(())
}

fuzz_target!(|data: &[u8]| {
    let mut world = World {
        machine: Machine::new(),
        models: BTreeMap::new(),
        now: Instant::now(),
    };
    let mut input = data;
    while let Some((&op, rest)) = input.split_first() {
        input = rest;
        if step(&mut world, op, &mut input).is_none() {
            break;
        }
    }
    world.settle();
});
