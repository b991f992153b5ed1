//! A histogram without labels of its own, so that thousands of them take little.

use super::text::FamilyText;

/// Observations, by bucket.
#[derive(Debug, Default)]
pub(super) struct Histogram {
    /// For each bound those that are not above it, but above the one before. Empty before the first one.
    counts: Box<[u64]>,
    count: u64,
    sum: f64,
}

/// Lines of a histogram with so many bounds: theirs, that of infinity, the sum and the count.
pub(super) fn lines(bounds: usize) -> usize {
    bounds + 3
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

    /// Nothing if nothing was observed.
    pub(super) fn write(&self, bounds: &[String], labels: &str, family: &mut FamilyText<'_>) {
        if self.count == 0 {
            return;
        }
        let mut so_far = 0;
        for (bound, count) in bounds.iter().zip(&self.counts) {
            so_far += count;
            family.sample("_bucket", labels, Some(bound), so_far);
        }
        family.sample("_bucket", labels, Some("+Inf"), self.count);
        family.sample("_sum", labels, None, self.sum);
        family.sample("_count", labels, None, self.count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Text;

    fn written(histogram: &Histogram) -> String {
        let (mut text, bounds) = (Text::default(), ["1".to_owned(), "2".to_owned()]);
        let mut family = text.family("n", "h", "histogram");
        histogram.write(&bounds, "a=\"b\"", &mut family);
        String::from_utf8(text.into_chunks().concat()).unwrap()
    }

    #[test]
    fn a_bucket_counts_all_that_are_not_above_its_bound() {
        let mut histogram = Histogram::default();
        assert_eq!(written(&histogram), "");
        for value in [0.5, 1.0, 1.5, 9.0] {
            histogram.observe(&[1.0, 2.0], value);
        }
        let text = written(&histogram);
        let expected = r#"# HELP n h
# TYPE n histogram
n_bucket{a="b",le="1"} 2
n_bucket{a="b",le="2"} 3
n_bucket{a="b",le="+Inf"} 4
n_sum{a="b"} 12
n_count{a="b"} 4
"#;
        assert_eq!(text, expected);
        assert_eq!(text.lines().count(), 2 + lines(2));
    }
}
