//! A request and its response, as the worker asks for them.

use std::borrow::Cow;
use std::cell::Cell;

use sluice_envoy_abi::{Attribute, Direction, NumericAttribute};
use sluice_filter_config::host_contract::{
    COUNTED, EJECTIONS_STATE, MANAGED_BACKEND_HEADER, MANAGED_ENDPOINT_HEADER, PATH_HEADER,
};
use sluice_filter_core::{Fact, Interest, Reply, Request, Timestamp};
use sluice_filter_worker::{CopiedHeaders, LogLevel, Observation, Stream};

use crate::settings::{Role, Settings};
use crate::{clock, envoy_log};

/// A request and its response, during a hook of Envoy's.
pub(crate) struct EnvoyStream<'a> {
    stream: &'a sluice_envoy_abi::Stream<'a>,
    settings: Settings,
    /// The filter's own response. It waits until the worker is free: Envoy may call the other filter of this chain, or end this one, before
    /// the call that sends it returns.
    reply: Cell<Option<Reply>>,
}

impl<'a> EnvoyStream<'a> {
    pub(crate) fn new(stream: &'a sluice_envoy_abi::Stream<'a>, settings: Settings) -> Self {
        EnvoyStream {
            stream,
            settings,
            reply: Cell::new(None),
        }
    }

    /// Sends the filter's own response, if there is one.
    pub(crate) fn respond(&self) {
        if let Some(Reply { status, body, .. }) = self.reply.take() {
            self.stream.respond(status, body);
        }
    }

    fn text(&self, attribute: Attribute) -> Option<Cow<'_, str>> {
        self.stream.text_attribute(attribute).map(Cow::Owned)
    }
}

impl Request for EnvoyStream<'_> {
    /// Several lines are joined as nginx joins them: cookies with `; `, others with `, `.
    fn header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let (mut joined, count) = self.stream.first_header(Direction::Request, name)?;
        let separator: &[u8] = if name == "cookie" { b"; " } else { b", " };
        for index in 1..count {
            let line = self.stream.header(Direction::Request, name, index);
            joined.extend_from_slice(separator);
            joined.extend_from_slice(&line.unwrap_or_default());
        }
        Some(Cow::Owned(joined))
    }

    fn sent_target(&self) -> Option<Cow<'_, [u8]>> {
        let sent = self.first_header(PATH_HEADER);
        sent.filter(|path| !path.is_empty())
            .or_else(|| self.header(":path"))
    }

    fn fact(&self, fact: Fact) -> Option<Cow<'_, [u8]>> {
        let attribute = match fact {
            Fact::ClientAddress => Attribute::SourceAddress,
            Fact::ServerAddress => Attribute::DestinationAddress,
            Fact::ServerName => Attribute::VirtualHostName,
            Fact::Tls => Attribute::TlsVersion,
            Fact::ServerNameIndication => Attribute::RequestedServerName,
            Fact::Protocol => Attribute::Protocol,
        };
        let text = self.stream.text_attribute(attribute)?;
        Some(Cow::Owned(text.into_bytes()))
    }
}

impl Stream for EnvoyStream<'_> {
    type ResponseHeaders = CopiedHeaders;

    fn now(&self) -> Timestamp {
        clock::now()
    }

    fn log(&self, level: LogLevel, message: &str) {
        envoy_log::write(level, message);
    }

    fn route(&self) -> Option<Cow<'_, str>> {
        self.text(Attribute::RouteName)
    }

    fn is_forwarded(&self) -> bool {
        self.stream.has_attribute(Attribute::ClusterName)
    }

    fn is_managed_envoy(&self) -> bool {
        true
    }

    fn is_before_lookup(&self) -> bool {
        self.settings.role == Role::Lookup
    }

    fn is_nginx(&self) -> bool {
        false
    }

    fn first_header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.stream
            .header(Direction::Request, name, 0)
            .map(Cow::Owned)
    }

    /// Routes may depend on it; wasm hosts look for the route anew by themselves. A copy has none to look for.
    fn set_request_header(&self, name: &str, value: &[u8]) {
        self.stream.set_header(Direction::Request, name, value);
        if !matches!(self.settings.role, Role::Mirror(_)) {
            self.stream.clear_route_cache();
        }
    }

    fn remove_request_header(&self, name: &str) {
        self.stream.remove_header(Direction::Request, name);
    }

    fn is_counted(&self) -> bool {
        self.stream.has_state(COUNTED)
    }

    fn set_counted(&self) {
        self.stream.set_state(COUNTED, "1");
    }

    /// The cluster of the route depends on it.
    fn set_backend(&self, backend: &str) {
        self.set_request_header(MANAGED_BACKEND_HEADER, backend.as_bytes());
    }

    /// Only the balancer reads it, after the route has been found.
    fn set_endpoints(&self, endpoints: &str) {
        let endpoints = endpoints.as_bytes();
        self.stream
            .set_header(Direction::Request, MANAGED_ENDPOINT_HEADER, endpoints);
    }

    /// Clients cannot send the headers that a managed Envoy takes a choice from.
    fn clear_choice(&self) {}

    fn report_ejections(&self, ejections: &str) {
        self.stream.set_state(EJECTIONS_STATE, ejections);
    }

    fn count_unknown_route(&self) {
        if let Some(counter) = self.settings.unknown_routes {
            self.stream.count(counter);
        }
    }

    fn reply(&self, reply: Reply) {
        self.reply.set(Some(reply));
    }

    fn is_from_upstream(&self) -> bool {
        self.text(Attribute::ResponseCodeDetails).as_deref() == Some("via_upstream")
    }

    fn upstream_address(&self) -> Option<Cow<'_, str>> {
        self.text(Attribute::UpstreamAddress)
    }

    fn is_https(&self) -> bool {
        self.stream.has_attribute(Attribute::TlsVersion)
    }

    fn response_headers(&self) -> CopiedHeaders {
        CopiedHeaders::new(self.stream.headers(Direction::Response))
    }

    fn remove_response_header(&self, name: &str) {
        self.stream.remove_header(Direction::Response, name);
    }

    fn add_response_header(&self, name: &str, value: &[u8]) {
        self.stream.add_header(Direction::Response, name, value);
    }

    fn observe(&self, interest: Interest) -> Observation<'_> {
        let Some(endpoint) = self.upstream_address() else {
            return Observation::default();
        };
        let number = |number| self.stream.numeric_attribute(number);
        let response_time = interest
            .latency
            .then(|| self.stream.upstream_time())
            .flatten();
        let is_status_read = interest.status || response_time.is_none();
        let status = is_status_read.then(|| number(NumericAttribute::ResponseCode));
        let attempts = interest
            .failures
            .then(|| number(NumericAttribute::AttemptCount));
        Observation {
            endpoint: Some(endpoint),
            status: status
                .flatten()
                .and_then(|status| u16::try_from(status).ok())
                .filter(|&status| status != 0),
            response_time,
            attempts: attempts
                .flatten()
                .and_then(|attempts| u32::try_from(attempts).ok())
                .unwrap_or(1),
        }
    }
}
