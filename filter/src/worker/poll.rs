//! The long poll for the log of the tables.

use proxy_wasm::types::LogLevel;
use sluice_filter_config::{Host, PluginConfig};
use sluice_filter_core::{ApplyError, PollResult};

use super::{POLL_TIMEOUT, Worker};
use crate::host;

impl Worker {
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
        let path = self.long_poll.path(self.tables.version());
        if host::get(&control.upstream, &control.authority, &path, POLL_TIMEOUT).is_some() {
            self.long_poll.sent();
        } else {
            self.long_poll.ended(PollResult::Failed, now);
        }
    }

    /// Takes the answer of a poll.
    pub(crate) fn on_poll_response(&mut self, status: Option<u16>, body: &[u8]) {
        let result = match status {
            Some(200) => self.apply_document(body),
            Some(204) => PollResult::Current,
            _ => PollResult::Failed,
        };
        self.long_poll.ended(result, host::now());
    }

    pub(super) fn apply_document(&mut self, document: &[u8]) -> PollResult {
        let update = match PluginConfig::parse(document) {
            Ok(config) => config.tables,
            Err(error) => {
                host::log(
                    LogLevel::Error,
                    &format!("log refused, the last good tables stay: {error}"),
                );
                return PollResult::Failed;
            }
        };
        match update.map(|update| self.apply(update)) {
            Some(Ok(())) => PollResult::Current,
            Some(Err(error @ ApplyError::Base { .. })) => {
                host::log(
                    LogLevel::Info,
                    &format!("log out of step, asking for a snapshot: {error}"),
                );
                PollResult::OutOfStep
            }
            Some(Err(error)) => {
                host::log(
                    LogLevel::Error,
                    &format!("log refused, the last good tables stay: {error}"),
                );
                PollResult::Failed
            }
            None => {
                host::log(
                    LogLevel::Error,
                    "log refused, the last good tables stay: expected `tables`, got none",
                );
                PollResult::Failed
            }
        }
    }
}
