//! The filter with averages, and a way to see them.

use std::time::Duration;

use sluice_filter_config::{self as wire, LoadBalance};
use sluice_filter_core::attempts;

use super::super::site::{PRIMARY, Site, backend};
use super::words::Given;
use crate::fake::{Personality, nginx_lists};

/// Compared with the others to see their averages; no case names it.
const PROBE: &str = "192.0.2.1:9";
/// How near an average must be to what is expected of it.
const PRECISION: f64 = 1e-6;

/// A backend with everything that a case says of it.
pub(super) struct World {
    pub(super) site: Site,
    now: f64,
}

/// The end of a request as the host reports it, in nginx's words.
#[derive(Clone, Debug, Default)]
pub(super) struct Completion {
    pub(super) addresses: String,
    pub(super) connect: String,
    pub(super) response: String,
}

impl World {
    /// These endpoints, with the stored averages of the case: each took that long when it was touched.
    pub(super) fn new(personality: Personality, given: &Given, addresses: &[String]) -> World {
        let primary = backend("ns-primary-80", addresses);
        let primary = wire::Backend {
            load_balance: LoadBalance::named("ewma"),
            ..primary
        };
        let mut world = World {
            site: Site::new(personality, primary),
            now: given.now,
        };
        let mut stats: Vec<_> = given.stats.iter().collect();
        stats.sort_by(|a, b| a.1.touched.total_cmp(&b.1.touched));
        for (address, stat) in stats {
            world.at(stat.touched);
            world.took(address, stat.ewma);
        }
        world.at(given.now);
        world
    }

    /// The same with a probe among the endpoints.
    pub(super) fn with_probe(personality: Personality, given: &Given) -> World {
        let mut addresses = given.addresses();
        addresses.push(PROBE.to_owned());
        World::new(personality, given, &addresses)
    }

    fn at(&mut self, seconds: f64) {
        self.site.filter.vm.env_mut().now = Duration::from_secs_f64(seconds);
        self.now = seconds;
    }

    fn took(&mut self, address: &str, seconds: f64) {
        self.complete(&Completion {
            addresses: address.to_owned(),
            connect: "0".to_owned(),
            response: format!("{seconds:.12}"),
        });
    }

    /// A request that ends like this. Envoy says it in numbers.
    pub(super) fn complete(&mut self, how: &Completion) {
        let sent = self.site.send(&[]);
        let last = |list: &str| attempts(list).last().map(str::to_owned).unwrap_or_default();
        let properties: Vec<(&str, Vec<u8>)> = match self.site.filter.host().personality {
            Personality::Nginx => {
                let status = "200".to_owned();
                nginx_lists([
                    how.addresses.clone(),
                    status,
                    how.connect.clone(),
                    how.response.clone(),
                ])
            }
            Personality::Envoy => {
                let seconds = |list: &str| last(list).parse::<f64>().unwrap_or_default();
                let nanos = (seconds(&how.connect) + seconds(&how.response)) * 1e9;
                vec![
                    ("upstream\0address", last(&how.addresses).into()),
                    ("response\0code", 200i64.to_le_bytes().into()),
                    (
                        "response\0backend_latency",
                        (nanos.round() as i64).to_le_bytes().into(),
                    ),
                ]
            }
        };
        if let Some(request) = self.site.filter.vm.env_mut().requests.get_mut(&sent.id) {
            request.properties.extend(
                properties
                    .into_iter()
                    .map(|(path, value)| (path.into(), value)),
            );
        }
        self.site.end(&sent);
    }

    /// Other endpoints; the probe stays.
    pub(super) fn scale(&mut self, addresses: &[String]) {
        let probe = std::iter::once(PROBE.to_owned());
        self.site
            .scale(&addresses.iter().cloned().chain(probe).collect::<Vec<_>>());
    }

    /// Returns `true` if the endpoint is picked before one of this score. The backend has only these two afterwards.
    fn goes_before(mut self, address: &str, score: f64) -> bool {
        self.took(PROBE, score);
        let endpoints = self
            .site
            .backends
            .get(PRIMARY)
            .map(|backend| backend.endpoints.clone());
        let known = endpoints
            .is_some_and(|endpoints| endpoints.iter().any(|known| known.address == address));
        self.site.scale(&[address.to_owned(), PROBE.to_owned()]);
        known && self.site.pick(&[]) == address
    }
}

/// A finding when the score of an endpoint is not as expected, in a world that is made anew for each look.
pub(super) fn score_differs(
    make: impl Fn() -> World,
    address: &str,
    expected: f64,
) -> Option<String> {
    let above = make().goes_before(address, expected * (1.0 + PRECISION) + 1e-9);
    let below = expected > 0.0 && make().goes_before(address, expected * (1.0 - PRECISION) - 1e-9);
    match (above, below) {
        (true, false) => None,
        (false, _) => Some(format!(
            "{address}: expected a score of {expected}, it is higher"
        )),
        (true, true) => Some(format!(
            "{address}: expected a score of {expected}, it is lower"
        )),
    }
}
