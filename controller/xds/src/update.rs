//! What to publish: resources to set and to remove, in the steps in which that is safe.
//!
//! ```text
//!   arrivals    clusters and endpoints that are new       ... before a route or the filter names them
//!   routing     listener, routes, filter
//!   farewells   clusters and endpoints that are gone      ... after nothing names them any more
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use prost::Message;
use sluice_ir::{Backend, BackendId, Changed, Config, changed};

use crate::render::{self, DEFAULT_CERTIFICATE, Discovery, FILTER, HTTP, HTTPS, Routes, SCOPE_FILTER};
use crate::settings::TRACES_CLUSTER;
use crate::{Name, ResourceType, Settings};

/// A step of a publication.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Update {
    pub(crate) changes: BTreeMap<(ResourceType, Name), Change>,
    pub(crate) complete: BTreeSet<ResourceType>,
}

/// What becomes of one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Set(Vec<u8>),
    Remove,
    /// As it is; takes back a removal that it is merged over.
    Keep,
}

impl Update {
    /// What must be there before the routes of `now` are: its new clusters, and for the changed ones the endpoints of
    /// both configurations, because the filter goes on choosing the old ones for a while.
    #[must_use]
    pub fn arrivals(before: &Config, now: &Config) -> Self {
        let mut update = Update::complete_for([ResourceType::Cluster, ResourceType::Endpoints]);
        for (id, value) in now.secrets.iter().filter(|(id, value)| before.secrets.get(id) != Some(value)) {
            update.put(ResourceType::Secret, id.as_str(), &render::named_secret(id.as_str(), value));
        }
        if let Some(tracing) =
            now.edge.tracing.as_ref().filter(|now| Some(*now) != before.edge.tracing.as_ref())
        {
            update.put(ResourceType::Cluster, TRACES_CLUSTER, &render::collector(&tracing.collector));
        }
        for Changed { name: id, before: old, now } in changed(&before.backends, &now.backends) {
            let Some(backend) = now else { continue };
            let cluster = render::cluster(id, backend);
            update.put(ResourceType::Cluster, id.as_str(), &cluster);
            let both = old.map(|old| old.with_endpoints_of(backend));
            update.endpoints(id, both.as_ref().unwrap_or(backend));
        }
        update
    }

    /// The listeners with their certificates, all routes and the filter.
    #[must_use]
    pub fn routing(config: &Config, settings: &Settings) -> Self {
        Update::routing_with(&mut Routes::default(), config, settings, Instant::now())
    }

    /// The same, with what is remembered of the hosts that have not changed.
    #[must_use]
    pub fn routing_with(routes: &mut Routes, config: &Config, settings: &Settings, now: Instant) -> Self {
        let mut update = Update::complete_for([
            ResourceType::Listener,
            ResourceType::Route,
            ResourceType::Scope,
            ResourceType::Secret,
            ResourceType::Extension,
        ]);
        let discovery = routes.publish(config, settings, now, &mut update);
        match render::listener(&config.edge, settings, discovery) {
            Some(listener) => update.put(ResourceType::Listener, HTTP, &listener),
            None => update.remove(ResourceType::Listener, HTTP),
        }
        match render::tls_listener(config, settings, discovery) {
            Some(listener) => update.put(ResourceType::Listener, HTTPS, &listener),
            None => update.remove(ResourceType::Listener, HTTPS),
        }
        for (port, stream) in &config.streams {
            match render::stream(*port, stream, &config.edge, settings) {
                Some(listener) => update.put(ResourceType::Listener, &port.to_string(), &listener),
                None => update.remove(ResourceType::Listener, &port.to_string()),
            }
        }
        if let Some(https) = &settings.https {
            let chosen = config.default_certificate.as_ref().and_then(|id| config.secrets.get(id));
            let chosen = chosen.map(|value| render::named_secret(DEFAULT_CERTIFICATE, value));
            let generated = || render::secret(DEFAULT_CERTIFICATE, &https.default_certificate);
            let secret = chosen.unwrap_or_else(generated);
            update.put(ResourceType::Secret, DEFAULT_CERTIFICATE, &secret);
        }
        update.put(ResourceType::Extension, FILTER, &render::filter(settings));
        if routes.is_in_use(Discovery::Scopes) {
            update.put(ResourceType::Extension, SCOPE_FILTER, &render::scope_filter(settings));
        } else {
            update.remove(ResourceType::Extension, SCOPE_FILTER);
        }
        update
    }

    /// What nothing of `now` names: clusters that are gone, endpoints that left those that stay.
    #[must_use]
    pub fn farewells(before: &Config, now: &Config) -> Self {
        let mut update = Update::default();
        for port in before.streams.keys().filter(|port| !now.streams.contains_key(port)) {
            update.remove(ResourceType::Listener, &port.to_string());
        }
        for port in now.streams.keys().filter(|port| !before.streams.contains_key(port)) {
            update.change(ResourceType::Listener, &port.to_string(), Change::Keep);
        }
        for id in before.secrets.keys().filter(|id| !now.secrets.contains_key(id)) {
            update.remove(ResourceType::Secret, id.as_str());
        }
        for id in now.secrets.keys().filter(|id| !before.secrets.contains_key(id)) {
            update.change(ResourceType::Secret, id.as_str(), Change::Keep);
        }
        match (&before.edge.tracing, &now.edge.tracing) {
            (Some(_), None) => update.remove(ResourceType::Cluster, TRACES_CLUSTER),
            (None, Some(_)) => update.change(ResourceType::Cluster, TRACES_CLUSTER, Change::Keep),
            _ => {}
        }
        for Changed { name: id, now, .. } in changed(&before.backends, &now.backends) {
            let Some(backend) = now else {
                update.remove(ResourceType::Cluster, id.as_str());
                update.remove(ResourceType::Endpoints, id.as_str());
                continue;
            };
            // It may have been gone, and an older farewell may still wait to be said.
            update.change(ResourceType::Cluster, id.as_str(), Change::Keep);
            update.endpoints(id, backend);
        }
        update
    }

