//! A request and its response, as the worker asks for them.

use std::borrow::Cow;

use sluice_filter_config::{Variable, host_contract};
use sluice_filter_core::{Fact, Interest, Reply, Timestamp, attempts};
use sluice_filter_worker::{CopiedHeaders, LogLevel, Observation, Stream};
use sluice_ngx::{Level, LiveRequest};

use crate::clock;
use crate::properties::{self, OUTCOME};
use crate::request::Request;

/// A request of nginx, during an entry into the filter. One that has ended has no headers and no variables.
pub(super) struct NginxStream<'a>(&'a Request);

impl<'a> NginxStream<'a> {
    pub(super) fn new(request: &'a Request) -> Self {
        NginxStream(request)
    }

    fn read<R>(&self, read: impl FnOnce(&mut LiveRequest<'_>) -> Option<R>) -> Option<R> {
        self.0.with(read).ok().flatten()
    }

    fn edit<E>(&self, edit: impl FnOnce(&mut LiveRequest<'_>) -> Result<(), E>) {
        // Fails for what nginx does not have or does not allow to change, as for a wasm filter.
        let _ = self.0.with(edit);
    }

    fn bytes(&self, variable: &str) -> Option<Vec<u8>> {
        self.read(|live| live.variable(variable.as_bytes()).map(<[u8]>::to_vec))
    }

    /// The value of a variable that is not empty.
    fn text(&self, variable: &str) -> Option<String> {
        let bytes = self.bytes(variable).filter(|bytes| !bytes.is_empty())?;
        String::from_utf8(bytes).ok()
    }

    fn set(&self, variable: &str, value: &str) {
        self.edit(|live| live.set_variable(variable.as_bytes(), value.as_bytes()));
    }
}

impl sluice_filter_core::Request for NginxStream<'_> {
    /// nginx's variable has all lines of a header.
    fn header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let value = match name {
            ":method" | ":scheme" | ":path" | ":authority" => return self.first_header(name),
            name => self.bytes(&format!("http_{}", name.replace('-', "_"))),
        };
        value.map(Cow::Owned)
    }

    /// Absent: nginx has variables for them, which the filter reads as such.
    fn fact(&self, _: Fact) -> Option<Cow<'_, [u8]>> {
        None
    }

    fn variable(&self, variable: &Variable, out: &mut Vec<u8>) {
        let name = variable.to_string();
        self.read(|live| {
            out.extend_from_slice(properties::variable(live, name.as_bytes())?);
            Some(())
        });
    }
}

impl Stream for NginxStream<'_> {
    type ResponseHeaders = CopiedHeaders;

    fn now(&self) -> Timestamp {
        clock::now()
    }

    fn log(&self, level: LogLevel, message: &str) {
        let line = line(message);
        if self
            .0
            .with(|live| live.log(importance(level), &line))
            .is_err()
        {
            log(level, message);
        }
    }

    fn route(&self) -> Option<Cow<'_, str>> {
        self.text(host_contract::ROUTE.name).map(Cow::Owned)
    }

    /// Redirects and responses of nginx's own come before the filter.
    fn is_forwarded(&self) -> bool {
        true
    }

    fn is_managed_envoy(&self) -> bool {
        false
    }

    fn is_before_lookup(&self) -> bool {
        false
    }

    fn is_nginx(&self) -> bool {
        true
    }

    fn first_header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let value =
            self.read(|live| properties::request_header(live, name.as_bytes()).map(<[u8]>::to_vec));
        value.map(Cow::Owned)
    }

    fn set_request_header(&self, name: &str, value: &[u8]) {
        self.edit(|live| {
            live.remove_request_header(name.as_bytes())?;
            live.add_request_header(name.as_bytes(), value)
        });
    }

    fn remove_request_header(&self, name: &str) {
        self.edit(|live| live.remove_request_header(name.as_bytes()));
    }

    /// nginx counts by itself.
    fn is_counted(&self) -> bool {
        true
    }

    fn set_counted(&self) {}

    fn set_backend(&self, backend: &str) {
        self.set(host_contract::BACKEND.name, backend);
    }

    fn set_endpoints(&self, endpoints: &str) {
        self.set(host_contract::ENDPOINT.name, endpoints);
    }

    /// Clients have no way to set a variable.
    fn clear_choice(&self) {}

    fn report_ejections(&self, ejections: &str) {
        self.set(host_contract::EJECTIONS.name, ejections);
    }

    /// nginx has no counters of modules; its access log has the route.
    fn count_unknown_route(&self) {}

    /// nginx has pages of its own, and its `error_page` replaces them.
    fn reply(&self, reply: Reply) {
        let reply = sluice_ngx::Reply {
            status: reply.status,
            ..sluice_ngx::Reply::default()
        };
        // Fails once a response has begun.
        let _ = self.0.reply(reply);
    }

    fn is_from_upstream(&self) -> bool {
        self.upstream_address().is_some()
    }

    fn upstream_address(&self) -> Option<Cow<'_, str>> {
        let [addresses, ..] = OUTCOME;
        let tried = self.text(addresses)?;
        attempts(&tried)
            .last()
            .map(|last| Cow::Owned(last.to_owned()))
    }

    fn is_https(&self) -> bool {
        self.text("https").as_deref() == Some("on")
    }

    fn response_headers(&self) -> CopiedHeaders {
        let mut headers = Vec::new();
        self.read(|live| {
            live.each_response_header(|name, value| headers.push((name.to_vec(), value.to_vec())));
            Some(())
        });
        CopiedHeaders::new(headers)
    }

    fn remove_response_header(&self, name: &str) {
        self.edit(|live| live.remove_response_header(name.as_bytes()));
    }

    fn add_response_header(&self, name: &str, value: &[u8]) {
        self.edit(|live| live.add_response_header(name.as_bytes(), value));
    }

    fn observe(&self, interest: Interest) -> Observation<'_> {
        let [addresses, statuses, times @ ..] = OUTCOME;
        let Some(tried) = self.text(addresses) else {
            return Observation::default();
        };
        let list = |name| self.text(name).unwrap_or_default();
        let [connected, responded] = match interest.latency {
            true => times.map(list),
            false => Default::default(),
        };
        Observation::of_nginx([&tried, &list(statuses), &connected, &responded], interest)
    }
}

/// Writes a line to the process's log.
pub(super) fn log(level: LogLevel, message: &str) {
    sluice_ngx::log(importance(level), &line(message));
}

fn line(message: &str) -> Vec<u8> {
    [b"sluice: ", message.as_bytes()].concat()
}

fn importance(level: LogLevel) -> Level {
    match level {
        LogLevel::Info => Level::Info,
        LogLevel::Warn => Level::Warn,
        LogLevel::Error => Level::Error,
    }
}
