//! The words of this area.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::super::case::Cannot;
use super::super::endpoint::{Endpoint, addresses};

/// The constants of the algorithm; cases with other constants are about something else.
const DECAY_SECONDS: f64 = 10.0;
const PICK_SET_SIZE: usize = 2;
/// An endpoint for cases that name none.
const ENDPOINT: &str = "10.10.10.1:8080";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Given {
    decay_seconds: f64,
    pick_set_size: usize,
    /// Seconds.
    pub(super) now: f64,
    #[serde(default)]
    pub(super) stats: BTreeMap<String, Stat>,
    #[serde(default)]
    endpoints: Vec<Endpoint>,
    #[serde(default)]
    tried: Vec<Endpoint>,
    pub(super) upstream_addr: Option<String>,
    pub(super) upstream_connect_time: Option<String>,
    pub(super) upstream_response_time: Option<String>,
    pub(super) rtt: Option<f64>,
}

/// The stored values of an endpoint.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Stat {
    pub(super) ewma: f64,
    /// Seconds.
    pub(super) touched: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Then {
    pub(super) stats: Option<Stats>,
    /// For readers.
    #[serde(default, rename = "formula")]
    _formula: String,
    pub(super) rtt_used: Option<f64>,
    pub(super) ewma: Option<f64>,
    pub(super) pick: Option<String>,
    pub(super) score: Option<f64>,
    pub(super) tried: Option<Vec<String>>,
    pub(super) alternative_backends: Option<Vec<String>>,
    pub(super) traffic_shaping_weight: Option<u32>,
}

/// The expected values after an action.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Stats {
    /// By endpoint; `null` when nothing is stored.
    Of(BTreeMap<String, Option<Stat>>),
    /// `unchanged`
    Sentence(String),
}

impl Given {
    pub(super) fn check(&self) -> Result<(), Cannot> {
        if self.decay_seconds == DECAY_SECONDS && self.pick_set_size == PICK_SET_SIZE {
            return Ok(());
        }
        Err(Cannot(format!(
            "given: the decay is {DECAY_SECONDS} s, and the choice is among {PICK_SET_SIZE}"
        )))
    }

    /// The endpoints of the backend.
    pub(super) fn addresses(&self) -> Vec<String> {
        if !self.endpoints.is_empty() {
            return addresses(&self.endpoints);
        }
        let known: Vec<String> = self.stats.keys().cloned().collect();
        if known.is_empty() {
            vec![ENDPOINT.to_owned()]
        } else {
            known
        }
    }

    pub(super) fn tried(&self) -> Vec<String> {
        addresses(&self.tried)
    }
}

impl Stat {
    /// The score at a later time.
    pub(super) fn score(self, now: f64) -> f64 {
        self.ewma * ((self.touched - now) / DECAY_SECONDS).exp()
    }

    /// The same after one more response time.
    pub(super) fn after(self, rtt: f64, now: f64) -> Stat {
        let weight = ((self.touched - now) / DECAY_SECONDS).exp();
        Stat {
            ewma: self.ewma * weight + rtt * (1.0 - weight),
            touched: now,
        }
    }
}

impl Stats {
    /// The expected values of these endpoints.
    pub(super) fn expected(&self, given: &Given) -> Result<BTreeMap<String, Option<Stat>>, Cannot> {
        match self {
            Stats::Of(stats) => Ok(stats.clone()),
            Stats::Sentence(text) if text == "unchanged" => Ok(given
                .stats
                .iter()
                .map(|(address, stat)| (address.clone(), Some(*stat)))
                .collect()),
            Stats::Sentence(text) => Err(Cannot(format!("then.stats: unknown sentence {text:?}"))),
        }
    }
}
