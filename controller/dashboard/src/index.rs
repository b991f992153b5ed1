//! The index that pages look things up in: made of a translation when a page asks first, and kept until there is another one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use sluice_dataplane::nginx::Running;
use sluice_ir::{Action, BackendId, Canary, Config, HttpRoute, Server, ServerName};
use sluice_translate::{Kind, ObjectKey, Report, Severity, Snapshot, ids, is_same_canary};
use sluice_xds_server::Stats;

use crate::starts::Starts;
use crate::{Dashboard, Traffic};

/// The dashboard with its index.
pub(crate) struct Indexed {
    pub(crate) dashboard: Dashboard,
    pub(crate) starts: Starts,
    created: Instant,
    last: Mutex<Option<Arc<Index>>>,
    /// Held while a request is explained.
    pub(crate) explaining: tokio::sync::Mutex<()>,
}

/// A translation by Ingress.
pub(crate) struct Index {
    pub(crate) snapshot: Arc<Snapshot>,
    /// All with a route, a canary or a report.
    pub(crate) ingresses: BTreeMap<ObjectKey, Ingress>,
}

/// An Ingress: where its routes and its reports are.
#[derive(Default)]
pub(crate) struct Ingress {
    /// Servers, with the places of its routes among theirs, and of those that it is a canary of.
    pub(crate) routes: BTreeMap<ServerName, Vec<usize>>,
    pub(crate) all_routes: usize,
    /// Those that answer 503 to everybody.
    pub(crate) closed_routes: usize,
    pub(crate) is_canary: bool,
    /// Places of its reports.
    pub(crate) reports: Vec<usize>,
    pub(crate) worst: Option<Severity>,
    pub(crate) has_errors: bool,
    pub(crate) has_warnings: bool,
}

impl Ingress {
    fn add_route(&mut self, server: &ServerName, place: usize, route: &HttpRoute) {
        let routes = self.routes.entry(server.clone()).or_default();
        // Several canaries of one Ingress.
        if routes.last() == Some(&place) {
            return;
        }
        routes.push(place);
        self.all_routes += 1;
        self.closed_routes += usize::from(route.action == Action::Denied);
    }

    fn add_report(&mut self, place: usize, severity: Severity) {
        self.reports.push(place);
        self.worst = self.worst.max(Some(severity));
        self.has_errors |= severity == Severity::Error;
        self.has_warnings |= severity == Severity::Warning;
    }
}

/// Tells one state from another.
pub(crate) struct State {
    snapshot: Arc<Snapshot>,
    answers: Stats,
    /// Configurations that nginx has loaded, and whether it has refused one.
    loaded: (u64, bool),
    requests: u64,
    /// The second, while endpoints count the seconds until they are as others.
    second: Option<u64>,
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.is_of_the_same_configuration(other)
            && (self.requests, self.second) == (other.requests, other.second)
    }
}

impl State {
    /// True if only requests have come, or time has passed.
    pub(crate) fn is_of_the_same_configuration(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.snapshot, &other.snapshot)
            && (self.answers, self.loaded) == (other.answers, other.loaded)
    }
}

impl Indexed {
    pub(crate) fn new(dashboard: Dashboard) -> Self {
        Indexed {
            dashboard,
            starts: Starts::default(),
            created: Instant::now(),
            last: Mutex::default(),
            explaining: tokio::sync::Mutex::default(),
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
        let (now, traffic) = (Instant::now(), self.dashboard.traffic.as_ref());
        let counts_down =
            self.starts.has_some(now) || traffic.is_some_and(|traffic| traffic.has_ejected(now));
        State {
            snapshot: self.dashboard.view.snapshot(),
            answers: self.dashboard.store.stats(),
            loaded: match self.dashboard.nginx.as_ref().map(Running::load) {
                Some(load) => (load.count, load.refused.is_some()),
                None => (0, false),
            },
            requests: traffic.map_or(0, Traffic::requests),
            second: counts_down.then(|| (now - self.created).as_secs()),
        }
    }
}

impl Index {
    pub(crate) fn new(snapshot: Arc<Snapshot>) -> Self {
        let mut ingresses: BTreeMap<ObjectKey, Ingress> = BTreeMap::new();
        let mut canaries: BTreeMap<BackendId, Vec<&(ObjectKey, Canary)>> = BTreeMap::new();
        for canary in snapshot.canaries() {
            let of_backend = canaries.entry(canary.1.backend.clone()).or_default();
            of_backend.push(canary);
            ingresses.entry(canary.0.clone()).or_default().is_canary = true;
        }
        for (name, server) in &snapshot.config().servers {
            for (place, route) in server.routes.iter().enumerate() {
                let owner = snapshot.owner(&route.id);
                let asked = route.canaries.iter().flat_map(|canary| {
                    let port = ids::without_variant(&canary.backend);
                    let of_backend = canaries.get(&port).into_iter().flatten();
                    let of_it = of_backend.filter(move |(_, asked)| is_same_canary(canary, asked));
                    of_it.map(|(key, _)| key)
                });
                for key in owner.into_iter().chain(asked) {
                    let ingress = ingresses.entry(key.clone()).or_default();
                    ingress.add_route(name, place, route);
                }
            }
        }
        for (place, report) in snapshot.reports().iter().enumerate() {
            if report.object.kind == Kind::Ingress {
                let ingress = ingresses.entry(report.object.key.clone()).or_default();
                ingress.add_report(place, report.severity);
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

    /// Routes of an Ingress, and those that it is a canary of, with their hosts.
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
