//! One client's memory: what it has, what it is subscribed to, and what it says next. Pure.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use envoy_types::pb::envoy::config::core::v3::Node;
use envoy_types::pb::envoy::service::discovery::v3::DeltaDiscoveryRequest;

use super::kind::Kind;
use super::references;

type Name = Arc<str>;

/// Texts that clients share: all of them have the same names and versions.
#[derive(Debug, Default)]
pub(super) struct Names(Mutex<HashSet<Name>>);

impl Names {
    fn share(&self, text: &str) -> Name {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.get(text) {
            return Arc::clone(known);
        }
        let new = Name::from(text);
        all.insert(Arc::clone(&new));
        new
    }
}

/// A resource that it has.
#[derive(Debug)]
struct Held {
    version: Name,
    leads_to: Box<[(Kind, Name)]>,
}

/// All that one client knows, across its streams.
#[derive(Debug)]
pub(super) struct Holdings {
    node: String,
    names: Arc<Names>,
    held: [HashMap<Name, Held>; Kind::ALL.len()],
    subscribed: [bool; Kind::ALL.len()],
    /// Names that resources lead to, and how many do.
    wanted: [HashMap<Name, u32>; Kind::ALL.len()],
    /// Subscriptions that are to begin (`true`) or to end.
    changes: BTreeMap<(Kind, Name), bool>,
    missing: usize,
}

impl Holdings {
    /// Nothing yet.
    pub(super) fn new(node: String, names: Arc<Names>) -> Holdings {
        let mut subscribed = [false; Kind::ALL.len()];
        subscribed[Kind::Cluster as usize] = true;
        Holdings {
            node,
            names,
            held: Default::default(),
            subscribed,
            wanted: Default::default(),
            changes: BTreeMap::new(),
            missing: 0,
        }
    }

    /// How many resources of each kind it has.
    pub(super) fn counts(&self) -> [usize; Kind::ALL.len()] {
        Kind::ALL.map(|kind| self.held[kind as usize].len())
    }

    /// Names that it is subscribed to and does not have.
    pub(super) fn missing(&self) -> usize {
        self.missing
    }

    /// The first requests of a stream: its subscriptions, with the versions that it has.
    pub(super) fn open(&mut self) -> Vec<DeltaDiscoveryRequest> {
        self.changes.clear();
        let subscribed = Kind::ALL
            .into_iter()
            .filter(|kind| self.subscribed[*kind as usize]);
        let mut requests: Vec<DeltaDiscoveryRequest> =
            subscribed.map(|kind| self.subscription(kind)).collect();
        if let Some(first) = requests.first_mut() {
            first.node = Some(Node {
                id: self.node.clone(),
                ..Node::default()
            });
        }
        requests
    }

    fn subscription(&self, kind: Kind) -> DeltaDiscoveryRequest {
        let names = self.wanted[kind as usize].keys();
        let names = names.filter(|_| !kind.is_wildcard());
        let held = self.held[kind as usize].iter();
        DeltaDiscoveryRequest {
            type_url: kind.type_url(),
            resource_names_subscribe: names.map(ToString::to_string).collect(),
            initial_resource_versions: held
                .map(|(name, held)| (name.to_string(), held.version.to_string()))
                .collect(),
            ..DeltaDiscoveryRequest::default()
        }
    }

    /// A resource came.
    pub(super) fn set(&mut self, kind: Kind, name: &str, version: &str, body: &[u8]) -> Result<()> {
        let is_asked_for = kind.is_wildcard() || self.wanted[kind as usize].contains_key(name);
        ensure!(
            self.subscribed[kind as usize] && is_asked_for,
            "{kind:?} {name} came, and it was not asked for"
        );
        let leads_to = references::of(kind, name, body)
            .with_context(|| format!("{kind:?} {name}"))?
            .into_iter()
            .map(|(kind, name)| (kind, self.names.share(&name)))
            .collect();
        let held = Held {
            version: self.names.share(version),
            leads_to,
        };
        let new: Vec<(Kind, Name)> = held.leads_to.to_vec();
        let before = self.held[kind as usize].insert(self.names.share(name), held);
        if before.is_none() && !kind.is_wildcard() {
            self.missing -= 1;
        }
        for (kind, name) in new {
            self.lead_to(kind, name);
        }
        self.release(before);
        Ok(())
    }

