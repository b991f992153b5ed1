//! The long poll for the log of the tables.

use sluice_filter_config::Host;
use sluice_filter_core::PollResult;
use sluice_filter_worker::{POLL_TIMEOUT, apply_document};

use super::Vm;
use crate::host;

impl Vm {
    /// True if this host permits calls in `on_configure`; in nginx they wait for the first tick.
    pub(crate) fn polls_on_configure(&self) -> bool {
        !self.host.is_nginx()
    }

    /// True if this host permits calls in the callback of a call. In ngx_wasm_module a call of the root context frees its
    /// memory at the end, and another one would crash the worker: there the next tick sends it.
    pub(crate) fn polls_in_callbacks(&self) -> bool {
        self.host != Host::NgxWasm
    }

    /// Sends the next poll when one is due.
    pub(crate) fn poll(&mut self) {
        let Some(control) = &self.control else { return };
        let now = host::now();
        if !self.long_poll.is_due(now) {
            return;
        }
        let path = self.long_poll.path(self.worker.tables().version());
        if host::get(&control.upstream, &control.authority, &path, POLL_TIMEOUT).is_some() {
            self.long_poll.sent(now);
        } else {
            self.long_poll.ended(PollResult::Failed, now);
        }
    }

    /// Takes the answer of a poll.
    pub(crate) fn on_poll_response(&mut self, status: Option<u16>, body: &[u8]) {
        let result = match status {
            Some(200) => self.apply_document(body),
            Some(204) => PollResult::Unchanged,
            _ => PollResult::Failed,
        };
        self.long_poll.ended(result, host::now());
    }

    pub(super) fn apply_document(&mut self, document: &[u8]) -> PollResult {
        let applied = apply_document(document, |update| self.apply(update));
        self.refusals.poll_result(document, applied, host::log)
    }
}
