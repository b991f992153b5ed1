//! TCP and UDP ports that are proxied without reading the protocol.

use std::fmt;
use std::num::{NonZeroU16, NonZeroU32};

use serde::{Serialize, Serializer};

use crate::{BackendId, is_default};

/// A port of Sluice, beside those for HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamPort {
    /// L4 protocol.
    pub protocol: L4Protocol,
    /// The number.
    pub number: NonZeroU16,
}

/// L4 protocol of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum L4Protocol {
    /// Connections.
    Tcp,
    /// Datagrams.
    Udp,
}

impl fmt::Display for StreamPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layer = match self.protocol {
            L4Protocol::Tcp => "tcp",
            L4Protocol::Udp => "udp",
        };
        write!(f, "{layer}-{}", self.number)
    }
}

impl Serialize for StreamPort {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Destination of a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stream {
    /// Backend; its transport decides about a PROXY header.
    pub backend: BackendId,
    /// Connections of clients begin with a PROXY header.
    #[serde(skip_serializing_if = "is_default")]
    pub proxy_protocol: bool,
    /// Seconds of silence after which it ends.
    pub idle_timeout: u32,
    /// Pods that are tried for one connection.
    pub attempts: u32,
    /// Seconds in which they are, if there is a limit.
    #[serde(skip_serializing_if = "is_default")]
    pub attempts_timeout: Option<NonZeroU32>,
    /// Datagrams after which an answer is whole, if they are counted.
    #[serde(skip_serializing_if = "is_default")]
    pub responses: Option<NonZeroU32>,
}
