//! The answer to a response; and a request for more than is served.

use std::fmt;
use std::sync::Arc;

use sluice_xds_resource::Name;

use crate::history::Generation;
use crate::version::Version;

/// More names than any Envoy has; a client that wants more is no Envoy.
pub(crate) const MOST_NAMES: usize = 1_000_000;

/// The client subscribes to more names than a client can need.
#[derive(Debug)]
pub struct TooManyNames;

impl fmt::Display for TooManyNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "expected a subscription to at most {MOST_NAMES} names, got more"
        )
    }
}

/// A name and the version that was sent; `None` is a removal.
pub type SentName = (Name, Option<Version>);

/// Sorted by name. Shared by the response on its way and what is remembered of it.
pub type Sent = Arc<[SentName]>;

/// ACK or NACK of the response in flight.
#[derive(Debug, PartialEq, Eq)]
pub enum Acknowledgement {
    /// Nothing: it only changes the subscription, or it is about a response long settled.
    None,
    /// ACK.
    Accepted(Sent),
    /// NACK.
    Refused(Sent),
    /// NACK of one resource, of the version that was refused before.
    RefusedAgain(Sent),
}

/// A response that the client has not answered.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub(crate) nonce: String,
    pub(crate) sent: Sent,
    /// Everything up to here is answered when this response is.
    pub(crate) covers: Option<Generation>,
}

impl InFlight {
    /// True if it says something about this name.
    pub(crate) fn has(&self, name: &Name) -> bool {
        self.sent
            .binary_search_by(|(sent, _)| sent.cmp(name))
            .is_ok()
    }
}
