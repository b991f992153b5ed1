//! The shipped `sluice_filter.wasm` under wasmtime, in a fake host with an Envoy and an nginx personality.
//!
//! ```text
//!   Filter: drives the callbacks as a host does --> sluice_filter.wasm --> FakeHost: properties in, effects out
//! ```
//!
//! What it drives must go as expected: a trap of the filter is a panic here.

mod filter;
mod host;

pub use filter::{BACKEND, Filter, LOCATION, Outcome, backend, change, snapshot, tables};
pub use host::{Call, FakeHost, Personality, Request, SharedData, nginx_lists};
