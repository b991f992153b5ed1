//! Peak EWMA: the better of two by response time, times the requests in flight (Finagle, linkerd).
//!
//! A slow answer counts at once and is forgotten slowly, a fast one moves the average slowly; and what is already in flight
//! counts before any of it is answered.

use crate::vitals::Latency;
use crate::{Rng, Timestamp};

use super::ewma::{decay, score};
use super::two_choices::better_of_two;
use super::{Balancer, Candidates, Field};

/// What an endpoint without an average costs for each request in flight: one is sent to find out, not more.
const UNKNOWN_SECONDS: f64 = 1.0;

/// Averages and requests in flight are in the [`Field`]; there is nothing else to remember.
#[derive(Clone, Copy, Debug, Default)]
pub struct PeakEwma;

impl Balancer for PeakEwma {
    fn candidates(&mut self, field: &Field<'_>, rng: &mut impl Rng) -> Candidates {
        better_of_two(field, rng, |idx| {
            let in_flight = f64::from(field.in_flight(idx));
            let latency = field.vitals.get(idx).and_then(|vitals| vitals.latency);
            let cost = match latency {
                Some(_) => score(latency, field.now) * (in_flight + 1.0),
                None => UNKNOWN_SECONDS * in_flight,
            };
            cost / field.share(idx)
        })
    }
}

impl PeakEwma {
    /// Takes a response time, in seconds. A failure is never good news, however fast it was.
    pub fn observe(latency: &mut Option<Latency>, response_time: f64, failed: bool, now: Timestamp) {
        let average = match *latency {
            Some(known) if response_time >= score(Some(known), now) => response_time,
            Some(known) if failed => known.average,
            Some(known) => decay(known, response_time, now),
            None if failed => UNKNOWN_SECONDS,
            None => response_time,
        };
        *latency = Some(Latency { average, touched: now });
    }
}
