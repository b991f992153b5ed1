//! Results of many requests.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::http::Response;
use crate::latency::Latencies;

/// Enough to see what kind of error it is.
const ERROR_SAMPLES: usize = 5;

/// The requests that one pod answered.
#[derive(Clone, Copy, Debug)]
pub struct PodTally {
    /// How many.
    pub count: u64,
    /// When the first answer came.
    pub first: Instant,
    /// When the last answer came.
    pub last: Instant,
}

/// Counts and latencies; a request is in `by_status` or in `errors`, never in both.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Answers by status.
    pub by_status: BTreeMap<u16, u64>,
    /// Answers by the `x-pod` header.
    pub by_pod: BTreeMap<String, PodTally>,
    /// Requests without an answer.
    pub errors: u64,
    /// The first errors and failed answers, in words.
    pub samples: Vec<String>,
    /// Latencies of the answers.
    pub latencies: Latencies,
    /// How long the load ran.
    pub elapsed: Duration,
}

impl Tally {
    /// Adds the outcome of one request.
    pub fn add(&mut self, outcome: &Result<Response>, started: Instant) {
        let now = Instant::now();
        match outcome {
            Ok(response) => self.add_response(response, now, now - started),
            Err(error) => {
                self.errors += 1;
                self.sample(|| format!("{error:#}"));
            }
        }
    }

    fn add_response(&mut self, response: &Response, now: Instant, latency: Duration) {
        *self.by_status.entry(response.status).or_default() += 1;
        self.latencies.record(latency);
        if let Some(pod) = response.pod() {
            match self.by_pod.get_mut(pod) {
                Some(tally) => (tally.count, tally.last) = (tally.count + 1, now),
                None => {
                    self.by_pod.insert(
                        pod.to_owned(),
                        PodTally {
                            count: 1,
                            first: now,
                            last: now,
                        },
                    );
                }
            }
        }
        if response.status >= 400 {
            self.sample(|| format!("status {}: {}", response.status, response.text()));
        }
    }

    fn sample(&mut self, text: impl FnOnce() -> String) {
        if self.samples.len() < ERROR_SAMPLES {
            self.samples.push(text());
        }
    }

    /// All requests.
    pub fn total(&self) -> u64 {
        self.by_status.values().sum::<u64>() + self.errors
    }

    /// Requests without an answer or with a status of 400 and above.
    pub fn failed(&self) -> u64 {
        self.by_status
            .range(400..)
            .map(|(_, count)| count)
            .sum::<u64>()
            + self.errors
    }

    /// How many requests a pod answered.
    pub fn pod(&self, name: &str) -> u64 {
        self.by_pod.get(name).map_or(0, |tally| tally.count)
    }

    /// Requests in a second.
    pub fn rate(&self) -> f64 {
        self.total() as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = |share| self.latencies.quantile(share).as_secs_f64() * 1e3;
        write!(
            f,
            "{} requests in {:.1} s ({:.0}/s), {} failed; p50 {:.2} ms, p99 {:.2} ms, max {:.1} ms",
            self.total(),
            self.elapsed.as_secs_f64(),
            self.rate(),
            self.failed(),
            millis(0.5),
            millis(0.99),
            self.latencies.max().as_secs_f64() * 1e3,
        )?;
        write!(f, "; by status {:?}", self.by_status)?;
        if !self.samples.is_empty() {
            write!(f, "; {}", self.samples.join("; "))?;
        }
        Ok(())
    }
}
