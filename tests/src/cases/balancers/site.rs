//! The shipped filter with one route and the backends behind it, and requests to it.

use std::collections::BTreeMap;
use std::num::NonZeroU8;
use std::time::Duration;

use sluice_filter_config::{self as wire, Tables, Version};
use sluice_wasm_host::ContextId;

use super::endpoint::on_the_wire;
use crate::fake::{FakeHost, Filter, Outcome, Personality, ROUTE, Request};

/// The primary backend.
pub(super) const PRIMARY: &str = "ns/primary/80";
/// How long an endpoint takes where nobody asks.
const QUICK: Duration = Duration::from_millis(5);

/// The current tables, and the filter that uses them.
pub(super) struct Site {
    pub(super) filter: Filter,
    pub(super) route: wire::Route,
    pub(super) backends: BTreeMap<String, wire::Backend>,
    published: u128,
}

/// A request that is on its way.
pub(super) struct Sent {
    pub(super) id: ContextId,
    /// The choice and the failover order; empty when the filter did not send it on.
    pub(super) candidates: Vec<String>,
    /// The backend, where there are canaries.
    pub(super) backend: Option<String>,
    /// The status of an answer of the filter's own.
    pub(super) replied: Option<u32>,
}

impl Sent {
    /// The choice.
    pub(super) fn pick(&self) -> String {
        self.candidates.first().cloned().unwrap_or_default()
    }
}

/// A backend with these endpoints and three attempts; round robin, unless it is told otherwise.
pub(super) fn backend(name: &str, addresses: &[String]) -> wire::Backend {
    let attempts = NonZeroU8::new(3).unwrap_or(NonZeroU8::MIN);
    wire::Backend {
        attempts,
        ..wire::Backend::round_robin(name, on_the_wire(addresses))
    }
}

impl Site {
    /// A route that leads to this backend.
    pub(super) fn new(personality: Personality, primary: wire::Backend) -> Site {
        Site::with(
            personality,
            wire::Route::to(PRIMARY),
            [(PRIMARY.to_owned(), primary)].into(),
        )
    }

    /// This route, with everything it needs.
    pub(super) fn with(
        personality: Personality,
        route: wire::Route,
        backends: BTreeMap<String, wire::Backend>,
    ) -> Site {
        Site::on(FakeHost::new(personality), route, backends)
    }

    /// The same on this host. The filter polls, so that later tables reach it the way they do in life.
    pub(super) fn on(
        host: FakeHost,
        route: wire::Route,
        backends: BTreeMap<String, wire::Backend>,
    ) -> Site {
        let mut filter = Filter::on(host);
        let bootstrap_config = filter.bootstrap_config(true);
        assert!(
            filter.configure(&bootstrap_config),
            "the bootstrap configuration: {:?}",
            filter.host().log
        );
        filter.tick();
        let mut site = Site {
            filter,
            route,
            backends,
            published: 0,
        };
        site.publish();
        site
    }

    /// Publishes the described state as tables.
    pub(super) fn publish(&mut self) {
        let routes = [(ROUTE.to_owned(), self.route.clone())].into();
        self.publish_all(routes);
    }

    /// The same with these routes.
    pub(super) fn publish_all(&mut self, routes: BTreeMap<String, wire::Route>) {
        self.published += 1;
        let version = Version::new(1, self.published);
        self.filter.answer_tables(Tables::Snapshot(wire::Snapshot {
            version,
            routes,
            backends: self.backends.clone(),
            hosts: [].into(),
        }));
        if let Some(refused) = self
            .filter
            .host()
            .log
            .iter()
            .find(|line| line.contains("refused"))
        {
            panic!("{refused}");
        }
    }

    /// Replaces the endpoints of the primary backend.
    pub(super) fn scale(&mut self, addresses: &[String]) {
        if let Some(primary) = self.backends.get_mut(PRIMARY) {
            primary.endpoints = on_the_wire(addresses);
        }
        self.publish();
    }

    /// A request with these headers; it stays open.
    pub(super) fn send(&mut self, headers: &[(&str, &str)]) -> Sent {
        self.send_request(Some(ROUTE), request(headers))
    }

    /// Any request to any route.
    pub(super) fn send_request(&mut self, route: Option<&str>, request: Request) -> Sent {
        let (id, outcome) = self.filter.open_request(route, request.to_pods());
        let (candidates, replied) = match outcome {
            Outcome::Forwarded(list) => (list.split(',').map(str::to_owned).collect(), None),
            Outcome::Replied(status) => (Vec::new(), Some(status)),
            Outcome::LeftAlone | Outcome::Paused => (Vec::new(), None),
        };
        Sent {
            id,
            candidates,
            backend: self.filter.host().backend(id),
            replied,
        }
    }

    /// An endpoint answers; says which cookies that sets. The request stays open.
    pub(super) fn respond(&mut self, sent: &Sent, endpoint: &str) -> Vec<String> {
        self.filter
            .answer_client(sent.id, &[(endpoint, 200)], QUICK)
    }

    /// The request is over, and the host forgets it.
    pub(super) fn end(&mut self, sent: &Sent) {
        self.filter.end(sent.id);
        self.filter.vm.env_mut().requests.remove(&sent.id);
    }

    /// A whole request without an answer: where it would go.
    pub(super) fn pick(&mut self, headers: &[(&str, &str)]) -> String {
        let sent = self.send(headers);
        self.end(&sent);
        sent.pick()
    }

    /// So many picks, one after the other.
    pub(super) fn picks(&mut self, requests: usize) -> Vec<String> {
        (0..requests).map(|_| self.pick(&[])).collect()
    }
}

/// A request with these headers.
pub(super) fn request(headers: &[(&str, &str)]) -> Request {
    let headers = headers
        .iter()
        .map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()));
    Request {
        headers: headers.collect(),
        ..Request::default()
    }
}
