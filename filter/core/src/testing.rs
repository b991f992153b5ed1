//! Helpers of this crate's tests.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use sluice_filter_config as wire;

use crate::balance::ring::Ring;
use crate::balance::{Algorithm, AnyBalancer, Parameters, PickContext, Setup};
use crate::eligible::EligibleEndpoints;
use crate::endpoint_state::{EndpointState, SlowStart};
use crate::outlier::Outlier;
use crate::shared::{Exchange, Shared, Unavailable};
use crate::{EndpointIdx, Endpoints, Fact, Request, Rng, SplitMix64, Timestamp};

/// Always the lowest number.
#[derive(Debug)]
pub struct ZeroRng;

impl Rng for ZeroRng {
    fn next_u64(&mut self) -> u64 {
        0
    }
}

/// A request with these headers, and nothing else to say.
#[derive(Debug, Default)]
pub struct FakeRequest(pub Vec<(&'static str, String)>);

impl FakeRequest {
    /// One more header.
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.0.push((name, value.into()));
        self
    }
}

impl Request for FakeRequest {
    fn header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| Cow::Borrowed(value.as_bytes()))
    }

    fn fact(&self, _fact: Fact) -> Option<Cow<'_, [u8]>> {
        None
    }
}

/// Endpoints `10.0.0.1:80` and on, with these weights, as a balancer sees them.
#[derive(Debug)]
pub struct Fixture {
    pub endpoints: Endpoints,
    pub states: Vec<EndpointState>,
    pub eligible: EligibleEndpoints,
    pub ring: Ring,
    pub slow_start: SlowStart,
    pub attempts: usize,
    pub now: Timestamp,
}

impl Fixture {
    pub fn new(weights: &[u16]) -> Self {
        let endpoint = |(n, weight): (usize, &u16)| wire::Endpoint {
            weight: (*weight).try_into().unwrap(),
            ..wire::Endpoint::at(format!("10.0.{}.{}:80", n / 250, n % 250 + 1))
        };
        let endpoints: Vec<_> = weights.iter().enumerate().map(endpoint).collect();
        let endpoints = Endpoints::compile(&endpoints, None).unwrap();
        let node = |idx| {
            (
                endpoints.address(idx).unwrap(),
                u32::from(endpoints.weight(idx)),
            )
        };
        Fixture {
            ring: Ring::new((0..endpoints.len()).map(node)),
            states: vec![EndpointState::default(); endpoints.len()],
            eligible: EligibleEndpoints::new(&endpoints, &[], None, Timestamp::default()),
            endpoints,
            slow_start: SlowStart::default(),
            attempts: 1,
            now: Timestamp::from_nanos(1_543_238_266_000_000_000),
        }
    }

    /// Leaves these out for a long time.
    pub fn without(mut self, ejected: &[EndpointIdx]) -> Self {
        let base = std::time::Duration::from_secs(1_000_000);
        let outlier = Outlier {
            consecutive: 1,
            base,
            max_ejected: 100,
            panic_threshold: 0,
        };
        for &idx in ejected {
            self.states[idx].record.eject(&outlier, self.now);
        }
        self.eligible =
            EligibleEndpoints::new(&self.endpoints, &self.states, Some(&outlier), self.now);
        self
    }

    pub fn pick_context<'a>(&'a self, key: &'a [u8]) -> PickContext<'a> {
        PickContext {
            endpoints: &self.endpoints,
            eligible: &self.eligible,
            states: &self.states,
            ring: &self.ring,
            in_flight_of_all: self.states.iter().map(|state| state.in_flight).sum(),
            slow_start: self.slow_start,
            attempts: self.attempts,
            key,
            now: self.now,
        }
    }

    /// A fresh balancer, with subsets of three endpoints and loads of at most 125 percent.
    fn balancer(&self, algorithm: Algorithm, rng: &mut impl Rng) -> AnyBalancer {
        let setup = Setup {
            endpoints: &self.endpoints,
            slow_start: self.slow_start,
            parameters: Parameters {
                size: 3,
                load_factor: 125,
            },
        };
        AnyBalancer::new(algorithm, &setup, rng)
    }

    /// The candidates of a fresh balancer of this algorithm, for each of these keys.
    pub fn picks(
        &self,
        algorithm: Algorithm,
        keys: impl IntoIterator<Item = String>,
    ) -> Vec<Vec<EndpointIdx>> {
        let rng = &mut SplitMix64(7);
        let mut balancer = self.balancer(algorithm, rng);
        let mut pick = |key: String| {
            balancer
                .pick(&self.pick_context(key.as_bytes()), rng)
                .iter()
                .collect()
        };
        keys.into_iter().map(&mut pick).collect()
    }

    /// The first candidate of a fresh balancer with this randomness.
    pub fn picks_from(&self, seed: u64, algorithm: Algorithm) -> EndpointIdx {
        let rng = &mut SplitMix64(seed);
        let mut balancer = self.balancer(algorithm, rng);
        balancer
            .pick(&self.pick_context(b""), rng)
            .iter()
            .next()
            .unwrap()
    }

    /// How often each endpoint is the first candidate.
    pub fn hits(&self, algorithm: Algorithm, requests: usize) -> Vec<usize> {
        let mut hits = vec![0; self.endpoints.len()];
        for picks in self.picks(algorithm, (0..requests).map(|n| format!("key {n}"))) {
            hits[picks[0]] += 1;
        }
        hits
    }
}

/// The memory of all workers, and who comes between a read and the exchange after it.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) values: RefCell<BTreeMap<String, (Vec<u8>, u32)>>,
    pub(crate) calls: Cell<usize>,
    pub(crate) lose: Cell<usize>,
}

impl Shared for Memory {
    fn read(&self, key: &str) -> Result<Option<(Vec<u8>, u32)>, Unavailable> {
        self.calls.set(self.calls.get() + 1);
        Ok(self.values.borrow().get(key).cloned())
    }

    fn exchange(
        &self,
        key: &str,
        value: &[u8],
        version: Option<u32>,
    ) -> Result<Exchange, Unavailable> {
        self.calls.set(self.calls.get() + 1);
        let mut values = self.values.borrow_mut();
        let is_lost =
            self.lose.get() > 0 || values.get(key).map(|(_, version)| *version) != version;
        if is_lost {
            self.lose.set(self.lose.get().saturating_sub(1));
            return Ok(Exchange::Lost);
        }
        values.insert(
            key.to_owned(),
            (value.to_vec(), version.unwrap_or_default() + 1),
        );
        Ok(Exchange::Done)
    }
}

/// A host that shares nothing.
pub(crate) struct Nothing;

impl Shared for Nothing {
    fn read(&self, _key: &str) -> Result<Option<(Vec<u8>, u32)>, Unavailable> {
        Err(Unavailable)
    }

    fn exchange(&self, _: &str, _: &[u8], _: Option<u32>) -> Result<Exchange, Unavailable> {
        Err(Unavailable)
    }
}
