//! The guest's ticks.

use std::collections::HashMap;
use std::time::Duration;

use sluice_ngxsafe::Timer;
use sluice_pwhost::ContextId;

use crate::worker;

/// The timers of the root contexts that asked for one.
#[derive(Default)]
pub(crate) struct Ticks(HashMap<ContextId, (Timer, Duration)>);

/// The first tick comes at once: what a filter does on a tick, it has not done yet.
const FIRST: Duration = Duration::from_millis(1);

impl Ticks {
    /// Sets the period of a root context; zero stops it.
    pub(crate) fn set(&mut self, root: ContextId, period: Duration) {
        if period.is_zero() {
            self.0.remove(&root);
            return;
        }
        let timer = Timer::new(move || worker::tick(root));
        timer.start(period.min(FIRST));
        self.0.insert(root, (timer, period));
    }

    /// A tick is over; the next one comes after the period.
    pub(crate) fn again(&self, root: ContextId) {
        if let Some((timer, period)) = self.0.get(&root) {
            timer.start(*period);
        }
    }
}