    /// Sets the endpoints of one backend; its cluster is there already.
    pub fn endpoints(&mut self, id: &BackendId, backend: &Backend) {
        if backend.outside.is_some() {
            return self.remove(ResourceType::Endpoints, id.as_str());
        }
        self.put(ResourceType::Endpoints, id.as_str(), &render::load_assignment(id, &backend.endpoints));
    }

    /// Sets one resource to an encoded message, whatever it is.
    pub fn set(&mut self, kind: ResourceType, name: &str, bytes: Vec<u8>) {
        self.change(kind, name, Change::Set(bytes));
    }

    /// Removes one resource.
    pub fn remove(&mut self, kind: ResourceType, name: &str) {
        self.change(kind, name, Change::Remove);
    }

    /// Adds a later update; where both say something, the later one holds.
    pub fn merge(&mut self, later: Update) {
        self.changes.extend(later.changes);
        self.complete.extend(later.complete);
    }

    /// Once an update that is complete for a type was applied, what the store does not have does not exist. Before,
    /// nobody is told anything about that type: a controller that has just started must not take an Envoy's
    /// configuration away.
    fn complete_for(types: impl IntoIterator<Item = ResourceType>) -> Self {
        Update { complete: types.into_iter().collect(), ..Update::default() }
    }

    fn put(&mut self, kind: ResourceType, name: &str, message: &impl Message) {
        self.set(kind, name, message.encode_to_vec());
    }

    fn change(&mut self, kind: ResourceType, name: &str, change: Change) {
        self.changes.insert((kind, name.into()), change);
    }
}

#[cfg(test)]
mod tests {
    use sluice_ir::{Collector, Endpoint, Tracing};

    use super::*;

    fn config(backends: &[(&str, &[&str])]) -> Config {
        let backend = |endpoints: &[&str]| Backend {
            endpoints: endpoints.iter().map(|text| Endpoint::at(text.parse().unwrap())).collect(),
            ..Backend::default()
        };
        let backends = backends.iter().map(|(name, endpoints)| {
            (BackendId::new("d", name, 80), std::sync::Arc::new(backend(endpoints)))
        });
        Config { backends: backends.collect(), ..Config::default() }
    }

    fn arrivals(before: &Config, now: &Config) -> Update {
        Update::arrivals(before, now)
    }

    fn names(update: &Update) -> Vec<String> {
        update.changes.keys().map(|(kind, name)| format!("{kind} {name}")).collect()
    }

    fn endpoints(update: &Update, name: &str) -> Option<Change> {
        update.changes.get(&(ResourceType::Endpoints, name.into())).cloned()
    }

    const POD: &str = "10.0.0.1:80";
    const OTHER: &str = "10.0.0.2:80";

    #[test]
    fn one_changed_backend_renders_that_backend_only() {
        let before = config(&[("a", &[POD]), ("b", &[POD])]);
        let now = config(&[("a", &[POD]), ("b", &[OTHER])]);
        assert_eq!(names(&arrivals(&before, &now)), ["cluster d/b/80", "endpoints d/b/80"]);
        assert_eq!(arrivals(&now, &now).changes.len(), 0);
    }

    #[test]
    fn endpoints_that_leave_stay_until_the_farewell() {
        let (before, now) = (config(&[("a", &[POD])]), config(&[("a", &[OTHER])]));
        let both = arrivals(&Config::default(), &config(&[("a", &[POD, OTHER])]));
        assert_eq!(endpoints(&arrivals(&before, &now), "d/a/80"), endpoints(&both, "d/a/80"));
        let last = arrivals(&Config::default(), &now);
        assert_eq!(endpoints(&Update::farewells(&before, &now), "d/a/80"), endpoints(&last, "d/a/80"));
    }

    #[test]
    fn a_backend_that_comes_back_takes_its_farewell_back() {
        let (with, without) = (config(&[("a", &[POD])]), config(&[]));
        let mut farewell = Update::farewells(&with, &without);
        assert_eq!(endpoints(&farewell, "d/a/80"), Some(Change::Remove));
        farewell.merge(Update::farewells(&without, &with));
        assert!(!farewell.changes.values().any(|change| *change == Change::Remove), "{farewell:?}");
    }

    #[test]
    fn the_cluster_of_a_collector_comes_before_its_spans_and_leaves_after_them() {
        let traced = |host: &str| {
            let collector = Collector { host: host.to_owned(), port: 4317 };
            let mut config = Config::default();
            config.edge.tracing = Some(Tracing::to(collector));
            config
        };
        let (with, without) = (traced("a.test"), Config::default());
        assert_eq!(names(&arrivals(&without, &with)), ["cluster sluice_otlp"]);
        assert_eq!(names(&arrivals(&with, &traced("b.test"))), ["cluster sluice_otlp"]);
        assert!(arrivals(&with, &with).changes.is_empty());
        let mut farewell = Update::farewells(&with, &without);
        assert!(farewell.changes.values().all(|change| *change == Change::Remove), "{farewell:?}");
        farewell.merge(Update::farewells(&without, &with));
        assert!(farewell.changes.values().all(|change| *change == Change::Keep), "{farewell:?}");
    }
}
