//! Patience with the pods.

use std::collections::BTreeSet;
use std::num::{NonZeroU8, NonZeroU32};

use serde::Serialize;

use crate::is_default;

/// In seconds. The defaults are ingress-nginx's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Timeouts {
    /// Between two writes to the pod.
    pub send: u32,
    /// Between two reads from the pod.
    pub read: u32,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts { send: 60, read: 60 }
    }
}

/// What is tried again, and how often. The defaults are ingress-nginx's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Retries {
    /// When.
    pub on: RetryOn,
    /// Attempts for one request: the first and every retry.
    pub attempts: NonZeroU8,
    /// Seconds after which nothing is tried again, if they are counted.
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

/// Which failures lead to another pod. A request that cannot be repeated without harm (POST, LOCK, PATCH) and that may
/// have reached a pod is not repeated, unless [`RetryOn::non_idempotent`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RetryOn {
    /// A connection that fails, before or after the request was sent.
    pub error: bool,
    /// A pod that is too slow to connect or to answer.
    pub timeout: bool,
    /// An answer that is none.
    pub invalid_header: bool,
    /// Also what cannot be repeated without harm.
    pub non_idempotent: bool,
    /// Answers with these statuses.
    pub statuses: BTreeSet<u16>,
}

impl RetryOn {
    /// Nothing is tried again.
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
