//! TLS towards clients.

use serde::Serialize;

use crate::{SecretId, TlsVersions, is_default};

/// What a host is like in a handshake.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct HostTls {
    /// What it presents; `None` is the default certificate.
    #[serde(skip_serializing_if = "is_default")]
    pub certificate: Option<SecretId>,
}

/// What is spoken with all clients. The defaults are ingress-nginx's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServerTls {
    /// Versions.
    pub versions: TlsVersions,
    /// For TLS 1.2, in OpenSSL's words and in the order of preference; empty: those of the data plane.
    #[serde(skip_serializing_if = "is_default")]
    pub ciphers: Vec<String>,
}

impl Default for ServerTls {
    fn default() -> Self {
        ServerTls { versions: TlsVersions { v1_2: true, v1_3: true }, ciphers: Vec::new() }
    }
}
