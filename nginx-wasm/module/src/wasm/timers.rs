//! The timers behind the guest's ticks.

use std::collections::HashMap;
use std::time::Duration;

use sluice_ngx::Timer;
use sluice_wasm_host::ContextId;

/// The timers of the root contexts that set a tick period.
#[derive(Default)]
pub(crate) struct TickTimers(HashMap<ContextId, (Timer, Duration)>);

/// Delay of the first tick: a filter's periodic work is due as soon as it starts.
const FIRST_TICK: Duration = Duration::from_millis(1);

impl TickTimers {
    /// Sets the tick period of a root context; zero stops its ticks.
    pub(crate) fn set(&mut self, root: ContextId, period: Duration, on_tick: fn(ContextId)) {
        if period.is_zero() {
            self.0.remove(&root);
            return;
        }
        let timer = Timer::new(move || on_tick(root));
        timer.start(period.min(FIRST_TICK));
        self.0.insert(root, (timer, period));
    }

    /// Schedules the next tick, one period after the end of the last one.
    pub(crate) fn rearm(&self, root: ContextId) {
        if let Some((timer, period)) = self.0.get(&root) {
            timer.start(*period);
        }
    }
}
