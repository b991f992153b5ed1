//! The filter of one request.

use std::cell::RefCell;

use sluice_envoy_abi::{Filter, Headers, Stream};
use sluice_filter_worker::{Pending, RequestAction};

use crate::settings::Settings;
use crate::stream::EnvoyStream;
use crate::{clock, waiting, worker};

/// The filter of one request: what is left to do for it.
pub struct RequestFilter {
    settings: Settings,
    pending: RefCell<Pending>,
}

impl RequestFilter {
    pub(crate) fn new(settings: Settings) -> Self {
        RequestFilter {
            settings,
            pending: RefCell::default(),
        }
    }

    /// Sends the filter's own response, which is on its way through this filter before this returns.
    fn finish(
        &self,
        request: &EnvoyStream<'_>,
        action: RequestAction,
        pending: Pending,
    ) -> Headers {
        self.pending.replace(pending);
        match action {
            RequestAction::Continue | RequestAction::Wait => Headers::Continue,
            RequestAction::Respond => {
                request.respond();
                Headers::Responded
            }
        }
    }
}

impl Filter for RequestFilter {
    fn on_request_headers(&self, stream: &Stream<'_>) -> Headers {
        let request = EnvoyStream::new(stream, self.settings);
        #[cfg(feature = "fault-injection")]
        request.fail_if_asked();
        let mut pending = Pending::default();
        let mut action = worker::with(|worker| worker.on_request_headers(&request, &mut pending));
        if action == RequestAction::Wait {
            if self.settings.may_wait && waiting::wait(stream.scheduler()) {
                return Headers::Wait;
            }
            action = worker::with(|worker| worker.on_resume(&request, &mut pending));
        }
        self.finish(&request, action, pending)
    }

    fn on_event(&self, stream: &Stream<'_>, _event: u64) {
        let request = EnvoyStream::new(stream, self.settings);
        let mut pending = Pending::default();
        let action = worker::with(|worker| worker.on_resume(&request, &mut pending));
        if self.finish(&request, action, pending) == Headers::Continue {
            stream.resume();
        }
    }

    fn on_response_headers(&self, stream: &Stream<'_>) {
        let pending = self.pending.borrow();
        if !pending.is_empty() {
            let request = EnvoyStream::new(stream, self.settings);
            worker::with(|worker| worker.on_response_headers(&request, &pending));
        }
    }

    fn on_complete(&self, stream: &Stream<'_>) {
        let pending = self.pending.take();
        if !pending.is_empty() {
            let request = EnvoyStream::new(stream, self.settings);
            worker::with(|worker| worker.complete(&request, pending));
        }
    }
}

/// For a stream that Envoy has not completed.
impl Drop for RequestFilter {
    fn drop(&mut self) {
        let pending = self.pending.take();
        if !pending.is_empty() {
            worker::with(|worker| worker.cancel(pending, clock::now()));
        }
    }
}
