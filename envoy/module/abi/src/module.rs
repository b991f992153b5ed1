//! The module, as Envoy calls it.

use crate::{Config, Process, Response, Stream};

/// A module with an HTTP filter.
pub trait Module {
    /// A configuration of the filter.
    type Config: FilterConfig;

    /// A configuration has come for a filter of this name; without a result Envoy refuses it. In the main thread.
    fn configure(config: &Config<'_>, name: &str, document: &[u8]) -> Option<Self::Config>;

    /// An extension of the process.
    type Extension: Extension;

    /// The bootstrap has an extension of this name; without a result Envoy does not start. In the main thread.
    fn extend(process: &Process<'_>, name: &str, document: &[u8]) -> Option<Self::Extension>;

    /// A hook has panicked: Envoy goes on as if it had done nothing.
    fn on_panic(hook: &'static str);
}

/// A configuration of the filter. It is made in the main thread, and may end in any.
pub trait FilterConfig: Send + Sync {
    /// The filter of a request.
    type Filter: Filter;

    /// A request has come. In a worker.
    fn filter(&self) -> Self::Filter;
}

/// An extension of the process, in its main thread.
pub trait Extension {
    /// A timer has fired.
    fn on_timer(&self, process: &Process<'_>);

    /// A call has ended; without a response it failed.
    fn on_response(&self, process: &Process<'_>, response: Option<&Response<'_>>);
}

/// The filter of one request, in the worker of that request. Envoy may call another hook of it, or of another filter of the same request, before
/// a call that responds or resumes returns, and may end it then: it is dropped after the hook.
pub trait Filter {
    /// Request headers have come. `has_body`: they are not all of the request.
    fn on_request_headers(&self, stream: &Stream<'_>, has_body: bool) -> HeadersStatus;

    /// A part of the request's body has come, on its way to the next filter.
    fn on_request_body(&self, stream: &Stream<'_>);

    /// Response headers have come.
    fn on_response_headers(&self, stream: &Stream<'_>);

    /// An event of a [`Scheduler`](crate::Scheduler) has come.
    fn on_event(&self, stream: &Stream<'_>, event: u64);

    /// The request is over, and Envoy still knows how it went.
    fn on_complete(&self, stream: &Stream<'_>);
}

/// Envoy's way on after request headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadersStatus {
    /// The next filter.
    Continue,
    /// Nowhere: the filter has responded.
    Responded,
    /// The request waits, with its body, until it is resumed.
    Wait,
}
