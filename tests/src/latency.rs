//! Latencies in a fixed amount of memory: 64 buckets for each power of two of microseconds, so a quantile is exact to
//! 1.6 percent however long the run (the layout of HdrHistogram, without its configuration).

use std::time::Duration;

const SUB_BITS: u32 = 6;
const SUB: u64 = 1 << SUB_BITS;
/// Microseconds above this, 71 minutes, count as this.
const MAX: u64 = u32::MAX as u64;
const BUCKETS: usize = 27 * SUB as usize + SUB as usize;

/// How often each latency was seen.
#[derive(Clone, Debug)]
pub struct Latencies {
    counts: Vec<u64>,
    total: u64,
    max: Duration,
}

impl Default for Latencies {
    fn default() -> Self {
        Latencies {
            counts: vec![0; BUCKETS],
            total: 0,
            max: Duration::ZERO,
        }
    }
}

impl Latencies {
    /// Adds one.
    pub fn record(&mut self, latency: Duration) {
        let micros = u64::try_from(latency.as_micros()).unwrap_or(MAX).min(MAX);
        self.counts[bucket(micros)] += 1;
        self.total += 1;
        self.max = self.max.max(latency);
    }

    /// The latency that `share` (0 to 1) of all were not above; zero when there are none.
    pub fn quantile(&self, share: f64) -> Duration {
        let wanted = ((self.total as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return Duration::from_micros(upper(index)).min(self.max);
            }
        }
        self.max
    }

    /// The longest one, exact.
    pub fn max(&self) -> Duration {
        self.max
    }
}

/// Values below 64 have a bucket each; above, the six bits behind the leading one choose it.
fn bucket(micros: u64) -> usize {
    let power = micros.max(SUB).ilog2() - SUB_BITS;
    (u64::from(power) * SUB + (micros >> power)) as usize
}

/// The largest value of a bucket.
fn upper(index: usize) -> u64 {
    let index = index as u64;
    let power = (index / SUB).saturating_sub(1);
    let base = index - power * SUB;
    ((base + 1) << power) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_exact_to_two_percent() {
        let mut latencies = Latencies::default();
        for micros in 1..=100_000 {
            latencies.record(Duration::from_micros(micros));
        }
        for (share, expected) in [
            (0.5, 50_000.0),
            (0.9, 90_000.0),
            (0.99, 99_000.0),
            (0.0001, 10.0),
        ] {
            let found = latencies.quantile(share).as_micros() as f64;
            assert!((found / expected - 1.0).abs() < 0.02, "{share}: {found}");
        }
        assert_eq!(latencies.max(), Duration::from_millis(100));
    }

    #[test]
    fn every_value_lies_in_its_bucket_and_the_longest_fits() {
        for micros in (0..40)
            .map(|bit| 1u64 << bit)
            .chain([63, 64, 65, 127, 128, 1_000_003])
        {
            let micros = micros.min(MAX);
            assert!(upper(bucket(micros)) >= micros);
            assert!(bucket(micros) == 0 || upper(bucket(micros) - 1) < micros);
        }
        Latencies::default().record(Duration::from_secs(1 << 40));
    }
}
