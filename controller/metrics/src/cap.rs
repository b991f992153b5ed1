//! Tenants choose label values: names, hosts, paths. What one metric may hold of them is limited.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Label value for everything beyond a limit.
pub(super) const OTHER: &str = "_other";

/// Remembers which combinations of values have their own series.
#[derive(Debug)]
pub(super) struct Cap {
    most: usize,
    seen: Mutex<BTreeSet<Vec<String>>>,
}

impl Cap {
    pub(super) fn new(most: usize) -> Self {
        Cap {
            most,
            seen: Mutex::default(),
        }
    }

    /// True if these values have a series of their own: the first ones do.
    pub(super) fn admits(&self, values: &[&str]) -> bool {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        if seen.contains(&values) {
            return true;
        }
        seen.len() < self.most && seen.insert(values)
    }

    /// Keeps some, and returns the others; they make room.
    pub(super) fn retain(&self, keep: impl Fn(&[String]) -> bool) -> Vec<Vec<String>> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let gone: Vec<Vec<String>> = seen
            .iter()
            .filter(|values| !keep(values))
            .cloned()
            .collect();
        seen.retain(|values| keep(values));
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_ones_have_their_own_series_and_keep_them() {
        let cap = Cap::new(2);
        assert!(cap.admits(&["a", "x"]) && cap.admits(&["b", "x"]));
        assert!(!cap.admits(&["c", "x"]));
        assert!(cap.admits(&["a", "x"]));
    }
}
