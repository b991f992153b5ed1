//! Listeners beside the two that every data plane has, for http and for https.

use std::fmt;
use std::num::NonZeroU16;

use serde::Serialize;

use crate::{HostTls, SecretId, Server, ServerName, Shared, SharedMap, is_default};

/// Name of a listener, unique in a configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ListenerName(String);

impl ListenerName {
    /// A name as an input chooses it.
    #[must_use]
    pub fn new(text: &str) -> Self {
        ListenerName(text.to_owned())
    }
}

impl fmt::Display for ListenerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A port with hosts of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listener {
    /// The number; the address is the data plane's.
    pub port: NonZeroU16,
    /// TLS that ends here; `None` is plain HTTP.
    #[serde(skip_serializing_if = "is_default")]
    pub tls: Option<ListenerTls>,
    /// Its hosts, by name. A request for another one gets 404.
    pub servers: Shared<ServerName, Server>,
}

/// TLS of a listener.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ListenerTls {
    /// By the name that the client asks for.
    #[serde(skip_serializing_if = "is_default")]
    pub hosts: SharedMap<ServerName, HostTls>,
    /// Certificate for all other names; `None` is that of all listeners.
    #[serde(skip_serializing_if = "is_default")]
    pub default_certificate: Option<SecretId>,
}
