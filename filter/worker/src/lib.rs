//! The life of a request in the filter, whatever hosts it.
//!
//! ```text
//!   filter/src (proxy-wasm) ------+                +--> sluice-filter-core (decides)
//!                                 +--> Worker -----+
//!   envoy/module (Envoy's ABI) ---+                +--> Stream, Counters (what the host does)
//! ```
//!
//! A host calls a [`Worker`] with its [`Stream`] when request headers, response headers and the end of a request come, and keeps the
//! [`Pending`] of each request. How documents of the log arrive is the host's affair; [`Refusals`] says what becomes of them.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod counters;
mod decide;
mod document;
mod limits;
mod lookup;
mod mirror;
mod observation;
mod pending;
mod request_action;
mod response;
mod stream;
mod worker;

pub use counters::{Counters, SharedCounters};
pub use document::{DocumentError, Refusals};
pub use mirror::prepare_copy;
pub use observation::Observation;
pub use pending::Pending;
pub use request_action::RequestAction;
pub use stream::{CopiedHeaders, LogLevel, ResponseHeaders, Stream};
pub use worker::Worker;
