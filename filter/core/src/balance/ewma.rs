//! EWMA: the better of two by the moving average of their response times.
//!
//! As ingress-nginx's `ewma`, to the constant: averages decay over ten seconds, an endpoint without one scores zero and is
//! tried first, and a new endpoint begins at the mean of the others. Unlike there, the averages belong to one backend: two
//! services with one endpoint do not mix theirs.

use crate::vitals::{Latency, Vitals};
use crate::{Rng, Timestamp};

use super::two_choices::better_of_two;
use super::{Balancer, Candidates, Field};

/// The time in which an average loses all but 1/e.
const DECAY_SECONDS: f64 = 10.0;

/// The averages are in the [`Field`]; there is nothing else to remember.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ewma;

impl Balancer for Ewma {
    fn candidates(&mut self, field: &Field<'_>, rng: &mut impl Rng) -> Candidates {
        better_of_two(field, rng, |idx| {
            let score = field.vitals.get(idx).map_or(0.0, |vitals| score(vitals.latency, field.now));
            score / field.share(idx)
        })
    }
}

impl Ewma {
    /// Takes a response time, in seconds.
    pub fn observe(latency: &mut Option<Latency>, response_time: f64, now: Timestamp) {
        let average = latency.map_or(response_time, |known| decay(known, response_time, now));
        *latency = Some(Latency { average, touched: now });
    }

    /// Gives those that join now the mean of what the others have.
    pub fn welcome(vitals: &mut [Vitals], now: Timestamp) {
        let known = || vitals.iter().filter_map(|vitals| vitals.latency);
        let count = known().count();
        if count == 0 {
            return;
        }
        let mean = known().map(|latency| latency.average).sum::<f64>() / count as f64;
        for vitals in vitals.iter_mut().filter(|vitals| vitals.latency.is_none() && vitals.joined == now) {
            vitals.latency = Some(Latency { average: mean, touched: now });
        }
    }
}

/// The cost of an endpoint now: its average, decayed.
pub(super) fn score(latency: Option<Latency>, now: Timestamp) -> f64 {
    latency.map_or(0.0, |known| decay(known, 0.0, now))
}

/// The average after one more response time, in seconds.
#[must_use]
pub fn decay(known: Latency, response_time: f64, now: Timestamp) -> f64 {
    let weight = (-now.since(known.touched).as_secs_f64() / DECAY_SECONDS).exp();
    known.average * weight + response_time * (1.0 - weight)
}
