//! A histogram without labels of its own, so that thousands of them take little.

use prometheus::proto::{self, Bucket, Metric};

/// Observations, by bucket.
#[derive(Clone, Debug, Default)]
pub(super) struct Histogram {
    /// For each bound those that are not above it, but above the one before. Empty before the first one.
    counts: Box<[u64]>,
    count: u64,
    sum: f64,
}

impl Histogram {
    /// The bounds are those of all calls.
    pub(super) fn observe(&mut self, bounds: &[f64], value: f64) {
        if self.counts.is_empty() {
            self.counts = vec![0; bounds.len()].into();
        }
        let bucket = bounds.iter().position(|bound| value <= *bound);
        if let Some(count) = bucket.and_then(|bucket| self.counts.get_mut(bucket)) {
            *count += 1;
        }
        self.count += 1;
        self.sum += value;
    }

    /// `None`: nothing was observed.
    pub(super) fn metric(&self, bounds: &[f64]) -> Option<Metric> {
        if self.count == 0 {
            return None;
        }
        let mut so_far = 0;
        let buckets = bounds.iter().zip(&self.counts).map(|(bound, count)| {
            so_far += count;
            let mut bucket = Bucket::default();
            bucket.set_upper_bound(*bound);
            bucket.set_cumulative_count(so_far);
            bucket
        });
        let mut histogram = proto::Histogram::default();
        histogram.set_bucket(buckets.collect());
        histogram.set_sample_count(self.count);
        histogram.set_sample_sum(self.sum);
        let mut metric = Metric::default();
        metric.set_histogram(histogram);
        Some(metric)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_counts_all_that_are_not_above_its_bound() {
        let (mut histogram, bounds) = (Histogram::default(), [1.0, 2.0]);
        assert_eq!(histogram.metric(&bounds), None);
        for value in [0.5, 1.0, 1.5, 9.0] {
            histogram.observe(&bounds, value);
        }
        let metric = histogram.metric(&bounds).unwrap();
        let shown = metric.get_histogram();
        let counts: Vec<u64> = shown
            .get_bucket()
            .iter()
            .map(Bucket::cumulative_count)
            .collect();
        assert_eq!((counts, shown.get_sample_count()), (vec![2, 3], 4));
        assert!((shown.get_sample_sum() - 12.0).abs() < 1e-9);
    }
}
