//! Timeouts and retries towards upstreams.

use std::collections::BTreeSet;
use std::num::{NonZeroU8, NonZeroU32};

use serde::Serialize;

use crate::is_default;

/// In seconds. The defaults are ingress-nginx's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Timeouts {
    /// Between two writes to the upstream.
    pub send: u32,
    /// Between two reads from the upstream.
    pub read: u32,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts { send: 60, read: 60 }
    }
}

/// Timeouts of clients, in milliseconds; `None` is that of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClientTimeouts {
    /// Between two reads of a request's body.
    #[serde(skip_serializing_if = "is_default")]
    pub body: Option<u32>,
    /// Between two writes of a response.
    #[serde(skip_serializing_if = "is_default")]
    pub send: Option<u32>,
    /// Of a connection behind the response.
    #[serde(skip_serializing_if = "is_default")]
    pub keep_alive: Option<u32>,
}

/// Retries. The defaults are ingress-nginx's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Retries {
    /// Conditions.
    pub on: RetryOn,
    /// Attempts for one request: the first one and every retry.
    pub attempts: NonZeroU8,
    /// Seconds after which there is no retry any more, if limited.
    #[serde(skip_serializing_if = "is_default")]
    pub timeout: Option<NonZeroU32>,
}

impl Default for Retries {
    fn default() -> Self {
        Retries {
            on: RetryOn::default(),
            attempts: NonZeroU8::new(3).unwrap_or(NonZeroU8::MIN),
            timeout: None,
        }
    }
}

/// Failures after which another endpoint is tried. A non-idempotent request (POST, LOCK, PATCH) that may
/// have reached an endpoint is not retried, unless [`RetryOn::non_idempotent`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RetryOn {
    /// A connection error, before or after the request was sent.
    pub error: bool,
    /// A timeout of the connection or of the response.
    pub timeout: bool,
    /// An invalid response.
    pub invalid_header: bool,
    /// Non-idempotent requests, too.
    pub non_idempotent: bool,
    /// Responses with these statuses.
    pub statuses: BTreeSet<u16>,
}

impl Retries {
    /// Seconds that all attempts may take together without a byte.
    #[must_use]
    pub fn longest(&self, timeouts: Timeouts) -> u64 {
        let Timeouts { send, read } = timeouts;
        u64::from(send.max(read)) * u64::from(self.attempts.get())
    }
}

impl RetryOn {
    /// Never retries.
    #[must_use]
    pub fn never() -> Self {
        RetryOn {
            error: false,
            timeout: false,
            ..RetryOn::default()
        }
    }
}

impl Default for RetryOn {
    fn default() -> Self {
        RetryOn {
            error: true,
            timeout: true,
            invalid_header: false,
            non_idempotent: false,
            statuses: BTreeSet::new(),
        }
    }
}
