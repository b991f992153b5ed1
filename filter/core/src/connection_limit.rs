//! A limit of concurrent requests, and its client.

use sluice_filter_config::{self as wire, Network};

use crate::Reply;

/// How many requests of one client a route serves at a time.
#[derive(Debug)]
pub struct ConnectionLimit {
    pub(crate) zone: Box<str>,
    pub(crate) most: u32,
    status: u16,
    pub(crate) exempt: Vec<Network>,
}

impl ConnectionLimit {
    /// Response to a client over the limit.
    #[must_use]
    pub fn refusal(&self) -> Reply {
        Reply {
            status: self.status,
            body: "too many requests of this client are in process\n",
        }
    }
}

impl From<wire::Connections> for ConnectionLimit {
    fn from(limit: wire::Connections) -> Self {
        ConnectionLimit {
            zone: limit.zone.into(),
            most: limit.most.get(),
            status: limit.status,
            exempt: limit.exempt,
        }
    }
}
