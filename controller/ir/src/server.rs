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
    /// Settings of its clients' connections, where they are not those of all hosts. Only nginx has them for each host.
    #[serde(skip_serializing_if = "is_default")]
    pub connections: ConnectionSettings,
    /// In the order they are tried: the first match wins. A request that matches none gets 404.
    pub routes: Vec<HttpRoute>,
}

/// Connections of clients to a server: buffers for headers, timeouts in milliseconds, and how long a connection lasts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ConnectionSettings {
    /// Bytes of the first buffer for headers.
    #[serde(skip_serializing_if = "is_default")]
    pub header_buffer: Option<u32>,
    /// Further buffers for headers, one for each line that does not fit into the first.
    #[serde(skip_serializing_if = "is_default")]
    pub large_header_buffers: Option<HeaderBuffers>,
    /// Time for the headers of a request.
    #[serde(skip_serializing_if = "is_default")]
    pub header_timeout: Option<u32>,
    /// Time between two reads of a body.
    #[serde(skip_serializing_if = "is_default")]
    pub body_timeout: Option<u32>,
    /// Time between two writes of a response.
    #[serde(skip_serializing_if = "is_default")]
    pub send_timeout: Option<u32>,
    /// Time that an idle connection is kept.
    #[serde(skip_serializing_if = "is_default")]
    pub keep_alive_timeout: Option<u32>,
    /// Time after which a connection takes no more requests.
    #[serde(skip_serializing_if = "is_default")]
    pub keep_alive_time: Option<u32>,
    /// Requests after which a connection is closed.
    #[serde(skip_serializing_if = "is_default")]
    pub keep_alive_requests: Option<u32>,
}

impl Server {
    /// All names of it; its own is the first.
    pub fn names<'a>(&'a self, own: &'a ServerName) -> impl Iterator<Item = &'a ServerName> {
        std::iter::once(own).chain(&self.aliases)
    }
}
