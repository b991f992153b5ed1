//! The index that pages look things up in: made of a translation when a page asks first, and kept until there is another one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use sluice_ir::{Config, HttpRoute, Server, ServerName};
use sluice_translate::{Kind, ObjectKey, Report, Severity, Snapshot};
use sluice_xds_server::Stats;

use crate::{Dashboard, Traffic};

/// The dashboard with its index.
pub(crate) struct Indexed {
    pub(crate) dashboard: Dashboard,
    last: Mutex<Option<Arc<Index>>>,
}

/// A translation by Ingress.
pub(crate) struct Index {
    pub(crate) snapshot: Arc<Snapshot>,
    /// All with a route or a report.
    pub(crate) ingresses: BTreeMap<ObjectKey, Ingress>,
}

/// An Ingress: where its routes and its reports are.
#[derive(Default)]
pub(crate) struct Ingress {
    /// Servers, with the places of its routes among theirs.
    pub(crate) routes: BTreeMap<ServerName, Vec<usize>>,
    /// Places of its reports.
    reports: Vec<usize>,
    pub(crate) worst: Option<Severity>,
}

/// Tells one state from another.
pub(crate) struct State {
    snapshot: Arc<Snapshot>,
    answers: Stats,
    requests: u64,
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.is_of_the_same_configuration(other) && self.requests == other.requests
    }
}

impl State {
    /// True if only requests have come.
    pub(crate) fn is_of_the_same_configuration(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.snapshot, &other.snapshot) && self.answers == other.answers
    }
}

impl Indexed {
    pub(crate) fn new(dashboard: Dashboard) -> Self {
        Indexed {
            dashboard,
            last: Mutex::default(),
        }
    }

    /// The index of the current translation.
    pub(crate) fn now(&self) -> Arc<Index> {
        let snapshot = self.dashboard.view.snapshot();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some(index) if Arc::ptr_eq(&index.snapshot, &snapshot) => Arc::clone(index),
            _ => Arc::clone(last.insert(Arc::new(Index::new(snapshot)))),
        }
    }

    pub(crate) fn state(&self) -> State {
        State {
            snapshot: self.dashboard.view.snapshot(),
            answers: self.dashboard.store.stats(),
            requests: self.dashboard.traffic.as_ref().map_or(0, Traffic::requests),
        }
    }
}

impl Index {
    pub(crate) fn new(snapshot: Arc<Snapshot>) -> Self {
        let mut ingresses: BTreeMap<ObjectKey, Ingress> = BTreeMap::new();
        for (name, server) in &snapshot.config().servers {
            for (place, route) in server.routes.iter().enumerate() {
                let Some(owner) = snapshot.owner(&route.id) else {
                    continue;
                };
                let ingress = ingresses.entry(owner.clone()).or_default();
                let routes = ingress.routes.entry(name.clone()).or_default();
                routes.push(place);
            }
        }
        for (place, report) in snapshot.reports().iter().enumerate() {
            if report.object.kind == Kind::Ingress {
                let ingress = ingresses.entry(report.object.key.clone()).or_default();
                ingress.reports.push(place);
                ingress.worst = ingress.worst.max(Some(report.severity));
            }
        }
        Index {
            snapshot,
            ingresses,
        }
    }

    pub(crate) fn config(&self) -> &Config {
        self.snapshot.config()
    }

    /// Reports about an Ingress, the worst first.
    pub(crate) fn reports(&self, ingress: &Ingress) -> Vec<&Report> {
        let all = self.snapshot.reports();
        let mut reports: Vec<_> = ingress.reports.iter().filter_map(|n| all.get(*n)).collect();
        reports.sort_by_key(|report| std::cmp::Reverse(report.severity));
        reports
    }

    /// Routes of an Ingress with their hosts.
    pub(crate) fn routes<'a>(
        &'a self,
        ingress: &'a Ingress,
    ) -> impl Iterator<Item = (&'a ServerName, &'a Server, &'a HttpRoute)> {
        let servers = &self.config().servers;
        ingress.routes.iter().flat_map(move |(name, places)| {
            let server = servers.get(name);
            let places = places.iter();
            places.filter_map(move |place| {
                let server: &Server = server?;
                Some((name, server, server.routes.get(*place)?))
            })
        })
    }
}
