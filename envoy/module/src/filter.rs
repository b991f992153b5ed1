//! The filter of one request.

use std::cell::RefCell;

use sluice_envoy_abi::{Filter, HeadersStatus, Stream};
use sluice_filter_worker::{Pending, RequestAction, panic_if_asked, prepare_copy};

use crate::settings::{Role, Settings};
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

    /// Sends the filter's own response. Envoy may end this filter before that returns.
    fn finish(request: &EnvoyStream<'_>, action: RequestAction) -> HeadersStatus {
        match action {
            RequestAction::Continue | RequestAction::Wait => HeadersStatus::Continue,
            RequestAction::Respond => {
                request.respond();
                HeadersStatus::Responded
            }
        }
    }

    /// A request that waited goes on, or one that does not wait.
    fn resume(&self, request: &EnvoyStream<'_>) -> HeadersStatus {
        let action =
            worker::with(|worker| worker.on_resume(request, &mut self.pending.borrow_mut()));
        RequestFilter::finish(request, action)
    }
}

impl Filter for RequestFilter {
    fn on_request_headers(&self, stream: &Stream<'_>, has_body: bool) -> HeadersStatus {
        let request = EnvoyStream::new(stream, self.settings);
        if let Role::Mirror(copies) = self.settings.role {
            prepare_copy(copies, &request, has_body);
            return HeadersStatus::Continue;
        }
        panic_if_asked(&request);
        // What is pending is kept even if a panic follows: a client that was counted has to be counted out.
        let action = worker::with(|worker| {
            worker.on_request_headers(&request, &mut self.pending.borrow_mut())
        });
        if action != RequestAction::Wait {
            return RequestFilter::finish(&request, action);
        }
        if waiting::wait(|| stream.scheduler()) {
            return HeadersStatus::Wait;
        }
        self.resume(&request)
    }

    fn on_request_body(&self, stream: &Stream<'_>) {
        if let Role::Mirror(copies) = self.settings.role
            && copies.are_bodiless()
        {
            stream.drop_request_body();
        }
    }

    fn on_event(&self, stream: &Stream<'_>, _event: u64) {
        let request = EnvoyStream::new(stream, self.settings);
        if self.resume(&request) == HeadersStatus::Continue {
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
        if !self.pending.borrow().is_empty() {
            let request = EnvoyStream::new(stream, self.settings);
            worker::with(|worker| worker.complete(&request, self.pending.take()));
        }
    }
}

/// For a stream that Envoy has not completed.
impl Drop for RequestFilter {
    fn drop(&mut self) {
        if !self.pending.borrow().is_empty() {
            worker::with(|worker| worker.cancel(self.pending.take(), clock::now()));
        }
    }
}
