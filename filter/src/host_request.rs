//! A request as the core asks for it. Every answer costs a call to the host, so each is asked for once.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};

use proxy_wasm::types::MapType;
use sluice_filter_config::{Host, Variable};
use sluice_filter_core::{Fact, Request, variables};

use crate::pairs::Pairs;
use crate::{host, lookup};

/// The current request.
pub(crate) struct HostRequest {
    host: Host,
    expected: Cell<usize>,
    all: OnceCell<Pairs>,
    cookies: OnceCell<Option<Vec<u8>>>,
}

impl HostRequest {
    /// From so many headers on it is cheaper to read all at once.
    const MANY: usize = 2;

    pub(crate) fn new(host: Host) -> Self {
        HostRequest {
            host,
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

impl Request for HostRequest {
    fn header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        if !self.host.is_nginx() && self.expected.get() >= HostRequest::MANY {
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
        let decoded = || lookup::original_path().map(Cow::Owned);
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
