//! Virtual hosts.

use serde::Serialize;

use crate::{ClientCertificates, Expression, HeaderBuffers, HttpRoute, ServerName, is_default};

/// One virtual host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Server {
    /// Other names of it.
    #[serde(skip_serializing_if = "is_default")]
    pub aliases: Vec<ServerName>,
    /// Redirect target of a request for exactly `/`, before anything else: what follows the scheme and the host. Its variables are
    /// those of [`crate::RedirectTo::Url`].
    #[serde(skip_serializing_if = "is_default")]
    pub app_root: Option<Expression>,
    /// Verification of client certificates; `None`: none are requested.
    #[serde(skip_serializing_if = "is_default")]
    pub client_certificates: Option<ClientCertificates>,
    /// Ciphers of TLS 1.2, as [`crate::ServerTls::ciphers`]; empty: those of all hosts.
    #[serde(skip_serializing_if = "is_default")]
    pub ciphers: Vec<String>,
    /// Server order of ciphers rather than the client's, if set.
    #[serde(skip_serializing_if = "is_default")]
    pub prefer_server_ciphers: Option<bool>,
    /// Room for headers of requests, where it is not that of all hosts. Only nginx has one for each host.
    #[serde(skip_serializing_if = "is_default")]
    pub header_room: HeaderRoom,
    /// In the order they are tried: the first match wins. A request that matches none gets 404.
    pub routes: Vec<HttpRoute>,
}

/// Room for headers of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HeaderRoom {
    /// Bytes of the first buffer.
    #[serde(skip_serializing_if = "is_default")]
    pub first: Option<u32>,
    /// Further ones.
    #[serde(skip_serializing_if = "is_default")]
    pub large: Option<HeaderBuffers>,
}

impl Server {
    /// All names of it; its own is the first.
    pub fn names<'a>(&'a self, own: &'a ServerName) -> impl Iterator<Item = &'a ServerName> {
        std::iter::once(own).chain(&self.aliases)
    }
}
