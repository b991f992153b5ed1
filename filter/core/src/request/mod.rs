//! A request, as far as decisions look at it.

pub mod variables;

use std::borrow::Cow;

use sluice_filter_config::Variable;

/// A request, as the data plane knows it. Every query may cost a host call, so none is made in vain.
pub trait Request {
    /// A header by its name in lower case, several values joined with `, `. Pseudo-headers as HTTP/2 names them.
    fn header(&self, name: &str) -> Option<Cow<'_, [u8]>>;

    /// Path and query as the client sent them, whatever a host made of `:path`.
    fn sent_target(&self) -> Option<Cow<'_, [u8]>> {
        self.header(":path")
    }

    /// Properties of the request other than headers.
    fn fact(&self, fact: Fact) -> Option<Cow<'_, [u8]>>;

    /// About so many different headers will be asked for: reading all at once may be cheaper.
    fn expect(&self, _headers: usize) {}

    /// Appends the value of a variable; nothing when the request does not say it.
    fn variable(&self, variable: &Variable, out: &mut Vec<u8>) {
        variables::append(self, variable, out);
    }
}

/// Properties of a request other than headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// `ip:port` of the client.
    ClientAddress,
    /// `ip:port` that the client connected to.
    ServerAddress,
    /// The host of the server that the request matched, `_` for the catch-all.
    ServerName,
    /// There when the client's connection is TLS, whatever the value.
    Tls,
    /// The host of the TLS handshake.
    ServerNameIndication,
    /// `HTTP/1.1`, `HTTP/2` ...
    Protocol,
}
