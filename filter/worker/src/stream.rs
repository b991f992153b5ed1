//! The host's side of a request.

use std::borrow::Cow;

use sluice_filter_core::{Interest, Reply, Request, Timestamp};

use crate::Observation;

/// A request and its response, as the host has them: by what the filter reads, and what it changes.
pub trait Stream: Request {
    /// Headers of a response.
    type ResponseHeaders: ResponseHeaders;

    /// The host's clock.
    fn now(&self) -> Timestamp;

    /// Writes a line to the host's log.
    fn log(&self, level: LogLevel, message: &str);

    /// The id of the route that the data plane matched; `None` when it matched none of ours.
    fn route(&self) -> Option<Cow<'_, str>>;

    /// True if the matched route forwards: a redirect or a direct response of the route needs no endpoint.
    fn is_forwarded(&self) -> bool;

    /// True if an Envoy that Sluice configures asks, which decodes paths and looks for scopes by the filter.
    fn is_managed_envoy(&self) -> bool;

    /// True if the filter is asked before the data plane has looked for a route, as `sluice.lookup`.
    fn is_before_lookup(&self) -> bool;

    /// True if the host counts requests of clients, and replaces in responses, by itself.
    fn is_nginx(&self) -> bool;

    /// One line of a request header, which may be empty: the first.
    fn first_header(&self, name: &str) -> Option<Cow<'_, [u8]>>;

    /// Replaces a header of the request.
    fn set_request_header(&self, name: &str, value: &[u8]);

    /// Takes all headers of this name away from the request.
    fn remove_request_header(&self, name: &str);

    /// True if the request counts for the rates of its route already.
    fn is_counted(&self) -> bool;

    /// The request counts for the rates of its route.
    fn set_counted(&self);

    /// Says which backend the candidates belong to, where the route leaves that open.
    fn set_backend(&self, backend: &str);

    /// Leaves the candidates, `ip:port,ip:port`, where the data plane looks for them.
    fn set_endpoints(&self, endpoints: &str);

    /// Removes an endpoint or a backend that a client may have named.
    fn clear_choice(&self);

    /// Leaves ejections, `ip:port SECONDS,ip:port SECONDS`, for the data plane's log of this request.
    fn report_ejections(&self, ejections: &str);

    /// Adds one to the counter of requests whose route is not in the tables.
    fn count_unknown_route(&self);

    /// Answers the request here.
    fn reply(&self, reply: Reply);

    /// True if the response is from an upstream, not from the data plane itself.
    fn is_from_upstream(&self) -> bool;

    /// `ip:port` of the endpoint that gives the response.
    fn upstream_address(&self) -> Option<Cow<'_, str>>;

    /// True if the client's own connection is TLS.
    fn is_https(&self) -> bool;

    /// All headers of the response, as they are now.
    fn response_headers(&self) -> Self::ResponseHeaders;

    /// Takes all headers of this name away from the response.
    fn remove_response_header(&self, name: &str);

    /// One more header of the response.
    fn add_response_header(&self, name: &str, value: &[u8]);

    /// Result of a completed request. Values of no interest need not be read.
    fn observe(&self, interest: Interest) -> Observation<'_>;
}

/// Headers of a response.
pub trait ResponseHeaders {
    /// The values of a header, in whatever case the host has its name.
    fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]>;
}

/// Headers of a response, copied before they change.
#[derive(Debug)]
pub struct CopiedHeaders(Vec<(Vec<u8>, Vec<u8>)>);

impl CopiedHeaders {
    /// Names, in whatever case, with values.
    #[must_use]
    pub fn new(headers: Vec<(Vec<u8>, Vec<u8>)>) -> Self {
        CopiedHeaders(headers)
    }
}

impl ResponseHeaders for CopiedHeaders {
    fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.0
            .iter()
            .filter(move |(key, _)| key.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| value.as_slice())
    }
}

/// Importance of a line in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// A change that somebody may look for.
    Info,
    /// Traffic is served, and not as it should be.
    Warn,
    /// Something is refused, or does not work.
    Error,
}
