//! What the tests of this crate share.

use std::borrow::Cow;

use sluice_filter_config as wire;

use crate::balance::ring::Ring;
use crate::balance::{Balance, Field, LoadBalance};
use crate::outlier::Outlier;
use crate::pool::Pool;
use crate::vitals::{SlowStart, Vitals};
use crate::{EndpointIdx, Endpoints, Fact, Request, Rng, Timestamp};

/// SplitMix64: good numbers, the same in every run.
#[derive(Debug)]
pub struct Counting(pub u64);

impl Rng for Counting {
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// Always the lowest number.
#[derive(Debug)]
pub struct Zero;

impl Rng for Zero {
    fn next_u64(&mut self) -> u64 {
        0
    }
}

/// A request with these headers, and nothing else to say.
#[derive(Debug, Default)]
pub struct Ask(pub Vec<(&'static str, String)>);

impl Ask {
    /// One more header.
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.0.push((name, value.into()));
        self
    }
}

impl Request for Ask {
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
pub struct Ground {
    pub endpoints: Endpoints,
    pub vitals: Vec<Vitals>,
    pub pool: Pool,
    pub ring: Ring,
    pub slow_start: SlowStart,
    pub attempts: usize,
    pub now: Timestamp,
}

impl Ground {
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
        Ground {
            ring: Ring::new((0..endpoints.len()).map(node)),
            vitals: vec![Vitals::default(); endpoints.len()],
            pool: Pool::of(&endpoints, &[], None, Timestamp::default()),
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
            self.vitals[idx].record.eject(&outlier, self.now);
        }
        self.pool = Pool::of(&self.endpoints, &self.vitals, Some(&outlier), self.now);
        self
    }

    pub fn field<'a>(&'a self, key: &'a [u8]) -> Field<'a> {
        Field {
            endpoints: &self.endpoints,
            pool: &self.pool,
            vitals: &self.vitals,
            ring: &self.ring,
            in_flight_of_all: self.vitals.iter().map(|vitals| vitals.in_flight).sum(),
            slow_start: self.slow_start,
            attempts: self.attempts,
            key,
            now: self.now,
        }
    }

    /// The candidates of a fresh balancer of this policy, for each of these keys.
    pub fn picks(
        &self,
        policy: LoadBalance,
        keys: impl IntoIterator<Item = String>,
    ) -> Vec<Vec<EndpointIdx>> {
        let rng = &mut Counting(7);
        let mut balance = Balance::new(policy, &self.endpoints, self.slow_start, rng);
        let mut pick = |key: String| {
            balance
                .candidates(&self.field(key.as_bytes()), rng)
                .iter()
                .collect()
        };
        keys.into_iter().map(&mut pick).collect()
    }

    /// The first candidate of a fresh balancer with this randomness.
    pub fn picks_from(&self, seed: u64, policy: LoadBalance) -> EndpointIdx {
        let rng = &mut Counting(seed);
        let mut balance = Balance::new(policy, &self.endpoints, self.slow_start, rng);
        balance
            .candidates(&self.field(b""), rng)
            .iter()
            .next()
            .unwrap()
    }

    /// How often each endpoint is the first candidate.
    pub fn hits(&self, policy: LoadBalance, requests: usize) -> Vec<usize> {
        let mut hits = vec![0; self.endpoints.len()];
        for picks in self.picks(policy, (0..requests).map(|n| format!("key {n}"))) {
            hits[picks[0]] += 1;
        }
        hits
    }
}
