//! Virtual hosts.

use serde::Serialize;

use crate::{ClientCertificates, HttpRoute, ServerName, is_default};

/// One virtual host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Server {
    /// Other names of it.
    #[serde(skip_serializing_if = "is_default")]
    pub aliases: Vec<ServerName>,
    /// Where a request for exactly `/` is sent, before anything else.
    #[serde(skip_serializing_if = "is_default")]
    pub app_root: Option<String>,
    /// What certificates of clients mean here; `None`: nobody is asked for one.
    #[serde(skip_serializing_if = "is_default")]
    pub client_certificates: Option<ClientCertificates>,
    /// Ciphers of TLS 1.2, as [`crate::ServerTls::ciphers`]; empty: those of all hosts.
    #[serde(skip_serializing_if = "is_default")]
    pub ciphers: Vec<String>,
    /// Whether its own order of ciphers counts and not the client's, where that is said.
    #[serde(skip_serializing_if = "is_default")]
    pub prefer_server_ciphers: Option<bool>,
    /// In the order they are tried: the first match wins. A request that matches none gets 404.
    pub routes: Vec<HttpRoute>,
}

impl Server {
    /// All names of it; its own is the first.
    pub fn names<'a>(&'a self, own: &'a ServerName) -> impl Iterator<Item = &'a ServerName> {
        std::iter::once(own).chain(&self.aliases)
    }
}