    /// A resource is gone, or was never there.
    pub(super) fn remove(&mut self, kind: Kind, name: &str) {
        let before = self.held[kind as usize].remove(name);
        if before.is_some() && !kind.is_wildcard() {
            self.missing += 1;
        }
        self.release(before);
    }

    /// A response is over: its ACK, and what it makes the client ask for.
    pub(super) fn end(&mut self, kind: Kind, nonce: &str) -> Vec<DeltaDiscoveryRequest> {
        let ack = DeltaDiscoveryRequest {
            type_url: kind.type_url(),
            response_nonce: nonce.to_owned(),
            ..DeltaDiscoveryRequest::default()
        };
        let mut requests = vec![ack];
        let mut changes: BTreeMap<Kind, DeltaDiscoveryRequest> = BTreeMap::new();
        for ((kind, name), begins) in std::mem::take(&mut self.changes) {
            let request = changes
                .entry(kind)
                .or_insert_with(|| DeltaDiscoveryRequest {
                    type_url: kind.type_url(),
                    ..DeltaDiscoveryRequest::default()
                });
            let whole = if kind.is_wildcard() { "*" } else { &name };
            match begins {
                true => request.resource_names_subscribe.push(whole.to_owned()),
                false => request.resource_names_unsubscribe.push(whole.to_owned()),
            }
            self.subscribed[kind as usize] |= begins;
        }
        requests.extend(changes.into_values());
        // An Envoy asks for listeners when its first clusters are warm.
        if !self.subscribed[Kind::Listener as usize] && self.missing == 0 {
            self.subscribed[Kind::Listener as usize] = true;
            requests.push(self.subscription(Kind::Listener));
        }
        requests
    }

    fn lead_to(&mut self, kind: Kind, name: Name) {
        let count = self.wanted[kind as usize]
            .entry(Arc::clone(&name))
            .or_default();
        *count += 1;
        if *count == 1 {
            if !kind.is_wildcard() {
                self.missing += 1;
            }
            self.changes.insert((kind, name), true);
        }
    }

    /// Nothing leads from this resource any more.
    fn release(&mut self, before: Option<Held>) {
        let Some(before) = before else { return };
        for (kind, name) in before.leads_to {
            let wanted = &mut self.wanted[kind as usize];
            let Some(count) = wanted.get_mut(&name) else {
                continue;
            };
            *count -= 1;
            if *count > 0 {
                continue;
            }
            wanted.remove(&name);
            self.forget(kind, &name);
            self.changes.insert((kind, name), false);
        }
    }

    /// A subscription ends.
    fn forget(&mut self, kind: Kind, name: &str) {
        if !kind.is_wildcard() {
            if self.held[kind as usize].remove(name).is_none() {
                self.missing -= 1;
            }
            return;
        }
        self.subscribed[kind as usize] = false;
        let all = std::mem::take(&mut self.held[kind as usize]);
        all.into_values().for_each(|held| self.release(Some(held)));
    }
}

#[cfg(test)]
mod tests {
    use envoy_types::pb::envoy::config::cluster::v3::Cluster;
    use envoy_types::pb::envoy::config::cluster::v3::cluster::{
        ClusterDiscoveryType, DiscoveryType,
    };
    use prost::Message;

    use super::*;

    fn client() -> Holdings {
        Holdings::new("one".to_owned(), Arc::default())
    }

    fn cluster(kind: DiscoveryType) -> Vec<u8> {
        let cluster = Cluster {
            cluster_discovery_type: Some(ClusterDiscoveryType::Type(kind.into())),
            ..Cluster::default()
        };
        cluster.encode_to_vec()
    }

