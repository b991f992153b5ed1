//! Mirroring of requests.

use std::net::SocketAddr;

use serde::Serialize;

use crate::{BackendId, is_default};

/// Requests are copied to a backend; responses to copies are ignored. Copies have a body unless the transport of the backend says
/// otherwise ([`crate::Copies`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mirror {
    /// Backend of the copy.
    pub backend: BackendId,
    /// The `Host` of the copy; `None` is the host of the request, in lower case and without a port. In Envoy that is the name of the
    /// server, so only exact names have it.
    pub host: Option<String>,
    /// Cluster IP of the backend, if any, for a data plane that chooses no endpoint for a copy.
    #[serde(skip_serializing_if = "is_default")]
    pub address: Option<SocketAddr>,
    /// Path of the copies; `None` is that of the request with its query, as its backend gets it.
    #[serde(skip_serializing_if = "is_default")]
    pub path: Option<MirrorPath>,
    /// Part of the requests that is copied, chosen at random; `None` is all of them.
    #[serde(skip_serializing_if = "is_default")]
    pub fraction: Option<Fraction>,
}

/// Path of a copy, which need not be that of the request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MirrorPath {
    /// Empty, or begins with a slash and has only characters of a path.
    pub literal: String,
    /// Path and query of the request, as the client sent them, come behind it; otherwise the query alone.
    pub request_uri: bool,
}

/// So many of a million.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Fraction(u32);

impl Fraction {
    const WHOLE: u32 = 1_000_000;

    /// `numerator` out of `denominator`, to the millionth; `None` when that is no part of a whole.
    #[must_use]
    pub fn new(numerator: u32, denominator: u32) -> Option<Self> {
        if denominator == 0 || numerator > denominator {
            return None;
        }
        let millionths = u64::from(numerator) * u64::from(Self::WHOLE) / u64::from(denominator);
        u32::try_from(millionths).ok().map(Fraction)
    }

    /// Millionths, from 0 to 1,000,000.
    #[must_use]
    pub fn millionths(self) -> u32 {
        self.0
    }
}
