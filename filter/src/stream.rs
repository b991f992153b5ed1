//! A request and its response, as the worker asks for them. Every answer costs a call to the host, so each is asked for once.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};

use proxy_wasm::types::MapType;
use sluice_filter_config::host_contract::{COUNTED, LOOKUP_FILTER, PATH_HEADER};
use sluice_filter_config::{Host, Variable};
use sluice_filter_core::{Fact, Interest, Reply, Request, Timestamp, variables};
use sluice_filter_worker::{LogLevel, Observation, ResponseHeaders, Stream};

use crate::pairs::Pairs;
use crate::{host, host_contract, observation};

/// The current request.
pub(crate) struct HostStream {
    host: Host,
    unknown_routes: Option<u32>,
    expected: Cell<usize>,
    all: OnceCell<Pairs>,
    cookies: OnceCell<Option<Vec<u8>>>,
}

impl HostStream {
    /// From so many headers on it is cheaper to read all at once.
    const MANY: usize = 2;

    pub(crate) fn new(host: Host, unknown_routes: Option<u32>) -> Self {
        HostStream {
            host,
            unknown_routes,
            expected: Cell::new(0),
            all: OnceCell::new(),
            cookies: OnceCell::new(),
        }
    }

    /// One header alone: of several lines the first on Envoy. nginx is asked for its variable, which has all of them.
    fn single(&self, name: &str) -> Option<Vec<u8>> {
        match self.host {
            Host::Nginx | Host::NgxWasm => {
                let variable = format!("ngx.http_{}", name.replace('-', "_"));
                host::property_that_may_be_empty(variable.as_bytes())
            }
            Host::Envoy | Host::ManagedEnvoy => host::request_header(name),
        }
    }

    /// One header of all, several values joined as nginx joins them: cookies with `; `, others with `, `.
    fn joined(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let pairs = self
            .all
            .get_or_init(|| host::headers(MapType::HttpRequestHeaders));
        let separator: &[u8] = if name == "cookie" { b"; " } else { b", " };
        let mut values = pairs.values(name);
        let first = values.next()?;
        let mut joined = Cow::Borrowed(first);
        for value in values {
            let joined = joined.to_mut();
            joined.extend_from_slice(separator);
            joined.extend_from_slice(value);
        }
        Some(joined)
    }
}

impl Request for HostStream {
    fn header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        if !self.host.is_nginx() && self.expected.get() >= HostStream::MANY {
            return self.joined(name);
        }
        if name == "cookie" {
            return self
                .cookies
                .get_or_init(|| self.single(name))
                .as_deref()
                .map(Cow::Borrowed);
        }
        let first = self.single(name)?;
        // Most requests do not have the header, and need no second look for more of its lines.
        let may_be_more = !self.host.is_nginx() && !name.starts_with(':');
        let all = may_be_more.then(|| self.joined(name)).flatten();
        all.or(Some(Cow::Owned(first)))
    }

    fn sent_target(&self) -> Option<Cow<'_, [u8]>> {
        let decoded = || {
            host::request_header(PATH_HEADER)
                .filter(|path| !path.is_empty())
                .map(Cow::Owned)
        };
        let may_be_decoded = self.host == Host::ManagedEnvoy;
        may_be_decoded
            .then(decoded)
            .flatten()
            .or_else(|| self.header(":path"))
    }

    fn fact(&self, fact: Fact) -> Option<Cow<'_, [u8]>> {
        let path: &[u8] = match fact {
            Fact::ClientAddress => b"source\0address",
            Fact::ServerAddress => b"destination\0address",
            Fact::ServerName => b"xds\0virtual_host_name",
            Fact::Tls => b"connection\0tls_version",
            Fact::ServerNameIndication => b"connection\0requested_server_name",
            Fact::Protocol => b"request\0protocol",
        };
        host::property(path)
            .filter(|value| !value.is_empty())
            .map(Cow::Owned)
    }

    fn expect(&self, headers: usize) {
        self.expected.set(headers);
    }

    /// nginx has the variables themselves.
    fn variable(&self, variable: &Variable, out: &mut Vec<u8>) {
        match self.host {
            Host::Nginx | Host::NgxWasm => {
                let path = format!("ngx.{variable}");
                out.extend_from_slice(&host::property(path.as_bytes()).unwrap_or_default());
            }
            Host::Envoy | Host::ManagedEnvoy => variables::append(self, variable, out),
        }
    }
}

impl Stream for HostStream {
    type ResponseHeaders = Pairs;

    fn now(&self) -> Timestamp {
        host::now()
    }

    fn log(&self, level: LogLevel, message: &str) {
        host::log(level, message);
    }

    fn route(&self) -> Option<Cow<'_, str>> {
        host_contract::route(self.host).map(Cow::Owned)
    }

    fn is_forwarded(&self) -> bool {
        host_contract::is_forwarded(self.host)
    }

    fn is_managed_envoy(&self) -> bool {
        self.host == Host::ManagedEnvoy
    }

    /// Both filters are in one VM; the plugin's name tells them apart.
    fn is_before_lookup(&self) -> bool {
        host::property(b"plugin_name").is_some_and(|name| name == LOOKUP_FILTER.as_bytes())
    }

    fn is_nginx(&self) -> bool {
        self.host.is_nginx()
    }

    fn first_header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        host::request_header(name).map(Cow::Owned)
    }

    fn set_request_header(&self, name: &str, value: &[u8]) {
        host::set_request_header(name, value);
    }

    fn remove_request_header(&self, name: &str) {
        host::remove_header(MapType::HttpRequestHeaders, name);
    }

    fn is_counted(&self) -> bool {
        host::property(COUNTED.as_bytes()).is_some()
    }

    fn set_counted(&self) {
        host::set_property(COUNTED, "1");
    }

    fn set_backend(&self, backend: &str) {
        host_contract::set_backend(self.host, backend);
    }

    fn set_endpoints(&self, endpoints: &str) {
        host_contract::set_endpoints(self.host, endpoints);
    }

    fn clear_choice(&self) {
        host_contract::clear_choice(self.host);
    }

    fn report_ejections(&self, ejections: &str) {
        host_contract::report_ejections(self.host, ejections);
    }

    fn count_unknown_route(&self) {
        if let Some(counter) = self.unknown_routes {
            host::count(counter);
        }
    }

    fn reply(&self, reply: Reply) {
        // nginx has pages of its own, and its `error_page` replaces them.
        let body = match self.host {
            Host::Nginx => "",
            _ => reply.body,
        };
        host::reply(Reply { body, ..reply });
    }

    fn is_from_upstream(&self) -> bool {
        observation::is_from_upstream()
    }

    fn upstream_address(&self) -> Option<Cow<'_, str>> {
        observation::upstream_address(self.host).map(Cow::Owned)
    }

    fn is_https(&self) -> bool {
        observation::is_https(self.host)
    }

    fn response_headers(&self) -> Pairs {
        host::headers(MapType::HttpResponseHeaders)
    }

    fn remove_response_header(&self, name: &str) {
        host::remove_header(MapType::HttpResponseHeaders, name);
    }

    fn add_response_header(&self, name: &str, value: &[u8]) {
        host::add_response_header(name, value);
    }

    fn observe(&self, interest: Interest) -> Observation<'_> {
        observation::read(self.host, interest)
    }
}

impl ResponseHeaders for Pairs {
    fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        Pairs::values(self, name)
    }
}
