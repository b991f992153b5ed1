//! Health of one endpoint from check to check: results in a row that say otherwise.

use sluice_ir::HealthCheck;

/// Healthy until a check says otherwise. The first check decides alone: there is nothing yet that it could be an exception of, and
/// a controller that has just started must not send requests to what failed before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counter {
    unhealthy: bool,
    checked: bool,
    against: u16,
}

impl Counter {
    /// True if it fails its checks.
    pub(crate) fn is_unhealthy(self) -> bool {
        self.unhealthy
    }

    /// The same health, of which the next check decides alone: what is checked is not what it was.
    pub(crate) fn afresh(self) -> Self {
        Counter {
            unhealthy: self.unhealthy,
            ..Counter::default()
        }
    }

    /// Takes the result of a check. `true`: its health is another one now.
    pub(crate) fn take(&mut self, passed: bool, check: &HealthCheck) -> bool {
        let is_first = !std::mem::replace(&mut self.checked, true);
        if passed != self.unhealthy {
            self.against = 0;
            return false;
        }
        self.against = self.against.saturating_add(1);
        let threshold = match (is_first, passed) {
            (true, _) => 1,
            (false, true) => check.healthy_threshold.get(),
            (false, false) => check.unhealthy_threshold.get(),
        };
        if self.against < threshold {
            return false;
        }
        (self.unhealthy, self.against) = (!passed, 0);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(results: &str) -> String {
        let check = HealthCheck {
            healthy_threshold: 2.try_into().unwrap(),
            unhealthy_threshold: 3.try_into().unwrap(),
            ..HealthCheck::at("/".to_owned())
        };
        let mut counter = Counter::default();
        let step = |result: char| {
            counter.take(result == '+', &check);
            if counter.is_unhealthy() { 'u' } else { 'h' }
        };
        results.chars().map(step).collect()
    }

    #[test]
    fn the_first_check_decides_alone() {
        assert_eq!(after("-"), "u");
        assert_eq!(after("+"), "h");
    }

    #[test]
    fn only_results_in_a_row_change_anything() {
        assert_eq!(after("+--+--+---"), "hhhhhhhhhu");
        assert_eq!(after("-+-+-++"), "uuuuuuh");
        assert_eq!(after("-++---++"), "uuhhhuuh");
    }

    #[test]
    fn another_check_begins_with_what_was_known() {
        let check = HealthCheck::at("/".to_owned());
        let mut counter = Counter::default();
        assert!(counter.take(false, &check));
        let mut counter = counter.afresh();
        assert!(counter.is_unhealthy());
        assert!(counter.take(true, &check) && !counter.is_unhealthy());
    }
}
