//! Requests under way: what is still to be done for each.

use rustc_hash::FxHashMap;
use sluice_filter_worker::Pending;

/// The requests that something is still to be done for. Most are never in here.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    waiting: Vec<u32>,
    /// Those that wait for the answer of a call of their own, by its token.
    waiting_for_call: FxHashMap<u32, u32>,
    pending: FxHashMap<u32, Pending>,
}

impl InFlight {
    /// This one is paused until the first tables are there.
    pub(crate) fn wait(&mut self, context: u32) {
        self.waiting.push(context);
    }

    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// All that wait; they do so no more.
    pub(crate) fn take_waiting(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.waiting)
    }

    /// This one is paused until its own call is answered.
    pub(crate) fn wait_for_call(&mut self, token: u32, context: u32) {
        self.waiting_for_call.insert(token, context);
    }

    /// Context of a call, which waits no more.
    pub(crate) fn waiting_for(&mut self, token: u32) -> Option<u32> {
        if self.waiting_for_call.is_empty() {
            return None;
        }
        self.waiting_for_call.remove(&token)
    }

    /// A retry goes on with what was decided for the first attempt.
    pub(crate) fn hand_over(&mut self, first: u32, retry: u32) {
        if let Some(pending) = self.pending.remove(&first) {
            self.pending.insert(retry, pending);
        }
    }

    /// Keeps what is left for a request until it is complete.
    pub(crate) fn keep(&mut self, context: u32, pending: Pending) {
        if !pending.is_empty() {
            self.pending.insert(context, pending);
        }
    }

    /// The work that is left for this request.
    pub(crate) fn pending(&self, context: u32) -> Option<&Pending> {
        self.pending.get(&context)
    }

    /// This one is over.
    pub(crate) fn close(&mut self, context: u32) -> Option<Pending> {
        if !self.waiting.is_empty() {
            self.waiting.retain(|&waiting| waiting != context);
        }
        if !self.waiting_for_call.is_empty() {
            self.waiting_for_call
                .retain(|_, &mut waiting| waiting != context);
        }
        self.pending.remove(&context)
    }
}
