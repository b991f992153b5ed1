//! The life of a request in the filter, whatever hosts it.
//!
//! ```text
//!   filter/src (proxy-wasm) ---------+
//!   envoy/module (Envoy's ABI) ------+--> Worker --+--> sluice-filter-core (decides)
//!   nginx-wasm/module (nginx) -------+             +--> Stream, Counters (what the host does)
//! ```
//!
//! A host calls a [`Worker`] with its [`Stream`] when request headers, response headers and the end of a request come, and keeps the
//! [`Pending`] of each request. How documents of the log arrive is the host's affair; [`apply_document`] and [`Refusals`] say what becomes of them.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use std::time::Duration;

mod counters;
mod decide;
mod document;
mod fault;
mod limits;
mod lookup;
mod mirror;
mod observation;
mod pending;
mod request_action;
mod response;
mod stream;
mod worker;

/// Longest time of a poll for the tables. Longer than the controller holds one, so that only a dead connection times out.
pub const POLL_TIMEOUT: Duration = Duration::from_secs(60);
/// How long requests wait for the first tables, from the first one on. Not for long: a controller that is down must not hold traffic up.
pub const MAX_WAIT: Duration = Duration::from_secs(2);

pub use counters::{Counters, SharedCounters};
pub use document::{DocumentError, Refusals, apply_document};
pub use fault::panic_if_asked;
pub use mirror::prepare_copy;
pub use observation::Observation;
pub use pending::Pending;
pub use request_action::RequestAction;
pub use stream::{CopiedHeaders, LogLevel, ResponseHeaders, Stream};
pub use worker::Worker;