    /// `Endpoints ack=n1 +a -b a@1`
    fn text(requests: &[DeltaDiscoveryRequest]) -> Vec<String> {
        let one = |request: &DeltaDiscoveryRequest| {
            let kind = Kind::from_type_url(request.type_url.as_bytes()).unwrap();
            let ack = match request.response_nonce.as_str() {
                "" => String::new(),
                nonce => format!(" ack={nonce}"),
            };
            let node = request.node.as_ref().map_or("", |_| " node");
            let mut parts = Vec::new();
            parts.extend(
                request
                    .resource_names_subscribe
                    .iter()
                    .map(|n| format!(" +{n}")),
            );
            parts.extend(
                request
                    .resource_names_unsubscribe
                    .iter()
                    .map(|n| format!(" -{n}")),
            );
            let had = request.initial_resource_versions.iter();
            parts.extend(had.map(|(name, version)| format!(" {name}@{version}")));
            parts.sort();
            format!("{kind:?}{node}{ack}{}", parts.concat())
        };
        requests.iter().map(one).collect()
    }

    /// Has the cluster `a` and its endpoints.
    fn warm() -> Holdings {
        let mut client = client();
        assert_eq!(text(&client.open()), ["Cluster node"]);
        client
            .set(Kind::Cluster, "a", "1", &cluster(DiscoveryType::Eds))
            .unwrap();
        assert_eq!(
            text(&client.end(Kind::Cluster, "n1")),
            ["Cluster ack=n1", "Endpoints +a"]
        );
        assert_eq!(client.missing(), 1);
        client.set(Kind::Endpoints, "a", "2", b"").unwrap();
        client
    }

    #[test]
    fn listeners_are_asked_for_when_clusters_are_warm() {
        let mut client = warm();
        assert_eq!(client.missing(), 0);
        assert_eq!(
            text(&client.end(Kind::Endpoints, "n2")),
            ["Endpoints ack=n2", "Listener"]
        );
        assert_eq!(text(&client.end(Kind::Listener, "n3")), ["Listener ack=n3"]);
        assert_eq!(client.counts()[..3], [1, 1, 0]);
    }

    #[test]
    fn a_stream_begins_with_what_the_one_before_has_left() {
        let mut client = warm();
        client.end(Kind::Endpoints, "n2");
        assert_eq!(
            text(&client.open()),
            ["Cluster node a@1", "Endpoints +a a@2", "Listener"]
        );
    }

    #[test]
    fn a_cluster_that_goes_takes_its_endpoints_along() {
        let mut client = warm();
        client.end(Kind::Endpoints, "n2");
        client.remove(Kind::Cluster, "a");
        assert_eq!(
            text(&client.end(Kind::Cluster, "n3")),
            ["Cluster ack=n3", "Endpoints -a"]
        );
        assert_eq!(
            (client.counts()[..2].to_vec(), client.missing()),
            (vec![0, 0], 0)
        );
    }

    #[test]
    fn a_cluster_that_changes_its_type_is_followed() {
        let mut client = warm();
        client.end(Kind::Endpoints, "n2");
        client
            .set(Kind::Cluster, "a", "3", &cluster(DiscoveryType::Eds))
            .unwrap();
        assert_eq!(text(&client.end(Kind::Cluster, "n3")), ["Cluster ack=n3"]);
        client
            .set(Kind::Cluster, "a", "4", &cluster(DiscoveryType::Static))
            .unwrap();
        assert_eq!(
            text(&client.end(Kind::Cluster, "n4")),
            ["Cluster ack=n4", "Endpoints -a"]
        );
    }

    #[test]
    fn endpoints_that_are_removed_are_missing_and_what_nobody_asked_for_is_an_error() {
        let mut client = warm();
        client.remove(Kind::Endpoints, "a");
        assert_eq!(client.missing(), 1);
        client.remove(Kind::Endpoints, "a");
        assert_eq!(client.missing(), 1);
        let error = client.set(Kind::Endpoints, "b", "1", b"").unwrap_err();
        assert!(error.to_string().contains("Endpoints b"), "{error}");
        assert!(client.set(Kind::Scope, "b", "1", b"").is_err());
    }
}
